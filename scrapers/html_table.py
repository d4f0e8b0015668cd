"""HTML tables as rectangular grids of clean text, found by their header text.

Spans are laid out as in the HTML standard ("forming a table"), and as in browsers where the standard leaves a
choice: a rowspan ends with its row group (thead, tbody or tfoot), and rowspan=0 reaches to that end. Where
two cells cover the same slot, the earlier cell fills it. A row without any slot, its own or spanned, is
dropped.

A page may be hostile, so it is read without recursion in linear time; its size, its tables' slots and the
seconds for them are limited.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bs4 import BeautifulSoup, Tag
from bs4.element import CData, NavigableString

from scrapers.model import FetchedPage, ScrapeError
from scrapers.text import clean, decode

MAX_COLSPAN = 1000
MAX_ROWSPAN = 65534
MAX_COLUMNS = 1000
MAX_SLOTS = 1_000_000  # of one page; spans can make a small page a huge grid
MAX_CHARACTERS = 5_000_000  # of one page: ten times the largest that is read here
PAGE_SECONDS = 30.0

_INTEGER = re.compile(r"\s*\+?(\d{1,9})")
_PARENTHESIS = re.compile(r"\([^()]*\)")
_NOT_A_WORD = re.compile(r"\W+")

# Elements whose text is not part of the cell; nested tables are read separately.
_SKIPPED = frozenset({"table", "style", "script", "noscript", "template", "img", "svg", "picture", "object"})
_SKIPPED_CLASSES = frozenset({"sortkey", "reference", "flagicon", "mw-editsection", "noprint"})
_BREAKS = frozenset({"br", "hr", "p", "div", "li", "ul", "ol", "dl", "dt", "dd"})
_HIDDEN = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.IGNORECASE)
# [1], [a], [note 2] and similar marks that are plain text, not <sup class="reference">.
_FOOTNOTE = re.compile(
    r"\[\s*(?:\d{1,3}|[a-z]{1,2}|(?:note|nb|n|fn|lower-alpha|upper-alpha)\s*\d{1,3}|"
    r"(?:citation|clarification|verification) needed)\s*\]",
    re.IGNORECASE,
)
_EMOJI_FLAG = re.compile("[\U0001f1e6-\U0001f1ff]+")

Header = str | tuple[str, ...]


@dataclass(frozen=True)
class HtmlTable:
    """A grid with a cell's text in every slot that the cell covers.

    Attributes:
        header: rows at the top that have only header cells or are in a thead; the first row if there are
            none.
        rows: the other rows, all as long as the header's. Slots without a cell are "".
    """

    header: tuple[tuple[str, ...], ...]
    rows: tuple[tuple[str, ...], ...]

    @property
    def titles(self) -> tuple[str, ...]:
        """Text above each column; a header of two rows is joined, as in "Fractional unit Name"."""
        columns = zip(*self.header, strict=True)
        return tuple(" ".join(filter(None, dict.fromkeys(column))) for column in columns)

    def column(self, header: Header) -> int | None:
        """Return the number of the first column under a header (any of its spellings); None if none is.

        The header may be the whole title or the text of one header row. Case, punctuation and remarks in
        parentheses do not matter: "Followers (in millions)" matches "followers".
        """
        spellings = {_header_key(text) for text in ((header,) if isinstance(header, str) else header)}
        for number, title in enumerate(self.titles):
            names = {_header_key(title), *(_header_key(row[number]) for row in self.header)}
            if spellings & names:
                return number
        return None

    def records(self, headers: Sequence[Header]) -> Iterator[tuple[str, ...]]:
        """Yield the cells under ``headers`` of each row. Raises ScrapeError if a header is missing."""
        columns = [column for header in headers if (column := self.column(header)) is not None]
        if len(columns) < len(headers):
            raise _layout_changed([self], headers)
        for row in self.rows:
            yield tuple(row[column] for column in columns)


def tables(html: bytes | str, charset: str | None = None) -> list[HtmlTable]:
    """Return every table of a page with at least one cell, in document order; nested ones follow their outer
    tables.

    Args:
        charset: charset of the Content-Type header, only a hint (see ``scrapers.text.decode``).

    Raises:
        ScrapeError: the page exceeds a limit.
    """
    ends = time.monotonic() + PAGE_SECONDS
    grids: list[HtmlTable] = []
    slots_left = MAX_SLOTS
    for element in parsed_html(html, charset).find_all("table"):
        if time.monotonic() > ends:
            raise ScrapeError(
                f"the tables of a page take over {PAGE_SECONDS:g} s: no source has such pages; check the "
                "address"
            )
        grid = _table(element, slots_left)
        if grid:
            grids.append(grid)
            slots_left -= len(grid.header[0]) * (len(grid.header) + len(grid.rows))
    return grids


def parsed_html(html: bytes | str, charset: str | None = None) -> BeautifulSoup:
    """Return a page as a tree. Raises ScrapeError for more than ``MAX_CHARACTERS``."""
    text = html if isinstance(html, str) else decode(html, charset)
    if len(text) > MAX_CHARACTERS:
        raise ScrapeError(
            f"a page of {len(text):,} characters, over {MAX_CHARACTERS:,}: no source has such pages; check "
            "the address"
        )
    return BeautifulSoup(text, "lxml")


def cell_text(cell: Tag) -> str:
    """Return a cell's text as one line, without footnote marks, hidden sort keys, flags and images."""
    pieces: list[str] = []
    nodes = list(cell.children)[::-1]
    while nodes:
        node = nodes.pop()
        if isinstance(node, Tag):
            separators = [NavigableString(" ")] if node.name in _BREAKS else []
            children = [] if _is_left_out(node) else list(node.children)[::-1]
            nodes += [*separators, *children, *separators]
        elif type(node) in (NavigableString, CData):  # subclasses are comments, styles and the like
            pieces.append(str(node))
    return clean(_FOOTNOTE.sub("", _EMOJI_FLAG.sub("", "".join(pieces))))


def tables_of(page: FetchedPage) -> list[HtmlTable]:
    """Return the tables of a page. Raises ScrapeError if it was cut off, since rows may be missing."""
    if b"</html" not in page.content[-10_000:].lower():
        raise ScrapeError(
            f"{page.url}: the page ends in the middle ({len(page.content):,} bytes, no closing </html>); "
            "fetch it again"
        )
    return tables(page.content, page.charset)


def matching_tables(tables: Sequence[HtmlTable], headers: Sequence[Header]) -> list[HtmlTable]:
    """Return the tables that have all the headers, in any order and maybe with others.

    A tuple in ``headers`` has the spellings of one header. Raises ScrapeError, which lists the existing
    headers, if there is no such table.
    """
    matching = [table for table in tables if all(table.column(header) is not None for header in headers)]
    if not matching:
        raise _layout_changed(tables, headers)
    return matching


def is_repeated_header(table: HtmlTable, row: Sequence[str]) -> bool:
    """Return whether a data row repeats the header, as in long tables."""
    return any(
        [_header_key(text) for text in row] == [_header_key(text) for text in header]
        for header in table.header
    )


def _layout_changed(tables: Sequence[HtmlTable], headers: Sequence[Header]) -> ScrapeError:
    """Return the error for missing headers."""
    missing = ", ".join(header if isinstance(header, str) else " or ".join(header) for header in headers)
    titles = "; ".join(", ".join(filter(None, table.titles))[:300] for table in tables) or "no table at all"
    return ScrapeError(
        f"no table has the headers {missing}. The page's layout has probably changed; it has: {titles}. "
        "Adapt the parser to the new page; until then the last good list is used."
    )


def _is_left_out(element: Tag) -> bool:
    """Return whether an element is not part of the cell's visible text."""
    style = element.get("style")
    return (
        element.name in _SKIPPED
        or element.has_attr("hidden")
        or (isinstance(style, str) and _HIDDEN.search(style) is not None)
        or not _SKIPPED_CLASSES.isdisjoint(element.get_attribute_list("class"))
    )


def _table(element: Tag, max_slots: int) -> HtmlTable | None:
    """Return a <table> as a grid; None if it has no cell."""
    header: list[tuple[str, ...]] = []
    body: list[tuple[str, ...]] = []
    groups = [_grid(rows, group.name == "thead", max_slots) for group, rows in _row_groups(element)]
    width = max((len(slots) for group in groups for slots, _ in group), default=0)
    if not width:
        return None
    if width > MAX_COLUMNS or width * sum(map(len, groups)) > max_slots:
        raise _too_large()
    for group in groups:
        for slots, is_header in group:
            row = tuple(slots) + ("",) * (width - len(slots))
            (header if is_header and not body else body).append(row)
    if not header:
        header.append(body.pop(0))
    return HtmlTable(header=tuple(header), rows=tuple(body))


def _row_groups(element: Tag) -> list[tuple[Tag, list[Tag]]]:
    """Return the table's own rows by row group (thead, tbody, tfoot, or the table itself), tfoot last."""
    groups: list[tuple[Tag, list[Tag]]] = []
    nodes = [(element, element)]
    while nodes:
        node, group = nodes.pop()
        if node.name == "tr":
            if not groups or groups[-1][0] is not group:
                groups.append((group, []))
            groups[-1][1].append(node)
        children = [child for child in node.children if isinstance(child, Tag) and child.name != "table"]
        nodes += [(c, c if c.name in ("thead", "tbody", "tfoot") else group) for c in reversed(children)]
    return sorted(groups, key=lambda group: group[0].name == "tfoot")


def _grid(rows: Sequence[Tag], in_head: bool, max_slots: int) -> list[tuple[list[str], bool]]:
    """Return the slots of each row of a row group, and whether they are all header cells or in a thead."""
    slots_by_row: list[dict[int, tuple[str, bool]]] = [{} for _ in rows]
    n_slots = 0
    for row_number, row in enumerate(rows):
        column_number = 0
        for cell in (c for c in row.children if isinstance(c, Tag) and c.name in ("td", "th")):
            while column_number in slots_by_row[row_number]:
                column_number += 1
            colspan, rowspan = _spans(cell)
            covered_rows = (
                slots_by_row[row_number : row_number + rowspan] if rowspan else slots_by_row[row_number:]
            )
            n_slots += colspan * len(covered_rows)
            if n_slots > max_slots:
                raise _too_large()
            cell_content = cell_text(cell), in_head or cell.name == "th"
            for slots in covered_rows:
                for column in range(column_number, column_number + colspan):
                    slots.setdefault(column, cell_content)
            column_number += colspan
    return [
        (
            [slots.get(column_number, ("", True))[0] for column_number in range(max(slots) + 1)],
            all(is_header for _, is_header in slots.values()),
        )
        for slots in slots_by_row
        if slots
    ]


def _spans(cell: Tag) -> tuple[int, int]:
    """Return colspan (1 to 1000) and rowspan (0 to 65534; 0: to the end of the group), parsed as in HTML."""
    numbers = (_INTEGER.match(str(cell.get(name, ""))) for name in ("colspan", "rowspan"))
    colspan, rowspan = (int(number[1]) if number else 1 for number in numbers)
    return min(max(colspan, 1), MAX_COLSPAN), min(rowspan, MAX_ROWSPAN)


def _too_large() -> ScrapeError:
    """Return the error for a table that would fill the memory."""
    return ScrapeError(
        f"the tables of a page have over {MAX_SLOTS:,} slots, or a table has over {MAX_COLUMNS:,} columns: "
        "no source has such pages; check the address"
    )


def _header_key(text: str) -> str:
    """Return a header without case, punctuation and remarks in parentheses (unless nothing else is left)."""
    short = _NOT_A_WORD.sub(" ", _PARENTHESIS.sub(" ", text)).strip()
    return (short or _NOT_A_WORD.sub(" ", text).strip()).casefold()
