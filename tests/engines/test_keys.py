"""No spelling of a key leaves an engine, in any field of any API."""

from __future__ import annotations

import asyncio
import base64
import json
import random
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tasks.engines.protocols import Generation
from tasks.engines.secrets import SHORT_SECRET, Secrets
from tasks.engines.served.anthropic_http import read_message
from tasks.engines.served.google_http import read_content
from tasks.engines.served.openai_reply import read_reply, read_response
from tasks.engines.served.transport import FINISHED, Caller, Failed, Unreadable

ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_/+="
KEYS = st.builds(
    lambda seed, n: "".join(random.Random(seed).choices(ALPHABET, k=n)),
    st.integers(0, 2**32),
    st.integers(SHORT_SECRET, 512),
)
"""Random keys: none contains words of an API."""
SPELLINGS: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "twice": lambda key: f"{key} and {key}{key}",
    "in a sentence": lambda key: f"Your key {key}, is it?",
    "half of it": lambda key: key[: max(15, len(key) // 2)],
    "its middle": lambda key: key[1:],
    "JSON": lambda key: json.dumps(key),
    "hexadecimal": lambda key: key.encode().hex(),
    "capitals": lambda key: key.encode().hex().upper(),
    "Base64": lambda key: base64.b64encode(key.encode()).decode(),
    "Basic": lambda key: base64.b64encode(f"user:{key}".encode()).decode(),
    "address": lambda key: f"https://host/?key={quote(key, safe='')}&x=1",
    "reversed": lambda key: key[::-1],
    "far on": lambda key: "x " * 400 + key,
}


def reply(text: str) -> dict[str, Any]:
    """Return an answer of the OpenAI chat API with the text in every field."""
    token = {"token": text, "logprob": -1.0}
    content = [{**token, "top_logprobs": [token]}]
    choice = {"message": {"content": text}, "finish_reason": text, "logprobs": {"content": content}}
    usage = {"prompt_tokens": 1, "completion_tokens": 2, text: text}
    return {"choices": [choice], "usage": usage, text: text}


def message(text: str) -> dict[str, Any]:
    """Return an answer of the Messages API, its text in two blocks that are read as one."""
    half = len(text) // 2
    blocks = [{"type": "text", "text": each} for each in (text[:half], text[half:])]
    return {"content": blocks, "stop_reason": text, "usage": {"input_tokens": 1, "output_tokens": 2}}


def content(text: str) -> dict[str, Any]:
    """Return an answer of the Gemini API with the text in two parts."""
    half = len(text) // 2
    parts = [{"text": each} for each in (text[:half], text[half:])]
    chosen = [{"token": text, "logProbability": -1.0}]
    logprobs = {"chosenCandidates": chosen, "topCandidates": [{"candidates": chosen}]}
    return {
        "candidates": [{"content": {"parts": parts}, "finishReason": text, "logprobsResult": logprobs}],
        "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 2},
    }


def response(text: str) -> dict[str, Any]:
    """Return an answer of the Responses API with the text in two parts."""
    half = len(text) // 2
    parts = [{"type": "output_text", "text": each} for each in (text[:half], text[half:])]
    return {
        "status": "incomplete",
        "incomplete_details": {"reason": text},
        "output": [{"type": "message", "phase": text, "content": parts}],
        "usage": {"input_tokens": 1, "output_tokens": 2, text: text},
    }


APIS: dict[str, tuple[Callable[[str], dict[str, Any]], Callable[[Any, Secrets], Generation]]] = {
    "openai": (reply, read_reply),
    "responses": (response, read_response),
    "anthropic": (message, read_message),
    "google": (content, read_content),
}


def caller(key: str) -> Caller:
    client: Any = None  # nothing is sent
    return Caller(client, "http://host/v1", Secrets(key), 1.0, 0, asyncio.Event())


def leaks(key: str, text: str) -> list[str]:
    """Return runs of 15 characters of any spelling that the text still contains."""
    raw = key.encode()
    spelled = [key, raw.hex(), raw.hex().upper(), quote(key, safe=""), key[::-1]]
    spelled += [base64.b64encode(b"\0" * n + raw).decode()[(0, 2, 3)[n] : -4] for n in range(3)]
    return [run for each in spelled for i in range(len(each) - 14) if (run := each[i : i + 15]) in text]


@pytest.mark.parametrize("api", APIS)
@settings(max_examples=30)
@given(key=KEYS, spelling=st.sampled_from(sorted(SPELLINGS)))
@example(key="sk-proj-0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOP", spelling="Basic")
def test_no_field_of_an_answer_contains_a_key(api: str, key: str, spelling: str) -> None:
    write, read = APIS[api]
    body = caller(key).read_object(json.dumps(write(SPELLINGS[spelling](key))).encode())
    generation = read(body, Secrets(key))
    assert generation.finish_reason in (*FINISHED, "unknown")
    for text in (repr(generation), json.dumps(body)):
        assert not leaks(key, text), "a part of the key is left"


@settings(max_examples=30)
@given(key=KEYS, spelling=st.sampled_from(sorted(SPELLINGS)), before=st.integers(0, 3000))
def test_no_error_contains_part_of_a_key_wherever_it_is_cut(key: str, spelling: str, before: int) -> None:
    echoed, own = "y" * before + " " + SPELLINGS[spelling](key), caller(key)
    errors = [
        own.refusal(500, httpx.Headers(), json.dumps({"error": {"message": echoed}}).encode()),
        own.refusal(500, httpx.Headers(), echoed.encode()),
        own.refusal(302, httpx.Headers({"location": f"http://else/{quote(echoed)}"}), b""),
    ]
    for coding in ("utf-8", "utf-16", "utf-32-be"):
        errors.append(own.refusal(500, httpx.Headers(), echoed.encode(coding)))
        for text in (echoed, f"<html>{echoed}", f"[{json.dumps(echoed)}]"):
            with pytest.raises(Unreadable) as caught:
                own.read_object(text.encode(coding))
            errors.append(caught.value)
    for error in errors:
        assert isinstance(error, Failed)
        assert not leaks(key, error.words.replace("\\x00", ""))


def test_answers_without_a_key_are_unchanged() -> None:
    text = "A long answer: sk-learn, 0123456789, https://example.org/a?b=c – and so on. " * 50
    assert Secrets("sk-proj-" + "a1B2c3D4" * 6).hide_in_answer(text) == text
    assert caller("k" * 20).read_object(b'{"a": [1, null, {"b": true}]}') == {"a": [1, None, {"b": True}]}


@pytest.mark.parametrize("value", ["Infinity", "700", "0.5", "NaN"])
@pytest.mark.parametrize("api", ["openai", "google"])
def test_log_probability_above_0_is_refused(api: str, value: str) -> None:
    write, read = APIS[api]
    body = json.loads(json.dumps(write("yes")).replace("-1.0", value))
    with pytest.raises(Unreadable, match=r"(?i)log_?prob"):
        read(body, Secrets(None))


def test_log_probability_slightly_above_0_becomes_0() -> None:
    body = json.loads(json.dumps(reply("yes")).replace("-1.0", "0.0001"))
    assert read_reply(body, Secrets(None)).tokens[0].logprobs["yes"] == 0.0


def test_answer_without_choices_is_refused_unless_filtered() -> None:
    with pytest.raises(Unreadable, match="although the prompt was not filtered"):
        read_reply({"choices": []}, Secrets(None))
    filtered = read_reply({"choices": [], "prompt_filter_results": [{"index": 0}]}, Secrets(None))
    assert filtered.finish_reason == "content_filter"


def test_text_beside_a_key_stays_in_an_answer() -> None:
    """Its last sign comes before the key, and its first sign after it."""
    key = "sk-0123456789abcdefXYZ"
    assert Secrets(key).hide_in_answer(f"Z{key}s") == "Z[key]s"
