"""A user's own scenarios, exemplars, profiles and values: CSV files with the columns of the tables."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Row = Mapping[str, Any]


@dataclass(frozen=True)
class _Columns:
    """What a file has to have: needed columns, those that may be left out, and what no two rows share."""

    needed: tuple[str, ...]
    optional: tuple[str, ...]
    key: tuple[str, ...]


_TABLES = {
    "scenario": _Columns(
        ("scenario", "framework", "dimension", "category", "text", "option_a", "option_b"),
        ("region", "is_multi", "other_dimensions", "pole_a"),
        ("scenario",),
    ),
    "exemplar": _Columns(
        ("framework", "dimension", "pole", "number", "text"), (), ("framework", "dimension", "pole", "number")
    ),
    "culture_profile": _Columns(
        ("profile", "country", "dimension", "score", "framework"),
        (),
        ("profile", "country", "framework", "dimension"),
    ),
    "guiding_value": _Columns(("value", "label"), ("description",), ("value",)),
}


def read_rows(path: str | Path, table: str) -> list[dict[str, Any]]:
    """The rows of a file. Raises ValueError if there is none, or as ``parse_rows``."""
    try:
        content = Path(path).expanduser().read_bytes()
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror}): check the path") from error
    return parse_rows(content, str(path), table)


def parse_rows(content: bytes, file: str, table: str) -> list[dict[str, Any]]:
    """Rows of a CSV file in UTF-8 for ``table``: scenario, exemplar, culture_profile or guiding_value.

    ``is_multi`` is a bool (False where left out), ``number`` an int, ``score`` a float; all else is text.

    Raises:
        ValueError: names file, line and column, and says what to do.
    """
    columns = _TABLES[table]
    header, lines = _cells(content, file)
    _check_header(header, columns, f"{file}, line 1")
    seen: dict[tuple[Any, ...], int] = {}
    rows: list[dict[str, Any]] = []
    for line, cells in lines:
        if len(cells) != len(header):
            raise ValueError(
                f"{file}, line {line}: {len(cells)} cells under {len(header)} columns; a cell with a comma "
                "needs quotes"
            )
        row = _row(dict(zip(header, cells, strict=True)), columns, f"{file}, line {line}")
        first = seen.setdefault(tuple(row[name] for name in columns.key), line)
        if first != line:
            named = ", ".join(columns.key)
            raise ValueError(f"{file}, line {line}, column {named}: the same as on line {first}; remove one")
        rows.append(row | {"is_multi": row.get("is_multi", False)} if table == "scenario" else row)
    if not rows:
        raise ValueError(f"{file} has a header and no rows: add some, or leave the file out")
    return rows


def _cells(content: bytes, file: str) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """Header, and (line number, cells) of each row that is not empty."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise ValueError(f"{file}, line {line}: not UTF-8; save the file in that encoding") from error
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = [name.strip() for name in next(reader, [])]
        return header, [(reader.line_num, [c.strip() for c in cells]) for cells in reader if cells]
    except csv.Error as error:
        raise ValueError(f"{file}, line {reader.line_num}: not a CSV file ({error}); check quotes") from error


def _check_header(header: Sequence[str], columns: _Columns, where: str) -> None:
    known = (*columns.needed, *columns.optional)
    lacking = [name for name in columns.needed if name not in header]
    extra = [name for name in header if name not in known]
    if lacking or extra or len(set(header)) < len(header):
        optional = f", and perhaps {', '.join(columns.optional)}" if columns.optional else ""
        raise ValueError(
            f"{where}: columns are {', '.join(header)}; they must be {', '.join(columns.needed)}{optional}, "
            "each once"
        )


def _row(cells: Mapping[str, str], columns: _Columns, where: str) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for name, cell in cells.items():
        if cell:
            row[name] = _typed(name, cell, f"{where}, column {name}")
        elif name in columns.needed:
            raise ValueError(f"{where}, column {name}: the cell is empty; fill it in")
    return row


def _typed(name: str, cell: str, where: str) -> object:
    """A cell as its column's type."""
    if name not in _TYPES:
        return cell
    what, parse = _TYPES[name]
    try:
        return parse(cell)
    except (ValueError, KeyError) as error:
        raise ValueError(f"{where}: {cell!r} is not {what}; correct the cell") from error


def _finite(cell: str) -> float:
    number = float(cell)
    if not math.isfinite(number):
        raise ValueError
    return number


def _positive(cell: str) -> int:
    number = int(cell)
    if number < 1:
        raise ValueError
    return number


_TYPES: dict[str, tuple[str, Callable[[str], object]]] = {
    "number": ("a whole number from 1", _positive),
    "score": ("a number", _finite),
    "is_multi": ("true or false", lambda cell: {"true": True, "false": False}[cell.casefold()]),
    "pole": ("high or low", lambda cell: {"high": "high", "low": "low"}[cell]),
    "pole_a": ("high or low", lambda cell: {"high": "high", "low": "low"}[cell]),
}
