"""OpenAI's Responses API, by which its models search the web: what is sent and what is read.

It takes no seed and no stop texts.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from tasks.engines.protocols import EngineError, Generation
from tasks.engines.secrets import Secrets
from tasks.engines.served.transport import EXCERPT, Unreadable, checked, count

PATH = "/responses"
LIMIT = "max_output_tokens"
"""Of what is written, reasoning included."""
_AS_THEY_ARE = ("model", "temperature", "top_p")
_INCOMPLETE = {"max_output_tokens": "length", "content_filter": "content_filter"}


def responses_request(chat: dict[str, Any], limit_field: str) -> dict[str, Any]:
    """A chat request in the words of the Responses API; nothing is kept at the server.

    Raises:
        EngineError: it has stop texts.
    """
    if "stop" in chat:
        raise EngineError(
            'the Responses API takes no stop texts: set options.api = "chat", or ask without them'
        )
    request = {name: chat[name] for name in _AS_THEY_ARE if name in chat}
    request |= {"input": chat["messages"], LIMIT: chat[limit_field], "store": False}
    if "response_format" in chat:
        request["text"] = {"format": {"type": "json_schema", **chat["response_format"]["json_schema"]}}
    return request


class _Part(BaseModel):
    type: str
    text: str | None = None
    refusal: str | None = None


class _Item(BaseModel):
    type: str
    content: list[_Part] | None = None
    phase: str | None = None


class _Why(BaseModel):
    reason: str | None = None


class _Error(BaseModel):
    message: str = "no reason is given"


class _Response(BaseModel):
    status: str
    output: list[_Item]
    incomplete_details: _Why | None = None
    error: _Error | None = None
    usage: Any = None


def read_response(body: Any, secrets: Secrets) -> Generation:
    """The message after the last search; reasoning and remarks before it are left out, and counted.

    Raises:
        Unreadable: it is no answer of the Responses API, or says that it failed.
    """
    response = checked(_Response, body)
    if response.status not in ("completed", "incomplete"):
        why = response.error or _Error()
        raise Unreadable(200, secrets.hide(f"status: {response.status}: {why.message}")[:EXCERPT])
    parts: list[_Part] = []
    for item in response.output:
        if item.type.endswith("_call"):
            parts = []
        elif item.type == "message" and item.phase != "commentary":
            parts += item.content or []
    refusals = [part.refusal for part in parts if part.refusal]
    text = "".join(refusals or [part.text or "" for part in parts if part.type == "output_text"])
    finish = "stop"
    if response.status == "incomplete":
        why_cut = response.incomplete_details.reason if response.incomplete_details else None
        finish = _INCOMPLETE.get(why_cut or "", "unknown")
    usage = response.usage if isinstance(response.usage, dict) else {}
    sent, written = count(usage.get("input_tokens")), count(usage.get("output_tokens"))
    finish = "refusal" if refusals else finish
    return Generation(secrets.hide_in_answer(text), finish, sent if written else 0, written)
