"""Checks an evaluation from a recipe: its definition against its files. Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

from jinja2 import TemplateError

from tasks.evaluations.contract import GenerationParams
from tasks.evaluations.recipe.definition import (
    LETTER,
    LETTERS,
    Choice,
    Judged,
    Preference,
    Recipe,
    ShortAnswer,
)
from tasks.evaluations.recipe.items import CHOICES, ITEM, Item, Member, options_of, right_of, several
from tasks.judging.rubric import Rubric, normal
from tasks.packs.prompts import fields_of, rendered
from tasks.packs.shape import PackFault

_TAKEN = frozenset(
    {
        "batch", "by", "judge_max_tokens", "judges", "limit", "max_tokens", "nulls", "temperature",
        "again", "cores", "dry_run", "gpus", "help", "model", "no_server", "probe", "ray", "replicas",
        "trust_pickle", "trust_remote_code", "verbose", "judge", "overall", "reason",
    }
)  # fmt: skip
"""Names of parameters, options of the command line and slices that every recipe has.

A column by whose values items are chosen may have none of these names, nor a name of pydantic's models.
"""

READ_OF_ITEMS = frozenset({"prompt", "options", "answer", "accepted", "weights", "gold", "kind", "blank"})
"""Fields that say how an item is read; items are checked only if these are right."""


def columns_there(definition: Recipe, header: Sequence[str], file: str) -> list[PackFault]:
    """Return faults of fields that name a missing column, or a column with the name of an option."""
    named: dict[str, Sequence[str]] = {"cluster": [definition.cluster], "slices": definition.slices}
    match definition:
        case Judged():
            named |= {"gold": [definition.gold], "within": [definition.within]}
        case ShortAnswer():
            named |= {"accepted": [definition.accepted], "weights": [definition.weights]}
            named |= {"language": [definition.language], "within": [definition.within]}
        case Choice():
            named |= {"options": definition.options, "answer": [definition.answer]}
            named |= {"question": definition.question}
        case Preference():
            named |= {"kind": [definition.kind]}
    there = ", ".join(header)
    faults = [
        PackFault(file, None, field, f"unknown column {name!r}; known: {there}", "name one of these")
        for field, names in named.items()
        for name in names
        if name and name not in header
    ]
    faults += [
        PackFault(file, None, "slices", f"{name!r} is the name of an option", "rename the column")
        for name in definition.slices
        if name in _TAKEN or hasattr(GenerationParams, name) or name in GenerationParams.model_fields
    ]
    if isinstance(definition, Choice) and CHOICES in header:
        what = f"{CHOICES!r} is what prompts call the options with their letters"
        faults.append(PackFault(definition.items, 1, CHOICES, what, "rename the column"))
    return faults


def prompt_faults(definition: Recipe, header: Sequence[str], file: str) -> list[PackFault]:
    """Return faults of templates that are invalid or use a column that no item has."""
    known = {*header, *([CHOICES] if isinstance(definition, Choice) else [])}
    faults = []
    for field in ("prompt", "system"):
        try:
            used = fields_of(getattr(definition, field))
        except (TemplateError, ValueError) as error:
            faults.append(PackFault(file, None, field, f"it is not a template: {error}", "correct it"))
            continue
        for name in sorted(used - known):
            what = f"it uses {{{{ {name} }}}}; known are: {', '.join(sorted(known))}"
            faults.append(PackFault(file, None, field, what, "use a column of the items"))
        if field == "prompt" and not used & known:
            faults.append(PackFault(file, None, field, "it uses no column of the items", "use one"))
    if isinstance(definition, Choice) and not faults:
        faults += _choice_faults(definition, file)
    return faults


def _choice_faults(definition: Choice, file: str) -> Iterator[PackFault]:
    """Yield faults of templates without the options' letters, or without a question to leave out."""
    used = fields_of(definition.prompt) | fields_of(definition.system)
    if definition.by == LETTER and not options_are_shown(definition):
        what = f"by letter, the prompt must show the options: it lacks {{{{ {CHOICES} }}}}"
        yield PackFault(file, None, "prompt", what, f"add {{{{ {CHOICES} }}}}")
    if not used & set(definition.question):
        what = f"the prompt shows none of these columns: {', '.join(definition.question) or '(none)'}"
        yield PackFault(
            file, None, "question", what, ("name the columns with the question: null models leave them out")
        )


def options_are_shown(definition: Recipe) -> bool:
    """Return whether the prompt shows the options with their letters."""
    return CHOICES in fields_of(definition.prompt) | fields_of(definition.system)


def input_faults(definition: Judged, rubric: Rubric, header: Sequence[str], file: str) -> Iterator[PackFault]:
    """Yield faults of a rubric that does not show the judged text, or shows a column that no item has."""
    if definition.judged not in rubric.inputs:
        what = f"the judged text is not among its inputs {', '.join(rubric.inputs)}"
        yield PackFault(
            file, None, "inputs", what, f"add {definition.judged!r}, or name another input in `judged`"
        )
    for name in rubric.inputs:
        if name != definition.judged and name not in header:
            what = f"{name!r} is no column of the items; these are {', '.join(header)}"
            yield PackFault(file, None, "inputs", what, "add the column, or remove the input")


def repeated(items: Sequence[Item], file: str) -> list[PackFault]:
    first: dict[str, int] = {}
    faults = []
    for item in items:
        before = first.setdefault(item.name, item.line)
        if before != item.line:
            what = f"{item.name!r} already exists: line {before}"
            faults.append(PackFault(file, item.line, ITEM, what, "rename or remove one"))
    return faults


def cluster_faults(definition: Recipe, items: Sequence[Item], file: str) -> list[PackFault]:
    faults = [
        PackFault(file, item.line, definition.cluster, "the cell is empty", "name the item's cluster")
        for item in items
        if not item.cluster
    ]
    values = {item.cluster for item in items}
    if len(values) == 1 and not faults:
        what = f"every item has {next(iter(values))!r}, so there would be no interval"
        faults.append(PackFault(file, None, definition.cluster, what, "name the column that varies"))
    return faults


def item_faults(definition: Recipe, item: Item, file: str) -> Iterator[PackFault]:
    fields = item.fields
    match definition:
        case Judged() if definition.gold and not fields[definition.gold]:
            yield PackFault(file, item.line, definition.gold, "the cell is empty", "write a right answer")
        case ShortAnswer():
            yield from _accepted_faults(definition, item, file)
        case Choice():
            options = options_of(definition, fields)
            if len(options) > len(LETTERS):
                what = f"it has {len(options)} options; there are {len(LETTERS)} letters"
                yield PackFault(file, item.line, definition.options[0], what, "leave some out")
            elif len(set(map(normal, options))) < len(options):
                what = f"two options are the same: {' | '.join(options)}"
                yield PackFault(file, item.line, definition.options[0], what, "change one")
            elif len(options) < 2 or not all(options):
                what = "it has fewer than two options" if len(options) < 2 else "an option is empty"
                yield PackFault(file, item.line, definition.options[0], what, "add the missing one")
            elif right_of(definition, fields) is None:
                what = f"{fields[definition.answer]!r} is not one of its options"
                todo = "write the right option's letter, number or text"
                yield PackFault(file, item.line, definition.answer, what, todo)
        case Preference():
            text = rendered(definition.prompt, fields)
            if text.count(definition.blank) != 1:
                what = f"{definition.blank} stands {text.count(definition.blank)} times in it"
                yield PackFault(file, item.line, "", what, "write it once, in the place of the items")
            elif not text.partition(definition.blank)[0].strip():
                what = f"nothing stands before {definition.blank}, which most models need"
                yield PackFault(file, item.line, "", what, "begin with a word")


def _accepted_faults(definition: ShortAnswer, item: Item, file: str) -> Iterator[PackFault]:
    texts = several(item.fields[definition.accepted])
    if not texts:
        yield PackFault(file, item.line, definition.accepted, "it has no accepted answer", "write one")
    if not definition.weights:
        return
    cell = item.fields[definition.weights]
    try:
        weights = [float(weight) for weight in several(cell)]
    except ValueError:
        weights = []
    if len(weights) != len(texts) or not all(w > 0 and math.isfinite(w) for w in weights):
        what = f"{cell!r} is not {len(texts)} numbers above 0"
        yield PackFault(file, item.line, definition.weights, what, "write as many as accepted answers")


def unequal(definition: Choice, items: Sequence[Item], file: str) -> list[PackFault]:
    """Return faults of items with an unusual number of options, whose chance and letters would differ."""
    counts = Counter(len(options_of(definition, item.fields)) for item in items)
    usual = counts.most_common(1)[0][0] if counts else 0
    return [
        PackFault(
            file,
            item.line,
            definition.options[0],
            f"it has {n} options, most have {usual}",
            "give it the same number",
        )
        for item in items
        if (n := len(options_of(definition, item.fields))) != usual
    ]


def kind_faults(
    definition: Recipe, items: Sequence[Item], members: Sequence[Member], file: str
) -> list[PackFault]:
    """Yield faults of kinds of contexts in which one of the two groups has no items."""
    assert isinstance(definition, Preference)
    there: dict[str, set[bool]] = {}
    for member in members:
        there.setdefault(member.kind, set()).add(member.group == definition.target)
    kinds = {item.fields.get(definition.kind, "") for item in items}
    return [
        PackFault(
            file,
            None,
            definition.kind,
            f"in kind {kind!r} one of the two groups has no items",
            ("add some, or remove it"),
        )
        for kind in sorted(kinds)
        if members and len(there.get(kind, ())) < 2
    ]


def no_column(file: str, name: str, header: Sequence[str], line: int) -> PackFault:
    return PackFault(file, line, name, f"the column is missing; known: {', '.join(header)}", "add it")
