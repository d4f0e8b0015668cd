"""Tests whether groups of responses to the same scenarios differ, and effect sizes.

Responses to one scenario are related within a group, and also between groups, because all groups answer the
same scenarios. So scenarios are the clusters. By default a test uses the scenarios' means: it is the mixed
model in which a scenario has a random effect in each group, with any variances and correlations. The test is
a paired t for two groups and Hotelling's T^2 for more, both exact for normal effects. Groups that share too
few scenarios are compared by Welch's test, which allows unequal variances. The tests of WorldWise (section
4.8), Student's t and one-way analysis of variance over responses, reject far too often and are here only for
comparison with the paper. ``python -m benchmarks coverage`` shows the levels of all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr
from scipy.stats import f as f_distribution
from scipy.stats import f_oneway, ttest_ind_from_stats

from tasks.metrics.types import FloatArray

# A spread below this share of the values' size is rounding.
_ROUNDING = 1e-12

# Least number of scenarios in common for a test of differences.
_MIN_SHARED = 3

Groups = Mapping[str, ArrayLike]
"""Name -> [scenarios, answers] of the same scenarios in the same order, NaN where unscored."""


@dataclass(frozen=True)
class GroupTest:
    """Test of whether all groups have the same mean, or the reason why there is none.

    f, p_value: of the F test; eta_squared: share of the responses' sum of squares that lies between groups,
    range [0, 1]; all None if there is a reason. df_between, df_within: degrees of freedom.
    """

    f: float | None
    p_value: float | None
    eta_squared: float | None
    df_between: float
    df_within: float
    reason: str | None = None


@dataclass(frozen=True)
class PairTest:
    """Test of whether two groups have the same mean, or the reason why there is none.

    mean_difference: first minus second, over responses; p_bonferroni: p_value times the number of tested
    pairs, at most 1; d: Cohen's d. None if there is a reason.
    """

    first: str
    second: str
    mean_difference: float | None = None
    t: float | None = None
    p_value: float | None = None
    p_bonferroni: float | None = None
    d: float | None = None
    reason: str | None = None


def group_test(groups: Groups, reproduce: bool = False) -> GroupTest:
    """Test all groups at once; groups without a value are left out.

    reproduce: one-way analysis of variance over responses, as in WorldWise. No result for fewer than two
    groups, or if nothing varies within them. Raises ValueError for shapes that do not fit or an infinity.
    """
    tables = {name: table for name, table in _tables(groups).items() if not np.isnan(table).all()}
    samples = [table[~np.isnan(table)] for table in tables.values()]
    n = sum(values.size for values in samples)
    df_between, df_within = max(len(samples) - 1, 0), n - len(samples)
    reason = None
    if len(samples) < 2:
        reason = "fewer than two groups have values"
    elif df_within < 1:
        reason = "no group has two values: there is no spread to compare with"
    elif all(_constant(values) for values in samples):
        reason = "the values do not vary within any group"
    if reason is not None:
        return GroupTest(None, None, None, df_between, df_within, reason)
    anova = f_oneway(*samples)
    f = float(anova.statistic)
    # SSB / (SSB + SSW), with F = (SSB / between) / (SSW / within).
    result = GroupTest(
        f, float(anova.pvalue), f * df_between / (f * df_between + df_within), df_between, df_within
    )
    return result if reproduce else _mixed(result, np.array([_means(table) for table in tables.values()]))


def pair_tests(groups: Groups, reproduce: bool = False) -> list[PairTest]:
    """Return two-sided tests between all pairs of groups, with Bonferroni's correction, in the groups' order.

    reproduce: Student's t over responses, as in WorldWise. A pair with fewer than two values on a side, or
    without any spread, has no p-value and does not count in the correction. Raises ValueError like
    `group_test`.
    """
    tables = _tables(groups)
    values = {name: table[~np.isnan(table)] for name, table in tables.items()}
    means = {name: _means(table) for name, table in tables.items()}
    pairs = [
        _pair(PairTest(a, b), (values[a], values[b]), (means[a], means[b]), reproduce)
        for a, b in combinations(tables, 2)
    ]
    n_tests = sum(pair.p_value is not None for pair in pairs)
    return [
        pair if pair.p_value is None else replace(pair, p_bonferroni=min(1.0, pair.p_value * n_tests))
        for pair in pairs
    ]


def cohens_d(first: FloatArray, second: FloatArray) -> float:
    """Difference of two means in units of their pooled standard deviation (Cohen 1988).

    first, second: n and m values, at least two of each, which vary. Any sign, unbounded; 0.2 is called small,
    0.5 medium, 0.8 large. The variances (ddof 1) are weighted by n - 1 and m - 1; WorldWise takes their plain
    mean, which is the same if n = m.
    """
    squares = (first.size - 1) * first.var(ddof=1) + (second.size - 1) * second.var(ddof=1)
    return float((first.mean() - second.mean()) / np.sqrt(squares / (first.size + second.size - 2)))


def _mixed(anova: GroupTest, means: FloatArray) -> GroupTest:
    """Return the test on scenarios' means [groups, scenarios], with the effect size of the responses."""
    k = len(means)
    shared = means[:, ~np.isnan(means).any(axis=0)].T
    n = len(shared)
    if n >= max(_MIN_SHARED, k + 1):
        differences = shared[:, 1:] - shared[:, :1]
        centre, covariance = differences.mean(axis=0), np.atleast_2d(np.cov(differences.T))
        if np.linalg.cond(covariance) > 1 / _ROUNDING:
            return _untested(anova, "the groups' differences do not vary over scenarios")
        t_squared = n * float(centre @ np.linalg.solve(covariance, centre))
        f, df = t_squared * (n - k + 1) / ((n - 1) * (k - 1)), n - k + 1
        p_value = float(f_distribution.sf(f, k - 1, df))
        return replace(anova, f=f, p_value=p_value, df_between=k - 1, df_within=df)
    samples = [row[~np.isnan(row)] for row in means]
    if min(sample.size for sample in samples) < 2 or any(_constant(sample) for sample in samples):
        return _untested(anova, f"{n} scenarios in common: {max(_MIN_SHARED, k + 1)} are needed")
    f, df_within = _welch(samples)
    p_value = float(f_distribution.sf(f, k - 1, df_within))
    return replace(anova, f=f, p_value=p_value, df_between=k - 1, df_within=df_within)


def _welch(samples: Sequence[FloatArray]) -> tuple[float, float]:
    """Return F of groups with unequal variances and the degrees of freedom within them (Welch, 1951)."""
    k = len(samples)
    means = np.array([sample.mean() for sample in samples])
    weights = np.array([sample.size / sample.var(ddof=1) for sample in samples])
    share = weights / weights.sum()
    inexact = float((((1 - share) ** 2) / [sample.size - 1 for sample in samples]).sum())
    between = float(weights @ (means - share @ means) ** 2) / (k - 1)
    return between / (1 + 2 * (k - 2) * inexact / (k**2 - 1)), (k**2 - 1) / (3 * inexact)


def _untested(anova: GroupTest, reason: str) -> GroupTest:
    return replace(anova, f=None, p_value=None, eta_squared=None, reason=reason)


def _pair(
    pair: PairTest,
    values: tuple[FloatArray, FloatArray],
    means: tuple[FloatArray, FloatArray],
    reproduce: bool,
) -> PairTest:
    """Return the pair with its test. values: of both sides. means: [scenarios] of both, NaN if unknown."""
    first, second = values
    reason = _untestable(first, second)
    if reason is not None:
        return replace(pair, reason=reason)
    result = replace(pair, mean_difference=float(first.mean() - second.mean()), d=cohens_d(first, second))
    if reproduce:
        test = ttest_ind_from_stats(*_summary(first), *_summary(second))
        return replace(result, t=float(test.statistic), p_value=float(test.pvalue))
    differences = means[0] - means[1]
    differences = differences[~np.isnan(differences)]
    if differences.size >= _MIN_SHARED:
        if _constant(differences):
            return replace(result, reason="the difference is the same in every scenario")
        mean, deviation, n = _summary(differences)
        statistic = mean / (deviation / np.sqrt(n))  # equals ttest_1samp, whose checks take most of its time
        return replace(result, t=float(statistic), p_value=float(2 * stdtr(n - 1, -abs(statistic))))
    samples = [mean[~np.isnan(mean)] for mean in means]
    reason = _untestable(*samples)
    if reason is not None:
        return replace(result, reason=f"by scenario: {reason}")
    # From means and deviations: `ttest_ind` warns about a side without any spread, which is allowed here.
    test = ttest_ind_from_stats(*_summary(samples[0]), *_summary(samples[1]), equal_var=False)
    return replace(result, t=float(test.statistic), p_value=float(test.pvalue))


def _means(table: FloatArray) -> FloatArray:
    """Return [scenarios] the mean of the values that are not NaN, NaN if there are none."""
    is_known = ~np.isnan(table)
    total, count = np.where(is_known, table, 0.0).sum(axis=1), is_known.sum(axis=1)
    means: FloatArray = np.divide(total, count, out=np.full(len(table), np.nan), where=count > 0)
    return means


def _summary(values: FloatArray) -> tuple[float, float, int]:
    return float(values.mean()), float(values.std(ddof=1)), values.size


def _untestable(first: FloatArray, second: FloatArray) -> str | None:
    """Return why two groups cannot be compared, or None."""
    if min(first.size, second.size) < 2:
        return f"{first.size} and {second.size} values: two of each are needed"
    if _constant(first) and _constant(second):
        return "the values do not vary within either group"
    return None


def _constant(values: FloatArray) -> bool:
    return bool(np.ptp(values) <= _ROUNDING * max(1.0, np.abs(values).max()))


def _tables(groups: Groups) -> dict[str, FloatArray]:
    """Return float64 tables of the same scenarios, NaN allowed; else ValueError naming the group."""
    tables = {name: np.asarray(values, dtype=np.float64) for name, values in groups.items()}
    for name, table in tables.items():
        if table.ndim != 2 or np.isinf(table).any() or len(table) != len(next(iter(tables.values()))):
            raise ValueError(f"group {name!r} must be scenarios x answers, finite or NaN: {table.shape}")
    return tables
