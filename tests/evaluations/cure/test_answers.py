"""How answers are read: labels and explanations, each on its own."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.evaluations.cure import read as answers
from tasks.evaluations.cure.read import CureAnswer, read, read_answers
from tasks.loop import replies
from tasks.loop.prompts import Completion
from tests.evaluations.cure.conftest import MakeStudy, completion, right_answers

THIN, THICK = ("normad", "thin"), ("normad", "thick")


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ('{"label": "neutral"}', "neutral"),
        ('{"label": " Yes "}', "yes"),
        ('```json\n{"label": "no"}\n```', "no"),
        ('{"label": "yes", "label": "no"}', "no"),
    ],
)
def test_labels(text: str, label: str) -> None:
    assert read(*THIN, Completion(text, "stop", 1, 1)) == CureAnswer(label, None)


@pytest.mark.parametrize(
    ("text", "finish", "reason"),
    [
        ('{"label": "maybe"}', "stop", answers.OFF_MENU),
        ('{"label": 1}', "stop", answers.OFF_MENU),
        ('{"answer": "yes"}', "stop", answers.OFF_MENU),
        ("yes", "stop", replies.UNPARSABLE),
        ('["yes"]', "stop", replies.UNPARSABLE),
        ('{"label": ', "length", replies.CUT_OFF),
        ("  ", "stop", replies.EMPTY),
        ('{"label": "yes"}', "content_filter", replies.REFUSED),
    ],
)
def test_no_label(text: str, finish: str, reason: str) -> None:
    assert read(*THIN, Completion(text, finish, 1, 1)) == CureAnswer(None, reason)


def test_the_likeliest_label_is_taken_where_probabilities_are_known() -> None:
    likely = {"yes": -2.0, "no": -0.5, "neutral": -3.0}
    assert read(*THIN, completion("yes", option_logprobs=likely)).label == "no"
    # A tie goes to the first on the menu, an option that is not on it counts for nothing.
    assert (
        read(*THIN, completion("no", option_logprobs={"neutral": -1.0, "yes": -1.0, "x": 0.0})).label == "yes"
    )
    assert read(*THIN, completion("no", option_logprobs={})).label == "no"


def test_explanations() -> None:
    assert read(*THICK, completion("no", "One\n waits. ")) == CureAnswer("no", None, "One waits.")
    assert read(*THICK, completion("no", " ")) == CureAnswer("no", None, None, answers.NO_EXPLANATION)
    assert read(*THICK, completion("no")) == CureAnswer("no", None, None, answers.NO_EXPLANATION)
    assert read(*THICK, completion("?", "One waits.")) == CureAnswer(None, answers.OFF_MENU, "One waits.")
    assert read(*THICK, None) == CureAnswer(None, replies.NO_ANSWER, None, replies.NO_ANSWER)


def test_a_label_outlives_an_explanation_that_was_cut_off() -> None:
    cut = Completion('{"label": "no", "explanation": "In Japan one', "length", 1, 1)
    assert read(*THICK, cut) == CureAnswer("no", None, None, replies.CUT_OFF)
    assert read(*THICK, Completion('{"label": "n', "length", 1, 1)).label_reason == replies.CUT_OFF


def test_half_a_surrogate_pair_is_no_text() -> None:
    answer = read(*THICK, Completion('{"label": "no", "explanation": "a \\ud83d b"}', "stop", 1, 1))
    assert answer.explanation == "a ? b"


@settings(max_examples=40)
@given(st.text(), st.sampled_from(["stop", "length"]), st.sampled_from([THIN, THICK]))
def test_any_text_is_read(text: str, finish: str, part: tuple[str, str]) -> None:
    answer = read(*part, Completion(text, finish, 1, 1))
    assert (answer.label is None) == (answer.label_reason is not None)


@settings(max_examples=40)
@given(st.recursive(st.none() | st.integers() | st.text(), st.lists) | st.just({"a": 1}))
def test_any_value_is_read(value: object) -> None:
    answer = read(*THICK, Completion(json.dumps({"label": value, "explanation": value}), "stop", 1, 1))
    assert (answer.explanation is None) == (answer.explanation_reason is not None)


def test_every_sample_is_read(make_study: MakeStudy) -> None:
    study = make_study()
    completions = right_answers(study)
    del completions["casa", "thin", "casa-x-in-adhere"]
    readings = read_answers(study, completions)
    assert len(readings) == 2 * (6 + 4 + 6 + 3)
    assert readings["casa", "thin", "casa-x-in-adhere"].label_reason == replies.NO_ANSWER
    assert readings["casa", "thick", "casa-x-in-adhere"].explanation == "Because of casa-x-in-adhere."
