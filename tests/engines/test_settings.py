"""Fields sent to hosted models for each setting: the tables of docs/hosted-models.md and settings.md."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from contextlib import nullcontext
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from tasks.engines import load
from tasks.engines.protocols import EngineError, Generation, Sampling, Unfinished
from tasks.engines.served.hosted import HostedGenerator
from tasks.engines.specs import EngineSpec
from tests.http_server import Answer, HttpServer, Request

TALK = [[{"role": "user", "content": "Name a dish."}]]
SAMPLING = Sampling(temperature=0.0, max_tokens=8192, seed=0)
SCHEMA = {
    "type": "object", "properties": {"dish": {"type": "string"}}, "required": ["dish"],
    "additionalProperties": False,
}  # fmt: skip
PROMPT = ("model", "messages", "input", "contents")
Row = tuple[str, str, str, str]


def table(last: str) -> list[Row]:
    """Return the rows of both tables whose last column has this name, without code marks."""
    pages = [Path("docs/hosted-models.md"), Path(__file__).with_name("settings.md")]
    head = f"| kind | model | the spec says | {last} |\n"
    texts = [page.read_text(encoding="utf-8").split(head)[1].split("\n\n")[0] for page in pages]
    lines = [line for text in texts for line in text.splitlines()[1:]]
    cells = ([cell.strip().strip("`") for cell in line.strip("|").split(" | ")] for line in lines)
    return [(kind, model, says, sent) for kind, model, says, sent in cells]


SENT, REFUSED = table("is sent"), table("takes")


def spec_of(kind: str, model: str, says: str) -> EngineSpec:
    fields = tomllib.loads(f"spec = {{ {says} }}")["spec"]
    return EngineSpec(name="far", kind=kind, model=model, **fields)


def block(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": kind, **fields}


ANSWERS: dict[str, dict[str, Any]] = {
    "/chat/completions": {
        "choices": [
            {"message": {"content": "Ceviche.", "reasoning_content": "hm"}, "finish_reason": "stop"}
        ],
        "usage": {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 37},  # 30 of thinking
    },
    "/responses": {
        "status": "completed",
        "output": [
            block("reasoning", summary=[]),
            block("message", content=[block("output_text", text="I look it up.")], phase="commentary"),
            block("message", content=[block("output_text", text="I shall see.")]),
            block("web_search_call", status="completed"),
            block("message", content=[block("output_text", text="Ceviche."), block("other")]),
        ],
        "usage": {"input_tokens": 5, "output_tokens": 32},
    },
    "/v1/messages": {
        "content": [
            block("thinking", thinking="hm", signature=""), block("text", text="I look it up."),
            block("server_tool_use", id="1", name="web_search", input={}),
            block("web_search_tool_result", tool_use_id="1", content=[]),
            block("redacted_thinking", data=""), block("text", text="Cevi"), block("text", text="che."),
        ],
        "stop_reason": "end_turn", "usage": {"input_tokens": 5, "output_tokens": 32},
    },
    ":generateContent": {
        "candidates": [
            {"content": {"parts": [{"text": "hm", "thought": True}, {"text": "Ceviche."}]},
             "finishReason": "STOP"}
        ],
        "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 2, "thoughtsTokenCount": 30},
    },
}  # fmt: skip


def reply(request: Request) -> Answer:
    return Answer(next(answer for path, answer in ANSWERS.items() if request.path.endswith(path)))


@pytest.fixture(scope="module")
def server() -> Iterator[HttpServer]:
    server = HttpServer(reply)
    yield server
    server.close()


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_API_KEY", "sk-test-0123456789abcdef")
    monkeypatch.setattr("tasks.engines.served.keys.needs_permission", lambda _: False)


def engine_of(spec: EngineSpec, address: str) -> HostedGenerator:
    """Return an engine of the spec that sends its requests to this server, without retries."""
    update = {"api_key_env": "TEST_API_KEY", "options": {"max_retries": 0, **spec.options}}
    keyed = EngineSpec(**(spec.model_dump(exclude_unset=True) | update))
    engine: HostedGenerator = load._class(keyed)(keyed)
    engine.base_url = address
    return engine


def sent_by(server: HttpServer, spec: EngineSpec, **given: Any) -> dict[str, Any]:
    """Return the fields of a request besides the prompt."""
    before = len(server.received)
    answer = engine_of(spec, server.address).generate(TALK, SAMPLING, **given)[0]
    assert answer == Generation("Ceviche.", "stop", 5, 32), "thoughts count as tokens, not as text"
    (request,) = server.received[before:]
    return {name: value for name, value in request.json.items() if name not in PROMPT}


@pytest.mark.parametrize("row", SENT, ids=lambda row: f"{row[1]} {row[2]}")
def test_sent_fields_equal_the_documented_table(server: HttpServer, row: Row) -> None:
    spec = spec_of(*row[:3])
    load.check_ability(spec, "generate")
    assert sent_by(server, spec) == json.loads(row[3])
    not_sent = spec.described().get("not_sent", [])
    flat = {**(sent := json.loads(row[3])), **sent.get("generationConfig", {})}
    assert {"seed", "temperature"} & set(not_sent) == {"seed", "temperature"} - flat.keys()


def test_table_covers_every_kind_and_setting() -> None:
    """Each kind is listed with and without each setting; different fields mean different engines."""
    for kind in ("openai", "anthropic", "google"):
        says = [row[2] for row in SENT if row[0] == kind]
        for setting in ("", "reasoning", "web"):
            assert any(setting in text if setting else not text for text in says), (kind, setting)
    for one, other in combinations(SENT, 2):
        if one[:2] == other[:2] and one[3] != other[3]:
            assert spec_of(*one[:3]).hash() != spec_of(*other[:3]).hash()


@pytest.mark.parametrize("row", REFUSED, ids=lambda row: f"{row[1]} {row[2]}")
def test_unsupported_settings_are_refused_before_any_request(server: HttpServer, row: Row) -> None:
    spec, before = spec_of(*row[:3]), len(server.received)
    for refuse in (load.check_ability, lambda spec, _: engine_of(spec, server.address)):
        with pytest.raises(EngineError) as caught:
            refuse(spec, "generate")
        assert "\n" not in str(caught.value)
        assert row[3] in str(caught.value)
    assert len(server.received) == before


def test_schemas_and_log_probabilities_are_sent_with_settings(server: HttpServer) -> None:
    """Reasoning models get no request for log-probabilities; a schema is sent beside the settings."""
    plain = sent_by(server, spec_of("openai", "gpt-4o", ""), schemas=SCHEMA, alternatives=5)
    assert (plain["logprobs"], plain["top_logprobs"]) == (True, 5)
    given = sent_by(server, spec_of("openai", "gpt-5-mini", "web = true"), schemas=SCHEMA, alternatives=5)
    assert given["text"] == {
        "format": {"type": "json_schema", "name": "answer", "schema": SCHEMA, "strict": True}
    }
    thinking = sent_by(server, spec_of("openai", "gpt-5-mini", ""), schemas=SCHEMA, alternatives=5)
    assert not {"logprobs", "top_logprobs"} & (given.keys() | thinking.keys())
    effort = sent_by(server, spec_of("anthropic", "claude-opus-5", 'reasoning = "max"'), schemas=SCHEMA)
    assert effort["output_config"] == {"effort": "max", "format": {"type": "json_schema", "schema": SCHEMA}}
    found = sent_by(server, spec_of("google", "gemini-3.8-flash", "web = true"), schemas=SCHEMA)
    assert (found["tools"], found["generationConfig"]["responseJsonSchema"]) == (
        [{"googleSearch": {}}],
        SCHEMA,
    )


@pytest.mark.parametrize(
    ("row", "sampling", "schema", "words"),
    [
        (("google", "gemini-2.5-pro", "web = true"), SAMPLING, SCHEMA, "gives no JSON where it searches"),
        (("openai", "gpt-5", "web = true"), Sampling(stop=("x",)), None, "Responses API takes no stop texts"),
    ],
)
def test_impossible_combinations_are_refused_before_any_request(
    server: HttpServer, row: tuple[str, str, str], sampling: Sampling, schema: Any, words: str
) -> None:
    before = len(server.received)
    with pytest.raises(EngineError, match=words):
        engine_of(spec_of(*row), server.address).generate(TALK, sampling, schema)
    assert len(server.received) == before


CUT = {
    "/chat/completions": (
        "", {"choices": [{"message": {"content": None, "reasoning": "hm"}, "finish_reason": "length"}],
             "usage": {"prompt_tokens": 5, "completion_tokens": 30}},
    ),
    "/responses": (
        "web = true", {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"},
                       "output": [block("reasoning")], "usage": {"input_tokens": 5, "output_tokens": 30}},
    ),
    "/v1/messages": (
        "web = true", {"content": [block("text", text="I look."), block("server_tool_use")],
                       "stop_reason": "max_tokens", "usage": {"input_tokens": 5, "output_tokens": 30}},
    ),
    ":generateContent": (
        "", {"candidates": [{"content": {}, "finishReason": "MAX_TOKENS"}],
             "usageMetadata": {"promptTokenCount": 5, "thoughtsTokenCount": 30}},
    ),
}  # fmt: skip
MODELS = {
    "/chat/completions": ("openai", "gpt-5"), "/responses": ("openai", "gpt-5"),
    "/v1/messages": ("anthropic", "claude-opus-5"), ":generateContent": ("google", "gemini-3.8-flash"),
}  # fmt: skip


@pytest.mark.parametrize("path", CUT)
def test_answer_cut_off_during_reasoning_is_empty(
    path: str, monkeypatch: pytest.MonkeyPatch, server: HttpServer
) -> None:
    says, answer = CUT[path]
    monkeypatch.setitem(ANSWERS, path, answer)
    engine = engine_of(spec_of(*MODELS[path], says), server.address)
    assert engine.generate(TALK, SAMPLING) == [Generation("", "length", 5, 30)]


@pytest.mark.parametrize("is_endless", [False, True])
def test_paused_search_is_continued_a_limited_number_of_times(is_endless: bool) -> None:
    """Earlier results are in the next request; all tokens are counted; the number of requests is limited."""
    searched = [block("text", text="I look."), block("server_tool_use", id="1", name="web_search", input={})]
    usage = {"input_tokens": 3, "output_tokens": 4}
    paused = Answer({"content": searched, "stop_reason": "pause_turn", "usage": usage})
    server = HttpServer(lambda r: paused if is_endless or len(r.json["messages"]) < 3 else reply(r))
    try:
        engine = engine_of(spec_of("anthropic", "claude-opus-5", "web = true"), server.address)
        with pytest.raises(Unfinished, match="'pause_turn'") if is_endless else nullcontext():
            (answer,) = engine.generate(TALK, SAMPLING)
    finally:
        server.close()
    if is_endless:
        assert len(server.received) < 10
    else:
        assert answer == Generation("Ceviche.", "stop", 11, 40)
        assert server.received[-1].json["messages"][1:] == [{"role": "assistant", "content": searched}] * 2


def test_refused_response_is_an_answer_and_failed_response_an_error(
    monkeypatch: pytest.MonkeyPatch, server: HttpServer
) -> None:
    engine = engine_of(spec_of("openai", "gpt-5", "web = true"), server.address)
    refused = [block("message", content=[block("refusal", refusal="I will not.")])]
    monkeypatch.setitem(ANSWERS, "/responses", {"status": "completed", "output": refused})
    assert engine.generate(TALK, SAMPLING) == [Generation("I will not.", "refusal", 0, 0)]
    failed = {"status": "failed", "output": [], "error": {"code": "x", "message": "the search broke"}}
    monkeypatch.setitem(ANSWERS, "/responses", failed)
    with pytest.raises(EngineError, match=r"reported an error .*the search broke"):
        engine.generate(TALK, SAMPLING)
