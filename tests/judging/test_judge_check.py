"""Shares of gold texts accepted and of null ones refused, by hand."""

from __future__ import annotations

import math

import pytest
from scipy.stats import binomtest

from tasks.judging.controls import acceptances, refusals

WHERE = ("benchmark", "normad")


def test_a_text_is_accepted_from_a_half_on() -> None:
    # 0.5 and 0.9 are accepted; 0, 0.2 and 0.49 are refused: 3 of 5. One is unscored.
    row = refusals("generic", WHERE, [0.0, 0.2, 0.49, 0.5, 0.9, None], "nobody judged")
    assert (row.metric, row.slice_kind, row.slice) == ("judge_generic_refused", *WHERE)
    assert row.value == pytest.approx(0.6)
    assert (row.n_scored, row.n_unscored, row.unscored_reason) == (5, 1, None)


def test_gold_accepted_is_the_other_side() -> None:
    row = acceptances(WHERE, [0.0, 0.5, 0.9, math.nan], "nobody judged")
    assert row.metric == "judge_gold_accepted"
    assert (row.value, row.n_scored, row.n_unscored) == (pytest.approx(2 / 3), 2 + 1, 1)


@pytest.mark.parametrize(("refused", "n"), [(0, 4), (3, 5), (20, 20)])
def test_the_interval_is_clopper_and_pearsons(refused: int, n: int) -> None:
    row = refusals("empty", WHERE, [0.0] * refused + [1.0] * (n - refused), "nobody judged")
    exact = binomtest(refused, n).proportion_ci(0.95, method="exact")
    assert (row.ci_low, row.ci_high) == pytest.approx((exact.low, exact.high))
    # All refused is no proof of a judge that always refuses.
    assert (row.ci_low, row.ci_high) != (row.value, row.value)


def test_nothing_scored_has_the_reason() -> None:
    row = refusals("shuffled", WHERE, [None, None], "nobody judged")
    assert (row.value, row.unscored_reason, row.n_scored, row.n_unscored) == (None, "nobody judged", 0, 2)
