"""Who may send what: sizes, rates, forged requests, headers that bound what a page can do."""

from __future__ import annotations

import asyncio
import hmac
import time
from collections import OrderedDict
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

if TYPE_CHECKING:
    from fastapi import Request

    from deployments.people.store import Who

MAX_BODY = 128 * 1024
"""Bytes of a form: several free texts of the greatest length."""
MAX_FIELDS = 400
BODY_PATIENCE_S = 60.0
"""How long a form may take to arrive: long enough for a phone in a train, and not for ever."""

HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    # Under "no-referrer" a browser sends forms with the origin "null", which is refused here.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}


class RefusedError(Exception):
    """A request that is not answered: the HTTP status, and a text for programs."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class RateLimit:
    """At most ``burst`` at once and ``per_second`` in the long run, for each key; forgets the oldest keys."""

    def __init__(self, per_second: float, burst: int, most_keys: int = 10_000) -> None:
        self._rate, self._burst, self._most = per_second, float(burst), most_keys
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, key: str) -> None:
        """Raises RefusedError where the key has used up what it had."""
        now = time.monotonic()
        left, since = self._buckets.pop(key, (self._burst, now))
        left = min(self._burst, left + (now - since) * self._rate)
        self._buckets[key] = (max(left - 1, 0.0) if left >= 1 else left, now)
        if len(self._buckets) > self._most:
            self._buckets.popitem(last=False)
        if left < 1:
            raise RefusedError(429, "too many requests: wait a moment")


async def read_form(request: Request) -> dict[str, str]:
    """The fields of a form; each is there once.

    Raises:
        RefusedError: too large, not whole in time, not a form, not UTF-8, or a field is there twice.
    """
    if request.headers.get("content-type", "").partition(";")[0] != "application/x-www-form-urlencoded":
        raise RefusedError(415, "expected a form")
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_PATIENCE_S):
            async for chunk in request.stream():
                body += chunk
                if len(body) > MAX_BODY:
                    raise RefusedError(413, "the form is too large")
    except TimeoutError:
        raise RefusedError(408, "the form did not arrive: send it again") from None
    try:
        pairs = parse_qsl(
            body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS
        )
    except ValueError as error:
        raise RefusedError(400, "the form cannot be read") from error
    form = dict(pairs)
    if len(form) < len(pairs):
        raise RefusedError(400, "a field is there twice")
    return form


def check_origin(request: Request, origin: str) -> None:
    """Refuse a form that another site sent, where the browser says so (Origin, Sec-Fetch-Site)."""
    given = request.headers.get("origin")
    if given is not None and given != origin:
        raise RefusedError(403, "sent from another site")
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise RefusedError(403, "sent from another site")


def check_csrf(who: Who, form: Mapping[str, str]) -> None:
    """Refuse a form without the secret that only pages of this session hold."""
    if not hmac.compare_digest(form.get("csrf", "").encode(), who.csrf.encode()):
        raise RefusedError(403, "the page is out of date: open it again")
