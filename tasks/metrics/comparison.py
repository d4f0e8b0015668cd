"""Comparisons of numbers: spread over groups, paired differences and tests, and adjustment of p-values."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr, stdtrit

from tasks.metrics.intervals import (
    MIN_CLUSTERS,
    SHRINKAGE,
    half_sample_error,
    jackknife_deviations,
    mean_deviations,
    t_interval,
)
from tasks.metrics.types import FloatArray, Interval, as_pair

LEVEL = 0.05
"""Level of tests: an adjusted p below it rejects."""

# With five pairs even the most extreme order has p = 2 / 2^5 = 0.0625: no data could show a difference.
_MIN_PAIRS = 6

# A standard error below this share of the value's size is rounding.
_ROUNDING = 1e-12


class PairedTest(NamedTuple):
    """Mean of a - b over n pairs, and the two-sided p-value; None for too few pairs."""

    mean_difference: float
    p_value: float | None
    n: int


def coefficient_of_variation(values: ArrayLike) -> float | None:
    """Standard deviation (ddof 1) over mean, a measure of unevenness over groups.

    values: one number for each group, none of them negative. Range [0, sqrt(number of groups)]; lower is more
    even; 0: all equal. None for fewer than two values or a mean of 0. Raises ValueError for a negative or not
    finite value.

    It is a ratio, over the groups alone. Table 1 of FmLAMA prints percents, and its numbers result only if
    the row ALL counts as a fifteenth group, which makes them smaller (BERT base 40.87 instead of 42.67).
    """
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 1 or not np.isfinite(table).all() or (table < 0).any():
        raise ValueError("a coefficient of variation needs a vector of finite numbers, none negative")
    if table.size < 2 or not table.any():
        return None
    return float(table.std(ddof=1) / table.mean())


def paired_test(a: ArrayLike, b: ArrayLike) -> PairedTest:
    """Wilcoxon's signed-rank test of whether a and b differ on the same things.

    a, b: m numbers each, in the same order and roughly within [-1, 1]. The pairs must be independent: average
    a dish over its templates first, or the same dish counts ten times. The mean difference is positive if a
    is larger. p is 1.0 if all pairs are equal, None for fewer than 6 pairs. Differences that agree to 12
    decimals are tied. Raises ValueError for a NaN or different lengths.

    Equal pairs count by Pratt's rule (1959): they take the lowest ranks and then drop out. Wilcoxon's own
    rule ignores them, so that six dishes with a change would outweigh a hundred without one. The p-value is
    exact for small m, else from the normal approximation (scipy).
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
    from scipy.stats import wilcoxon  # slow to import, and boards do not need it

    p_value = float(wilcoxon(difference, zero_method="pratt", alternative="two-sided").pvalue)
    return PairedTest(mean, p_value, difference.size)


def holm(p_values: ArrayLike) -> FloatArray:
    """Holm's step-down adjustment of m p-values (Holm 1979), in their order.

    Returns m float64 values in [0, 1]. Rejecting all tests with an adjusted p of at most alpha keeps the
    chance of any false positive among the m at alpha or below. Raises ValueError for a p-value outside [0, 1]
    or NaN: leave tests without a p-value out first.
    """
    p = np.asarray(p_values, dtype=np.float64)
    if p.ndim != 1 or not ((p >= 0) & (p <= 1)).all():
        raise ValueError("holm needs a vector of p-values between 0 and 1, none of them NaN")
    order = np.argsort(p)
    adjusted = np.empty_like(p)
    adjusted[order] = np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1)).clip(max=1.0)
    return adjusted


def least_signed_rank_p(n: int) -> float:
    """Return the smallest p that ``paired_test`` can give for n pairs: two of 2^n signs; 1 for too few."""
    return 2.0 ** (1 - n) if n >= _MIN_PAIRS else 1.0


def least_holm(floors: ArrayLike) -> float:
    """Return the smallest Holm-adjusted p that a family of tests can give, whatever the data.

    floors: m smallest p-values, one for each test: 0 for a t test, for tests over signs or orders
    `intervals.least_flip_p`, `least_signed_rank_p`, `agreement.least_spearman_p`. If it is not below `LEVEL`,
    the family rejects nothing. 1 for no tests.
    """
    return float(holm(floors).min(initial=1.0))


def holm_or_reason(
    p_values: Sequence[float | None], floors: Sequence[float], sizes: Sequence[str]
) -> list[tuple[float | None, str | None]]:
    """Return each test's Holm-adjusted p within one family, or the reason why it has none.

    A family is what is asked, not what is shown. A test that cannot be rejected even if every test of the
    family has its smallest p gets no adjusted p: a high one would look like "no difference".

    Args:
        p_values: m p-values; None is no test of the family, and has neither p nor reason.
        floors: m smallest p-values, as in `least_holm`.
        sizes: what each test is over, for the reason: "6 personas".
    """
    places = [place for place, p in enumerate(p_values) if p is not None]
    outcomes: list[tuple[float | None, str | None]] = [(None, None)] * len(p_values)
    adjusted = holm([p for p in p_values if p is not None])
    least = holm([floors[place] for place in places])
    for place, p, smallest in zip(places, adjusted, least, strict=True):
        tests = "1 test" if len(places) == 1 else f"{len(places)} tests"
        why = f"cannot reject with {sizes[place]}: the smallest p adjusted for {tests} is {smallest:.2g}"
        outcomes[place] = (float(p), None) if smallest < LEVEL else (None, why)
    return outcomes


class Difference(NamedTuple):
    """Difference of a number between a first and a second model, on the same items.

    interval: 95 % confidence interval; p_value: two-sided, below 0.05 if the interval does not contain 0;
    detectable: minimum detectable difference, at a level of 5 % with 80 % power for samples of this size. All
    three are None if they would be unreliable (see the functions); p_value is 1 if nothing differs.
    """

    value: float
    interval: Interval
    p_value: float | None
    detectable: float | None


def mean_difference(first: ArrayLike, second: ArrayLike, clusters: ArrayLike | None = None) -> Difference:
    """Difference of two means over the same m items by a cluster-robust paired t test.

    first, second: m finite numbers each, in the same order; clusters: m labels, by default one per item. The
    variance is CR2, with Satterthwaite's degrees of freedom. The p-value is that of the plain t, without
    clusters that of a paired t test: differences of two similar models are hardly skewed, and a more cautious
    test would lose power. The interval is longer on the side to which clusters are skewed, like
    `intervals.mean_interval`, because models that differ need this; if 0 is rejected it ends at 0. No
    interval for fewer than `MIN_CLUSTERS` clusters, or if all items differ by the same. Raises ValueError for
    shapes that do not fit or no items.
    """
    points = np.subtract(*as_pair(first, second))
    code = np.arange(points.size) if clusters is None else np.unique(clusters, return_inverse=True)[1]
    if not points.size or code.shape != points.shape:
        raise ValueError(f"{code.size} clusters for {points.size} pairs: one each, and at least one pair")
    if code.max() + 1 < MIN_CLUSTERS:
        return Difference(float(points.mean()), None, None if points.any() else 1.0, None)
    value, deviations, df = mean_deviations(points, code)
    plain = _t_difference(value, math.sqrt(float((deviations**2).mean()) / deviations.size), df)
    ends = t_interval(value, deviations, df)
    if plain.interval is None or ends is None:
        return plain
    low, high = ends
    if plain.interval[0] > 0 or plain.interval[1] < 0:
        low, high = (max(low, 0.0), high) if value > 0 else (low, min(high, 0.0))
    return plain._replace(interval=(low, high))


def left_out_difference(value: float, first: ArrayLike, second: ArrayLike) -> Difference:
    """Difference of two smooth numbers by the jackknife and t.

    value: the difference; first, second: g values each (`intervals.jackknife_interval`), without the same
    clusters. No interval for fewer than `MIN_CLUSTERS` values, or if one is not finite. The interval is
    symmetric, unlike `intervals.t_interval`: differences of two similar models are hardly skewed.
    """
    left, right = (np.asarray(side, dtype=np.float64) for side in (first, second))
    differences = left - right
    if differences.size < MIN_CLUSTERS or not np.isfinite([value, *differences]).all():
        return Difference(value, None, None, None)
    deviations = jackknife_deviations(np.sort(differences))
    return _t_difference(
        value, math.sqrt(float((deviations**2).mean()) / differences.size), differences.size - 1
    )


def half_sample_difference(
    values: tuple[float, float],
    first: Iterable[float],
    second: Iterable[float],
    n: int,
    is_correlation: bool = False,
) -> Difference:
    """Difference of two numbers that jump, by t, from their values on the same half-samples of n clusters.

    values: the two numbers; first, second: r values each (`intervals.half_sample_interval`), NaN if missing;
    pairs with a missing value are left out. Correlations are compared on Fisher's scale (1915), and the
    interval is converted back: near 1 correlations vary less, and one error for both would lose power. No
    interval if fewer than half of the pairs remain.

    Two nearly equal numbers, such as a model measured twice, differ by a jump or not at all, and so do their
    half-samples. If few half-samples jump, their spread is too small for a jump of the whole sample. So if
    most of them do not differ, the error is at least the difference itself.
    """
    first_values, second_values = (
        np.array([whole, *halves], float) for whole, halves in zip(values, (first, second), strict=True)
    )
    value, slope = float(first_values[0] - second_values[0]), 1.0
    if is_correlation:
        first_correlation = float(first_values[0])
        first_values, second_values = (
            np.arctanh(SHRINKAGE * first_values),
            np.arctanh(SHRINKAGE * second_values),
        )
        scaled_difference = float(first_values[0] - second_values[0])
        slope = (
            value / scaled_difference
            if abs(value) > _ROUNDING
            else (1 - (SHRINKAGE * first_correlation) ** 2) / SHRINKAGE
        )
    differences = (first_values - second_values)[1:]
    finite = differences[np.isfinite(differences)]
    if finite.size < max(2, differences.size / 2) or n < MIN_CLUSTERS:
        return Difference(value, None, None, None)
    error = half_sample_error(finite, n)
    if np.mean(np.abs(finite) <= _ROUNDING) > 0.5:
        error = max(error, abs(value) / slope)
    return _t_difference(value, slope * error, n - 1)


def _t_difference(value: float, error: float, df: float) -> Difference:
    """Return the difference with the plain t interval and test, or without them if nothing varies."""
    if error <= _ROUNDING * max(1.0, abs(value)):
        return Difference(value, None, 1.0 if value == 0 else None, None)
    half = float(stdtrit(df, 0.975)) * error
    p_value = 2 * float(stdtr(df, -abs(value) / error))
    return Difference(value, (value - half, value + half), p_value, _detectable(error, df))


def _detectable(error: float, df: float) -> float:
    return error * float(stdtrit(df, 0.975) + stdtrit(df, 0.8))


class McNemar(NamedTuple):
    """Numbers of items that only one side got right, and the two-sided p-value of their difference."""

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
    """McNemar's exact test (1947) of whether equally many items are right under two conditions.

    first, second: m booleans each, whether the same items in the same order are right. Items that both or
    neither got right do not count; each other item is first's with probability 1/2. p is 1 if there are no
    other items. Raises ValueError for different lengths or values that are not booleans.
    """
    from scipy.stats import binomtest  # slow to import, and boards do not need it

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
    """Return median, interquartile range and variance, such as of models' scores (CURE, figures 2 and 3).

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
