"""Items of an evaluation from a recipe, with what its definition says of them. Values; pure."""

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
"""Field that a prompt of a choice may use beside columns: the options with their letters, one a line."""


class Item(NamedTuple):
    """One item, or of a preference one context.

    Attributes:
        fields: its cells by column; empty cells are "".
        line: of its file, for faults.
    """

    name: str
    cluster: str
    fields: Mapping[str, str]
    line: int


class Member(NamedTuple):
    """An item of a group, of a preference. kind: of the contexts that it stands in; "": of all."""

    text: str
    group: str
    kind: str


Score = Callable[[Any, Item, str], tuple[float, ...]]
Derive = Callable[[Sequence[Item], Sequence[int | None]], Mapping[str, FloatArray]]


@dataclass(frozen=True)
class Loaded:
    """One evaluation, whole.

    Attributes:
        items: in the order of their names. members: of a preference, in the order of their file.
        rubric: of a judged one. published: numbers of others.
        score: of a short answer, in place of accepted answers: knobs, item and text -> the shares in [0, 1]
            of the headline and of each of ``also``. derive: of a choice: items, and which option was chosen
            of each, from 0 or None -> each of ``also`` by name, [items]; NaN where it does not apply.
        knobs: those of the params that are hashed as they stand. left_out: reason -> items not asked.
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
    left_out: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def hash(self) -> str:
        """Identifies the definition and all that it names but the items: of these some may be left out."""
        members = [member._asdict() for member in self.members]
        return digest([content(self.definition, members), self.rubric.hash() if self.rubric else ""])

    def options(self, item: Item) -> tuple[str, ...]:
        """Return the options of a choice, in their order."""
        assert isinstance(self.definition, Choice)
        return options_of(self.definition, item.fields)

    def right(self, item: Item) -> int:
        """Which option of a choice is right, from 0."""
        assert isinstance(self.definition, Choice)
        place = right_of(self.definition, item.fields)
        assert place is not None, "items are checked when they are loaded"
        return place

    def accepted(self, item: Item) -> tuple[str, ...]:
        """Accepted answers of a short answer."""
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
    """The options of an item, in their order."""
    if len(definition.options) == 1:
        return several(fields[definition.options[0]])
    choices = [fields[column] for column in definition.options]
    while len(choices) > 2 and not choices[-1]:
        choices.pop()
    return tuple(choices)


def right_of(definition: Choice, fields: Mapping[str, str]) -> int | None:
    """Which option is right, from 0; None if none is named.

    By text first: options may be letters or numbers themselves.
    """
    options, answer = options_of(definition, fields), fields[definition.answer]
    named = [normal(option) for option in options]
    if normal(answer) in named:
        return named.index(normal(answer))
    letters = list(LETTERS[: len(options)])
    if answer.upper() in letters:
        return letters.index(answer.upper())
    return int(answer) - 1 if answer.isdecimal() and 1 <= int(answer) <= len(options) else None


def several(cell: str) -> tuple[str, ...]:
    """The texts in one cell, separated by |."""
    return tuple(part.strip() for part in cell.split("|") if part.strip())
