"""Comparing numbers: their spread over groups, paired tests, and the correction of many."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binomtest, wilcoxon

from tasks.metrics._arrays import as_pair
from tasks.metrics.types import FloatArray

# Of five pairs even the most extreme order has p = 2 / 2^5 = 0.0625: no data could show a difference.
_MIN_PAIRS = 6


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
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1))
    adjusted = np.empty(p.size)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


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
    """McNemar's test (1947), exact: did two ways of asking get the same items right?

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
