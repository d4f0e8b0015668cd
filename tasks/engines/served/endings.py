"""Tells finished replies from others by their finish reason, of all four APIs and of proxies. Pure.

A reply whose model finished is kept, with one of a few stored reasons (``KEPT``). A reply that was broken off
is no answer, whatever text it has: it is retried. Where another try cannot help, the reply is lost. A reason
that is in no row is an error with its name, because nobody knows whether the model finished.

Sources: the reference pages of OpenAI (chat, Responses, Batch), Anthropic (Messages) and Google (Gemini), the
pages of Azure, Bedrock, Cohere, DeepSeek, Mistral, OpenRouter and Zhipu, and the code of vLLM, SGLang,
llama.cpp, TGI and LiteLLM.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tasks.engines.served.failures import Unfit

KEPT: Mapping[str, tuple[str, ...]] = {
    "stop": ("stop", "end_turn", "stop_sequence", "eos", "eos_token", "complete", "completed", "end"),
    "length": (
        "length", "max_tokens", "max_output_tokens", "max_completion_tokens", "model_length", "token_limit",
        "repetition",
        "model_context_window_exceeded", "max_context_length", "context_length_exceeded",
    ),
    "refusal": ("refusal",),
    "content_filter": (
        "content_filter", "content_filtered", "content_filter_error", "safety", "recitation", "language",
        "blocklist", "prohibited_content", "spii", "image_safety", "image_prohibited_content",
        "image_recitation", "model_armor", "guardrail_intervened", "sensitive", "error_toxic",
    ),
    "tool_calls": ("tool_calls", "tool_call", "tool_use", "function_call"),
}  # fmt: skip
"""Stored finish reason -> the reasons of servers, in lower case. The model finished, and its text is kept.

``length``, ``refusal``, ``content_filter`` and a reply without text count as lost answers of the model
(``tasks.loop.replies``); they are results, and no later run sends their prompts again.
"""

RETRIED = frozenset({
    "error", "abort", "aborted", "cancelled", "canceled", "cancel", "disconnect", "failed", "incomplete",
    "timeout", "interrupted", "network_error", "server_error", "internal_error", "rate_limit_exceeded",
    "insufficient_system_resource", "overloaded", "no_image", "image_other", "other",
    "malformed_function_call", "malformed_response", "unexpected_tool_call", "missing_thought_signature",
    "in_progress", "queued", "error_limit", "load", "unload", "not_finished", "time_limit", "user_cancel",
    "malformed_model_output", "malformed_tool_use",
})  # fmt: skip
"""Reasons of replies that were broken off, in lower case."""

NAMELESS = frozenset({"", "null", "none", "unknown", "finish_reason_unspecified", "unspecified"})
"""Reasons that name none. By all four APIs such a reply is not finished; it is retried."""

LOST = frozenset({"pause_turn", "too_many_tool_calls", "compaction"})
"""Reasons of replies that the model would continue, which it does in the same way at every try."""

STORED = tuple(KEPT)
"""All finish reasons of stored completions of servers."""

_STORED_AS: Mapping[str, str] = {reason: stored for stored, own in KEPT.items() for reason in own}


def finish_reason(reason: Any, detail: str = "") -> str:
    """Return the stored finish reason of a reply whose model finished.

    Args:
        reason: as the server names it, in any case; None if it names none.
        detail: the server's message on the ending, cleaned.

    Raises:
        Unfit: the model did not finish, or nobody knows. The server's word is named, cut to 60 characters.
    """
    reason = reason.get("type") if isinstance(reason, Mapping) else reason  # SGLang and TGI
    name = reason.strip().lower() if isinstance(reason, str) else str(reason).lower()
    if stored := _STORED_AS.get(name):
        return stored
    message = f": {detail}" if detail else ""
    if name in NAMELESS:
        raise Unfit(f"the reply has no finish reason{message}", is_transient=True, is_paid=True)
    if name in RETRIED:
        raise Unfit(f"the reply was broken off, {name!r}{message}", is_transient=True, is_paid=True)
    if name in LOST:
        raise Unfit(f"the model did not end its reply, {name!r}{message}", is_paid=True)
    raise Unfit(f"unknown finish reason {name[:60]!r}{message}", is_paid=True)
