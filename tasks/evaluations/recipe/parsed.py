"""A definition of the user's fields, with all faults of them at once. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

from pydantic import ValidationError

from tasks.evaluations.recipe.definition import Flaw, MetricPart, Recipe, Wording
from tasks.evaluations.recipe.kinds import RECIPES
from tasks.identity import digest
from tasks.packs.shape import PackFault
from tasks.parsing import plain

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


_NEWER = ("conditions", "repetitions", "temperature", "then", "score")

_SOURCES = {"exchanged", "gold", "shuffled", "generic", "empty", "no_question", "other_question"}
"""Sources of judged texts, and controls."""


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


def content(definition: Recipe, rows: Sequence[Mapping[str, Any]] = ()) -> str:
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
