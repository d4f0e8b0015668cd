"""What is read of a completion before its content, whatever evaluation it is of."""

from __future__ import annotations

import pytest

from tasks.loop.prompts import Completion
from tasks.loop.replies import json_fields, no_text, unreadable


def completion(text: str, finish: str = "stop", **more: dict[str, float]) -> Completion:
    return Completion(text, finish, 1, 1, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (None, "not asked or not answered"),
        (completion("no", "refusal"), "refused"),
        (completion("no", "content_filter"), "refused"),
        (completion(" \n"), "empty answer"),
        (completion("", option_logprobs={"yes": -0.1}), None),
        (completion("cut", "length"), None),
        (completion("", "length"), "cut off at max_tokens"),  # while it reasoned
    ],
)
def test_why_there_is_nothing_to_read(said: Completion | None, reason: str | None) -> None:
    assert no_text(said) == reason


def test_what_cannot_be_read_was_cut_off_or_is_no_answer() -> None:
    assert unreadable(completion("{", "length")) == "cut off at max_tokens"
    assert unreadable(completion("{")) == "unparsable answer"


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ('{"a": "x", "b": [1]}', {"a": "x", "b": [1]}),
        ('Sure!\n```json\n{"a": "x"}\n``` there', {"a": "x"}),
        ('{"a": "\\ud83d"}', {"a": "?"}),
        ("[1]", None),
        ("no", None),
        ('{"a": ', None),
        ("[" * 100_000, None),
        ('{"a":' * 100_000 + "}", None),
    ],
)
def test_the_object_in_a_text(text: str, fields: dict[str, object] | None) -> None:
    assert json_fields(text) == fields
