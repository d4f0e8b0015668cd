"""Find evaluations in packs, beside the shipped ones (``tasks.registry``), and show those from recipes.

A pack with ``evaluation.toml`` is an evaluation; it has the pack's name, with _ for -.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from deployments.show.display import interval, number
from tasks import registry
from warehouse.storage import folder_signs, resolved_home, usual_home

if TYPE_CHECKING:
    from tasks.evaluations.about import About
    from tasks.evaluations.contract import Evaluation
    from tasks.judging.rubric import Rubric
    from tasks.packs.folder import PackFolder
    from tasks.packs.shape import PackFault
    from tasks.report.page import Report

DEFINITION = "evaluation.toml"


def without_files() -> set[str]:
    """Return the evaluations that need no ``about.py`` and page: ``registry.without_files``, and packs."""
    return {*registry.without_files(), *packed()}


def packed() -> Mapping[str, PackFolder]:
    """Return packs that are evaluations, by evaluation; packs with the name of a shipped one are left out."""
    home = resolved_home()
    if home is None or not (home / "packs").is_dir():
        return {}
    own = tuple(sorted(str(file) for file in (home / "packs").glob(f"*/{DEFINITION}")))
    return _packed(home, own, tuple(sys.path))


@lru_cache(maxsize=4)
def _packed(home: Path, own: tuple[str, ...], path: tuple[str, ...]) -> Mapping[str, PackFolder]:
    """Return packs with a definition; cached for these files in the home and this import path."""
    from tasks.packs.folder import folders

    packs: dict[str, PackFolder] = {}
    for folder in folders(home).values():
        if (folder.path / DEFINITION).is_file() and name_of(
            folder.name
        ) not in registry.shipped() | registry.benchmarks():
            packs.setdefault(name_of(folder.name), folder)
    return packs


def name_of(pack: str) -> str:
    """Return the name of a pack's evaluation, which SQL must read: - becomes _."""
    return pack.replace("-", "_")


def evaluation(name: str) -> Evaluation[Any, Any, Any]:
    """Return the evaluation of a name.

    Raises:
        PackError: the pack has faults. ValueError: no such evaluation, for example after a pack was removed.
    """
    if (own := registry.evaluation(name)) is not None:
        return cast("Evaluation[Any, Any, Any]", own)
    from tasks.packs.shape import PackError

    if (folder := packed().get(name)) is None:
        what = f"unknown evaluation {name!r}; if it was a pack, put its folder back"
        raise ValueError(f"{what}: {usual_home() / 'packs'}")
    evaluation_of_pack, faults = read_pack(folder)
    if faults or evaluation_of_pack is None:
        raise PackError(folder.name, faults)
    return evaluation_of_pack


def read_pack(folder: PackFolder) -> tuple[Evaluation[Any, Any, Any] | None, list[PackFault]]:
    """Return a pack's evaluation, or its faults; neither if the pack is not an evaluation.

    The pack is read again when one of its files changes.
    """
    if not (folder.path / DEFINITION).is_file():
        return None, []
    return _read_pack(folder, folder_signs([folder.path]))


@lru_cache(maxsize=256)
def _read_pack(folder: PackFolder, signs: object) -> tuple[Evaluation[Any, Any, Any] | None, list[PackFault]]:
    from tasks.evaluations.recipe import from_toml
    from tasks.packs.folder import files, read

    paths, faults = files(folder)
    if DEFINITION not in paths:
        return None, faults

    def content(name: str) -> bytes:
        if name not in paths:
            raise FileNotFoundError(name)
        return read(paths[name])

    own, wrong = from_toml(name_of(folder.name), content)
    return own, [*faults, *_with_lines(folder, wrong)]


def _with_lines(folder: PackFolder, faults: list[PackFault]) -> list[PackFault]:
    """Return the faults; faults of fields of the definition get their line numbers."""
    from tasks.packs.files import line_of
    from tasks.packs.folder import read

    text = read(folder.path / DEFINITION).decode("utf-8-sig", errors="replace")
    return [
        fault._replace(line=line_of(text, fault.column))
        if fault.file == DEFINITION and fault.line is None and fault.column
        else fault
        for fault in faults
    ]


def usable() -> list[str]:
    """Return the evaluations of packs without faults."""
    return [name for name, folder in packed().items() if not read_pack(folder)[1]]


def check_name(pack: str) -> None:
    """Raise ValueError if the pack's name cannot name an evaluation."""
    name = name_of(pack)
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise ValueError(f"{pack!r}: an evaluation's name begins with a letter")
    if name in registry.shipped() | registry.benchmarks() | registry.TAKEN:
        raise ValueError(f"{pack!r} is already in use: choose another name")


def faults_of(folder: PackFolder) -> tuple[set[str], list[PackFault]]:
    """Return the files that a pack's definition may read, and its faults; nothing for a pack without one."""
    from deployments.cli.options import validated
    from flows.session import build
    from tasks.packs.shape import PackFault

    if not (folder.path / DEFINITION).is_file():
        return set(), []
    own, faults = read_pack(folder)
    try:
        check_name(folder.name)
    except ValueError as error:
        faults = [*faults, PackFault(folder.name, None, "", str(error), "rename the folder")]
    if not faults and own is not None and own.about is not None:
        for label, values in own.about.profiles.items():
            try:
                without: dict[str, Any] = {"judges": []} if "judges" in values else {}
                build(own, validated(own.params, {**values, **without, "models": ["none"]}))
            except ValueError as error:
                faults = [*faults, PackFault(DEFINITION, None, f"profiles.{label}", str(error), "correct it")]
        faults = _with_lines(folder, faults)
    return {path.name for path in folder.path.iterdir() if path.suffix in (".csv", ".toml", ".py")}, faults


def about(folder: PackFolder) -> tuple[str, list[str]]:
    """Return a line on a pack's evaluation, and a preview: two prompts and the null models.

    The line reads "proverbs (choice): 12 items in 6 clusters"; it is "" if the pack is not an evaluation.
    """
    own, faults = read_pack(folder)
    if own is None and not faults:
        return "", []
    name = name_of(folder.name)
    if name in registry.shipped() | registry.benchmarks() | registry.TAKEN:
        return f"{name}: that name is in use: rename the folder", []
    if own is None or own.about is None:
        return f"{name}: it has faults (culturemeter pack check {folder.name})", []
    facts, preview = own.about.page["facts"], list(own.about.preview)
    return f"{name} ({facts['Recipe']}): {facts['Items']} items in {facts['Clusters']} clusters", preview


def door(name: str) -> About:
    """Return the door of an evaluation: that of its file, or of its recipe, with columns of its numbers."""
    own = registry.about(name) or evaluation(name).about
    assert own is not None, f"{name} is from a recipe, or has a door"
    if own.columns is not dict:
        return own
    more = [name for pair in own.page.get("conditions", {}).items() for name in pair]
    return replace(own, columns=_columns(own.metrics, own.doubts, [*own.page.get("also", ()), *more]))


def report(name: str) -> Report[Any]:
    """Return the report of an evaluation from a recipe."""
    from tasks.evaluations.recipe.report import report_of

    own = evaluation(name).about
    assert own is not None, f"{name} is from a recipe, or has a page"
    return report_of(name, own.page)


def rubrics(name: str) -> list[Rubric]:
    """Return the rubric that judges of an evaluation from a recipe use; empty for other evaluations."""
    own = evaluation(name).about if name in without_files() else None
    return [own.rubric] if own and own.rubric else []


def _columns(
    metrics: Any, doubts: Mapping[str, str], also: Sequence[str]
) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """Return a function that turns a leaderboard's row into headline, null, controls and coverage."""
    first, *others = metrics
    labels = {row["metric"]: row["label"].lower() for row in others}
    controls = [metric.removesuffix("_gain") for metric in doubts]
    name = first["metric"]

    def columns(r: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "model": r["model"],
            f"{first['label'].lower()} [95 %]": interval(r[name], r["ci_low"], r["ci_high"]),
            "null": number(r["null_value"]),
            "n": str(r["n_scored"]),
            **{labels[other]: number(r[other]) for other in also},
            **{labels[f"{name}_{control}"]: number(r[f"{name}_{control}"]) for control in controls},
            "answered": number(r["coverage"], 2),
        }

    return columns
