from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
from statsmodels.stats.multitest import multipletests

from tasks.metrics.bootstrap import bootstrap_indices
from tasks.metrics.comparison import coefficient_of_variation, holm, mean_interval, paired_test

# Seed paper, table 1a: mAP of 14 origins in percent, Italy first, Russia last.
BERT_BASE = [8.12, 19.98, 11.80, 11.10, 9.33, 12.47, 8.25, 18.42, 8.54, 15.06, 9.16, 4.09, 9.18, 4.72]
LLAMA3 = [29.62, 36.58, 30.01, 25.47, 30.01, 32.15, 28.97, 37.62, 28.86, 30.39, 45.72, 31.60, 25.36, 11.77]


# --- coefficient of variation
# ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("by_origin", "overall", "printed"), [(BERT_BASE, 12.56, 40.87), (LLAMA3, 30.96, 23.84)]
)
def test_the_seed_counts_its_total_as_an_origin(
    by_origin: list[float], overall: float, printed: float
) -> None:
    with_total = coefficient_of_variation([*by_origin, overall])
    assert with_total == pytest.approx(printed / 100, abs=0.0003)
    # Its 14 origins alone vary more: 42.67 and 24.76 %.
    origins = coefficient_of_variation(by_origin)
    assert origins == pytest.approx(scipy.stats.variation(by_origin, ddof=1))
    assert origins is not None
    assert origins > printed / 100 + 0.009


def test_variation_by_hand() -> None:
    # 1, 2, 3: sd 1, mean 2. One of four: sd 1/2, mean 1/4: the largest value, sqrt(4).
    assert coefficient_of_variation([1, 2, 3]) == pytest.approx(0.5)
    assert coefficient_of_variation([0, 0, 1, 0]) == pytest.approx(2)
    assert coefficient_of_variation([3, 3]) == 0


def test_no_variation_of_one_group_or_of_nothing() -> None:
    assert coefficient_of_variation([0.4]) is None
    assert coefficient_of_variation([0, 0]) is None
    for broken in ([1, math.nan], [1, -1], [[1, 2]]):
        with pytest.raises(ValueError, match="none negative"):
            coefficient_of_variation(broken)


# --- paired test
# ----------------------------------------------------------------------------------------------


def test_six_differences_of_one_sign() -> None:
    # Of 2^6 sign patterns one is all positive and one all negative: p = 2 / 64.
    a = np.array([0.5, 0.6, 0.7, 0.8, 0.9, 1.0])
    result = paired_test(a, a - [0.01, 0.02, 0.03, 0.04, 0.05, 0.06])
    assert result.p_value == pytest.approx(2 / 64)
    assert result.mean_difference == pytest.approx(0.035)
    assert result.n == 6
    assert paired_test([0] * 6, range(1, 7)).mean_difference == pytest.approx(-3.5)


def test_too_few_or_equal_pairs() -> None:
    assert paired_test([1, 2, 3, 4, 5], [0, 0, 0, 0, 0]) == (3.0, None, 5)
    # Equal up to rounding: 0.1 + 0.2 is not 0.3.
    assert paired_test([0.1 + 0.2] * 6, [0.3] * 6) == (0.0, 1.0, 6)


def test_equal_pairs_count_by_pratts_rule() -> None:
    # 8 equal pairs, 6 that rise and 6 that fall, and the falls are larger. Pratt's ranks start at 9:
    # falls 15..20 against rises 9..14. Wilcoxon's start at 1: falls 7..12 against rises 1..6, a far larger
    # share for the falls.
    difference = np.array([0.0] * 8 + [1, 2, 3, 4, 5, 6] + [-7, -8, -9, -10, -11, -12])
    p_value = paired_test(difference, np.zeros(20)).p_value
    rises = sum(range(9, 15))
    mean, variance = sum(range(9, 21)) / 2, sum(r * r for r in range(9, 21)) / 4
    assert p_value == pytest.approx(2 * scipy.stats.norm.cdf((rises - mean) / math.sqrt(variance)), abs=1e-9)
    forgetful = scipy.stats.wilcoxon(difference, zero_method="wilcox").pvalue
    assert p_value is not None
    assert p_value > 2 * forgetful


def test_paired_test_refuses() -> None:
    with pytest.raises(ValueError, match="NaN"):
        paired_test([1, math.nan], [1, 2])
    with pytest.raises(ValueError, match="needs a pair"):
        paired_test([], [])


# --- correction
# -----------------------------------------------------------------------------------------------


def test_holm_by_hand() -> None:
    # Sorted 0.01, 0.02, 0.03, 0.5 times 4, 3, 2, 1: 0.04, 0.06, 0.06, 0.5.
    assert holm([0.03, 0.5, 0.01, 0.02]) == pytest.approx([0.06, 0.5, 0.04, 0.06])
    # The third product, 0.02 * 2, is below the second, 0.0199 * 3: steps never go down.
    assert holm([0.0, 0.0199, 0.02, 0.9]) == pytest.approx([0, 0.0597, 0.0597, 0.9])
    assert holm([]).size == 0


@pytest.mark.parametrize("m", [1, 2, 14, 40])
def test_holm_is_statsmodels(m: int) -> None:
    # The power makes small values, rounding makes ties. (statsmodels takes 0.1 s a call: no hypothesis here.)
    p_values = np.round(np.random.default_rng(m).random(m) ** 4, 2)
    assert holm(p_values) == pytest.approx(multipletests(p_values, method="holm")[1])


@pytest.mark.parametrize("p_value", [-0.1, 1.1, math.nan])
def test_holm_refuses(p_value: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        holm([0.5, p_value])


# --- interval of a mean
# ---------------------------------------------------------------------------------------


def test_mean_interval_by_hand() -> None:
    # Means of the three resamples: 0, 1.5 and 3. The central half lies between 0.75 and 2.25.
    resamples = np.array([[0, 0], [0, 1], [1, 1]])
    assert mean_interval([0, 3], resamples, level=0.5) == pytest.approx((0.75, 2.25))


def test_mean_interval_has_the_width_of_the_standard_error() -> None:
    values = np.random.default_rng(0).random(400)
    low, high = mean_interval(values, bootstrap_indices(400, 4000, seed=0)) or (0.0, 0.0)
    standard_error = values.std() / math.sqrt(400)
    assert (high - low) / 2 == pytest.approx(1.96 * standard_error, rel=0.05)
    assert (high + low) / 2 == pytest.approx(values.mean(), abs=standard_error / 4)


def test_mean_interval_refuses() -> None:
    with pytest.raises(ValueError, match="do not fit"):
        mean_interval([1, 2, 3], np.zeros((5, 2), dtype=np.intp))
    with pytest.raises(ValueError, match="NaN"):
        mean_interval([1, math.nan], np.array([[0, 1], [1, 1]]))
