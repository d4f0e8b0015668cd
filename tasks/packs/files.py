"""Turns bytes of a pack's files into checked rows; collects every fault with its line and column. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from rapidfuzz import process

from tasks.data import TableError
from tasks.data.delimited import records
from tasks.packs.shape import PackFault, PackFile, Text
from tasks.parsing import TooDeep, parse_toml, plain, text_of

Placed = tuple[str, int | None, dict[str, Any]]
"""(file, line, cells) of a row."""

_FORMULA = re.compile(r"^[=+\-@\t\r]")
_NUMBER = re.compile(r"^[+-]?\d+([.,]\d+)*%?$")
_TABLE = re.compile(r"\s*\[+\s*([\w.-]+)\s*\]")
_KEY = re.compile(r"\s*([\w.-]+)\s*=")
HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069\ufeff]")
"""Control characters, and marks that reverse the direction of text and so hide what is written."""


class AnyCells(BaseModel):
    """A row with any columns."""

    model_config = ConfigDict(extra="allow", frozen=True)
    __pydantic_extra__: dict[str, Text] = Field(init=False)


def read_csv(content: bytes, file: str, shape: PackFile) -> tuple[list[Placed], list[PackFault]]:
    """Return the complete rows of a CSV file without their empty cells, and all faults.

    Lines above the header that begin with # are comments.
    """
    try:
        numbered = records(content, with_comments=True)
        line, header = next(numbered, (1, []))
        if faults := list(_header([name.strip() for name in header], file, line, shape)):
            return [], faults
        return _rows(numbered, [name.strip() for name in header], file, shape)
    except TableError as error:
        return [], [PackFault(file, error.line, "", error.what, error.advice)]


def header_of(content: bytes) -> list[str]:
    """Return the columns of a CSV file; none if it is not CSV in UTF-8."""
    try:
        _, header = next(records(content, with_comments=True), (1, []))
        return [name.strip() for name in header if name.strip()]
    except TableError:
        return []


def read_toml(content: bytes, file: str, row: type[BaseModel]) -> tuple[list[Placed], list[PackFault]]:
    """Return the single row of a TOML file, or its faults."""
    fields, faults = tables_of(content, file)
    if faults:
        return [], faults
    checked, faults = checked_row(row, fields, file, None)
    return ([(file, None, checked)] if checked is not None else []), faults


def tables_of(content: bytes, file: str) -> tuple[dict[str, Any], list[PackFault]]:
    """Return a TOML file's tables, or its faults."""
    try:
        return parse_toml(text_of(content)), []
    except TooDeep as error:
        return {}, [PackFault(file, None, "", str(error), "shorten the dotted names, or nest less")]
    except ValueError as error:  # a number with thousands of digits raises no TOMLDecodeError
        line = re.search(r"at line (\d+)", str(error))
        fault = f"not a TOML file ({str(error).partition(' (at')[0]})"
        return {}, [PackFault(file, int(line[1]) if line else None, "", fault, "correct it there")]


def line_of(text: str, field: str) -> int | None:
    """Return the line of a TOML text that sets a dotted field, else the line of its table; None if neither
    exists.
    """
    lines: dict[str, int] = {}
    table, in_text = "", False
    for number, line in enumerate(text.splitlines(), 1):
        if not in_text and (name := _TABLE.match(line)):
            table = name[1]
            lines.setdefault(table, number)
        elif not in_text and (name := _KEY.match(line)):
            lines.setdefault(f"{table}.{name[1]}".strip("."), number)
        in_text ^= any(line.count(quotes) % 2 for quotes in ('"' * 3, "'" * 3))
    while field and field not in lines:
        field = field.rpartition(".")[0]
    return lines.get(field)


def checked_row(
    row: type[BaseModel], cells: Mapping[str, Any], file: str, line: int | None
) -> tuple[dict[str, Any] | None, list[PackFault]]:
    """Return the cells converted to their columns' types, in JSON types; None if they do not fit."""
    faults = [
        PackFault(file, line, name, *hostile)
        for name, text in _texts(cells)
        if (hostile := _hostile(text, line is not None))
    ]
    if faults:
        return None, faults
    try:
        return row.model_validate(dict(cells)).model_dump(mode="json", exclude_none=True), []
    except ValidationError as error:
        return None, [_fault(details, file, line) for details in error.errors()]


def _hostile(text: str, is_cell: bool) -> tuple[str, str] | None:
    """Return the fault of a text that no column may have, and what to do; None for other texts."""
    if hidden := HIDDEN.search(text):
        return f"it has the control character U+{ord(hidden[0]):04X}", "remove it"
    if is_cell and _FORMULA.match(text) and not _NUMBER.match(text):
        fault = f"{_short(text)} begins with {text[0]!r}, which spreadsheets would run as a formula"
        return fault, "begin with something else"
    return None


def _header(header: Sequence[str], file: str, line: int, shape: PackFile) -> Iterator[PackFault]:
    fields = shape.row.model_fields
    required = [name for name, field in fields.items() if field.is_required()]
    for name in required:
        if name not in header:
            present = ", ".join(header) or "none"
            yield PackFault(
                file, line, name, f"the column is missing; the header has: {present}", "add it to the header"
            )
    is_any = shape.row.model_config.get("extra") == "allow"
    for name in dict.fromkeys(header):
        if is_any and ("\n" in name or not name):
            yield PackFault(
                file, line, "", "a column's name is empty or has two lines", "rename or remove it"
            )
        elif name not in fields and not is_any:
            closest = process.extractOne(name, list(fields))
            hint = f"did you mean {closest[0]}? " if closest and closest[1] > 70 else ""
            yield PackFault(
                file, line, name, f"unknown column; {hint}known: {', '.join(fields)}", "rename it"
            )
        elif header.count(name) > 1:
            yield PackFault(file, line, name, "the column is repeated", "remove one")


def _rows(
    numbered: Iterator[tuple[int, list[str]]], header: Sequence[str], file: str, shape: PackFile
) -> tuple[list[Placed], list[PackFault]]:
    rows: list[Placed] = []
    faults: list[PackFault] = []
    for line, cells in numbered:
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) != len(header):
            fault = f"{len(cells)} cells for {len(header)} columns"
            faults.append(PackFault(file, line, "", fault, "put a cell with a comma in quotes"))
            continue
        filled = {name: cell.strip() for name, cell in zip(header, cells, strict=True) if cell.strip()}
        row, new_faults = checked_row(shape.row, filled, file, line)
        faults += new_faults
        if row is not None:
            rows.append((file, line, row))
    if not rows and not faults:
        faults.append(
            PackFault(file, None, "", "it has a header but no rows", "add some, or remove the file")
        )
    return rows, faults


def _fault(error: Any, file: str, line: int | None) -> PackFault:
    """Return one of pydantic's errors as a fault."""
    column = ".".join(str(part) for part in error["loc"])
    if error["type"] == "missing":
        is_csv = file.endswith(".csv")
        fault = "the cell is empty" if is_csv else "the field is missing"
        return PackFault(file, line, column, fault, "fill it in" if is_csv else "add it")
    if error["type"] == "extra_forbidden":
        return PackFault(file, line, column, "unknown field", "remove it, or correct its name")
    message = plain(str(error["msg"]))
    fault = message[:1].lower() + message[1:]
    if error["input"] == "":
        return PackFault(file, line, column, f"it is empty, but {fault}", "fill it in")
    if isinstance(error["input"], str | int | float):
        fault = f"{_short(str(error['input']))}: {fault}"
    return PackFault(file, line, column, fault, "correct it")


def _texts(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield (dotted name of its place, text) for every text in nested values."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for name, part in value.items():
            yield from _texts(name, path)
            yield from _texts(part, f"{path}.{name}" if path else str(name))
    elif isinstance(value, list):
        for number, part in enumerate(value):
            yield from _texts(part, f"{path}.{number}")


def _short(text: str) -> str:
    """Return a text for a message: printable and short."""
    return repr(text if len(text) <= 60 else text[:57] + "…")
