"""HTML tables as rectangular grids of clean text, found by their header text.

Spans are laid out as in the HTML standard ("forming a table"), with what browsers do where it leaves
a choice: a rowspan ends with its row group (thead, tbody or tfoot), and rowspan=0 means exactly that. Where
two cells claim one slot, the earlier one keeps it. A row without any slot, its own or spanned, is no row.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from bs4 import BeautifulSoup, Tag

from scrapers.html_cells import cell_text
from scrapers.model import Page, ScrapeError
from scrapers.text import decode

MAX_COLSPAN = 1000
MAX_ROWSPAN = 65534
MAX_SLOTS = 1_000_000  # of one table; spans can make a small page a huge grid

_INTEGER = re.compile(r"\s*\+?(\d{1,9})")
_PARENTHESIS = re.compile(r"\([^()]*\)")
_NOT_A_WORD = re.compile(r"\W+")

Header = str | tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """A grid in which a cell's text stands in every slot that the cell covers.

    Attributes:
        header: rows at the top with header cells only, or in a thead; the first row if there are none.
        rows: the other rows, all as long as the header's. Slots without a cell are "".
    """

    header: tuple[tuple[str, ...], ...]
    rows: tuple[tuple[str, ...], ...]

    @property
    def titles(self) -> tuple[str, ...]:
        """The text above each column; a header of two rows gives "Fractional unit Name"."""
        columns = zip(*self.header, strict=True)
        return tuple(" ".join(filter(None, dict.fromkeys(column))) for column in columns)

    def column(self, header: Header) -> int | None:
        """Number of the first column under a header (any of its spellings); None if there is none.

        The header may be the whole title or the text of one header row. Case, punctuation and remarks in
        parentheses do not count: "Followers (in millions)" is under "followers".
        """
        wanted = {_plain(text) for text in ((header,) if isinstance(header, str) else header)}
        for number, title in enumerate(self.titles):
            above = {_plain(title), *(_plain(row[number]) for row in self.header)}
            if wanted & above:
                return number
        return None

    def records(self, headers: Sequence[Header]) -> Iterator[tuple[str, ...]]:
        """The cells under ``headers``, row by row. Raises ScrapeError if a header is missing."""
        columns = [column for header in headers if (column := self.column(header)) is not None]
        if len(columns) < len(headers):
            raise _layout_changed([self], headers)
        for row in self.rows:
            yield tuple(row[column] for column in columns)


def tables(html: bytes | str, charset: str | None = None) -> list[Table]:
    """Every table of a page with at least one cell, in document order, nested ones after those around them.

    charset: of the Content-Type header, a hint only (see ``scrapers.text.decode``). Raises ScrapeError for a
    table of more than ``MAX_SLOTS`` slots.
    """
    soup = BeautifulSoup(html if isinstance(html, str) else decode(html, charset), "lxml")
    tables = (_table(element) for element in soup.find_all("table"))
    return [table for table in tables if table]


def tables_of(page: Page) -> list[Table]:
    """The tables of a whole page. Raises ScrapeError if the page was cut off: rows would be missing."""
    if b"</html" not in page.content[-10_000:].lower():
        raise ScrapeError(
            f"{page.url}: the page ends in the middle ({len(page.content):,} bytes, no closing </html>); "
            "fetch it again"
        )
    return tables(page.content, page.charset)


def find(tables: Sequence[Table], headers: Sequence[Header]) -> list[Table]:
    """The tables that have all the headers, in any order and among others.

    A tuple in ``headers`` holds spellings of one header. Raises ScrapeError that lists the headers there are.
    """
    matching = [table for table in tables if all(table.column(header) is not None for header in headers)]
    if not matching:
        raise _layout_changed(tables, headers)
    return matching


def is_repeated_header(table: Table, row: Sequence[str]) -> bool:
    """Whether a data row only says the header again, as long tables do."""
    return any([_plain(text) for text in row] == [_plain(text) for text in header] for header in table.header)


def _layout_changed(tables: Sequence[Table], headers: Sequence[Header]) -> ScrapeError:
    """The error for headers that are not there."""
    wanted = ", ".join(header if isinstance(header, str) else " or ".join(header) for header in headers)
    there = "; ".join(", ".join(filter(None, table.titles))[:300] for table in tables) or "no table at all"
    return ScrapeError(
        f"no table has the headers {wanted}. The page's layout has probably changed; it has: {there}. "
        "Adapt the parser to the new page; the last good list stays in use."
    )


def _table(element: Tag) -> Table | None:
    """One <table>; None if it has no cell."""
    header: list[tuple[str, ...]] = []
    body: list[tuple[str, ...]] = []
    groups = [_grid(rows) for rows in _row_groups(element)]
    width = max((len(slots) for group in groups for slots, _ in group), default=0)
    if not width:
        return None
    if width * sum(map(len, groups)) > MAX_SLOTS:
        raise _too_large()
    for group in groups:
        for slots, is_header in group:
            row = tuple(slots) + ("",) * (width - len(slots))
            (header if is_header and not body else body).append(row)
    if not header:
        header.append(body.pop(0))
    return Table(header=tuple(header), rows=tuple(body))


def _row_groups(element: Tag) -> Iterator[list[Tag]]:
    """The table's own rows by row group, those of a tfoot last."""
    rows = [row for row in element.find_all("tr") if row.find_parent("table") is element]
    groups = [list(group) for _, group in groupby(rows, key=lambda row: id(_group_of(row)))]
    yield from sorted(groups, key=lambda group: _group_of(group[0]).name == "tfoot")


def _group_of(row: Tag) -> Tag:
    """The thead, tbody or tfoot of a row, or the table itself."""
    group = row.find_parent(["thead", "tbody", "tfoot", "table"])
    assert group is not None  # rows are searched below a table
    return group


def _grid(rows: Sequence[Tag]) -> list[tuple[list[str], bool]]:
    """Slots of each row of one row group, and whether they are header cells only or in a thead."""
    placed: list[dict[int, tuple[str, bool]]] = [{} for _ in rows]
    n_slots = 0
    for y, row in enumerate(rows):
        x = 0
        for cell in row.find_all(["td", "th"], recursive=False):
            while x in placed[y]:
                x += 1
            colspan, rowspan = _spans(cell)
            covered = placed[y : y + rowspan] if rowspan else placed[y:]
            n_slots += colspan * len(covered)
            if n_slots > MAX_SLOTS:
                raise _too_large()
            content = cell_text(cell), cell.name == "th" or _group_of(row).name == "thead"
            for slots in covered:
                for column in range(x, x + colspan):
                    slots.setdefault(column, content)
            x += colspan
    return [
        ([slots.get(x, ("", True))[0] for x in range(max(slots) + 1)], all(th for _, th in slots.values()))
        for slots in placed
        if slots
    ]


def _spans(cell: Tag) -> tuple[int, int]:
    """colspan in 1..1000 and rowspan in 0..65534 (0: to the end of the row group), read as HTML does."""
    numbers = (_INTEGER.match(str(cell.get(name, ""))) for name in ("colspan", "rowspan"))
    colspan, rowspan = (int(number[1]) if number else 1 for number in numbers)
    return min(max(colspan, 1), MAX_COLSPAN), min(rowspan, MAX_ROWSPAN)


def _too_large() -> ScrapeError:
    """The error for a table that would fill the memory."""
    return ScrapeError(f"a table of the page has more than {MAX_SLOTS:,} slots; this is not a page we know")


def _plain(text: str) -> str:
    """A header without case, punctuation and remarks in parentheses (unless there is nothing else)."""
    short = _NOT_A_WORD.sub(" ", _PARENTHESIS.sub(" ", text)).strip()
    return (short or _NOT_A_WORD.sub(" ", text).strip()).casefold()
