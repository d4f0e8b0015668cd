"""Checks whether a completion has a text, and parses the JSON object in it. Pure."""

from __future__ import annotations

from tasks.loop.prompts import Completion
from tasks.parsing import parse_json

NO_ANSWER = "not asked or not answered"
REFUSED, EMPTY, CUT_OFF = "refused", "empty answer", "cut off at max_tokens"
UNPARSABLE = "unparsable answer"


def is_lost(reason: str | None) -> bool:
    """Return whether an answer is lost: the model had the prompt but refused, or its text is empty, cut off
    or unreadable.

    reason: why the answer is missing; "" or None if it exists.
    """
    return bool(reason) and reason != NO_ANSWER


def no_text(completion: Completion | None) -> str | None:
    """Return why a completion has no text; None if it has one, or probabilities of the options."""
    if completion is None:
        return NO_ANSWER
    if completion.finish_reason in ("refusal", "content_filter"):
        return REFUSED
    if completion.text.strip() or completion.option_logprobs:
        return None
    return CUT_OFF if completion.finish_reason == "length" else EMPTY


def whole_text(completion: Completion | None) -> tuple[str | None, str]:
    """Return (the text on one line, ""), or (None, why there is none); a text that was cut off is none."""
    reason = no_text(completion)
    if completion is None or reason:
        return None, reason or ""
    if completion.finish_reason == "length":
        return None, CUT_OFF
    return " ".join(completion.text.split()), ""


def unreadable(completion: Completion) -> str:
    """Return the reason why a text could not be parsed."""
    return CUT_OFF if completion.finish_reason == "length" else UNPARSABLE


def json_fields(text: str) -> dict[str, object] | None:
    """Return the JSON object in a text, also between code fences; None without one.

    Halves of surrogate pairs, which escapes may spell and neither files nor engines accept, are replaced.
    """
    try:
        answer = parse_json(text[text.find("{") : text.rfind("}") + 1])
    except ValueError:
        return None
    if not isinstance(answer, dict):
        return None
    return {key: _whole(value) if isinstance(value, str) else value for key, value in answer.items()}


def _whole(value: str) -> str:
    """Return a text with "?" for each half of a surrogate pair."""
    return value.encode(errors="replace").decode()
