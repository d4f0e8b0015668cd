"""What a site's robots.txt asks of us (RFC 9309)."""

from __future__ import annotations

import httpx
from protego import Protego

from scrapers.addresses import shown
from scrapers.model import ScrapeError

PRODUCT = "culturescope"
"""Our product token: the group of robots.txt that speaks to us, else the group of ``*``."""

LONGEST_DELAY_S = 60.0
MAX_BYTES = 512 * 1024
"""What is read of a robots.txt; RFC 9309 asks for 500 KiB at least. Rules beyond are none."""


class Robots:
    """The rules of one site. Unknown lines, an HTML page among them, are no rules."""

    def __init__(self, content: bytes) -> None:
        self._rules = Protego.parse(content[:MAX_BYTES].decode("utf-8-sig", errors="replace"))

    def require(self, url: httpx.URL) -> None:
        """Raise ScrapeError if the address is closed to us: the longest rule that matches decides."""
        if not self._rules.can_fetch(str(url), PRODUCT):
            raise ScrapeError(
                f"{shown(url)}: robots.txt closes this address to {PRODUCT}. Leave this source out, or ask "
                "its operator for the data"
            )

    def delay_s(self, host: str) -> float:
        """Seconds between two requests by Crawl-delay, 0 without one. Raises ScrapeError above a minute."""
        delay = self._rules.crawl_delay(PRODUCT) or 0.0
        if delay > LONGEST_DELAY_S:
            raise ScrapeError(
                f"robots.txt of {host} asks for {delay:g} s between requests, over {LONGEST_DELAY_S:g} s: "
                "too slow for a live run. Leave this source out, or ask its operator for the data"
            )
        return delay
