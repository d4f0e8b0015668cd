"""95 % intervals whose coverage is simulated: ``python -m benchmarks coverage``, table in docs/intervals.md.

The sampling unit is a cluster: a dish, a scenario with all its answers, a pair of items, a country. Clusters
are never resampled with replacement: such intervals are too narrow for few clusters, and a repeated country
agrees with itself. Means have a cluster-robust t interval, other smooth numbers a jackknife over clusters,
and numbers that jump (labels by a median, ranks) half-samples. Results do not depend on the order of points.

There is no interval below ``MIN_CLUSTERS`` clusters, and none if nothing varies. Shares of independent yes
and no have one from the first point on, because Clopper and Pearson's (1934) holds by construction.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache
from itertools import product

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv, expit, logit, stdtrit

from tasks.metrics.types import FloatArray, IntArray, Interval

MIN_CLUSTERS = 5
"""Least number of clusters with which intervals reach their coverage."""

RARE, MIN_RARE = 0.2, 10
"""Share below which one of two values is rare; then the fewest of it for an interval over more than one
sample, such as of items and of people.
"""

SHARE, CORRELATION, POSITIVE, UNBOUNDED = (0.0, 1.0), (-1.0, 1.0), (0.0, math.inf), (-math.inf, math.inf)
"""Ranges of numbers; a difference of two shares has the range of a correlation."""

SHRINKAGE = 0.98
"""Factor that keeps correlations below 1, which is infinite on Fisher's scale (1915)."""

# Largest number of clusters left out one by one; more clusters are left out in this number of groups, for
# which the t quantile is 2.03.
_GROUPS = 36

# Largest number of clusters whose 2^n sign flips are all used; for more clusters 19,999 are drawn.
_LISTED, _DRAWN = 14, 19_999

# A spread below this share of the values' size is rounding.
_ROUNDING = 1e-12


def mean_interval(
    values: ArrayLike, clusters: ArrayLike | None = None, bounds: tuple[float, float] = UNBOUNDED
) -> Interval:
    """Interval of the mean of n points in clusters.

    values: n finite numbers; clusters: n labels, by default each point is a cluster; bounds: range of a
    value, such as (0, 1) for a share. Bounds on both sides of 0, as for a difference, do not skew the
    interval but only cut it.

    The variance is CR2 (Bell and McCaffrey 2002), unbiased if clusters differ in size; degrees of freedom are
    Satterthwaite's. Independent values between 0 and 1 that all are 0 or 1 have Clopper and Pearson's
    interval. Grades that could have been in between are covered as well: draw a yes with the probability of
    each grade, and the interval of these draws, which has its level, is this one whenever all grades are 0 or
    1. See `_around` for the rest. None for fewer than ``MIN_CLUSTERS`` clusters. Raises ValueError for shapes
    that do not fit, no values or one that is not finite.
    """
    points = np.asarray(values, dtype=np.float64)
    names = np.arange(points.size) if clusters is None else np.asarray(clusters)
    if points.ndim != 1 or names.shape != points.shape or not points.size or not np.isfinite(points).all():
        raise ValueError(f"{names.shape} clusters for values of shape {points.shape}: one each, all finite")
    _, code, sizes = np.unique(names, return_inverse=True, return_counts=True)
    n = points.size
    if sizes.size == n and bounds == SHARE and np.isin(points, bounds).all():
        return proportion_interval(int((points == bounds[1]).sum()), n, bounds)
    if sizes.size < MIN_CLUSTERS:
        return None
    mean, deviations, df = mean_deviations(points, code)
    return _around(mean, deviations, df, bounds)


def few_others(values: FloatArray, name: str, least: int) -> str:
    """Return why yes and no, one of them rare, have no interval by a t; "" if they have one.

    name: of the values. least: fewest of them if one is rare.
    """
    found, counts = np.unique(values, return_counts=True)
    rare = int(counts.min()) if found.size == 2 else 0
    if found.size > 2 or rare >= RARE * values.size or (values.size >= least and rare >= MIN_RARE):
        return ""
    return (
        f"{rare} of {values.size} {name} differ from the others, an interval needs a fifth, or {MIN_RARE} of "
        f"{least}"
    )


def mean_deviations(points: FloatArray, code: IntArray) -> tuple[float, FloatArray, float]:
    """Return the mean of n points, the deviations of its two or more clusters, sorted, and degrees of
    freedom.

    code: n cluster numbers from 0. The deviations' mean square over their number is the CR2 variance of the
    mean.
    """
    sizes = np.bincount(code)
    mean, share = math.fsum(points) / points.size, sizes / points.size
    # Sorted so that the sums do not depend on the order of the points.
    order = np.lexsort((points, code))
    totals = np.bincount(code[order], weights=(points - mean)[order])
    deviations = np.sort(sizes.size * totals / (points.size * np.sqrt(1 - share)))
    return mean, deviations, degrees_of_freedom(share)


@cache  # thousands of calls have the same few counts
def proportion_interval(count: int, n: int, bounds: tuple[float, float] = SHARE) -> Interval:
    """Clopper and Pearson's exact interval (1934) of a share of n independent points, stretched to `bounds`.

    For two of two it is (0.16, 1). None for no points.
    """
    if not n:
        return None
    exact_low = float(betaincinv(count, n - count + 1, 0.025)) if count else 0.0
    exact_high = float(betaincinv(count + 1, n - count, 0.975)) if count < n else 1.0
    low, span = bounds[0], bounds[1] - bounds[0]
    return low + span * exact_low, low + span * exact_high


def jackknife_groups(n: int, seed: int) -> list[IntArray]:
    """Return the clusters that remain when each cluster, or group of clusters, is left out: sorted positions.

    Up to 36 clusters are left out one by one, more in 36 groups of nearly equal size, drawn by a generator of
    its own (PCG64): 170 countries then need 36 eigendecompositions.
    """
    order = np.random.Generator(np.random.PCG64(seed)).permutation(n)
    parts = np.array_split(order, min(n, _GROUPS))
    return [np.setdiff1d(np.arange(n), part) for part in parts]


def jackknife_interval(
    estimate: float,
    left_out: Iterable[float | None],
    bounds: tuple[float, float] = UNBOUNDED,
    at_least: int = MIN_CLUSTERS,
    is_biased: bool = False,
) -> Interval:
    """Interval of a smooth number from its values with each cluster, or group of clusters, left out.

    left_out: values without one cluster each, for clusters of about the same size. is_biased: the number
    depends on the number of clusters, and its value for very many clusters is estimated; the interval is then
    extended by the jackknife's estimate of the bias. It always contains the estimate. None for fewer than
    `at_least` values, or if one is missing (None, NaN, infinite): then a single cluster determines the
    number.
    """
    values_left_out = np.array([math.nan if value is None else value for value in left_out], dtype=np.float64)
    if values_left_out.size < at_least or not np.isfinite([estimate, *values_left_out]).all():
        return None
    g = values_left_out.size
    numbers = np.array([estimate, *np.sort(values_left_out)])
    scaled = to_scale(numbers, bounds)
    is_inside = bool(np.isfinite(scaled).all())
    scaled_estimate, *scaled_values = scaled if is_inside else numbers
    deviations = jackknife_deviations(np.array(scaled_values))
    if not is_inside:
        return _around(estimate, deviations, g - 1, bounds)
    ends = t_interval(float(scaled_estimate), deviations, g - 1)
    bias = (g - 1) * float(np.mean(scaled_values) - scaled_estimate) if is_biased else 0.0
    return ends and from_scale((ends[0] - max(bias, 0.0), ends[1] - min(bias, 0.0)), bounds)


def jackknife_deviations(left_out: FloatArray) -> FloatArray:
    """Return pseudo-values minus their mean, from a number's values without one cluster each.

    They are scaled so that their mean square over their number is Tukey's variance, like `mean_deviations`.
    """
    g = left_out.size
    return math.sqrt(g * (g - 1)) * (np.mean(left_out) - left_out)


def jackknife(
    statistic: Callable[[IntArray], float | None],
    clusters: ArrayLike,
    bounds: tuple[float, float] = UNBOUNDED,
) -> Interval:
    """Return `jackknife_interval` of a statistic of points, leaving out each cluster of points in turn.

    statistic: positions of points -> its value on them, or None. clusters: n labels, one for each point.
    """
    names = np.asarray(clusters)
    estimate = statistic(np.arange(names.size))
    if estimate is None:
        return None
    values = (statistic(np.flatnonzero(names != name)) for name in np.unique(names))
    return jackknife_interval(estimate, values, bounds)


def half_samples(n: int, replicates: int, seed: int) -> IntArray:
    """Return the half of n clusters in each replicate: replicates x n // 2 sorted positions without repeats.

    They are drawn by a generator of its own (PCG64). Without repeats a number of pairs, such as an effective
    rank, keeps its meaning. The spread of half-samples is that of samples of twice the size (the delete-d
    jackknife with d = n / 2, Shao and Wu 1989), also for numbers that jump. Raises ValueError for fewer than
    two clusters or replicates.
    """
    if n < 2 or replicates < 2:
        raise ValueError(f"{n} clusters and {replicates} replicates: two of each are needed for a spread")
    generator = np.random.Generator(np.random.PCG64(seed))
    return np.sort(generator.random((replicates, n)).argsort(axis=1)[:, : n // 2], axis=1).astype(np.intp)


def half_sample_interval(
    estimate: float,
    replicates: Iterable[float | None],
    n: int,
    bounds: tuple[float, float] = UNBOUNDED,
    at_least: int = MIN_CLUSTERS,
    is_fisher: bool = False,
    other_error: float = 0.0,
) -> Interval:
    """Return the estimate -+ t standard errors from half-samples, within the bounds.

    replicates: values on `half_samples` of n clusters. Only their spread is used, because half a sample has
    another expectation. is_fisher: the number is a correlation, and the interval is extended to that of
    atanh(0.98 r), since either alone is too short for some samples.
    other_error: standard error of what varies apart from the clusters. None for fewer than `at_least`
    clusters, or if fewer than half of the replicates have a value.
    """
    values = [math.nan if value is None else value for value in replicates]
    finite = [value for value in values if math.isfinite(value)]
    if n < at_least or len(finite) < max(2, len(values) / 2) or not math.isfinite(estimate):
        return None
    half = _quantile(n - 1) * math.hypot(half_sample_error(np.array(finite), n), other_error)
    low, high = estimate - half, estimate + half
    if is_fisher:
        middle, scaled = math.atanh(SHRINKAGE * estimate), np.arctanh(SHRINKAGE * np.array(finite))
        half = _quantile(n - 1) * half_sample_error(scaled, n)
        low = min(low, math.tanh(middle - half) / SHRINKAGE)
        high = max(high, math.tanh(middle + half) / SHRINKAGE)
    return max(bounds[0], low), min(bounds[1], high)


def jumping_interval(
    estimate: float, replicates: Sequence[float], n: int, jump: float, at_least: int = MIN_CLUSTERS
) -> Interval:
    """Return the interval of a share that jumps: `half_sample_interval` with the error of a jump, extended to
    the central 95 % of the half-samples' values, which are on both sides of a jump.

    jump: standard error of a jump that no half-sample may show, such as `classification.jump_error`.
    """
    found = half_sample_interval(estimate, replicates, n, SHARE, at_least, other_error=jump)
    if found is None:
        return None
    low, high = np.quantile(replicates, [0.025, 0.975])
    return min(found[0], float(low)), max(found[1], float(high))


def half_sample_error(values: FloatArray, n: int) -> float:
    """Standard error of a number from its values on `half_samples` of n clusters."""
    return float(np.std(values, ddof=1)) * math.sqrt((n // 2) / (n - n // 2))


MIN_FLIPPED = 6
"""Minimum number of clusters for ``sign_flip_p``: with five, even equal signs have a p of 1 / 32."""


def sign_flip_p(values: ArrayLike, clusters: ArrayLike | None = None, seed: int = 0) -> float:
    """Return the one-sided p-value of a mean above 0, by an exact sign-flip test (Fisher 1935).

    values: n differences; clusters: n labels, whose values flip together. Under the null a difference is as
    likely as its opposite. All flips are used for up to 14 clusters, else 19,999 drawn ones. Range (0, 1]: p
    below 0.025 shows a mean above 0, which five clusters cannot reach (1 / 32). Raises ValueError for no
    values.
    """
    points = np.asarray(values, dtype=np.float64)
    names = np.arange(points.size) if clusters is None else np.asarray(clusters)
    if not points.size or names.shape != points.shape:
        raise ValueError(f"{names.shape} clusters for values of shape {points.shape}: one each")
    code = np.unique(names, return_inverse=True)[1]
    totals = np.sort(np.bincount(code, weights=points))
    tolerance = _ROUNDING * np.abs(totals).sum()
    return float((_flips(totals.size, seed) @ totals >= totals.sum() - tolerance).mean())


@lru_cache(maxsize=4)  # a table of pairs of models flips the same personas hundreds of times
def _flips(n: int, seed: int) -> FloatArray:
    """Return signs of n clusters, one flip a row: all of them, or those as they are and the drawn ones."""
    if n <= _LISTED:
        return np.array(list(product((1.0, -1.0), repeat=n)))
    signs = np.random.Generator(np.random.PCG64(seed)).integers(0, 2, (_DRAWN, n))
    return np.concatenate([np.ones((1, n)), 2.0 * signs - 1])


def sign_flip_p_two_sided(values: ArrayLike, clusters: ArrayLike | None = None, seed: int = 0) -> float:
    """Return the two-sided p-value of a mean other than 0: twice the smaller ``sign_flip_p``, at most 1."""
    points = np.asarray(values, dtype=np.float64)
    return min(1.0, 2 * min(sign_flip_p(side * points, clusters, seed) for side in (1, -1)))


def least_flip_p(n: int) -> float:
    """Return the smallest p that ``sign_flip_p_two_sided`` can give for n clusters: all differ one way."""
    return min(1.0, 2.0 ** (1 - n) if n <= _LISTED else 2 / (_DRAWN + 1))


def degrees_of_freedom(share: FloatArray) -> float:
    """Return Satterthwaite's degrees of freedom of the CR2 variance of a mean.

    share: each cluster's share of the points. For clusters whose means vary equally they are tr(M)^2 /
    tr(M^2), with the covariance M of the terms of the variance; for g clusters of one size they are g - 1.
    """
    # M = W (D - s s')^2 W with D = diag(s) and W = diag(1 - s)^(-1/2) is a diagonal and products of vectors,
    # so the time for its trace and squares grows with the number of clusters, not with its square.
    u, q = share / np.sqrt(1 - share), float(share @ share)
    v, diagonal = share * u, share**2 / (1 - share)
    rest = q * u**2 - 2 * u * v
    uu, uv, vv = float(u @ u), float(u @ v), float(v @ v)
    squares = (diagonal**2 + 2 * diagonal * rest).sum() + 2 * uu * vv + 2 * uv**2 + (q * uu) ** 2
    return float((diagonal + rest).sum() ** 2 / (squares - 4 * q * uu * uv))


def _around(
    mean: float, deviations: Sequence[float] | FloatArray, df: float, bounds: tuple[float, float]
) -> Interval:
    """Return the interval of a mean from its clusters' deviations, as in `mean_deviations`.

    Within finite bounds of one sign it is the t interval on the logit scale, which is skewed like values near
    a bound. For fewer than 30 clusters it also contains the plain t interval. If these clusters vary by more
    than 1.25 times the mean's distance from the nearest bound, it also contains Wilson's interval for as many
    yes and no, because the sample may lack rare clusters. If all values lie on a bound, it extends to where
    such a sample has the probability 0.025, whatever the values.
    """
    spread = np.asarray(deviations, dtype=np.float64)
    low, high = bounds
    around = t_interval(mean, spread, df)
    around = around and (max(around[0], low), min(around[1], high))
    if not (math.isfinite(low) and math.isfinite(high)) or low == -high:
        return around
    g, span = spread.size, high - low
    x = (mean - low) / span
    rare = 1 - 0.025 ** (1 / g)
    if x <= _ROUNDING or x >= 1 - _ROUNDING:
        return (low, low + span * rare) if x < 0.5 else (high - span * rare, high)
    if around is None:
        return None
    error = math.sqrt(float((spread**2).sum())) / g / span
    half = _quantile(df) * error / (x * (1 - x))
    ends = [float(expit(logit(x) - half)), float(expit(logit(x) + half))]
    if g < 30:
        ends = [min(ends[0], (around[0] - low) / span), max(ends[1], (around[1] - low) / span)]
    if g < 30 and error * math.sqrt(g) > 1.25 * min(x, 1 - x):
        middle, scale = x + 1.92 / g, 1 + 3.84 / g
        wilson = 1.96 * math.sqrt(x * (1 - x) / g + 0.96 / g**2)
        ends = [min(ends[0], (middle - wilson) / scale), max(ends[1], (middle + wilson) / scale)]
    return low + span * max(ends[0], 0.0), low + span * min(ends[1], 1.0)


def t_interval(estimate: float, deviations: FloatArray, df: float, terms: float = 2.0) -> Interval:
    """Return the t interval, extended on the side to which the deviations are skewed.

    The extension is twice (`terms`) the first term of the skewness of t (Johnson 1978), because few clusters
    understate the skewness. None if nothing varies.
    """
    g = deviations.size
    variance = float((deviations**2).mean())
    if math.sqrt(variance) <= _ROUNDING * max(1.0, abs(estimate)):
        return None
    error, quantile = math.sqrt(variance / g), _quantile(df)
    skewness = float((deviations**3).mean()) / variance**1.5
    longer = terms / 2 * error * skewness / (3 * math.sqrt(g)) * (1 + 2 * quantile**2)
    return estimate - quantile * error + min(longer, 0.0), estimate + quantile * error + max(longer, 0.0)


@cache
def _quantile(df: float) -> float:
    """Return the 97.5 % quantile of t; cached because many intervals have the same df."""
    return float(stdtrit(df, 0.975))


def to_scale(values: FloatArray, bounds: tuple[float, float]) -> FloatArray:
    """Return numbers between two bounds on the logit scale, above one bound on the log scale."""
    low, high = bounds
    with np.errstate(divide="ignore", invalid="ignore"):
        if math.isfinite(high):
            return np.asarray(logit((values - low) / (high - low)))
        return np.log(values - low) if math.isfinite(low) else values


def from_scale(ends: tuple[float, float], bounds: tuple[float, float]) -> tuple[float, float]:
    low, high = bounds
    if math.isfinite(high):
        return low + (high - low) * float(expit(ends[0])), low + (high - low) * float(expit(ends[1]))
    return (low + math.exp(ends[0]), low + math.exp(ends[1])) if math.isfinite(low) else ends
