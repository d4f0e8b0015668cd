"""Servers that echo keys, send too slowly or too much, or ask for pauses; all run locally."""

from __future__ import annotations

import base64
import gzip
import json
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler
from itertools import count
from threading import Event
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.engines.protocols import EngineError, Generation, Sampling
from tasks.engines.secrets import Secrets
from tasks.engines.served import transport
from tasks.engines.served.openai_http import OpenAIGenerator
from tasks.engines.served.transport import Caller, Pace
from tasks.engines.specs import EngineSpec
from tests.engines.served import TALK, completion
from tests.http_server import HttpServer

KEY = "sk-very/secret+key_0123456789"
Handler = Callable[[BaseHTTPRequestHandler], None]
Ask = Callable[..., Generation]
GOOD = json.dumps(completion("good")).encode()


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch) -> Iterator[Ask]:
    """Ask a server that handles POST requests by a given function; no retries unless an option sets them."""
    monkeypatch.setenv("TEST_API_KEY", KEY)
    with ExitStack() as servers:

        def ask(handler: Handler, **options: Any) -> Generation:
            server = HttpServer(lambda _: handler)
            servers.callback(server.close)
            spec = EngineSpec(
                name="served", kind="openai", model="m", base_url=f"{server.address}/v1",
                api_key_env="TEST_API_KEY", options={"max_retries": 0, "timeout": 20} | options,
            )  # fmt: skip
            return OpenAIGenerator(spec).generate(TALK, Sampling())[0]

        yield ask


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses before further tries, in seconds; they take no time."""
    pauses: list[float] = []

    async def pause(_: Caller, seconds: float) -> bool:
        pauses.extend([seconds] if seconds else [])
        return False

    monkeypatch.setattr(Caller, "pause", pause)
    return pauses


def send(
    handler: BaseHTTPRequestHandler,
    body: bytes,
    status: int = 200,
    kind: str = "application/json",
    **more: str,
) -> None:
    handler.send_response(status)
    for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **more}.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(body)


# --- secrets -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [302, 401, 429, 500])
def test_echoed_key_is_in_no_error(status: int, ask: Ask) -> None:
    """The server echoes headers, their Basic form and the address, like proxies and debuggers."""
    basic = base64.b64encode(f"some-user:{KEY}".encode()).decode()

    def echo(handler: BaseHTTPRequestHandler) -> None:
        words = (
            f"{handler.headers['Authorization']} Basic {basic} https://bob:{KEY}@proxy.example/v1 "
            f"http://eve:pass-word@proxy.example/v1 {json.dumps(KEY)}"
        )
        body = json.dumps({"error": {"message": words, "code": "x"}}).encode()
        send(handler, body, status, Location=f"https://u:pass-word@else.example/{KEY}")

    with pytest.raises(EngineError) as caught:
        ask(echo)
    trace = "".join(traceback.format_exception(caught.value))
    for secret in (KEY, basic, basic[4:-4], "pass-word"):
        assert secret not in trace
    assert "127.0.0.1" in str(caught.value)


def test_echoed_key_is_hidden_in_pages_and_answers(ask: Ask) -> None:
    with pytest.raises(EngineError, match=r"a web page \('<p>Bearer \[key\]"):
        ask(lambda h: send(h, f"<p>{h.headers['Authorization']}</p>".encode(), kind="text/html"))
    answer = ask(lambda h: send(h, json.dumps(completion(f"it is {KEY}")).encode()))
    assert answer.text == "it is [key]"


@given(st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=8), st.binary(), st.binary())
def test_base64_of_the_key_is_hidden_inside_other_bytes(key: str, before: bytes, after: bytes) -> None:
    coded = base64.b64encode(before + key.encode() + after).decode()
    hidden = Secrets(key).hide(f"sent: {coded}")
    assert "[key]" in hidden
    assert len(hidden) <= len("sent: [key]") or len(coded) > 400


def test_short_key_is_hidden_in_errors_but_not_in_answers() -> None:
    assert Secrets("test").hide_in_answer("a test") == "a test"
    assert Secrets("test").hide("a test") == "a [key]"
    assert Secrets(None).hide("none http://a:b@c/d") == "none http://c/d"


# --- unreadable answers ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "kind", "error"),
    [
        (b"<!DOCTYPE html><title>Welcome</title>", "text/html", "a web page"),
        (b"\xff\xfe\x00garbage", "application/json", "no JSON"),
        (b"", "application/json", "no JSON"),
        (b"null", "application/json", "JSON that is not an object"),
    ],
)
def test_unreadable_answer_is_named_with_its_address(ask: Ask, body: bytes, kind: str, error: str) -> None:
    named = rf"http://127\.0\.0\.1:\d+/v1 gave no answer of the chat API \({error}.*base_url"
    with pytest.raises(EngineError, match=named):
        ask(lambda handler: send(handler, body, kind=kind))


def test_redirect_is_an_error_and_not_followed(ask: Ask) -> None:
    with pytest.raises(EngineError, match=r"redirects to https://llm\.example/v1/chat: make"):
        ask(lambda h: send(h, b"", 308, Location="https://llm.example/v1/chat"))


@pytest.mark.parametrize("packed", [False, True])
def test_answer_above_32_mib_is_cut_off(ask: Ask, packed: bool) -> None:
    sent = [0]

    def flood(handler: BaseHTTPRequestHandler) -> None:
        block = bytes(2**20)
        body = gzip.compress(bytes(200 * 2**20), 1) if packed else None
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(body) if body else 200 * len(block)))
        if body:
            handler.send_header("Content-Encoding", "gzip")
        handler.end_headers()
        for part in [body] if body else [block] * 200:
            handler.wfile.write(part)
            sent[0] += len(part)

    with pytest.raises(EngineError, match="more than 32 MiB"):
        ask(flood)
    assert sent[0] < 100 * 2**20


@pytest.mark.parametrize("part", ["headers", "body"])
def test_answer_sent_byte_by_byte_is_cut_off(ask: Ask, pauses: list[float], part: str) -> None:
    """The server sends one byte every 20 ms while the client stays connected."""
    ended = Event()

    def drip(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
        handler.wfile.write(b"Content-Length: 1000000\r\n\r\n" if part == "body" else b"X-Slow: ")
        while not ended.wait(0.02):
            handler.wfile.write(b" ")

    try:
        with pytest.raises(EngineError, match=r"no answer within 0\.5 s after 2 tries"):
            ask(drip, timeout=0.5, max_retries=1)
    finally:
        ended.set()
    assert len(pauses) == 1


# --- pauses ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("as_date", [False, True])
def test_retry_after_in_seconds_or_as_a_date_is_used(
    ask: Ask, monkeypatch: pytest.MonkeyPatch, pauses: list[float], as_date: bool
) -> None:
    now = 1_000_000_000.0
    monkeypatch.setattr(transport.time, "time", lambda: now)
    after = formatdate(now + 2, usegmt=True) if as_date else "1.5"
    tries = count()

    def busy_once(handler: BaseHTTPRequestHandler) -> None:
        if next(tries):
            send(handler, GOOD)
        else:
            send(handler, b'{"error": {"message": "busy"}}', 429, Retry_After=after)

    assert ask(busy_once, max_retries=1).text == "good"
    assert pauses == [2.0 if as_date else 1.5]


@pytest.mark.parametrize("retry_after", ["soon", "nan", "", "-5"])
def test_unreadable_retry_after_is_ignored_and_negative_retry_after_is_0(
    ask: Ask, pauses: list[float], retry_after: str
) -> None:
    with pytest.raises(EngineError, match="failed after 3 tries"):
        ask(lambda handler: send(handler, b"{}", 503, Retry_After=retry_after), max_retries=2)
    if retry_after == "-5":
        assert pauses == []
    else:
        assert 0 < pauses[0] <= transport.FIRST_WAIT_S < pauses[1]


# --- turns -------------------------------------------------------------------------------------------


def test_turns_have_even_distances() -> None:
    now = 100.0
    pace = Pace(120, lambda: now)
    starts = []
    for own_work in (0.0, 0.2, 0.0, 3.0, 0.0):
        now += pace.turn()
        starts.append(now)
        now += own_work
    # Half a second apart; three seconds of other work do not shorten later distances.
    assert starts == pytest.approx([100, 100.5, 101, 101.5, 104.5])


def test_concurrent_threads_get_different_turns() -> None:
    waits: list[float] = []
    pace = Pace(60, lambda: 0.0)  # the time stands still, so that the waits are the turns
    threads = [threading.Thread(target=lambda: waits.append(pace.turn())) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(waits) == [float(i) for i in range(20)]


def test_no_limit_means_no_wait() -> None:
    free = Pace(None, lambda: 100.0)
    assert all(free.turn() == 0 for _ in range(100))
