"""Labels and explanations, read independently of each other."""

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
    ("text", "finish", "label", "reason"),
    [
        ('{"label": "neutral"}', "stop", "neutral", None),
        ('{"label": " Yes "}', "stop", "yes", None),
        ('```json\n{"label": "no"}\n```', "stop", "no", None),
        ('{"label": "yes", "label": "no"}', "stop", "no", None),
        ('{"label": "maybe"}', "stop", None, answers.OFF_MENU),
        ('{"label": 1}', "stop", None, answers.OFF_MENU),
        ('{"answer": "yes"}', "stop", None, answers.OFF_MENU),
        ("yes", "stop", None, replies.UNPARSABLE),
        ('["yes"]', "stop", None, replies.UNPARSABLE),
        ('{"label": ', "length", None, replies.CUT_OFF),
        ("  ", "stop", None, replies.EMPTY),
        ('{"label": "yes"}', "content_filter", None, replies.REFUSED),
    ],
)
def test_label_is_read_or_missing_with_a_reason(
    text: str, finish: str, label: str | None, reason: str | None
) -> None:
    assert read(*THIN, Completion(text, finish, 1, 1)) == CureAnswer(label, reason)


def test_option_probabilities_override_the_written_label() -> None:
    likely = {"yes": -2.0, "no": -0.5, "neutral": -3.0}
    assert read(*THIN, completion("yes", option_logprobs=likely)).label == "no"
    # A tie goes to the first option; an unknown option does not count.
    tied = {"neutral": -1.0, "yes": -1.0, "x": 0.0}
    assert read(*THIN, completion("no", option_logprobs=tied)).label == "yes"
    assert read(*THIN, completion("no", option_logprobs={})).label == "no"


def test_explanation_is_read_or_missing_with_a_reason() -> None:
    assert read(*THICK, completion("no", "One\n waits. ")) == CureAnswer("no", None, "One waits.")
    assert read(*THICK, completion("no", " ")) == CureAnswer("no", None, None, answers.NO_EXPLANATION)
    assert read(*THICK, completion("no")) == CureAnswer("no", None, None, answers.NO_EXPLANATION)
    assert read(*THICK, completion("?", "One waits.")) == CureAnswer(None, answers.OFF_MENU, "One waits.")
    assert read(*THICK, None) == CureAnswer(None, replies.NO_ANSWER, None, replies.NO_ANSWER)
    surrogate = Completion('{"label": "no", "explanation": "a \\ud83d b"}', "stop", 1, 1)
    assert read(*THICK, surrogate).explanation == "a ? b"


def test_cut_off_explanation_keeps_its_label() -> None:
    cut = Completion('{"label": "no", "explanation": "In Japan one', "length", 1, 1)
    assert read(*THICK, cut) == CureAnswer("no", None, None, replies.CUT_OFF)
    assert read(*THICK, Completion('{"label": "n', "length", 1, 1)).label_reason == replies.CUT_OFF


@settings(max_examples=40)
@given(
    st.text()
    | st.recursive(st.none() | st.integers() | st.text(), st.lists).map(
        lambda value: json.dumps({"label": value, "explanation": value})
    ),
    st.sampled_from(["stop", "length"]),
)
def test_any_text_is_read_or_has_a_reason(text: str, finish: str) -> None:
    answer = read(*THICK, Completion(text, finish, 1, 1))
    assert (answer.label is None) == (answer.label_reason is not None)
    assert (answer.explanation is None) == (answer.explanation_reason is not None)


def test_every_sample_is_read(make_study: MakeStudy) -> None:
    study = make_study()
    completions = right_answers(study)
    del completions["casa", "thin", "casa-x-in-adhere"]
    readings = read_answers(study, completions)
    assert len(readings) == 2 * (6 + 4 + 6 + 3)
    assert readings["casa", "thin", "casa-x-in-adhere"].label_reason == replies.NO_ANSWER
    assert readings["casa", "thick", "casa-x-in-adhere"].explanation == "Because of casa-x-in-adhere."
