"""What a source needs of a session: one method, so that a test may stand in for the network."""

from __future__ import annotations

from typing import Protocol

from scrapers.model import Page


class Session(Protocol):
    """Fetches pages, politely; ``scrapers.http.PoliteSession`` is one."""

    def get(self, url: str) -> Page:
        """The page at an address. Raises ScrapeError, or TransientError if trying again may help."""
        ...
