"""Items of an evaluation from a recipe, with their definition. Values; pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from tasks.evaluations.recipe.definition import LETTERS, Choice, Recipe, ShortAnswer, content
from tasks.identity import digest
from tasks.judging.rubric import Rubric, normal
from tasks.metrics.types import FloatArray

ITEM = "item"
CHOICES = "choices"
"""Field for prompts of a choice, beside columns: the options with their letters, one per line."""


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


@dataclass(frozen=True)
class LoadedRecipe:
    """An evaluation's definition with the content of its files.

    Attributes:
        items: in the order of their names. members: a preference's group items, in the order of their file.
        rubric: the rubric of a judged evaluation. published: published numbers.
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
        return digest([content(self.definition, members), self.rubric.hash() if self.rubric else ""])

    def options(self, item: Item) -> tuple[str, ...]:
        """Return the options of a choice, in their order."""
        assert isinstance(self.definition, Choice)
        return options_of(self.definition, item.fields)

    def right(self, item: Item) -> int:
        """Return the index of the right option of a choice, from 0."""
        assert isinstance(self.definition, Choice)
        place = right_of(self.definition, item.fields)
        assert place is not None, "items are checked on loading"
        return place

    def accepted(self, item: Item) -> tuple[str, ...]:
        """Return accepted answers of a short answer."""
        assert isinstance(self.definition, ShortAnswer)
        return several(item.fields[self.definition.accepted])

    def weights(self, item: Item) -> tuple[float, ...]:
        """Return the score of each accepted answer: the greatest weight is 1."""
        assert isinstance(self.definition, ShortAnswer)
        texts = self.accepted(item)
        if not self.definition.weights:
            return (1.0,) * len(texts)
        weights = [float(weight) for weight in several(item.fields[self.definition.weights])]
        return tuple(weight / max(weights) for weight in weights)


def options_of(definition: Choice, fields: Mapping[str, str]) -> tuple[str, ...]:
    """Return the options of an item, in their order."""
    if len(definition.options) == 1:
        return several(fields[definition.options[0]])
    choices = [fields[column] for column in definition.options]
    while len(choices) > 2 and not choices[-1]:
        choices.pop()
    return tuple(choices)


def right_of(definition: Choice, fields: Mapping[str, str]) -> int | None:
    """Return the index of the right option, from 0; None if none is named.

    The text is tried first, because options may be letters or numbers themselves.
    """
    options, answer = options_of(definition, fields), fields[definition.answer]
    named = [normal(option) for option in options]
    if normal(answer) in named:
        return named.index(normal(answer))
    letters = list(LETTERS[: len(options)])
    if answer.upper() in letters:
        return letters.index(answer.upper())
    return int(answer) - 1 if answer.isdecimal() and 1 <= int(answer) <= len(options) else None


def rotations(definition: Choice, item: Item) -> list[Item]:
    """Return an item once for each of its options in the first place; the others follow in their order.

    The right option is named by its text. Names end in the rotation, from 1.
    """
    options, right = options_of(definition, item.fields), right_of(definition, item.fields)
    assert right is not None, "items are checked on loading"
    turned = []
    for first in range(len(options)):
        order = (*options[first:], *options[:first])
        columns, one = definition.options, {definition.options[0]: " | ".join(order)}
        cells = dict(zip(columns, order, strict=False)) if len(columns) > 1 else one
        fields = {**item.fields, **cells, definition.answer: options[right]}
        turned.append(item._replace(name=f"{item.name}/{first + 1}", fields=fields))
    return turned


def several(cell: str) -> tuple[str, ...]:
    """Return the texts in one cell, which | separates."""
    return tuple(part.strip() for part in cell.split("|") if part.strip())
