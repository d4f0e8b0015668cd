"""A file or folder of published data that the user brings: found by name, read by format into records.

A clone of a repository, a part of one, a single file, or a pinned revision on the Hugging Face hub:
``hf:OWNER/NAME@COMMIT``. Columns are found however they are spelt: ``Option A`` is ``option_a``.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from tasks.packs.files import HIDDEN
from tasks.parsing import TooDeep, parse_json

LARGEST = 1 << 29
"""Most bytes of a file; a larger one cannot be a benchmark's."""

_ON_HUB = re.compile(r"hf:([\w.-]+/[\w.-]+)@([0-9a-f]{40})")
_TABLES = (".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".parquet", ".xlsx")
_KEY = "key"
_MOST_FOLDERS = 5000
_ASKED = ("*.parquet", "*.jsonl", "*.json", "*.csv", "*.tsv")
_FOR_EXAMPLES = ("dev", "validation", "train")
"""Splits that give examples, by the beginning of a file's name, or by its folder."""
_POINTER = b"version https://git-lfs"
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
        root: the folder, or that of the file. paths: in the order of their names.
    """

    root: Path
    paths: tuple[Path, ...]

    @classmethod
    def at(cls, data: str) -> Files:
        """Return the files that ``--data`` names. Raises ValueError if there is nothing to read."""
        if not data:
            raise ValueError("--data: name the file or folder of the benchmark; its items are not shipped")
        root = _from_hub(*match.groups()) if (match := _ON_HUB.fullmatch(data)) else Path(data).expanduser()
        if data.startswith("hf:") and not match:
            raise ValueError(f"--data {data}: write hf:OWNER/NAME@COMMIT, with all 40 digits of the commit")
        if root.is_file():
            return cls(root.parent, (root,))
        if not root.is_dir():
            raise ValueError(f"--data {data}: there is no such file or folder: check the path")
        return cls(root, tuple(sorted(_inside(root))))

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
        raise ValueError(
            f"--data {self.root}: there is no file {' or '.join(patterns)}; found: {there}. "
            "Name the folder of the clone, or the file"
        )


def records(path: Path) -> Iterator[Record]:
    """Yield the rows of a CSV, TSV, JSON, JSON Lines, Parquet or Excel file.

    Raises:
        ValueError: it cannot be read, with the reason.
    """
    try:
        if path.stat().st_size > LARGEST:
            raise ValueError(f"it is larger than {LARGEST >> 20} MB")
        with path.open("rb") as file:
            if file.read(len(_POINTER)) == _POINTER:
                raise ValueError('it is only a Git LFS pointer: run "git lfs pull"')
        number = 0
        for number, (place, row) in enumerate(_rows(path), 1):
            if not isinstance(row, Mapping):
                raise ValueError(f"entry {number} is not an object with columns")
            yield Record(f"{path.name}, {place}", {spelt(str(name)): cell for name, cell in row.items()})
        if not number:
            raise ValueError("it has no entries")
    except (OSError, ValueError, TooDeep, csv.Error, pl.exceptions.PolarsError) as error:
        raise ValueError(f"{path.name} cannot be read: {first_line(error)}: check the file") from error
    except Exception as error:  # readers of spreadsheets raise types of their own
        if type(error).__module__.partition(".")[0] not in ("fastexcel", "_fastexcel"):
            raise
        raise ValueError(f"{path.name} is not an Excel file: download it again") from error


def spelt(column: str) -> str:
    """Return the form in which column names are compared: only letters and digits, case folded."""
    return "".join(letter for letter in column.casefold() if letter.isalnum())


def clean(text: str) -> str:
    """Return the text without control characters and marks that turn its direction, or spaces around it."""
    return HIDDEN.sub("", text.replace("\r\n", "\n").replace("\r", "\n")).strip()


def first_line(error: BaseException) -> str:
    """Return an error's message in one line."""
    return " ".join(clean(str(error)).split())[:200]


def _inside(root: Path) -> Iterator[Path]:
    """Yield the tables in a folder, but for those in hidden folders. Raises ValueError if it is too large."""
    for number, (folder, folders, names) in enumerate(os.walk(root)):
        if number >= _MOST_FOLDERS:
            raise ValueError(f"--data {root}: it has over {_MOST_FOLDERS} folders: name the benchmark's own")
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            path = Path(folder, name)
            is_table = path.suffix.lower() in _TABLES and name.lower() not in _ABOUT
            if is_table and not name.startswith((".", "~$")) and path.is_file():
                yield path


def _rows(path: Path) -> Iterator[tuple[str, Any]]:
    """Yield (place, row) of a file, by its format."""
    match path.suffix.lower():
        case ".csv" | ".tsv" as kind:
            text = path.read_text(encoding="utf-8-sig")
            delimiter = "\t" if kind == ".tsv" else _delimiter(text)
            reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter)
            for row in reader:
                yield f"line {reader.line_num}", {name: cell for name, cell in row.items() if name}
        case ".jsonl" | ".ndjson":
            yield from _lines(path.read_text(encoding="utf-8-sig"))
        case ".json":
            text = path.read_text(encoding="utf-8-sig")
            yield from _lines(text) if _is_of_lines(text) else _entries(parse_json(text))
        case ".parquet":
            yield from ((f"row {n}", row) for n, row in enumerate(pl.read_parquet(path).to_dicts(), 1))
        case ".xlsx":
            sheets = pl.read_excel(path, sheet_id=0, infer_schema_length=0, raise_if_empty=False)
            tables = (sheet for sheet in sheets.values() if sheet.height and sheet.width > 1)
            sheet = next(tables, pl.DataFrame())
            yield from ((f"row {n}", row) for n, row in enumerate(sheet.to_dicts(), 2))
        case other:
            raise ValueError(f"{other or 'no ending'} is not a known format")


def whole(value: object) -> int | None:
    """Return a whole number, also one written as text or as 3.0; None for anything else."""
    if isinstance(value, str) and re.fullmatch(r"\d{1,9}(\.0+)?", value.strip(), re.ASCII):
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if value % 1 == 0 else None


def _delimiter(text: str) -> str:
    """Return the delimiter of a .csv file, which some programs write with other characters than commas."""
    header = text.partition("\n")[0]
    return next((mark for mark in "\t;" if mark in header and "," not in header), ",")


def _is_of_lines(text: str) -> bool:
    """Return whether a JSON text has one object per line; the hub has such files under .json and .jsonl."""
    first, _, rest = text.strip().partition("\n")
    try:
        return isinstance(parse_json(first), dict) and bool(rest)
    except ValueError:
        return False


def _lines(text: str) -> Iterator[tuple[str, Any]]:
    """Yield the values of JSON Lines. JSON texts may contain other characters that count as line ends."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield f"line {number}", parse_json(line)


def _entries(content: object) -> Iterator[tuple[str, Any]]:
    """Yield the objects of a JSON file: of a list, or by key."""
    if isinstance(content, list):
        yield from ((f"entry {number}", row) for number, row in enumerate(content, 1))
    elif isinstance(content, dict):
        for key, row in content.items():
            yield f"key {key}", {**row, _KEY: key} if isinstance(row, dict) else row
    else:
        raise ValueError("it is neither a list nor an object")


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


def _from_hub(name: str, commit: str) -> Path:
    """Return the folder of a data set's commit, downloaded once."""
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(name, repo_type="dataset", revision=commit))
    except (OSError, ValueError) as error:
        raise ValueError(
            f"--data hf:{name}@{commit}: it cannot be fetched ({first_line(error)}): check name, commit and "
            "network, or name a folder"
        ) from error
