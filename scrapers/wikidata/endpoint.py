"""One SPARQL endpoint, queried by the polite session: one query at a time, bounded in time and size.

SPARQLWrapper holds the query, and the session sends it. A redirect is not followed: the query may get lost.
"""

from __future__ import annotations

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
"""Most bytes of one answer, about 2 million dishes; stored in a file and read within 0.2 GB of memory."""
GRACE = 1.25
"""Factor by which we wait longer than the endpoint's own limit, to receive its message or the result."""
ACCEPTED = "application/sparql-results+json,application/json,text/javascript,application/javascript"
USER_AGENT_POLICY = "https://foundation.wikimedia.org/wiki/Policy:Wikimedia_Foundation_User-Agent_Policy"
TIMED_OUT = b"java.util.concurrent.TimeoutException"
"""Blazegraph, which runs the Wikidata Query Service, says so with status 500, or within a result that it had
begun to send with status 200."""
ENDED = "the endpoint ended the query because it took too long"
SHOWN = 200
BATCH = 20_000
"""Most rows held as Python objects; each takes ten times its memory in the frame."""
DEEPEST = 5
"""Levels of a result: itself, results, bindings, a row, a value. Deeper JSON is not a result."""
NOT_A_RESULT = (ValueError, KeyError, ijson.JSONError)
"""Errors that ``read_result`` raises."""

_ROWS = ["results", "bindings", ""]


class Endpoint:
    """A SPARQL 1.1 endpoint for the queries of one harvest.

    Args:
        url: http or https, without user name and password.
        user_agent: says which program asks, and whom to write to.
        query_timeout_s: the endpoint's own limit a query (Wikidata: 60). Cut off here after a quarter more.
        deadline_s: for everything, counted from the first query, pauses and retries included.
        pause_s: between the end of one query and the start of the next. Retries wait twice that, four times
            and so on, up to a minute, or what Retry-After says.
        retries: of one query after transient errors; a query that takes too long is not repeated unchanged.

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
            raise ValueError("a SPARQL endpoint is an http or https address without user name and password")
        if not user_agent.strip() or re.search(r"[\r\n]", user_agent):
            raise ValueError("user_agent must be one line that names the program and a contact")
        self.url = url
        self._query_timeout_s, self._deadline_s = query_timeout_s, deadline_s
        proxy = None if proxy_bypass(parts.hostname) else getproxies().get(parts.scheme)
        # The endpoint is the user's own choice, and may be a server on this machine.
        self._session = PoliteSession(
            user_agent,
            Path(),  # it sends only forms
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
        """All answers up to now."""
        return Traffic(self._queries, self._bytes, self._digest.hexdigest())

    def select(self, query: str) -> pl.DataFrame:
        """Return the result of a SELECT query: one string column per variable, in the query's order.

        Addresses and literals come as their text, blank nodes as ``_:name``, unbound variables as null.

        Raises:
            TooSlowError: the query took longer than its own limit; it is not repeated.
            TransientError: still failing after all retries, or the requested wait would pass the deadline.
            ScrapeError: refused, redirected, not accepted or too large; or the deadline is over.
        """
        wrapper = SPARQLWrapper(self.url)
        wrapper.setQuery(query)
        form = {"query": wrapper.queryString}
        headers = {"Accept": ACCEPTED, "Accept-Encoding": "identity"}
        with TemporaryFile() as file:
            try:
                frame = self._session.post(
                    wrapper.endpoint, form, partial(_read, file), headers, GRACE * self._query_timeout_s
                )
            except OutOfTimeError as error:
                raise ScrapeError(
                    f"{self.url}: the deadline of {self._deadline_s:.0f} s is over after {self._queries} "
                    "answered queries; ask for fewer languages or give it more time"
                ) from error
            self._queries += 1
            self._bytes += file.seek(0, os.SEEK_END)
            file.seek(0)
            file_digest(file, lambda: self._digest)
        return frame


def _read(file: IO[bytes], received: Received) -> pl.DataFrame:
    """Return the result in an answer; its content, which may be large, stays in ``file``.

    Raises:
        TooSlowError: the endpoint stopped the query for its time; a smaller one may succeed.
        TransientError: overloaded, throttled or broken for the moment, or no SPARQL result in JSON though the
            status is 200: an overloaded service's page, or an answer cut short. ScrapeError: another try
            would fail too.
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
        raise TooSlowError(f"{received.url}: {ENDED}")
    file.seek(0)
    start = file.read(20_000)  # as much as people look at
    if received.status == 200:
        raise TransientError(
            f"{received.url} answered {size:,} bytes ({kind}) that are not a SPARQL result in JSON: "
            f"{excerpt(start)}"
        )
    raise _refusal(received, start)


def read_result(content: IO[bytes]) -> pl.DataFrame:
    """Return one string column per variable, in the query's order.

    Addresses and literals come as their text, blank nodes as ``_:name``, unbound variables as null. Half a
    surrogate pair becomes a question mark.

    Raises:
        NOT_A_RESULT: not JSON, not a SELECT's, or not whole.
    """
    names: list[str] = []
    frames: list[pl.DataFrame] = []
    rows: list[dict[str, str]] = []
    row: dict[str, str] = {}
    value: dict[str, str] = {}
    path: list[str] = []  # of keys, down to where the reader is; "" within an array
    is_result = False
    for event, content_value in ijson.basic_parse(content):
        depth = len(path)
        if event == "map_key":
            path[-1] = content_value
        elif event == "string":
            if depth == DEEPEST:
                value[path[-1]] = content_value
            elif path == ["head", "vars", ""]:
                names.append(content_value)
        elif event in ("start_map", "start_array"):
            path.append("")
            if depth == DEEPEST:
                raise ValueError("nested deeper than a result")
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
        raise ValueError("no variables or no rows")
    return pl.concat([*frames, _batch_frame(rows, names)])


def _batch_frame(rows: list[dict[str, str]], names: list[str]) -> pl.DataFrame:
    columns = {name: [row.get(name) for row in rows] for name in names}
    return pl.DataFrame(columns, schema=dict.fromkeys(names, pl.String))


def _refusal(received: Received, start: bytes) -> ScrapeError:
    """Return the error for a status that is not a success."""
    url, status, words = received.url, received.status, excerpt(start)
    if 300 <= status < 400:
        target = urljoin(str(url), received.headers.get("Location", "(no address)"))
        return ScrapeError(
            f"{url} redirects ({status}) to {target}. A redirected query may lose its body: if you "
            f"trust that address, give it as the endpoint"
        )
    if status == 403:
        return ScrapeError(
            f"{url} refuses this client (403): {words}. Check that the User-Agent names the program "
            f"and a contact: {USER_AGENT_POLICY}"
        )
    if status in WORTH_A_RETRY or status >= 500:
        wish = received.retry_after()
        wait = "" if wish is None else f" It asks to wait {wish:.0f} s."
        return TransientError(f"{url}: status {status}: {words}.{wait}", wish)
    if status == 400:
        lines = "\n".join(start.decode(errors="replace").strip().splitlines()[:5])
        return ScrapeError(f"{url} does not accept the query (400):\n{lines}")
    return ScrapeError(f"{url}: status {status}: {words}. Check the address of the endpoint")


def _timed_out(file: IO[bytes], size: int) -> bool:
    """Whether the endpoint says that it ended the query."""
    if size == 0:
        return False
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return content.find(TIMED_OUT) >= 0


def excerpt(content: bytes) -> str:
    """The first words that a reader would see."""
    text = re.sub(r"(?is)<(script|style)\b.*?</\1>|<[^>]*>", " ", content.decode(errors="replace"))
    return " ".join(unescape(text).split())[:SHOWN] or "(empty)"
