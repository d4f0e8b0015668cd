"""Comparing numbers: their spread over groups, paired tests with correction, the interval of a mean."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import wilcoxon

from tasks.metrics._arrays import as_pair
from tasks.metrics.bootstrap import percentile_interval
from tasks.metrics.types import FloatArray, IntArray

__all__ = ["PairedTest", "coefficient_of_variation", "holm", "mean_interval", "paired_test"]

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

    A ratio, over the groups alone. The seed's table 1 prints percents, and its numbers come out only if the
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


def mean_interval(values: ArrayLike, resamples: IntArray, level: float = 0.95) -> tuple[float, float] | None:
    """Bootstrap interval of a mean over rows, such as dishes.

    values: n numbers; resamples: r x n indices of `bootstrap.bootstrap_indices`. Returns (low, high), the
    central `level` share of the resampled means; None where a value is infinite. Raises ValueError for a NaN
    or resamples of another size.
    """
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 1 or resamples.ndim != 2 or resamples.shape[1] != table.size:
        raise ValueError(f"resamples of shape {resamples.shape} do not fit values of shape {table.shape}")
    return percentile_interval(table[resamples].mean(axis=1), level)
