"""A file or folder of published data that the user brings: found by name, read by format into records.

A clone of a repository, a part of one, a single file, or a pinned revision on the Hugging Face hub:
``hf:OWNER/NAME@COMMIT``. Columns are found however they are spelt: ``Option A`` is ``option_a``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, NamedTuple

from tasks.data import ENDINGS, TableError, hub, table
from tasks.data.folders import walk
from tasks.packs.files import HIDDEN
from tasks.parsing import parse_json

_PACKED = (".zip", ".tar", ".tgz", ".gz", ".bz2", ".xz", ".zst", ".7z", ".rar")
"""Endings of archives and compressed files."""
_MOST_FOLDERS = 5000
_ASKED = ("*.parquet", "*.jsonl", "*.json", "*.csv", "*.tsv")
_FOR_EXAMPLES = ("dev", "validation", "train")
"""Splits that give examples, by the beginning of a file's name, or by its folder."""
_ABOUT = {"dataset_info.json", "dataset_infos.json", "dataset_dict.json", "state.json", "package.json"}
"""Files about a data set that are not part of it."""


class Record(NamedTuple):
    """One row of a file.

    Attributes:
        place: file and row, for messages. cells: by column in the form of ``spelt``; for an object of objects
            also ``key``.
    """

    place: str
    cells: Mapping[str, Any]

    def get(self, *columns: str) -> Any:
        """Return the first of these columns that is not empty; None if there is none."""
        for column in columns:
            value = self.cells.get(spelt(column))
            if not (value is None or value == "" or (isinstance(value, float) and value != value)):
                return value
        return None

    def text(self, *columns: str) -> str:
        """Return the cell as ``clean`` text; "" where it is missing or not one value."""
        value = self.get(*columns)
        return clean(str(value)) if isinstance(value, str | int | float) else ""


@dataclass(frozen=True)
class Files:
    """The user's file, or the files of the user's folder, those of hidden folders left out.

    Attributes:
        root: the folder, or that of the file. paths: in the order of their names. packed:
            archives in the folder, from it; what is in them is not read.
    """

    root: Path
    paths: tuple[Path, ...]
    packed: tuple[str, ...] = ()

    @classmethod
    def at(cls, data: str) -> Files:
        """Return the files that ``--data`` names. Raises ValueError if there is nothing to read."""
        if not data:
            raise ValueError("--data: name the file or folder of the benchmark; its items are not shipped")
        root = hub.folder(data) if data.startswith("hf:") else Path(data).expanduser()
        if root.is_file():
            return cls(root.parent, (root,), (root.name,) * _is_packed(root.name))
        if not root.is_dir():
            raise ValueError(f"--data {data}: there is no such file or folder: check the path")
        tables, packed = _inside(root)
        return cls(root, tuple(sorted(tables)), tuple(sorted(packed)))

    def named(self, *patterns: str) -> list[Path]:
        """Return the files whose name matches one of these patterns, in any case and any folder."""
        return [p for p in self.paths if any(fnmatch(p.name.lower(), each.lower()) for each in patterns)]

    def to_ask(self) -> list[Path]:
        """Return the tables without few-shot examples. Raises ValueError if there is none."""
        return [path for path in self.needed(*_ASKED) if not self._is_of_examples(path)]

    def about(self, word: str) -> list[Path]:
        """Return the tables with the word in their name or folder, else all tables.

        Raises:
            ValueError: there is no table.
        """
        tables = self.needed(*_ASKED)
        return [path for path in tables if word in self._inner(path)] or tables

    def folder_of(self, path: Path, form: str) -> str:
        """Return the name of the nearest enclosing folder whose name has this form; "" if there is none."""
        around = (folder for folder in path.parents if folder.is_relative_to(self.root))
        return next((folder.name for folder in around if re.fullmatch(form, folder.name)), "")

    def _is_of_examples(self, path: Path) -> bool:
        *folders, name = self._inner(path).split("/")
        return name.startswith(_FOR_EXAMPLES) or not set(_FOR_EXAMPLES).isdisjoint(folders)

    def _inner(self, path: Path) -> str:
        return path.relative_to(self.root).as_posix().lower()

    def needed(self, *patterns: str) -> list[Path]:
        """Return the files that ``named`` finds. Raises ValueError if there is none."""
        if paths := self.named(*patterns):
            return paths
        there = ", ".join(sorted({path.name for path in self.paths})[:6]) or "none that can be read"
        what = "Name the folder of the clone, or the file"
        if self.packed:
            names = ", ".join(self.packed[:3]) + (" and others" if len(self.packed) > 3 else "")
            what = f"Unpack {names} first, beside where it lies, if the data are in it"
        raise ValueError(
            f"--data {self.root}: there is no file {' or '.join(patterns)}; found: {there}. {what}"
        )


def records(path: Path) -> Iterator[Record]:
    """Yield the rows of a CSV, TSV, JSON, JSON Lines, Parquet or Excel file.

    Raises:
        ValueError: it cannot be read, with the reason.
    """
    try:
        found = table(path, spelt)
    except TableError as error:
        error.file = path.name
        raise
    yield from (Record(f"{path.name}, {row.place}", row.cells) for row in found)


def spelt(column: str) -> str:
    """Return the form in which column names are compared: letters, their marks and digits, case folded."""
    return "".join(letter for letter in column.casefold() if unicodedata.category(letter)[0] in "LMN")


def clean(text: str) -> str:
    """Return the text without control characters and marks that turn its direction, or spaces around it."""
    return HIDDEN.sub("", text.replace("\r\n", "\n").replace("\r", "\n")).strip()


def first_line(error: BaseException) -> str:
    """Return an error's message in one line."""
    return " ".join(clean(str(error)).split())[:200]


def _is_packed(name: str) -> bool:
    return name.lower().endswith(_PACKED)


def _inside(root: Path) -> tuple[list[Path], list[str]]:
    """Return the tables in a folder and its archives, from it, but for those in hidden folders. Raises
    ValueError if it is too large.
    """
    tables, packed = list[Path](), list[str]()
    for number, (folder, folders, names) in enumerate(walk(root)):
        if number >= _MOST_FOLDERS:
            raise ValueError(f"--data {root}: it has over {_MOST_FOLDERS} folders: name the benchmark's own")
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            path = folder / name
            is_table = path.suffix.lower() in ENDINGS and name.lower() not in _ABOUT
            if name.startswith((".", "~$")) or not path.is_file():
                continue
            if is_table:
                tables.append(path)
            elif _is_packed(name):
                packed.append(path.relative_to(root).as_posix())
    return tables, packed


def whole(value: object) -> int | None:
    """Return a whole number, also one written as text or as 3.0; None for anything else."""
    if isinstance(value, str) and re.fullmatch(r"\d{1,9}(\.0+)?", value.strip(), re.ASCII):
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if value % 1 == 0 else None


def listed(value: object) -> list[Any]:
    """Return the values of a cell that holds a list, also one in JSON or Python's writing; else []."""
    if isinstance(value, list | tuple):
        return list(value)
    if isinstance(value, str) and value.strip().startswith("["):
        import ast

        for read in (parse_json, ast.literal_eval):
            try:
                content = read(value)
            except (ValueError, SyntaxError, RecursionError, MemoryError):
                continue
            return list(content) if isinstance(content, list | tuple) else []
    return []


def fields(value: object) -> Mapping[str, Any]:
    """Return the fields of a cell that holds an object, also a written one; else {}."""
    if isinstance(value, str):
        (value,) = listed(f"[{value}]") or [None]
    return value if isinstance(value, Mapping) else {}
