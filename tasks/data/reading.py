"""The one way to read a table: a file's rows by its ending, one by one or all at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tasks.data import delimited, json_rows, parquet, text, xlsx
from tasks.data.delimited import PlacedRow, Spelling, rows_of, spelled
from tasks.data.errors import TableError, reading
from tasks.data.json_rows import Entry

ENDINGS = (".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".parquet", ".xlsx")
"""Endings of the formats."""

_POINTER = b"version https://git-lfs"
_KINDS = {".parquet": "Parquet file", ".xlsx": "spreadsheet"}
_MOST_HEADERS = 1000


def rows(
    path: Path, spelling: Spelling = str.strip, separator: str = "", needed: Iterable[str] = ()
) -> Iterator[PlacedRow]:
    """Yield the rows of a CSV, TSV, JSON, JSON Lines, Parquet or Excel file as they are read.

    Memory does not grow with the file, except for Excel's, which is limited. Cells of CSV, TSV and Excel are
    texts, empty ones None.

    Args:
        spelling: returns the form of a column's name in which it is looked up, for example without case.
        separator: of a CSV file; "" finds it in the header. needed: columns that a header must have.

    Raises:
        TableError: it cannot be read, or a row does not fit its header; names file, place and what to do.
    """
    return _read(path, spelling, separator, needed, is_whole=False)


def table(
    path: Path, spelling: Spelling = str.strip, separator: str = "", needed: Iterable[str] = ()
) -> list[PlacedRow]:
    """Return all rows of a file; see ``rows``.

    Raises:
        TableError: also if the file has no rows, or more bytes or cells than fit into memory.
    """
    found: list[PlacedRow] = []
    with reading(path):
        if path.stat().st_size > text.MOST_BYTES:
            raise TableError(f"larger than {text.MOST_BYTES >> 20} MiB", "split it")
        n_values = n_characters = 0
        for row in _read(path, spelling, separator, needed, is_whole=True):
            values, characters = _weight(row.cells)
            n_values, n_characters = n_values + values, n_characters + characters
            for n, most, unit in (
                (n_values, text.MOST_CELLS, "cells"),
                (n_characters, text.MOST_BYTES, "letters"),
            ):
                if n > most:
                    raise TableError(f"it has more than {most:,} {unit}", "split it", place=row.place)
            found.append(row)
        if not found:
            raise TableError("no rows", "check the file")
    return found


def _read(
    path: Path, spelling: Spelling, separator: str, needed: Iterable[str], *, is_whole: bool
) -> Iterator[PlacedRow]:
    ending = path.suffix.casefold()
    with reading(path, _KINDS.get(ending, "file")):
        with path.open("rb") as file:
            if file.read(len(_POINTER)) == _POINTER:
                raise TableError("it is only a Git LFS pointer", 'run "git lfs pull"')
        match ending:
            case ".csv":
                yield from rows_of(delimited.records(path, separator), spelling, needed)
            case ".tsv":
                yield from rows_of(delimited.records(path, "\t"), spelling, needed)
            case ".jsonl" | ".ndjson":
                yield from objects(json_rows.lines(path), spelling)
            case ".json":
                yield from objects(json_rows.entries(path), spelling)
            case ".parquet":
                spelled(parquet.column_names(path), spelling, "its schema")
                numbered = enumerate(parquet.rows(path, is_whole), 1)
                yield from objects(((f"row {n}", row) for n, row in numbered), spelling)
            case ".xlsx":
                yield from rows_of(xlsx.records(path), spelling, needed, "row")
            case other:
                raise TableError(f"{other or 'no ending'} is not a known format", f"use {', '.join(ENDINGS)}")


def objects(entries: Iterable[Entry], spelling: Spelling = str.strip) -> Iterator[PlacedRow]:
    """Yield objects as rows. Raises TableError for another value, and for columns that are spelled alike."""
    columns: dict[tuple[str, ...], list[str]] = {}
    for place, value in entries:
        if not isinstance(value, Mapping):
            what = f"expected an object with columns, found {type(value).__name__}"
            raise TableError(what, "check the file", place=place)
        names = tuple(value)
        if names not in columns:
            if len(columns) >= _MOST_HEADERS:
                columns.clear()
            columns[names] = spelled(names, spelling, place)
        yield PlacedRow(place, dict(zip(columns[names], value.values(), strict=True)))


def _weight(cells: Mapping[str, Any]) -> tuple[int, int]:
    """Return the numbers of values and of letters in a row."""
    n_values = n_characters = 0
    level: list[Any] = list(cells.values())
    while level:
        n_values += len(level)
        deeper: list[Any] = []
        for value in level:
            if isinstance(value, str | bytes):
                n_characters += len(value)
            elif isinstance(value, Mapping):
                deeper += value.values()
            elif isinstance(value, list | tuple):
                deeper += value
        level = deeper
    return n_values, n_characters
