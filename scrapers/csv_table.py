"""CSV files as people export them: comma, semicolon or tab, with or without a byte order mark."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from dataclasses import dataclass

from scrapers.model import ScrapeError
from scrapers.text import clean, decode
from tasks.data import TableError
from tasks.data.delimited import records, rows_of

_NOT_A_WORD = re.compile(r"[\W_]+")


@dataclass(frozen=True)
class CsvTable:
    """Rows of clean cells, each as long as the header."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def column(self, *spellings: str) -> int | None:
        """Return the number of the first column with one of these names, ignoring case and punctuation."""
        keys = {_column_key(spelling) for spelling in spellings}
        return next((number for number, name in enumerate(self.header) if _column_key(name) in keys), None)

    def required(self, source: str, *spellings: str) -> int:
        """Return the result of `column`; raises ScrapeError with the existing columns if there is none."""
        number = self.column(*spellings)
        if number is None:
            raise ScrapeError(
                f"{source}: the file has no column {' or '.join(map(repr, spellings))}; "
                f"its columns: {', '.join(map(repr, self.header[:40]))}"
            )
        return number


def read(
    content: bytes, source: str, name_of: Callable[[str], str] = clean, *, has_end: bool = False
) -> CsvTable:
    """Read the table in a CSV file.

    Raises ScrapeError if the file is empty or not CSV, or if a row does not fit its header.

    Args:
        name_of: returns the column's name for a cell of the header. has_end: whether every row may end with a
            separator that the header lacks.
    """
    try:
        header, *lines = list(records(io.StringIO(decode(content), newline=""))) or [(0, [])]
        if has_end and all(len(cells) == len(header[1]) + 1 and not cells[-1] for _, cells in lines):
            lines = [(number, cells[:-1]) for number, cells in lines]
        rows = [row.cells for row in rows_of([header, *lines], name_of)]
    except TableError as error:
        error.file = source
        raise ScrapeError(str(error)) from error
    names = tuple(rows[0]) if rows else tuple(map(name_of, header[1]))
    return CsvTable(names, tuple(tuple(clean(cell or "") for cell in row.values()) for row in rows))


def _column_key(name: str) -> str:
    """Return a column's name without case and punctuation."""
    return _NOT_A_WORD.sub(" ", name).strip().casefold()
