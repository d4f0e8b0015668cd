"""The remaining work as a value: a dry run prints it, and the loop works it off. Pure.

A *line* is all work of one engine for one model. It is cut into *works*: the units that the engine gets in
one call, stored as one part. Prompts of several requests, with their own seeds and schemas, may share a work;
each answer is stored under its own request.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import polars as pl

from tasks.engines.contexts import context_of
from tasks.engines.options import in_flight
from tasks.engines.protocols import Generation
from tasks.engines.served.providers import thinking_tokens
from tasks.identity import digest
from tasks.loop.budget import within
from tasks.loop.requests import Engine, Later, Request, part_name

UNITS = {"request_hash": pl.String, "unit": pl.String}

Answer = tuple[str, str]
"""(request hash, unit): names one stored answer."""

TALK = ("candidate", "simulator")
"""Roles in a dialogue: their answers lead to further requests to these roles, turn by turn."""


@dataclass(frozen=True)
class Wanted:
    """A request with its engine, for one model.

    Attributes:
        model: the model that is evaluated; "" for the study's own requests.
    """

    model: str
    request: Request[Any]
    engine: Engine

    @cached_property
    def request_hash(self) -> str:
        """The request's hash for this engine."""
        return self.request.hash(self.engine)


@dataclass(frozen=True)
class Piece:
    """Units of one request that have no answer."""

    wanted: Wanted
    units: tuple[str, ...]

    @property
    def answers(self) -> list[Answer]:
        """The keys under which its units are stored."""
        return [(self.wanted.request_hash, unit) for unit in self.units]


@dataclass(frozen=True)
class Work:
    """One call of an engine for one model; its answers are stored as one part."""

    pieces: tuple[Piece, ...]

    @classmethod
    def of(cls, wanted: Wanted, units: Iterable[str]) -> Work:
        """Return the work of some units of one request."""
        return cls((Piece(wanted, tuple(units)),))

    @property
    def wanted(self) -> Wanted:
        """The first request; all have its model, engine, role and kind."""
        return self.pieces[0].wanted

    @property
    def units(self) -> tuple[str, ...]:
        """The units of all pieces, in order."""
        return tuple(unit for piece in self.pieces for unit in piece.units)

    @property
    def answers(self) -> list[Answer]:
        """The keys under which its units are stored."""
        return [answer for piece in self.pieces for answer in piece.answers]

    def of_answers(self, answers: Set[Answer]) -> Work:
        """Return the work restricted to these answers."""
        pieces = [
            Piece(
                piece.wanted,
                tuple(unit for (_, unit) in piece.answers if (piece.wanted.request_hash, unit) in answers),
            )
            for piece in self.pieces
        ]
        return Work(tuple(piece for piece in pieces if piece.units))

    @property
    def at_most(self) -> list[Generation]:
        """The most that each unit can use of a budget (``Request.at_most``), with thinking, within the
        model's context.
        """
        thinking, context = thinking_of(self.wanted.engine), context_of(self.wanted.engine.spec)
        own = [most for piece in self.pieces for most in piece.wanted.request.at_most(piece.units)]
        return [
            within(replace(most, completion_tokens=most.completion_tokens + thinking), context)
            for most in own
        ]

    @property
    def part(self) -> str:
        """The part's name: a hash of its answers' keys."""
        return name_of(self.answers)

    @property
    def label(self) -> str:
        """The requests' labels, for people."""
        requests = (piece.wanted.request for piece in self.pieces)
        return ", ".join(dict.fromkeys(r.label or r.topic or r.kind for r in requests))


@dataclass(frozen=True)
class PlanLine:
    """One engine's work for one model: a line of the plan.

    Attributes:
        n_units, left: number of log-probabilities, completions or vectors in all, and without an answer.
        work: the remaining work, one for each part.
    """

    model: str
    engine: Engine
    role: str
    kind: str
    n_units: int
    left: int
    work: tuple[Work, ...]

    @property
    def answers(self) -> Iterator[Answer]:
        """The keys under which its work is stored."""
        return (answer for work in self.work for answer in work.answers)


@dataclass(frozen=True)
class Plan:
    """All lines, in the order of work; the lines of an engine are together.

    Attributes:
        loads: engine of this machine -> the most times that the whole run loads it.
    """

    lines: tuple[PlanLine, ...]
    later: tuple[Later, ...] = field(default=())
    loads: Mapping[str, int] = field(default_factory=dict)

    @property
    def work(self) -> Iterator[Work]:
        """All remaining work, in order."""
        return (work for line in self.lines for work in line.work)

    @property
    def left(self) -> int:
        """Number of remaining parts."""
        return sum(len(line.work) for line in self.lines)


def name_of(answers: Iterable[Answer]) -> str:
    """Return the name of the part with these answers: a hash of their keys."""
    units: dict[str, list[str]] = {}
    for request, unit in answers:
        units.setdefault(request, []).append(unit)
    names = [part_name(request, own) for request, own in units.items()]
    return names[0] if len(names) == 1 else digest(sorted(names), 32)


def units_wanted(wanted: Iterable[Wanted]) -> dict[str, pl.DataFrame]:
    """Return request_hash and unit of all units of the requests, each once, by part kind."""
    columns: dict[str, tuple[list[str], list[str]]] = {}
    for each in wanted:
        hashes, units = columns.setdefault(each.request.kind, ([], []))
        hashes += [each.request_hash] * len(each.request.units)
        units += each.request.units
    return {kind: pl.DataFrame(both, UNITS, orient="col").unique() for kind, both in columns.items()}


def lay_out(
    wanted: Sequence[Wanted], missing: Mapping[str, pl.DataFrame] | Set[Answer], later: Iterable[Later] = ()
) -> Plan:
    """Return the plan of the missing answers, cut into parts, engine by engine.

    A unit of several requests belongs to the first of them. Units are sorted by name, and similar ones are
    put together, so that parts do not depend on the order of a study's units.

    Args:
        missing: answers that are not stored: frames of request_hash and unit by part kind, or a set of keys.
    """
    left = set(missing) if isinstance(missing, Set) else {a for f in missing.values() for a in f.rows()}
    pieces: dict[tuple[str, str, str], list[Piece]] = {}
    for each in wanted:
        name = each.request_hash
        units = tuple(sorted({unit for unit in each.request.units if (name, unit) in left}))
        left.difference_update((name, unit) for unit in units)
        pieces.setdefault((each.engine.name, each.model, each.request.kind), []).append(Piece(each, units))
    return ordered([_line(own) for own in pieces.values()], later)


def thinking_of(engine: Engine | None) -> int:
    """Return the tokens that an engine may think with, beside those of an answer."""
    spec = engine.spec if engine else None
    return thinking_tokens(spec) if spec and spec.is_served else 0


def ordered(lines: Sequence[PlanLine], later: Iterable[Later] = ()) -> Plan:
    """Return the plan of these lines: each engine's together, engines in the order of their first lines."""
    engines = {name: place for place, name in enumerate(dict.fromkeys(line.engine.name for line in lines))}
    return Plan(tuple(sorted(lines, key=lambda line: engines[line.engine.name])), tuple(later))


def _line(pieces: Sequence[Piece]) -> PlanLine:
    """Return the line of one engine's pieces for a model."""
    requests, first = [piece.wanted.request for piece in pieces], pieces[0].wanted
    n_units = sum(request.size(request.units) for request in requests)
    left = sum(request.size(piece.units) for request, piece in zip(requests, pieces, strict=True))
    groups: dict[Any, list[Piece]] = {}
    for place, piece in enumerate(pieces):
        if piece.units:
            groups.setdefault(_group_key(piece, place), []).append(piece)
    work = tuple(work for group in groups.values() for work in _cut(group))
    return PlanLine(first.model, first.engine, first.request.role, first.request.kind, n_units, left, work)


def _group_key(piece: Piece, place: int) -> Any:
    """Return a key that is equal for pieces that may be sent in one call."""
    request, spec = piece.wanted.request, piece.wanted.engine.spec
    if not request.joins:
        return place
    # Notes on a server's batch jobs, which may take a day, are kept by request (``Jobs``).
    by_job = piece.wanted.request_hash if spec and spec.is_served and spec.options.get("batch") else ""
    return type(request), request.batch, by_job


def _cut(pieces: Sequence[Piece]) -> Iterator[Work]:
    """Yield works of one batch each, similar units together; the last work may be smaller."""
    request, engine = pieces[0].wanted.request, pieces[0].wanted.engine
    spec = engine.spec
    size = max(request.batch, in_flight(spec.options) if spec and spec.is_served else 0)
    units = [(piece.wanted, unit) for piece in pieces for unit in piece.units]
    units.sort(key=lambda each: each[0].request.near(each[1]))
    for start in range(0, len(units), size):
        own: dict[int, tuple[Wanted, list[str]]] = {}
        for wanted, unit in units[start : start + size]:
            own.setdefault(id(wanted), (wanted, []))[1].append(unit)
        yield Work(tuple(Piece(wanted, tuple(some)) for wanted, some in own.values()))
