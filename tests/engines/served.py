"""One scripted server for the chat, Messages and Gemini APIs; replies of each; engines that ask it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tasks.engines import load
from tasks.engines.protocols import Sampling
from tasks.engines.served.hosted import HostedGenerator
from tasks.engines.specs import EngineSpec
from tests.http_server import Answer, HttpServer, Request, Send

KEY = "sk-test-0123456789abcdef"
SCHEMA = {
    "type": "object",
    "properties": {"dish": {"type": "string"}},
    "required": ["dish"],
    "additionalProperties": False,
}
TALK = [
    [
        {"role": "system", "content": "You cook."},
        {"role": "user", "content": "Name a dish."},
        {"role": "assistant", "content": "Of where?"},
        {"role": "user", "content": "Of Peru."},
    ]
]
SAMPLING = Sampling(temperature=0.5, top_p=0.9, max_tokens=9, seed=3, stop=("x",))
KINDS = ("openai", "anthropic", "google")
Reply = Callable[[int, dict[str, Any]], "tuple[int, dict[str, Any]] | Send"]
"""(number of earlier requests, the request) -> (status, body), or what sends the answer"""
Start = Callable[..., "Scripted"]
"""A ``Reply``, or one answer (or its body) for every request -> the server."""


class Scripted(HttpServer):
    """A server that answers as a function says and lists no models; it records its requests."""

    def __init__(self, reply: Reply | Answer | dict[str, Any]) -> None:
        def answer(request: Request) -> Send:
            if request.method == "GET":
                return Answer({"data": []})  # the list of models, which checks the key
            if not callable(reply):
                return Answer(reply)
            given = reply if isinstance(reply, Answer) else reply(request.number, request.json)
            return Answer(given[1], given[0]) if isinstance(given, tuple) else given

        super().__init__(answer)
        self.url = f"{self.address}/v1"

    @property
    def requests(self) -> list[dict[str, Any]]:
        """All complete requests: a client killed while sending leaves part of one."""
        return [request.json for request in self.received if request.body]


def engine_of(kind: str, server: HttpServer, **options: Any) -> HostedGenerator:
    """Return an engine with a key, without retries unless an option sets them."""
    spec = EngineSpec(
        name="far", kind=kind, model="m-1", base_url=server.address, api_key_env="TEST_API_KEY",
        options={"max_retries": 0, "timeout": 20.0, **options},
    )  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TEST_API_KEY", KEY)
        engine: HostedGenerator = load._class(spec)(spec)
    return engine


def completion(content: str | None, finish: str = "stop", refusal: str | None = None) -> dict[str, Any]:
    """Return a whole answer in the chat API's format."""
    message = {"role": "assistant", "content": content, "refusal": refusal}
    return {
        "id": "1", "object": "chat.completion", "created": 0, "model": "smol",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7},
    }  # fmt: skip


def reply_of(kind: str, text: str = "Ceviche.", ended: Any = ..., **usage: int) -> dict[str, Any]:
    """Return a whole answer in the API's format; ended: why, by default because it is complete."""
    sent, written = usage.get("sent", 5), usage.get("written", 2)
    whole = {"openai": "stop", "anthropic": "end_turn", "google": "STOP"}
    ended = whole[kind] if ended is ... else ended
    if kind == "openai":
        return completion(text, ended)
    if kind == "anthropic":
        blocks = [{"type": "thinking", "thinking": "hm", "signature": ""}, {"type": "text", "text": text}]
        return {
            "id": "msg", "type": "message", "role": "assistant", "model": "m-1", "content": blocks,
            "stop_reason": ended, "stop_sequence": None,
            "usage": {"input_tokens": sent, "cache_read_input_tokens": 0, "output_tokens": written},
        }  # fmt: skip
    content = {"role": "model", "parts": [{"text": "hm", "thought": True}, {"text": text}]}
    return {
        "candidates": [{"content": content, "finishReason": ended, "index": 0}],
        "usageMetadata": {"promptTokenCount": sent, "candidatesTokenCount": written, "totalTokenCount": 7},
        "modelVersion": "m-1",
    }


def refused(kind: str, status: int, words: str, **headers: str) -> Answer:
    """Return an error in the API's format."""
    error = {"message": words, "type": "some_error"} | ({"code": status} if kind == "google" else {})
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer({"type": "error", "error": error}, status, named)
