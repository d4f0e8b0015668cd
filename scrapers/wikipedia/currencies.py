"""'List of circulating currencies': a row per state and currency to an item per currency."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from scrapers.countries import CountryCodes
from scrapers.html_table import find, is_repeated_header, tables_of
from scrapers.items import parsed
from scrapers.model import ListItem, Page, Parsed

_HEADERS = (
    ("State or territory", "State/territory", "Country or territory", "Country/territory"),
    ("Currency", "Currency name"),
    ("ISO code", "ISO 4217 code", "ISO 4217"),
)
_CODE = re.compile("[A-Z]{3}")
_NOTHING = frozenset({"", "none", "n/a", "-", "–", "—"})


def parse(pages: Sequence[Page], countries: CountryCodes) -> Parsed:
    """Items of the list ``currencies``, with code and the countries that use them.

    A currency without ISO code is kept; one whose name is "(none)" is dropped. Counted: ``empty_name``,
    ``repeated_header``, ``unreadable_iso_code`` (the item stays, without code) and ``unknown_country`` (the
    item stays, without that territory). Raises ScrapeError if the table is not there or empty.
    """
    dropped: Counter[str] = Counter()
    entries = [entry for page in pages for entry in _entries(page, countries, dropped)]
    return parsed(entries, dropped, "Wikipedia, circulating currencies")


def _entries(page: Page, countries: CountryCodes, dropped: Counter[str]) -> Iterator[ListItem]:
    """One entry per row; what is left out is added to ``dropped``."""
    for table in find(tables_of(page), _HEADERS):
        for row, (state, name, code) in zip(table.rows, table.records(_HEADERS), strict=True):
            if is_repeated_header(table, row):
                dropped["repeated_header"] += 1
            elif _is_nothing(name):
                dropped["empty_name"] += 1
            else:
                country = countries.code(state)
                dropped["unknown_country"] += country is None
                readable = _CODE.fullmatch(code)
                dropped["unreadable_iso_code"] += readable is None and not _is_nothing(code)
                yield ListItem(
                    item=name, countries=(country,) if country else (), code=code if readable else None
                )


def _is_nothing(text: str) -> bool:
    """Whether a cell says that there is no value."""
    return text.strip("()").casefold() in _NOTHING
