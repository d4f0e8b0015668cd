"""Reads a completion before its content: whether there is a text, and the object in it. Pure."""

from __future__ import annotations

from tasks.loop.prompts import Completion
from tasks.parsing import parse_json

NO_ANSWER = "not asked or not answered"
REFUSED, EMPTY, CUT_OFF = "refused", "empty answer", "cut off at max_tokens"
UNPARSABLE = "unparsable answer"


def is_lost(reason: str | None) -> bool:
    """Whether an answer is missing although the model was asked: refused, empty, cut off or unreadable.

    reason: why it is missing; "" or None: it is not.
    """
    return bool(reason) and reason != NO_ANSWER


def no_text(completion: Completion | None) -> str | None:
    """Why there is nothing to read; None where there is a text, or probabilities of the options."""
    if completion is None:
        return NO_ANSWER
    if completion.finish_reason in ("refusal", "content_filter"):
        return REFUSED
    if completion.text.strip() or completion.option_logprobs:
        return None
    return CUT_OFF if completion.finish_reason == "length" else EMPTY


def whole_text(completion: Completion | None) -> tuple[str | None, str]:
    """(the text on one line, ""), or (None, why there is nothing to read); what was cut off is no text."""
    reason = no_text(completion)
    if completion is None or reason:
        return None, reason or ""
    if completion.finish_reason == "length":
        return None, CUT_OFF
    return " ".join(completion.text.split()), ""


def unreadable(completion: Completion) -> str:
    """Why a text has nothing in it that could be read."""
    return CUT_OFF if completion.finish_reason == "length" else UNPARSABLE


def json_fields(text: str) -> dict[str, object] | None:
    """The object in the text, None without one; servers without structured outputs put it between fences.

    Texts in it can be stored: escapes may spell half a surrogate pair, which neither files nor engines take.
    """
    try:
        answer = parse_json(text[text.find("{") : text.rfind("}") + 1])
    except ValueError:
        return None
    if not isinstance(answer, dict):
        return None
    return {key: _whole(value) if isinstance(value, str) else value for key, value in answer.items()}


def _whole(value: str) -> str:
    """The text with every half of a surrogate pair replaced."""
    return value.encode(errors="replace").decode()
