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
        """Return the number of the first column with one of these names, case and punctuation aside."""
        wanted = {_plain(spelling) for spelling in spellings}
        return next((number for number, name in enumerate(self.header) if _plain(name) in wanted), None)

    def required(self, source: str, *spellings: str) -> int:
        """Return the number of `column`. Raises ScrapeError naming the missing and the existing columns."""
        number = self.column(*spellings)
        if number is None:
            raise ScrapeError(
                f"{source}: the file has no column {' or '.join(map(repr, spellings))}; "
                f"it has {', '.join(map(repr, self.header[:40]))}"
            )
        return number


def read(content: bytes, source: str, name_of: Callable[[str], str] = clean) -> CsvTable:
    """Read the table in a CSV file. ``name_of`` turns a header into a column's name.

    The delimiter is the commonest candidate in the first line. Short rows are filled up with "", cells beyond
    the header are left out, as are blank lines. Raises ScrapeError if the file is empty or not CSV.
    """
    text = decode(content)
    first = text.split("\n", 1)[0]
    delimiter = max(",;\t", key=first.count)
    try:
        lines = [line for line in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if any(line)]
    except csv.Error as error:
        raise ScrapeError(f"{source}: the file is not readable as CSV ({error})") from error
    if not lines:
        raise ScrapeError(f"{source}: the file is empty")
    header = tuple(name_of(name) for name in lines[0])
    rows = (tuple(map(clean, line[: len(header)])) for line in lines[1:])
    return CsvTable(header, tuple(row + ("",) * (len(header) - len(row)) for row in rows))


def _plain(name: str) -> str:
    """A column's name without case and punctuation."""
    return _NOT_A_WORD.sub(" ", name).strip().casefold()
