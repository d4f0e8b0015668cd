"""No reply is an answer unless its model finished, whichever API it comes from and whatever its reason."""

from __future__ import annotations

from typing import Any

import pytest

from tasks.engines.protocols import Unfinished
from tasks.engines.secrets import Secrets
from tasks.engines.served.anthropic_http import read_message
from tasks.engines.served.endings import KEPT, LOST, NAMELESS, RETRIED, finish_reason
from tasks.engines.served.failures import Failed, Unfit, Unreadable
from tasks.engines.served.openai_reply import read_reply, read_response
from tests.engines.served import KINDS, SAMPLING, TALK, Start, completion, engine_of, reply_of
from tests.http_server import Answer

pytestmark = pytest.mark.usefixtures("no_pauses")

PARTIAL = "The dish that"


def test_each_reason_is_in_one_row() -> None:
    rows = [*KEPT.values(), RETRIED, LOST, NAMELESS]
    names = [name for row in rows for name in row]
    assert len(names) == len(set(names))
    assert all(name == name.strip().lower() for name in names)


@pytest.mark.parametrize(
    ("reason", "stored"),
    [
        ("stop", "stop"), ("end_turn", "stop"), ("STOP", "stop"), ("stop_sequence", "stop"),
        ("length", "length"), ("max_tokens", "length"), ("MAX_TOKENS", "length"),
        ("model_context_window_exceeded", "length"), ("refusal", "refusal"),
        ("content_filter", "content_filter"), ("SAFETY", "content_filter"), ("RECITATION", "content_filter"),
        ("PROHIBITED_CONTENT", "content_filter"), ("tool_calls", "tool_calls"),
        ({"type": "stop", "matched": 2}, "stop"), ({"type": "length", "length": 9}, "length"),
        ("repetition", "length"), ("token_limit", "length"),
    ],
)  # fmt: skip
def test_finished_replies_are_kept_under_one_name(reason: Any, stored: str) -> None:
    assert finish_reason(reason) == stored


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "reason",
    ["error", "abort", "network_error", "insufficient_system_resource", "MALFORMED_FUNCTION_CALL", "OTHER",
     "cancelled", None, "", "null", "FINISH_REASON_UNSPECIFIED", "load", "not_finished", "time_limit",
     {"type": "abort", "message": "x"}],
)  # fmt: skip
def test_reply_that_is_broken_off_is_tried_again_and_never_an_answer(
    serve: Start, kind: str, reason: Any
) -> None:
    broken, whole = Answer(reply_of(kind, PARTIAL, reason)), Answer(reply_of(kind, "Ceviche.", "stop"))
    server = serve(lambda n, _: broken if n == 0 else whole)
    assert engine_of(kind, server, max_retries=1).generate(TALK, SAMPLING)[0].text == "Ceviche."
    with pytest.raises(Unfinished, match=r"no whole answer after 2 tries \(the reply") as caught:
        engine_of(kind, lost := serve(broken), max_retries=1).generate(TALK, SAMPLING)
    assert len(lost.requests) == 2
    assert (caught.value.done, caught.value.lost.keys()) == ({}, {0})
    assert caught.value.lost[0].is_paid
    assert PARTIAL not in str(caught.value)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("reason", ["brand_new", "pause_turn", 5, ["stop"], True])
def test_unknown_reason_is_an_error_with_its_name_and_never_an_answer(
    serve: Start, kind: str, reason: Any
) -> None:
    server = serve(Answer(reply_of(kind, PARTIAL, reason)))
    with pytest.raises(Unfinished, match=str(reason)[:4].strip("[").lower()) as caught:
        engine_of(kind, server, max_retries=3).generate(TALK, SAMPLING)
    assert len(server.requests) == 1, "another try ends in the same way"
    assert caught.value.lost.keys() == {0}


@pytest.mark.parametrize(
    ("status", "details", "is_transient"),
    [("failed", None, True), ("cancelled", None, True), ("in_progress", None, True), ("new", None, False),
     ("incomplete", {"reason": "new"}, False), ("incomplete", None, True), (None, None, True)],
)  # fmt: skip
def test_responses_that_are_not_completed_are_no_answers(
    status: str | None, details: Any, is_transient: bool
) -> None:
    part = {"type": "output_text", "text": PARTIAL}
    body = {
        "status": status,
        "incomplete_details": details,
        "output": [{"type": "message", "content": [part]}],
    }
    with pytest.raises(Unfit) as caught:
        read_response(body, Secrets(None))
    assert caught.value.is_transient == is_transient


def test_broken_off_message_of_a_completed_response_is_no_answer() -> None:
    part = {"type": "output_text", "text": PARTIAL}
    item = {"type": "message", "status": "incomplete", "content": [part]}
    body = {"status": "completed", "output": [item]}
    with pytest.raises(Unfit):
        read_response(body, Secrets(None))
    assert read_response({**body, "output": [{**item, "status": "completed"}]}, Secrets(None)).text == PARTIAL


@pytest.mark.parametrize(
    "choice", [{"text": "Ceviche."}, {"delta": {"content": "Ceviche."}}, {"message": None}]
)
def test_choice_without_a_message_is_no_empty_answer(choice: dict[str, Any]) -> None:
    with pytest.raises(Unreadable) as caught:
        read_reply({"choices": [{**choice, "finish_reason": "stop"}]}, Secrets(None))
    assert caught.value.is_transient
    filtered = {"choices": [{**choice, "finish_reason": "content_filter"}]}
    assert read_reply(filtered, Secrets(None)).finish_reason == "content_filter"


@pytest.mark.parametrize(
    "content",
    [{"type": "text", "text": "Ceviche."}, [{"type": "text", "text": ["Cev", "iche."]}], ["Ceviche."]],
)
def test_blocks_of_text_are_joined(content: Any) -> None:
    body = completion("")
    body["choices"][0]["message"]["content"] = content
    assert read_reply(body, Secrets(None)).text == "Ceviche."
    message = {"content": "Ceviche.", "stop_reason": "end_turn"}
    assert read_message(message, Secrets(None)).text == "Ceviche."


def test_a_failure_shows_its_words() -> None:
    failure = Failed(500, "first")
    failure.words = "second"
    assert str(failure) == "second"
