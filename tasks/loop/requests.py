"""Requests to an engine, as values: who answers, which units, under which hash. Pure.

A request is named by the hash of all that determines its answers; its units (countries, sentences, prompts,
texts) are answered and stored one by one, in parts of ``batch`` units. What is stored is found again by any
later run that sends the same, whatever evaluation it belongs to. The kinds of requests:
``scoring.items``, ``scoring.candidates``, ``generation.prompts`` and ``embedding.texts``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, ClassVar, Generic, Literal, Self, TypeVar

import polars as pl

from tasks.engines.protocols import Generation, Unfinished
from tasks.engines.specs import EngineSpec
from tasks.identity import digest

Role = Literal["candidate", "judge", "simulator", "embedder"]
"""Role of an engine. A candidate is the model that is evaluated."""

Ability = Literal["score", "candidates", "generate", "published", "embed"]
"""Ability that an engine must have."""

CANDIDATE = ""
"""The ``engine`` of a request that goes to the model which is evaluated."""

T = TypeVar("T")


@dataclass(frozen=True)
class Engine:
    """Who answers, as far as studies and requests need to know.

    Attributes:
        name: what leaderboards call it; of an embedder, its source.
        kind: as in ``EngineSpec``, or "embedder".
        model: what runs in it, which tells its family.
        hash: identifies all that determines its answers.
        spec: how to load it; None for an embedder, and for an engine that is only read from.
        occasion: of its answers; those of another stand beside them. "": whenever it was first asked.
    """

    name: str
    kind: str
    model: str
    hash: str
    spec: EngineSpec | None = None
    occasion: str = ""

    @classmethod
    def of(cls, spec: EngineSpec, name: str | None = None) -> Engine:
        """The engine of a spec, under its own name or another."""
        return cls(name or spec.name, spec.kind, spec.model, spec.hash(), spec)


@dataclass(frozen=True, kw_only=True)
class Request(ABC, Generic[T]):
    """Units that one engine answers in the same way; ``T`` is what their answers are read as.

    Attributes:
        role: what the engine is there for; a failing judge or simulator leaves its own numbers unscored, a
            failing candidate or embedder the model.
        engine: name of the engine among the study's, or CANDIDATE.
        topic, label: what SQL and the progress show of it (table run_request).
        batch: units that are answered and stored together, so lost at most by a kill.
    """

    kind: ClassVar[str]
    """Kind of the parts that hold the answers."""
    ability: ClassVar[Ability]
    columns: ClassVar[tuple[str, ...]]
    """Columns of a part that ``decode`` reads."""
    joins: ClassVar[bool] = False
    """Whether units of several requests may be sent at once, each under its own."""
    by_unit: ClassVar[bool] = False
    """Whether ``decode`` gives a mapping of units, which can be made bit by bit."""

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
        """All that determines the answers beside the units, as JSON."""

    @abstractmethod
    def compute(self, engine: Any, units: Sequence[str], progress: Callable[[int], None]) -> pl.DataFrame:
        """Have a loaded engine answer some units: rows of a part, without provenance.

        Args:
            engine: has the ability.
            progress: told how much of ``size`` was done, while it is.

        Raises:
            EngineError: it failed; ``Unfinished`` with the units that were answered before, and their rows.
        """

    @classmethod
    def compute_together(
        cls, pieces: Sequence[tuple[Self, Sequence[str]]], engine: Any, progress: Callable[[int], None]
    ) -> list[tuple[Sequence[str], pl.DataFrame]]:
        """Have units of several requests answered at once: the units and rows of each; see ``compute``.

        Args:
            pieces: one, where requests of the kind do not join.

        Raises:
            EngineError: it failed; ``Unfinished`` with the units and rows of each that were answered before,
                which may be none of some.
        """
        ((request, units),) = pieces
        try:
            return [(units, request.compute(engine, units, progress))]
        except Unfinished as error:
            raise Unfinished(str(error), [error.done]) from error

    @abstractmethod
    def decode(self, frame: pl.DataFrame) -> T:
        """The stored answers of the units; ``frame`` has ``columns``, and lacks what is not answered."""

    def hash(self, engine: Engine) -> str:
        """Names the request: what one engine is asked on its occasion."""
        return digest([*self.identity(engine), *([engine.occasion] if engine.occasion else [])])

    def rule(self, engine: Engine) -> str:
        """Return the rule by which prompt and answer meet (boundary rule)."""
        return "none"

    def near(self, unit: str) -> str:
        """Return a text whose order brings together units that have much in common; "" where none have."""
        return ""

    def size(self, units: Sequence[str]) -> int:
        """Return the size of these units' work: log-probabilities, completions or vectors."""
        return len(units)

    def at_most(self, units: Sequence[str]) -> list[Generation]:
        """The most that these units can use of a budget, one per unit; none: nothing that costs."""
        return []

    def used(self, frame: pl.DataFrame) -> list[Generation]:
        """Return the use of a budget by rows of ``compute``, in their order."""
        return []


@dataclass(frozen=True)
class Later:
    """The most that later rounds can send about each model: known before any answer is.

    Attributes:
        engine: name among the study's engines; of a candidate "".
        n: prompts.
        tokens: of one prompt and its completion, at most, estimated; on average over the prompts.
        is_shared: once, however many models are evaluated.
    """

    role: Role
    engine: str
    n: int
    tokens: int
    is_shared: bool = False


def apart(
    pieces: Sequence[tuple[Request[Any], Sequence[str]]], rows: pl.DataFrame
) -> list[tuple[Sequence[str], pl.DataFrame]]:
    """The rows of each piece out of those of all, of which a unit has as many as its ``size``."""
    sizes = [request.size(units) for request, units in pieces]
    ends = list(accumulate(sizes))
    return [
        (units, rows[end - size : end]) for (_, units), size, end in zip(pieces, sizes, ends, strict=True)
    ]


def part_name(request_hash: str, units: Sequence[str]) -> str:
    """The part that holds these units: the hash of what it answers."""
    return digest([request_hash, sorted(units)], 32)
