"""Base of all recipes' definitions: fields, a headline, and what they read of an item. Values; pure.

A definition names files beside it: items and, by recipe, a rubric or contexts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import BeforeValidator, Field, StringConstraints

from tasks.packs.shape import LONGEST, ModelName, Name, PackRow, Text, Title

CHOICE, JUDGED, SHORT, PREFERENCE = "choice", "judged", "short_answer", "preference"

LETTER = "letter"
"""Values of ``Choice.by``."""

MOST_REPETITIONS = 100

MAX_TOKENS = 4096
"""Tokens of an answer or verdict, including a model's thinking before it."""

BEST = "best"
"""Value of ``Metric.null`` for the null model that scores best, overall and in each slice."""

CHANCE = "chance"
"""Null model of a choice that draws an option."""

WRITER, SCORER = "smollm2-135m-vllm", "smollm2-135m"
"""Embedded models that are evaluated if a definition names none."""

SMALL, FEW_TOKENS = 10, 64
"""Number of items and tokens in the profile smoke, if a definition has no profiles."""

CHOICES = "choices"
"""Field for prompts of a choice, beside columns: the options with their letters, one per line."""

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
"""Letters of the options, in order."""

GIVEN, ROTATED = "given", "rotated"
"""Values of ``Choice.orders``."""


def _columns(value: object) -> object:
    """Return the columns as a tuple, given one column or several."""
    return (value,) if isinstance(value, str) else value


def _number(value: object) -> object:
    """Accept a null as a number or a name, but not as yes or no."""
    if isinstance(value, bool):
        raise ValueError("it is neither a number nor a name")
    return value


Columns = Annotated[tuple[Name, ...], BeforeValidator(_columns)]


class Control(NamedTuple):
    """Texts for people about a control: a model's score without the clue to the answer."""

    label: str
    description: str


class Flaw(NamedTuple):
    """A fault of an item or a field: its column, what is wrong, and what to do."""

    column: str
    what: str
    todo: str


class MetricPart(PackRow):
    """The headline: the mean of the answers' scores over items.

    Attributes:
        bounds: least and greatest value of an item. null: a number or a null model's name (``NULLS``).
    """

    name: Name
    bounds: tuple[float, float]
    null: Annotated[float | str, BeforeValidator(_number)]
    label: str = ""
    direction: Literal["higher", "lower", "none"] = "higher"
    unit: str = "fraction"
    description: str = ""
    source: str = "the definition of this evaluation"


Template = Annotated[str, StringConstraints(max_length=LONGEST)]
"""Jinja2 over the columns of an item; "": none."""


class Wording(PackRow):
    """The messages about an item in one condition. then: a second message, after the model's first answer."""

    prompt: Template = ""
    system: Template = ""
    then: Template = ""


class Recipe(PackRow):
    """Fields that all recipes need.

    Attributes:
        title: the question in one line.
        items: CSV file of the items; the column ``item`` names them, else ``id`` if its values differ, else
            their content.
        prompt, system: Jinja2 templates over the columns of an item.
        conditions: name -> its wording, over the same items; what it leaves out is the definition's.
            The headline is of the first one, and each other one is compared with it, item by item.
        cluster: see ``WHY``. slices: columns; every number is also computed for each of their values.
        average: items: a number is the mean over items; clusters: the mean over clusters of the mean over a
            cluster's items, so that large clusters count as much as others.
        models: models to evaluate by default.
        profiles: name -> values of options.
        also: further numbers of the same answers. Their null is a number, or a null model of a short answer.
        published: CSV file of published numbers (``PrintedNumber``) to show beside ours; "": none.
        licence, source, citation: licence, origin and citation of the items, to show.
    """

    recipe: ClassVar[str]
    nulls: ClassVar[tuple[str, ...]] = ()
    """Null models with a row of their own, by name without ``null:``; ``metric.null`` may be one."""
    controls: ClassVar[Mapping[str, Control]] = MappingProxyType({})
    unscored_when: ClassVar[str] = "nothing was answered"
    shares: ClassVar[Sequence[tuple[str, str, str, str]]] = ()
    """Further numbers of the recipe: name, label, direction and description."""
    is_judged: ClassVar[bool] = False

    title: Title
    items: Text
    prompt: Template = ""
    system: Template = ""
    conditions: dict[Name, Wording] = Field({})
    metric: MetricPart
    also: tuple[MetricPart, ...] = ()
    cluster: Name
    average: Literal["items", "clusters"] = "items"
    slices: Columns = ()
    models: tuple[Text, ...] = ()
    profiles: dict[Name, dict[str, Any]] = Field({})
    published: str = ""
    licence: str = ""
    source: str = ""
    citation: str = ""

    @property
    def asked(self) -> str:
        """Return the file whose rows are asked, by name."""
        return self.items

    def shares_of(self, items: Sequence[Mapping[str, str]]) -> Sequence[tuple[str, str, str, str]]:
        """Return ``shares`` as far as items with these fields may have them."""
        return self.shares

    @property
    def columns(self) -> dict[str, Sequence[str]]:
        """Return field -> the columns of the items that it names; "" is none."""
        return {"cluster": [self.cluster], "slices": self.slices}

    @property
    def null_models(self) -> tuple[str, ...]:
        """Return the names of the null models that get separate rows."""
        return self.nulls

    @property
    def known_nulls(self) -> tuple[str, ...]:
        """Return the names that ``metric.null`` may have."""
        return (*self.null_models, BEST)

    @property
    def wordings(self) -> dict[str, Wording]:
        """Return what each condition sends, the headline's first; its name is "" without others."""
        of = {name: getattr(self, name, "") for name in Wording.model_fields}
        return {
            name: Wording(**{field: getattr(own, field) or text for field, text in of.items()})
            for name, own in (self.conditions or {"": Wording()}).items()
        }

    @property
    def fields(self) -> frozenset[str]:
        """Return the names that prompts may use beside the items' columns."""
        return frozenset()

    @property
    def scorer(self) -> bool:
        """Return whether a model scores texts; otherwise it writes."""
        return False

    @property
    def usual_profiles(self) -> dict[str, dict[str, Any]]:
        """Return the profiles if the definition has none."""
        return {"smoke": {"limit": SMALL}, "demo": {}}

    def flaws(self, fields: Mapping[str, str]) -> Iterator[Flaw]:
        """Yield what is wrong with an item's cells."""
        yield from ()

    def flaws_together(
        self, items: Sequence[tuple[int, Mapping[str, str]]], members: Sequence[tuple[str, str, str]]
    ) -> Iterator[tuple[int | None, Flaw]]:
        """Yield what is wrong with items beside each other, with the line.

        Args:
            items: line and cells. members: a preference's items: text, group, kind.
        """
        yield from ()

    def template_flaws(self) -> Iterator[Flaw]:
        """Yield what is wrong with the definition's templates together, by field."""
        yield from ()


class PrintedNumber(PackRow):
    """A published number in the headline's unit.

    Attributes:
        source: where it is printed. model: its name as printed. value: the slice's value; default: all items.
        difference: how that number's definition differs from ours.
    """

    source: Text
    model: ModelName
    value: float
    slice_kind: str = "overall"
    slice: str = "all"
    difference: str = "the definition of the evaluation does not say"
    note: str = ""


class TextRecipe(Recipe):
    """Fields of recipes in which a model writes a text.

    Attributes:
        max_tokens: most tokens of an answer, including thinking.
        repetitions: answers to each item, whose scores are averaged; above 1, ``temperature`` is above 0.
        then: a second message, after the model's first answer; the second answer is scored.
    """

    controls: ClassVar[Mapping[str, Control]] = {
        "exchanged": Control(
            "Answers exchanged",
            "The same number where each item is given the model's answer to another item.",
        )
    }

    max_tokens: int = Field(MAX_TOKENS, ge=1)
    repetitions: int = Field(1, ge=1, le=MOST_REPETITIONS)
    temperature: float = Field(0.0, ge=0, le=2, allow_inf_nan=False)
    then: Template = ""

    @property
    def usual_profiles(self) -> dict[str, dict[str, Any]]:
        return {"smoke": {"limit": SMALL, "max_tokens": FEW_TOKENS}, "demo": {}}

    def right(self, fields: Mapping[str, str]) -> tuple[str, ...]:
        """Return an item's right answers."""
        raise NotImplementedError


def several(cell: str) -> tuple[str, ...]:
    """Return the texts in one cell, which | separates."""
    return tuple(part.strip() for part in cell.split("|") if part.strip())
