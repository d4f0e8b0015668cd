"""The two Wikipedia articles. Small: fetching stands apart from parsing for every source."""

from __future__ import annotations

from scrapers.model import Page, Session

CURRENCIES_URL = "https://en.wikipedia.org/wiki/List_of_circulating_currencies"
RELIGIONS_URL = "https://en.wikipedia.org/wiki/Major_religious_groups"


def fetch_currencies(session: Session) -> list[Page]:
    """'List of circulating currencies', for ``currencies.parse``."""
    return [session.get(CURRENCIES_URL)]


def fetch_religions(session: Session) -> list[Page]:
    """'Major religious groups', for ``religions.parse``."""
    return [session.get(RELIGIONS_URL)]
