"""Items of an evaluation from a recipe, with their definition. Values; pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from tasks.evaluations.recipe.definition import MetricPart, Recipe
from tasks.identity import digest
from tasks.judging.rubric import Rubric
from tasks.metrics.types import FloatArray

ITEM = "item"
"""Column that names the items of a file."""


class Item(NamedTuple):
    """One item; for a preference, one context.

    Attributes:
        fields: column -> cell; empty cells are "".
        line: line in its file, for faults.
    """

    name: str
    cluster: str
    fields: Mapping[str, str]
    line: int


class Member(NamedTuple):
    """A group's item in a preference. kind: kind of the contexts that use it; "": all contexts."""

    text: str
    group: str
    kind: str


class LeftOut(NamedTuple):
    """Why something of the data is not asked.

    Attributes:
        unit: what is left out; "": what an item is made of.
        is_fault: whether it is a fault of the data; many mean that files were misread.
    """

    reason: str
    unit: str = ""
    is_fault: bool = True


Score = Callable[[Any, Item, str], tuple[float, ...]]
Derive = Callable[[Sequence[Item], Sequence[int | None]], Mapping[str, FloatArray]]
_NEWER = ("conditions", "repetitions", "temperature", "then", "score")


@dataclass(frozen=True)
class LoadedRecipe:
    """An evaluation's definition with the content of its files.

    Attributes:
        items: in the order of their names. members: a preference's group items, in the order of their file.
        rubric: the rubric of a judged evaluation. code: of a score in Python (``own_score``).
        published: published numbers.
        score: replaces the accepted answers of short answers: params, item and text -> shares in [0, 1] for
            the headline and each of ``also``.
        derive: for a choice: items and chosen options (from 0, or None) -> each of ``also`` by name, [items];
            NaN if it does not apply.
        knobs: params that are hashed by value.
        used: unit of the data -> number of used ones, the unit that an item is made of first.
        left_out: what is left out -> how often.
    """

    name: str
    definition: Recipe
    items: tuple[Item, ...]
    rubric: Rubric | None = None
    members: tuple[Member, ...] = ()
    published: tuple[Mapping[str, Any], ...] = ()
    score: Score | None = None
    derive: Derive | None = None
    knobs: frozenset[str] = frozenset()
    used: Mapping[str, int] = field(default_factory=dict)
    left_out: Mapping[LeftOut, int] = field(default_factory=dict)
    code: str = ""

    def left_out_by_unit(self) -> dict[str, dict[str, int]]:
        """Return unit -> reason -> how many of this unit are left out, in the order of ``used``."""
        by_unit: dict[str, dict[str, int]] = {unit: {} for unit in self.used}
        for out, count in self.left_out.items():
            reasons = by_unit.setdefault(out.unit or next(iter(self.used)), {})
            reasons[out.reason] = reasons.get(out.reason, 0) + count
        return {unit: reasons for unit, reasons in by_unit.items() if reasons}

    @cached_property
    def hash(self) -> str:
        """Return a hash of the definition and its files, except the items, of which some may be left out."""
        members = [member._asdict() for member in self.members]
        parts = [_content(self.definition, members), self.rubric.hash() if self.rubric else ""]
        return digest([*parts, self.code] if self.code else parts)


def _content(definition: Recipe, rows: Sequence[Mapping[str, Any]] = ()) -> str:
    """Return a hash of all in a definition that changes a number, and of further rows, but not of texts."""
    descriptive = {"title", "models", "profiles", "published", "licence", "source", "citation", "items"}
    fields = definition.model_dump(mode="json", exclude=descriptive)
    for name in _NEWER:  # as long as nothing uses them, hashes are those of before
        if not fields.get(name) or (name, fields[name]) == ("repetitions", 1):
            fields.pop(name, None)
    if "conditions" in fields:  # in their order: the headline is of the first
        fields["conditions"] = [*fields["conditions"].items()]
    fields["metric"] = _meaning(definition.metric)
    fields["also"] = [_meaning(part) for part in definition.also]
    return digest([definition.recipe, fields, [dict(row) for row in rows]])


def _meaning(metric: MetricPart) -> dict[str, Any]:
    """Return the fields of a metric that change a number."""
    return metric.model_dump(mode="json", include={"name", "bounds", "null", "direction"})
