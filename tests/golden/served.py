"""A deterministic model behind HTTP: completions of many lengths, some of them unreadable."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from tests.engines.served import Scripted, completion


def start() -> Scripted:
    """Return the running server, which remembers its requests; close it afterwards."""
    return Scripted(lambda _, request: (200, reply(request)))


def reply(request: dict[str, Any]) -> dict[str, Any]:
    """Return an answer that depends only on model, messages and seed."""
    number = _number(json.dumps([request["model"], request["messages"], request["seed"]], sort_keys=True))
    if schema := request.get("response_format"):
        fields = schema["json_schema"]["schema"]["properties"]
        text = json.dumps({name: _value(part, f"{number}{name}") for name, part in fields.items()})
    else:
        text = ("0", "1", "2", "A", "B", "C")[number % 6]
    match number % 20:
        case 0:
            body = completion(text[: len(text) // 2], "length")
        case 1:
            body = completion(None, refusal="I would rather not.")
        case 2:
            body = completion("That depends.")
        case _:
            body = completion(text)
    sent = sum(len(message["content"].split()) for message in request["messages"])
    return body | {"usage": {"prompt_tokens": sent, "completion_tokens": 20, "total_tokens": sent + 20}}


def _value(part: dict[str, Any], key: str) -> str:
    """Return one of a menu, or one to twelve words."""
    if "enum" in part:
        return str(part["enum"][_number(key) % len(part["enum"])])
    return " ".join(f"{_number(f'{key} {n}') % 1000}" for n in range(1 + _number(key) % 12))


def _number(text: str) -> int:
    """Return a 64-bit hash that is the same in every process."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())
