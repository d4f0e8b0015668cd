"""One SPARQL endpoint, asked politely: one query at a time, pauses, bounded retries, an overall deadline."""

from __future__ import annotations

import re
import time
from hashlib import sha256
from threading import Lock
from typing import Any
from urllib.parse import urlsplit

import polars as pl
from SPARQLWrapper import JSON, POST, SELECT, SPARQLWrapper
from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt, stop_before_delay

from scrapers.model import ScrapeError, TransientError
from scrapers.wikidata.harvest import Traffic
from scrapers.wikidata.transport import Answer, TooSlowError, check, not_a_result, send

MAX_BYTES = 32 * 2**20
"""Of one answer, 300,000 dishes or so; reading one this large takes about 0.3 GB of memory."""
GRACE = 1.25
"""How much longer than the endpoint's own limit a query may take, for its message and the transfer."""


class _Client(SPARQLWrapper):
    """SPARQLWrapper 2.0.0 writes the request and reads the result; sending it is ours."""

    def __init__(self, url: str, user_agent: str, query: str, seconds: float) -> None:
        super().__init__(url, returnFormat=JSON, agent=user_agent)
        self.setMethod(POST)
        self.setOnlyConneg(True)
        self.setQuery(query)
        # It guesses the kind of a query from words like "add", also in comments.
        self.queryType = SELECT
        self._seconds = seconds
        self.answer: Answer

    def _query(self) -> tuple[Any, str]:
        self.answer = send(self._createRequest(), self._seconds, MAX_BYTES)
        check(self.endpoint, self.answer)
        if "json" not in self.answer.headers.get("Content-Type", ""):
            raise not_a_result(self.endpoint, self.answer)
        return self.answer, self.returnFormat


class Endpoint:
    """A SPARQL 1.1 endpoint for the queries of one harvest.

    Args:
        url: http or https, without user name and password.
        user_agent: says which program asks, and whom to write to.
        query_timeout_s: the endpoint's own limit a query (Wikidata: 60). Cut off here after a quarter more.
        deadline_s: for everything, counted from the first query, pauses and retries included.
        pause_s: between the end of one query and the start of the next. Retries wait twice that, four times
            and so on, or what Retry-After says.
        retries: of one query after transient errors; one that takes too long is not asked again as it is.

    Raises:
        ValueError: an address or a user agent that cannot be used.
    """

    def __init__(
        self,
        url: str,
        *,
        user_agent: str,
        query_timeout_s: float = 60,
        deadline_s: float = 1800,
        pause_s: float = 1.0,
        retries: int = 4,
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
            raise ValueError("a SPARQL endpoint is an http or https address without user name and password")
        if not user_agent.strip() or re.search(r"[\r\n]", user_agent):
            raise ValueError("user_agent must be one line that names the program and a contact")
        self.url = url
        self._user_agent = user_agent
        self._query_timeout_s, self._deadline_s = query_timeout_s, deadline_s
        self._pause_s, self._retries = pause_s, retries
        self._one_at_a_time = Lock()
        self._started: float | None = None
        self._next_start = 0.0
        self._queries, self._bytes, self._digest = 0, 0, sha256()

    @property
    def traffic(self) -> Traffic:
        """All answers up to now."""
        return Traffic(self._queries, self._bytes, self._digest.hexdigest())

    def select(self, query: str) -> pl.DataFrame:
        """The result of a SELECT query: one string column a variable, in the query's order.

        Addresses and literals come as their text, blank nodes as ``_:name``, unbound variables as null.

        Raises:
            TooSlowError: the query took too long, by its own limit. Not asked again.
            TransientError: still failing after all retries, or the wait asked for would pass the deadline.
            ScrapeError: refused, redirected, not accepted or too large; or the deadline is over.
        """
        with self._one_at_a_time:
            if self._started is None:
                self._started = time.monotonic()
            attempts = Retrying(
                retry=retry_if_exception(_again),
                stop=stop_after_attempt(self._retries + 1) | stop_before_delay(max(0.0, self._left())),
                wait=self._wait,
                reraise=True,
            )
            frame: pl.DataFrame = attempts(self._ask, query)
            return frame

    def _left(self) -> float:
        """Seconds until the deadline."""
        started = time.monotonic() if self._started is None else self._started
        return started + self._deadline_s - time.monotonic()

    def _wait(self, state: RetryCallState) -> float:
        """Seconds before the next try."""
        error = state.outcome.exception() if state.outcome else None
        wish = error.retry_after if isinstance(error, TransientError) else None
        return float(wish if wish is not None else self._pause_s * 2**state.attempt_number)

    def _ask(self, query: str) -> pl.DataFrame:
        """Ask once."""
        time.sleep(max(0.0, min(self._next_start - time.monotonic(), self._left())))
        left = self._left()
        if left <= 0:
            raise ScrapeError(self._deadline_over())
        seconds = min(GRACE * self._query_timeout_s, left)
        client = _Client(self.url, self._user_agent, query, seconds)
        try:
            result = client.queryAndConvert()
        except TooSlowError as error:
            if self._left() <= 0:
                raise ScrapeError(self._deadline_over()) from error
            raise
        except (ValueError, TypeError, RecursionError) as error:
            raise not_a_result(self.url, client.answer) from error
        finally:
            self._next_start = time.monotonic() + self._pause_s
        frame = _frame(self.url, client.answer, result)
        self._queries += 1
        self._bytes += len(client.answer.content)
        self._digest.update(client.answer.content)
        return frame

    def _deadline_over(self) -> str:
        return (
            f"{self.url}: the deadline of {self._deadline_s:.0f} s is over after {self._queries} answered "
            f"queries; ask for fewer languages or give it more time"
        )


def _again(error: BaseException) -> bool:
    return isinstance(error, TransientError) and not isinstance(error, TooSlowError)


def _frame(url: str, answer: Answer, result: Any) -> pl.DataFrame:
    """A SPARQL 1.1 JSON result as a frame."""
    try:
        names = result["head"]["vars"]
        bindings = result["results"]["bindings"]
        columns = {name: [_text(row.get(name)) for row in bindings] for name in names}
        return pl.DataFrame(columns, schema=dict.fromkeys(names, pl.String))
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise not_a_result(url, answer) from error


def _text(value: dict[str, str] | None) -> str | None:
    if value is None:
        return None
    return f"_:{value['value']}" if value["type"] == "bnode" else value["value"]
