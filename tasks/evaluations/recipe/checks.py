"""Checks an evaluation from a recipe: its definition, and that against its files. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

from jinja2 import TemplateError
from pydantic import ValidationError

from tasks.evaluations.contract import GenerationParams
from tasks.evaluations.recipe.definition import Flaw, Recipe, Wording
from tasks.evaluations.recipe.groups import Preference
from tasks.evaluations.recipe.items import ITEM, Item
from tasks.evaluations.recipe.judged import Judged
from tasks.evaluations.recipe.options import Choice
from tasks.evaluations.recipe.short_answers import ShortAnswer
from tasks.judging.rubric import Rubric
from tasks.packs.prompts import fields_of
from tasks.packs.shape import PackFault
from tasks.parsing import plain

RECIPES: Mapping[str, type[Recipe]] = {r.recipe: r for r in (Judged, ShortAnswer, Choice, Preference)}
"""The class of each recipe's definition."""

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


_SOURCES = {"exchanged", "gold", "shuffled", "generic", "empty", "no_question", "other_question"}
"""Sources of judged texts, and controls."""

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
    faults += _null_faults(definition, file) + _name_faults(definition, file)
    faults += [PackFault(file, None, *flaw) for flaw in _condition_flaws(definition)]
    return definition, faults


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


def _null_faults(definition: Recipe, file: str) -> list[PackFault]:
    """Return the fault of a null that is neither within bounds nor one of the recipe's null models."""
    null, (low, high) = definition.metric.null, definition.metric.bounds
    if isinstance(null, float):
        if low <= null <= high:
            return []
        what = f"{null:g} is not within the bounds {low:g} to {high:g}"
        return [PackFault(file, None, "metric.null", what, "correct one of them")]
    named = definition.known_nulls
    if null in named:
        return []
    what = f"unknown null model {null!r}"
    return [PackFault(file, None, "metric.null", what, f"write a number, or one of {', '.join(named)}")]


def _name_faults(definition: Recipe, file: str) -> list[PackFault]:
    """Return the fault of a headline named like another number or column of its leaderboard."""
    name = definition.metric.name
    own = {f"{control}_gain" for control in definition.controls}
    if name in TAKEN | own or name.startswith("judge_"):
        what = f"{name!r} is the name of another column of the leaderboard"
        return [PackFault(file, None, "metric.name", what, "choose another name")]
    return []


def _condition_flaws(definition: Recipe) -> Iterator[Flaw]:
    """Yield conditions without a prompt, with a wording or name that is there, and repeated equal answers."""
    own, metric = definition.conditions, definition.metric.name
    there = {
        metric,
        *(part.name for part in definition.also),
        *TAKEN,
        *(each[0] for each in definition.shares),
    }
    there |= {f"{metric}_{control}" for control in definition.controls}
    there |= {f"{control}_gain" for control in definition.controls}
    if len(own) == 1:
        yield Flaw("conditions", "one condition is compared with nothing", "add another, or remove it")
    wordings: dict[Wording, str] = {}
    for name, wording in definition.wordings.items():
        field = f"conditions.{name}" if name else "prompt"
        if not wording.prompt:
            todo = "write its prompt, or one for all conditions" if name else "write it: it has no default"
            yield Flaw(field, "it has no prompt" if name else "it is missing", todo)
        elif (same := wordings.setdefault(wording, name)) != name:
            yield Flaw(field, f"it sends what {same} sends", "change its prompt, system or then")
        made = {f"{metric}_{name}", f"{name}_difference", f"{name}_p_holm"} if name else set()
        if name in _SOURCES or made & there:
            yield Flaw(field, f"{name!r} is the name of something else", "choose another name")
        there |= made
        if wording.then and not hasattr(definition, "then"):
            yield Flaw(f"{field}.then", f"{definition.recipe} has no second turn", "remove it")
    many = getattr(definition, "repetitions", 1)
    if many > 1 and not getattr(definition, "temperature", 1):
        what = f"{many} at temperature 0 would be the same answer {many} times"
        yield Flaw("repetitions", what, "write a temperature, such as 0.7, or 1 repetition")


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
