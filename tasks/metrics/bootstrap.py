"""Confidence intervals by drawing countries or items again, with replacement (Efron 1979)."""

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from tasks.metrics._arrays import as_square
from tasks.metrics.spectral import effective_rank, spectral_gap_ratio
from tasks.metrics.types import FloatArray, IntArray

__all__ = ["bootstrap_indices", "bootstrap_spectrum", "log_normal_interval", "percentile_interval"]


def bootstrap_indices(n: int, replicates: int, seed: int) -> IntArray:
    """Which items (countries, scenarios, dishes) each resample draws.

    Returns replicates x n indices in 0..n-1, drawn with replacement by a generator of its own (PCG64), so
    that the same arguments give the same indices whatever else drew random numbers.
    """
    if n < 2 or replicates < 2:
        raise ValueError(f"{n} items and {replicates} replicates: two of each are needed for a spread")
    generator = np.random.Generator(np.random.PCG64(seed))
    return generator.integers(0, n, size=(replicates, n), dtype=np.intp)


def bootstrap_spectrum(similarity: ArrayLike, resamples: IntArray) -> tuple[FloatArray, FloatArray]:
    """ER and SR of every resample of countries.

    similarity: n x n cosines; resamples: r x n indices. Returns (er, sr), r float64 values each, ranges [1,
    n] and [1, inf].

    A country drawn w times contributes w equal rows. The resampled matrix has the non-zero eigenvalues of
    W^(1/2) A W^(1/2) over the distinct countries (63 % of n on average), which takes half the time. Matrices
    this small gain nothing from BLAS threads: one thread (OPENBLAS_NUM_THREADS=1) is twice as fast as two on
    an idle machine and far faster on a busy one.
    """
    matrix = as_square(similarity)
    n = len(matrix)
    ranks, ratios = np.empty(len(resamples)), np.empty(len(resamples))
    for replicate, drawn in enumerate(resamples):
        times = np.bincount(drawn, minlength=n)
        distinct = np.flatnonzero(times)
        weight = np.sqrt(times[distinct])
        weighted = matrix[np.ix_(distinct, distinct)] * np.outer(weight, weight)
        spectrum = np.zeros(n)
        spectrum[: distinct.size] = np.linalg.eigvalsh(weighted)[::-1]
        # Rounding error counts as zero, by the same rule as in `spectral.eigenvalues`.
        spectrum[spectrum <= n * np.finfo(np.float64).eps * spectrum[0]] = 0.0
        ranks[replicate] = effective_rank(spectrum)
        ratios[replicate] = spectral_gap_ratio(spectrum)
    return ranks, ratios


def log_normal_interval(
    estimate: float,
    replicates: ArrayLike,
    level: float = 0.95,
    bounds: tuple[float, float] = (1.0, math.inf),
) -> tuple[float, float] | None:
    """Interval exp(log estimate -+ z * sd(log replicates)) for ER or SR, clipped to `bounds`.

    estimate: the value on all countries; replicates: r values. Bounds: (1, n) for ER, (1, inf) for SR.
    Returns (low, high), which always contains the estimate. None where the estimate or a replicate is
    infinite (SR of rows that all coincide): there is no spread to speak of. Raises ValueError for an estimate
    outside the bounds.

    Not the percentile interval: a resample repeats countries, and repeated countries agree perfectly. That
    lowers ER (for the identity a resample has about 0.6 n) and shifts SR, so the replicates' quantiles may
    well lie wholly on one side of the estimate. Only their spread is used, on the log scale, since both
    numbers are positive ratios. The repeats also add to the spread: for ER near n the interval is too wide,
    up to three times in simulations with known sampling error.
    """
    values = _replicates(replicates)
    _check_level(level)
    if not (math.isfinite(estimate) and np.isfinite(values).all()):
        return None
    low_bound, high_bound = bounds
    if not low_bound <= estimate <= high_bound:
        raise ValueError(f"the estimate {estimate} is outside its bounds {bounds}")
    if estimate <= 0 or (values <= 0).any():
        raise ValueError("a logarithm needs a positive estimate and positive replicates")
    half_width = float(ndtri((1 + level) / 2)) * float(np.std(np.log(values), ddof=1))
    low, high = estimate * math.exp(-half_width), estimate * math.exp(half_width)
    return max(low, low_bound), min(high, high_bound)


def percentile_interval(replicates: ArrayLike, level: float = 0.95) -> tuple[float, float] | None:
    """The central `level` share of the replicates (linear interpolation), for means, rates and F1.

    replicates: r values. Returns (low, high); None where a replicate is infinite.
    """
    values = _replicates(replicates)
    _check_level(level)
    if not np.isfinite(values).all():
        return None
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _replicates(replicates: ArrayLike) -> FloatArray:
    """The replicates as float64: two or more, none of them NaN."""
    values = np.asarray(replicates, dtype=np.float64)
    if values.ndim != 1 or values.size < 2 or np.isnan(values).any():
        raise ValueError("an interval needs a vector of two or more replicates, none of them NaN")
    return values


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise ValueError(f"a confidence level lies between 0 and 1, got {level}")
