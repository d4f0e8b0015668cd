"""The index of countries and a page of holidays per country to an item per holiday."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from urllib.parse import urlsplit

from scrapers.countries import CountryCodes
from scrapers.html_table import HtmlTable, cell_text, find, is_repeated_header, parsed_html, tables_of
from scrapers.model import FetchedPage, ListItem, Parsed, ScrapeError, parsed

_HEADERS = (("Name", "Holiday Name"), ("Type", "Holiday Type"))
_LINK = re.compile(r"(?:https://www\.timeanddate\.com)?/holidays/([a-z0-9-]+)/?")
# By type, not by name: the equinoxes are national holidays in Japan.
_NO_HOLIDAY = {
    "season": re.compile(r"season\b", re.IGNORECASE),
    "clock_change": re.compile(r"clock change|daylight saving", re.IGNORECASE),
    "working_day": re.compile(r"(?:special |normal )?work(?:ing)? ?day", re.IGNORECASE),
}
_SAME_HOLIDAY = re.compile(
    r"\s*\((?:tentative(?: date)?|estimated|substitute(?: day| holiday)?|observed|in lieu)\)$|"
    r"\s+(?:observed|in lieu)$",
    re.IGNORECASE,
)


def parse(pages: Sequence[FetchedPage], countries: CountryCodes) -> Parsed:
    """Items of the list ``holidays``: one per name, with the countries that keep it.

    pages: the index and pages of countries, as ``fetch`` returns them. "Labor Day / May Day" becomes an item
    and an alias; "(tentative date)", "observed" and the like are cut off. Dropped and counted: ``season``,
    ``clock_change``, ``working_day``, ``empty_name``, ``repeated_header``, ``spanning_row`` (a month or a
    remark across the table), ``unknown_country`` (a page of none of our countries; its items stay) and
    ``page_without_table``. Raises ScrapeError if the index is missing or names no country, if a page was cut
    off, or if no page has the table.
    """
    index = next((page for page in pages if _path(page) == ["holidays"]), None)
    if index is None:
        raise ScrapeError("timeanddate: the index page https://www.timeanddate.com/holidays/ is missing")
    codes = country_links(index, countries)
    dropped: Counter[str] = Counter()
    entries: list[ListItem] = []
    for page in pages:
        if page is not index:
            code = codes.get(_path(page)[1]) if len(_path(page)) > 1 else None
            dropped["unknown_country"] += code is None
            entries += _entries(page, (code,) if code else (), dropped)
    return parsed(entries, dropped, "timeanddate, holidays")


def country_links(index: FetchedPage, countries: CountryCodes) -> dict[str, str]:
    """Slug of a country's page ("south-korea") -> alpha-2 code, for the countries that we know.

    Raises ScrapeError if the index has no link to any of them.
    """
    codes: dict[str, str] = {}
    for link in parsed_html(index.content, index.charset).find_all("a", href=True):
        slug = _LINK.fullmatch(str(link["href"]))
        if slug and (code := countries.code(cell_text(link))):
            codes[slug[1]] = code
    if not codes:
        raise ScrapeError(
            f"{index.url}: no link to the holidays of a country. The page's layout has probably changed; "
            "adapt the parser, the last good list stays in use."
        )
    return codes


def _path(page: FetchedPage) -> list[str]:
    """The parts of a page's address: ["holidays", "brazil", "2026"]."""
    return [part for part in urlsplit(page.url).path.split("/") if part]


def _entries(page: FetchedPage, codes: tuple[str, ...], dropped: Counter[str]) -> Iterator[ListItem]:
    """One entry per holiday of a country's page; what is left out is added to ``dropped``."""
    on_page = tables_of(page)
    try:
        holidays = find(on_page, _HEADERS)
    except ScrapeError:
        # A country without a table must not lose the others; if all lack one, `parsed` raises.
        dropped["page_without_table"] += 1
        return
    for table in holidays:
        for row, (name, kind) in zip(table.rows, table.records(_HEADERS), strict=True):
            reason = _reason_to_drop(table, row, name, kind)
            if reason:
                dropped[reason] += 1
            else:
                first, *others = re.split(r"\s+/\s+", _SAME_HOLIDAY.sub("", name))
                yield ListItem(item=first, aliases=tuple(others), countries=codes)


def _reason_to_drop(table: HtmlTable, row: Sequence[str], name: str, kind: str) -> str | None:
    """Return why a row is not a holiday; None if it is one."""
    if is_repeated_header(table, row):
        return "repeated_header"
    if not _SAME_HOLIDAY.sub("", name).strip("/ "):
        return "empty_name"
    if len(set(row)) == 1:
        return "spanning_row"
    return next((reason for reason, pattern in _NO_HOLIDAY.items() if pattern.match(kind)), None)
