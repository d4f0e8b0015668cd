"""Evaluations from recipes as the doors meet them: found in this program's folders and in packs.

A folder ``tasks/evaluations/<name>`` with ``evaluation.py`` and no ``params.py`` is one; so is a pack with
``evaluation.toml``, which is named as the pack is, with _ for -.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deployments.door import Door
from deployments.show.display import interval, number
from warehouse.storage import folder_signs, usual_home

if TYPE_CHECKING:
    from tasks.evaluations.contract import Evaluation
    from tasks.judging.rubric import Rubric
    from tasks.packs.folder import Folder
    from tasks.packs.shape import Fault
    from tasks.report import Report

EVALUATIONS = Path(__file__).resolve().parents[2] / "tasks" / "evaluations"
DEFINITION = "evaluation.toml"
TAKEN = frozenset({"all", "history", "published", "recipe", "recipes"})
"""Names of commands, views and folders that no evaluation may have."""


@cache
def shipped() -> frozenset[str]:
    """The evaluations that have a folder of their own."""
    return frozenset(
        file.parent.name for file in EVALUATIONS.glob("*/evaluation.py") if file.parent.name != "recipe"
    )


@cache
def _shipped_from_recipes() -> frozenset[str]:
    """Those that have no knobs of their own."""
    return frozenset(name for name in shipped() if not (EVALUATIONS / name / "params.py").exists())


def without_files() -> set[str]:
    """The evaluations that say all of themselves: those from recipes that are shipped, and packs.

    What stands in a file all the same, such as a door or a page, is taken from there.
    """
    return {*_shipped_from_recipes(), *packed()}


def packed() -> dict[str, Folder]:
    """Evaluation -> the pack that is one; none that is named as a shipped one."""
    home = usual_home()
    if not (home / "packs").is_dir():
        return {}
    from tasks.packs.folder import folders

    found: dict[str, Folder] = {}
    for folder in folders(home).values():
        if (folder.path / DEFINITION).is_file():
            found.setdefault(name_of(folder.name), folder)
    return {name: folder for name, folder in found.items() if name not in shipped()}


def name_of(pack: str) -> str:
    """What the evaluation of a pack is called: in SQL, where - is a minus."""
    return pack.replace("-", "_")


def evaluation(name: str) -> Evaluation[Any, Any, Any]:
    """What the loop works on.

    Raises:
        PackError: the pack has faults. ValueError: there is no such evaluation, as where a pack was removed.
    """
    if name in shipped():
        own: Evaluation[Any, Any, Any] = import_module(f"tasks.evaluations.{name}.evaluation").EVALUATION
        return own
    from tasks.packs.shape import PackError

    if (folder := packed().get(name)) is None:
        what = f"there is no evaluation {name!r}; if it was a pack, put its folder back"
        raise ValueError(f"{what}: {usual_home() / 'packs'}")
    made, faults = read_pack(folder)
    if faults or made is None:
        raise PackError(folder.name, faults)
    return made


def read_pack(folder: Folder) -> tuple[Evaluation[Any, Any, Any] | None, list[Fault]]:
    """The evaluation that a pack is, or its faults; read again when a file of it changes."""
    return _read_pack(folder, folder_signs([folder.path]))


def usable() -> list[str]:
    """The evaluations that packs are, without those whose files have faults."""
    return [name for name, folder in packed().items() if not read_pack(folder)[1]]


def check_name(pack: str) -> None:
    """Raise ValueError for a pack whose evaluation could not be called as it is."""
    name = name_of(pack)
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise ValueError(f"{pack!r}: an evaluation's name begins with a letter")
    if name in shipped() | TAKEN:
        raise ValueError(f"{pack!r} is the name of something that is there already: choose another")


def faults_of(folder: Folder) -> tuple[Evaluation[Any, Any, Any] | None, set[str], list[Fault]]:
    """The evaluation that a pack is, the files that its definition reads, and what is wrong with it."""
    from deployments.cli.options import validated
    from flows.session import build
    from tasks.packs.shape import Fault

    if not (folder.path / DEFINITION).is_file():
        return None, set(), []
    made, faults = read_pack(folder)
    try:
        check_name(folder.name)
    except ValueError as error:
        faults = [*faults, Fault(folder.name, None, "", str(error), "rename the folder")]
    files = {path.name for path in folder.path.iterdir() if path.suffix in (".csv", ".toml")}
    if made is None or made.described is None or faults:
        return made, files, faults
    for label, values in made.described.profiles.items():
        try:
            without: dict[str, Any] = {"judges": []} if "judges" in values else {}
            build(made, validated(made.params, {**values, **without, "models": ["none"]}))
        except ValueError as error:
            faults = [*faults, Fault(DEFINITION, None, f"profiles.{label}", str(error), "correct it")]
    return made, files, faults


def about(folder: Folder) -> str:
    """What evaluation a pack is: "proverbs (choice): 12 items in 6 clusters"; "" if it is none."""
    if not (folder.path / DEFINITION).is_file():
        return ""
    if name_of(folder.name) in shipped() | TAKEN:
        return f"{name_of(folder.name)}: that name is taken: rename the folder"
    made, _ = read_pack(folder)
    if made is None or made.described is None:
        return f"{name_of(folder.name)}: it has faults (culturescope pack check {folder.name})"
    facts = made.described.page["facts"]
    return f"{made.name} ({facts['Recipe']}): {facts['Items']} items in {facts['Clusters']} clusters"


def preview(folder: Folder) -> list[str]:
    """Two items as a model is asked them, and the null models; empty if a pack is no evaluation."""
    made, _ = read_pack(folder) if (folder.path / DEFINITION).is_file() else (None, [])
    return list(made.described.preview) if made and made.described else []


@lru_cache(maxsize=16)
def _read_pack(folder: Folder, signs: object) -> tuple[Evaluation[Any, Any, Any] | None, list[Fault]]:
    from tasks.evaluations.recipe import from_toml
    from tasks.packs.folder import files, read

    paths, faults = files(folder)

    def content(name: str) -> bytes:
        if name not in paths:
            raise FileNotFoundError(name)
        return read(paths[name])

    made, wrong = from_toml(name_of(folder.name), content)
    return made, [*faults, *wrong]


def door(name: str) -> Door:
    """How an evaluation from a recipe is started and shown."""
    own = evaluation(name).described
    assert own is not None, f"{name} is from a recipe, or has a door"
    columns = _columns(own.metrics, own.doubts)
    return Door(own.title, own.models, own.examples, own.caption, columns, own.judged)


def report(name: str) -> Report[Any]:
    """The page of an evaluation from a recipe."""
    from tasks.evaluations.recipe.report import report_of

    own = evaluation(name).described
    assert own is not None, f"{name} is from a recipe, or has a page"
    return report_of(name, own.page)


def rubrics(name: str) -> list[Rubric]:
    """The rubric by which judges score an evaluation from a recipe; none of others."""
    own = evaluation(name).described if name in without_files() else None
    return [own.rubric] if own and own.rubric else []


def _columns(metrics: Any, doubts: Mapping[str, str]) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """A row of the leaderboard as people see it: the headline, its null, its controls, what is answered."""
    first, *others = metrics
    labels = {row["metric"]: row["label"].lower() for row in others}
    controls = [metric.removesuffix("_gain") for metric in doubts]
    name = first["metric"]

    def columns(r: Mapping[str, Any]) -> dict[str, Any]:
        shown = {
            "model": r["model"],
            f"{first['label'].lower()} [95 %]": interval(r[name], r["ci_low"], r["ci_high"]),
        }
        shown |= {"null": number(r["null_value"])}
        shown |= {labels[f"{name}_{control}"]: number(r[f"{name}_{control}"]) for control in controls}
        return shown | {"n": str(r["n_scored"]), "answered": number(r["coverage"], 2)}

    return columns
