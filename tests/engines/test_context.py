"""Only a prompt that is too long for a served model's context is cut off, whichever server reports it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tasks.engines.protocols import EngineError, Generation, Sampling, Unfinished
from tasks.engines.served.hosted import tokens_left
from tasks.engines.served.openai_http import OpenAIGenerator
from tasks.engines.served.transport import Failed
from tasks.engines.specs import EngineSpec
from tests.http_server import Answer, HttpServer, Request

TOO_LONG = [  # OpenAI (twice), vLLM (three), llama.cpp, OpenRouter, Anthropic, Google
    "This model's maximum context length is 128000 tokens. However, your messages resulted in 130010 tokens. "
    "Please reduce the length of the messages.",
    "Your input exceeds the context window of this model. Please adjust your input and try again.",
    "This model's maximum context length is 512 tokens. However, your prompt contains at least 513 input "
    "tokens, which exceeds this limit even without any output tokens.",
    "This model's maximum context length is 512 tokens. However, your prompt contains 9000 characters (more "
    "than 4096 characters, which is the upper bound for 512 input tokens).",
    "The decoder prompt (length 600) is longer than the maximum model length of 512.",
    "the request exceeds the available context size, try increasing it",
    "This endpoint's maximum context length is 32768 tokens. However, you requested about 40960 tokens "
    "(36864 of text input, 4096 in the output).",
    "prompt is too long: 208310 tokens > 200000 maximum",
    "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
]
TOO_LONG_TOGETHER = {
    "This model's maximum context length is 4,096 tokens. However, you requested 4196 tokens (100 in the "
    "messages, 4096 in the completion). Please reduce the length of the messages or completion.": 3996,
    "'max_tokens' or 'max_completion_tokens' is too large: 4096. This model's maximum context length is 2048 "
    "tokens and your request has 48 input tokens (4096 > 2048 - 48).": 2000,
    "This model's maximum context length is 2048 tokens. However, you requested 4096 output tokens and your "
    "prompt contains at least 48 input tokens, for a total of at least 4144 tokens.": 2000,
    "input length and `max_tokens` exceed context limit: 199000 + 4096 > 200000, decrease input length or "
    "`max_tokens` and try again": 1000,
}
OTHER = [
    "logprobs is not supported with this model",
    "max_tokens is too large: 100000. This model supports at most 16384 completion tokens",
    "max_tokens must be below the maximum context length",
    "Request too large for model: limit 6000 tokens per minute",
]


def refusal(words: str, status: int = 400, **error: str) -> Failed:
    return Failed(status, words, {"error": {"message": words, **error}})


def test_tokens_left_are_read_from_the_errors_of_servers() -> None:
    assert [tokens_left(refusal(words), 4096) for words in TOO_LONG] == [0] * len(TOO_LONG)
    assert {words: tokens_left(refusal(words), 4096) for words in TOO_LONG_TOGETHER} == TOO_LONG_TOGETHER
    assert [tokens_left(refusal(words), 4096) for words in OTHER] == [None] * len(OTHER)
    assert tokens_left(refusal("no", code="context_length_exceeded"), 9) == 0
    assert tokens_left(refusal("no", type="exceed_context_size_error"), 9) == 0
    assert tokens_left(refusal(TOO_LONG[0], 429), 9) is None, "a limit of the account"
    assert tokens_left(refusal(next(iter(TOO_LONG_TOGETHER))), 3996) == 0, "as much as was refused"
    for body in (None, [], {"error": "text"}, {"error": {"code": ["x"]}}):
        assert tokens_left(Failed(400, "no", body), 9) is None


def reply(request: Request) -> Answer:
    """Return the answer of a server with a context of 100 tokens, one per character."""
    body = request.json
    prompt, limit = len(body["messages"][0]["content"]), body["max_tokens"]
    if prompt + limit > 100:
        words = (
            f"This model's maximum context length is 100 tokens. However, you requested {prompt + limit} "
            f"tokens ({prompt} in the messages, {limit} in the completion)."
        )
        return Answer({"error": {"message": words, "type": "BadRequestError"}}, 400)
    usage = {"prompt_tokens": prompt, "completion_tokens": limit}
    return Answer(
        {"choices": [{"message": {"content": "x" * limit}, "finish_reason": "length"}], "usage": usage}
    )


@pytest.fixture
def server() -> Iterator[HttpServer]:
    server = HttpServer(reply)
    yield server
    server.close()


def engine_at(server: HttpServer, **fields: Any) -> OpenAIGenerator:
    spec = EngineSpec(name="served", kind="openai", model="m", base_url=server.address, **fields)
    return OpenAIGenerator(spec)


def test_too_long_prompt_is_cut_off_and_the_others_are_answered(server: HttpServer) -> None:
    talks = [[{"role": "user", "content": "p" * n}] for n in (10, 90, 99, 100, 500)]
    answers = engine_at(server, reasoning="none").generate(talks, Sampling(max_tokens=20, seed=3))
    assert [(a.prompt_tokens, len(a.text)) for a in answers] == [(10, 20), (90, 10), (99, 1), (0, 0), (0, 0)]
    assert answers[4] == Generation("", "length", 0, 0, 3)
    assert len(server.received) == 5 + 2, "sent again where there is room, once"


def test_error_about_every_prompt_ends_the_run(server: HttpServer) -> None:
    other = HttpServer(lambda _: Answer({"error": {"message": OTHER[1]}}, 400))
    try:
        with pytest.raises(Unfinished, match=r"rejected a request for 'm' \(400: max_tokens is too large"):
            engine_at(other, reasoning="none").generate([[{"role": "user", "content": "p"}]], Sampling())
    finally:
        other.close()
    assert issubclass(Unfinished, EngineError)
