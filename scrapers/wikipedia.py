"""Parses two lists of the English Wikipedia (CC BY-SA 4.0) into currencies and religions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from scrapers.countries import CountryCodes
from scrapers.html_table import Header, is_repeated_header, matching_tables, tables_of
from scrapers.model import FetchedPage, ListItem, Parsed, parsed

CURRENCIES_URL = "https://en.wikipedia.org/wiki/List_of_circulating_currencies"
RELIGIONS_URL = "https://en.wikipedia.org/wiki/Major_religious_groups"
_OF_CURRENCIES = (
    ("State or territory", "State/territory", "Country or territory", "Country/territory"),
    ("Currency", "Currency name"),
    ("ISO code", "ISO 4217 code", "ISO 4217"),
)
_OF_RELIGIONS = (
    ("Religion", "Religious category", "Religious group"),
    ("Followers", "Number of followers", "Adherents", "Number of adherents"),
)
_CODE = re.compile("[A-Z]{3}")
_NOTHING = frozenset({"", "none", "n/a", "-", "–", "—"})
_SUMS = frozenset({"total", "world", "world population", "other", "others", "other religions"})


def currencies(pages: Sequence[FetchedPage], countries: CountryCodes) -> Parsed:
    """Return items of the list ``currencies``, with code and the countries that use them.

    The page has a row per state. A currency without ISO code is kept. Dropped and counted are ``empty_name``
    (also "(none)") and ``repeated_header``. Also counted are ``unreadable_iso_code`` (the item has no code)
    and ``unknown_country`` (the item lacks that territory). Raises ScrapeError if the table is missing or
    empty.
    """
    dropped: Counter[str] = Counter()
    entries = []
    for state, name, code in _rows(pages, _OF_CURRENCIES, dropped):
        if _is_nothing(name):
            dropped["empty_name"] += 1
            continue
        country, readable = countries.code(state), _CODE.fullmatch(code)
        dropped["unknown_country"] += country is None
        dropped["unreadable_iso_code"] += readable is None and not _is_nothing(code)
        item_countries = (country,) if country else ()
        entries.append(ListItem(name, countries=item_countries, code=code if readable else None))
    return parsed(entries, dropped, "Wikipedia, circulating currencies")


def religions(pages: Sequence[FetchedPage], countries: CountryCodes) -> Parsed:
    """Return items of the list ``religions``; the page names no countries.

    Dropped and counted are ``empty_name``, ``repeated_header``, ``sum_of_religions`` ("Total", "Other
    religions") and ``no_followers``, a row without a digit in the number of followers ("250–300 million" and
    "c. 5" have one). Raises ScrapeError if the tables are missing or empty.
    """
    dropped: Counter[str] = Counter()
    entries = []
    for name, followers in _rows(pages, _OF_RELIGIONS, dropped):
        if not name:
            dropped["empty_name"] += 1
        elif name.casefold() in _SUMS:
            dropped["sum_of_religions"] += 1
        elif not any(letter.isdigit() for letter in followers):
            dropped["no_followers"] += 1
        else:
            entries.append(ListItem(name))
    return parsed(entries, dropped, "Wikipedia, major religious groups")


def _rows(
    pages: Sequence[FetchedPage], headers: Sequence[Header], dropped: Counter[str]
) -> Iterator[tuple[str, ...]]:
    """Yield the cells under the headers; rows that repeat a header are counted in ``dropped``."""
    for page in pages:
        for table in matching_tables(tables_of(page), headers):
            for row, cells in zip(table.rows, table.records(headers), strict=True):
                if is_repeated_header(table, row):
                    dropped["repeated_header"] += 1
                else:
                    yield cells


def _is_nothing(text: str) -> bool:
    """Return whether a cell means that there is no value."""
    return text.strip("()").casefold() in _NOTHING
