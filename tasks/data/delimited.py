"""Records of CSV and TSV files, and the rules that any table with a header keeps.

The standard reader is used because polars reports no line of a fault, and shifts rows that are too long.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import IO, Any, NamedTuple

from tasks.data.errors import TableError
from tasks.data.text import Lines, Source

SEPARATORS = ",;\t|"
_QUOTED = re.compile(r'"[^"]*"?')
Spelling = Callable[[str], str]
"""Returns the form in which columns are compared; two columns of one form are refused."""


class PlacedRow(NamedTuple):
    """A row of a table.

    Attributes:
        place: "line 3", "row 3", "entry 3" or "key x". cells: by column; an empty cell of a text file or a
            sheet is None.
    """

    place: str
    cells: Mapping[str, Any]


def records(
    source: Source | IO[str], separator: str = "", with_comments: bool = False
) -> Iterator[tuple[int, list[str]]]:
    """Yield the records of a CSV file, header first, each with the line on which it begins; blank lines are
    skipped.

    Args:
        separator: "" takes the most frequent one of ``SEPARATORS`` in the first line.
        with_comments: whether to skip lines above the header that begin with #.

    Raises:
        TableError: it is not CSV, or not text in UTF-8 or UTF-16; with the line.
    """
    lines = Lines(source)
    first = next((line for line in lines if not _is_skipped(line, with_comments)), "")
    skipped = lines.number - 1
    reader = csv.reader(chain([first], lines), delimiter=separator or separator_of(first), strict=True)
    begins = skipped + 1
    try:
        for cells in reader:
            if cells:
                yield begins, cells
            lines.n_in_record = 0
            begins = skipped + reader.line_num + 1
    except csv.Error as error:
        advice = "put texts with quotes, separators or line ends in quotes"
        raise TableError(f"not a CSV file ({error})", advice, line=begins) from error


def separator_of(header: str) -> str:
    """Return the separator of a header's line: the most frequent one outside of quotes, else a comma."""
    return max(SEPARATORS, key=_QUOTED.sub("", header).count)


def rows_of(
    numbered: Iterable[tuple[int, Sequence[str | None]]],
    spelling: Spelling = str.strip,
    needed: Iterable[str] = (),
    unit: str = "line",
) -> Iterator[PlacedRow]:
    """Yield the rows under a header, which is the first record; rows without any text are left out.

    A first column without a name, such as the index of a data frame, is left out. Others without a name must
    be empty.

    Args:
        needed: columns that must be there. unit: what is numbered: line or row.

    Raises:
        TableError: there is no header, a column is missing or repeated, a row has a cell more or less, or the
            header comes again.
    """
    records = iter(numbered)
    number, header = next(records, (0, ()))
    names = [(name or "").strip() for name in header]
    if not any(names):
        raise TableError("it is empty", "check the file")
    columns = spelled(names, spelling, f"{unit} {number}")
    if missing := sorted(set(needed) - set(columns)):
        there = ", ".join(filter(None, names))[:200]
        what = f"the header lacks the columns {', '.join(missing)}; it has {there}"
        raise TableError(what, "add or rename columns", place=f"{unit} {number}", line=number)
    for number, cells in records:
        if not any(cell and not cell.isspace() for cell in cells):
            continue
        place = f"{unit} {number}"
        if len(cells) != len(header):
            raise TableError(
                f"{len(cells)} cells for {len(header)} columns", "put a text with the separator in quotes",
                place=place, line=number,
            )  # fmt: skip
        if len(names) > 1 and [(cell or "").strip() for cell in cells] == names:
            what = "it repeats the header, as in files that were joined"
            raise TableError(what, "remove the line", place=place, line=number)
        row = {name: cell or None for name, cell in zip(columns, cells, strict=True) if name}
        for at, (name, cell) in enumerate(zip(columns, cells, strict=True), 1):
            if at > 1 and not name and cell:
                what = f"column {at} has no name but the cell {cell[:40]!r}"
                advice = "name the column, or put a text with the separator in quotes"
                raise TableError(what, advice, place=place, line=number)
        yield PlacedRow(place, row)


def spelled(names: Sequence[str], spelling: Spelling, place: str) -> list[str]:
    """Return the columns as ``spelling`` writes them, "" for those without a name.

    Raises:
        TableError: a name is repeated, or two are spelled alike.
    """
    first: dict[str, str] = {}
    columns = [(spelling(name) or name) if name else "" for name in names]
    for column, name in zip(columns, names, strict=True):
        if not column:
            continue
        if column in first:
            other = first[column]
            what = f"the column {name!r} is repeated"
            if other != name:
                what = f"the columns {other!r} and {name!r} differ only in signs"
            line = int(place.rpartition(" ")[2]) if place.startswith("line ") else None
            raise TableError(what, "rename or remove one", place=place, line=line)
        first[column] = name
    return columns


def _is_skipped(line: str, with_comments: bool) -> bool:
    return not line.strip() or (with_comments and line.startswith("#"))
