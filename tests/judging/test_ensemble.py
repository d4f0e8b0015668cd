"""Votes combined by hand."""

from __future__ import annotations

import random
from statistics import fmean, stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.judging.ensemble import Ensemble, Vote, combine

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
    # Mean 0.7; distances 0.2, 0.1, -0.3: variance 0.14 / 2. One of three is off the majority.
    result = combine(samples(0.9, 0.8, 0.4))
    assert result.mean == pytest.approx(0.7)
    assert result.sd == pytest.approx(0.07**0.5)
    assert result.verdict == "Yes"
    assert result.off_majority == pytest.approx(1 / 3)
    assert (result.n_scored, result.n_unscored) == (3, 0)


def test_lost_samples_do_not_shift_the_weight_of_a_judge() -> None:
    # Judge a: phrasing 1 has mean 0.5, phrasing 2 mean 1: 0.75. Judge b: 0. Mean of judges 0.375.
    result = combine(
        [
            *samples(1.0, 0.0),
            *samples(1.0, None, phrasing="2"),
            *samples(0.0, None, None, judge="b"),
        ]
    )
    assert result.mean == pytest.approx(0.375)
    assert (result.n_scored, result.n_unscored) == (4, 3)
    assert (result.verdict, result.off_majority) == (None, 0.5)  # two Yes, two No


def test_one_vote_and_none() -> None:
    assert combine(samples(0.3)) == Ensemble(0.3, None, "No", 0.0, 1, 0)
    assert combine(samples(None, None)) == Ensemble(None, None, None, None, 0, 2)
    assert combine(samples(1.0, 1.0)).sd == 0


@given(votes, st.randoms(use_true_random=False))
def test_bounds_order_and_sd(votes: list[Vote], shuffler: random.Random) -> None:
    result = combine(votes)
    shuffled = list(votes)
    shuffler.shuffle(shuffled)
    assert combine(shuffled) == result
    scores = [vote.score for vote in votes if vote.score is not None]
    assert (result.n_scored, result.n_unscored) == (len(scores), len(votes) - len(scores))
    if scores:
        assert result.mean is not None
        assert min(scores) <= result.mean <= max(scores)
        counts = [sum(v.verdict == name for v in votes) for name in ("Yes", "Maybe", "No")]
        assert result.off_majority == pytest.approx(1 - max(counts) / len(scores))
        assert (result.verdict is None) == (counts.count(max(counts)) > 1)
    if len(scores) > 1:
        assert result.sd == pytest.approx(stdev(scores))


def test_the_mean_of_k_samples_varies_less() -> None:
    rng = random.Random(0)
    draws = [samples(*(rng.random() for _ in range(5))) for _ in range(400)]
    means = [combine(five).mean or 0.0 for five in draws]
    within = fmean((combine(five).sd or 0.0) ** 2 for five in draws)
    # The variance of a mean of five is a fifth of that of one sample, which sd estimates.
    assert stdev(means) ** 2 == pytest.approx(within / 5, rel=0.2)


def test_refuses() -> None:
    with pytest.raises(ValueError, match="needs a vote"):
        combine([])
    for half in (Vote("a", "1", "Yes", None), Vote("a", "1", None, 1.0)):
        with pytest.raises(ValueError, match="verdict and score, or neither"):
            combine([half])
