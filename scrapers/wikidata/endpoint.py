"""One SPARQL endpoint, asked politely: one query at a time, pauses, bounded retries, an overall deadline."""

from __future__ import annotations

import re
import time
from hashlib import file_digest, sha256
from tempfile import TemporaryFile
from threading import Lock
from urllib.parse import urlsplit
from urllib.request import Request

import polars as pl
from SPARQLWrapper import JSON, POST, SELECT, SPARQLWrapper
from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt, stop_before_delay

from scrapers.model import ScrapeError, TransientError
from scrapers.wikidata.harvest import Traffic
from scrapers.wikidata.result import NOT_A_RESULT, read_result
from scrapers.wikidata.transport import Answer, TooSlowError, check, not_a_result, send

MAX_BYTES = 192 * 2**20
"""Of one answer, 2 million dishes or so: kept in a file, and read within 0.2 GB of memory."""
GRACE = 1.25
"""How much longer than the endpoint's own limit a query may take, for its message and the transfer."""


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
        with TemporaryFile() as file:
            try:
                answer = send(_request(self.url, self._user_agent, query), seconds, MAX_BYTES, file)
                check(self.url, answer)
                frame = _frame(self.url, answer)
            except TooSlowError as error:
                if self._left() <= 0:
                    raise ScrapeError(self._deadline_over()) from error
                raise
            finally:
                self._next_start = time.monotonic() + self._pause_s
            self._queries += 1
            self._bytes += answer.size
            file.seek(0)
            file_digest(file, lambda: self._digest)
        return frame

    def _deadline_over(self) -> str:
        return (
            f"{self.url}: the deadline of {self._deadline_s:.0f} s is over after {self._queries} answered "
            f"queries; ask for fewer languages or give it more time"
        )


def _again(error: BaseException) -> bool:
    return isinstance(error, TransientError) and not isinstance(error, TooSlowError)


def _request(url: str, user_agent: str, query: str) -> Request:
    """SPARQLWrapper 2.0.0 writes the request; sending it and reading its answer are ours."""
    wrapper = SPARQLWrapper(url, returnFormat=JSON, agent=user_agent)
    wrapper.setMethod(POST)
    wrapper.setOnlyConneg(True)
    wrapper.setQuery(query)
    wrapper.queryType = SELECT  # it guesses the kind from words like "add", also in comments
    request: Request = wrapper._createRequest()
    return request


def _frame(url: str, answer: Answer) -> pl.DataFrame:
    answer.content.seek(0)
    try:
        return read_result(answer.content)
    except NOT_A_RESULT as error:
        raise not_a_result(url, answer) from error
