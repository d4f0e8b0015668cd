"""Tests whether groups of responses differ: analysis of variance, pairs of groups, effect sizes.

Source: WorldWise (seed paper), section 4.8. These tests take responses as independent of each other. They
are not: models answer the same scenarios, so that equal models look too equal and an unlucky choice of
scenarios looks like an effect. They stand here to be compared with the seed;
`clusters.cluster_mean_interval` is the one to rely on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import f_oneway, ttest_ind_from_stats

from tasks.metrics.types import FloatArray

__all__ = ["Anova", "PairTest", "cohens_d", "one_way_anova", "pairwise_t_tests"]

# A spread below this part of the values' size is what rounding leaves of equal ones.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Anova:
    """One-way analysis of variance, or the reason why there is none.

    f, p_value: of the F test; eta_squared: share of the sum of squares that lies between groups, range
    [0, 1]; all None where `reason` says why. df_between, df_within: degrees of freedom.
    """

    f: float | None
    p_value: float | None
    eta_squared: float | None
    df_between: int
    df_within: int
    reason: str | None


@dataclass(frozen=True)
class PairTest:
    """A t-test between two groups, or the reason why there is none.

    mean_difference: first less second; p_bonferroni: p_value times the number of pairs tested, at most 1; d:
    Cohen's d. None where `reason` says why.
    """

    first: str
    second: str
    mean_difference: float | None
    t: float | None
    p_value: float | None
    p_bonferroni: float | None
    d: float | None
    reason: str | None


def one_way_anova(groups: Mapping[str, ArrayLike]) -> Anova:
    """Do the groups have the same mean (section 4.8)?

    groups: name to any number of values; groups without a value are left out. No result for fewer than
    two groups, a value in each group only, or no spread within groups. Raises ValueError for a value that
    is not finite.
    """
    samples = [values for name in groups if (values := _values(groups[name], name)).size]
    n = sum(values.size for values in samples)
    between, within = max(len(samples) - 1, 0), n - len(samples)
    reason = None
    if len(samples) < 2:
        reason = f"{len(samples)} groups have values: two are needed"
    elif within < 1:
        reason = "no group has two values: there is no spread to compare with"
    elif all(_constant(values) for values in samples):
        reason = "the values do not vary within any group"
    if reason is not None:
        return Anova(None, None, None, between, within, reason)
    result = f_oneway(*samples)
    f = float(result.statistic)
    # SSB / (SSB + SSW), with F = (SSB / between) / (SSW / within).
    eta_squared = f * between / (f * between + within)
    return Anova(f, float(result.pvalue), eta_squared, between, within, None)


def pairwise_t_tests(groups: Mapping[str, ArrayLike], equal_variances: bool = True) -> list[PairTest]:
    """Two-sided t-tests between all pairs of groups, with Bonferroni's correction (section 4.8).

    groups: name to values. Returns a test for each pair, in the groups' order. Student's test with one
    variance, as in the seed; equal_variances=False is Welch's. A pair with fewer than two values on a
    side, or without any spread, has no p-value and does not count among the tests corrected for. Raises
    ValueError for a value that is not finite.
    """
    samples = {name: _values(values, name) for name, values in groups.items()}
    pairs = list(combinations(samples, 2))
    reasons = [_untestable(samples[a], samples[b]) for a, b in pairs]
    n_tests = reasons.count(None)
    return [
        PairTest(a, b, None, None, None, None, None, reason)
        if reason is not None
        else _t_test(a, b, samples, equal_variances, n_tests)
        for (a, b), reason in zip(pairs, reasons, strict=True)
    ]


def cohens_d(first: ArrayLike, second: ArrayLike) -> float | None:
    """Difference of two means in units of their pooled standard deviation (Cohen 1988).

    first, second: n and m values. Any sign, unbounded; 0.2 is called small, 0.5 medium, 0.8 large. The
    variances (ddof 1) are weighted by n - 1 and m - 1; the seed takes their plain mean, the same where n
    = m. None for fewer than two values on a side or no spread. Raises ValueError for a value that is not
    finite.
    """
    one, other = _values(first, "first"), _values(second, "second")
    if _untestable(one, other) is not None:
        return None
    squares = (one.size - 1) * one.var(ddof=1) + (other.size - 1) * other.var(ddof=1)
    return float((one.mean() - other.mean()) / np.sqrt(squares / (one.size + other.size - 2)))


def _t_test(
    first: str, second: str, samples: Mapping[str, FloatArray], equal_variances: bool, n_tests: int
) -> PairTest:
    one, other = samples[first], samples[second]
    # From means and deviations: `ttest_ind` warns about a side without any spread, which is allowed here.
    result = ttest_ind_from_stats(*_summary(one), *_summary(other), equal_var=equal_variances)
    p_value = float(result.pvalue)
    return PairTest(
        first,
        second,
        mean_difference=float(one.mean() - other.mean()),
        t=float(result.statistic),
        p_value=p_value,
        p_bonferroni=min(1.0, p_value * n_tests),
        d=cohens_d(one, other),
        reason=None,
    )


def _summary(values: FloatArray) -> tuple[float, float, int]:
    return float(values.mean()), float(values.std(ddof=1)), values.size


def _untestable(one: FloatArray, other: FloatArray) -> str | None:
    """Why two groups cannot be compared, or None."""
    if min(one.size, other.size) < 2:
        return f"{one.size} and {other.size} values: two of each are needed"
    if _constant(one) and _constant(other):
        return "the values do not vary within either group"
    return None


def _constant(values: FloatArray) -> bool:
    return bool(np.ptp(values) <= _ROUNDING * np.abs(values).max())


def _values(values: ArrayLike, name: str) -> FloatArray:
    """A float64 vector of finite numbers; else ValueError naming the group."""
    vector = np.asarray(values, dtype=np.float64)
    if vector.ndim != 1 or not np.isfinite(vector).all():
        raise ValueError(f"group {name!r} must be a vector of finite numbers: leave unscored responses out")
    return vector
