from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import f_oneway, ttest_ind
from statsmodels.stats.multitest import multipletests  # type: ignore[import-untyped]

from tasks.metrics.group_tests import cohens_d, one_way_anova, pairwise_t_tests

Groups = dict[str, list[float]]


def random_groups(seed: int, sizes: tuple[int, ...] = (5, 8, 12, 3)) -> Groups:
    rng = np.random.default_rng(seed)
    return {f"g{i}": (rng.standard_normal(n) * (1 + i) + i / 3).tolist() for i, n in enumerate(sizes)}


# --- analysis of variance
# ------------------------------------------------------------------------------------------------------


def test_anova_by_hand() -> None:
    # Means 2, 4 and 6 of three values each, in all 4. Between: 3 * (4 + 0 + 4) = 24 with 2 degrees of
    # freedom; within: 2 + 2 + 2 = 6 with 6. F = 12 / 1; eta squared 24 / 30; P(F(2, 6) >= 12) is
    # (1 + 2 * 12 / 6)^-3.
    result = one_way_anova({"a": [1, 2, 3], "b": [3, 4, 5], "c": [5, 6, 7]})
    assert (result.f, result.eta_squared) == pytest.approx((12, 0.8))
    assert result.p_value == pytest.approx(5**-3)
    assert (result.df_between, result.df_within, result.reason) == (2, 6, None)


@given(st.integers(0, 10_000))
@settings(deadline=None, max_examples=50)
def test_anova_is_that_of_scipy_and_of_sums_of_squares(seed: int) -> None:
    groups = random_groups(seed)
    result = one_way_anova(groups)
    expected = f_oneway(*groups.values())
    assert (result.f, result.p_value) == pytest.approx((expected.statistic, expected.pvalue))
    pooled = np.concatenate(list(groups.values()))
    between = sum(len(g) * (np.mean(g) - pooled.mean()) ** 2 for g in groups.values())
    assert result.eta_squared == pytest.approx(between / ((pooled - pooled.mean()) ** 2).sum())
    again = one_way_anova(dict(reversed(groups.items())))
    assert (again.f, again.p_value, again.eta_squared) == pytest.approx(
        (result.f, result.p_value, result.eta_squared)
    )


def test_groups_without_a_value_are_left_out() -> None:
    groups = random_groups(1)
    assert one_way_anova(groups | {"empty": []}) == one_way_anova(groups)


@pytest.mark.parametrize(
    ("groups", "reason", "degrees"),
    [
        ({}, "0 groups have values", (0, 0)),
        ({"a": [1, 2]}, "1 groups have values", (0, 1)),
        ({"a": [1, 2], "b": []}, "1 groups have values", (0, 1)),
        ({"a": [1], "b": [2]}, "no group has two values", (1, 0)),
        ({"a": [1, 1], "b": [2, 2]}, "do not vary within any group", (1, 2)),
        # What rounding leaves of 0.3 is no spread.
        ({"a": [0.1 + 0.2, 0.3], "b": [2, 2]}, "do not vary within any group", (1, 2)),
    ],
)
def test_no_anova_and_why(groups: Groups, reason: str, degrees: tuple[int, int]) -> None:
    result = one_way_anova(groups)
    assert (result.f, result.p_value, result.eta_squared) == (None, None, None)
    assert result.reason is not None
    assert reason in result.reason
    assert (result.df_between, result.df_within) == degrees


# --- pairs
# ------------------------------------------------------------------------------------------------------


def test_t_test_by_hand() -> None:
    # Means 2 and 4, variances 1 and 1, three values each: t = -2 / sqrt(1 * 2 / 3), d = -2 / 1. With 4
    # degrees of freedom p = 1 - 1.5 s + 0.5 s^3 for s = |t| / sqrt(4 + t^2) = sqrt(6 / 10).
    (test,) = pairwise_t_tests({"a": [1, 2, 3], "b": [3, 4, 5]})
    assert (test.first, test.second, test.mean_difference) == ("a", "b", -2)
    assert (test.t, test.d) == pytest.approx((-math.sqrt(6), -2))
    s = math.sqrt(0.6)
    assert test.p_value == pytest.approx(1 - 1.5 * s + 0.5 * s**3)
    assert test.p_bonferroni == test.p_value


@given(st.integers(0, 10_000), st.booleans())
@settings(deadline=None, max_examples=50)
def test_pairs_are_those_of_scipy_corrected_as_statsmodels_does(seed: int, equal_variances: bool) -> None:
    groups = random_groups(seed)
    tests = pairwise_t_tests(groups, equal_variances)
    assert [(t.first, t.second) for t in tests] == [
        (f"g{i}", f"g{j}") for i in range(4) for j in range(i + 1, 4)
    ]
    p_values = []
    for test in tests:
        expected = ttest_ind(groups[test.first], groups[test.second], equal_var=equal_variances)
        assert (test.t, test.p_value) == pytest.approx((expected.statistic, expected.pvalue))
        p_values.append(expected.pvalue)
    corrected = multipletests(p_values, method="bonferroni")[1]
    assert [t.p_bonferroni for t in tests] == pytest.approx(corrected.tolist())
    mirrored = {(t.first, t.second): t for t in pairwise_t_tests(dict(reversed(groups.items())))}
    for test in pairwise_t_tests(groups):
        other = mirrored[test.second, test.first]
        assert test.t is not None
        assert test.d is not None
        assert (other.t, other.d, other.p_value) == pytest.approx((-test.t, -test.d, test.p_value))


def test_untestable_pairs_do_not_count_as_tests() -> None:
    groups = {"a": [1.0, 2, 3], "b": [3.0, 4, 6], "one": [5.0], "none": []}
    tests = {(t.first, t.second): t for t in pairwise_t_tests(groups)}
    assert len(tests) == 6
    assert tests["a", "b"].reason is None
    assert tests["a", "b"].p_bonferroni == tests["a", "b"].p_value
    assert tests["a", "one"].p_value is None
    assert tests["a", "one"].reason == "3 and 1 values: two of each are needed"
    assert tests["one", "none"].reason == "1 and 0 values: two of each are needed"
    (flat,) = pairwise_t_tests({"a": [1, 1], "b": [2, 2, 2]})
    assert (flat.t, flat.d, flat.reason) == (None, None, "the values do not vary within either group")
    # One side with a spread is enough.
    (half,) = pairwise_t_tests({"a": [1, 1], "b": [2, 3, 4]})
    assert half.reason is None


def test_bonferroni_stays_below_one() -> None:
    same = [1.0, 2.0, 3.0]
    assert [t.p_bonferroni for t in pairwise_t_tests({"a": same, "b": same, "c": same})] == [1, 1, 1]


# --- Cohen's d
# ------------------------------------------------------------------------------------------------------


def test_cohens_d_by_hand() -> None:
    # Means 3 and 1; squares about them 2 (three values) and 4 (two values: 1 -+ sqrt 2): pooled variance
    # (2 + 4) / (2 + 1) = 2. The seed's plain mean of the variances 1 and 4 would be 2.5.
    root = math.sqrt(2)
    assert cohens_d([2, 3, 4], [1 - root, 1 + root]) == pytest.approx(2 / root)
    # The same where sizes are equal: variances 1 and 4.
    assert cohens_d([2, 3, 4], [-1, 1, 3]) == pytest.approx(2 / math.sqrt(2.5))


@given(st.integers(0, 10_000), st.floats(0.01, 100), st.floats(-50, 50))
@settings(deadline=None)
def test_cohens_d_has_no_unit_and_is_t_rescaled(seed: int, unit: float, shift: float) -> None:
    rng = np.random.default_rng(seed)
    one, other = rng.standard_normal(7), rng.standard_normal(11) + 0.5
    d = cohens_d(one, other)
    assert d is not None
    assert d == pytest.approx(cohens_d(one * unit + shift, other * unit + shift), rel=1e-6)
    assert d == pytest.approx(ttest_ind(one, other).statistic * math.sqrt(1 / 7 + 1 / 11))
    assert cohens_d(other, one) == pytest.approx(-d)


def test_no_d_without_a_spread() -> None:
    assert cohens_d([1], [1, 2]) is None
    assert cohens_d([1, 1], [2, 2]) is None
    assert cohens_d([], []) is None


def test_refuses_values_that_are_not_finite_and_names_the_group() -> None:
    for wrong in (math.nan, math.inf):
        with pytest.raises(ValueError, match="group 'b' must be a vector of finite numbers"):
            one_way_anova({"a": [1, 2], "b": [1, wrong]})
        with pytest.raises(ValueError, match="group 'b'"):
            pairwise_t_tests({"a": [1, 2], "b": [1, wrong]})
        with pytest.raises(ValueError, match="group 'second'"):
            cohens_d([1, 2], [1, wrong])
    with pytest.raises(ValueError, match="group 'a'"):
        one_way_anova({"a": [[1, 2]], "b": [1]})
