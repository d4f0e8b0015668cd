"""Reads a pack's part for one evaluation and checks it against itself and the shipped content."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

from tasks.packs.files import Placed, checked_row, read_csv, read_toml, tables_of
from tasks.packs.folder import PackFolder, files, read
from tasks.packs.shape import (
    REPLACES,
    ByName,
    PackContent,
    PackError,
    PackFault,
    PackFile,
    PackRow,
    Shape,
    Text,
)

ABOUT = "pack.toml"
PROFILES = "profiles.toml"
"""File in an evaluation's folder: name of a profile -> values of options."""


class PackAbout(PackRow):
    """Fields of ``pack.toml``, which describe the pack and change no number."""

    title: Text = Field(description="one line that describes the pack")
    version: str = Field("", description="version, in your own numbering")
    author: str = Field("", description="who made it")
    licence: str = Field("", description="licence, such as CC-BY-4.0")
    source: str = Field("", description="source of the content")


def parts(folder: PackFolder, shapes: Mapping[str, Shape]) -> list[str]:
    """Return the evaluations for which a pack has a folder."""
    return [name for name in shapes if (folder.path / name).is_dir()]


def brings(folder: PackFolder, shapes: Mapping[str, Shape]) -> list[str]:
    """Return the evaluations for which a pack has files other than profiles, valid or not."""
    paths, faults = files(folder)
    names = {*paths, *(fault.file for fault in faults)}
    return [
        evaluation
        for evaluation in shapes
        if any(n.startswith(f"{evaluation}/") and n != f"{evaluation}/{PROFILES}" for n in names)
    ]


def load(folder: PackFolder, evaluation: str, shape: Shape, shipped: ByName) -> PackContent:
    """Return the content of a pack for an evaluation.

    Args:
        shipped: the study's tables, with the rows of packs before this one.

    Raises:
        PackError: there are faults in that part or in ``pack.toml``; it lists all.
    """
    content, faults = examine(folder, evaluation, shape, shipped)
    if faults:
        raise PackError(folder.name, faults)
    return content


def examine(
    folder: PackFolder, evaluation: str, shape: Shape, shipped: ByName
) -> tuple[PackContent, list[PackFault]]:
    """Return the content that ``load`` returns, without faulty rows, and the faults."""
    paths, faults = files(folder)
    about, wrong = _about(paths)
    faults = [each for each in faults if each.file.partition("/")[0] == evaluation] + wrong
    placed: dict[str, list[Placed]] = {}
    torn: set[str] = set()  # files with faulty rows, to which other rows may refer
    for each in shape.files:
        placed[each.name] = []
        for name in _paths_of(each, evaluation, paths):
            content = read(paths[name])
            rows, wrong = (
                read_toml(content, name, each.row) if each.is_toml else read_csv(content, name, each)
            )
            placed[each.name] += rows
            faults += wrong
            torn |= {each.name} if wrong else set()
    by_file = {name: tuple(row for *_, row in some) for name, some in placed.items() if some}
    faults += _replaced(evaluation, shape, placed)
    left = shape.left(by_file, shipped)
    for each in shape.files:
        faults += _repeated(each, placed[each.name], left)
        faults += _referred(each, placed, left, torn)
    return PackContent(folder.name, evaluation, by_file, about), faults


def stray(folder: PackFolder, shapes: Mapping[str, Shape], also: Collection[str] = ()) -> list[PackFault]:
    """Yield faults of files that no evaluation reads, and faults outside the evaluations' folders.

    Args:
        also: files that are read in addition to those of the shapes.
    """
    paths, faults = files(folder)
    faults = [each for each in faults if each.file.partition("/")[0] not in shapes]
    known = {ABOUT, *also}
    for evaluation, shape in shapes.items():
        known |= {f"{evaluation}/{PROFILES}"}
        known |= {name for each in shape.files for name in _paths_of(each, evaluation, paths)}
    for name in sorted(paths.keys() - known):
        evaluation = name.partition("/")[0]
        if evaluation in shapes:
            read_there = ", ".join([*(each.path for each in shapes[evaluation].files), PROFILES])
            what = f"this file is not read; {evaluation}/ may have {read_there}"
        else:
            what = f"this file is not read; folders are named after evaluations: {', '.join(shapes)}"
        faults.append(PackFault(name, None, "", what, "rename or remove it"))
    return faults


def profiles(folder: PackFolder, evaluation: str) -> tuple[dict[str, dict[str, Any]], list[PackFault]]:
    """Return the pack's profiles of an evaluation by name: unchecked values of options."""
    name = f"{evaluation}/{PROFILES}"
    paths, _ = files(folder)
    if name not in paths:
        return {}, []
    values, faults = tables_of(read(paths[name]), name)
    faults += [
        PackFault(name, None, label, "a profile is a table", f"write [{label}] and options under it")
        for label, of_label in values.items()
        if not isinstance(of_label, dict)
    ]
    return ({} if faults else values), faults


def _about(paths: Mapping[str, Path]) -> tuple[dict[str, str], list[PackFault]]:
    if ABOUT not in paths:
        return {}, [PackFault(ABOUT, None, "", "the file is missing", 'write one with title = "…"')]
    fields, faults = tables_of(read(paths[ABOUT]), ABOUT)
    about, wrong = checked_row(PackAbout, fields, ABOUT, None) if not faults else (None, [])
    return about or {}, [*faults, *wrong]


def _paths_of(file: PackFile, evaluation: str, paths: Iterable[str]) -> list[str]:
    """Return the paths of a pack's files that hold the rows of one ``PackFile``."""
    if not file.is_folder:
        return [name for name in paths if name == f"{evaluation}/{file.path}"]
    folder = f"{evaluation}/{file.name}/"
    return [n for n in paths if n.startswith(folder) and n.endswith(".toml") and "/" not in n[len(folder) :]]


def _replaced(evaluation: str, shape: Shape, placed: Mapping[str, Sequence[Placed]]) -> list[PackFault]:
    """Yield faults of files that should replace shipped content and are missing."""
    known = [each.name for each in shape.files if not each.is_single and placed[each.name]]
    wrong = [
        (path, name)
        for path, _, row in placed.get(REPLACES.name, ())
        for name in row["files"]
        if name not in known
    ]
    there = f"the pack has, in {evaluation}/: {', '.join(known) or 'none'}"
    return [
        PackFault(
            path,
            None,
            "files",
            f"{name!r} replaces nothing: the pack has no such file with rows",
            f"{there}; correct it",
        )
        for path, name in wrong
    ]


def _repeated(file: PackFile, rows: Sequence[Placed], shipped: ByName) -> list[PackFault]:
    """Yield faults of rows that share a key with an earlier or a shipped row."""
    faults: list[PackFault] = []
    first: dict[tuple[Any, ...], str] = {}
    there: set[tuple[Any, ...]] = set()
    if file.taken:
        there = {_values(row, file.taken.columns) for row in shipped.get(file.taken.table, ())}
    for name, line, row in rows:
        key, here = _values(row, file.key), f"{name}, line {line}" if line else name
        before = first.setdefault(key, here)
        if before != here:
            what = f"{_quoted(key)} already exists: {before}"
            faults.append(PackFault(name, line, ", ".join(file.key), what, "rename or remove one"))
        elif file.taken and _values(row, file.taken.columns) in there:
            what = f"{_quoted(_values(row, file.taken.columns))} is shipped already, or in another pack"
            faults.append(PackFault(name, line, ", ".join(file.taken.columns), what, "rename it"))
    return faults


def _referred(
    file: PackFile, placed: Mapping[str, Sequence[Placed]], shipped: ByName, torn: Collection[str]
) -> list[PackFault]:
    """Yield faults of values that refer to a missing row."""
    faults: list[PackFault] = []
    for refers in (each for each in file.refers if each.file not in torn):
        known = {row.get(refers.of) for *_, row in placed.get(refers.file, ())}
        known |= {row.get(refers.known_as) for row in shipped.get(refers.table, ())}
        where = " or ".join(
            [f"{refers.file}, column {refers.of}"] * bool(refers.file)
            + [f"the shipped {refers.table}"] * bool(refers.table)
        )
        for name, line, row in placed[file.name]:
            cell = row.get(refers.column)
            for value in cell if isinstance(cell, list) else [cell]:
                if value is not None and value not in known:
                    what = f"{value!r} is not in {where}"
                    faults.append(PackFault(name, line, refers.column, what, "add it there, or correct it"))
    return faults


def _values(row: Mapping[str, Any], columns: Sequence[str]) -> tuple[Any, ...]:
    return tuple(str(row.get(column, "")) for column in columns)


def _quoted(values: Sequence[str]) -> str:
    return repr(values[0]) if len(values) == 1 else "(" + ", ".join(map(repr, values)) + ")"
