"""The HTTP generator against a real ``vllm serve``, and against a scripted server."""

from __future__ import annotations

import asyncio
import json
import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import jsonschema
import pytest

from tasks.engines.protocols import EngineError, Generator, Sampling, Unfinished
from tasks.engines.served.hosted import HostedGenerator
from tasks.engines.served.openai_http import OpenAIGenerator
from tasks.engines.served.providers import THINKING, settings_body
from tasks.engines.served.transport import Failed
from tasks.engines.specs import EngineSpec
from tasks.loop.written import option_logprobs
from tests.engines.served import Start, completion
from tests.http_server import Answer
from tests.ports import free_port, nobody
from tests.waiting import LONGEST_WAIT_S, until

SCHEMA = {
    "type": "object",
    "properties": {"dish": {"type": "string", "maxLength": 20}, "spicy": {"type": "boolean"}},
    "required": ["dish", "spicy"],
    "additionalProperties": False,
}
TALK = [[{"role": "user", "content": "Name a dish of Peru."}]]


def spec(base_url: str | None, **fields: Any) -> EngineSpec:
    fields = {"options": {"max_retries": 0, "timeout": 60}} | fields
    return EngineSpec(**{"name": "served", "kind": "openai", "model": "smol", "base_url": base_url, **fields})


# --- a real server -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def server(smollm2_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The base URL of ``vllm serve``; its process group is killed at the end, whatever happened."""
    pytest.importorskip("vllm", reason="the extra [cpu] or [gpu] is not installed")
    port = free_port()
    log = tmp_path_factory.mktemp("vllm") / "server.log"
    command = [
        sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", str(smollm2_folder),
        "--served-model-name", "smol", "--host", "127.0.0.1", "--port", str(port), "--enforce-eager",
        "--dtype", "float32", "--max-model-len", "512", "--max-num-seqs", "16",
        "--kv-cache-memory-bytes", str(1 << 28), "--api-key", "right-key",
    ]  # fmt: skip
    environment = os.environ | {"VLLM_CPU_OMP_THREADS_BIND": "nobind", "VLLM_NO_USAGE_STATS": "1"}
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, env=environment, start_new_session=True)
    try:
        wait_for(f"http://127.0.0.1:{port}/health", process, log)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(timeout=30)


def wait_for(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    def answers() -> bool:
        try:
            with urlopen(url, timeout=2):
                return True
        except (URLError, TimeoutError, ConnectionError):
            return False

    try:
        until(answers, process, every=0.5)
    except AssertionError as error:
        raise AssertionError(f"vllm serve did not start: {log.read_text()[-3000:]}") from error


@pytest.fixture
def keyed(server: str, monkeypatch: pytest.MonkeyPatch) -> EngineSpec:
    monkeypatch.setenv("TEST_SERVER_API_KEY", "right-key")
    return spec(server, api_key_env="TEST_SERVER_API_KEY")


@pytest.mark.slow
@pytest.mark.heavy
def test_vllm_server_generates_valid_repeatable_json(keyed: EngineSpec) -> None:
    engine = OpenAIGenerator(keyed)
    assert isinstance(engine, Generator)
    countries = ["Peru", "Ghana", "Japan", "India", "Italy", "Mexico", "Ukraine", "Fiji"]
    talks = [[{"role": "user", "content": f"Name a dish of {c}. Answer as JSON."}] for c in countries]
    sampling = Sampling(temperature=1.0, max_tokens=80, seed=7)
    answers = engine.generate(talks, sampling, SCHEMA)
    assert len(answers) == len(talks)
    for answer in answers:
        assert answer.finish_reason in ("stop", "length")
        if answer.finish_reason == "stop":
            jsonschema.validate(json.loads(answer.text), SCHEMA)
        assert answer.prompt_tokens > 20
        assert 1 < answer.completion_tokens <= 80
    assert sum(a.finish_reason == "stop" for a in answers) >= 6
    assert engine.generate(talks, sampling, SCHEMA) == answers


@pytest.mark.slow
@pytest.mark.heavy
def test_vllm_server_keeps_stop_texts_and_length(keyed: EngineSpec) -> None:
    engine = OpenAIGenerator(keyed.model_copy(update={"reasoning": "none"}))
    cut = engine.generate(TALK, Sampling(max_tokens=3))[0]
    assert (cut.finish_reason, cut.completion_tokens) == ("length", 3)
    word = engine.generate(TALK, Sampling(max_tokens=20))[0].text.split()[1]
    assert word not in engine.generate(TALK, Sampling(max_tokens=20, stop=(word,)))[0].text


@pytest.mark.slow
@pytest.mark.heavy
def test_vllm_server_gives_option_log_probabilities(keyed: EngineSpec) -> None:
    schema = SCHEMA | {"properties": {"label": {"enum": ["yes", "no"]}}, "required": ["label"]}
    talk = [[{"role": "user", "content": "नमस्ते! Is ceviche a dish of Peru? Answer as JSON, yes or no."}]]
    engine = OpenAIGenerator(keyed)
    answer = engine.generate(talk, Sampling(max_tokens=40), schema, 20)[0]
    found = option_logprobs(answer.tokens, answer.text, ("yes", "no"), "label")
    assert found is not None
    assert 0.99 < sum(map(math.exp, found.values())) <= 1 + 1e-5
    plain = engine.generate(talk, Sampling(max_tokens=40), schema)[0]
    assert (plain.text, plain.tokens) == (answer.text, ())


@pytest.mark.slow
@pytest.mark.heavy
def test_errors_of_a_vllm_server_say_what_to_do(
    keyed: EngineSpec, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(EngineError, match=r"has no model 'absent'.*compare http.*/v1/models"):
        OpenAIGenerator(keyed.model_copy(update={"model": "absent"})).generate(TALK, Sampling())
    wrong = keyed.model_copy(update={"base_url": server.removesuffix("/v1")})
    with pytest.raises(EngineError, match="has no model 'smol', or no chat API there"):
        OpenAIGenerator(wrong).generate(TALK, Sampling())
    long = [{"role": "user", "content": "word " * 600}]
    cut, whole = OpenAIGenerator(keyed).generate([long, TALK[0]], Sampling(max_tokens=4))
    assert (cut.text, cut.finish_reason, cut.completion_tokens) == ("", "length", 0)
    assert whole.completion_tokens > 0
    assert OpenAIGenerator(keyed).generate(TALK, Sampling(max_tokens=510))[0].completion_tokens > 0
    with pytest.raises(EngineError, match=r"rejected a request.*max_tokens=100000"):
        OpenAIGenerator(keyed).generate(TALK, Sampling(max_tokens=10**5))
    monkeypatch.setenv("TEST_SERVER_API_KEY", "wrong-key")
    refused = r"refused the key \(401\): check the variable TEST_SERVER_API_KEY"
    with pytest.raises(EngineError, match=refused) as caught:
        OpenAIGenerator(keyed).generate(TALK, Sampling())
    assert "wrong-key" not in str(caught.value)
    # localhost needs no key: "none" is sent.
    with pytest.raises(EngineError, match="refused the key"):
        OpenAIGenerator(spec(server)).generate(TALK, Sampling())


# --- without a server --------------------------------------------------------------------------------


def test_refused_connection_is_an_error() -> None:
    refused = pytest.raises(EngineError, match=r"engine 'served': .* cannot be reached after 1 try.*refused")
    with nobody() as address, refused:
        engine = OpenAIGenerator(spec(f"http://{address}/v1"))
        engine.generate(TALK, Sampling())


def test_default_key_is_not_sent_to_other_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    named = r"name the environment variable that holds the key for llm\.example"
    with pytest.raises(EngineError, match=named) as caught:
        OpenAIGenerator(spec("https://llm.example.org/v1"))
    assert "sk-secret" not in str(caught.value)


# --- a scripted server -------------------------------------------------------------------------------


def shaped(**changes: Any) -> dict[str, Any]:
    """Return an answer with parts of its first choice changed."""
    answer = completion("x")
    answer["choices"][0] |= changes
    return answer


def token(text: str, logprob: float, data: bytes | None = None, **top: float) -> dict[str, Any]:
    """Return one position in the API's format; top: other tokens."""
    others = [{"token": t, "logprob": p, "bytes": list(t.encode())} for t, p in top.items()]
    return {"token": text, "logprob": logprob, "bytes": data and list(data), "top_logprobs": others}


def test_order_concurrency_and_sent_fields(serve: Start) -> None:
    def reply(_: int, request: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        number = int(request["messages"][0]["content"])
        if number == 0:  # the first request is answered last
            server.wait_until(lambda: len(server.received) == 12 and server.under_way == 1)
        return 200, completion(f"answer {number}")

    server = serve(reply)
    engine = OpenAIGenerator(spec(server.url, options={"max_concurrency": 3, "extra_body": {"min_p": 0.1}}))
    progress = list[int]()
    talks = [[{"role": "user", "content": str(i)}] for i in range(12)]
    sampling = Sampling(temperature=0.5, top_p=0.9, max_tokens=9, seed=3, stop=("x",))
    answers = engine.generate(talks, sampling, SCHEMA, progress=progress.append)
    assert progress == [1] * 12
    assert [a.text for a in answers] == [f"answer {i}" for i in range(12)]
    assert 2 <= server.most_at_once <= 3
    assert {request.headers["Authorization"] for request in server.received} == {"Bearer none"}
    sent = server.requests[0]
    assert sent["response_format"]["json_schema"] == {"name": "answer", "schema": SCHEMA, "strict": True}
    limit = 9 + THINKING["auto"]  # nothing is known of the model, so it may think
    wanted = {"temperature": 0.5, "top_p": 0.9, "max_tokens": limit, "seed": 3, "stop": ["x"], "min_p": 0.1}
    assert {k: sent[k] for k in wanted} == wanted


@pytest.mark.parametrize(
    ("status", "body", "text", "finish"),
    [
        (200, completion(None, refusal="I can't help with that."), "I can't help with that.", "refusal"),
        (200, completion(None, "content_filter"), "", "content_filter"),
        (200, {**completion(""), "choices": [], "prompt_filter_results": [{}]}, "", "content_filter"),
        (400, {"error": {"message": "filtered", "code": "content_filter"}}, "", "content_filter"),
        (200, completion(None, "length"), "", "length"),  # thinking used all tokens
        (200, completion(None), "", "stop"),
        (200, shaped(message=None, finish_reason="content_filter"), "", "content_filter"),
        (200, shaped(message={"content": None, "reasoning": "hm"}), "", "stop"),
        (200, shaped(message={"content": [{"type": "text", "text": "a"}, "b"]}), "ab", "stop"),
        (
            200,
            shaped(message={"content": [{"type": "thinking", "thinking": []}, {"text": "x"}]}),
            "x",
            "stop",
        ),
        (200, shaped(message={"content": None, "reasoning_content": "hm"}), "", "stop"),
        (200, completion("a \ud83c b"), "a ? b", "stop"),  # a lone surrogate
    ],
)
def test_refused_filtered_cut_and_empty_answers_are_answers(
    serve: Start, status: int, body: dict[str, Any], text: str, finish: str
) -> None:
    engine = OpenAIGenerator(spec(serve(Answer(body, status)).url))
    answer = engine.generate(TALK, Sampling())[0]
    assert (answer.text, answer.finish_reason) == (text, finish)


def test_token_alternatives_are_requested_and_read(serve: Start) -> None:
    content = [
        token("\\xe2\\x82", -0.1, b"\xe2\x82"),  # the euro sign in two tokens
        token("\\xac", -0.2, b"\xac"),
        token(" yes", -0.5, None, **{" yes": -0.5, " no": -1.0, "never": -9999.0}),
        token("!", -3.0, b"!", **{".": -0.25, "?": -2.0}),  # generated, but not among the top
    ]
    answer = completion("€ yes!")
    answer["choices"][0]["logprobs"] = {"content": content, "refusal": None}
    server = serve(answer)
    tokens = OpenAIGenerator(spec(server.url)).generate(TALK, Sampling(), None, 5)[0].tokens
    assert (server.requests[0]["logprobs"], server.requests[0]["top_logprobs"]) == (True, 5)
    assert [t.text for t in tokens] == ["", "€", " yes", "!"]
    assert tokens[2].logprobs == pytest.approx({" yes": -0.5, " no": -1.0, "never": -9999.0})
    assert tokens[3].logprobs == pytest.approx({"!": -3.0, ".": -0.25, "?": -2.0})


def test_at_most_twenty_alternatives_are_requested_and_none_if_switched_off(
    serve: Start,
) -> None:
    server = serve(completion("yes"))
    engine, without = (
        OpenAIGenerator(spec(server.url, options={"logprobs": wanted})) for wanted in (True, False)
    )
    assert engine.generate(TALK, Sampling(), None, 50)[0].tokens == ()  # the server gives none
    assert without.generate(TALK, Sampling(), None, 50)[0].tokens == ()
    engine.generate(TALK, Sampling())
    assert [r.get("top_logprobs") for r in server.requests] == [20, None, None]
    assert [r.get("logprobs") for r in server.requests] == [True, None, None]
    refusing = serve(Answer({"error": {"message": "logprobs is not supported with this model"}}, 400))
    unsupported = r"logprobs is not supported.*options\.logprobs = false does without"
    with pytest.raises(EngineError, match=unsupported):
        OpenAIGenerator(spec(refusing.url)).generate(TALK, Sampling(), None, 5)


@pytest.mark.heavy
def test_requests_per_minute_are_limited(serve: Start) -> None:
    server = serve(completion("x"))
    engine = OpenAIGenerator(spec(server.url, options={"requests_per_minute": 1200}))
    begin = time.monotonic()
    engine.generate(TALK * 4, Sampling())
    engine.generate(TALK * 3, Sampling())
    assert time.monotonic() - begin >= 6 * 0.05  # seven, 50 ms apart, over both calls
    assert len(server.requests) == 7


def test_failure_ends_the_wait_for_the_next_request(serve: Start) -> None:
    server = serve(Answer({"error": {"message": "bad"}}, 403))
    options = {"requests_per_minute": 0.01, "max_retries": 0}  # the second would be sent after 100 minutes
    engine = OpenAIGenerator(spec(server.url, options=options))
    with pytest.raises(EngineError, match="refused the key"):
        engine.generate(TALK * 9, Sampling())
    assert len(server.requests) == 1


def test_answers_in_flight_during_a_failure_are_kept(serve: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first failure is raised, nothing more is sent, and answers in flight come with the error."""
    failed = threading.Event()

    def reply(_: int, request: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if request["messages"][0]["content"] == "bad":
            return 403, {"error": {"message": "bad"}}
        failed.wait(LONGEST_WAIT_S)
        return 200, completion("late")

    def explain(failure: Failed) -> EngineError:
        failed.set()
        return HostedGenerator.explain(engine, failure)

    server = serve(reply)
    engine = OpenAIGenerator(spec(server.url, options={"max_concurrency": 2, "max_retries": 0}))
    talks = [[{"role": "user", "content": text}] for text in ("slow", "bad", "slow", "slow")]
    monkeypatch.setattr(engine, "explain", explain)  # called once the engine has recorded the failure
    with pytest.raises(Unfinished, match="refused the key") as caught:
        engine.generate(talks, Sampling())
    assert {place: answer.text for place, answer in caught.value.done.items()} == {0: "late"}
    assert len(server.requests) == 2


def test_a_hundred_requests_can_be_in_flight(serve: Start) -> None:
    everybody = threading.Barrier(100)

    def reply(*_: Any) -> tuple[int, dict[str, Any]]:
        everybody.wait(LONGEST_WAIT_S)
        return 200, completion("x")

    server = serve(reply)
    engine = OpenAIGenerator(spec(server.url, options={"max_concurrency": 100}))
    assert len(engine.generate(TALK * 100, Sampling())) == 100
    assert server.most_at_once == 100


def test_generation_works_inside_a_running_event_loop(serve: Start) -> None:
    engine = OpenAIGenerator(spec(serve(completion("x")).url))

    async def notebook() -> str:
        return engine.generate(TALK, Sampling())[0].text

    assert asyncio.run(notebook()) == "x"


@pytest.mark.parametrize(
    ("usage", "counts"),
    [
        ({"prompt_tokens": -50, "completion_tokens": -7}, (0, 0)),
        ({"prompt_tokens": 5, "completion_tokens": -7}, (0, 0)),  # 0: unknown, the maximum is counted
        ({"prompt_tokens": 10**30, "completion_tokens": 1}, (10**8, 1)),
        ({"prompt_tokens": "5", "completion_tokens": None}, (0, 0)),
        (None, (0, 0)),
        ("much", (0, 0)),
        ({"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 40}, (5, 35)),  # reasoning beside
        ({"completion_tokens": 2, "total_tokens": 40}, (0, 2)),
    ],
)
def test_counts_of_tokens_are_never_negative(serve: Start, usage: Any, counts: tuple[int, int]) -> None:
    engine = OpenAIGenerator(spec(serve({**completion("x"), "usage": usage}).url))
    answer = engine.generate(TALK, Sampling())[0]
    assert (answer.prompt_tokens, answer.completion_tokens) == counts


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (shaped(message={"content": 5}), r"content\.str: expected a text"),
        (shaped(message="x"), r"choices\.0\.message: "),
        ({"choices": None}, "choices: expected a valid list"),
        ({"object": "list", "data": []}, "choices: Field required"),
    ],
)  # fmt: skip
def test_answers_of_another_shape_are_refused(serve: Start, answer: dict[str, Any], error: str) -> None:
    server = serve(answer)
    engine = OpenAIGenerator(spec(server.url, options={"max_retries": 1}))
    with pytest.raises(
        Unfinished, match=rf"served.*{server.url} gave no answer of the chat API \(.*{error}"
    ) as caught:
        engine.generate(TALK, Sampling())
    assert len(server.requests) == 2, "the next reply may be whole"
    assert caught.value.lost.keys() == {0}, "the engine goes on"


@pytest.mark.parametrize(
    ("dialect", "fields", "words"),
    [
        ("openai", {"reasoning": "auto", "web": False}, {}),
        ("openai", {"reasoning": 128}, "no field for reasoning = 128: choose another options.dialect"),
        ("openrouter", {"reasoning": "low"}, {"reasoning": {"effort": "low"}}),
        ("qwen", {"reasoning": "none"}, {"enable_thinking": False}),
        ("qwen", {"reasoning": "low"}, "no field for reasoning = 'low'"),
        ("vllm", {"reasoning": "high"}, {"chat_template_kwargs": {"enable_thinking": True}}),
        ("vllm", {"web": True}, r"no field for web = true: .*openrouter.*options\.extra_body"),
    ],
)
def test_dialects_send_or_refuse_reasoning_and_web(dialect: Any, fields: dict[str, Any], words: Any) -> None:
    """The tables of docs/hosted-models.md are tested in test_settings."""
    if isinstance(words, dict):
        assert settings_body(spec("http://localhost:1", **fields), dialect) == words
        return
    with pytest.raises(EngineError, match=words):
        OpenAIGenerator(spec("http://localhost:1", **fields, options={"dialect": dialect}))
