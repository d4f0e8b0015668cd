"""Reads a pack's files for one evaluation and checks them against each other and the shipped content."""

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
    Title,
)

ABOUT = "pack.toml"
PROFILES = "profiles.toml"
"""File in an evaluation's folder: name of a profile -> values of options."""


class PackAbout(PackRow):
    """Fields of ``pack.toml``, which describe the pack and change no number."""

    title: Title = Field(description="one line that describes the pack")
    version: str = Field("", description="version, in your own numbering")
    author: str = Field("", description="author of the pack")
    licence: str = Field("", description="licence, such as CC-BY-4.0")
    source: str = Field("", description="source of the content")


def parts(folder: PackFolder, shapes: Mapping[str, Shape]) -> list[str]:
    """Return the evaluations for which a pack has a folder."""
    return [name for name in shapes if (folder.path / name).is_dir()]


def brings(folder: PackFolder, shapes: Mapping[str, Shape]) -> list[str]:
    """Return the evaluations for which a pack has files besides profiles, valid or not."""
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
        PackError: there are faults in these files or in ``pack.toml``; it lists all.
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
    about, new_faults = _about(paths)
    faults = [fault for fault in faults if fault.file.partition("/")[0] == evaluation] + new_faults
    placed: dict[str, list[Placed]] = {}
    faulty: set[str] = set()  # files with faulty rows, to which other rows may refer
    for file in shape.files:
        placed[file.name] = []
        for name in _paths_of(file, evaluation, paths):
            content = read(paths[name])
            rows, new_faults = (
                read_toml(content, name, file.row) if file.is_toml else read_csv(content, name, file)
            )
            placed[file.name] += rows
            faults += new_faults
            faulty |= {file.name} if new_faults else set()
    by_file = {name: tuple(row for *_, row in rows) for name, rows in placed.items() if rows}
    faults += _replacement_faults(evaluation, shape, placed)
    remaining = shape.remaining(by_file, shipped)
    for file in shape.files:
        faults += _repetition_faults(file, placed[file.name], remaining)
        faults += _reference_faults(file, placed, remaining, faulty)
    return PackContent(folder.name, evaluation, by_file, about), faults


def stray(folder: PackFolder, shapes: Mapping[str, Shape], also: Collection[str] = ()) -> list[PackFault]:
    """Return faults of files that no evaluation reads, and faults outside the evaluations' folders.

    Args:
        also: files that are read besides those of the shapes.
    """
    paths, faults = files(folder)
    faults = [fault for fault in faults if fault.file.partition("/")[0] not in shapes]
    known = {ABOUT, *also}
    for evaluation, shape in shapes.items():
        known |= {f"{evaluation}/{PROFILES}"}
        known |= {name for file in shape.files for name in _paths_of(file, evaluation, paths)}
    for name in sorted(paths.keys() - known):
        evaluation = name.partition("/")[0]
        if evaluation in shapes:
            known_files = ", ".join([*(file.path for file in shapes[evaluation].files), PROFILES])
            fault = f"unknown file; known in {evaluation}/: {known_files}"
        else:
            fault = f"unknown folder or file; known folders: {', '.join(shapes)}"
        faults.append(PackFault(name, None, "", fault, "rename or remove it"))
    return faults


def profiles(folder: PackFolder, evaluation: str) -> tuple[dict[str, dict[str, Any]], list[PackFault]]:
    """Return name -> unchecked values of options, for the pack's profiles of an evaluation; and faults."""
    name = f"{evaluation}/{PROFILES}"
    paths, _ = files(folder)
    if name not in paths:
        return {}, []
    values, faults = tables_of(read(paths[name]), name)
    faults += [
        PackFault(name, None, label, "a profile is a table", f"write [{label}] and options under it")
        for label, options in values.items()
        if not isinstance(options, dict)
    ]
    return ({} if faults else values), faults


def _about(paths: Mapping[str, Path]) -> tuple[dict[str, str], list[PackFault]]:
    if ABOUT not in paths:
        return {}, [PackFault(ABOUT, None, "", "the file is missing", 'write one with title = "…"')]
    fields, faults = tables_of(read(paths[ABOUT]), ABOUT)
    about, new_faults = checked_row(PackAbout, fields, ABOUT, None) if not faults else (None, [])
    return about or {}, [*faults, *new_faults]


def _paths_of(file: PackFile, evaluation: str, paths: Iterable[str]) -> list[str]:
    """Return the paths of a pack's files with the rows of one ``PackFile``."""
    if not file.is_folder:
        return [name for name in paths if name == f"{evaluation}/{file.path}"]
    folder = f"{evaluation}/{file.name}/"
    return [n for n in paths if n.startswith(folder) and n.endswith(".toml") and "/" not in n[len(folder) :]]


def _replacement_faults(
    evaluation: str, shape: Shape, placed: Mapping[str, Sequence[Placed]]
) -> list[PackFault]:
    """Return faults of missing files that should replace shipped content."""
    known = [file.name for file in shape.files if not file.is_single and placed[file.name]]
    unknown = [
        (path, name)
        for path, _, row in placed.get(REPLACES.name, ())
        for name in row["files"]
        if name not in known
    ]
    known_files = ", ".join(known) or "none"
    return [
        PackFault(
            path,
            None,
            "files",
            f"unknown file {name!r}; known in {evaluation}/, with rows: {known_files}",
            "correct it",
        )
        for path, name in unknown
    ]


def _repetition_faults(file: PackFile, rows: Sequence[Placed], shipped: ByName) -> list[PackFault]:
    """Return faults of rows that share a key with an earlier or a shipped row."""
    faults: list[PackFault] = []
    places: dict[tuple[Any, ...], str] = {}
    shipped_keys: set[tuple[Any, ...]] = set()
    if file.taken:
        shipped_keys = {_values(row, file.taken.columns) for row in shipped.get(file.taken.table, ())}
    for name, line, row in rows:
        key, place = _values(row, file.key), f"{name}, line {line}" if line else name
        first_place = places.setdefault(key, place)
        if first_place != place:
            fault = f"{_quoted(key)} already exists: {first_place}"
            faults.append(PackFault(name, line, ", ".join(file.key), fault, "rename or remove one"))
        elif file.taken and _values(row, file.taken.columns) in shipped_keys:
            fault = f"{_quoted(_values(row, file.taken.columns))} is shipped already, or in another pack"
            faults.append(PackFault(name, line, ", ".join(file.taken.columns), fault, "rename it"))
    return faults


def _reference_faults(
    file: PackFile, placed: Mapping[str, Sequence[Placed]], shipped: ByName, faulty: Collection[str]
) -> list[PackFault]:
    """Return faults of values that refer to a missing row. faulty: files with faulty rows, not checked."""
    faults: list[PackFault] = []
    for refers in (reference for reference in file.refers if reference.file not in faulty):
        known = {row.get(refers.of) for *_, row in placed.get(refers.file, ())}
        known |= {row.get(refers.known_as) for row in shipped.get(refers.table, ())}
        places = " or ".join(
            [f"{refers.file}, column {refers.of}"] * bool(refers.file)
            + [f"the shipped {refers.table}"] * bool(refers.table)
        )
        for name, line, row in placed[file.name]:
            cell = row.get(refers.column)
            for value in cell if isinstance(cell, list) else [cell]:
                if value is not None and value not in known:
                    fault = f"{value!r} is not in {places}"
                    faults.append(PackFault(name, line, refers.column, fault, "add it there, or correct it"))
    return faults


def _values(row: Mapping[str, Any], columns: Sequence[str]) -> tuple[Any, ...]:
    return tuple(str(row.get(column, "")) for column in columns)


def _quoted(values: Sequence[str]) -> str:
    return repr(values[0]) if len(values) == 1 else "(" + ", ".join(map(repr, values)) + ")"
