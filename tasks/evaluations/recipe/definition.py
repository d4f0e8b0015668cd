"""The user's definition of an evaluation, checked completely before anything runs. Pure.

A definition names files beside it: items and, by recipe, a rubric or contexts. ``check`` reads them and
returns every fault at once, with file and line.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    StringConstraints,
    ValidationError,
)

from tasks.evaluations.recipe.normal import STEPS
from tasks.identity import digest
from tasks.packs.shape import LONGEST, ModelName, Name, PackFault, PackRow, Text, Title
from tasks.parsing import plain

CHOICE, JUDGED, SHORT, PREFERENCE = "choice", "judged", "short_answer", "preference"

LETTER = "letter"
"""Values of ``Choice.by``."""

ROOM = 4096
"""Tokens of an answer or verdict, including a model's thinking before it."""

BEST = "best"
"""Value of ``Metric.null`` for the null model that scores best, overall and in each slice."""

CHANCE = "chance"
"""Null model of a choice that draws an option."""

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
"""Letters of the options, in order."""

GIVEN, ROTATED = "given", "rotated"
"""Values of ``Choice.orders``."""

WHY = {
    "null": (
        "the score without any knowledge: a number, or the name of a null model; without it no result can be "
        "called a finding"
    ),
    "bounds": "the least and the greatest value, such as [0, 1]; intervals are cut to them",
    "cluster": (
        "the column that groups related items, such as country; intervals are over its values, because "
        "otherwise they would be too narrow"
    ),
}
"""Reasons why some fields have no default."""


TAKEN = frozenset(
    {
        "ci_high", "ci_low", "config_hash", "coverage", "doubt", "finished_at", "is_beyond_null", "is_null",
        "metric", "model", "n_scored", "n_unscored", "null_value", "place", "profile", "run_id",
        "self_preference_warning", "unanswered",
    }
)  # fmt: skip
"""Columns of every leaderboard and metrics of every recipe; no headline may have these names."""


def _columns(value: object) -> object:
    """Return the columns as a tuple, given one column or several."""
    return (value,) if isinstance(value, str) else value


def _number(value: object) -> object:
    """Accept a null as a number or a name, but not as yes or no."""
    if isinstance(value, bool):
        raise ValueError("it is neither a number nor a name")
    return value


def _known_steps(steps: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    if unknown := sorted({step for each in steps.values() for step in each} - STEPS.keys()):
        raise ValueError(f"unknown step {', '.join(unknown)}; known: {', '.join(sorted(STEPS))}")
    return steps


Columns = Annotated[tuple[Name, ...], BeforeValidator(_columns)]


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


class Recipe(PackRow):
    """Fields that all recipes need.

    Attributes:
        title: the question in one line.
        items: CSV file of the items; the column ``item`` names them, else ``id`` if its values differ, else
            their content.
        prompt, system: Jinja2 templates over the columns of an item.
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
    """Null models with a row of their own, by name without ``null:``."""

    title: Title
    items: Text
    prompt: Text
    system: Annotated[str, StringConstraints(max_length=LONGEST)] = ""
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

    max_tokens: most tokens of an answer, including thinking.
    """

    max_tokens: int = Field(ROOM, ge=1)


class Judged(TextRecipe):
    """Texts that judges score by a rubric.

    Attributes:
        rubric: TOML file; its inputs are columns of the items, and ``judged``.
        judged: the input that is the model's text.
        gold: column with a right answer for checking judges; "": none. within: column; answers are exchanged
            within its values; "": among all items. generic: a text that fits no item in particular.
    """

    recipe = JUDGED
    nulls = ("generic", "empty")

    rubric: Text
    judged: Name = "answer"
    gold: str = ""
    within: str = ""
    generic: Text = "That depends on the situation and on the people involved; opinions differ."


class ShortAnswer(TextRecipe):
    """Texts that are compared with accepted answers.

    Attributes:
        accepted: column with the accepted answers, separated by |.
        weights: column with one number per accepted answer; the greatest scores 1, the others in proportion;
            "": every accepted answer scores 1.
        match: equals: the whole text is an accepted answer; contains: the text contains one as words.
        language: column with the language of an item's answers, for ``normalise``; "": none.
        normalise: language, or * for all others -> steps in order (``normal.STEPS``).
        within: as of ``Judged``.
        cut_off: wrong: a text cut off at max_tokens is a lost answer; scored: every text is scored as it is,
            line breaks included.
    """

    recipe = SHORT
    nulls = ("commonest", "other_answer")

    accepted: Name
    weights: str = ""
    match: Literal["equals", "contains"] = "equals"
    language: str = ""
    normalise: Annotated[dict[str, tuple[str, ...]], AfterValidator(_known_steps)] = Field({})
    within: str = ""
    cut_off: Literal["wrong", "scored"] = "wrong"


class Choice(Recipe):
    """Options to choose from, one of them right.

    Attributes:
        options: columns with one option each, the last of which may be empty, or one column with all,
            separated by |.
        answer: column with the right option: its letter, its number from 1, or its text.
        orders: given: an item is asked once, with its options in the file's order; rotated: it is asked once
            for each option in the first place, because models prefer positions.
        by: logprob: the likeliest option counts; letter: the option whose letter the model writes.
        length: divisor of an option's log-probability: none, characters or tokens. question: columns that
            controls leave empty or take from another item. max_tokens: most tokens that the model writes with
            by = letter, including thinking.
    """

    recipe = CHOICE
    nulls = ("position", "longest", "shortest", "popular", CHANCE)

    options: Columns
    answer: Name
    orders: Literal["given", "rotated"] = "given"
    by: Literal["logprob", "letter"] = "logprob"
    length: Literal["none", "characters", "tokens"] = "none"
    question: Columns = ("question",)
    max_tokens: int = Field(ROOM, ge=1)


class Preference(Recipe):
    """Items of several groups; the question is whose items are likelier in contexts with a blank.

    Attributes:
        items: CSV file with a column ``item`` and the column ``group``.
        contexts: CSV file; ``prompt`` turns a row into a sentence that has ``blank`` once. Cluster
            and slices are columns of this file.
        group: column of the items. target: the group to compare with all others together. kind: column
            of both files; items are used in contexts of their own kind; "": in all.
        length: divisor of an item's log-probability: none or tokens.
    """

    recipe = PREFERENCE
    nulls = ("groups_exchanged",)

    prompt: Text = "{{ context }}"
    contexts: Text
    group: Name
    target: Text
    kind: str = ""
    blank: Text = "[BLANK]"
    length: Literal["none", "tokens"] = "tokens"


RECIPES: Mapping[str, type[Recipe]] = {r.recipe: r for r in (Judged, ShortAnswer, Choice, Preference)}


def parsed(recipe: str, fields: Mapping[str, Any], file: str) -> tuple[Recipe | None, list[PackFault]]:
    """Return the definition and all faults of its fields.

    Stand-ins replace wrong values, so that the rest can be checked too. The definition is None if a file is
    not named.

    Args:
        file: name of the definition's file, for faults.
    """
    try:
        definition = RECIPES[recipe].model_validate(dict(fields))
    except ValidationError as error:
        faults = [_fault(each, file) for each in error.errors()]
        return _patched(RECIPES[recipe], fields, {str(each["loc"][0]) for each in error.errors()}), faults
    low, high = definition.metric.bounds
    faults = []
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        faults.append(
            PackFault(file, None, "metric.bounds", f"{low} to {high} is not a range", "write [low, high]")
        )
    return definition, faults + _null_faults(definition, file) + _name_faults(definition, file)


def _patched(kind: type[Recipe], fields: Mapping[str, Any], wrong: Set[str]) -> Recipe | None:
    """Return the definition with stand-ins for wrong fields that have no default."""
    required = {name for name, field in kind.model_fields.items() if field.is_required()} & wrong
    if required & {"items", "contexts", "rubric"}:
        return None
    stand_ins: dict[str, Any] = dict.fromkeys(required, "x")
    if "metric" in required:
        stand_ins["metric"] = {"name": "x", "bounds": (0, 1), "null": 0.0}
    try:
        return kind.model_validate({k: v for k, v in fields.items() if k not in wrong} | stand_ins)
    except ValidationError:
        return None


def content(definition: Recipe, rows: Sequence[Mapping[str, Any]] = ()) -> str:
    """Return a hash of all in a definition that changes a number, and of further rows, but not of texts."""
    descriptive = {"title", "models", "profiles", "published", "licence", "source", "citation", "items"}
    fields = definition.model_dump(mode="json", exclude=descriptive)
    fields["metric"] = _meaning(definition.metric)
    fields["also"] = [_meaning(part) for part in definition.also]
    return digest([definition.recipe, fields, [dict(row) for row in rows]])


def _meaning(metric: MetricPart) -> dict[str, Any]:
    """Return the fields of a metric that change a number."""
    return metric.model_dump(mode="json", include={"name", "bounds", "null", "direction"})


def controls(definition: Recipe) -> tuple[str, ...]:
    """Return the controls: metrics of the model's scores without the clue to the answer."""
    return {CHOICE: ("no_question", "other_question")}.get(definition.recipe, ("exchanged",))


@dataclass(frozen=True)
class ControlTexts:
    """Texts for people about a control: its number, and the difference to the headline."""

    label: str
    description: str


CONTROLS = {
    (CHOICE, "no_question"): ControlTexts(
        "Without question", "The same number where the question is left out."
    ),
    (CHOICE, "other_question"): ControlTexts(
        "Another question", "The same number where another item's question stands over the options."
    ),
    (JUDGED, "exchanged"): ControlTexts(
        "Answers exchanged", "The same number where each item is given the model's answer to another item."
    ),
    (SHORT, "exchanged"): ControlTexts(
        "Answers exchanged", "The same number where each item is given the model's answer to another item."
    ),
    (PREFERENCE, "exchanged"): ControlTexts(
        "Contexts exchanged", "The same number where the items stand in a context of another kind or cluster."
    ),
}


def _null_faults(definition: Recipe, file: str) -> list[PackFault]:
    """Yield a fault of a null that is neither within bounds nor one of the recipe's null models."""
    null, (low, high) = definition.metric.null, definition.metric.bounds
    if isinstance(null, float):
        if low <= null <= high:
            return []
        what = f"{null:g} is not within the bounds {low:g} to {high:g}"
        return [PackFault(file, None, "metric.null", what, "correct one of them")]
    named = known_nulls(definition)
    if null in named:
        return []
    what = f"unknown null model {null!r}"
    return [PackFault(file, None, "metric.null", what, f"write a number, or one of {', '.join(named)}")]


def _name_faults(definition: Recipe, file: str) -> list[PackFault]:
    """Yield a fault of a headline named like another number or column of its leaderboard."""
    name = definition.metric.name
    own = {f"{control}_gain" for control in controls(definition)}
    if name in TAKEN | own or name.startswith("judge_"):
        what = f"{name!r} is the name of another column of the leaderboard"
        return [PackFault(file, None, "metric.name", what, "choose another name")]
    return []


def known_nulls(definition: Recipe) -> tuple[str, ...]:
    """Return the names that ``metric.null`` may have."""
    own = (*definition.nulls, BEST) if definition.nulls else ()
    return (*own, *null_names(definition)[len(definition.nulls) :])


def null_names(definition: Recipe) -> tuple[str, ...]:
    """Return the names of the null models that get separate rows."""
    with_gold = isinstance(definition, Judged) and definition.gold
    return (*definition.nulls, *(("other_answer",) if with_gold else ()))


def _fault(error: Any, file: str) -> PackFault:
    """Return one of pydantic's errors."""
    place = ".".join(map(str, error["loc"]))
    last = str(error["loc"][-1]) if error["loc"] else ""
    if error["type"] == "missing":
        why = WHY.get(last, "it has no default")
        return PackFault(file, None, place, "it is missing", f"write it: {why}")
    if error["type"] == "extra_forbidden":
        return PackFault(file, None, place, "there is no such field", "remove or rename it")
    if error["type"] == "string_pattern_mismatch":
        what = f"{str(error['input'])[:60]!r} is not a valid name for SQL"
        return PackFault(
            file, None, place, what, "use lower-case letters, digits and _, and begin with a letter"
        )
    return PackFault(file, None, place, plain(str(error["msg"])), "correct it")
