"""Sends requests to an untrusted server: bounded in time and size, retried, with cleaned texts.

Keys, and user names in addresses, are removed from every text of a server before it leaves this module
(``secrets.py``).
"""

from __future__ import annotations

import asyncio
import email.utils
import json
import os
import random
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from io import BytesIO
from threading import Lock
from typing import IO, Annotated, Any, TypeVar

import httpx
from pydantic import AfterValidator, BaseModel, Field, ValidationError

from tasks.engines.secrets import Secrets
from tasks.parsing import complaints

MAX_BYTES = 32 * 2**20
"""Most bytes of one answer, many times the size of 20 alternatives at 4,096 tokens."""
MAX_WAIT_S = 60.0
"""Longest pause before another try that a server may request (Retry-After)."""
FIRST_WAIT_S, LONGEST_WAIT_S = 0.5, 8.0
"""Bounds of pauses without a server's request; they double from try to try."""
TRANSIENT = (408, 409, 429)
EXCERPT = 300
"""Most characters of a server's text in an error."""
MAX_COUNT = 2**31
"""Upper bound of token counts, larger than any real one; a server's larger count is cut to it."""

MOST_LOG_PROBABILITY = 1e-3
"""Largest value that 0 becomes by rounding in half precision; a larger value is not a log-probability."""
LogProbability = Annotated[
    float, Field(le=MOST_LOG_PROBABILITY), AfterValidator(lambda value: min(value, 0.0))
]

M = TypeVar("M", bound=BaseModel)


FINISHED = ("stop", "length", "refusal", "content_filter", "tool_calls", "pause_turn", "other")


def finish_reason(reason: str | None) -> str:
    """Return the finish reason if it is in FINISHED, else "unknown", so that no server's text is stored."""
    return reason if reason in FINISHED else "unknown"


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


class Failed(Exception):  # noqa: N818 - not an EngineError, which users see
    """No answer: the last status (None: no response), the server's message, and the number of tries."""

    def __init__(self, status: int | None, words: str, body: Any = None, tries: int = 1) -> None:
        super().__init__(words)
        self.status, self.words, self.body, self.tries = status, words, body, tries

    @property
    def is_transient(self) -> bool:
        """Whether another try may succeed."""
        return self.status is None or self.status in TRANSIENT or self.status >= 500


class TimedOut(Failed):
    """The answer (headers and body) was not complete in time."""


class Unreadable(Failed):
    """A successful response without the expected JSON object; another try would not help."""


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
        """Send a request and return the JSON object of the answer.

        Args:
            max_retries: in place of the caller's own.
            timeout: used if longer than the caller's own.
            content: httpx's arguments for the content.

        Raises:
            Failed: or one of its subclasses, without secrets in its texts.
        """
        answer = BytesIO()
        headers = await self._try(method, path, content, answer, MAX_BYTES, timeout, max_retries)
        return self.read_object(answer.getvalue(), headers.get("content-type", ""))

    async def fetch(self, path: str, into: IO[bytes], most: int, timeout: float) -> None:
        """Download a body of at most ``most`` bytes into a file; errors as in ``send``."""
        await self._try("GET", path, {}, into, most, timeout, None)
        into.seek(0)

    async def _try(
        self,
        method: str,
        path: str,
        content: dict[str, Any],
        into: IO[bytes],
        most: int,
        timeout: float,
        max_retries: int | None,
    ) -> httpx.Headers:
        retries = self.max_retries if max_retries is None else max_retries
        for tries in range(1, retries + 2):
            wait = min(FIRST_WAIT_S * 2.0 ** (tries - 1), LONGEST_WAIT_S) * random.uniform(0.75, 1.0)
            try:
                async with asyncio.timeout(max(self.timeout, timeout)):
                    status, headers = await self._exchange(method, path, content, into, most)
                if status < 300:
                    return headers
                into.seek(0)
                failure = self.refusal(status, headers, into.read(MAX_BYTES))
                failure.tries = tries
                if not failure.is_transient:
                    raise failure
                pause = _retry_after(headers)
                if pause is not None and pause > MAX_WAIT_S:
                    note = f"; it asks for a pause of {pause:.0f} s, and we wait {MAX_WAIT_S:.0f} s at most"
                    raise Failed(status, failure.words + note, failure.body, tries)
                wait = wait if pause is None else pause
            except TimeoutError:
                failure = TimedOut(None, "")
            except (httpx.HTTPError, OSError) as error:
                failure = Failed(None, self.secrets.hide(_reason(error)))
            failure.tries = tries
            if tries > retries or await self.pause(wait):
                break
        raise failure

    async def pause(self, seconds: float) -> bool:
        """Wait; return True if ``stopped`` was set meanwhile."""
        try:
            await asyncio.wait_for(self.stopped.wait(), seconds)
        except TimeoutError:
            return False
        return True

    async def _exchange(
        self, method: str, path: str, content: dict[str, Any], into: IO[bytes], most: int
    ) -> tuple[int, httpx.Headers]:
        into.seek(0)
        into.truncate()
        async with self.client.stream(method, self.url + path, **content) as response:
            async for chunk in response.aiter_bytes():
                into.write(chunk)
                if into.tell() > most:
                    raise Unreadable(response.status_code, f"more than {most // 2**20} MiB")
        return response.status_code, response.headers

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
            raise Unreadable(200, f"no JSON ({start[:60]!r})") from error
        if not isinstance(answer, dict):
            raise Unreadable(200, f"JSON that is not an object ({start[:60]!r})")
        # An answer may have thousands of texts, one per token, so each is checked only if needed.
        return dict(self.secrets.clean(answer)) if self.secrets.are_in(text) else answer

    def refusal(self, status: int, headers: httpx.Headers, content: bytes) -> Failed:
        """Return a refusal as a failure, with the server's cleaned message."""
        body: Any = None
        words = _plain(content)
        try:
            body = json.loads(content)
            error = body.get("error", body)
            words = str(error.get("message", words) if isinstance(error, dict) else error)
        except (ValueError, RecursionError, AttributeError):
            pass
        if 300 <= status < 400:
            words = f"it redirects to {headers.get('location', 'nowhere')}: make that the base_url"
        return Failed(status, self.clean(words), body)

    def clean(self, words: str) -> str:
        """Return a server's text for an error: plain characters, without secrets, cut to EXCERPT."""
        words = " ".join(re.sub(r"[\x00-\x1f\x7f-\x9f]", " ", words).split())
        return self.secrets.hide(words)[:EXCERPT]


def _plain(content: bytes) -> str:
    """Return bytes as searchable text: UTF-8, and UTF-16 or UTF-32 without zero bytes."""
    return content.replace(b"\0", b"").decode("utf-8", "replace")


def _reason(error: BaseException) -> str:
    """Return the operating system's reason for a failed connection, from below the HTTP library's error."""
    cause, words = error, str(error) or type(error).__name__
    while cause := cause.__cause__ or cause.__context__:  # type: ignore[assignment]
        if isinstance(cause, OSError) and cause.errno and cause.errno > 0:
            words = os.strerror(cause.errno)
    return words


def _retry_after(headers: httpx.Headers) -> float | None:
    """Return the seconds in Retry-After, which is a number or a date; None if it is missing or invalid."""
    header = headers.get("retry-after", "")
    try:
        seconds = float(header)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(header).timestamp() - time.time()
        except ValueError:
            return None
    return max(0.0, seconds) if seconds == seconds else None


def checked(model: type[M], body: Any) -> M:
    """Return an answer as a model; raises Unreadable, which names the difference, if it does not fit."""
    try:
        return model.model_validate(body)
    except ValidationError as error:
        raise Unreadable(200, next(complaints(error, "answer"))) from None


def count(value: Any) -> int:
    """Return the tokens that a server reports; 0 if it reports no valid count."""
    return min(max(value, 0), MAX_COUNT) if isinstance(value, int) else 0
