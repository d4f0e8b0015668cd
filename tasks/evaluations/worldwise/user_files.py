"""Reads a user's own scenarios, exemplars, profiles and values from CSV files with the tables' columns."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import FiniteFloat, PositiveInt, TypeAdapter

from tasks.data import TableError
from tasks.data.delimited import records

Row = Mapping[str, Any]


STORED_SCENARIO, STORED_EXEMPLAR = "stored_scenario", "stored_exemplar"
"""Kinds of files for existing answers; they need fewer columns, as nothing is sent."""


class _Columns(NamedTuple):
    """Rules of a file: required columns, optional ones, and the columns whose values must be unique."""

    needed: tuple[str, ...]
    optional: tuple[str, ...]
    key: tuple[str, ...]


_SCENARIO = ("scenario", "framework", "dimension", "category", "text", "option_a", "option_b")
_ABOUT_SCENARIO = ("region", "is_multi", "other_dimensions", "pole_a")
_EXEMPLAR_TEXT = ("dimension", "pole", "text")
_EXEMPLAR = ("framework", "dimension", "pole", "number")
_PROFILE = ("profile", "country", "dimension", "score", "framework")
_TABLES = {
    "scenario": _Columns(_SCENARIO, _ABOUT_SCENARIO, ("scenario",)),
    "exemplar": _Columns((*_EXEMPLAR, "text"), (), _EXEMPLAR),
    "culture_profile": _Columns(_PROFILE, (), ("profile", "country", "framework", "dimension")),
    "guiding_value": _Columns(("value", "label"), ("description",), ("value",)),
    STORED_SCENARIO: _Columns(
        ("scenario", "dimension"), ("framework", *_SCENARIO[3:], *_ABOUT_SCENARIO), ("scenario",)
    ),
    STORED_EXEMPLAR: _Columns(_EXEMPLAR_TEXT, ("framework", "number"), _EXEMPLAR_TEXT),
}
_POLE = ("high or low", TypeAdapter[Any](Literal["high", "low"]))
_TYPES = {
    "number": ("a whole number from 1", TypeAdapter[Any](PositiveInt)),
    "score": ("a number", TypeAdapter[Any](FiniteFloat)),
    "is_multi": ("true or false", TypeAdapter[Any](bool)),
    "pole": _POLE,
    "pole_a": _POLE,
}
"""Column -> the description and type of its cells; all other columns are text."""


def read_rows(path: str | Path, table: str) -> list[dict[str, Any]]:
    """Return the rows of a file. Raises ValueError if the file cannot be read, or as ``parse_rows`` does."""
    try:
        content = Path(path).expanduser().read_bytes()
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror}): check the path") from error
    return parse_rows(content, str(path), table)


def parse_rows(content: bytes, file: str, table: str) -> list[dict[str, Any]]:
    """Return the rows of a CSV file in UTF-8 for ``table``: scenario, exemplar, culture_profile or
    guiding_value, or a kind of stored answers.

    ``is_multi`` is a bool (False where left out), ``number`` an int, ``score`` a float; all others are text.

    Raises:
        ValueError: the text names file, line and column, and says what to do.
    """
    columns = _TABLES[table]
    try:
        numbered = records(content)
        _, cells = next(numbered, (1, []))
        header = [name.strip() for name in cells]
        lines = [(line, [cell.strip() for cell in cells]) for line, cells in numbered]
    except TableError as error:
        error.file = file
        raise
    known = (*columns.needed, *columns.optional)
    if not set(columns.needed) <= set(header) <= set(known) or len(set(header)) < len(header):
        optional = f", and perhaps {', '.join(columns.optional)}" if columns.optional else ""
        raise ValueError(
            f"{file}, line 1: columns are {', '.join(header)}; they must be {', '.join(columns.needed)}"
            f"{optional}, each once"
        )
    first: dict[tuple[Any, ...], int] = {}
    rows: list[dict[str, Any]] = []
    for line, cells in lines:
        where = f"{file}, line {line}"
        if len(cells) != len(header):
            raise ValueError(
                f"{where}: {len(cells)} cells under {len(header)} columns; a cell with a comma needs quotes"
            )
        row = _row(dict(zip(header, cells, strict=True)), columns, where)
        before = first.setdefault(tuple(row[name] for name in columns.key), line)
        if before != line:
            named = ", ".join(columns.key)
            raise ValueError(f"{where}, column {named}: the same as on line {before}; remove one")
        rows.append({"is_multi": False} | row if table == "scenario" else row)
    if not rows:
        raise ValueError(f"{file} has a header and no rows: add some, or leave the file out")
    return rows


def _row(cells: Mapping[str, str], columns: _Columns, where: str) -> dict[str, Any]:
    """Return the filled cells, converted to their columns' types."""
    row: dict[str, Any] = {}
    for name, cell in cells.items():
        if not cell:
            if name in columns.needed:
                raise ValueError(f"{where}, column {name}: the cell is empty; fill it in")
            continue
        what, kind = _TYPES.get(name, ("text", None))
        try:
            row[name] = cell if kind is None else kind.validate_python(cell)
        except ValueError as error:
            raise ValueError(f"{where}, column {name}: {cell!r} is not {what}; correct the cell") from error
    return row
