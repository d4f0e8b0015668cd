"""Engines of Anthropic and Google against local scripted servers; faults are tested for both."""

from __future__ import annotations

import json

import pytest

from tasks.engines import load
from tasks.engines.protocols import EngineError, Generation, Generator, Sampling
from tasks.engines.served.providers import THINKING
from tasks.engines.specs import EngineSpec, cost
from tests.engines.served import (
    KEY,
    KINDS,
    SAMPLING,
    SCHEMA,
    TALK,
    Start,
    completion,
    engine_of,
    refused,
    reply_of,
)
from tests.http_server import Answer


def test_requests_to_anthropic_have_its_fields(serve: Start) -> None:
    server = serve(reply_of("anthropic"))
    engine = engine_of("anthropic", server, extra_body={"thinking": {"type": "disabled"}})
    assert isinstance(engine, Generator)
    assert engine.generate(TALK, SAMPLING, SCHEMA) == [Generation("Ceviche.", "stop", 5, 2, 3)]
    assert [request.path for request in server.received] == ["/v1/messages"]
    assert server.requests == [
        {
            "model": "m-1", "max_tokens": 9, "system": "You cook.", "messages": TALK[0][1:],
            "stop_sequences": ["x"], "temperature": 0.5, "top_p": 0.9, "thinking": {"type": "disabled"},
            "output_config": {"format": {"type": "json_schema", "schema": SCHEMA}},
        }
    ]  # fmt: skip
    assert server.received[0].headers["x-api-key"] == KEY
    assert server.received[0].headers["anthropic-version"] == "2023-06-01", (
        "the version that takes a temperature"
    )


def test_requests_to_google_have_its_fields(serve: Start) -> None:
    server = serve(reply_of("google"))
    thinking = {"thinkingConfig": {"thinkingBudget": 0}}
    engine = engine_of("google", server, extra_body={"safetySettings": [], "generationConfig": thinking})
    assert engine.generate(TALK, SAMPLING, SCHEMA) == [Generation("Ceviche.", "stop", 5, 2, 3)]
    assert [request.path for request in server.received] == ["/v1beta/models/m-1:generateContent"]
    (sent,) = server.requests
    assert [c["role"] for c in sent["contents"]] == ["user", "model", "user"]
    assert [c["parts"] for c in sent["contents"]] == [[{"text": m["content"]}] for m in TALK[0][1:]]
    assert sent["systemInstruction"]["parts"] == [{"text": "You cook."}]
    assert sent["safetySettings"] == []
    wanted = {
        "temperature": 0.5, "topP": 0.9, "maxOutputTokens": 9 + THINKING["auto"], "seed": 3,
        "stopSequences": ["x"],
        "responseMimeType": "application/json", "responseJsonSchema": SCHEMA, **thinking,
    }  # fmt: skip
    assert {name: sent["generationConfig"][name] for name in wanted} == wanted
    assert server.received[0].headers["x-goog-api-key"] == KEY


def test_unsupported_fields_are_not_sent(serve: Start) -> None:
    server = serve(reply_of("anthropic"))
    engine_of("anthropic", server, temperature=False).generate(TALK, SAMPLING)
    assert not {"temperature", "top_p", "seed", "output_config"} & server.requests[0].keys()
    server = serve(reply_of("google"))
    engine_of("google", server).generate(TALK, Sampling(seed=2**31 + 5), None, 5)
    config = server.requests[0]["generationConfig"]
    assert config["seed"] == 5
    assert "responseLogprobs" not in config


def test_prompt_blocked_by_google_is_a_filtered_answer(serve: Start) -> None:
    blocked = {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 5}}
    answer = engine_of("google", serve(blocked)).generate(TALK, SAMPLING)[0]
    assert answer == Generation("", "content_filter", 5, 0, 3)


def test_google_log_probabilities_are_read_if_the_spec_asks_for_them(serve: Start) -> None:
    answer = reply_of("google", "yes")
    answer["candidates"][0]["logprobsResult"] = {
        "chosenCandidates": [{"token": "yes", "logProbability": -0.5, "tokenId": 1}],
        "topCandidates": [
            {"candidates": [{"token": "yes", "logProbability": -0.5}, {"token": "no", "logProbability": -1}]}
        ],
    }
    server = serve(answer)
    (token,) = engine_of("google", server, logprobs=True).generate(TALK, SAMPLING, None, 50)[0].tokens
    assert (token.text, token.logprobs) == ("yes", pytest.approx({"yes": -0.5, "no": -1.0}))
    assert server.requests[0]["generationConfig"]["logprobs"] == 20


@pytest.mark.parametrize("kind", ["anthropic", "google"])
def test_token_counts_include_thoughts_and_cache(serve: Start, kind: str) -> None:
    body = reply_of(kind, sent=100, written=20)
    if kind == "google":
        body["usageMetadata"]["thoughtsTokenCount"] = 30
    else:
        body["usage"]["cache_creation_input_tokens"] = 30
    (answer,) = engine_of(kind, serve(body)).generate(TALK, SAMPLING)
    counted = (answer.prompt_tokens, answer.completion_tokens)
    assert counted == ((100, 50) if kind == "google" else (130, 20))
    priced = EngineSpec(
        name="p", kind=kind, model="m", usd_per_million_input_tokens=1, usd_per_million_output_tokens=10
    )
    assert cost(priced, [answer]) == pytest.approx((counted[0] + 10 * counted[1]) / 1e6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("status", "words"),
    [
        (400, r"rejected a request for 'm-1' \(400: it is too long\): check the prompt's length"),
        (401, r"refused the key \(401\): check the variable TEST_API_KEY"),
        (403, r"refused the key \(403\)"),
        (404, r"has no model 'm-1', or no \w+ API there"),
        (422, "rejected a request"),
        (429, r"over its limit after 1 try \(429: .*set options\.requests_per_minute .*max_concurrency"),
        (500, r"failed after 1 try \(500: .*server's log"),
    ],
)
def test_lasting_errors_say_what_to_do_and_are_not_retried(
    serve: Start, kind: str, status: int, words: str
) -> None:
    server = serve(refused(kind, status, "it is too long", Location="http://elsewhere.example"))
    with pytest.raises(EngineError, match=words):
        engine_of(kind, server).generate(TALK, SAMPLING)
    assert len(server.requests) == 1


def test_bad_request_of_google_about_the_key_is_a_refused_key(serve: Start) -> None:
    server = serve(refused("google", 400, "API key not valid. Please pass a valid API key."))
    with pytest.raises(EngineError, match=r"refused the key \(400\): check the variable TEST_API_KEY"):
        engine_of("google", server).generate(TALK, SAMPLING)


@pytest.mark.parametrize("kind", KINDS)
def test_key_is_in_no_error_answer_log_or_spec(
    serve: Start, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    for words in (f"{KEY} is wrong", f"Bearer {KEY}"):
        for status in (400, 500):
            with pytest.raises(EngineError) as caught:
                engine_of(kind, serve(refused(kind, status, words))).generate(TALK, SAMPLING)
            assert KEY not in f"{caught.value!r} {caught.value.__cause__!r} {caught.value.__context__!r}"
    with pytest.raises(EngineError) as caught:
        engine_of(kind, serve(Answer(f"<html>{KEY}".encode()))).generate(TALK, SAMPLING)
    assert KEY not in str(caught.value)
    (answer,) = engine_of(kind, serve(reply_of(kind, f"My key is {KEY}."))).generate(TALK, SAMPLING)
    assert answer.text == "My key is [key]."
    assert KEY not in caplog.text
    engine = engine_of(kind, serve(reply_of(kind)))
    assert KEY not in json.dumps([engine.spec.described(), engine.spec.identity()])


@pytest.mark.parametrize("kind", KINDS)
def test_environment_variables_redirect_neither_keys_nor_requests(
    serve: Start, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.setenv(name, "sk-of-the-user-0123456789")
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "Authorization: sk-of-the-user-0123456789")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")
    server = serve(reply_of(kind))
    local = EngineSpec(name="here", kind=kind, model="m", base_url=server.address)
    assert load._class(local)(local).generate(TALK, SAMPLING)[0].text == "Ceviche."
    assert "sk-of-the-user" not in str([request.headers.items() for request in server.received])
    engine_of(kind, server).generate(TALK, SAMPLING)
    assert KEY in str(server.received[1].headers), "the spec's own key is sent all the same"
    far = EngineSpec(name="far", kind=kind, model="m", base_url="https://llm.example.org")
    with pytest.raises(EngineError, match="name the environment variable that holds the key"):
        load._class(far)(far)


@pytest.mark.parametrize(
    ("kind", "base_url", "variable", "host"),
    [
        ("openai", None, "OPENAI_API_KEY", r"api\.openai\.com"),
        ("openai", "https://llm.example.org/v1", "MY_API_KEY", r"llm\.example\.org"),
        ("anthropic", None, "ANTHROPIC_API_KEY", ""),
        ("google", None, "GEMINI_API_KEY", ""),
    ],
)
def test_missing_key_is_refused(
    kind: str, base_url: str | None, variable: str, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = {"base_url": base_url, "api_key_env": variable} if base_url else {}
    spec = EngineSpec(name="far", kind=kind, model="m", **own)
    monkeypatch.delenv(variable, raising=False)
    words = f"{variable} is not set: export that variable with the key for {host}"
    with pytest.raises(EngineError, match=words):
        load._class(spec)(spec)


@pytest.mark.parametrize("kind", ["anthropic", "google"])
def test_each_server_has_its_own_engine_hash_and_unsent_settings_are_reported(kind: str) -> None:
    spec = EngineSpec(name="a", kind=kind, model="m")
    slower = spec.model_copy(update={"options": {"max_concurrency": 1, "timeout": 5.0}})
    proxied = spec.model_copy(update={"base_url": "https://proxy.example.org"})
    assert spec.hash() == slower.hash()
    assert spec.hash() not in (proxied.hash(), EngineSpec(name="a", kind="openai", model="m").hash())
    assert spec.described().get("not_sent") == (["seed"] if kind == "anthropic" else None)
    for ability in ("score", "candidates"):
        with pytest.raises(EngineError, match="a server gives no log-probabilities of given texts"):
            load.check_ability(spec, ability)  # type: ignore[arg-type]
    load.check_ability(spec, "generate")


@pytest.mark.parametrize("kind", KINDS)
def test_unknown_options_are_named(kind: str, serve: Start) -> None:
    with pytest.raises(EngineError, match="max_concurency"):
        engine_of(kind, serve({}), max_concurency=3)


@pytest.mark.parametrize(
    ("text", "told", "is_over"),
    [
        ("word " * 9, None, False),
        ("word " * 11, None, True),
        (f"<think>{'hm ' * 97}</think>{'word ' * 3}", None, False),
        (f"<think>{'hm ' * 50}</think>{'日' * 300}", None, True),
        ("word " * 9, 95, False),
        ("日" * 50, 80, True),
        (f"<think>{'hm ' * 97}", None, True),
    ],
)
def test_answer_is_cut_off_by_its_own_tokens_wherever_the_thinking_is(
    serve: Start, text: str, told: int | None, is_over: bool
) -> None:
    """The reply has 100 tokens, and an answer may have 10."""
    details = {} if told is None else {"completion_tokens_details": {"reasoning_tokens": told}}
    usage = {"prompt_tokens": 5, "completion_tokens": 100, **details}
    engine = engine_of("openai", serve(completion(text) | {"usage": usage}))
    (answer,) = engine.generate(TALK, Sampling(max_tokens=10))
    assert answer.finish_reason == ("length" if is_over else "stop")
    assert answer.text == text
