"""Why a completion has no text to read, and the JSON object in its text."""

from __future__ import annotations

import pytest

from tasks.loop.prompts import Completion
from tasks.loop.replies import no_text, read_fields, unreadable


def completion(text: str, finish: str = "stop", **more: dict[str, float]) -> Completion:
    return Completion(text, finish, 1, 1, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("reply", "reason"),
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
def test_a_completion_without_text_has_a_reason(reply: Completion | None, reason: str | None) -> None:
    assert no_text(reply) == reason


def test_an_unreadable_completion_was_cut_off_or_is_unparsable() -> None:
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
def test_the_json_object_in_a_text_is_read(text: str, fields: dict[str, object] | None) -> None:
    assert read_fields(text, ["a"]) == fields
