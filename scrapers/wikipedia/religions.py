"""'Major religious groups': the tables of religions by number of followers to an item per religion."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from scrapers.countries import CountryCodes
from scrapers.html_table import find, is_repeated_header, tables_of
from scrapers.items import parsed
from scrapers.model import ListItem, Page, Parsed

_HEADERS = (
    ("Religion", "Religious category", "Religious group"),
    ("Followers", "Number of followers", "Adherents", "Number of adherents"),
)
_SUMS = frozenset({"total", "world", "world population", "other", "others", "other religions"})


def parse(pages: Sequence[Page], countries: CountryCodes) -> Parsed:
    """Items of the list ``religions``. The page names no countries, so ``countries`` is not used.

    Dropped and counted: ``empty_name``, ``repeated_header``, ``sum_of_religions`` ("Total", "Other
    religions") and ``no_followers``, a row whose number of followers has no digit ("250–300 million" and
    "c. 5" have). Raises ScrapeError if no such table is there or all are empty.
    """
    dropped: Counter[str] = Counter()
    entries = [entry for page in pages for entry in _entries(page, dropped)]
    return parsed(entries, dropped, "Wikipedia, major religious groups")


def _entries(page: Page, dropped: Counter[str]) -> Iterator[ListItem]:
    """One entry per row; what is left out is added to ``dropped``."""
    for table in find(tables_of(page), _HEADERS):
        for row, (name, followers) in zip(table.rows, table.records(_HEADERS), strict=True):
            if is_repeated_header(table, row):
                dropped["repeated_header"] += 1
            elif not name:
                dropped["empty_name"] += 1
            elif name.casefold() in _SUMS:
                dropped["sum_of_religions"] += 1
            elif not any(letter.isdigit() for letter in followers):
                dropped["no_followers"] += 1
            else:
                yield ListItem(item=name)
