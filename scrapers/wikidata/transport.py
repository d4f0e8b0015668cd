"""One HTTP request that ends when it must: in time, in size, and where it was sent; what its answer means.

Every status comes back as a value, redirects too: a redirected POST may lose its body. The proxies of the
environment hold.
"""

from __future__ import annotations

import mmap
import os
import re
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from html import unescape
from typing import IO
from urllib.parse import urljoin
from urllib.request import Request, getproxies, proxy_bypass

import httpcore
import httpx

from scrapers.addresses import CheckedBackend
from scrapers.exchange import BROKEN, WORTH_A_RETRY, pieces, retry_after
from scrapers.model import ScrapeError, TransientError

USER_AGENT_POLICY = "https://foundation.wikimedia.org/wiki/Policy:Wikimedia_Foundation_User-Agent_Policy"
TIMED_OUT = b"java.util.concurrent.TimeoutException"
"""Blazegraph, which runs the Wikidata Query Service, says so with status 500, or within a result that it had
begun to send with status 200."""
ENDED = "the endpoint ended the query because it took too long"
SHOWN = 200


class TooSlowError(TransientError):
    """The time for a request was over before its answer was."""


@dataclass(frozen=True)
class Answer:
    """A whole answer of any status, gzip undone, its content in a file: it may be larger than what is read
    out of it."""

    status: int
    headers: httpx.Headers
    content: IO[bytes]

    @property
    def size(self) -> int:
        """Bytes of the content."""
        return self.content.seek(0, os.SEEK_END)

    def start(self) -> bytes:
        """As much of the content as people look at."""
        self.content.seek(0)
        return self.content.read(20_000)

    def timed_out(self) -> bool:
        """Whether the endpoint says that it ended the query."""
        if self.size == 0:
            return False
        with mmap.mmap(self.content.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return content.find(TIMED_OUT) >= 0


def send(request: Request, seconds: float, max_bytes: int, into: IO[bytes]) -> Answer:
    """Send a request and read its whole answer within ``seconds``, from connecting to the last byte.

    into: an empty file of the file system's, for the content.

    Raises:
        TooSlowError: it took longer.
        TransientError: no connection, or one that broke before the answer was complete.
        ScrapeError: more than ``max_bytes``, as sent or after content-encoding is undone.
    """
    url, ends = httpx.URL(request.full_url), time.monotonic() + seconds
    too_slow = TooSlowError(f"{url}: no complete answer within {seconds:.1f} s")

    def seconds_left() -> float:
        left = ends - time.monotonic()
        if left <= 0:
            raise too_slow
        return left

    proxy = None if proxy_bypass(url.host) else getproxies().get(url.scheme)
    pool = httpcore.ConnectionPool(
        ssl_context=httpx.create_ssl_context(),
        proxy=httpcore.Proxy(proxy) if proxy else None,
        # The endpoint is the user's own choice, and may be a server on this machine.
        network_backend=CheckedBackend(seconds_left, allow_private=True),
    )
    headers = [*request.header_items(), ("Accept-Encoding", "identity"), ("Connection", "close")]
    body = request.data if isinstance(request.data, bytes) else None
    try:
        with pool, pool.stream(request.get_method(), request.full_url, headers=headers, content=body) as sent:
            into.writelines(pieces(sent, max_bytes, url))
            return Answer(sent.status, httpx.Headers(sent.headers), into)
    except httpcore.TimeoutException as error:
        raise too_slow from error
    except BROKEN as error:
        raise TransientError(f"{url}: no answer: {error or type(error).__name__}") from error


def check(url: str, answer: Answer) -> None:
    """Return if the answer may be read as a result in JSON.

    Raises:
        TooSlowError: the endpoint ended the query for its time; a smaller one may do.
        TransientError: overloaded, throttled or broken for the moment.
        ScrapeError: asking again gives the same.
    """
    status, said = answer.status, excerpt(answer.start())
    if status == 200:
        if "json" not in answer.headers.get("Content-Type", ""):
            raise not_a_result(url, answer)
        return
    if status == 500 and answer.timed_out():
        raise TooSlowError(f"{url}: {ENDED}")
    if 300 <= status < 400:
        target = urljoin(url, answer.headers.get("Location", "(no address)"))
        raise ScrapeError(
            f"{url} redirects ({status}) to {target}. A redirected query may lose its body: if you "
            f"trust that address, give it as the endpoint"
        )
    if status == 403:
        raise ScrapeError(
            f"{url} refuses this client (403): {said}. Check that the User-Agent names the program "
            f"and a contact: {USER_AGENT_POLICY}"
        )
    if status in WORTH_A_RETRY or status >= 500:
        wish = retry_after(answer.headers.get("Retry-After"), datetime.now(UTC))
        wait = "" if wish is None else f" It asks to wait {wish:.0f} s."
        raise TransientError(f"{url}: status {status}: {said}.{wait}", wish)
    if status == 400:
        lines = "\n".join(answer.start().decode(errors="replace").strip().splitlines()[:5])
        raise ScrapeError(f"{url} does not accept the query (400):\n{lines}")
    raise ScrapeError(f"{url}: status {status}: {said}. Check the address of the endpoint")


def not_a_result(url: str, answer: Answer) -> TransientError:
    """Status 200 without a SPARQL result in JSON: an overloaded service's page, or an answer cut short;
    TooSlowError if the endpoint says that it ended the query in the middle of the result."""
    if answer.timed_out():
        return TooSlowError(f"{url}: {ENDED}")
    kind = answer.headers.get("Content-Type", "no Content-Type")
    return TransientError(
        f"{url} answered {answer.size:,} bytes ({kind}) that are no SPARQL result in JSON: "
        f"{excerpt(answer.start())}"
    )


def excerpt(content: bytes) -> str:
    """The first words that a reader would see."""
    text = re.sub(r"(?is)<(script|style)\b.*?</\1>|<[^>]*>", " ", content.decode(errors="replace"))
    return " ".join(unescape(text).split())[:SHOWN] or "(empty)"
