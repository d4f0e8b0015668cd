"""One polite session for every live source: the only code that asks a web page of anyone.

It connects directly. Proxies of the environment (HTTPS_PROXY and the like) are not used, because behind one
nobody could check which address a request reaches. SSL_CERT_FILE and SSL_CERT_DIR are honoured.
"""

from __future__ import annotations

import math
import re
import threading
import time
from email.message import Message
from importlib.metadata import version
from pathlib import Path
from typing import Self
from urllib.request import getproxies

import httpcore
import httpx
from tenacity import (
    RetryCallState,
    Retrying,
    retry_if_exception_type,
    retry_if_not_exception_type,
    wait_exponential,
)

from scrapers.addresses import CheckedBackend, checked_redirect, checked_url, shown
from scrapers.exchange import BROKEN, Answer, exchange
from scrapers.model import Page, ScrapeError, TransientError
from scrapers.robots import PRODUCT, Robots

__all__ = ["PoliteSession", "user_agent"]

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MAX_REDIRECTS = 5
_SILENCE_S = 30.0
"""The longest that a connection may stay silent; the deadline may cut it shorter."""

_backoff = wait_exponential(multiplier=1, max=60)

_E_MAIL = r"[^\s@/:]+@[^\s@/:]+\.[^\s@/:]+"
_WEB_PAGE = r"https?://[^\s@/]+\.[^\s@/]+(/\S*)?"
_CONTACT = re.compile(f"{_E_MAIL}|{_WEB_PAGE}")

_ADVICE = {
    401: "it wants a login: leave this source out",
    403: "it refuses us: see whether its terms allow programs, or leave this source out",
    404: "there is no such page: correct the address",
    410: "the page is gone for good: find where it went, or leave this source out",
    451: "it is withheld for legal reasons: leave this source out",
}


def user_agent(contact: str | None) -> str:
    """The User-Agent that tells an operator whom to write to. Raises ScrapeError without a usable contact."""
    # It stands in a header, within brackets: printable ASCII without brackets of its own.
    text = contact or ""
    fits = text.isascii() and text.isprintable() and not set(text) & set("()<>\\")
    if not (fits and _CONTACT.fullmatch(text)):
        raise ScrapeError(
            f"live sources need a contact, and {contact!r} is none: set CULTURESCOPE_CONTACT to your e-mail "
            "address or a page about you. The operators of the sources see it"
        )
    return f"{PRODUCT}/{version('culturescope')} (+{text})"


class _OutOfTimeError(TransientError):
    """The session's deadline has come, or comes before a wait would end: no further try in this session."""


class PoliteSession:
    """Fetches pages one at a time over one connection, as robots.txt and good manners ask.

    Threads may share a session; they wait for each other.

    Args:
        user_agent: from the function of that name.
        cache: folder of pages to revalidate; made when needed.
        deadline_s: seconds from now for all that the session does, waiting included.
        max_bytes: the largest page, before and after gzip is undone.
        pause_s: least seconds from the end of one request to a host to the start of the next.
        retries: further tries of a request that may yet succeed.
        allow_private: reach private addresses too, and allow a pause under a second: for tests and for a
            server of one's own.
    """

    def __init__(
        self,
        user_agent: str,
        cache: Path,
        *,
        deadline_s: float = 600,
        max_bytes: int = 50 * 2**20,
        pause_s: float = 1.0,
        retries: int = 4,
        allow_private: bool = False,
    ) -> None:
        if pause_s < 1 and not allow_private:
            raise ValueError(f"a pause of {pause_s} s: public hosts get a second or more between requests")
        self._headers = {"User-Agent": user_agent, "Accept": "*/*", "Accept-Encoding": "gzip"}
        self._cache = cache
        self._deadline_s = deadline_s
        self._ends = time.monotonic() + deadline_s
        self._max_bytes = max_bytes
        self._pause_s = pause_s
        self._retries = retries
        self._robots: dict[httpx.URL, Robots] = {}
        self._free_from: dict[str, float] = {}
        self._one_at_a_time = threading.Lock()
        self._pool = httpcore.ConnectionPool(
            ssl_context=httpx.create_ssl_context(),
            max_connections=1,
            network_backend=CheckedBackend(self._seconds_left, allow_private),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.close()

    def get(self, url: str) -> Page:
        """The page at an address; its ``url`` is where redirects on the same host led.

        Raises ScrapeError for what another try cannot change (closed by robots.txt, 403, 404, too large, a
        private address, a redirect elsewhere), and TransientError for what may go well later: a server that
        stays busy or broken, or the deadline.
        """
        with self._one_at_a_time:
            answered, answer = self._follow(checked_url(url))
        if answer.status != 200:
            advice = _ADVICE.get(answer.status, "of no use here: open the address in a browser")
            raise ScrapeError(f"{shown(answered)} answers with status {answer.status}: {advice}")
        header = Message()
        header["Content-Type"] = answer.content_type
        return Page(
            url=str(answered),
            content=answer.content,
            content_type=answer.content_type.partition(";")[0].strip().lower(),
            charset=header.get_content_charset(),
            from_cache=answer.from_cache,
        )

    def _follow(self, start: httpx.URL, obey_robots: bool = True) -> tuple[httpx.URL, Answer]:
        """The first answer that is no redirect, and its address. robots.txt has its say at each redirect."""
        url = start
        for _ in range(_MAX_REDIRECTS + 1):
            pause_s = self._pause_s
            if obey_robots:
                robots = self._robots_of(url)
                robots.require(url)
                pause_s = max(pause_s, robots.delay_s(url.host))
            answer = self._retrying()(self._attempt, url, pause_s)
            if answer.status not in _REDIRECTS:
                return url, answer
            url = checked_redirect(url, answer.location)
        raise ScrapeError(f"{shown(start)} redirects over {_MAX_REDIRECTS} times: give the final address")

    def _robots_of(self, url: httpx.URL) -> Robots:
        """The site's rules, asked once a session. No robots.txt (4xx): no rules. No answer: closed."""
        address = url.join("/robots.txt")
        if address not in self._robots:
            closed = f"{url.host} is closed to programs while its robots.txt cannot be read"
            try:
                _, answer = self._follow(address, obey_robots=False)
            except TransientError as error:
                raise TransientError(f"{closed}: {error}", error.retry_after) from error
            if answer.status != 200 and not 400 <= answer.status < 500:
                raise ScrapeError(f"{closed}: {shown(address)} answers with status {answer.status}")
            self._robots[address] = Robots(answer.content)
        return self._robots[address]

    def _retrying(self) -> Retrying:
        return Retrying(
            retry=retry_if_exception_type(TransientError) & retry_if_not_exception_type(_OutOfTimeError),
            wait=_wait,
            stop=lambda state: (
                state.attempt_number > self._retries or state.upcoming_sleep > self._ends - time.monotonic()
            ),
            sleep=self._sleep,
            reraise=True,
        )

    def _attempt(self, url: httpx.URL, pause_s: float) -> Answer:
        """One request, after the pause that is due to its host."""
        self._sleep(self._free_from.get(url.host, -math.inf) + pause_s - time.monotonic())
        try:
            return exchange(self._pool, url, self._headers, self._cache, self._max_bytes)
        except BROKEN as error:
            self._seconds_left()  # Time that is up explains the error better than the error does.
            reason = str(error) or type(error).__name__
            if isinstance(error, httpcore.ConnectError) and getproxies():
                reason += "; proxies of the environment are not used, a direct connection is needed"
            raise TransientError(f"{shown(url)}: {reason}") from error
        finally:
            self._free_from[url.host] = time.monotonic()

    def _sleep(self, seconds: float) -> None:
        """Wait, unless that would outlast the session."""
        if seconds > self._ends - time.monotonic():
            raise self._out_of_time()
        if seconds > 0:
            time.sleep(seconds)

    def _seconds_left(self) -> float:
        """How long one operation on a connection may take now."""
        left = self._ends - time.monotonic()
        if left <= 0:
            raise self._out_of_time()
        return min(left, _SILENCE_S)

    def _out_of_time(self) -> _OutOfTimeError:
        return _OutOfTimeError(
            f"the {self._deadline_s:g} s of this session are used up: run again, or allow a longer deadline"
        )


def _wait(state: RetryCallState) -> float:
    """The server's own wish, else 1, 2, 4 ... 60 s."""
    error = state.outcome.exception() if state.outcome else None
    wish = error.retry_after if isinstance(error, TransientError) else None
    return _backoff(state) if wish is None else wish
