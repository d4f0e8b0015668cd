"""Reads dishes from the files of FmLAMA's repository: JSON Lines, and the CSV file of all languages.

Ingredients are a list, or the text of a Python set with one element: ``{'gravy, french fries'}``. Several
encodings are tried. An unreadable row is left out alone.
"""

from __future__ import annotations

import ast
import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tasks.packs.published import BenchmarkError, Row
from tasks.parsing import decoded, parse_json

_FILTERED = re.compile(r"(^|[/\\_.-])(filter(ed)?|aligned)([/\\_.-]|$)")
"""Pattern in the last three names of a path that marks a file of aligned dishes:
data_filter/ru/ru_dishes.jsonl.
"""
LARGEST = 256 * 2**20
"""Largest size of a file in bytes."""


def is_filtered(path: Path) -> bool:
    """Return whether a file has aligned dishes, by the names on its path."""
    return bool(_FILTERED.search("/".join(part.casefold() for part in path.parts[-3:])))


def text_of(path: Path) -> str:
    """Return the text of a file (``decoded``); raises BenchmarkError if it cannot be read."""
    try:
        if path.stat().st_size > LARGEST:
            raise BenchmarkError(f"{path}: larger than {LARGEST // 2**20} MiB: split it")
        content = path.read_bytes()
    except OSError as error:
        raise BenchmarkError(f"{path}: cannot be read ({error.strerror}): check the path") from error
    return decoded(content)


def json_lines(path: Path) -> list[Row]:
    """Return the objects of a file, one per line; other lines are left out.

    Raises BenchmarkError if no line is an object.
    """
    lines = [line for line in text_of(path).splitlines() if line.strip()]
    rows: list[Row] = []
    for line in lines:
        try:
            row = parse_json(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(row, dict):
            rows.append(row)
    if lines and not rows:
        raise BenchmarkError(f"{path}: no line is a JSON object: check that the file is the authors'")
    return rows


def dishes_of_lines(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows of ``*_dishes.jsonl`` in the columns of a pack."""
    return [
        {
            "url": _cell(row.get("url")),
            "language": _cell(row.get("lang")),
            "name": _cell(row.get("sub_label")),
            "origin": _cell(row.get("origin")),
            "origin_name": _cell(row.get("origin_name")),
            "ingredients": ingredients(row.get("obj_label")),
        }
        for row in rows
    ]


def dishes_of_csv(path: Path) -> list[dict[str, Any]]:
    """Return the rows of ``Dishes.csv`` in the columns of a pack; raises BenchmarkError for other columns.
    The reader accepts files of spreadsheets: quotation marks within cells, NUL, any line ends.
    """
    text = text_of(path).replace("\x00", "")
    header = text.partition("\n")[0]
    delimiter = max(",;\t", key=header.count)
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter)
    names = {str(name).strip().casefold(): name for name in reader.fieldnames or ()}
    if missing := [name for name in ("url", "origin", "name", "lang", "hasparts") if name not in names]:
        raise BenchmarkError(
            f"{path}: missing column {', '.join(missing)}: check that the file is the authors'"
        )
    rows = []
    for row in _readable(reader, path):
        cells = {name: row.get(published) for name, published in names.items()}
        rows.append(
            {
                "url": _cell(cells["url"]),
                "language": _cell(cells["lang"]),
                "name": _cell(cells["name"]),
                "origin": _cell(cells["origin"]),
                "origin_name": _cell(cells.get("origin_name")),
                "ingredients": ingredients(cells["hasparts"]),
            }
        )
    return rows


def _readable(reader: csv.DictReader[str], path: Path) -> Iterator[dict[str, Any]]:
    """Yield rows; raises BenchmarkError at the first that cannot be read."""
    try:
        yield from reader
    except csv.Error as error:
        raise BenchmarkError(f"{path}, after line {reader.line_num}: not CSV: {error}") from error


def ingredients(cell: Any) -> list[str]:
    """Return the ingredients of a cell, each once; the cell is a list, or a text as in the files."""
    if isinstance(cell, str):
        cell = [name for text in _texts(cell.strip()) for name in text.split(", ")]
    names = (name.strip().replace("|", "/") for name in cell or () if isinstance(name, str))
    return list(dict.fromkeys(name for name in names if name))


def _texts(text: str) -> list[str]:
    """Return the texts of a set or list in Python's notation, or the text itself."""
    if text[:1] not in ("{", "["):
        return [text]
    try:
        return [part for part in ast.literal_eval(text) if isinstance(part, str)]
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return [text.strip("{}[]").strip("'\"")]


def _cell(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""
