"""'List of circulating currencies' and 'Major religious groups' to an item per currency and religion."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from scrapers.countries import CountryCodes
from scrapers.html_table import Header, find, is_repeated_header, tables_of
from scrapers.model import FetchedPage, ListItem, Parsed, parsed

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
    """Items of the list ``currencies``, with code and the countries that use them; a row per state.

    A currency without ISO code is kept; one whose name is "(none)" is dropped. Counted: ``empty_name``,
    ``repeated_header``, ``unreadable_iso_code`` (the item stays, without code) and ``unknown_country`` (the
    item stays, without that territory). Raises ScrapeError if the table is not there or empty.
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
        used_by = (country,) if country else ()
        entries.append(ListItem(name, countries=used_by, code=code if readable else None))
    return parsed(entries, dropped, "Wikipedia, circulating currencies")


def religions(pages: Sequence[FetchedPage], countries: CountryCodes) -> Parsed:
    """Items of the list ``religions``, by number of followers. The page names no countries.

    Dropped and counted: ``empty_name``, ``repeated_header``, ``sum_of_religions`` ("Total", "Other
    religions") and ``no_followers``, a row whose number of followers has no digit ("250–300 million" and
    "c. 5" have). Raises ScrapeError if no such table is there or all are empty.
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
    """The cells under the headers; rows that repeat a header are added to ``dropped``."""
    for page in pages:
        for table in find(tables_of(page), headers):
            for row, cells in zip(table.rows, table.records(headers), strict=True):
                if is_repeated_header(table, row):
                    dropped["repeated_header"] += 1
                else:
                    yield cells


def _is_nothing(text: str) -> bool:
    """Whether a cell says that there is no value."""
    return text.strip("()").casefold() in _NOTHING
