"""Requests to an engine, as values: the engine, the units, the hash. Pure.

A request's hash covers everything that determines its answers. Its units (countries, sentences, prompts,
texts) are stored one by one, in parts of ``batch`` units. Any later run that sends the same request, in any
evaluation, finds the stored answers. The kinds of requests are in ``items``, ``candidates``, ``pairs``,
``prompts`` and ``texts``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, ClassVar, Generic, Literal, Self, TypeVar

import polars as pl

from tasks.engines.protocols import Ability, Generation, Unfinished
from tasks.engines.specs import EngineSpec
from tasks.identity import digest

Role = Literal["candidate", "judge", "simulator", "embedder"]
"""Role of an engine. The candidate is the model that is evaluated."""

CANDIDATE = ""
"""The ``engine`` of a request to the model that is evaluated."""

T = TypeVar("T")


@dataclass(frozen=True)
class Engine:
    """An engine, with what studies and requests need to know of it.

    Attributes:
        name: its name on leaderboards; for an embedder, its source.
        kind: as in ``EngineSpec``, or "embedder".
        model: name of its model, from which its family is read.
        hash: covers everything that determines its answers.
        spec: how to load it; None for an embedder, and for an engine whose stored answers are only read.
        occasion: of its answers, which are stored beside those of other occasions; "": the first time.
    """

    name: str
    kind: str
    model: str
    hash: str
    spec: EngineSpec | None = None
    occasion: str = ""

    @classmethod
    def of(cls, spec: EngineSpec, name: str | None = None) -> Engine:
        """Return the engine of a spec, under its own name or another."""
        return cls(name or spec.name, spec.kind, spec.model, spec.hash(), spec)


@dataclass(frozen=True, kw_only=True)
class Request(ABC, Generic[T]):
    """Units that one engine answers under the same settings; ``T`` is the type of the decoded answers.

    Attributes:
        role: of the engine. If a judge or simulator fails, only its own numbers are unscored; if a candidate
            or embedder fails, the model is.
        engine: name of one of the study's engines, or CANDIDATE.
        topic, label: its names in SQL (table run_request) and progress.
        batch: units that are sent and stored together; a kill loses no more.
    """

    kind: ClassVar[str]
    """Kind of the parts that hold the answers."""
    ability: ClassVar[Ability]
    columns: ClassVar[tuple[str, ...]]
    """Columns of a part for ``decode``."""
    joins: ClassVar[bool] = False
    """Whether units of several requests may be sent in one call."""
    by_unit: ClassVar[bool] = False
    """Whether ``decode`` returns a mapping by unit, which can be built step by step."""

    role: Role = "candidate"
    engine: str = CANDIDATE
    topic: str = ""
    label: str = ""
    batch: int = 32

    @property
    @abstractmethod
    def units(self) -> Sequence[str]:
        """Return the units by name; they may repeat."""

    @abstractmethod
    def identity(self, engine: Engine) -> list[Any]:
        """Return everything but the units that determines the answers, as JSON."""

    @abstractmethod
    def compute(self, engine: Any, units: Sequence[str], progress: Callable[[int], None]) -> pl.DataFrame:
        """Return a loaded engine's answers to some units, as rows of a part without provenance.

        Args:
            engine: an engine with the ability.
            progress: called during the work with the amount of ``size`` just done.

        Raises:
            EngineError: it failed; ``Unfinished`` has the units that are answered, their rows, and what is
                lost, by unit.
        """

    @classmethod
    def compute_together(
        cls, pieces: Sequence[tuple[Self, Sequence[str]]], engine: Any, progress: Callable[[int], None]
    ) -> list[tuple[Sequence[str], pl.DataFrame]]:
        """Return the answers to units of several requests, in one call: units and rows of each request.

        Args:
            pieces: requests with their units; only one if this kind does not join.

        Raises:
            EngineError: it failed; ``Unfinished`` has the units and rows of each that are answered, possibly
                none for some, and what each has lost. See ``compute``.
        """
        ((request, units),) = pieces
        try:
            return [(units, request.compute(engine, units, progress))]
        except Unfinished as error:
            raise Unfinished(str(error), [error.done], [error.lost]) from error

    @abstractmethod
    def decode(self, frame: pl.DataFrame) -> T:
        """Return the decoded answers. frame: rows with ``columns``; unanswered units are missing."""

    def hash(self, engine: Engine) -> str:
        """Return the hash that names this request to an engine on its occasion."""
        return digest([*self.identity(engine), *([engine.occasion] if engine.occasion else [])])

    def rule(self, engine: Engine) -> str:
        """Return the boundary rule: how tokens are split between prompt and answer."""
        return "none"

    def near(self, unit: str) -> str:
        """Return a sort key that puts similar units together; "" if they have nothing in common."""
        return ""

    def size(self, units: Sequence[str]) -> int:
        """Return the number of log-probabilities, completions or vectors of these units."""
        return len(units)

    def at_most(self, units: Sequence[str]) -> list[Generation]:
        """Return the most that each unit can use of a budget; empty if the kind costs nothing."""
        return []

    def used(self, frame: pl.DataFrame) -> list[Generation]:
        """Return the budget use of each row of ``compute``, in order."""
        return []


@dataclass(frozen=True)
class Later:
    """The most that later rounds can send for each model, known before any answer.

    Attributes:
        engine: name of one of the study's engines; "" for the candidate.
        n: number of prompts.
        tokens: estimated maximum for one prompt and its completion, on average over the prompts.
        is_shared: whether it is sent only once, for all models together.
        usual: the expected number of prompts, and the expected tokens of a prompt and of its completion
            (without thinking); None: nothing is known.
    """

    role: Role
    engine: str
    n: int
    tokens: int
    is_shared: bool = False
    usual: tuple[float, float, float] | None = None


def split_rows(
    pieces: Sequence[tuple[Request[Any], Sequence[str]]], rows: pl.DataFrame
) -> list[tuple[Sequence[str], pl.DataFrame]]:
    """Return the rows of each piece from the rows of all, in order; a unit has ``size`` rows."""
    sizes = [request.size(units) for request, units in pieces]
    ends = list(accumulate(sizes))
    return [
        (units, rows[end - size : end]) for (_, units), size, end in zip(pieces, sizes, ends, strict=True)
    ]


def part_name(request_hash: str, units: Sequence[str]) -> str:
    """Return the name of the part with these units: a hash of their keys."""
    return digest([request_hash, sorted(units)], 32)
