"""A SPARQL endpoint, queried by the polite session: one query at a time, with limits of time and size.

SPARQLWrapper prepares the query, and the session sends it. Redirects are not followed, because the query may
get lost.
"""

from __future__ import annotations

import codecs
import mmap
import os
import re
from functools import partial
from hashlib import file_digest, sha256
from html import unescape
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO
from urllib.parse import urljoin, urlsplit
from urllib.request import getproxies, proxy_bypass

import ijson
import polars as pl
from SPARQLWrapper import SPARQLWrapper

from scrapers.http import WORTH_A_RETRY, OutOfTimeError, PoliteSession, Received, TooSlowError
from scrapers.model import ScrapeError, TransientError
from scrapers.wikidata.join import Traffic

MAX_BYTES = 192 * 2**20
"""Maximum bytes of one answer, about 2 million dishes; it is stored in a file and read within 0.2 GB of
memory."""
TIMEOUT_FACTOR = 1.25
"""Our limit of time as a multiple of the endpoint's, so that its message or the result still arrives."""
ACCEPTED = "application/sparql-results+json,application/json,text/javascript,application/javascript"
USER_AGENT_POLICY = "https://foundation.wikimedia.org/wiki/Policy:Wikimedia_Foundation_User-Agent_Policy"
TIMED_OUT = b"java.util.concurrent.TimeoutException"
"""Message of a timeout in Blazegraph, the Wikidata Query Service's database: with status 500, or within a
result that it began to send with status 200."""
TIMEOUT_MESSAGE = "the endpoint ended the query because it took too long"
EXCERPT_CHARS = 200
BATCH = 20_000
"""Maximum number of rows held as Python objects, which take ten times the memory of rows in a frame."""
MAX_DEPTH = 5
"""Levels of a result: the object, results, bindings, a row, a value. Deeper JSON is not a result."""
NOT_A_RESULT = (ValueError, KeyError, ijson.JSONError)
"""Errors that ``read_result`` raises."""

_ROWS = ["results", "bindings", ""]


class Endpoint:
    """A SPARQL 1.1 endpoint for the queries of one harvest.

    Args:
        url: http or https address without user name and password.
        user_agent: names the program and a contact.
        query_timeout_s: the endpoint's own limit per query (Wikidata: 60 seconds); ours is a quarter longer.
        deadline_s: seconds for all queries, pauses and retries, from the first query on.
        pause_s: seconds between the end of a query and the start of the next. Before retries they double each
            time, up to a minute, unless the server names a time (Retry-After).
        retries: maximum retries of a query after transient errors; a query that took too long is not
            repeated.

    Raises:
        ValueError: the address or user agent is not valid.
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
            raise ValueError("the endpoint must be an http or https address without user name and password")
        if not user_agent.strip() or re.search(r"[\r\n]", user_agent):
            raise ValueError("user_agent must be one line that names the program and a contact")
        self.url = url
        self._query_timeout_s, self._deadline_s = query_timeout_s, deadline_s
        proxy = None if proxy_bypass(parts.hostname) else getproxies().get(parts.scheme)
        # The user chooses the endpoint, which may be a server on this machine.
        self._session = PoliteSession(
            user_agent,
            Path(),  # not used, because only forms are sent
            deadline_s=deadline_s,
            max_bytes=MAX_BYTES,
            pause_s=pause_s,
            retries=retries,
            first_wait_s=2 * pause_s,
            allow_private=True,
            proxy=proxy,
        )
        self._queries, self._bytes, self._digest = 0, 0, sha256()

    @property
    def traffic(self) -> Traffic:
        """Number, bytes and hash of all answers up to now."""
        return Traffic(self._queries, self._bytes, self._digest.hexdigest())

    def select(self, query: str) -> pl.DataFrame:
        """Return the result of a SELECT query: one string column per variable, in the query's order.

        Addresses and literals are returned as their text, blank nodes as ``_:name``, unbound variables as
        null.

        Raises:
            TooSlowError: the query took longer than its limit; it is not repeated.
            TransientError: all retries failed, or the requested wait would pass the deadline.
            ScrapeError: the query was refused, redirected or not accepted, its answer is too large, or the
                deadline is over.
        """
        wrapper = SPARQLWrapper(self.url)
        wrapper.setQuery(query)
        form = {"query": wrapper.queryString}
        headers = {"Accept": ACCEPTED, "Accept-Encoding": "identity"}
        with TemporaryFile() as file:
            try:
                frame = self._session.post(
                    wrapper.endpoint,
                    form,
                    partial(_read, file),
                    headers,
                    TIMEOUT_FACTOR * self._query_timeout_s,
                )
            except OutOfTimeError as error:
                raise ScrapeError(
                    f"{self.url}: the deadline of {self._deadline_s:.0f} s is over after {self._queries} "
                    "answered queries: request fewer languages or allow a longer deadline"
                ) from error
            self._queries += 1
            self._bytes += file.seek(0, os.SEEK_END)
            file.seek(0)
            file_digest(file, lambda: self._digest)
        return frame


def _read(file: IO[bytes], received: Received) -> pl.DataFrame:
    """Return the result in an answer, and store its content, which may be large, in ``file``.

    Raises:
        TooSlowError: the endpoint ended the query because it took too long; a smaller one may succeed.
        TransientError: the endpoint is overloaded, throttled or broken, or its answer with status 200 is not
        a
            SPARQL result in JSON, such as an overloaded service's page or an incomplete answer.
        ScrapeError: another try would fail too.
    """
    file.seek(0)
    file.truncate()
    file.writelines(received.pieces())
    size, kind = file.tell(), received.headers.get("Content-Type", "no Content-Type")
    file.seek(0)
    if received.status == 200 and "json" in kind:
        try:
            return read_result(file)
        except NOT_A_RESULT:
            pass
    if received.status in (200, 500) and _timed_out(file, size):
        raise TooSlowError(f"{received.url}: {TIMEOUT_MESSAGE}")
    file.seek(0)
    start = file.read(20_000)  # enough for a message
    if received.status == 200:
        raise TransientError(
            f"{received.url} answered with {size:,} bytes ({kind}) that are not a SPARQL result in JSON: "
            f"{excerpt(start)}"
        )
    raise _refusal(received, start)


def read_result(content: IO[bytes]) -> pl.DataFrame:
    """Return one string column per variable, in the query's order.

    Addresses and literals are returned as their text, blank nodes as ``_:name``, unbound variables as null.
    Half a surrogate pair becomes a question mark.

    Raises:
        NOT_A_RESULT: the content is not JSON, not the result of a SELECT query, or incomplete.
    """
    names: list[str] = []
    frames: list[pl.DataFrame] = []
    rows: list[dict[str, str]] = []
    row: dict[str, str] = {}
    value: dict[str, str] = {}
    path: list[str] = []  # keys down to the present event; "" within an array
    is_result = False
    begin = content.tell()
    if content.read(len(codecs.BOM_UTF8)) != codecs.BOM_UTF8:  # ijson takes a mark for damage
        content.seek(begin)
    for event, content_value in ijson.basic_parse(content):
        depth = len(path)
        if event == "map_key":
            path[-1] = content_value
        elif event == "string":
            if depth == MAX_DEPTH:
                value[path[-1]] = content_value
            elif path == ["head", "vars", ""]:
                names.append(content_value)
        elif event in ("start_map", "start_array"):
            path.append("")
            if depth == MAX_DEPTH:
                raise ValueError("the JSON is nested deeper than a SPARQL result")
            if depth == 4:
                value = {}
            elif depth == 3:
                row = {}
        elif event in ("end_map", "end_array"):
            if path[:3] == _ROWS:
                if depth == 5:
                    row[path[3]] = f"_:{value['value']}" if value["type"] == "bnode" else value["value"]
                elif depth == 4:
                    rows.append(row)
                    if names and len(rows) == BATCH:
                        frames.append(_batch_frame(rows, names))
                        rows = []
                elif depth == 3:
                    is_result = True
            path.pop()
    if not names or not is_result:
        raise ValueError("the JSON has no variables or no rows")
    return pl.concat([*frames, _batch_frame(rows, names)])


def _batch_frame(rows: list[dict[str, str]], names: list[str]) -> pl.DataFrame:
    columns = {name: [row.get(name) for row in rows] for name in names}
    return pl.DataFrame(columns, schema=dict.fromkeys(names, pl.String))


def _refusal(received: Received, start: bytes) -> ScrapeError:
    """Return the error for a status other than success."""
    url, status, words = received.url, received.status, excerpt(start)
    if 300 <= status < 400:
        target = urljoin(str(url), received.headers.get("Location", "(no address)"))
        return ScrapeError(
            f"{url} redirects ({status}) to {target}. A redirected query may lose its body: if you "
            "trust that address, configure it as the endpoint"
        )
    if status == 403:
        return ScrapeError(
            f"{url} refuses this client (403): {words}. Check that the User-Agent names the program "
            f"and a contact: {USER_AGENT_POLICY}"
        )
    if status in WORTH_A_RETRY or status >= 500:
        seconds = received.retry_after()
        wait = "" if seconds is None else f" It asks to wait {seconds:.0f} s."
        return TransientError(f"{url}: status {status}: {words}.{wait}", seconds)
    if status == 400:
        lines = "\n".join(start.decode(errors="replace").strip().splitlines()[:5])
        return ScrapeError(f"{url} does not accept the query (400):\n{lines}")
    return ScrapeError(f"{url}: status {status}: {words}. Check the address of the endpoint")


def _timed_out(file: IO[bytes], size: int) -> bool:
    """Return whether the answer contains the endpoint's message of a timeout."""
    if size == 0:
        return False
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return content.find(TIMED_OUT) >= 0


def excerpt(content: bytes) -> str:
    """Return the beginning of the visible text."""
    text = re.sub(r"(?is)<(script|style)\b.*?</\1>|<[^>]*>", " ", content.decode(errors="replace"))
    return " ".join(unescape(text).split())[:EXCERPT_CHARS] or "(empty)"
