"""Options of a run: a profile and the fields that override it, for one evaluation or for all.

The form of the Prefect UI sends every field, untouched ones at their defaults. So the profile sets the fields
that stand at their defaults, and the user's values override it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, create_model, model_validator

from deployments.cli import options
from deployments.evaluations import (
    DEFAULT_PROFILE,
    doors,
    is_embedded,
    params,
    profile,
    profiles,
    shipped_profiles,
    with_items,
)
from deployments.packs.profiles import check_profile
from tasks.evaluations.contract import GenerationParams, Params
from tasks.packs.folder import NAME

CUSTOM = "custom"
"""Choice in a form that applies no profile: every field keeps its value."""

if TYPE_CHECKING:
    Evaluation = str
else:
    Evaluation = Literal[tuple(doors())]

_PROFILE = "sets every field you leave alone; custom sets none"
_KNOBS = Params.model_fields
_OF_MODEL = "for each model and its judges in each evaluation; empty: no limit"


def _unpinned(pack: str) -> str:
    if not NAME.fullmatch(pack):
        raise ValueError("name the pack without @HASH: a hash identifies its content for one evaluation only")
    return pack


def _labels() -> list[str]:
    """Return the profiles of all evaluations; those of packs, as ``pack/name``, come last."""
    every = dict.fromkeys(label for name in with_items() for label in profiles(name))
    return sorted(every, key=lambda label: "/" in label)


class AllParams(BaseModel):
    """Options for running several evaluations of several models on one occasion."""

    model_config = ConfigDict(extra="forbid")

    evaluations: list[Evaluation] = Field([], description=f"{', '.join(doors())}; empty: all with items")
    models: list[str] = Field([], description="models of every evaluation; empty: each evaluation's own")
    profile: str = Field(
        DEFAULT_PROFILE,
        description="profile of every evaluation; PACK/NAME also adds the pack where it fits, and is NAME "
        "elsewhere",
        json_schema_extra=lambda schema: schema.update(enum=[*_labels()]),
    )
    pack: list[Annotated[str, AfterValidator(_unpinned)]] = Field(
        [],
        description="packs of your own content; each is added to the evaluations that it fits, with the "
        "pack's own profile of the chosen name if it has one; other evaluations run without it",
    )
    occasion: str = Field("", description=_KNOBS["occasion"].description)
    judges: list[str] = Field(
        [], description="judges of the evaluations that have some; empty: the profile's"
    )
    dtype: Literal["auto", "float32", "bfloat16", "float16"] | None = Field(
        None, description=_KNOBS["dtype"].description
    )
    limit: int | None = Field(None, ge=1, description=f"{_KNOBS['limit'].description}, in each evaluation")
    max_total_tokens: int | None = Field(None, ge=1, description=f"tokens {_OF_MODEL}")
    max_usd: float | None = Field(None, gt=0, description=f"dollars {_OF_MODEL}; needs prices")
    max_lost: float | None = Field(
        None, ge=0, le=1, description=GenerationParams.model_fields["max_lost"].description
    )

    @model_validator(mode="after")
    def _has_a_profile(self) -> AllParams:
        if self.profile not in (labels := _labels()):
            for name in with_items():
                check_profile(name, self.profile, params(name))
            raise ValueError(f"--profile: unknown profile {self.profile!r}; known: {', '.join(labels)}")
        return self

    @property
    def packs(self) -> list[str]:
        """Return the pack of the profile and the named packs."""
        own = [self.profile.partition("/")[0]] if "/" in self.profile else []
        return list(dict.fromkeys([*own, *self.pack]))


@cache
def form(name: str) -> type[Params]:
    """Return the params that the UI's form shows: with a choice of profile and the usual models filled in."""
    kind = params(name)
    labels: Any = Literal[(*profiles(name), CUSTOM)]
    fields: dict[str, Any] = _filled(kind, shipped_profiles(name)) | {
        "models": (list[str], Field(list(doors()[name].models), description=_KNOBS["models"].description)),
        "profile": (labels, Field(usual_profile(name, DEFAULT_PROFILE), description=_PROFILE)),
    }
    chosen: type[Params] = create_model(kind.__name__, __base__=kind, __doc__=kind.__doc__, **fields)
    chosen.model_config["json_schema_extra"] = _models_and_profile_first
    chosen.model_rebuild(force=True)
    return chosen


def _filled(kind: type[Params], by_profile: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the fields that profiles set, with each profile's value added to the description."""
    fields: dict[str, Any] = {}
    for knob, field in kind.model_fields.items():
        own = {label: values[knob] for label, values in by_profile.items() if knob in values}
        if own and knob not in ("models", "profile"):
            filled = "; ".join(f"{label}: {options.short(value)}" for label, value in own.items())
            text = f"{field.description or ''}. If left alone, the profile sets it ({filled})"
            described = copy(field)
            described.description = text
            fields[knob] = (field.rebuild_annotation(), described)
    return fields


def _models_and_profile_first(schema: dict[str, Any]) -> None:
    properties = schema.get("properties", {})
    first = {knob: properties[knob] for knob in ("models", "profile") if knob in properties}
    schema["properties"] = first | properties


def usual_profile(name: str, wanted: str) -> str:
    """Return the wanted profile or, if the evaluation has none of that name, its smallest."""
    return wanted if wanted in profiles(name) else next(iter(profiles(name)), CUSTOM)


def completed(name: str, sent: Params) -> Params:
    """Return the params that a form means: its profile sets the fields left at their defaults.

    Raises ValueError for values that the evaluation refuses.
    """
    kind = params(name)
    chosen = {} if sent.profile == CUSTOM else profile(name, sent.profile, sent.models)
    untouched = {
        knob
        for knob, field in kind.model_fields.items()
        if getattr(sent, knob) == field.get_default(call_default_factory=True)
    }
    filled = {knob: value for knob, value in chosen.items() if knob in untouched}
    limit = {} if "limit" in untouched else {"limit": sent.limit}
    checked: Params = options.validated(kind, labelled(sent.model_dump() | filled, limit))
    return checked


def labelled(values: Mapping[str, Any], names: Mapping[str, Any]) -> dict[str, Any]:
    """Return a profile's values with the given limit added to the profile's label."""
    if names.get("limit") is None or "profile" not in values:
        return dict(values)
    return {**values, "profile": f"{values['profile']} limit {names['limit']}"}


def one_of_all(name: str, chosen: AllParams, packs: Sequence[str]) -> Params:
    """Return one evaluation's params for the choices made for all; raises ValueError as ``completed`` does.

    Args:
        packs: the packs that it takes (``packs_of_all``). The first pack with a profile of the chosen name
            overrides the evaluation's own profile.
    """
    known, label_of_all = params(name).model_fields, chosen.profile.rpartition("/")[2]
    labels = [f"{pack}/{label_of_all}" for pack in packs]
    for label in labels:
        check_profile(name, label, params(name))
    models = chosen.models or list(doors()[name].models)
    label = next((label for label in labels if label in profiles(name)), label_of_all)
    usual, own = profile(name, label, models), dict[str, Any]({"models": models})
    own |= {**judging(name, chosen.judges), **({"pack": list(packs)} if packs else {})}
    common = chosen.model_dump(
        include={"occasion", "dtype", "limit", "max_total_tokens", "max_usd", "max_lost"}, exclude_none=True
    )
    values = labelled(usual, common) | own | {knob: v for knob, v in common.items() if knob in known}
    checked: Params = options.validated(params(name), values)
    return checked


def packs_of_all(chosen: AllParams) -> dict[str, list[str]]:
    """Return each chosen evaluation with the packs that it takes. Raises ValueError for a pack that does not
    exist or adds nothing to any of them."""
    from deployments.packs.folders import shared_out

    return shared_out(chosen.packs, chosen.evaluations or with_items())


def judging(name: str, judges: Sequence[str] | None) -> Mapping[str, Any]:
    """Return the judges as a field of the evaluation's params; empty if it has no judges."""
    return {"judges": list(judges)} if judges and "judges" in params(name).model_fields else {}


def without_own_judge(name: str, chosen: Params) -> list[str]:
    """Return notes for the plan: no judge is named, or an embedded simulator talks with the user's model."""
    judges = getattr(chosen, "judges", None)
    lines = []
    if doors()[name].judged and not judges:
        lines.append(
            f"no judge, so there will be no {doors()[name].judged}: name one with --judges MODEL, "
            "a better model than those that it judges"
        )
    simulator = getattr(chosen, "simulator", None)
    if simulator and is_embedded(simulator) and not all(map(is_embedded, chosen.models)):
        lines.append(
            f"{simulator} plays the users, and is too small to do it well: the results only show that "
            "everything runs; name another with --simulator"
        )
    return lines
