"""HTML tables as rectangular grids of clean text, found by their header text.

Spans are laid out as in the HTML standard ("forming a table"), with what browsers do where it leaves
a choice: a rowspan ends with its row group (thead, tbody or tfoot), and rowspan=0 means exactly that. Where
two cells claim one slot, the earlier one keeps it. A row without any slot, its own or spanned, is dropped.

A page may be hostile, so it is walked without recursion in linear time; its size, its tables' slots and the
seconds for them are bounded.
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
# [1], [a], [note 2] and the like, where they are text and not <sup class="reference">.
_FOOTNOTE = re.compile(
    r"\[\s*(?:\d{1,3}|[a-z]{1,2}|(?:note|nb|n|fn|lower-alpha|upper-alpha)\s*\d{1,3}|"
    r"(?:citation|clarification|verification) needed)\s*\]",
    re.IGNORECASE,
)
_EMOJI_FLAG = re.compile("[\U0001f1e6-\U0001f1ff]+")

Header = str | tuple[str, ...]


@dataclass(frozen=True)
class HtmlTable:
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


def tables(html: bytes | str, charset: str | None = None) -> list[HtmlTable]:
    """Every table of a page with at least one cell, in document order, nested ones after those around them.

    charset: of the Content-Type header, a hint only (see ``scrapers.text.decode``). Raises ScrapeError for a
    page that is over a bound.
    """
    ends = time.monotonic() + PAGE_SECONDS
    grids: list[HtmlTable] = []
    slots_left = MAX_SLOTS
    for element in parsed_html(html, charset).find_all("table"):
        if time.monotonic() > ends:
            raise ScrapeError(
                f"the tables of a page take over {PAGE_SECONDS:g} s; this is not a page we know"
            )
        grid = _table(element, slots_left)
        if grid:
            grids.append(grid)
            slots_left -= len(grid.header[0]) * (len(grid.header) + len(grid.rows))
    return grids


def parsed_html(html: bytes | str, charset: str | None = None) -> BeautifulSoup:
    """A page as a tree. Raises ScrapeError for one of more than ``MAX_CHARACTERS``."""
    text = html if isinstance(html, str) else decode(html, charset)
    if len(text) > MAX_CHARACTERS:
        raise ScrapeError(f"a page of {len(text):,} characters, over {MAX_CHARACTERS:,}: not a page we know")
    return BeautifulSoup(text, "lxml")


def cell_text(cell: Tag) -> str:
    """One line of text: no footnote marks, hidden sort keys, flags or images; a line break is a space."""
    pieces: list[str] = []
    waiting = list(cell.children)[::-1]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Tag):
            around = [NavigableString(" ")] if node.name in _BREAKS else []
            inside = [] if _is_left_out(node) else list(node.children)[::-1]
            waiting += [*around, *inside, *around]
        elif type(node) in (NavigableString, CData):  # subclasses are comments, styles and the like
            pieces.append(str(node))
    return clean(_FOOTNOTE.sub("", _EMOJI_FLAG.sub("", "".join(pieces))))


def tables_of(page: FetchedPage) -> list[HtmlTable]:
    """The tables of a whole page. Raises ScrapeError if the page was cut off: rows would be missing."""
    if b"</html" not in page.content[-10_000:].lower():
        raise ScrapeError(
            f"{page.url}: the page ends in the middle ({len(page.content):,} bytes, no closing </html>); "
            "fetch it again"
        )
    return tables(page.content, page.charset)


def find(tables: Sequence[HtmlTable], headers: Sequence[Header]) -> list[HtmlTable]:
    """The tables that have all the headers, in any order and among others.

    A tuple in ``headers`` holds spellings of one header. Raises ScrapeError that lists the headers there are.
    """
    matching = [table for table in tables if all(table.column(header) is not None for header in headers)]
    if not matching:
        raise _layout_changed(tables, headers)
    return matching


def is_repeated_header(table: HtmlTable, row: Sequence[str]) -> bool:
    """Whether a data row only says the header again, as long tables do."""
    return any([_plain(text) for text in row] == [_plain(text) for text in header] for header in table.header)


def _layout_changed(tables: Sequence[HtmlTable], headers: Sequence[Header]) -> ScrapeError:
    """The error for headers that are not there."""
    wanted = ", ".join(header if isinstance(header, str) else " or ".join(header) for header in headers)
    there = "; ".join(", ".join(filter(None, table.titles))[:300] for table in tables) or "no table at all"
    return ScrapeError(
        f"no table has the headers {wanted}. The page's layout has probably changed; it has: {there}. "
        "Adapt the parser to the new page; the last good list stays in use."
    )


def _is_left_out(element: Tag) -> bool:
    """Whether a reader would not count the element as text of the cell."""
    style = element.get("style")
    return (
        element.name in _SKIPPED
        or element.has_attr("hidden")
        or (isinstance(style, str) and _HIDDEN.search(style) is not None)
        or not _SKIPPED_CLASSES.isdisjoint(element.get_attribute_list("class"))
    )


def _table(element: Tag, max_slots: int) -> HtmlTable | None:
    """One <table>; None if it has no cell."""
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
    """The table's own rows by row group (thead, tbody, tfoot, or the table itself), those of a tfoot last."""
    groups: list[tuple[Tag, list[Tag]]] = []
    waiting = [(element, element)]
    while waiting:
        node, group = waiting.pop()
        if node.name == "tr":
            if not groups or groups[-1][0] is not group:
                groups.append((group, []))
            groups[-1][1].append(node)
        children = [child for child in node.children if isinstance(child, Tag) and child.name != "table"]
        waiting += [(c, c if c.name in ("thead", "tbody", "tfoot") else group) for c in reversed(children)]
    return sorted(groups, key=lambda group: group[0].name == "tfoot")


def _grid(rows: Sequence[Tag], in_head: bool, max_slots: int) -> list[tuple[list[str], bool]]:
    """Slots of each row of one row group, and whether they are header cells only or in a thead."""
    placed: list[dict[int, tuple[str, bool]]] = [{} for _ in rows]
    n_slots = 0
    for y, row in enumerate(rows):
        x = 0
        for cell in (c for c in row.children if isinstance(c, Tag) and c.name in ("td", "th")):
            while x in placed[y]:
                x += 1
            colspan, rowspan = _spans(cell)
            covered = placed[y : y + rowspan] if rowspan else placed[y:]
            n_slots += colspan * len(covered)
            if n_slots > max_slots:
                raise _too_large()
            content = cell_text(cell), in_head or cell.name == "th"
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
    return ScrapeError(
        f"the tables of a page have over {MAX_SLOTS:,} slots, or one over {MAX_COLUMNS:,} columns: "
        "not a page we know"
    )


def _plain(text: str) -> str:
    """A header without case, punctuation and remarks in parentheses (unless there is nothing else)."""
    short = _NOT_A_WORD.sub(" ", _PARENTHESIS.sub(" ", text)).strip()
    return (short or _NOT_A_WORD.sub(" ", text).strip()).casefold()
