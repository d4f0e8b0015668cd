"""The work that is left, as a value: a dry run prints it, and the loop works it off. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import polars as pl

from tasks.engines.specs import in_flight
from tasks.loop.requests import Engine, Later, Request, part_name

UNITS = {"request_hash": pl.String, "unit": pl.String}


@dataclass(frozen=True)
class Wanted:
    """A request with its engine, for one model.

    Attributes:
        model: whose evaluation it belongs to; "" for the study's own requests.
    """

    model: str
    request: Request[Any]
    engine: Engine

    @cached_property
    def request_hash(self) -> str:
        """Names the request to this engine."""
        return self.request.hash(self.engine)


@dataclass(frozen=True)
class Work:
    """Units of one request that have no answer yet: a part to be made."""

    wanted: Wanted
    units: tuple[str, ...]

    @property
    def part(self) -> str:
        """The part's name: the hash of what it answers."""
        return part_name(self.wanted.request_hash, self.units)

    @property
    def size(self) -> int:
        """Log-probabilities, completions or vectors."""
        return self.wanted.request.size(self.units)


@dataclass(frozen=True)
class Line:
    """One engine's work for one model: a line of the plan.

    Attributes:
        asked, left: log-probabilities, completions or vectors; all, and those without an answer.
        work: what is left, in parts.
    """

    model: str
    engine: Engine
    role: str
    kind: str
    asked: int
    left: int
    work: tuple[Work, ...]


@dataclass(frozen=True)
class Plan:
    """All lines, in the order in which they are worked off: an engine's lines stand together."""

    lines: tuple[Line, ...]
    later: tuple[Later, ...] = field(default=())

    @property
    def work(self) -> Iterator[Work]:
        """Every part to be made, in order."""
        return (work for line in self.lines for work in line.work)

    @property
    def left(self) -> int:
        """Parts to be made."""
        return sum(len(line.work) for line in self.lines)


def units_wanted(wanted: Iterable[Wanted]) -> dict[str, pl.DataFrame]:
    """Part kind -> request_hash and unit of everything that is wanted, each once."""
    columns: dict[str, tuple[list[str], list[str]]] = {}
    for each in wanted:
        hashes, units = columns.setdefault(each.request.kind, ([], []))
        hashes += [each.request_hash] * len(each.request.units)
        units += each.request.units
    return {kind: pl.DataFrame(both, UNITS, orient="col").unique() for kind, both in columns.items()}


def lay_out(
    wanted: Sequence[Wanted], missing: Mapping[str, pl.DataFrame], later: Iterable[Later] = ()
) -> Plan:
    """Cut what is missing into parts, engine by engine.

    A unit that several requests want is done for the first of them. Units are taken in the order of their
    names, so that parts do not depend on the order in which a study lists them.

    Args:
        missing: part kind -> request_hash and unit without an answer.
    """
    open_units = {kind: set(frame.rows()) for kind, frame in missing.items()}
    lines: dict[tuple[str, str, str], Line] = {}
    for each in wanted:
        request, left = each.request, open_units[each.request.kind]
        todo = sorted({unit for unit in request.units if (each.request_hash, unit) in left})
        left.difference_update((each.request_hash, unit) for unit in todo)
        size = max(request.batch, in_flight(each.engine.spec))
        chunks = (todo[start : start + size] for start in range(0, len(todo), size))
        work = tuple(Work(each, tuple(chunk)) for chunk in chunks)
        key = (each.engine.name, each.model, request.kind)
        line = lines.get(key) or Line(each.model, each.engine, request.role, request.kind, 0, 0, ())
        asked, open_ = request.size(request.units), request.size(todo)
        lines[key] = replace(line, asked=line.asked + asked, left=line.left + open_, work=line.work + work)
    engines = list(dict.fromkeys(name for name, *_ in lines))
    ordered = sorted(lines.items(), key=lambda item: engines.index(item[0][0]))
    return Plan(tuple(line for _, line in ordered), tuple(later))
