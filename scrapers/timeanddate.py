"""Fetches timeanddate.com's index of countries and the pages of their holidays, and parses them into one item
per holiday. Opt-in; none are shipped.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from urllib.parse import urlsplit

from scrapers.countries import CountryCodes
from scrapers.html_table import (
    HtmlTable,
    cell_text,
    is_repeated_header,
    matching_tables,
    parsed_html,
    tables_of,
)
from scrapers.model import FetchedPage, ListItem, Parsed, ScrapeError, WebSession, parsed

NOTICE = (
    "timeanddate.com has terms of use that may not allow programs to collect its pages, and sells a "
    "service for that (https://www.timeanddate.com/information/copyright.html). Read the terms and ask for "
    "permission where you need it before you turn this source on. The results are for your own use: do not "
    "publish them."
)
INDEX_URL = "https://www.timeanddate.com/holidays/"
_HEADERS = (("Name", "Holiday Name"), ("Type", "Holiday Type"))
_LINK = re.compile(r"(?:https://www\.timeanddate\.com)?/holidays/([a-z0-9-]+)/?")
# By type, not by name, because the equinoxes are national holidays in Japan.
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


def fetch(session: WebSession, countries: CountryCodes, year: int | None = None) -> list[FetchedPage]:
    """Return the index and then the pages of the warehouse's countries: about 170 requests.

    Args:
        year: year of the holidays; None: the current one.
    """
    index = session.get(INDEX_URL)
    year = year or datetime.now(UTC).year
    slugs = sorted(country_links(index, countries))
    return [index, *(session.get(f"{INDEX_URL}{slug}/{year}") for slug in slugs)]


def parse(pages: Sequence[FetchedPage], countries: CountryCodes) -> Parsed:
    """Return items of the list ``holidays``: one per name, with its countries.

    "Labor Day / May Day" becomes an item and an alias; remarks such as "(tentative date)" and "observed" are
    cut off. Dropped and counted are ``season``, ``clock_change``, ``working_day``, ``empty_name``,
    ``repeated_header``, ``spanning_row`` (a month or a remark across the table) and ``page_without_table``.
    Also counted is ``unknown_country`` (a page of a country outside the warehouse; its items have no
    country).

    Args:
        pages: index and pages of countries, as ``fetch`` returns them.

    Raises:
        ScrapeError: the index is missing or names no country, a page was cut off, or no page has the table.
    """
    index = next((page for page in pages if _path(page) == ["holidays"]), None)
    if index is None:
        raise ScrapeError(f"timeanddate: the index page {INDEX_URL} is missing")
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
    """Return the alpha-2 codes of the warehouse's countries by the slug of their page ("south-korea").

    Raises ScrapeError if the index has no link to any of them.
    """
    codes: dict[str, str] = {}
    for link in parsed_html(index.content, index.charset).find_all("a", href=True):
        slug = _LINK.fullmatch(str(link["href"]))
        if slug and (code := countries.code(cell_text(link))):
            codes[slug[1]] = code
    if not codes:
        raise ScrapeError(
            f"{index.url}: no link to the holidays of a country. The page's layout has probably changed. "
            "Adapt the parser to the new page; until then the last good list is used."
        )
    return codes


def _path(page: FetchedPage) -> list[str]:
    """Return the parts of an address's path, such as ["holidays", "brazil", "2026"]."""
    return [part for part in urlsplit(page.url).path.split("/") if part]


def _entries(page: FetchedPage, codes: tuple[str, ...], dropped: Counter[str]) -> Iterator[ListItem]:
    """Yield an entry per holiday of a country's page; dropped rows are counted in ``dropped``."""
    page_tables = tables_of(page)
    try:
        holidays = matching_tables(page_tables, _HEADERS)
    except ScrapeError:
        # Pages without the table are skipped; if none has it, `parsed` raises.
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
    """Return the reason why a row is not a holiday; None if it is one."""
    if is_repeated_header(table, row):
        return "repeated_header"
    if not _SAME_HOLIDAY.sub("", name).strip("/ "):
        return "empty_name"
    if len(set(row)) == 1:
        return "spanning_row"
    return next((reason for reason, pattern in _NO_HOLIDAY.items() if pattern.match(kind)), None)
