import math
from typing import Literal

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score  # type: ignore[import-untyped]

from tasks.metrics.agreement import (
    cohen_kappa,
    er_sr_correlation,
    fleiss_kappa,
    opposite_order,
    rank_agreement,
    spearman_interval,
    spearman_test,
)

# The paper, table 1: low = common across countries. House numbers first, currency last.
HUMAN = [3.18, 2.90, 3.92, 3.98, 4.70, 5.64, 5.89, 6.59, 8.20]


# --- model against people


def test_infinite_sr_is_ranked_first_and_ties_share_ranks() -> None:
    # Two infinities share ranks 1 and 2: 1.5, 1.5, 3, 4 against 1, 2, 3, 4. rho = 4.5 / sqrt(4.5 * 5) =
    # 0.9487. Five concordant pairs, one tied on one side: tau-b = 5 / sqrt(5 * 6) = 0.9129.
    agreement = rank_agreement([math.inf, math.inf, 8, 2], [1, 2, 3, 4])
    assert agreement == pytest.approx((4.5 / math.sqrt(22.5), 5 / math.sqrt(30)))


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=3, max_size=12))
@settings(deadline=None)
def test_rank_agreement_is_minus_scipys_correlation(pairs: list[tuple[int, int]]) -> None:
    sr, human = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    agreement = rank_agreement(sr, human)
    if min(len(set(sr)), len(set(human))) < 3:
        assert agreement is None
    else:
        expected = -scipy.stats.spearmanr(sr, human).statistic, -scipy.stats.kendalltau(sr, human).statistic
        assert agreement == pytest.approx(expected)


@pytest.mark.parametrize("sr", [[1.0] * 9, [math.inf] * 9, [1.0] * 4 + [math.inf] * 5])
def test_fewer_than_three_distinct_values_have_no_agreement(sr: list[float]) -> None:
    assert rank_agreement(sr, HUMAN) is None


def test_rank_agreement_refuses_nan_and_unequal_lengths() -> None:
    with pytest.raises(ValueError, match="NaN"):
        rank_agreement([1, 2, math.nan], [1, 2, 3])
    with pytest.raises(ValueError, match="one length"):
        rank_agreement([1, 2], [1, 2, 3])


# --- ER against SR


def test_spearman_ranks_infinite_sr_first() -> None:
    # ER ranks 1, 2, 3, 4 against SR ranks 3, 4, 2, 1: sum d^2 = 18, rho = 1 - 6 * 18 / (4 * 15).
    result = er_sr_correlation([1, 2, 5, 9], [50, math.inf, 3, 2])
    assert result.value == pytest.approx(-0.8)
    assert (result.reason, result.n_used, result.n_dropped) == (None, 4, 0)


def test_pearson_drops_infinite_sr_and_counts_it() -> None:
    er, sr = [1.0, 2.0, 5.0, 9.0], [math.inf, 50.0, 3.0, 2.0]
    result = er_sr_correlation(er, sr, method="pearson")
    assert result.value == pytest.approx(scipy.stats.pearsonr(er[1:], sr[1:]).statistic)
    assert (result.n_used, result.n_dropped) == (3, 1)


def test_pearson_survives_values_whose_squares_overflow() -> None:
    assert er_sr_correlation([1, 2, 3], [3e200, 2e200, 1e200], method="pearson").value == pytest.approx(-1)


def test_a_missing_correlation_has_a_reason() -> None:
    few = er_sr_correlation([1, 2, 3], [math.inf, math.inf, 3], method="pearson")
    assert (few.value, few.reason, few.n_used, few.n_dropped) == (None, "1 points, 3 are needed", 1, 2)
    flat = er_sr_correlation([1, 2, 3], [math.inf] * 3)
    assert (flat.value, flat.reason) == (None, "ER or SR does not vary")


# --- raters among themselves


def test_hand_calculation_gives_fleiss_kappa() -> None:
    # Three raters, two categories, subjects 3:0, 2:1 and 0:3. Agreeing pairs: 3/3, 1/3, 3/3, mean 7/9. Shares
    # of the categories 5/9 and 4/9: by chance 41/81. Kappa (63 - 41) / (81 - 41) = 0.55.
    assert fleiss_kappa([[3, 0], [2, 1], [0, 3]]) == pytest.approx(0.55)
    assert fleiss_kappa([[2, 0], [0, 2]]) == pytest.approx(1)
    assert fleiss_kappa([[1, 1], [1, 1]]) == pytest.approx(-1)


def test_equal_ratings_have_no_fleiss_kappa() -> None:
    assert fleiss_kappa([[3, 0], [3, 0]]) is None


@pytest.mark.parametrize(
    ("counts", "complaint"),
    [
        ([[3, 0], [2, 0]], "subject 1 has 2 ratings, subject 0 has 3"),
        ([[1, 0], [0, 1]], "two raters"),
        ([[2.5, 0.5]], "whole numbers"),
        ([[math.nan, 1]], "whole numbers"),
        ([[-1, 4]], "none negative"),
    ],
)
def test_fleiss_kappa_refuses_wrong_counts(counts: list[list[float]], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        fleiss_kappa(counts)


# --- two raters


@pytest.mark.parametrize(("weights", "theirs"), [("none", None), ("quadratic", "quadratic")])
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=30))
@settings(deadline=None)
def test_cohens_kappa_equals_scikit_learns(
    weights: Literal["none", "quadratic"], theirs: str | None, pairs: list[tuple[int, int]]
) -> None:
    first, second = zip(*pairs, strict=True)
    kappa = cohen_kappa(first, second, range(4), weights)
    if len({*first, *second}) == 1:
        assert kappa is None
    else:
        expected = cohen_kappa_score(first, second, labels=range(4), weights=theirs)
        assert kappa == pytest.approx(expected, abs=1e-9)
        assert kappa == pytest.approx(cohen_kappa(second, first, range(4), weights))


def test_constant_ratings_have_no_cohens_kappa() -> None:
    assert cohen_kappa(["yes", "yes"], ["yes", "yes"], ["no", "yes"]) is None
    assert cohen_kappa([], [], ["no", "yes"]) is None


def test_cohens_kappa_refuses() -> None:
    with pytest.raises(ValueError, match="got 1 and 2"):
        cohen_kappa(["yes"], ["yes", "no"], ["no", "yes"])
    with pytest.raises(ValueError, match=r"unknown class 'perhaps'; known: 'no', 'yes'"):
        cohen_kappa(["yes"], ["perhaps"], ["no", "yes"])
    with pytest.raises(ValueError, match="named twice"):
        cohen_kappa(["yes"], ["yes"], ["yes", "yes"])


# --- models on two evaluations


def test_p_value_of_a_small_spearman_uses_all_orders() -> None:
    five = [1.0, 2.0, 3.0, 4.0, 5.0]
    assert spearman_test(five, five) == pytest.approx((1, 2 / 120))  # the same and the reverse order
    assert spearman_test(five, five[::-1]) == pytest.approx((-1, 2 / 120))
    assert spearman_test(five[:4], five[:4]) == pytest.approx((1, 2 / 24))
    # With ties there are only 5 distinct orders.
    assert spearman_test([1, 1, 1, 1, 2], [1, 1, 1, 1, 2]) == pytest.approx((1, 1 / 5))
    assert spearman_test(five[:2], five[:2]) is None
    assert spearman_test(five, [1.0] * 5) is None


def test_hand_calculation_gives_the_interval_of_rho() -> None:
    # 12 points, rho 0.5: atanh 0.549306, t of 10 degrees 2.228139, root of (1 + 0.125) / 9 = 0.353553.
    half = 2.228139 * 0.353553
    by_hand = math.tanh(0.549306 - half), math.tanh(0.549306 + half)
    assert spearman_interval(0.5, 12) == pytest.approx(by_hand, abs=1e-5)
    low, high = spearman_interval(1.0, 5) or (0.0, 0.0)
    assert low < 0, "five models in one order may be of evaluations that have nothing in common"
    assert high == 1
    assert spearman_interval(-1.0, 5) == pytest.approx((-1, -low))
    assert spearman_interval(0.5, 4) is None


def test_spearman_agrees_with_scipy() -> None:
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(2, 25))
    by_t = scipy.stats.spearmanr(x, y)
    assert spearman_test(x, y) == pytest.approx((by_t.statistic, by_t.pvalue))
    x, y = np.round(x[:5], 0), y[:5]  # with a tie
    over_all_orders = scipy.stats.permutation_test(
        [x], lambda a: abs(scipy.stats.spearmanr(a, y).statistic), permutation_type="pairings",
        alternative="greater",
    )  # fmt: skip
    result = spearman_test(x, y)
    assert result is not None
    assert (abs(result[0]), result[1]) == pytest.approx((over_all_orders.statistic, over_all_orders.pvalue))


# --- order of pairs by people and a judge


def test_hand_calculation_gives_opposite_order() -> None:
    # Pairs: 1-2 both up, 1-3 tied by people, 2-3 people down and the judge up.
    order = opposite_order([1, 2, 1], [3, 4, 5])
    assert order is not None
    assert order.opposite == pytest.approx(1 / 2)
    assert order.tied == pytest.approx(1 / 3)
    assert order.n == 3
    # Agreement 1/3; by chance people -1, 0, 1 each 1/3 and the judge always -1: 1/3. So kappa is 0.
    assert order.kappa == pytest.approx(0.0)


def test_fewer_than_two_untied_scores_have_no_opposite_order() -> None:
    assert opposite_order([1], [2]) is None
    equal = opposite_order([1, 1], [2, 3])
    assert equal is not None
    assert (equal.opposite, equal.tied) == (None, 1.0)
    with pytest.raises(ValueError, match="one length"):
        opposite_order([1, 2], [1])


def test_opposite_order_compares_pairs_within_groups() -> None:
    order = opposite_order([1, 2, 9, 8], [1, 2, 1, 2], ["a", "a", "b", "b"])
    assert order is not None
    assert (order.opposite, order.n) == (0.5, 2)
    assert opposite_order([1, 2], [1, 2], ["a", "b"]) is None
    with pytest.raises(ValueError, match="one label for each"):
        opposite_order([1, 2], [1, 2], ["a"])
