"""The index of timeanddate.com's holidays and one page per country."""

from __future__ import annotations

from datetime import UTC, datetime

from scrapers.countries import CountryCodes
from scrapers.model import FetchedPage, WebSession
from scrapers.timeanddate.parse import country_links

INDEX_URL = "https://www.timeanddate.com/holidays/"


def fetch(session: WebSession, countries: CountryCodes, year: int | None = None) -> list[FetchedPage]:
    """Return the index and then the pages of the warehouse's countries: about 170 requests.

    Args:
        year: year of the holidays; None: the current one.
    """
    index = session.get(INDEX_URL)
    year = year or datetime.now(UTC).year
    slugs = sorted(country_links(index, countries))
    return [index, *(session.get(f"{INDEX_URL}{slug}/{year}") for slug in slugs)]
