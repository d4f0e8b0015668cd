"""Content and faults of packs, and the files of a new one."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deployments.packs import recipes
from deployments.packs.profiles import profiles_of
from tasks import registry

if TYPE_CHECKING:
    from tasks.evaluations.contract import Params, Study
    from tasks.packs.folder import PackFolder
    from tasks.packs.shape import PackContent, PackFault, PackFile, Shape, Wording
    from tasks.papers.importing import Pack

_ABOUT = """\
# About this pack. Nothing in this file changes a number; all fields but the title may be empty.
title = "{title}"
version = "1"
author = ""
licence = ""  # what others may do with it, such as CC-BY-4.0
source = ""   # source of the content
"""


@cache
def shapes() -> Mapping[str, Shape]:
    """Return the files that a pack may bring, by evaluation."""
    from deployments.evaluations import doors, evaluation

    every = {name: evaluation(name).pack for name in doors() if name not in recipes.without_files()}
    return {name: shape for name, shape in every.items() if shape is not None}


def faults_of(folder: PackFolder) -> list[PackFault]:
    """Return every fault of a pack. If its files are sound, each study that uses it is built as a test."""
    from deployments.evaluations import evaluation, params
    from flows.packs import tables_of
    from tasks.packs.check import examine, parts, stray
    from tasks.packs.shape import PackFault

    known = shapes()
    read, of_recipe = recipes.faults_of(folder)
    faults = [*stray(folder, known, read), *of_recipe]
    for name in (there := parts(folder, known)):
        tables = tables_of(evaluation(name), params(name).model_validate({"models": ["none"]}))
        _, wrong = examine(folder, name, known[name], tables)
        profiles, of_profiles = profiles_of(folder, name, params(name))
        faults += wrong + of_profiles or _unbuilt(folder, name, profiles)
    if not there and not read:
        what = f"it has no folder named after an evaluation: {', '.join(known)}"
        faults.append(PackFault(folder.name, None, "", what, "add one (culturemeter pack new --for)"))
    return list(dict.fromkeys(faults))


def _unbuilt(folder: PackFolder, name: str, profiles: Mapping[str, dict[str, Any]]) -> list[PackFault]:
    """Return why studies with the pack cannot be built, under the usual options and under its profiles."""
    from deployments.cli.options import validated
    from deployments.evaluations import evaluation, params
    from flows.session import build
    from tasks.engines.protocols import EngineError
    from tasks.packs.shape import PackFault

    faults: list[PackFault] = []
    for label, values in {"usual options": {"pack": [folder.name]}, **profiles}.items():
        try:
            build(evaluation(name), validated(params(name), {"models": ["none"], **values}))
        except (ValueError, EngineError) as error:
            what = f"no study can be built with {label}: {error}"
            faults.append(PackFault(f"{name}/", None, "", what, "correct the files, or the profile"))
    return faults


def added(folder: PackFolder) -> str:
    """Return the content of a pack in a line: "spectral: domain 1, question 2, item 8"."""
    rows = [
        f"{content.evaluation}: {', '.join(f'{file} {len(rows)}' for file, rows in content.rows.items())}"
        for content in contents(folder)
    ]
    return "; ".join(filter(None, [recipes.about(folder)[0], *rows]))


def contents(folder: PackFolder) -> list[PackContent]:
    """Return the readable content for each evaluation; conflicts with shipped content are not checked."""
    from tasks.packs.check import examine, parts

    known = shapes()
    return [examine(folder, name, known[name], {})[0] for name in parts(folder, known)]


def shared_out(packs: Sequence[str], evaluations: Collection[str]) -> dict[str, list[str]]:
    """Return, for each of these evaluations, the packs that have files for it.

    Raises:
        ValueError: there is no such pack, or it has files for none of the evaluations.
    """
    from tasks.packs.check import brings
    from tasks.packs.folder import folder_of
    from warehouse.storage import usual_home

    taken: dict[str, list[str]] = {name: [] for name in evaluations}
    for pack in dict.fromkeys(packs):
        there = brings(folder_of(pack, usual_home()), shapes())
        if not set(there) & set(evaluations):
            has = f"it has files for {', '.join(there)}" if there else "it has files for no evaluation"
            raise ValueError(f"--pack: the pack {pack!r} adds nothing to {', '.join(evaluations)}: {has}")
        for name in taken.keys() & there:
            taken[name].append(pack)
    return taken


def of_packs_unasked(name: str, params: Params, study: Study) -> str:
    """Return a note if a study uses nothing of its packs, so is the same without them; else ""."""
    from deployments.evaluations import evaluation, profiles
    from flows.session import build

    if not params.pack:
        return ""
    try:
        bare, *_ = build(evaluation(name), params.model_copy(update={"pack": []}))
    except ValueError:  # the options name content that only a pack has
        return ""
    if bare.config_hash() != study.config_hash():
        return ""
    packs = [pack.partition("@")[0] for pack in params.pack]
    own = [label for label in profiles(name) if label.partition("/")[0] in packs]
    profile = f", or choose its profile {' or '.join(own)}" if own else ""
    return f"these options use nothing of pack {', '.join(packs)}: name its content{profile}"


def write_new(folder: Path, evaluations: Sequence[str]) -> list[Path]:
    """Write a small pack with an explanation of every column; returns the new files.

    Raises:
        ValueError: there is no such evaluation, it takes no packs, or the pack already has its folder.
    """
    known = shapes()
    for name in evaluations:
        if name not in known:
            raise ValueError(f"--for: no evaluation {name!r} takes packs; these do: {', '.join(known)}")
        if (folder / name).exists():
            raise ValueError(f"{folder / name} already exists: edit it, or choose another name")
    written = _begun(folder, "content")
    for name in evaluations:
        files = {file.path: explained(file) for file in known[name].files}  # TOML files explain themselves
        example = registry.EVALUATIONS / name / "example_pack"
        for path in sorted(path for path in example.rglob("*") if path.is_file()):
            target = folder / name / path.relative_to(example)
            target.parent.mkdir(parents=True, exist_ok=True)
            text = path.read_text(encoding="utf-8").replace("NAME/", f"{folder.name}/")
            target.write_text(files.get(path.name, "") + text, encoding="utf-8")
            written.append(target)
    return written


def write_recipe(folder: Path, recipe: str) -> list[Path]:
    """Write a small pack that is an evaluation from a recipe; returns the new files.

    Raises:
        ValueError: there is no such recipe, or the pack exists.
    """
    examples = registry.EVALUATIONS / "recipe" / "examples"
    known = sorted(path.name for path in examples.iterdir())
    if recipe not in known:
        raise ValueError(f"--recipe: unknown recipe {recipe!r}; known: {', '.join(known)}")
    if (folder / recipes.DEFINITION).exists():
        raise ValueError(f"{folder} has an evaluation already: edit it, or choose another name")
    recipes.check_name(folder.name)
    written = _begun(folder, "evaluation")
    for file in sorted((examples / recipe).iterdir()):
        written.append(Path(shutil.copyfile(file, folder / file.name)))
    return written


def _begun(folder: Path, own: str) -> list[Path]:
    """Make the folder and its ``pack.toml`` unless that exists; returns the new files."""
    about = folder / "pack.toml"
    if about.exists():
        return []
    folder.mkdir(parents=True, exist_ok=True)
    about.write_text(_ABOUT.format(title=f"My own {own}: {folder.name}"), encoding="utf-8")
    return [about]


def explained(file: PackFile) -> str:
    """Return comment lines that explain the columns of a file."""
    lines = [file.about]
    for name, field in file.row.model_fields.items():
        text = f"{name}: {field.description}" if field.description else name
        text += "" if field.is_required() else " (may be empty)"
        lines += textwrap.wrap(text, 100, subsequent_indent="  ")
    return "".join(f"# {line}\n" for line in lines)


def write_imported(folder: Path, imported: Pack, replace: bool = False) -> list[Path]:
    """Write an imported pack; returns the new files.

    Args:
        replace: replace an existing pack of that name.

    Raises:
        ValueError: the pack exists.
    """
    if folder.exists() and not replace:
        raise ValueError(f"{folder} already exists: choose another --name, or add --replace")
    beside = folder.with_name(f".{folder.name}.new")
    shutil.rmtree(beside, ignore_errors=True)
    for name, text in imported.files.items():
        path = beside / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    if folder.exists():
        shutil.rmtree(folder)
    beside.rename(folder)
    return [folder / name for name in imported.files]


def write_skeleton(folder: Path, name: str) -> list[Path]:
    """Write the skeleton of a pack, to be filled with a paper's own texts; returns the new files. An existing
    pack, for example from ``pack from``, keeps its files and gets the new one.

    Raises:
        ValueError: no text of the evaluation can be replaced, or the file exists.
    """
    from tasks.packs.wording import skeleton

    own = wordings(name)
    if not own:
        known = ", ".join(each for each in shapes() if wordings(each))
        raise ValueError(f"{name!r} has no texts that a pack can replace; these have some: {known}")
    path = folder / name / "prompts.toml"
    if path.exists():
        raise ValueError(f"{path} already exists: edit it, or move it away")
    written = _begun(folder, "copy of the paper's texts")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(skeleton(own), encoding="utf-8")
    return [*written, path]


def wordings(name: str) -> Sequence[Wording]:
    """Return the texts of an evaluation that a pack may replace."""
    shape = shapes().get(name)
    return shape.wordings if shape else ()


def previews(folder: PackFolder) -> list[str]:
    """Return lines on a pack's prompts: an example of each, and the fields that it leaves out."""
    from tasks.packs.shape import PROMPTS
    from tasks.packs.wording import previews

    return [
        f"{content.evaluation}/prompts.toml, {line}"
        for content in contents(folder)
        for row in content.rows.get(PROMPTS, ())
        for line in previews(wordings(content.evaluation), {k: str(v) for k, v in row.items()})
    ]
