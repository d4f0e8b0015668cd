from __future__ import annotations

import gc
import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar  # type: ignore[import-untyped]
from statsmodels.stats.multitest import multipletests  # type: ignore[import-untyped]

from tasks.metrics.comparison import coefficient_of_variation, holm, mcnemar, paired_test, spread

# The paper, table 1a: mAP of 14 origins in percent, Italy first, Russia last.
BERT_BASE = [8.12, 19.98, 11.80, 11.10, 9.33, 12.47, 8.25, 18.42, 8.54, 15.06, 9.16, 4.09, 9.18, 4.72]
LLAMA3 = [29.62, 36.58, 30.01, 25.47, 30.01, 32.15, 28.97, 37.62, 28.86, 30.39, 45.72, 31.60, 25.36, 11.77]


# --- coefficient of variation


@pytest.mark.parametrize(
    ("by_origin", "overall", "printed"), [(BERT_BASE, 12.56, 40.87), (LLAMA3, 30.96, 23.84)]
)
def test_the_printed_cv_counts_the_total_as_an_origin(
    by_origin: list[float], overall: float, printed: float
) -> None:
    with_total = coefficient_of_variation([*by_origin, overall])
    assert with_total == pytest.approx(printed / 100, abs=0.0003)
    # The 14 origins alone vary more: 42.67 and 24.76 %.
    origins = coefficient_of_variation(by_origin)
    assert origins == pytest.approx(scipy.stats.variation(by_origin, ddof=1))
    assert origins is not None
    assert origins > printed / 100 + 0.009


def test_hand_calculation_gives_variation() -> None:
    # 1, 2, 3: sd 1, mean 2. One of four: sd 1/2, mean 1/4: the largest value, sqrt(4).
    assert coefficient_of_variation([1, 2, 3]) == pytest.approx(0.5)
    assert coefficient_of_variation([0, 0, 1, 0]) == pytest.approx(2)
    assert coefficient_of_variation([3, 3]) == 0


def test_one_group_or_zeros_have_no_variation() -> None:
    assert coefficient_of_variation([0.4]) is None
    assert coefficient_of_variation([0, 0]) is None
    for broken in ([1, math.nan], [1, -1], [[1, 2]]):
        with pytest.raises(ValueError, match="none negative"):
            coefficient_of_variation(broken)


# --- paired test


def test_six_differences_of_one_sign_have_p_2_of_64() -> None:
    # Of 2^6 sign patterns one is all positive and one all negative: p = 2 / 64.
    a = np.array([0.5, 0.6, 0.7, 0.8, 0.9, 1.0])
    result = paired_test(a, a - [0.01, 0.02, 0.03, 0.04, 0.05, 0.06])
    assert result.p_value == pytest.approx(2 / 64)
    assert result.mean_difference == pytest.approx(0.035)
    assert result.n == 6
    assert paired_test([0] * 6, range(1, 7)).mean_difference == pytest.approx(-3.5)


def test_five_pairs_have_no_p_and_equal_pairs_have_p_1() -> None:
    assert paired_test([1, 2, 3, 4, 5], [0, 0, 0, 0, 0]) == (3.0, None, 5)
    # Equal up to rounding: 0.1 + 0.2 is not 0.3.
    assert paired_test([0.1 + 0.2] * 6, [0.3] * 6) == (0.0, 1.0, 6)


def test_equal_pairs_are_ranked_by_pratts_rule() -> None:
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


def test_paired_test_refuses_nan_and_no_pairs() -> None:
    with pytest.raises(ValueError, match="NaN"):
        paired_test([1, math.nan], [1, 2])
    with pytest.raises(ValueError, match="needs a pair"):
        paired_test([], [])


# --- correction


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_equals_statsmodels(p_values: list[float]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gc, "collect", lambda: 0)  # statsmodels calls it for nothing
        assert holm(p_values).tolist() == multipletests(p_values, method="holm")[1].tolist()


@pytest.mark.parametrize("p_value", [-0.1, 1.1, math.nan])
def test_holm_refuses_values_outside_0_and_1(p_value: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        holm([0.5, p_value])


# --- two prompts of the same items


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=60))
@settings(deadline=None, max_examples=40)
def test_mcnemar_equals_statsmodels(pairs: list[tuple[bool, bool]]) -> None:
    first, second = np.array(pairs).T
    table = [[int((first & second).sum()), int((first & ~second).sum())],
             [int((~first & second).sum()), int((~first & ~second).sum())]]  # fmt: skip
    result = mcnemar(first, second)
    assert result.p_value == pytest.approx(statsmodels_mcnemar(table, exact=True).pvalue)
    assert mcnemar(second, first)[:3] == (result.only_second, result.only_first, result.p_value)


def test_mcnemar_needs_two_boolean_vectors_of_one_length() -> None:
    for broken in ([1, 0], [True], [[True, False]], [0.5, 1.0], ["yes", "no"]):
        with pytest.raises(ValueError, match="vectors of booleans of one length"):
            mcnemar(broken, [True, False])


def test_hand_calculation_gives_spread() -> None:
    # 1, 2, 3, 6: quartiles at 1.75 and 3.75; squared distances from 3: 4, 1, 0, 9.
    assert spread([3, 1, 6, 2]) == pytest.approx((2.5, 2.0, 14 / 3, 4))
    values = np.random.default_rng(0).random(25)
    result = spread(values)
    assert result is not None
    assert result.iqr == pytest.approx(scipy.stats.iqr(values))
    assert spread([1, 3]) == (2.0, 1.0, 2.0, 2)
    assert spread([0.4]) is None
    with pytest.raises(ValueError, match="finite"):
        spread([1, math.nan])
