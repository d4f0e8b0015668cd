"""Comparing numbers: their spread over groups, paired differences and tests, and the correction of many."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binomtest, t, wilcoxon

from tasks.metrics._arrays import as_pair
from tasks.metrics.intervals import (
    MIN_CLUSTERS,
    half_sample_error,
    jackknife_deviations,
    mean_deviations,
    t_interval,
)
from tasks.metrics.types import FloatArray, Interval

# Of five pairs even the most extreme order has p = 2 / 2^5 = 0.0625: no data could show a difference.
_MIN_PAIRS = 6

# Correlations come so near to 1 on Fisher's scale, where 1 is infinite.
_NEARLY = 0.98

# A standard error below this share of the value's size is rounding.
_ROUNDING = 1e-12


class PairedTest(NamedTuple):
    """Mean of a - b over n pairs, and the two-sided p-value; None where there are too few pairs."""

    mean_difference: float
    p_value: float | None
    n: int


def coefficient_of_variation(values: ArrayLike) -> float | None:
    """Standard deviation (ddof 1) over mean: how unevenly groups fare.

    values: one number for each group, none of them negative. Range [0, sqrt(number of groups)]; lower is more
    even; 0: all equal. None for fewer than two values or a mean of 0. Raises ValueError for a negative or not
    finite value.

    A ratio, over the groups alone. Table 1 of FmLAMA prints percents, and its numbers come out only if the
    row ALL is counted as a fifteenth group; this makes them smaller (BERT base 40.87 for 42.67).
    """
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 1 or not np.isfinite(table).all() or (table < 0).any():
        raise ValueError("a coefficient of variation needs a vector of finite numbers, none negative")
    if table.size < 2 or not table.any():
        return None
    return float(table.std(ddof=1) / table.mean())


def paired_test(a: ArrayLike, b: ArrayLike) -> PairedTest:
    """Wilcoxon's signed-rank test: do a and b differ on the same things?

    a, b: m numbers each, in the same order and within [-1, 1] or so. The pairs must be independent of each
    other: average a dish over its templates first, or the same dish counts ten times. A positive difference
    says that a is larger. p is 1.0 where all pairs are equal, None for fewer than 6 pairs. Differences that
    agree to 12 decimals are tied. Raises ValueError for a NaN or different lengths.

    Equal pairs are kept by Pratt's rule (1959): they take the lowest ranks and then drop out. Wilcoxon's own
    rule forgets them, so that a hundred dishes on which nothing changes would count for nothing against six
    on which something does. The p-value is exact for small m, else from the normal approximation (scipy).
    """
    left, right = as_pair(a, b)
    if not left.size:
        raise ValueError("a paired test needs a pair")
    difference = np.round(left - right, 12)
    mean = float(difference.mean())
    if difference.size < _MIN_PAIRS:
        return PairedTest(mean, None, difference.size)
    if not difference.any():
        return PairedTest(mean, 1.0, difference.size)
    p_value = float(wilcoxon(difference, zero_method="pratt", alternative="two-sided").pvalue)
    return PairedTest(mean, p_value, difference.size)


def holm(p_values: ArrayLike) -> FloatArray:
    """Holm's step-down adjustment of m p-values (Holm 1979), in the order given.

    Returns m float64 values in [0, 1]: a test is significant at level alpha, with the chance of any false
    alarm among the m held below alpha, if its adjusted p is at most alpha. Raises ValueError for a p-value
    outside [0, 1] or NaN: leave tests without one out first.
    """
    p = np.asarray(p_values, dtype=np.float64)
    if p.ndim != 1 or not ((p >= 0) & (p <= 1)).all():
        raise ValueError("holm needs a vector of p-values between 0 and 1, none of them NaN")
    if not p.size:
        return p
    from statsmodels.stats.multitest import multipletests  # takes a second to import

    adjusted: FloatArray = multipletests(p, method="holm")[1]
    return adjusted


class Difference(NamedTuple):
    """Difference of a number between a first and a second model, on the same items.

    interval: 95 %; p_value: two-sided, below 0.05 where the interval does not reach beyond 0; detectable: the
    minimum detectable difference, which a test at 5 % finds in 80 of 100 samples of this size. All None if
    they would be unreliable (see the functions); p_value is 1 if nothing differs.
    """

    value: float
    interval: Interval
    p_value: float | None
    detectable: float | None


def mean_difference(first: ArrayLike, second: ArrayLike, clusters: ArrayLike | None = None) -> Difference:
    """Difference of two means over the same m items: the t test of pairs, with related items in clusters.

    first, second: m finite numbers each, in the same order; clusters: m labels, by default each item is one.
    Variance CR2, Satterthwaite's degrees of freedom. The p-value is of that plain t, without clusters that of
    a paired t test: differences of two similar models are hardly skewed, and a more cautious test would lose
    power. The interval is longer on the side to which clusters are skewed, as `intervals.mean_interval`,
    since models that do differ need it; where 0 is rejected it ends there. No interval for fewer than
    `MIN_CLUSTERS` clusters, or where all items differ by the same. Raises ValueError for shapes that do not
    fit or no items.
    """
    points = np.subtract(*as_pair(first, second))
    code = np.arange(points.size) if clusters is None else np.unique(clusters, return_inverse=True)[1]
    if not points.size or code.shape != points.shape:
        raise ValueError(f"{code.size} clusters for {points.size} pairs: one each, and one at least")
    if code.max() + 1 < MIN_CLUSTERS:
        return Difference(float(points.mean()), None, None if points.any() else 1.0, None)
    value, deviations, df = mean_deviations(points, code)
    plain = _by_error(value, math.sqrt(float((deviations**2).mean()) / deviations.size), df)
    ends = t_interval(value, deviations, df)
    if plain.interval is None or ends is None:
        return plain
    low, high = ends
    if plain.interval[0] > 0 or plain.interval[1] < 0:
        low, high = (max(low, 0.0), high) if value > 0 else (low, min(high, 0.0))
    return plain._replace(interval=(low, high))


def left_out_difference(value: float, first: ArrayLike, second: ArrayLike) -> Difference:
    """Difference of two smooth numbers from their values without one cluster, or group of them, each: by t.

    value: the difference; first, second: g values each (`intervals.jackknife_interval`), without the same
    clusters. No interval for fewer than `MIN_CLUSTERS`, or where one of them is not finite. Not longer to any
    side, as `intervals.t_interval` is: differences of two of a kind are hardly skewed.
    """
    left, right = (np.asarray(side, dtype=np.float64) for side in (first, second))
    rest = left - right
    if rest.size < MIN_CLUSTERS or not np.isfinite([value, *rest]).all():
        return Difference(value, None, None, None)
    deviations = jackknife_deviations(np.sort(rest))
    return _by_error(value, math.sqrt(float((deviations**2).mean()) / rest.size), rest.size - 1)


def half_sample_difference(
    values: tuple[float, float],
    first: Iterable[float],
    second: Iterable[float],
    n: int,
    is_correlation: bool = False,
) -> Difference:
    """Difference of two numbers that jump, from their values on the same half-samples of n clusters: by t.

    values: the two; first, second: r values each (`intervals.half_sample_interval`), NaN where there is none;
    pairs that lack one are left out. Correlations differ on Fisher's scale (1915), and the interval is what
    that comes to on their own: near 1 they vary less, so that one error for both finds too little. No
    interval where under half of the pairs are left.

    Two nearly equal numbers, such as a model measured twice, differ by a jump or not at all, and so do their
    half-samples. If few of these jump, their spread is too small for a jump of the whole. So if most of them
    do not differ, the error is at least the difference itself.
    """
    one, other = (
        np.array([whole, *halves], float) for whole, halves in zip(values, (first, second), strict=True)
    )
    value, slope = float(one[0] - other[0]), 1.0
    if is_correlation:
        at = float(one[0])
        one, other = np.arctanh(_NEARLY * one), np.arctanh(_NEARLY * other)
        apart = float(one[0] - other[0])
        slope = value / apart if abs(value) > _ROUNDING else (1 - (_NEARLY * at) ** 2) / _NEARLY
    both = (one - other)[1:]
    known = both[np.isfinite(both)]
    if known.size < max(2, both.size / 2) or n < MIN_CLUSTERS:
        return Difference(value, None, None, None)
    error = half_sample_error(known, n)
    if np.mean(np.abs(known) <= _ROUNDING) > 0.5:
        error = max(error, abs(value) / slope)
    return _by_error(value, slope * error, n - 1)


def _by_error(value: float, error: float, df: float) -> Difference:
    """The plain t interval and test; without either where nothing varies."""
    if error <= _ROUNDING * max(1.0, abs(value)):
        return Difference(value, None, 1.0 if value == 0 else None, None)
    half = float(t.ppf(0.975, df)) * error
    p_value = 2 * float(t.sf(abs(value) / error, df))
    return Difference(value, (value - half, value + half), p_value, _detectable(error, df))


def _detectable(error: float, df: float) -> float:
    return error * float(t.ppf(0.975, df) + t.ppf(0.8, df))


class McNemar(NamedTuple):
    """Items that only one of two got right, and the two-sided p-value of that difference."""

    only_first: int
    only_second: int
    p_value: float
    n: int


class Spread(NamedTuple):
    """Middle and width of n values: median, interquartile range (linear interpolation), variance (ddof 1)."""

    median: float
    iqr: float
    variance: float
    n: int


def mcnemar(first: ArrayLike, second: ArrayLike) -> McNemar:
    """McNemar's exact test (1947): are the same items right under two conditions?

    first, second: m booleans each, right or not, of the same items in the same order. Items that both or
    neither got right say nothing; of the others either may be first's with chance 1/2. p is 1 where there are
    none. Raises ValueError for different lengths or what is not a boolean.
    """
    a, b = np.asarray(first), np.asarray(second)
    if a.ndim != 1 or a.shape != b.shape or a.dtype != np.bool_ or b.dtype != np.bool_:
        raise ValueError(
            f"expected two vectors of booleans of one length, got {a.dtype} {a.shape}, {b.dtype} {b.shape}"
        )
    only_first, only_second = int((a & ~b).sum()), int((~a & b).sum())
    differing = only_first + only_second
    p_value = float(binomtest(only_first, differing, 0.5).pvalue) if differing else 1.0
    return McNemar(only_first, only_second, p_value, a.size)


def spread(values: ArrayLike) -> Spread | None:
    """Median, interquartile range and variance, as of models' scores (CURE, figures 2 and 3).

    values: finite numbers. None for fewer than two: one value has no spread. Raises ValueError for a value
    that is not finite.
    """
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 1 or not np.isfinite(table).all():
        raise ValueError("a spread needs a vector of finite values: leave unscored ones out")
    if table.size < 2:
        return None
    low, median, high = (float(q) for q in np.quantile(table, [0.25, 0.5, 0.75]))
    return Spread(median, high - low, float(table.var(ddof=1)), table.size)
