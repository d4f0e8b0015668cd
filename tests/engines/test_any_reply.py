"""Whatever a server replies, each prompt is answered by a model that finished, or lost with a reason."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from functools import cache
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tasks.engines import load
from tasks.engines.protocols import Generation, Lost, Sampling
from tasks.engines.secrets import Secrets
from tasks.engines.served.endings import KEPT, LOST, NAMELESS, RETRIED
from tasks.engines.served.hosted import HostedGenerator
from tasks.engines.served.transport import Caller
from tasks.engines.specs import EngineSpec

APIS = ("openai", "responses", "anthropic", "google")
N_REPLIES = 10_000
TALK = [{"role": "user", "content": "Name a dish of Peru."}]
FINISHED = {reason for own in KEPT.values() for reason in own}

TEXTS = st.none() | st.text(max_size=9) | st.sampled_from(["{", '{"label": "yes"}', "\ud83c", "<think>", " "])
REASONS = (
    st.sampled_from(sorted({*FINISHED, *RETRIED, *LOST, *NAMELESS})).flatmap(
        lambda reason: st.sampled_from([reason, reason.upper(), reason.title()])
    )
    | st.none()
    | st.text(max_size=5)
    | st.integers()
    | st.booleans()
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
NUMBERS = st.integers(-2, 10**12) | st.none() | st.floats() | st.text(max_size=2)
BLOCKS = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "output_text", "thinking", "server_tool_use", "x"]) | JSON},
    optional={"text": TEXTS | JSON, "thinking": JSON},
)
CONTENT = BLOCKS | TEXTS | st.lists(BLOCKS | TEXTS, max_size=3) | JSON
LOGPROBS = JSON | st.fixed_dictionaries(
    {"content": JSON | st.lists(st.fixed_dictionaries({"token": TEXTS, "logprob": NUMBERS}), max_size=2)}
)
ERRORS = JSON | st.fixed_dictionaries(
    {},
    optional={
        "code": st.sampled_from([400, 408, 409, 413, 422, 429, 500, 502, "503", 0, "server_error", None])
        | JSON,
        "message": TEXTS | JSON,
        "type": st.sampled_from(["overloaded_error", "api_error", "invalid_request_error"]) | JSON,
        "metadata": JSON,
        "details": JSON | st.just([{"retryDelay": "1s"}]),
    },
)
USAGE = JSON | st.dictionaries(
    st.sampled_from(["prompt_tokens", "completion_tokens", "output_tokens", "promptTokenCount"]), NUMBERS
)


TEXT = st.sampled_from(["Ceviche.", "", " ", "{", "<think>"]) | st.text(max_size=9)
ENDED = st.sampled_from(sorted(FINISHED))
GOOD: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "openai": {"choices": st.lists(st.fixed_dictionaries(
        {"message": st.fixed_dictionaries({"content": TEXT}),
         "finish_reason": REASONS | ENDED | st.fixed_dictionaries({"type": REASONS})}
    ), min_size=1, max_size=1)},
    "responses": {"status": st.sampled_from(["completed", "incomplete", "failed"]), "output": st.just([
        {"type": "message", "content": [{"type": "output_text", "text": "Ceviche."}]}
    ]), "incomplete_details": st.fixed_dictionaries({"reason": REASONS | ENDED})},
    "anthropic": {"content": st.lists(st.fixed_dictionaries({"type": st.just("text"), "text": TEXT})),
                  "stop_reason": REASONS | ENDED},
    "google": {"candidates": st.lists(st.fixed_dictionaries(
        {"content": st.just({"parts": [{"text": "Ceviche."}]}), "finishReason": REASONS | ENDED}
    ), min_size=1, max_size=1)},
}  # fmt: skip
"""Replies of the right shape, with any reason."""


def replies(api: str) -> st.SearchStrategy[Any]:
    """Return whole and broken replies of an API: each field may be missing or hold anything."""
    if api == "openai":
        message = st.fixed_dictionaries(
            {}, optional={"content": CONTENT, "refusal": TEXTS, "reasoning": JSON}
        )
        choice = st.fixed_dictionaries(
            {"message": message | JSON},
            optional={"finish_reason": REASONS, "logprobs": LOGPROBS, "error": ERRORS},
        )
        fields = {"choices": st.lists(choice | JSON, max_size=2) | JSON, "prompt_filter_results": JSON}
    elif api == "responses":
        item = st.fixed_dictionaries(
            {"type": st.sampled_from(["message", "reasoning", "web_search_call"]) | JSON},
            optional={"content": st.lists(BLOCKS, max_size=2) | JSON, "phase": JSON},
        )
        details = st.fixed_dictionaries({"reason": REASONS}) | JSON
        fields = {
            "status": REASONS,
            "output": st.lists(item, max_size=2) | JSON,
            "incomplete_details": details,
        }
    elif api == "anthropic":
        fields = {"content": st.lists(BLOCKS, max_size=3) | JSON, "stop_reason": REASONS, "type": JSON}
    else:
        parts = (
            st.lists(st.fixed_dictionaries({"text": TEXTS}, optional={"thought": JSON}), max_size=2) | JSON
        )
        candidate = st.fixed_dictionaries(
            {"content": st.fixed_dictionaries({"parts": parts}) | JSON},
            optional={"finishReason": REASONS, "logprobsResult": JSON, "finishMessage": JSON},
        )
        fields = {
            "candidates": st.lists(candidate | JSON, max_size=2) | JSON,
            "promptFeedback": st.fixed_dictionaries({"blockReason": REASONS}) | JSON,
        }
    counts = {"usage": USAGE, "usageMetadata": USAGE}
    more = {
        "base_resp": ERRORS,
        "errors": st.lists(ERRORS, max_size=2),
        "error": ERRORS | st.lists(ERRORS),
        "message": TEXTS,
        "detail": JSON,
    }
    broken = st.fixed_dictionaries({}, optional=fields | counts | more)
    return broken | st.fixed_dictionaries(GOOD[api], optional=counts)


WHOLE = st.sampled_from(APIS).flatmap(lambda api: st.tuples(st.just(api), st.just(200), replies(api)))
RAW = st.tuples(
    st.sampled_from(APIS),
    st.sampled_from([200, 400, 408, 422, 429, 500, 502, 529]),
    JSON | st.binary(max_size=20) | st.fixed_dictionaries({"error": ERRORS}),
)


def reason_of(api: str, body: Mapping[str, Any]) -> Any:
    """Return the finish reason of a reply, read as plainly as possible; "filtered" if the prompt was."""
    if api == "openai":
        first = (body["choices"] or [{}])[0]
        refusal = (first.get("message") or {}).get("refusal")
        return "refusal" if refusal else first.get("finish_reason") if first else "filtered"
    if api == "responses":
        refusals = [p for item in body["output"] or () for p in item.get("content") or () if p.get("refusal")]
        status = "refusal" if refusals else body.get("status")
        return body["incomplete_details"].get("reason") if status == "incomplete" else status
    if api == "anthropic":
        return body.get("stop_reason")
    return body["candidates"][0].get("finishReason") if body.get("candidates") else "filtered"


@cache
def engine_of(api: str) -> HostedGenerator:
    """Return an engine of an API; nothing is sent to its address."""
    kind = "openai" if api == "responses" else api
    options = {"api": "responses"} if api == "responses" else {}
    spec = EngineSpec(name="far", kind=kind, model="m", base_url="http://127.0.0.1:9", options=options)
    engine: HostedGenerator = load._class(spec)(spec)
    return engine


def outcome(api: str, status: int, body: Any) -> Generation | Lost | None:
    """Return what becomes of a prompt whose server always gives this reply; None: the engine failed."""
    engine = engine_of(api)
    content = body if isinstance(body, bytes) else json.dumps(body).encode("utf-8", "replace")
    answers: dict[int, Generation] = {}
    lost: dict[int, Lost] = {}

    async def send() -> list[Any]:
        transport = httpx.MockTransport(lambda _: httpx.Response(status, content=content))
        async with httpx.AsyncClient(transport=transport) as client:
            caller = Caller(client, engine.base_url, Secrets("k" * 20), 20.0, 0)
            request = engine.request(TALK, Sampling(), None, 5)
            return await engine.send_all(caller, [request], [256], answers, lost, lambda _: None)

    failures = asyncio.run(send())
    assert len(answers) + len(lost) + len(failures) == 1
    for line in (*failures, *(loss.reason for loss in lost.values())):
        assert str(line)
        assert "\n" not in str(line)
        assert len(str(line)) < 900
    return answers.get(0) or lost.get(0)


def check(reply: tuple[str, int, Any]) -> None:
    api, status, body = reply
    answer = outcome(api, status, body)
    if isinstance(answer, Generation) and status == 200 and answer.finish_reason != "content_filter":
        sent = json.loads(json.dumps(body))
        sent = sent[0] if isinstance(sent, list) else sent
        reason = reason_of(api, sent)
        reason = reason.get("type") if isinstance(reason, dict) else reason
        assert str(reason).strip().lower() in FINISHED, (reply, answer)
        if api == "openai":
            assert isinstance(sent["choices"][0].get("message"), dict), "there is a message"


def test_no_reply_is_an_answer_that_no_model_finished() -> None:
    @settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
    @given(WHOLE | RAW)
    def every(reply: tuple[str, int, Any]) -> None:
        check(reply)

    every()


@pytest.mark.slow
@pytest.mark.heavy
def test_no_reply_of_many_is_an_answer_that_no_model_finished() -> None:
    @settings(max_examples=N_REPLIES, deadline=None, suppress_health_check=list(HealthCheck))
    @given(WHOLE | RAW)
    def every(reply: tuple[str, int, Any]) -> None:
        check(reply)

    every()
