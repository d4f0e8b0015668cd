"""One polite session for every live source: the only code that sends them requests.

It respects robots.txt, pauses between requests, fetches only changed pages, and connects directly to public
addresses. It ignores proxies of the environment (HTTPS_PROXY and the like), behind which the address that a
request reaches could not be checked. SSL_CERT_FILE and SSL_CERT_DIR are honoured. A form goes to an endpoint
that the user names, with the same pauses, retries, caps and deadline.
"""

from __future__ import annotations

import math
import re
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.message import Message
from email.utils import parsedate_to_datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Self, TypeVar
from urllib.parse import urlencode
from urllib.request import getproxies

import httpcore
import httpx
from protego import Protego
from tenacity import RetryCallState, Retrying, retry_if_exception, wait_exponential

from scrapers import http_cache
from scrapers.addresses import CheckedBackend, checked_redirect, checked_url, shown
from scrapers.model import FetchedPage, ScrapeError, TransientError

__all__ = ["OutOfTimeError", "PoliteSession", "Received", "TooSlowError", "user_agent"]

PRODUCT = "culturescope"
"""Our product token: it selects our group in robots.txt, else the group of ``*``."""
WORTH_A_RETRY = frozenset({408, 425, 429, 500, 502, 503, 504})
_BROKEN = (httpcore.NetworkError, httpcore.TimeoutException, httpcore.RemoteProtocolError)
"""Errors of a connection; a later connection may succeed."""
_PIECE = 1 << 20
"""Bytes inflated at once."""
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MAX_REDIRECTS = 5
_SILENCE_S = 30.0
"""Seconds that a connection may stay silent, unless the deadline comes first."""
_LONGEST_CRAWL_DELAY_S = 60.0
_MAX_ROBOTS_BYTES = 512 * 1024
"""Bytes of robots.txt that are read; RFC 9309 asks for at least 500 KiB. Later rules are ignored."""

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

T = TypeVar("T")


def user_agent(contact: str | None) -> str:
    """Return the User-Agent that tells an operator whom to contact.

    Raises ScrapeError without a usable contact.
    """
    # It stands in a header, within brackets: printable ASCII without brackets of its own.
    text = contact or ""
    fits = text.isascii() and text.isprintable() and not set(text) & set("()<>\\")
    if not (fits and _CONTACT.fullmatch(text)):
        raise ScrapeError(
            f"live sources need a contact, and {contact!r} is not one: set CULTURESCOPE_CONTACT to your "
            "e-mail address or a page about you. The operators of the sources see it"
        )
    return f"{PRODUCT}/{version('culturescope')} (+{text})"


class TooSlowError(TransientError):
    """The time for a request ran out before its answer ended; the request is not sent again."""


class OutOfTimeError(TransientError):
    """The session's deadline has passed, or would pass during a wait; nothing more is sent."""


@dataclass(frozen=True)
class Received:
    """An answer whose body has not been read yet."""

    url: httpx.URL
    response: httpcore.Response
    max_bytes: int

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self.response.status

    @property
    def headers(self) -> httpx.Headers:
        """The headers, whatever the case of their names."""
        return httpx.Headers(self.response.headers)

    def retry_after(self) -> float | None:
        """Return the seconds that the server asks to wait, None if it does not say."""
        return retry_after(self.headers.get("Retry-After"), datetime.now(UTC))

    def pieces(self) -> Iterator[bytes]:
        """Yield the body, gzip or deflate undone.

        The cap holds before and after inflation, so that a few bytes cannot fill the memory or the disk.

        Raises ScrapeError over the cap or for another encoding, TransientError for a damaged body.
        """
        encoding = self.headers.get("Content-Encoding", "identity").strip().lower()
        if encoding not in ("", "identity", "gzip", "x-gzip", "deflate"):
            raise ScrapeError(
                f"{shown(self.url)} comes in the encoding {encoding!r}, which was not asked for"
            )
        sent = self._capped(self.response.iter_stream())
        yield from sent if encoding in ("", "identity") else self._capped(self._inflated(sent))

    def _capped(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        size = 0
        for chunk in chunks:
            size += len(chunk)
            if size > self.max_bytes:
                raise ScrapeError(
                    f"{shown(self.url)} is larger than {self.max_bytes:,} bytes: check the address, or raise "
                    "max_bytes"
                )
            yield chunk

    def _inflated(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """gzip, of which there may be several members, or zlib: the header says which (32)."""
        inflate = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)
        begun = False
        try:
            for packed in chunks:
                begun = True
                while packed:
                    if inflate.eof:
                        inflate = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)
                    yield inflate.decompress(packed, _PIECE)
                    packed = inflate.unconsumed_tail or inflate.unused_data
        except zlib.error as error:
            raise TransientError(f"{shown(self.url)}: the compressed body is damaged ({error})") from error
        if begun and not inflate.eof:
            raise TransientError(f"{shown(self.url)}: the compressed body is damaged (it broke off)")


class PoliteSession:
    """Sends one request at a time over one connection, politely and by robots.txt. Threads that share it
    wait.

    Args:
        user_agent: from the function of that name.
        cache: folder of pages to revalidate; made when needed.
        deadline_s: seconds for all that the session does, waiting included, from its first request on.
        max_bytes: the largest answer, before and after gzip is undone.
        pause_s: least seconds from the end of one request to a host to the start of the next.
        retries: further tries of a request that may still succeed. first_wait_s: seconds before the first of
            them, unless the server names a time; it doubles, up to a minute.
        allow_private: reach private addresses too, and allow a pause under a second: for tests, for a server
            of one's own, and for an endpoint that the user names.
        proxy: address of a proxy to go through, with ``allow_private`` only.
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
        first_wait_s: float = 1.0,
        allow_private: bool = False,
        proxy: str | None = None,
    ) -> None:
        if pause_s < 1 and not allow_private:
            raise ValueError(f"a pause of {pause_s} s: public hosts get a second or more between requests")
        if proxy and not allow_private:
            raise ValueError("behind a proxy no address can be checked")
        self._headers = {"User-Agent": user_agent, "Accept": "*/*", "Accept-Encoding": "gzip"}
        self._cache = cache
        self._deadline_s, self._ends = deadline_s, math.nan  # the end is known at the first request
        self._request_ends, self._too_slow = math.inf, TooSlowError("")
        self._max_bytes = max_bytes
        self._pause_s = pause_s
        self._retries = retries
        self._backoff = wait_exponential(multiplier=first_wait_s, max=60)
        self._robots: dict[httpx.URL, _Robots] = {}
        self._free_from: dict[str, float] = {}
        self._one_at_a_time = threading.Lock()
        self._proxy = proxy
        self._pool = httpcore.ConnectionPool(
            ssl_context=httpx.create_ssl_context(),
            proxy=httpcore.Proxy(proxy) if proxy else None,
            max_connections=1,
            network_backend=CheckedBackend(self._seconds_left, allow_private),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.close()

    def get(self, url: str) -> FetchedPage:
        """Return the page at an address; its ``url`` is the end of redirects on the same host.

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
        return FetchedPage(
            url=str(answered),
            content=answer.content,
            content_type=answer.content_type.partition(";")[0].strip().lower(),
            charset=header.get_content_charset(),
            from_cache=answer.from_cache,
        )

    def post(
        self,
        url: str,
        form: Mapping[str, str],
        read: Callable[[Received], T],
        headers: Mapping[str, str],
        seconds: float,
    ) -> T:
        """Send a form and return what ``read`` makes of the answer.

        Neither robots.txt nor the cache applies, and a redirect is an answer like any other.

        seconds: for one try, from connecting to the last byte that is read.

        Raises:
            TooSlowError: a try took longer. OutOfTimeError: the session's deadline is over. Otherwise as
            ``read`` raises; after a TransientError the form is sent again, as a page is.
        """
        sent = {"Content-Type": "application/x-www-form-urlencoded", **headers}
        content = urlencode(form).encode()
        with self._one_at_a_time:
            return self._tried(checked_url(url), self._pause_s, read, sent, content, seconds)

    def _follow(self, start: httpx.URL, obey_robots: bool = True) -> tuple[httpx.URL, _Answer]:
        """Return the first answer that is not a redirect, and its address.

        Checks robots.txt at each redirect.
        """
        url = start
        for _ in range(_MAX_REDIRECTS + 1):
            pause_s = self._pause_s
            if obey_robots:
                robots = self._robots_of(url)
                robots.require(url)
                pause_s = max(pause_s, robots.delay_s(url.host))
            stored = http_cache.load(self._cache, str(url))
            conditions = stored.conditions() if stored else {}
            answer = self._tried(url, pause_s, partial(self._page, stored), conditions)
            if answer.status not in _REDIRECTS:
                return url, answer
            url = checked_redirect(url, answer.location)
        raise ScrapeError(f"{shown(start)} redirects over {_MAX_REDIRECTS} times: give the final address")

    def _page(self, stored: http_cache.CachedPage | None, received: Received) -> _Answer:
        """Return the page, stored once it is complete. Raises TransientError for a status worth a retry."""
        if received.status in WORTH_A_RETRY:
            wish = received.retry_after()
            wait = "" if wish is None else f" and asks to wait {wish:.0f} s"
            raise TransientError(f"{shown(received.url)} answers with status {received.status}{wait}", wish)
        if received.status == 304 and stored:
            received.response.read()  # Nothing, but only a response that was read leaves the connection open.
            return _Answer(200, "", stored.content, stored.content_type, from_cache=True)
        headers = received.headers
        if received.status != 200:
            return _Answer(received.status, headers.get("Location", ""))
        content, content_type = b"".join(received.pieces()), headers.get("Content-Type", "")
        if "no-store" not in headers.get("Cache-Control", "").lower():
            page = http_cache.CachedPage(
                content, content_type, headers.get("ETag", ""), headers.get("Last-Modified", "")
            )
            http_cache.save(self._cache, str(received.url), page)
        return _Answer(200, "", content, content_type)

    def _robots_of(self, url: httpx.URL) -> _Robots:
        """Return the site's rules, fetched once per session. Without robots.txt (4xx) there are none; without
        an
        answer the site is closed."""
        address = url.join("/robots.txt")
        if address not in self._robots:
            closed = f"{url.host} is closed to programs while its robots.txt cannot be read"
            try:
                _, answer = self._follow(address, obey_robots=False)
            except TransientError as error:
                raise TransientError(f"{closed}: {error}", error.retry_after) from error
            if answer.status != 200 and not 400 <= answer.status < 500:
                raise ScrapeError(f"{closed}: {shown(address)} answers with status {answer.status}")
            self._robots[address] = _Robots(answer.content)
        return self._robots[address]

    def _tried(
        self,
        url: httpx.URL,
        pause_s: float,
        read: Callable[[Received], T],
        headers: Mapping[str, str],
        content: bytes | None = None,
        seconds: float = math.inf,
    ) -> T:
        """Return what ``read`` makes of the first answer on which it raises no TransientError."""
        retrying = Retrying(
            retry=retry_if_exception(_may_pass),
            wait=self._wait,
            stop=lambda state: state.attempt_number > self._retries or state.upcoming_sleep > self._left(),
            sleep=self._sleep,
            reraise=True,
        )
        value: T = retrying(self._attempt, url, pause_s, read, headers, content, seconds)
        return value

    def _wait(self, state: RetryCallState) -> float:
        """Seconds before the next try: the server's own wish, else twice as long every time."""
        error = state.outcome.exception() if state.outcome else None
        wish = error.retry_after if isinstance(error, TransientError) else None
        return self._backoff(state) if wish is None else wish

    def _attempt(
        self,
        url: httpx.URL,
        pause_s: float,
        read: Callable[[Received], T],
        headers: Mapping[str, str],
        content: bytes | None,
        seconds: float,
    ) -> T:
        """Send one request after the pause due to its host."""
        self._sleep(self._free_from.get(url.host, -math.inf) + pause_s - time.monotonic())
        self._request_ends = time.monotonic() + seconds
        self._too_slow = TooSlowError(f"{shown(url)}: no complete answer within {seconds:.1f} s")
        sent, method = {**self._headers, **headers}, "GET" if content is None else "POST"
        try:
            with self._pool.stream(method, str(url), headers=[*sent.items()], content=content) as response:
                return read(Received(url, response, self._max_bytes))
        except _BROKEN as error:
            self._seconds_left()  # If time ran out, that explains the error better than the error does.
            reason = str(error) or type(error).__name__
            if isinstance(error, httpcore.ConnectError) and not self._proxy and getproxies():
                reason += "; proxies of the environment are not used, a direct connection is needed"
            raise TransientError(f"{shown(url)}: {reason}") from error
        finally:
            self._free_from[url.host] = time.monotonic()

    def _sleep(self, seconds: float) -> None:
        """Wait, unless that would outlast the session."""
        if seconds > self._left():
            raise self._out_of_time()
        if seconds > 0:
            time.sleep(seconds)

    def _left(self) -> float:
        """Seconds until the deadline."""
        if math.isnan(self._ends):
            self._ends = time.monotonic() + self._deadline_s
        return self._ends - time.monotonic()

    def _seconds_left(self) -> float:
        """Return the seconds that one operation on a connection may take now."""
        if (left := self._left()) <= 0:
            raise self._out_of_time()
        if math.isinf(self._request_ends):
            return min(left, _SILENCE_S)
        if (of_request := self._request_ends - time.monotonic()) <= 0:
            raise self._too_slow
        return min(left, of_request)

    def _out_of_time(self) -> OutOfTimeError:
        return OutOfTimeError(
            f"the {self._deadline_s:g} s of this session are over: run again, or allow a longer deadline"
        )


@dataclass(frozen=True)
class _Answer:
    """A status with the page of a 200, or with the address of a redirect."""

    status: int
    location: str = ""
    content: bytes = b""
    content_type: str = ""
    from_cache: bool = False


class _Robots:
    """A site's robots.txt (RFC 9309). Unknown lines, such as an HTML page, are ignored."""

    def __init__(self, content: bytes) -> None:
        self._rules = Protego.parse(content[:_MAX_ROBOTS_BYTES].decode("utf-8-sig", errors="replace"))

    def require(self, url: httpx.URL) -> None:
        """Raise ScrapeError if the address is closed to us: the longest rule that matches decides."""
        if not self._rules.can_fetch(str(url), PRODUCT):
            raise ScrapeError(
                f"{shown(url)}: robots.txt closes this address to {PRODUCT}. Leave this source out, or ask "
                "its operator for the data"
            )

    def delay_s(self, host: str) -> float:
        """Return the seconds between two requests by Crawl-delay, 0 without one.

        Raises ScrapeError above a minute.
        """
        delay = self._rules.crawl_delay(PRODUCT) or 0.0
        if delay > _LONGEST_CRAWL_DELAY_S:
            raise ScrapeError(
                f"robots.txt of {host} asks for {delay:g} s between requests, over "
                f"{_LONGEST_CRAWL_DELAY_S:g} s: too slow for a live run. Leave this source out, or ask its "
                "operator for the data"
            )
        return delay


def _may_pass(error: BaseException) -> bool:
    """Whether the same request may succeed if it is sent again in this session."""
    return isinstance(error, TransientError) and not isinstance(error, TooSlowError | OutOfTimeError)


def retry_after(header: str | None, now: datetime) -> float | None:
    """Seconds to wait by a Retry-After header, given as seconds or as a date; None if it says neither."""
    text = (header or "").strip()
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError):
        return None
    # A date without a zone is UTC: HTTP knows no other.
    return max(0.0, ((date if date.tzinfo else date.replace(tzinfo=UTC)) - now).total_seconds())
