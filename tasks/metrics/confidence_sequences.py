"""Confidence sequences: intervals that hold at every look at once, however it is decided when to stop.

They bet against a mean (Waudby-Smith and Ramdas 2024): a gambler who may stake a share of the capital on
each value gains nothing on average if the mean is the true one. By Ville's inequality the capital then ever
reaches 1 / a with probability a at most. Means against which it did are out, at that look and for ever.
Nothing is assumed of the values but their bounds. The capital is the mean over gamblers who stake fixed
shares, a discrete form of Cover's universal portfolio, so it needs no variance and falls as the mean rises.

With a population, its mean is estimated from values drawn at random without replacement, and the interval
shrinks to a point. Without one, the mean is that of where the values come from.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from tasks.metrics.types import FloatArray, Interval

SHARES: FloatArray = np.geomspace(0.01, 0.95, 16)
"""Shares of the largest stake that cannot lose more than the capital; small ones are for thousands of
values."""
_NOTHING = 1e-12
"""A mean below it is 0 but for rounding."""
_STEPS = 40
"""Halvings of the range in the search for an end: it is found to 1e-12."""


def log_capital(
    values: ArrayLike, mean: float, weights: ArrayLike | None = None, population: int | None = None
) -> FloatArray:
    """Return [n] the natural log of the capital after each value, of bets that the mean is greater.

    It never rises with the mean. -inf: everything is lost; inf: the values cannot have this mean, or less.

    Args:
        values: [n] in [0, 1], in the order in which they were drawn.
        mean: in [0, 1]; that of the population, or the expected value of weight times value over that of the
            weight.
        weights: [n] in [0, 1], such as sizes of clusters as shares of the largest; default: 1. They are known
            before the values and exclude a population.
        population: number of all values; the n values are drawn from it without replacement.
    """
    x = np.asarray(values, dtype=np.float64)
    w = np.ones_like(x) if weights is None else np.asarray(weights, dtype=np.float64)
    if x.size and (x.min() < 0 or x.max() > 1 or w.min() < 0 or w.max() > 1):
        raise ValueError("values and weights lie in [0, 1]")
    means = np.full(x.size, float(mean))
    if population is not None:
        if weights is not None or population < x.size:
            raise ValueError(f"{x.size} values of a population of {population}: they have no weights")
        # The mean of what is left, if that of all is ``mean``.
        drawn = np.concatenate([[0.0], np.cumsum(x)[:-1]]) if x.size else x
        means = (population * mean - drawn) / (population - np.arange(x.size))
    with np.errstate(divide="ignore", invalid="ignore"):
        gains = np.where(means > _NOTHING, w * (x / means - 1), np.where(x > _NOTHING, np.inf, 0.0))
        logs = np.cumsum(np.log1p(SHARES[:, None] * np.maximum(gains, -1.0)), axis=1)
    if not x.size:
        return x
    impossible = np.maximum.accumulate((means < -_NOTHING) | np.isinf(gains))
    top = logs.max(axis=0)
    finite = np.where(np.isfinite(top), top, 0.0)
    capital = finite + np.log(np.exp(logs - finite).mean(axis=0))
    return np.where(impossible, np.inf, capital)


def is_above(
    values: ArrayLike,
    mean: float,
    alpha: float,
    weights: ArrayLike | None = None,
    population: int | None = None,
) -> bool:
    """Return whether the values have shown, at any look so far, that the true mean is above this one.

    It is wrong with probability alpha at most, over all looks together; see ``log_capital``.
    """
    capital = log_capital(values, mean, weights, population)
    return bool(capital.size and capital.max() >= -math.log(alpha))


def side_of(
    values: ArrayLike,
    mean: float,
    alpha: float,
    weights: ArrayLike | None = None,
    population: int | None = None,
) -> int:
    """Return 1 or -1 if the true mean is shown to be above or below this one, else 0.

    It is wrong with probability alpha at most; see ``is_above``.
    """
    if is_above(values, mean, alpha / 2, weights, population):
        return 1
    return -int(is_above(1 - np.asarray(values), 1 - mean, alpha / 2, weights, population))


def interval(
    values: ArrayLike, alpha: float, weights: ArrayLike | None = None, population: int | None = None
) -> Interval:
    """Return the means that no look has excluded (``side_of``), within [0, 1]; None without values.

    At all looks together it misses the true mean with probability alpha at most.
    """
    x = np.asarray(values, dtype=np.float64)
    if not x.size:
        return None
    low = _least(x, alpha / 2, weights, population)
    return low, max(low, 1 - _least(1 - x, alpha / 2, weights, population))


def _least(x: FloatArray, alpha: float, weights: ArrayLike | None, population: int | None) -> float:
    """Return the least mean that is not excluded from below."""
    low, high = 0.0, 1.0
    if not is_above(x, low, alpha, weights, population):
        return low
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if is_above(x, middle, alpha, weights, population):
            low = middle
        else:
            high = middle
    return low
