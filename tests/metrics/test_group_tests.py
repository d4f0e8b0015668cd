from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import f_oneway, ttest_ind, ttest_rel
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.multivariate import test_mvmean as hotelling
from statsmodels.stats.oneway import anova_oneway

from tasks.metrics.group_tests import cohens_d, group_test, pair_tests
from tasks.metrics.types import FloatArray

nan = math.nan


def column(*values: float) -> FloatArray:
    """Return one answer to each scenario."""
    return np.array(values, dtype=float)[:, None]


def random_groups(seed: int, groups: int = 4, scenarios: int = 9, answers: int = 3) -> dict[str, FloatArray]:
    """Return groups that answer the same scenarios, with effects of scenario, group and both."""
    rng = np.random.default_rng(seed)
    common = rng.standard_normal((scenarios, 1))
    return {
        f"g{i}": common
        + rng.standard_normal((scenarios, 1)) * (1 + i)
        + rng.standard_normal((scenarios, answers))
        + i / 3
        for i in range(groups)
    }


# --- all groups at once


def test_hand_calculation_gives_anova() -> None:
    # Means 2, 4 and 6 of three values each, in all 4. Between: 3 * (4 + 0 + 4) = 24 with 2 degrees of
    # freedom; within: 2 + 2 + 2 = 6 with 6. F = 12 / 1; eta squared 24 / 30; P(F(2, 6) >= 12) is
    # (1 + 2 * 12 / 6)^-3.
    groups = {"a": column(1, 2, 3), "b": column(3, 4, 5), "c": column(5, 6, 7)}
    result = group_test(groups, reproduce=True)
    assert (result.f, result.eta_squared) == pytest.approx((12, 0.8))
    assert result.p_value == pytest.approx(5**-3)
    assert (result.df_between, result.df_within, result.reason) == (2, 6, None)
    # Four scenarios are enough for three groups, but these always lie 2 apart: nothing varies.
    groups = {"a": column(1, 2, 3, 4), "b": column(3, 4, 5, 6), "c": column(5, 6, 7, 8)}
    assert group_test(groups).reason == "the groups' differences do not vary over scenarios"


@given(st.integers(0, 10_000))
@settings(deadline=None, max_examples=30)
def test_anova_equals_scipy_and_sums_of_squares(seed: int) -> None:
    groups = random_groups(seed)
    result = group_test(groups, reproduce=True)
    samples = [table.ravel() for table in groups.values()]
    expected = f_oneway(*samples)
    assert (result.f, result.p_value) == pytest.approx((expected.statistic, expected.pvalue))
    pooled = np.concatenate(samples)
    between = sum(len(g) * (np.mean(g) - pooled.mean()) ** 2 for g in samples)
    assert result.eta_squared == pytest.approx(between / ((pooled - pooled.mean()) ** 2).sum())
    assert group_test(groups).eta_squared == result.eta_squared


@given(st.integers(0, 10_000))
@settings(deadline=None, max_examples=30)
def test_the_mixed_model_equals_hotellings_test_of_scenario_means(seed: int) -> None:
    groups = random_groups(seed)
    means = np.array([table.mean(axis=1) for table in groups.values()]).T
    expected = hotelling(means[:, 1:] - means[:, :1])
    result = group_test(groups)
    assert (result.f, result.p_value) == pytest.approx((expected.statistic, expected.pvalue))
    assert (result.df_between, result.df_within) == (3, 6)
    again = group_test(dict(reversed(groups.items())))
    assert (again.f, again.p_value) == pytest.approx((result.f, result.p_value))


def test_two_groups_give_the_paired_t_test() -> None:
    groups = random_groups(3, groups=2)
    one, other = (table.mean(axis=1) for table in groups.values())
    expected = ttest_rel(one, other)
    assert group_test(groups).p_value == pytest.approx(expected.pvalue)
    (pair,) = pair_tests(groups)
    assert (pair.t, pair.p_value) == pytest.approx((expected.statistic, expected.pvalue))
    assert pair.mean_difference == pytest.approx(one.mean() - other.mean())


def test_groups_that_share_few_scenarios_have_welchs_test() -> None:
    groups = {"a": column(1, 2, 4, nan, nan, nan), "b": column(nan, nan, nan, 3, 6, 11)}
    samples = [[1, 2, 4], [3, 6, 11]]
    expected = anova_oneway(samples, use_var="unequal")
    result = group_test(groups)
    assert (result.f, result.p_value) == pytest.approx((expected.statistic, expected.pvalue))
    (pair,) = pair_tests(groups)
    assert pair.p_value == pytest.approx(ttest_ind(*samples, equal_var=False).pvalue)


def test_groups_without_a_value_are_left_out() -> None:
    groups = random_groups(1)
    empty = {"empty": np.full((9, 3), nan)}
    for reproduce in (True, False):
        assert group_test(groups | empty, reproduce) == group_test(groups, reproduce)


@pytest.mark.parametrize(
    ("groups", "reason", "degrees"),
    [
        ({}, "fewer than two groups have values", (0, 0)),
        ({"a": column(1, 2)}, "fewer than two groups have values", (0, 1)),
        ({"a": column(1, 2), "b": column(nan, nan)}, "fewer than two groups have values", (0, 1)),
        ({"a": column(1), "b": column(2)}, "no group has two values", (1, 0)),
        ({"a": column(1, 1), "b": column(2, 2)}, "do not vary within any group", (1, 2)),
        # The rounding error of 0.3 does not count as a spread.
        ({"a": column(0.1 + 0.2, 0.3), "b": column(2, 2)}, "do not vary within any group", (1, 2)),
    ],
)
@pytest.mark.parametrize("reproduce", [True, False])
def test_a_missing_group_test_has_a_reason(
    groups: dict[str, FloatArray], reason: str, degrees: tuple[int, int], reproduce: bool
) -> None:
    result = group_test(groups, reproduce)
    assert (result.f, result.p_value, result.eta_squared) == (None, None, None)
    assert result.reason is not None
    assert reason in result.reason
    assert (result.df_between, result.df_within) == degrees


# --- pairs


def test_hand_calculation_gives_t_test() -> None:
    # Means 2 and 4, variances 1 and 1, three values each: t = -2 / sqrt(1 * 2 / 3), d = -2 / 1. With 4
    # degrees of freedom p = 1 - 1.5 s + 0.5 s^3 for s = |t| / sqrt(4 + t^2) = sqrt(6 / 10).
    (test,) = pair_tests({"a": column(1, 2, 3), "b": column(3, 4, 5)}, reproduce=True)
    assert (test.first, test.second, test.mean_difference) == ("a", "b", -2)
    assert (test.t, test.d) == pytest.approx((-math.sqrt(6), -2))
    s = math.sqrt(0.6)
    assert test.p_value == pytest.approx(1 - 1.5 * s + 0.5 * s**3)
    assert test.p_bonferroni == test.p_value


@given(st.integers(0, 10_000), st.booleans())
@settings(deadline=None, max_examples=30)
def test_pair_tests_equal_scipy_with_bonferroni_of_statsmodels(seed: int, reproduce: bool) -> None:
    groups = random_groups(seed)
    tests = pair_tests(groups, reproduce)
    assert [(t.first, t.second) for t in tests] == [*combinations(groups, 2)]
    p_values = []
    for test in tests:
        one, other = groups[test.first], groups[test.second]
        if reproduce:
            expected = ttest_ind(one.ravel(), other.ravel())
        else:
            expected = ttest_rel(one.mean(axis=1), other.mean(axis=1))
        assert (test.t, test.p_value) == pytest.approx((expected.statistic, expected.pvalue))
        p_values.append(expected.pvalue)
    corrected = multipletests(p_values, method="bonferroni")[1]
    assert [t.p_bonferroni for t in tests] == pytest.approx(corrected.tolist())


def test_untestable_pairs_have_a_reason_and_no_share_in_the_correction() -> None:
    groups = {"a": column(1, 2, 3, 9), "b": column(3, 4, 6, 8)}
    groups |= {"one": column(5, nan, nan, nan), "none": column(nan, nan, nan, nan)}
    tests = {(t.first, t.second): t for t in pair_tests(groups)}
    assert len(tests) == 6
    assert tests["a", "b"].reason is None
    assert tests["a", "b"].p_bonferroni == tests["a", "b"].p_value
    assert tests["a", "one"].p_value is None
    assert tests["a", "one"].reason == "4 and 1 values: two of each are needed"
    assert tests["one", "none"].reason == "1 and 0 values: two of each are needed"
    (flat,) = pair_tests({"a": column(1, 1), "b": column(2, 2)})
    assert (flat.t, flat.d, flat.reason) == (None, None, "the values do not vary within either group")
    (same,) = pair_tests({"a": column(1, 2, 3), "b": column(2, 3, 4)})
    assert (same.mean_difference, same.p_value) == (-1, None)
    assert same.reason == "the difference is the same in every scenario"
    # One side with a spread is enough for Student.
    (half,) = pair_tests({"a": column(1, 1, 1), "b": column(2, 3, 4)}, reproduce=True)
    assert half.reason is None


@pytest.mark.heavy
@pytest.mark.parametrize("seed", range(3))
def test_mixed_and_paired_tests_keep_the_level_where_anova_and_student_do_not(seed: int) -> None:
    """Equal groups, one of which varies more between scenarios: Student's test and ANOVA reject too often."""
    rng, n, alarms = np.random.default_rng(seed), 300, np.zeros(4)
    for _ in range(n):
        common = rng.standard_normal((12, 1))
        groups = {
            name: common + spread * rng.standard_normal((12, 1)) + 0.5 * rng.standard_normal((12, 3))
            for name, spread in (("a", 0.5), ("b", 0.5), ("c", 2.0))
        }
        p_values = [
            *(group_test(groups, reproduce).p_value for reproduce in (False, True)),
            *(pair_tests(groups, reproduce)[1].p_value for reproduce in (False, True)),
        ]
        alarms += [p is not None and p < 0.05 for p in p_values]
    mixed, anova, paired, student = alarms / n
    assert max(mixed, paired) < 0.09
    assert min(anova, student) > 0.15


# --- Cohen's d


@given(st.integers(0, 10_000), st.floats(0.01, 100), st.floats(-50, 50))
@settings(deadline=None)
def test_cohens_d_has_no_unit_and_is_a_rescaled_t(seed: int, unit: float, shift: float) -> None:
    rng = np.random.default_rng(seed)
    one, other = rng.standard_normal(7), rng.standard_normal(11) + 0.5
    d = cohens_d(one, other)
    assert d == pytest.approx(cohens_d(one * unit + shift, other * unit + shift), rel=1e-6)
    assert d == pytest.approx(ttest_ind(one, other).statistic * math.sqrt(1 / 7 + 1 / 11))
    assert cohens_d(other, one) == pytest.approx(-d)


def test_wrong_tables_are_refused_with_the_group() -> None:
    for wrong in (column(1, math.inf), column(1, 2, 3), np.array([1.0, 2.0])):
        with pytest.raises(ValueError, match="group 'b' must be scenarios x answers"):
            group_test({"a": column(1, 2), "b": wrong})
        with pytest.raises(ValueError, match="group 'b'"):
            pair_tests({"a": column(1, 2), "b": wrong})
