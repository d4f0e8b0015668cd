"""Faults of SPARQL over HTTP, against a local scripted server."""

from __future__ import annotations

import gzip
from hashlib import sha256
from http.server import BaseHTTPRequestHandler
from urllib.parse import parse_qs

import pytest

from scrapers.http import TooSlowError
from scrapers.model import ScrapeError, TransientError
from scrapers.wikidata import endpoint as endpoint_module
from scrapers.wikidata.endpoint import Endpoint
from tests.http_server import Answer
from tests.scrapers.wikidata.servers import RESULT, reply
from tests.scrapers.wikidata.servers import Endpoint as Scripted

AGENT = "culturemeter-tests (tests@example.org)"
QUERY = "# A comment,\n# to add the words load and clear.\nSELECT ?x {}"
WDQS_TIMEOUT = b"SPARQL-QUERY: ...\njava.util.concurrent.TimeoutException\n\tat java.base/..."


def ask(server: Scripted, retries: int = 1, **limits: float) -> list[str | None]:
    """Return the values of ?x."""
    limits = {"deadline_s": 30, "query_timeout_s": 30, **limits}
    endpoint = Endpoint(server.url, user_agent=AGENT, pause_s=0, retries=retries, **limits)
    return endpoint.select(QUERY)["x"].to_list()


def test_query_is_posted_with_agent_and_accept_header(server: Scripted) -> None:
    server.scripts = [reply(200)]
    assert ask(server) == ["ok"]
    (asked,) = server.received
    assert asked.path == "/sparql"
    assert parse_qs(asked.body.decode()) == {"query": [QUERY]}
    assert asked.headers["User-Agent"] == AGENT
    assert asked.headers["Accept"].startswith("application/sparql-results+json")


def test_empty_result_keeps_its_columns(server: Scripted) -> None:
    server.scripts = [reply(200, b'{"head":{"vars":["x"]},"results":{"bindings":[]}}')]
    assert ask(server) == []


REDIRECT = r"/sparql redirects \({}\) to http://127.*/elsewhere"


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        (reply(301, b"", Location="/elsewhere"), ScrapeError, REDIRECT.format(301)),
        (reply(307, b"", Location="/elsewhere"), ScrapeError, REDIRECT.format(307)),
        (reply(403, b"<h1>Forbidden</h1>", Content_Type="text/html"), ScrapeError,
         r"403\): Forbidden\. .*User-Agent_Policy"),
        (reply(400, b"Parse error\nline 1, column 8\n" + b"at x\n" * 99), ScrapeError,
         r"400\):\nParse error\nline 1, column 8\nat x\nat x\nat x$"),
        (reply(500, RESULT[:-9] + WDQS_TIMEOUT), TooSlowError, "took too long"),
        (reply(200, RESULT[:-9] + WDQS_TIMEOUT), TooSlowError, "took too long"),  # inside a result
    ],
    ids=["redirect 301", "redirect 307", "403", "400", "timeout", "timeout inside a result"],
)  # fmt: skip
def test_final_answer_is_reported_and_not_retried(
    server: Scripted, answer: Answer, error: type[ScrapeError], message: str
) -> None:
    server.scripts = [answer]
    with pytest.raises(error, match=message) as raised:
        ask(server, retries=5)
    assert isinstance(raised.value, TransientError) is (error is TooSlowError)
    assert [asked.method for asked in server.received] == ["POST"]


def test_wait_beyond_the_deadline_is_not_started(server: Scripted) -> None:
    server.scripts = [reply(429, b"You have been banned", Retry_After="86400")]
    with pytest.raises(TransientError, match=r"banned\. It asks to wait 86400 s") as raised:
        ask(server, retries=9)
    assert raised.value.retry_after == 86400
    assert len(server.received) == 1


@pytest.mark.parametrize("status", [429, 500, 504])
def test_transient_statuses_are_retried_and_then_reported(server: Scripted, status: int) -> None:
    server.scripts = [reply(status, b"busy"), reply(status, b"busy"), reply(200)]
    assert ask(server, retries=2) == ["ok"]
    server.scripts = [reply(status, b"busy")]
    server.received.clear()
    with pytest.raises(TransientError, match=f"status {status}: busy"):
        ask(server, retries=2)
    assert len(server.received) == 3


@pytest.mark.parametrize("kind", ["text/html; charset=utf-8", "application/sparql-results+json"])
def test_html_with_status_200_is_transient_and_quoted(server: Scripted, kind: str) -> None:
    page = b"<html><style>p {}</style><title>Too busy</title><p>Try &amp; wait" + b" again" * 99 + b"</html>"
    server.scripts = [reply(200, page, Content_Type=kind)]
    quoted = r"not a SPARQL result in JSON: Too busy Try & wait again"
    with pytest.raises(TransientError, match=quoted) as raised:
        ask(server, retries=0)
    assert "{}" not in str(raised.value)
    server.scripts = [reply(200, page, Content_Type=kind), reply(200)]
    assert ask(server) == ["ok"]


@pytest.mark.parametrize(
    "body", [b'{"boolean": true}', b"[1]", b'{"head":{"vars":["x"]},"results":null}', b"\xff", b"[" * 20_000]
)
def test_json_without_a_result_is_refused(server: Scripted, body: bytes) -> None:
    server.scripts = [reply(200, body)]
    with pytest.raises(TransientError, match="not a SPARQL result in JSON"):
        ask(server, retries=0)


def test_unrequested_gzip_is_decoded(server: Scripted) -> None:
    server.scripts = [reply(200, gzip.compress(RESULT), Content_Encoding="gzip")]
    endpoint = Endpoint(server.url, user_agent=AGENT)
    assert endpoint.select(QUERY)["x"].to_list() == ["ok"]
    assert server.received[0].headers["Accept-Encoding"] == "identity"
    assert endpoint.traffic.bytes == len(RESULT)


@pytest.mark.parametrize("packed", [False, True])
def test_too_large_answer_is_refused(server: Scripted, monkeypatch: pytest.MonkeyPatch, packed: bool) -> None:
    monkeypatch.setattr(endpoint_module, "MAX_BYTES", 5000)
    body = RESULT + b" " * 5000
    server.scripts = [
        reply(200, gzip.compress(body), Content_Encoding="gzip") if packed else reply(200, body)
    ]
    with pytest.raises(ScrapeError, match="larger than 5,000 bytes"):
        ask(server)
    assert len(server.received) == 1


@pytest.mark.parametrize(
    "begun",
    [
        b"HTTP/1.1 200 OK\r\nContent-Type: application/sparql-results+json\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX-Slow: ",
    ],
    ids=["endless body", "endless header"],
)
@pytest.mark.parametrize(
    ("limit", "error", "message"),
    [
        ("deadline_s", ScrapeError, r"deadline of 2 s is over after 0 answered"),
        ("query_timeout_s", TooSlowError, r"no complete answer within 2\.0 s"),
    ],
)
def test_slow_answer_is_cut_off_and_not_retried(
    server: Scripted, begun: bytes, limit: str, error: type[ScrapeError], message: str
) -> None:
    """A byte comes at a time, so that no single read takes long."""

    def drip(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(begun)
        while not server.closing.wait(0.02):
            handler.wfile.write(b" ")

    server.scripts = [drip]
    with pytest.raises(error, match=message) as raised:
        ask(server, retries=5, **{limit: 1.6})
    assert isinstance(raised.value, TransientError) is (error is TooSlowError)
    assert len(server.received) <= 1


def test_traffic_has_count_bytes_and_hash_of_the_answers(server: Scripted) -> None:
    second = RESULT.replace(b"ok", b"no")
    server.scripts = [reply(200), reply(502), reply(200, second)]
    endpoint = Endpoint(server.url, user_agent=AGENT, pause_s=0)
    endpoint.select(QUERY)
    endpoint.select(QUERY)
    assert endpoint.traffic.queries == 2
    assert endpoint.traffic.bytes == 2 * len(RESULT)
    assert endpoint.traffic.sha256 == sha256(RESULT + second).hexdigest()


@pytest.mark.parametrize("url", ["ftp://x/", "file:///etc/passwd", "https://user:secret@x/", "https:///q"])
def test_invalid_endpoint_addresses_are_refused(url: str) -> None:
    with pytest.raises(ValueError, match="http or https") as raised:
        Endpoint(url, user_agent=AGENT)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("agent", ["", "  ", "x\r\nHost: y"])
def test_empty_or_injecting_user_agents_are_refused(agent: str) -> None:
    with pytest.raises(ValueError, match="user_agent"):
        Endpoint("https://example.org/sparql", user_agent=agent)
