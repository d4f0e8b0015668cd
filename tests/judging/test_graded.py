"""Graded scores by hand, and what does not change them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.judging.graded import graded
from tasks.judging.rubric import Rubric

YES_NO = {"Yes": 1.0, "No": 0.0}

logprobs = st.dictionaries(
    st.sampled_from(["Yes", " yes", "YES", "No", "no ", "Maybe", "The", ""]),
    st.floats(-2000, 0) | st.just(-math.inf),
)


def test_yes_over_yes_and_no() -> None:
    # 0.6 / (0.6 + 0.2); the rest of the probability goes to other words.
    result = graded({"Yes": math.log(0.6), "No": math.log(0.2), "Well": math.log(0.15)}, YES_NO)
    assert result.score == pytest.approx(0.75)
    assert result.probabilities == pytest.approx({"Yes": 0.75, "No": 0.25})
    assert result.mass == pytest.approx(0.8)
    assert result.unscored_reason is None


def test_spellings_are_pooled() -> None:
    # Yes 0.3 + 0.2 + 0.1, No 0.1 + 0.1: 0.6 / 0.8.
    shares = {"Yes": 0.3, " yes": 0.2, "YES\n": 0.1, "No": 0.1, "no": 0.1, "None": 0.1, "Ye": 0.1}
    result = graded({text: math.log(p) for text, p in shares.items()}, YES_NO)
    assert result.score == pytest.approx(0.75)
    assert result.mass == pytest.approx(0.8)


def test_values_of_the_rubric_weigh_the_verdicts(rubric: Rubric) -> None:
    # Good 1, Unsure 0.5, Bad 0: 0.5 * 1 + 0.3 * 0.5.
    values = {name: choice.value for name, choice in rubric.verdicts.items()}
    result = graded({"good": math.log(0.5), "unsure": math.log(0.3), "bad": math.log(0.2)}, values)
    assert result.score == pytest.approx(0.65)
    assert list(result.probabilities) == ["Good", "Unsure", "Bad"]


def test_a_verdict_that_is_not_listed_has_no_probability() -> None:
    result = graded({"No": math.log(0.4)}, YES_NO)
    assert (result.score, result.probabilities) == (0.0, {"Yes": 0.0, "No": 1.0})
    assert result.mass == pytest.approx(0.4)


def test_improbable_verdicts_are_still_compared() -> None:
    # exp(-2000) is 0 in floating point; their ratio is e.
    result = graded({"Yes": -2000.0, "No": -2001.0}, YES_NO)
    assert result.score == pytest.approx(math.e / (math.e + 1))
    assert result.mass == 0


@pytest.mark.parametrize(
    ("given_logprobs", "reason"),
    [
        (None, "the engine gives no log-probabilities"),
        ({}, "none of the verdicts"),
        ({"Perhaps": -0.1}, "none of the verdicts"),
        ({"Yes": -math.inf, "No": -math.inf}, "none of the verdicts"),
    ],
)
def test_unscored(given_logprobs: dict[str, float] | None, reason: str) -> None:
    result = graded(given_logprobs, YES_NO)
    assert (result.score, result.probabilities, result.mass) == (None, {}, None)
    assert reason in str(result.unscored_reason)


@given(logprobs, st.randoms(use_true_random=False))
def test_the_score_is_in_range_whatever_the_order(logprobs: dict[str, float], shuffler: object) -> None:
    result = graded(logprobs, YES_NO)
    shuffled = list(logprobs.items())
    shuffler.shuffle(shuffled)  # type: ignore[attr-defined]
    assert graded(dict(shuffled), YES_NO) == result
    if result.score is not None:
        assert 0 <= result.score <= 1
        assert math.fsum(result.probabilities.values()) == pytest.approx(1)
        mirrored = graded(logprobs, {"Yes": 0.0, "No": 1.0}).score
        assert mirrored == pytest.approx(1 - result.score)


@pytest.mark.parametrize("logprob", [0.5, math.nan, math.inf])
def test_no_log_probability(logprob: float) -> None:
    with pytest.raises(ValueError, match="'Yes' has the log-probability"):
        graded({"Yes": logprob}, YES_NO)
    assert graded({"Yes": 1e-6}, YES_NO).mass == 1.0  # rounding


def test_no_menu() -> None:
    for values in ({}, {"yes": 1.0, "Yes ": 0.0}):
        with pytest.raises(ValueError, match="no two alike"):
            graded({"yes": -1.0}, values)
    for value in (-0.1, 1.1, math.nan):
        with pytest.raises(ValueError, match=r"in \[0, 1\]"):
            graded({"yes": -1.0}, {"yes": value, "no": 0.0})
