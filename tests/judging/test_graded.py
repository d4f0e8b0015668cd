"""Graded scores by hand, and what does not change them."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.judging.verdicts import graded

YES_NO = {"Yes": 1.0, "No": 0.0}

logprobs = st.dictionaries(
    st.sampled_from(["Yes", " yes", "YES", "No", "no ", "Maybe", "The", ""]),
    st.floats(-2000, 0) | st.just(-math.inf),
)


@pytest.mark.parametrize(
    ("shares", "values", "score"),
    [
        # 0.6 / (0.6 + 0.2); the rest of the probability goes to other words.
        ({"Yes": 0.6, "No": 0.2, "Well": 0.15}, YES_NO, 0.75),
        # Spellings are pooled: Yes 0.3 + 0.2 + 0.1, No 0.1 + 0.1: 0.6 / 0.8.
        (
            {"Yes": 0.3, " yes": 0.2, "YES\n": 0.1, "No": 0.1, "no": 0.1, "None": 0.1, "Ye": 0.1},
            YES_NO,
            0.75,
        ),
        # 0.5 * 1 + 0.3 * 0.5.
        ({"good": 0.5, "unsure": 0.3, "bad": 0.2}, {"Good": 1.0, "Unsure": 0.5, "Bad": 0.0}, 0.65),
        ({"No": 0.4}, YES_NO, 0.0),  # a verdict that is not listed has no probability
    ],
)
def test_by_hand(shares: dict[str, float], values: dict[str, float], score: float) -> None:
    assert graded({text: math.log(p) for text, p in shares.items()}, values) == pytest.approx(score)


def test_improbable_verdicts_are_still_compared() -> None:
    # exp(-2000) is 0 in floating point; their ratio is e.
    assert graded({"Yes": -2000.0, "No": -2001.0}, YES_NO) == pytest.approx(math.e / (math.e + 1))


@pytest.mark.parametrize("given", [None, {}, {"Perhaps": -0.1}, {"Yes": -math.inf, "No": -math.inf}])
def test_without_a_verdict_there_is_none(given: dict[str, float] | None) -> None:
    assert graded(given, YES_NO) is None


@given(logprobs, st.randoms(use_true_random=False))
def test_the_score_is_in_range_whatever_the_order(logprobs: dict[str, float], order: random.Random) -> None:
    score, mixed = graded(logprobs, YES_NO), list(logprobs.items())
    order.shuffle(mixed)
    assert graded(dict(mixed), YES_NO) == score
    if score is not None:
        assert 0 <= score <= 1
        assert graded(logprobs, {"Yes": 0.0, "No": 1.0}) == pytest.approx(1 - score)


@pytest.mark.parametrize("logprob", [0.5, math.nan, math.inf])
def test_no_log_probability(logprob: float) -> None:
    with pytest.raises(ValueError, match="'Yes' has the log-probability"):
        graded({"Yes": logprob}, YES_NO)
    assert graded({"Yes": 1e-6}, YES_NO) == 1.0  # rounding
