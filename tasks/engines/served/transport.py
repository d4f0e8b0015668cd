"""Sends requests to an untrusted server: bounded in time and size, retried, with cleaned texts.

Keys, and user names in addresses, are removed from every text of a server before it leaves this module
(``secrets.py``).
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from io import BytesIO
from threading import Lock
from typing import IO, Annotated, Any, TypeVar

import httpx
from pydantic import AfterValidator, BaseModel, Field, ValidationError

from tasks.engines.secrets import Secrets
from tasks.engines.served.connection import no_connection
from tasks.engines.served.failures import (
    Failed,
    TimedOut,
    Unreadable,
    error_inside,
    message_in,
    passes,
    pause_of,
)
from tasks.parsing import complaints

MAX_BYTES = 32 * 2**20
"""Most bytes of one answer, many times the size of 20 alternatives at 4,096 tokens."""
MAX_WAIT_S = 60.0
"""Longest pause before another try that a server may request (Retry-After)."""
FIRST_WAIT_S, LONGEST_WAIT_S = 0.5, 8.0
"""Bounds of pauses without a server's request; they double from try to try."""
EXCERPT = 300
"""Most characters of a server's text in an error."""
MAX_COUNT = 10**8
"""Upper bound of token counts, larger than any real one; a server's larger count is cut to it. Sums of an
answer's counts are stored in 32 bits."""

MOST_LOG_PROBABILITY = 1e-3
"""Largest value that 0 becomes by rounding in half precision; a larger value is not a log-probability."""
LogProbability = Annotated[
    float, Field(le=MOST_LOG_PROBABILITY), AfterValidator(lambda value: min(value, 0.0))
]

M = TypeVar("M", bound=BaseModel)
T = TypeVar("T")


class Pace:
    """Spaces the turns of threads and tasks evenly. Unused turns are not saved up for a burst."""

    def __init__(self, per_minute: float | None, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin with a turn at once; per_minute None: every turn is at once."""
        self._interval = 60.0 / per_minute if per_minute else 0.0
        self._clock, self._lock = clock, Lock()
        self._next = clock()

    def turn(self) -> float:
        """Take the next turn and return the seconds until it."""
        with self._lock:
            now = self._clock()
            turn = max(now, self._next)
            self._next = turn + self._interval
        return turn - now


@dataclass
class Caller:
    """A client of one server.

    Attributes:
        url: prefix of all paths.
        timeout: most seconds of one try, from the first byte sent to the last one read.
        max_retries: further tries after 408, 409, 429, 5xx, lost connections and time-outs.
        stopped: when set, there are no further tries and no more pauses.
    """

    client: httpx.AsyncClient
    url: str
    secrets: Secrets
    timeout: float
    max_retries: int
    stopped: asyncio.Event = field(default_factory=asyncio.Event)

    async def send(
        self, method: str, path: str, max_retries: int | None = None, timeout: float = 0, **content: Any
    ) -> dict[str, Any]:
        """Send a request and return the JSON object of the answer; see ``call``."""
        return await self.call(method, path, dict, max_retries, timeout, **content)

    async def call(
        self,
        method: str,
        path: str,
        read: Callable[[dict[str, Any]], T],
        max_retries: int | None = None,
        timeout: float = 0,
        **content: Any,
    ) -> T:
        """Send a request and return what ``read`` makes of the JSON object of the answer.

        An error inside a successful response counts as a response with that error's status. What ``read``
        raises is retried like a response if it ``is_transient``.

        Args:
            max_retries: in place of the caller's own.
            timeout: used if longer than the caller's own.
            content: httpx's arguments for the content.

        Raises:
            Failed: or one of its subclasses, without secrets in its texts.
        """

        async def once() -> T:
            answer = BytesIO()
            headers = await self._exchange(method, path, content, answer, MAX_BYTES)
            body = self.read_object(answer.getvalue(), headers.get("content-type", ""))
            if error := error_inside(body):
                raise error
            return read(body)

        return await self._tried(once, max_retries, timeout)

    async def fetch(self, path: str, into: IO[bytes], most: int, timeout: float) -> None:
        """Download a body of at most ``most`` bytes into a file; errors as in ``send``."""

        async def once() -> None:
            await self._exchange("GET", path, {}, into, most)

        await self._tried(once, None, timeout)
        into.seek(0)

    async def _tried(self, once: Callable[[], Awaitable[T]], max_retries: int | None, timeout: float) -> T:
        """Return the result of one of several tries."""
        retries = self.max_retries if max_retries is None else max_retries
        for tries in range(1, retries + 2):
            try:
                async with asyncio.timeout(max(self.timeout, timeout)):
                    return await once()
            except Failed as error:
                failure = error
            except TimeoutError:
                failure = TimedOut(None, "")
            except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
                failure = no_connection(error, self.url)
            failure.words, failure.tries = self.clean(failure.words), tries
            wait = min(FIRST_WAIT_S * 2.0 ** (tries - 1), LONGEST_WAIT_S) * random.uniform(0.75, 1.0)
            if failure.pause is not None and failure.pause > MAX_WAIT_S and failure.is_transient:
                failure.words += (
                    f"; it asks for a pause of {failure.pause:.0f} s, and we wait {MAX_WAIT_S:.0f} s at most"
                )
                break
            wait = wait if failure.pause is None else failure.pause
            if not failure.is_transient or tries > retries or await self.pause(wait):
                break
        raise failure from None

    async def pause(self, seconds: float) -> bool:
        """Wait; return True if ``stopped`` was set meanwhile."""
        try:
            await asyncio.wait_for(self.stopped.wait(), seconds)
        except TimeoutError:
            return False
        return True

    async def _exchange(
        self, method: str, path: str, content: dict[str, Any], into: IO[bytes], most: int
    ) -> httpx.Headers:
        """Write the body of a successful response into a file and return the headers. Raises Failed."""
        into.seek(0)
        into.truncate()
        async with self.client.stream(method, self.url + path, **content) as response:
            async for chunk in response.aiter_bytes():
                into.write(chunk)
                if into.tell() > most:
                    raise Unreadable(response.status_code, f"more than {most // 2**20} MiB")
        if response.status_code < 300:
            return response.headers
        into.seek(0)
        raise self.refusal(response.status_code, response.headers, into.read(MAX_BYTES), path)

    def read_object(self, content: bytes, kind: str = "") -> dict[str, Any]:
        """Return a server's JSON object without the key.

        Halves of surrogate pairs, which UTF-8 cannot encode, become "?".

        Args:
            kind: the declared content type.

        Raises:
            Unreadable: it is not a JSON object.
        """
        start = self.secrets.hide(_plain(content[: 64 * EXCERPT]).lstrip())[:EXCERPT]
        if "event-stream" in kind or start.startswith(("data:", "event:")):
            raise Unreadable(200, "a stream of events, though none was asked for")
        if "html" in kind or start.startswith("<"):
            raise Unreadable(200, f"a web page ({start[:60]!r})")
        try:
            text = json.dumps(json.loads(content), ensure_ascii=False)
            answer = json.loads(text.encode("utf-8", "replace"))
        except (ValueError, RecursionError) as error:
            raise Unreadable(200, f"no JSON ({start[:60]!r})", is_transient=True) from error
        if isinstance(answer, list) and len(answer) == 1:
            answer = answer[0]  # Google wraps some errors so
        if not isinstance(answer, dict):
            raise Unreadable(200, f"JSON that is not an object ({start[:60]!r})", is_transient=True)
        # An answer may have thousands of texts, one per token, so each is checked only if needed.
        return dict(self.secrets.clean(answer)) if self.secrets.are_in(text) else answer

    def refusal(self, status: int, headers: httpx.Headers, content: bytes, path: str = "") -> Failed:
        """Return a refusal as a failure, with the server's cleaned message."""
        body: Any = None
        words = _plain(content)
        try:
            body = json.loads(content)
            body = body[0] if isinstance(body, list) and len(body) == 1 else body
            words = message_in(body) or words
        except (ValueError, RecursionError):
            pass
        if 300 <= status < 400:
            target = headers.get("location", "nowhere").partition("?")[0].removesuffix(path)
            words = f"it redirects to {target}: make that the base_url"
        pause = pause_of(headers, body)
        return Failed(status, self.clean(words), body, is_transient=passes(status, body), pause=pause)

    def clean(self, words: str) -> str:
        """Return a server's text for an error: plain characters, without secrets, cut to EXCERPT."""
        words = " ".join(re.sub(r"[\x00-\x1f\x7f-\x9f]", " ", words[: 64 * EXCERPT]).split())
        return self.secrets.hide(words)[:EXCERPT]


def _plain(content: bytes) -> str:
    """Return bytes as searchable text: UTF-8, and UTF-16 or UTF-32 without zero bytes."""
    return content.replace(b"\0", b"").decode("utf-8", "replace")


def checked(model: type[M], body: Any) -> M:
    """Return an answer as a model; raises Unreadable, which names the difference, if it does not fit."""
    try:
        return model.model_validate(body)
    except (ValidationError, RecursionError) as error:
        words = (
            next(complaints(error, "answer")) if isinstance(error, ValidationError) else "nested too deeply"
        )
        raise Unreadable(200, words, is_transient=True) from None


def sound(model: type[M], body: Any) -> M | None:
    """Return an optional part of an answer as a model; None if it is missing or does not fit."""
    try:
        return None if body is None else model.model_validate(body)
    except (ValidationError, RecursionError):
        return None


def thought(details: Any) -> int | None:
    """Return the tokens of thinking in the details of a usage; None if the server does not tell."""
    value = details.get("reasoning_tokens") if isinstance(details, dict) else None
    return count(value) if isinstance(value, int) else None


def count(value: Any) -> int:
    """Return the tokens that a server reports; 0 if it reports no valid count."""
    return min(max(value, 0), MAX_COUNT) if isinstance(value, int) and not isinstance(value, bool) else 0
