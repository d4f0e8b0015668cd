"""Grids compared with independent placements, and texts of cells for each kind of markup."""

from __future__ import annotations

import time
from html import escape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapers.html_table import HtmlTable, is_repeated_header, matching_tables, tables, tables_of
from scrapers.model import FetchedPage, ScrapeError

Cell = tuple[str, int, int]  # text, rowspan, colspan


def html(rows: list[list[Cell]], tag: str = "td") -> str:
    """Return a table without header cells."""
    cells = [
        "".join(f'<{tag} rowspan="{r}" colspan="{c}">{escape(text)}</{tag}>' for text, r, c in row)
        for row in rows
    ]
    return "<table><tr>" + "</tr><tr>".join(cells) + "</tr></table>"


def grid_of(source: str) -> list[list[str]]:
    (table,) = tables(source)
    return [list(row) for row in (*table.header, *table.rows)]


@st.composite
def tilings(draw: st.DrawFn) -> tuple[list[list[Cell]], list[list[str]]]:
    """Draw a grid cut into random rectangles: the cells by row, and the grid."""
    height, width = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    grid: list[list[str]] = [[""] * width for _ in range(height)]
    rows: list[list[Cell]] = [[] for _ in range(height)]
    for y in range(height):
        for x in range(width):
            if grid[y][x]:
                continue
            free = next((i for i in range(x, width) if grid[y][i]), width) - x
            colspan, rowspan = draw(st.integers(1, free)), draw(st.integers(1, height - y))
            text = f"{y}.{x}"
            for covered in grid[y : y + rowspan]:
                covered[x : x + colspan] = [text] * colspan
            rows[y].append((text, rowspan, colspan))
    return rows, grid


@given(tilings())
@settings(max_examples=150, deadline=None)
def test_grid_cut_into_rectangles_is_read_back(case: tuple[list[list[Cell]], list[list[str]]]) -> None:
    rows, grid = case
    assert grid_of(html(rows)) == grid


def placed_by_slot(rows: list[list[Cell]]) -> list[list[str]]:
    """Place cells a second way: slot by slot in a dictionary of owners, spans cut at the last row."""
    owner: dict[tuple[int, int], str] = {}
    for y, row in enumerate(rows):
        for text, rowspan, colspan in row:
            x = min(x for x in range(200) if (y, x) not in owner)
            # The next cell of a row never goes left of this one: mark the slots it passes with its own.
            last = y + (rowspan or len(rows)) - 1
            for slot in [(i, j) for i in range(len(rows)) for j in range(x, x + colspan) if y <= i <= last]:
                owner.setdefault(slot, text)
    width = max((x + 1 for _, x in owner), default=0)
    return [
        [owner.get((y, x), "") for x in range(width)]
        for y in range(len(rows))
        if any((y, x) in owner for x in range(width))
    ]


@given(
    st.lists(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 4)), max_size=5), min_size=1, max_size=6)
)
@settings(max_examples=200, deadline=None)
def test_overlapping_and_too_long_spans_equal_a_second_placement(spans: list[list[tuple[int, int]]]) -> None:
    rows = [[(f"{y}.{n}", *span) for n, span in enumerate(row)] for y, row in enumerate(spans)]
    if any(rows):
        assert grid_of(html(rows)) == placed_by_slot(rows)


def test_rowspan_ends_with_its_row_group_and_tfoot_comes_last() -> None:
    source = (
        "<table><thead><tr><th rowspan=5>A<th>B</thead><tfoot><tr><td>f<td>g</tfoot>"
        "<tbody><tr><td rowspan=0>1<td>2<tr><td>3</tbody><tbody><tr><td>4<td>5</tbody></table>"
    )
    (table,) = tables(source)
    assert table.header == (("A", "B"),)
    assert table.rows == (("1", "2"), ("1", "3"), ("4", "5"), ("f", "g"))


@pytest.mark.parametrize(
    ("attribute", "width"),
    [("2", 2), (" +3px", 3), ("0", 1), ("-2", 1), ("two", 1), ("", 1), ("5000", 1000), ("9" * 40, 1000)],
)
def test_colspan_is_parsed_by_the_html_rules(attribute: str, width: int) -> None:
    assert grid_of(f'<table><tr><td colspan="{attribute}">x</td></tr></table>') == [["x"] * width]


@pytest.mark.parametrize(
    "page",
    [
        "<table><tr><td>" + "<b>" * 5000 + "x",
        "<table><tr><td>" * 3200 + "x",
        "<table>" * 6000 + "<tr><td>x",
        "<table>" + "<b>" * 3000 + "<tr>" * 1000 + "<td>x",
        "<table><tr>" + "<td>" * 1000,
        "<div>" * 8000 + "<table><tr><td>x",
    ],
    ids=["b", "nested tables", "tables in tables", "rows below b", "cells", "div"],
)
def test_small_pages_with_deep_nesting_take_little_time(page: str) -> None:
    start = time.thread_time()
    assert tables(page)
    assert time.thread_time() - start < 5


def test_page_of_many_tables_has_a_size_limit() -> None:
    wide = "<table><tr><td colspan=1000 rowspan=99>x</td></tr>" + "<tr></tr>" * 98 + "</table>"
    with pytest.raises(ScrapeError, match="over 1,000,000 slots"):
        tables(wide * 12)
    with pytest.raises(ScrapeError, match="a table has over 1,000 columns"):
        tables("<table><tr>" + "<td>" * 1001)
    with pytest.raises(ScrapeError, match="characters, over"):
        tables("x" * 5_000_001)


def test_table_of_huge_spans_has_a_size_limit() -> None:
    bomb = "<table>" + "<tr>" + "<td colspan=1000 rowspan=65534>x</td>" * 20 + "</tr>" + "<tr></tr>" * 200
    with pytest.raises(ScrapeError, match="over 1,000,000 slots"):
        tables(bomb + "</table>")
    wide_and_long = (
        "<table><tr>" + "<td colspan=1000>x</td>" * 10 + "</tr>" + "<tr><td>y</td></tr>" * 200 + "</table>"
    )
    with pytest.raises(ScrapeError, match="over 1,000,000 slots"):
        tables(wide_and_long)


@pytest.mark.parametrize(
    ("inner", "text"),
    [
        ("a<br>b<br/>c", "a b c"),
        ("<ul><li>a</li><li>b</li></ul>", "a b"),
        ("<b>a</b><i>b</i>", "ab"),
        ("&nbsp;a&nbsp;\n b\u202f", "a b"),
        ("a\u200b\u2060\ufeff\u00adb", "ab"),
        ("\u200f\u202b﷼\u202c\u200e", "﷼"),
        ("\u2067ش.ج\u2069", "ش.ج"),
        ("می\u200cروم", "می\u200cروم"),  # a Persian word is spelt with a zero-width non-joiner
        ("Cafe\u0301", "Café"),
        ("a[1][b] [note 3][citation needed]", "a"),
        ("[1952] a[1984]", "[1952] a[1984]"),
        ('a<sup class="reference">[x y]</sup>', "a"),
        ("10<sup>6</sup>", "106"),
        ('<span style="DISPLAY : none">0001</span>a', "a"),
        ('<span style="color:red; visibility:hidden">0</span>7', "7"),
        ('<span class="x sortkey">0001</span>a', "a"),
        ("<span hidden>0001</span>a", "a"),
        ('<span data-sort-value="9">a</span>', "a"),
        ('<span class="flagicon">&nbsp;x</span>a<img alt="flag">🇧🇷', "a"),
        ("a<!-- b --><style>c</style><script>d</script><noscript>e</noscript>", "a"),
        ("a<table><tr><td>b</td></tr></table>c", "ac"),
        ("R&amp;D &lt;x&gt;", "R&D <x>"),
    ],
)
def test_text_of_a_cell_has_no_markup_notes_or_hidden_parts(inner: str, text: str) -> None:
    assert tables(f"<table><tr><td>{inner}</td></tr></table>")[0].header[0][0] == text


def test_nested_tables_are_separate_tables() -> None:
    outer, inner = tables("<table><tr><td>a<table><tr><td>b<tr><td>c</table></td><td>d</td></tr></table>")
    assert outer.header == (("a", "d"),)
    assert (inner.header, inner.rows) == ((("b",),), (("c",),))


def test_tables_without_cells_and_rows_without_slots_are_left_out() -> None:
    (table,) = tables(
        "<table></table><table><tr></tr></table><table><tr></tr><tr><th>a</th></tr><tr></tr></table>"
    )
    assert (table.header, table.rows) == ((("a",),), ())


TWO_ROWS = (
    "<table><tr><th rowspan=2>ISO code<th colspan=2>Currency<th rowspan=2>Followers (in&nbsp;millions)[1]"
    "<tr><th>Name<th>Symbol<tr><td>BRL<td>real<td>R$<td>5</table>"
)


def test_two_row_headers_are_found_whole_or_in_part_and_in_any_order() -> None:
    (table,) = found = tables(TWO_ROWS)
    assert table.titles == ("ISO code", "Currency Name", "Currency Symbol", "Followers (in millions)")
    assert matching_tables(found, ["followers", ("Money", "currency"), "ISO-Code"]) == [table]
    assert list(table.records(["symbol", "Currency name", "iso code"])) == [("R$", "real", "BRL")]
    assert table.column("Number") is None


def test_missing_header_is_refused_with_the_existing_ones() -> None:
    with pytest.raises(ScrapeError) as error:
        matching_tables(tables(TWO_ROWS + "<table><tr><td>x<td>y</table>"), ["ISO code", ("Land", "Country")])
    message = str(error.value)
    assert "Land or Country" in message
    assert "layout has probably changed" in message
    assert "ISO code, Currency Name, Currency Symbol, Followers (in millions); x, y" in message
    with pytest.raises(ScrapeError, match="no table at all"):
        matching_tables([], ["a"])
    with pytest.raises(ScrapeError, match="layout has probably changed"):
        list(tables(TWO_ROWS)[0].records(["Land"]))


def test_repeated_header_rows_are_recognised() -> None:
    table = HtmlTable(header=(("Name", "Type"),), rows=(("NAME", "type (all)"), ("Name", "x")))
    assert [is_repeated_header(table, row) for row in table.rows] == [True, False]


def test_truncated_page_is_refused() -> None:
    whole = b"<html><table><tr><td>a</table></HTML>\n"
    assert len(tables_of(FetchedPage("https://x.example", whole))) == 1
    with pytest.raises(ScrapeError, match=r"x\.example: the page ends in the middle"):
        tables_of(FetchedPage("https://x.example", whole[:20]))
