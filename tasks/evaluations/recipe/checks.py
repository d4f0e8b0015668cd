"""Checks an evaluation from a recipe: its definition against its files. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jinja2 import TemplateError

from tasks.evaluations.contract import GenerationParams
from tasks.evaluations.recipe.definition import Recipe, Wording
from tasks.evaluations.recipe.items import ITEM, Item
from tasks.evaluations.recipe.kinds import Judged
from tasks.judging.rubric import Rubric
from tasks.packs.prompts import fields_of
from tasks.packs.shape import PackFault

_TAKEN = frozenset(
    {
        "batch", "by", "judge_max_tokens", "judges", "limit", "max_tokens", "nulls", "repetitions",
        "temperature", "again", "cores", "dry_run", "gpus", "help", "model", "no_server", "probe", "ray",
        "replicas", "trust", "trust_pickle", "trust_remote_code", "verbose", "judge", "overall", "reason",
    }
)  # fmt: skip
"""Names of parameters, options of the command line and slices that every recipe has.

A column by whose values items are chosen may have none of these names, nor a name of pydantic's models.
"""

READ_OF_ITEMS = frozenset(
    {"prompt", "conditions", "options", "answer", "accepted", "weights", "gold", "kind", "blank"}
)
"""Fields that say how an item is read; items are checked only if these are right."""


def columns_there(definition: Recipe, header: Sequence[str], file: str) -> list[PackFault]:
    """Return faults of fields that name a missing column, or a column with the name of an option."""
    there = ", ".join(header)
    faults = [
        PackFault(file, None, field, f"unknown column {name!r}; known: {there}", "name one of these")
        for field, names in definition.columns.items()
        for name in names
        if name and name not in header
    ]
    faults += [
        PackFault(file, None, "slices", f"{name!r} is the name of an option", "rename the column")
        for name in definition.slices
        if name in _TAKEN or hasattr(GenerationParams, name) or name in GenerationParams.model_fields
    ]
    for name in definition.fields & set(header):
        what = f"{name!r} is what prompts call the options with their letters"
        faults.append(PackFault(definition.items, 1, name, what, "rename the column"))
    return faults


def prompt_faults(definition: Recipe, header: Sequence[str], file: str) -> list[PackFault]:
    """Return faults of templates that are invalid or use a column that no item has."""
    known = {*header, *definition.fields}
    faults = []
    templates = {name: getattr(definition, name, "") for name in Wording.model_fields}
    for condition, own in definition.conditions.items():
        templates |= {f"conditions.{condition}.{name}": text for name, text in own if text}
    for field, template in templates.items():
        try:
            used = fields_of(template)
        except (TemplateError, ValueError) as error:
            faults.append(PackFault(file, None, field, f"it is not a template: {error}", "correct it"))
            continue
        for name in sorted(used - known):
            what = f"it uses {{{{ {name} }}}}; known are: {', '.join(sorted(known))}"
            faults.append(PackFault(file, None, field, what, "use a column of the items"))
        if field.endswith("prompt") and template and not used & known:
            faults.append(PackFault(file, None, field, "it uses no column of the items", "use one"))
    if not faults:
        faults += [PackFault(file, None, *flaw) for flaw in definition.template_flaws()]
    return faults


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
    yield from (PackFault(file, item.line, *flaw) for flaw in definition.flaws(item.fields))


def no_column(file: str, name: str, header: Sequence[str], line: int) -> PackFault:
    return PackFault(file, line, name, f"the column is missing; known: {', '.join(header)}", "add it")
