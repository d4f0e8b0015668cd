"""The polite session for every live source: the only code that sends them requests.

It respects robots.txt, pauses between requests, fetches only changed pages, and connects directly to public
addresses. It ignores proxies of the environment (such as HTTPS_PROXY), because behind a proxy the address
that a request reaches cannot be checked. SSL_CERT_FILE and SSL_CERT_DIR are used. Forms are sent to an
endpoint that the user names, with the same pauses, retries, limits and deadline.
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
from scrapers.addresses import CheckedBackend, checked_redirect, checked_url, without_query
from scrapers.model import FetchedPage, ScrapeError, TransientError

__all__ = ["OutOfTimeError", "PoliteSession", "Received", "TooSlowError", "user_agent"]

PRODUCT = "culturemeter"
"""Our product token, which selects our group in robots.txt; without one, the group of ``*`` applies."""
WORTH_A_RETRY = frozenset({408, 425, 429, 500, 502, 503, 504})
_BROKEN = (httpcore.NetworkError, httpcore.TimeoutException, httpcore.RemoteProtocolError)
"""Errors of a connection after which another connection may succeed."""
_PIECE = 1 << 20
"""Maximum bytes decompressed at once."""
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MAX_REDIRECTS = 5
_SILENCE_S = 30.0
"""Seconds without data after which a connection fails, unless the deadline is earlier."""
_LONGEST_CRAWL_DELAY_S = 60.0
_MAX_ROBOTS_BYTES = 512 * 1024
"""Maximum bytes of robots.txt that are read; later rules are ignored. RFC 9309 requires 500 KiB or more."""

_E_MAIL = r"[^\s@/:]+@[^\s@/:]+\.[^\s@/:]+"
_WEB_PAGE = r"https?://[^\s@/]+\.[^\s@/]+(/\S*)?"
_CONTACT = re.compile(f"{_E_MAIL}|{_WEB_PAGE}")

_ADVICE = {
    401: "it requires a login: leave this source out",
    403: "it refuses this program: check whether its terms allow programs, or leave this source out",
    404: "the page does not exist: correct the address",
    410: "the page was removed: find its new address, or leave this source out",
    451: "it is blocked for legal reasons: leave this source out",
}

T = TypeVar("T")


def user_agent(contact: str | None) -> str:
    """Return the User-Agent, which names a contact for the sources' operators.

    Raises ScrapeError for an unusable contact.
    """
    # The contact is in parentheses in a header: printable ASCII without parentheses.
    text = contact or ""
    fits = text.isascii() and text.isprintable() and not set(text) & set("()<>\\")
    if not (fits and _CONTACT.fullmatch(text)):
        raise ScrapeError(
            f"live sources need a contact, and {contact!r} is not one: set CULTUREMETER_CONTACT to your "
            "e-mail address or a page about you. The sources' operators can see it"
        )
    return f"{PRODUCT}/{version('culturemeter')} (+{text})"


class TooSlowError(TransientError):
    """The answer was not complete when the time for the request was over; the request is not sent again."""


class OutOfTimeError(TransientError):
    """The session's deadline has passed, or would pass during a pause; nothing more is sent."""


@dataclass(frozen=True)
class Received:
    """An answer whose body has not been read yet."""

    url: httpx.URL
    response: httpcore.Response
    max_bytes: int

    @property
    def status(self) -> int:
        """HTTP status."""
        return self.response.status

    @property
    def headers(self) -> httpx.Headers:
        """Headers; the case of their names does not matter."""
        return httpx.Headers(self.response.headers)

    def retry_after(self) -> float | None:
        """Return the seconds that the server asks to wait; None if it does not."""
        return retry_after(self.headers.get("Retry-After"), datetime.now(UTC))

    def pieces(self) -> Iterator[bytes]:
        """Yield the body, with gzip or deflate undone.

        The limit of bytes applies before and after decompression, so that a few bytes cannot fill the memory
        or the disk.

        Raises ScrapeError above the limit or for another encoding, TransientError for a damaged body.
        """
        encoding = self.headers.get("Content-Encoding", "identity").strip().lower()
        if encoding not in ("", "identity", "gzip", "x-gzip", "deflate"):
            raise ScrapeError(
                f"{without_query(self.url)} has the encoding {encoding!r}, which was not requested: open the "
                "address in a browser"
            )
        body = self._limited(self.response.iter_stream())
        yield from body if encoding in ("", "identity") else self._limited(self._decompressed(body))

    def _limited(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        size = 0
        for chunk in chunks:
            size += len(chunk)
            if size > self.max_bytes:
                raise ScrapeError(
                    f"{without_query(self.url)} is larger than {self.max_bytes:,} bytes: check the address, "
                    "or raise max_bytes"
                )
            yield chunk

    def _decompressed(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """Yield the content of gzip, maybe of several members, or zlib; 32 means that the header decides."""
        decompressor = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)
        has_data = False
        try:
            for packed in chunks:
                has_data = True
                while packed:
                    if decompressor.eof:
                        decompressor = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)
                    yield decompressor.decompress(packed, _PIECE)
                    packed = decompressor.unconsumed_tail or decompressor.unused_data
        except zlib.error as error:
            raise TransientError(
                f"{without_query(self.url)}: the compressed body is damaged ({error})"
            ) from error
        if has_data and not decompressor.eof:
            raise TransientError(
                f"{without_query(self.url)}: the compressed body is damaged (it ends too early)"
            )


class PoliteSession:
    """Sends one request at a time over one connection, with pauses and by robots.txt.

    Threads may share a session; each waits for the others' requests.

    Args:
        user_agent: result of the function of that name.
        cache: folder of stored pages; created when needed.
        deadline_s: seconds for all requests and pauses, from the first request on.
        max_bytes: maximum bytes of an answer, before and after decompression.
        pause_s: minimum seconds between the end of a request to a host and the start of the next.
        retries: maximum number of further tries of a request that may still succeed.
        first_wait_s: seconds before the first further try, unless the server names a time; they double with
            each try, up to a minute.
        allow_private: also allow private addresses and a pause under a second: for tests, for a server of
            one's own, and for an endpoint that the user names.
        proxy: address of a proxy to use, only with ``allow_private``.
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
            raise ValueError(
                f"pause_s must be a second or more between requests to public hosts, got {pause_s}"
            )
        if proxy and not allow_private:
            raise ValueError("a proxy needs allow_private, because addresses behind it cannot be checked")
        self._headers = {"User-Agent": user_agent, "Accept": "*/*", "Accept-Encoding": "gzip"}
        self._cache = cache
        self._deadline_s, self._ends = deadline_s, math.nan  # the end is set at the first request
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
        """Return the page at an address; its ``url`` is that after redirects on the same host.

        Raises:
            TransientError: a later run may succeed: the server stayed busy or broken, or the deadline is
            over. ScrapeError: another try cannot succeed: closed by robots.txt, 403, 404, too large, a
            private
                address, or a redirect to another host.
        """
        with self._one_at_a_time:
            final_url, answer = self._follow(checked_url(url))
        if answer.status != 200:
            advice = _ADVICE.get(answer.status, "open the address in a browser to find the reason")
            raise ScrapeError(f"{without_query(final_url)} answers with status {answer.status}: {advice}")
        header = Message()
        header["Content-Type"] = answer.content_type
        return FetchedPage(
            url=str(final_url),
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
        """Send a form and return the result of ``read`` for the answer.

        Robots.txt and the cache are not used, and a redirect is not followed but passed to ``read``. After a
        TransientError of ``read`` the form is sent again, like a request for a page.

        Args:
            seconds: maximum seconds of one try, from connecting to the last byte.

        Raises:
            TooSlowError: a try took longer.
            OutOfTimeError: the session's deadline is over.
            Exception: an error of ``read``.
        """
        form_headers = {"Content-Type": "application/x-www-form-urlencoded", **headers}
        content = urlencode(form).encode()
        with self._one_at_a_time:
            return self._with_retries(checked_url(url), self._pause_s, read, form_headers, content, seconds)

    def _follow(self, start: httpx.URL, obey_robots: bool = True) -> tuple[httpx.URL, _Answer]:
        """Return the first answer that is not a redirect, and its address; checks robots.txt each time."""
        url = start
        for _ in range(_MAX_REDIRECTS + 1):
            pause_s = self._pause_s
            if obey_robots:
                robots = self._robots_of(url)
                robots.require(url)
                pause_s = max(pause_s, robots.delay_s(url.host))
            stored = http_cache.load(self._cache, str(url))
            conditions = stored.conditions() if stored else {}
            answer = self._with_retries(url, pause_s, partial(self._page, stored), conditions)
            if answer.status not in _REDIRECTS:
                return url, answer
            url = checked_redirect(url, answer.location)
        raise ScrapeError(
            f"{without_query(start)} redirects over {_MAX_REDIRECTS} times: give the final address"
        )

    def _page(self, stored: http_cache.CachedPage | None, received: Received) -> _Answer:
        """Return the page and store it if it is complete.

        Raises TransientError for a status after which a retry may succeed.
        """
        if received.status in WORTH_A_RETRY:
            seconds = received.retry_after()
            wait = "" if seconds is None else f" and asks to wait {seconds:.0f} s"
            raise TransientError(
                f"{without_query(received.url)} answers with status {received.status}{wait}", seconds
            )
        if received.status == 304 and stored:
            received.response.read()  # It is empty, but must be read so that the connection stays open.
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
        """Return the site's rules, fetched once per session.

        Without robots.txt (4xx) there are no rules; without an answer the whole site is closed.
        """
        address = url.join("/robots.txt")
        if address not in self._robots:
            closed = f"{url.host} is closed to programs while its robots.txt cannot be read"
            try:
                _, answer = self._follow(address, obey_robots=False)
            except TransientError as error:
                raise TransientError(f"{closed}: {error}", error.retry_after) from error
            if answer.status != 200 and not 400 <= answer.status < 500:
                raise ScrapeError(f"{closed}: {without_query(address)} answers with status {answer.status}")
            self._robots[address] = _Robots(answer.content)
        return self._robots[address]

    def _with_retries(
        self,
        url: httpx.URL,
        pause_s: float,
        read: Callable[[Received], T],
        headers: Mapping[str, str],
        content: bytes | None = None,
        seconds: float = math.inf,
    ) -> T:
        """Return the result of ``read`` for the first answer for which it raises no TransientError."""
        retrying = Retrying(
            retry=retry_if_exception(_is_worth_a_retry),
            wait=self._wait,
            stop=lambda state: (
                state.attempt_number > self._retries or state.upcoming_sleep > self._session_left()
            ),
            sleep=self._sleep,
            reraise=True,
        )
        value: T = retrying(self._attempt, url, pause_s, read, headers, content, seconds)
        return value

    def _wait(self, state: RetryCallState) -> float:
        """Return the seconds before the next try: those that the server asks for, else doubled every time."""
        error = state.outcome.exception() if state.outcome else None
        seconds = error.retry_after if isinstance(error, TransientError) else None
        return self._backoff(state) if seconds is None else seconds

    def _attempt(
        self,
        url: httpx.URL,
        pause_s: float,
        read: Callable[[Received], T],
        headers: Mapping[str, str],
        content: bytes | None,
        seconds: float,
    ) -> T:
        """Send one request after the pause between requests to its host."""
        self._sleep(self._free_from.get(url.host, -math.inf) + pause_s - time.monotonic())
        self._request_ends = time.monotonic() + seconds
        self._too_slow = TooSlowError(f"{without_query(url)}: no complete answer within {seconds:.1f} s")
        all_headers, method = [*(self._headers | dict(headers)).items()], "GET" if content is None else "POST"
        try:
            with self._pool.stream(method, str(url), headers=all_headers, content=content) as response:
                return read(Received(url, response, self._max_bytes))
        except _BROKEN as error:
            self._seconds_left()  # If time is over, this raises an error that names the actual cause.
            reason = str(error) or type(error).__name__
            if isinstance(error, httpcore.ConnectError) and not self._proxy and getproxies():
                reason += "; proxies of the environment are not used, a direct connection is needed"
            raise TransientError(f"{without_query(url)}: {reason}") from error
        finally:
            self._free_from[url.host] = time.monotonic()

    def _sleep(self, seconds: float) -> None:
        """Wait; raises OutOfTimeError if the session would be over before."""
        if seconds > self._session_left():
            raise self._out_of_time()
        if seconds > 0:
            time.sleep(seconds)

    def _session_left(self) -> float:
        """Return the seconds until the session's deadline."""
        if math.isnan(self._ends):
            self._ends = time.monotonic() + self._deadline_s
        return self._ends - time.monotonic()

    def _seconds_left(self) -> float:
        """Return the seconds that one operation on a connection may take now."""
        if (session_left := self._session_left()) <= 0:
            raise self._out_of_time()
        if math.isinf(self._request_ends):
            return min(session_left, _SILENCE_S)
        if (request_left := self._request_ends - time.monotonic()) <= 0:
            raise self._too_slow
        return min(session_left, request_left)

    def _out_of_time(self) -> OutOfTimeError:
        return OutOfTimeError(
            f"the {self._deadline_s:g} s of this session are over: run again, or allow a longer deadline"
        )


@dataclass(frozen=True)
class _Answer:
    """An answer's status, with the page (200) or the new address (redirect)."""

    status: int
    location: str = ""
    content: bytes = b""
    content_type: str = ""
    from_cache: bool = False


class _Robots:
    """A site's robots.txt (RFC 9309). Unknown lines, such as those of an HTML page, are ignored."""

    def __init__(self, content: bytes) -> None:
        self._rules = Protego.parse(content[:_MAX_ROBOTS_BYTES].decode("utf-8-sig", errors="replace"))

    def require(self, url: httpx.URL) -> None:
        """Raise ScrapeError if the address is closed to us; the longest matching rule decides."""
        if not self._rules.can_fetch(str(url), PRODUCT):
            raise ScrapeError(
                f"{without_query(url)}: robots.txt closes this address to {PRODUCT}. Leave this source "
                "out, or ask its operator for the data"
            )

    def delay_s(self, host: str) -> float:
        """Return the Crawl-delay in seconds, 0 without one; raises ScrapeError above a minute."""
        delay = self._rules.crawl_delay(PRODUCT) or 0.0
        if delay > _LONGEST_CRAWL_DELAY_S:
            raise ScrapeError(
                f"robots.txt of {host} asks for {delay:g} s between requests, over "
                f"{_LONGEST_CRAWL_DELAY_S:g} s: too slow for a live run. Leave this source out, or ask its "
                "operator for the data"
            )
        return delay


def _is_worth_a_retry(error: BaseException) -> bool:
    """Return whether the same request may succeed if it is sent again in this session."""
    return isinstance(error, TransientError) and not isinstance(error, TooSlowError | OutOfTimeError)


def retry_after(header: str | None, now: datetime) -> float | None:
    """Return the seconds to wait by a Retry-After header, a number or a date; None if it is neither."""
    text = (header or "").strip()
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError):
        return None
    # A date without a time zone is in UTC, as all dates of HTTP are.
    return max(0.0, ((date if date.tzinfo else date.replace(tzinfo=UTC)) - now).total_seconds())
