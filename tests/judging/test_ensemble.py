"""Votes combined by hand."""

from __future__ import annotations

import random
from statistics import stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.judging.verdicts import Ensemble, Vote, combine

SCORES = {"Yes": 1.0, "Maybe": 0.5, "No": 0.0, None: None}
votes = st.lists(
    st.builds(
        lambda judge, phrasing, verdict: Vote(judge, phrasing, verdict, SCORES[verdict]),
        st.sampled_from(["a", "b"]),
        st.sampled_from(["1", "2"]),
        st.sampled_from(list(SCORES)),
    ),
    min_size=1,
    max_size=12,
)


def samples(*scores: float | None, judge: str = "a", phrasing: str = "1") -> list[Vote]:
    """Votes of one judge, Yes from 0.5 on."""
    return [Vote(judge, phrasing, None if s is None else "Yes" if s >= 0.5 else "No", s) for s in scores]


def test_samples_of_one_judge() -> None:
    # Mean 0.7; distances 0.2, 0.1, -0.3: variance 0.14 / 2.
    result = combine(samples(0.9, 0.8, 0.4))
    assert (result.mean, result.sd) == pytest.approx((0.7, 0.07**0.5))
    assert result.verdict == "Yes"


def test_lost_samples_do_not_shift_the_weight_of_a_judge() -> None:
    # Judge a: phrasing 1 has mean 0.5, phrasing 2 mean 1: 0.75. Judge b: 0. Mean of judges 0.375.
    votes = samples(1.0, 0.0) + samples(1.0, None, phrasing="2") + samples(0.0, None, None, judge="b")
    result = combine(votes)
    assert result.mean == pytest.approx(0.375)
    assert result.verdict is None  # two Yes, two No


def test_one_vote_and_none() -> None:
    assert combine(samples(0.3)) == Ensemble(0.3, None, "No")
    assert combine(samples(None, None)) == combine([]) == Ensemble(None, None, None)
    assert combine(samples(1.0, 1.0)).sd == 0


@given(votes, st.randoms(use_true_random=False))
def test_bounds_order_and_sd(votes: list[Vote], order: random.Random) -> None:
    result, mixed = combine(votes), list(votes)
    order.shuffle(mixed)
    assert combine(mixed) == result
    scores = [vote.score for vote in votes if vote.score is not None]
    if scores:
        assert result.mean is not None
        assert min(scores) <= result.mean <= max(scores)
        counts = [sum(v.verdict == name for v in votes) for name in ("Yes", "Maybe", "No")]
        assert (result.verdict is None) == (counts.count(max(counts)) > 1)
    if len(scores) > 1:
        assert result.sd == pytest.approx(stdev(scores))
