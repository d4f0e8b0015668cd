"""Rows of the first sheet of a workbook; what it unpacks to is counted before a reader unpacks it.

A few bytes can name a cell in the last corner of a sheet, or one text a million times, and readers make room
for all of it. So each part is first parsed as a stream that counts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any
from xml.parsers import expat
from zipfile import ZipFile

from tasks.data.errors import TableError
from tasks.data.text import MOST_BYTES, MOST_CELLS, Source

MOST_UNPACKED = 1 << 28
"""Most bytes of all parts of a workbook."""
_MOST_PARTS = 10_000
MOST_ELEMENTS, MOST_ROWS = 20_000_000, 1 << 20
"""Most elements of XML in a part, empty ones too, and most rows of a sheet."""
_CHUNK = 1 << 16
_PLACE = re.compile(r"([A-Za-z]{1,3})(\d{1,7})")


def records(source: Source) -> Iterator[tuple[int, list[str | None]]]:
    """Yield (row's number, cells as text) of the first sheet with a table, header first.

    A sheet of one column counts only if there is no wider one.

    If a data frame was saved without names, its columns are numbers and its first row names them.

    Raises:
        TableError: it holds more than may be read, or is not what its directory says. Other errors of the
            libraries: it is damaged.
    """
    import fastexcel

    content = source.read_bytes() if isinstance(source, Path) else source
    _check(content)
    book = fastexcel.read_excel(content)
    table: list[tuple[Any, ...]] = []
    for name in book.sheet_names:
        sheet = book.load_sheet(name, header_row=None, skip_rows=0, dtypes="string")
        if sheet.height and (not table or sheet.width > 1):
            table = sheet.to_polars().rows()
            if sheet.width > 1:
                break
    numbered = ((number, list(cells)) for number, cells in enumerate(table, 1) if any(cells))
    header = next(numbered, None)
    if header is not None and header[1] != [str(n) for n in range(len(header[1]))]:
        yield header
    yield from numbered


def _check(content: bytes) -> None:
    """Raise TableError for a workbook that unpacks to more than may be read."""
    texts, used, n_cells = list[int](), Counter[int](), 0
    with ZipFile(BytesIO(content)) as book:
        parts = book.infolist()
        unpacked = sum(part.file_size for part in parts)
        if unpacked > MOST_UNPACKED or len(parts) > _MOST_PARTS:
            raise TableError(f"it unpacks to {unpacked / 2**30:.1f} GiB", "save it as CSV")
        for part in parts:
            counted = _Part()
            is_xml = part.filename.lower().endswith((".xml", ".rels"))
            with book.open(part) as stream:  # reads no more than the directory states, and compares checksums
                while chunk := stream.read(_CHUNK):
                    if is_xml:
                        counted.parser.Parse(chunk)
            texts += counted.texts
            used += counted.used
            n_cells += counted.n_cells
            _refuse_more(n_cells)
    n_characters = sum(n * texts[index] for index, n in used.items() if index < len(texts))
    if n_characters > MOST_BYTES:
        raise TableError(f"its cells have {n_characters:,} characters", "save it as CSV")


def _refuse_more(n_cells: int) -> None:
    if n_cells > MOST_CELLS:
        raise TableError(f"it has {n_cells:,} cells up to its last row and column", "save it as CSV")


class _Part:
    """Counts of a workbook's part.

    Attributes:
        n_cells: of a sheet, from its first to its last row and column. texts: lengths of the shared texts.
        used: number of a shared text -> cells that show it.
    """

    def __init__(self) -> None:
        self.n_cells, self.texts, self.used = 0, list[int](), Counter[int]()
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text
        self.parser.StartDoctypeDeclHandler = self._doctype
        self._n_elements = self._n_rows = 0
        self._row = self._column = self._last_row = self._last_column = 0
        self._is_in_text = self._is_shared = self._is_in_value = False

    def _start(self, tag: str, fields: dict[str, str]) -> None:
        self._n_elements += 1
        if self._n_elements > MOST_ELEMENTS:
            raise TableError(f"a part of it has more than {MOST_ELEMENTS:,} elements", "save it as CSV")
        match tag.rpartition(":")[2]:
            case "row":
                self._n_rows += 1
                if self._n_rows > MOST_ROWS:
                    raise TableError(
                        f"it has more than {MOST_ROWS:,} rows, which no sheet has", "save it as CSV"
                    )
                row = fields.get("r", "")
                self._row, self._column = int(row) if row.isdecimal() else self._row + 1, 0
            case "c":
                self._column += 1
                if place := _PLACE.fullmatch(fields.get("r", "")):
                    self._row, self._column = int(place[2]), _column(place[1])
                self._last_row = max(self._last_row, self._row)
                self._last_column = max(self._last_column, self._column)
                self.n_cells = self._last_row * self._last_column
                _refuse_more(self.n_cells)
                self._is_shared = fields.get("t") == "s"
            case "v":
                self._is_in_value = self._is_shared
            case "si":
                self.texts.append(0)
                self._is_in_text = True
            case "Relationship":
                kind, target = fields.get("Type", ""), fields.get("Target", "").lower()
                if kind.endswith(("/worksheet", "/sharedStrings")) and not target.endswith(".xml"):
                    raise TableError(f"its part {target[:60]!r} is not XML", "save it as CSV")

    def _end(self, tag: str) -> None:
        self._is_in_value = False
        if tag.rpartition(":")[2] == "si":
            self._is_in_text = False

    def _text(self, text: str) -> None:
        if self._is_in_text:
            self.texts[-1] += len(text)
        elif self._is_in_value and (index := text.strip()).isdecimal():
            self.used[int(index[:9])] += 1

    def _doctype(self, *_: object) -> None:
        raise TableError("it has a DOCTYPE, which no workbook needs", "save it as CSV")


def _column(letters: str) -> int:
    """Return the number of a column: 1 for A, 27 for AA."""
    number = 0
    for letter in letters.upper():
        number = 26 * number + ord(letter) - 64
    return number
