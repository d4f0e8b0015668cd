"""The doors of the evaluations (``tasks.registry``); a new one adds files and edits none.

A door is ``tasks.evaluations.<name>.about.ABOUT``, which imports nothing slow. The evaluation is
``tasks.evaluations.<name>.evaluation.EVALUATION``; its options are the one subclass of ``Params`` in
``tasks.evaluations.<name>.params``. An evaluation from a recipe needs none of these files (``recipes``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any

from deployments.packs import recipes
from deployments.packs.profiles import check_profile, profiles_of_packs
from tasks import registry
from tasks.evaluations.about import About

if TYPE_CHECKING:
    from tasks.evaluations.contract import Evaluation, Params

DEFAULT_PROFILE = "demo"


class _Doors(Mapping[str, About]):
    """Maps evaluations to doors in alphabetical order; a door is made when it is looked up."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = tuple(names)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __getitem__(self, name: str) -> About:
        if name not in self._names:
            raise KeyError(name)
        return recipes.door(name)


def doors() -> Mapping[str, About]:
    """Return the doors by evaluation: shipped ones, benchmarks, packs, each group in alphabetical order."""
    own = sorted(registry.shipped())
    return _Doors([*own, *sorted(registry.benchmarks()), *sorted(recipes.packed())])


def with_items() -> list[str]:
    """Return the ``sound`` evaluations that have items; for others users name items (--data, --tasks)."""
    there, brought = doors(), registry.benchmarks()
    return [name for name in sound() if name not in brought and there[name].in_all]


def sound() -> list[str]:
    """Return the evaluations whose definitions can be read; packs with faults are left out."""
    broken = recipes.packed().keys() - set(recipes.usable())
    return [name for name in doors() if name not in broken]


def unknown(name: str | None) -> str:
    """Return the message on an unknown evaluation, with similar names or else all names."""
    there = list(doors())
    if near := get_close_matches(name or "", there):
        return f"unknown evaluation {name!r}: did you mean {' or '.join(near)}?"
    return f"unknown evaluation {name!r}; known: {', '.join(there)}"


def profiles(name: str) -> dict[str, dict[str, Any]]:
    """Return an evaluation's profiles, smallest first, as name -> params labelled with the name; profiles of
    packs (``pack/name``) come last."""
    return shipped_profiles(name) | profiles_of_packs(name, lambda **values: params(name)(**values))


def shipped_profiles(name: str) -> dict[str, dict[str, Any]]:
    """Return an evaluation's profiles without those of packs."""
    own = recipes.door(name).profiles
    return {profile: {**options, "profile": profile} for profile, options in own.items()}


def profile(name: str, chosen: str, models: Sequence[str]) -> dict[str, Any]:
    """Return one profile's params for these models; raises ValueError that lists the profiles.

    If one of the models is not embedded, embedded judges are removed: a judge of 135 million parameters shows
    how judging works, but its verdicts on a real model mean nothing.
    """
    known = profiles(name)
    if chosen not in known:
        check_profile(name, chosen, params(name))
        raise ValueError(f"--profile: unknown profile {chosen!r} of {name}; known: {', '.join(known)}")
    values = known[chosen]
    if all(map(is_embedded, models)):
        return values
    judges = [judge for judge in values.get("judges", ()) if not is_embedded(judge)]
    return values | ({"judges": judges} if "judges" in values else {})


def is_embedded(model: str) -> bool:
    """Return whether a model comes with the package; False for an unknown model."""
    from tasks.engines.content import PREFIX
    from tasks.engines.protocols import EngineError
    from tasks.engines.specs import find_spec
    from warehouse.storage import usual_home

    try:
        return find_spec(model, usual_home() / "engines").model.startswith(PREFIX)
    except EngineError:
        return False


def params(name: str) -> type[Params]:
    """Return the type of an evaluation's options, imported without the rest of the evaluation."""
    from tasks.evaluations.contract import Params

    if name in recipes.without_files():
        return evaluation(name).params
    module = import_module(f"tasks.evaluations.{name}.params")
    types = [kind for kind in vars(module).values() if isinstance(kind, type) and issubclass(kind, Params)]
    (own,) = (kind for kind in types if kind.__module__ == module.__name__)
    return own


def evaluation(name: str) -> Evaluation[Any, Any, Any]:
    """Return an evaluation by name, imported when first needed."""
    return recipes.evaluation(name)


def flow(name: str) -> Any:
    """Return the flow. Importing Prefect reads its settings, so call ``server.configure`` first."""
    from flows.evaluation import flow_of

    return flow_of(evaluation(name))
