"""Prompts of judges and the opinions read from their completions."""

from __future__ import annotations

import json

import pytest

from tasks.judging.rubric import Rubric, answer_schema, judge_prompt
from tasks.judging.verdicts import CUT_OFF, UNANSWERED, read_opinions
from tasks.loop.prompts import Completion, Prompt

RUBRIC = Rubric.model_validate(
    {
        "name": "coverage",
        "version": 1,
        "system": "Say YES, PARTLY or NO.",
        "inputs": ("text",),
        "user": "Text: {{ text }}",
        "verdicts": {
            "YES": {"value": 1.0, "reasons": ["any"]},
            "PARTLY": {"value": 0.5, "reasons": ["vague"]},
            "NO": {"value": 0.0, "reasons": ["off topic"]},
        },
    }
)
LIKELY = {"YES": -0.2231435513142097, "NO": -1.6094379124341003}
"""Probabilities 0.8 and 0.2."""


def completion(text: str, logprobs: dict[str, float] | None = None) -> Completion:
    return Completion(text, "stop", 10, 5, 0, logprobs)


def verdict(name: str) -> str:
    return json.dumps({"text": {"verdict": name, "reason": "any"}})


def test_a_judges_prompt_is_the_rubric_filled_in() -> None:
    inputs = {"text": "So it is."}
    prompt = judge_prompt(RUBRIC, inputs, ["text"])
    own = Prompt(
        RUBRIC.conversation(inputs), answer_schema(RUBRIC, ("text",)), ("YES", "PARTLY", "NO"), "verdict"
    )
    assert prompt == own
    # Probabilities need a single key; with several keys none are requested.
    plain = judge_prompt(RUBRIC, inputs, ["a", "b"], with_probabilities=False)
    assert (plain.options, plain.field) == ((), "")
    assert plain.schema is not None
    assert plain.schema["required"] == ["a", "b"]


def test_probabilities_give_a_graded_score_beside_the_verdict() -> None:
    (opinion,) = read_opinions(completion(verdict("YES"), LIKELY), ["text"], RUBRIC)
    assert (opinion.verdict.verdict, opinion.verdict.value) == ("YES", 1.0)
    assert opinion.graded == opinion.score == pytest.approx(0.8)


@pytest.mark.parametrize("text", ["YES or NO", verdict("PERHAPS"), '{"text": {"verdict":'])
def test_an_unreadable_completion_is_unscored_despite_its_probabilities(text: str) -> None:
    (opinion,) = read_opinions(completion(text, LIKELY), ["text"], RUBRIC)
    assert (opinion.graded, opinion.score, opinion.is_answered) == (None, None, True)
    assert opinion.verdict.unscored_reason


def test_a_missing_completion_is_unscored_with_its_own_reason() -> None:
    both = read_opinions(None, ["a", "b"], RUBRIC)
    assert [opinion.verdict.key for opinion in both] == ["a", "b"]
    assert {opinion.verdict.unscored_reason for opinion in both} == {UNANSWERED}
    assert not any(opinion.is_answered or opinion.score is not None for opinion in both)


def test_a_completion_that_was_cut_off_has_no_verdict() -> None:
    (opinion,) = read_opinions(Completion(verdict("YES"), "length", 10, 5, 0, LIKELY), ["text"], RUBRIC)
    assert (opinion.score, opinion.verdict.unscored_reason, opinion.is_answered) == (None, CUT_OFF, True)
