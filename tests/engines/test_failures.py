"""Errors inside successful responses, and the pauses that servers ask for."""

from __future__ import annotations

import os
import time
from typing import Any

import httpx
import pytest

from tasks.engines.protocols import EngineError, Unfinished
from tasks.engines.served.failures import error_inside, pause_of, retry_after
from tests.engines.served import KINDS, SAMPLING, TALK, Start, completion, engine_of, reply_of
from tests.http_server import Answer

pytestmark = pytest.mark.usefixtures("no_pauses")


@pytest.mark.parametrize(
    ("body", "status", "is_transient"),
    [
        ({"error": {"code": 502, "message": "m"}}, 502, True),
        ({"error": {"code": "429", "message": "m"}}, 429, True),
        ({"error": {"code": 408, "message": "m"}}, 408, True),
        ({"error": {"code": 400, "message": "m"}}, 400, False),
        ({"error": {"code": 401, "message": "m"}, "choices": []}, 401, False),
        ({"error": "m"}, 200, True),
        ({"error": {"message": "m", "type": "server_error"}}, 500, True),
        ({"error": {"message": "m", "code": "rate_limit_exceeded"}}, 429, True),
        ({"error": {"message": "m", "code": 0}}, 200, True),
        ({"type": "error", "error": {"type": "overloaded_error", "message": "m"}}, 529, True),
        ({"type": "error", "error": {"type": "invalid_request_error", "message": "m"}}, 400, False),
        ({"error": {"code": 503, "message": "m", "status": "UNAVAILABLE"}}, 503, True),
        ({"error": {"message": "m", "status": "RESOURCE_EXHAUSTED"}}, 429, True),
        ({"status": "failed", "output": [], "error": {"code": "server_error", "message": "m"}}, 500, True),
        ({"object": "error", "message": "m", "code": 404}, 404, False),
        ({"code": 500, "msg": "m", "success": False}, 500, True),
        ({"detail": "m"}, 200, True),
        ({"choices": None, "base_resp": {"status_code": 1002, "status_msg": "m"}}, 200, True),
        ({"success": False, "errors": [{"code": 7009, "message": "m"}], "result": None}, 200, True),
        ({"detail": [{"loc": ["body"], "msg": "m", "type": "missing"}]}, 200, True),
        ({"error": [{"code": 503, "message": "m"}], "choices": [{}]}, 503, True),
        ({"fault": {"faultstring": "m", "code": "policies.ratelimit.Quota"}}, 429, True),
        ({"status_code": 429, "code": "Throttling.RateQuota", "message": "m", "id": "x"}, 429, True),
        ({"error": {"message": "m", "type": "engine_overloaded_error"}}, 529, True),
    ],
)
def test_error_in_a_successful_response_is_read_like_a_status(
    body: dict[str, Any], status: int, is_transient: bool
) -> None:
    failure = error_inside(body)
    assert failure is not None
    assert (failure.status, failure.is_transient, failure.words) == (status, is_transient, "m")


@pytest.mark.parametrize(
    "body",
    [completion("x"), completion("x") | {"error": None}, completion("x") | {"error": {}},
     completion("x") | {"error": {"code": 0, "message": "success"}}, reply_of("anthropic"),
     reply_of("google"), {"id": "file-1", "object": "file"}, {"data": []}, {},
     completion("x") | {"base_resp": {"status_code": 0, "status_msg": "success"}},
     {"id": "b", "object": "batch", "status": "failed", "errors": {"data": [{"code": "x", "message": "m"}]}}],
)  # fmt: skip
def test_answers_hold_no_error(body: dict[str, Any]) -> None:
    assert error_inside(body) is None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("code", [408, 429, 500, 502, 529])
def test_passing_error_in_a_successful_response_is_tried_again(serve: Start, kind: str, code: int) -> None:
    whole = reply_of(kind)
    bad = Answer({"error": {"code": code, "message": "Provider returned error", "metadata": {"raw": "busy"}}})
    server = serve(lambda n, _: Answer(whole) if n else bad)
    assert engine_of(kind, server, max_retries=1).generate(TALK, SAMPLING)[0].text == "Ceviche."
    with pytest.raises(Unfinished, match="Provider returned error busy") as caught:
        engine_of(kind, serve(bad)).generate(TALK, SAMPLING)
    assert caught.value.lost.keys() == {0}


def test_error_of_a_choice_is_the_failure(serve: Start) -> None:
    body = completion("half", "error")
    body["choices"][0]["error"] = {"code": 502, "message": "the provider broke off"}
    server = serve(Answer(body))
    with pytest.raises(Unfinished, match=r"failed after 2 tries \(502: the provider broke off\)"):
        engine_of("openai", server, max_retries=1).generate(TALK, SAMPLING)


@pytest.mark.parametrize("code", [401, 402, 404])
def test_lasting_error_in_a_successful_response_ends_the_run(serve: Start, code: int) -> None:
    server = serve(Answer({"error": {"code": code, "message": "m"}}))
    with pytest.raises(EngineError) as caught:
        engine_of("openai", server, max_concurrency=1).generate(TALK * 9, SAMPLING)
    assert isinstance(caught.value, Unfinished)
    assert (caught.value.lost, len(server.requests)) == ({}, 1)


def test_prompt_that_openrouter_moderates_is_filtered(serve: Start) -> None:
    error = {"code": 403, "message": "flagged", "metadata": {"reasons": ["violence"]}}
    (answer,) = engine_of("openai", serve(Answer({"error": error}, 403))).generate(TALK, SAMPLING)
    assert answer.finish_reason == "content_filter"


def test_server_in_trouble_is_not_sent_the_rest_of_a_call(serve: Start) -> None:
    server = serve(Answer({"error": {"message": "down"}}, 503))
    with pytest.raises(Unfinished) as caught:
        engine_of("openai", server, max_concurrency=2).generate(TALK * 40, SAMPLING)
    assert len(caught.value.lost) == 40
    assert 5 <= len(server.requests) <= 8
    assert "not sent, after" in caught.value.lost[39].reason


def test_pause_of_google_is_kept() -> None:
    info = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"}
    body = {"error": {"code": 429, "message": "m", "details": [{"@type": "x"}, info]}}
    assert pause_of(httpx.Headers(), body) == 34.5
    failure = error_inside(body)
    assert failure is not None
    assert failure.pause == 34.5
    assert pause_of(httpx.Headers({"Retry-After": "40"}), body) == 40


@pytest.mark.parametrize(
    ("headers", "body", "seconds"),
    [
        ({"retry-after": "30s"}, {}, 30),
        ({"retry-after": "7, 7"}, {}, 7),
        ({"retry-after": "1m30s"}, {}, 90),
        ({"x-ms-retry-after-ms": "9000"}, {}, 9),
        ({"retry-after-ms": "500", "retry-after": "40"}, {}, 0.5),
        ({}, {"error": {"message": "m", "retry_after": 9}}, 9),
        ({}, {"error": {"message": "m", "metadata": {"retry_after_seconds": "8.5"}}}, 8.5),
        ({}, {"retryAfter": 4}, 4),
        ({}, {"retry_after": True}, None),
    ],
)
def test_pauses_of_proxies_are_read(headers: dict[str, str], body: Any, seconds: float | None) -> None:
    assert pause_of(httpx.Headers(headers), body) == seconds


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({"error": {"type": "engine_overloaded_error", "message": "m"}}, 400, "m"),
        ({}, 425, "425"), ({}, 499, "499"),
    ],
)  # fmt: skip
def test_refusals_that_pass_are_tried_again(
    serve: Start, body: dict[str, Any], status: int, message: str
) -> None:
    server = serve(lambda n, _: Answer(completion("Ceviche.")) if n else Answer(body, status))
    assert engine_of("openai", server, max_retries=1).generate(TALK, SAMPLING)[0].text == "Ceviche."
    with pytest.raises(Unfinished, match=message):
        engine_of("openai", serve(Answer(body, status))).generate(TALK, SAMPLING)


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        (b"<!DOCTYPE html><title>Just a moment...</title>", 403, "a firewall or proxy before"),
        (
            {"error": {"message": "your country is not supported"}},
            403,
            "refuses requests from here or for this account .403: your country",
        ),
        (b"", 407, "demands a name and a password"),
    ],
)
def test_refusal_by_others_than_the_key_says_whose_it_is(
    serve: Start, body: Any, status: int, message: str
) -> None:
    server = serve(Answer(body, status))
    with pytest.raises(EngineError, match=message):
        engine_of("openai", server, max_concurrency=1).generate(TALK * 9, SAMPLING)
    assert len(server.requests) == 1


@pytest.mark.parametrize("zone", ["UTC", "America/Lima"])
@pytest.mark.parametrize(
    "date",
    ["Sat, 28 Nov 2026 01:00:30 GMT", "Sat, 28 Nov 2026 01:00:30", "Sat, 28 Nov 2026 01:00:30 -0000",
     "2026-11-28T01:00:30", "2026-11-28T01:00:30Z", "Fri, 27 Nov 2026 20:00:30 -0500"],
)  # fmt: skip
def test_date_without_a_zone_is_in_utc(monkeypatch: pytest.MonkeyPatch, date: str, zone: str) -> None:
    before = os.environ.get("TZ")
    monkeypatch.setattr(time, "time", lambda: 1795827600.0)  # 28 November 2026, 01:00 UTC
    try:
        os.environ["TZ"] = zone
        time.tzset()
        assert retry_after(httpx.Headers({"Retry-After": date})) == pytest.approx(30)
    finally:
        os.environ.pop("TZ") if before is None else os.environ.update(TZ=before)
        time.tzset()


@pytest.mark.parametrize("text", ["", "soon", "nan", "9999-99-99", "Sat, 99 Foo", "1e999999999", "٣"])
def test_senseless_pause_is_none_or_long(text: str) -> None:
    headers = httpx.Headers([(b"retry-after", text.encode())])
    assert retry_after(headers) in (None, float("inf"), 3.0)
