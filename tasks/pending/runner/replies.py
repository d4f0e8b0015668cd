"""Lines of prompts, and replies in the form of a chat server's."""

from __future__ import annotations

import math
from typing import Any

Line = dict[str, Any]


def tokens_of(line: Line) -> list[int]:
    """Return the tokens before the answer to a prompt."""
    return list(line.get("prompt_token_ids") or line["body"]["prompt"])


def reply(text: str, finish: str, n_prompt: int, n_written: int) -> Line:
    """Return the body of a chat server's reply."""
    usage = {"prompt_tokens": n_prompt, "completion_tokens": n_written}
    return {"choices": [{"message": {"content": text}, "finish_reason": finish}], "usage": usage}


def pooled(token: str, pairs: list[tuple[str, float]]) -> Line:
    """Return a token with its alternatives as a chat server gives them; those of equal texts are one."""
    logs: dict[str, float] = {}
    for text, log in pairs:
        if log > -math.inf:
            high, low = max(log, logs.get(text, -math.inf)), min(log, logs.get(text, -math.inf))
            logs[text] = high + math.log1p(math.exp(low - high))
    others = [{"token": text, "logprob": log} for text, log in logs.items()]
    return {"token": token, "logprob": logs.get(token, -9999.0), "top_logprobs": others}


def as_chat(body: Line) -> None:
    """Give a reply to a plain text the form of a chat server's."""
    for choice in body.get("choices", ()):
        choice["message"] = {"content": choice.pop("text", "")}
        own = choice.get("logprobs") or {}
        tops = own.get("top_logprobs") or ()
        content = [
            pooled(token, list(top.items())) for token, top in zip(own.get("tokens", ()), tops, strict=False)
        ]
        choice["logprobs"] = {"content": content} if content else None
