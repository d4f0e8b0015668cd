"""One request and what comes back: no politeness and no second try, which are the session's."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path

import httpcore
import httpx

from scrapers import http_cache
from scrapers.addresses import shown
from scrapers.model import ScrapeError, TransientError

WORTH_A_RETRY = frozenset({408, 425, 429, 500, 502, 503, 504})
BROKEN = (httpcore.NetworkError, httpcore.TimeoutException, httpcore.RemoteProtocolError)
"""What a connection may die of; a later one may live."""
PIECE = 1 << 20
"""Bytes that are inflated at once."""


@dataclass(frozen=True)
class Answer:
    """A status with the page of a 200, or with the address of a redirect."""

    status: int
    location: str = ""
    content: bytes = b""
    content_type: str = ""
    from_cache: bool = False


def exchange(
    pool: httpcore.ConnectionPool, url: httpx.URL, headers: Mapping[str, str], cache: Path, max_bytes: int
) -> Answer:
    """Ask for a page, if need be on condition that it has changed, and store it once it came whole.

    Raises TransientError for a status worth a retry and for a damaged body, ScrapeError for a body over
    max_bytes, and the errors of BROKEN.
    """
    stored = http_cache.load(cache, str(url))
    conditions = stored.conditions() if stored else {}
    asked = [*headers.items(), *conditions.items()]
    with pool.stream("GET", str(url), headers=asked) as response:
        received = httpx.Headers(response.headers)
        if response.status in WORTH_A_RETRY:
            wish = retry_after(received.get("Retry-After"), datetime.now(UTC))
            wait = "" if wish is None else f" and asks to wait {wish:.0f} s"
            raise TransientError(f"{shown(url)} answers with status {response.status}{wait}", wish)
        if response.status == 304 and stored:
            response.read()  # Nothing, but only a response that was read leaves the connection open.
            return Answer(200, "", stored.content, stored.content_type, from_cache=True)
        if response.status != 200:
            return Answer(response.status, received.get("Location", ""))
        content = read_body(response, max_bytes, url)
    content_type = received.get("Content-Type", "")
    if "no-store" not in received.get("Cache-Control", "").lower():
        validators = received.get("ETag", ""), received.get("Last-Modified", "")
        http_cache.save(cache, str(url), http_cache.Stored(content, content_type, *validators))
    return Answer(200, "", content, content_type)


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


def read_body(response: httpcore.Response, max_bytes: int, url: httpx.URL) -> bytes:
    """The whole body; see ``pieces``."""
    return b"".join(pieces(response, max_bytes, url))


def pieces(response: httpcore.Response, max_bytes: int, url: httpx.URL) -> Iterator[bytes]:
    """The body as it comes, gzip or deflate undone. It ends at the cap, as sent and undone, so that a few
    bytes cannot fill the memory.

    Raises ScrapeError over the cap or for another encoding, TransientError for a damaged body.
    """
    encoding = httpx.Headers(response.headers).get("Content-Encoding", "identity").strip().lower()
    if encoding not in ("", "identity", "gzip", "x-gzip", "deflate"):
        raise ScrapeError(f"{shown(url)} comes in the encoding {encoding!r}, which was not asked for")
    sent = _capped(response.iter_stream(), max_bytes, url)
    yield from sent if encoding in ("", "identity") else _capped(_inflated(sent, url), max_bytes, url)


def _capped(chunks: Iterable[bytes], max_bytes: int, url: httpx.URL) -> Iterator[bytes]:
    size = 0
    for chunk in chunks:
        size += len(chunk)
        if size > max_bytes:
            raise ScrapeError(
                f"{shown(url)} is larger than {max_bytes:,} bytes: not the page that was meant, or raise "
                "max_bytes"
            )
        yield chunk


def _inflated(chunks: Iterable[bytes], url: httpx.URL) -> Iterator[bytes]:
    """gzip, of which there may be several members, or zlib: the header says which (32)."""
    inflate = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)
    begun = False
    try:
        for packed in chunks:
            begun = True
            while packed:
                if inflate.eof:
                    inflate = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)
                yield inflate.decompress(packed, PIECE)
                packed = inflate.unconsumed_tail or inflate.unused_data
    except zlib.error as error:
        raise TransientError(f"{shown(url)}: the compressed body is damaged ({error})") from error
    if begun and not inflate.eof:
        raise TransientError(f"{shown(url)}: the compressed body is damaged (it broke off)")
