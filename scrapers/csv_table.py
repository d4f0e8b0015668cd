"""CSV files as people export them: comma, semicolon or tab, with or without a byte order mark."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from dataclasses import dataclass

from scrapers.model import ScrapeError
from scrapers.text import clean, decode

_NOT_A_WORD = re.compile(r"[\W_]+")


@dataclass(frozen=True)
class CsvTable:
    """Rows of clean cells, each as long as the header."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def column(self, *spellings: str) -> int | None:
        """Return the number of the first column with one of these names, ignoring case and punctuation."""
        plain_names = {_plain(spelling) for spelling in spellings}
        return next((number for number, name in enumerate(self.header) if _plain(name) in plain_names), None)

    def required(self, source: str, *spellings: str) -> int:
        """Return the result of `column`; raises ScrapeError with the existing columns if there is none."""
        number = self.column(*spellings)
        if number is None:
            raise ScrapeError(
                f"{source}: the file has no column {' or '.join(map(repr, spellings))}; "
                f"its columns: {', '.join(map(repr, self.header[:40]))}"
            )
        return number


def read(content: bytes, source: str, name_of: Callable[[str], str] = clean) -> CsvTable:
    """Read the table in a CSV file.

    The delimiter is the most frequent one of comma, semicolon and tab in the first line. Short rows are
    filled up with "". Cells beyond the header and blank lines are left out. Raises ScrapeError if the file is
    empty or not CSV.

    Args:
        name_of: returns the column's name for a cell of the header.
    """
    text = decode(content)
    first = text.split("\n", 1)[0]
    delimiter = max(",;\t", key=first.count)
    try:
        lines = [line for line in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if any(line)]
    except csv.Error as error:
        raise ScrapeError(f"{source}: the file is not valid CSV ({error})") from error
    if not lines:
        raise ScrapeError(f"{source}: the file is empty")
    header = tuple(name_of(name) for name in lines[0])
    rows = (tuple(map(clean, line[: len(header)])) for line in lines[1:])
    return CsvTable(header, tuple(row + ("",) * (len(header) - len(row)) for row in rows))


def _plain(name: str) -> str:
    """Return a column's name without case and punctuation."""
    return _NOT_A_WORD.sub(" ", name).strip().casefold()
