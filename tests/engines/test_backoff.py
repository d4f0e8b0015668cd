"""Waits between tries, and how answers are read, without a server."""

from __future__ import annotations

import asyncio
import json
from io import BytesIO
from typing import Any

import httpx
import pytest

from tasks.engines.secrets import Secrets
from tasks.engines.served import transport
from tasks.engines.served.transport import (
    EXCERPT,
    FIRST_WAIT_S,
    LONGEST_WAIT_S,
    MAX_WAIT_S,
    Caller,
    Failed,
    TimedOut,
    Unreadable,
)

GOOD = httpx.Response(200, json={"a": 1})


class ScriptedCaller:
    """A caller of a scripted server: answers come in turn, the last repeats; pauses are recorded only."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *answers: httpx.Response | Exception) -> None:
        self.answers, self.n, self.pauses = answers, 0, list[float]()
        self.stops_after: int | None = None
        monkeypatch.setattr(transport.random, "uniform", lambda low, high: high)

    def __call__(self, retries: int, **more: Any) -> dict[str, Any]:
        return asyncio.run(self._ask(retries, more))

    def _answer(self, request: httpx.Request) -> httpx.Response:
        answer = self.answers[min(self.n, len(self.answers) - 1)]
        self.n += 1
        if isinstance(answer, Exception):
            raise answer
        return httpx.Response(answer.status_code, headers=answer.headers, content=answer.content)

    async def _ask(self, retries: int, more: dict[str, Any]) -> dict[str, Any]:
        async def pause(seconds: float) -> bool:
            self.pauses.append(seconds)
            return len(self.pauses) == self.stops_after

        async with httpx.AsyncClient(transport=httpx.MockTransport(self._answer)) as client:
            caller = Caller(client, "http://here", Secrets(None), 20, retries)
            setattr(caller, "pause", pause)  # noqa: B010 - in place of a method
            return await caller.send("POST", "/", **more)


def full(**headers: str) -> httpx.Response:
    return httpx.Response(503, headers={k.replace("_", "-"): v for k, v in headers.items()}, text="full")


def test_waits_double_up_to_the_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = ScriptedCaller(monkeypatch, full())
    with pytest.raises(Failed) as failed:
        asked(9)
    assert asked.pauses == [min(FIRST_WAIT_S * 2**k, LONGEST_WAIT_S) for k in range(9)]
    assert asked.pauses[0] < asked.pauses[1]
    assert asked.pauses[-1] == LONGEST_WAIT_S
    assert (asked.n, failed.value.tries, failed.value.status) == (10, 10, 503)


def test_waits_are_drawn_between_75_and_100_percent(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[tuple[float, float]] = []
    asked = ScriptedCaller(monkeypatch, full(), GOOD)

    def uniform(low: float, high: float) -> float:
        drawn.append((low, high))
        return low

    monkeypatch.setattr(transport.random, "uniform", uniform)
    assert asked(1) == {"a": 1}
    assert set(drawn) == {(0.75, 1.0)}
    assert asked.pauses == [0.75 * FIRST_WAIT_S]


@pytest.mark.parametrize("asks_for", [0, 7, int(MAX_WAIT_S)])
def test_retry_after_of_the_server_is_used(monkeypatch: pytest.MonkeyPatch, asks_for: int) -> None:
    asked = ScriptedCaller(monkeypatch, full(retry_after=str(asks_for)), GOOD)
    assert asked(1) == {"a": 1}
    assert asked.pauses == [asks_for]


def test_retry_after_above_the_limit_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = ScriptedCaller(monkeypatch, full(retry_after=str(int(MAX_WAIT_S) + 1)), GOOD)
    with pytest.raises(Failed, match=f"we wait {MAX_WAIT_S:.0f} s at most"):
        asked(3)
    assert (asked.n, asked.pauses) == (1, [])


@pytest.mark.parametrize(
    ("first", "tries"),
    [(httpx.Response(408), 2), (httpx.Response(429), 2), (httpx.ReadError("lost"), 2), (TimeoutError(), 2),
     (OSError("no route"), 2), (httpx.Response(400), 1), (httpx.Response(404), 1), (httpx.Response(302), 1)],
)  # fmt: skip
def test_only_transient_failures_are_retried(
    monkeypatch: pytest.MonkeyPatch, first: httpx.Response | Exception, tries: int
) -> None:
    asked = ScriptedCaller(monkeypatch, first, GOOD)
    if tries == 2:
        assert asked(1) == {"a": 1}
    else:
        with pytest.raises(Failed) as failed:
            asked(1)
        assert failed.value.tries == 1
    assert (asked.n, len(asked.pauses)) == (tries, tries - 1)


def test_call_may_set_its_own_number_of_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = ScriptedCaller(monkeypatch, TimeoutError())
    with pytest.raises(TimedOut) as failed:
        asked(5, max_retries=0)
    assert (asked.n, asked.pauses, failed.value.tries) == (1, [], 1)


def test_no_request_follows_an_interrupted_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = ScriptedCaller(monkeypatch, full())
    asked.stops_after = 2
    with pytest.raises(Failed):
        asked(5)
    assert (asked.n, len(asked.pauses)) == (2, 2)


def test_answer_contains_nothing_of_an_earlier_try(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ScriptedCaller(monkeypatch, httpx.Response(500, content=b"x" * 100), GOOD)(1) == {"a": 1}


@pytest.mark.parametrize(("size", "fits"), [(10, True), (11, False)])
def test_a_file_over_the_byte_limit_is_refused(size: int, fits: bool) -> None:
    async def fetch() -> bytes:
        mock = httpx.MockTransport(lambda _: httpx.Response(200, content=b"x" * size))
        async with httpx.AsyncClient(transport=mock) as client:
            into = BytesIO()
            await Caller(client, "http://here", Secrets(None), 20, 0).fetch("/", into, 10, 1)
            assert into.tell() == 0
            return into.read()

    if fits:
        assert asyncio.run(fetch()) == b"x" * size
    else:
        with pytest.raises(Unreadable):
            asyncio.run(fetch())


def reader() -> Caller:
    return Caller(httpx.AsyncClient(), "", Secrets("sk-secret-0123456789"), 1, 0)


@pytest.mark.parametrize(
    ("content", "kind", "words"),
    [
        (b"data: {}", "", "stream of events"),
        (b" \n event: x", "", "stream of events"),
        (b"{}", "text/event-stream; charset=utf-8", "stream of events"),
        (b"<html>sk-secret-0123456789", "", "a web page"),
        (b"{}", "text/html", "a web page"),
        (b"pardon? sk-secret-0123456789", "", "no JSON"),
        (b"[1]", "", "not an object"),
        (b"[" * 100_000, "", "no JSON"),
    ],
)
def test_error_on_an_answer_that_is_not_a_json_object_hides_secrets(
    content: bytes, kind: str, words: str
) -> None:
    with pytest.raises(Unreadable, match=words) as unreadable:
        reader().read_object(content, kind)
    assert unreadable.value.status == 200
    assert "secret-" not in str(unreadable.value)


def test_long_object_is_complete_without_lone_surrogates() -> None:
    long = {"text": "é" * (2 * EXCERPT), "half": "\ud800", "html": "<p>"}
    expected: dict[str, Any] = long | {"half": "?"}
    assert reader().read_object(b" " * EXCERPT + json.dumps(long).encode(), "application/json") == expected
