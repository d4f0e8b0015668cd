"""Difference of two rank correlations that share a number, and the number of points that detects it.

It tests whether a number correlates more with one predictor than with another, over the same few models. Both
correlations use the same points, so their errors are correlated. Level and coverage: docs/intervals.md.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata

from tasks.metrics.agreement import pearson, spearman_interval
from tasks.metrics.intervals import MIN_CLUSTERS, sign_flip_p_two_sided
from tasks.metrics.types import FloatArray, Interval, as_pair

MIN_SWAPS = 6
"""Least number of points: with five, even the most extreme of the 32 swaps has p = 2 / 32."""

# Normal quantiles of a two-sided test at 5 % and of 80 % power.
_LEVEL, _POWER = 1.959964, 0.841621

# A sum below this share of its terms is rounding.
_ROUNDING = 1e-9


class CorrelationDifference(NamedTuple):
    """Difference of two rank correlations with one number.

    Attributes:
        first, second: Spearman's rho of the shared number with each of the two, in [-1, 1].
        value: first - second, in [-2, 2]; above 0: the first correlation is higher.
        interval: 95 % interval of the value; None below 5 points, or if both order the points alike.
        p_value: two-sided; None below 6 points.
        needed: number of points that would detect such a difference (``points_for_difference``).
        unscored_reason: why there is no interval or no p-value; None if both exist.
    """

    first: float
    second: float
    value: float
    interval: Interval
    p_value: float | None
    needed: int | None
    unscored_reason: str | None


def difference(shared: ArrayLike, first: ArrayLike, second: ArrayLike) -> CorrelationDifference | None:
    """Spearman's rho of `shared` and `first` minus that of `shared` and `second`.

    shared, first, second: n values each, of the same points in the same order; ties have their average rank.
    The interval is that of ``mover`` on two ``spearman_interval``s. The p-value is from a swap test: if both
    correlate equally with `shared`, a point's ranks in the two can be exchanged (all swaps for up to 14
    points, else 19,999). None for fewer than 3 points, or if one of the three does not vary. Raises
    ValueError for a NaN or different lengths.
    """
    ranks = [rankdata(side) for side in (*as_pair(shared, first), as_pair(shared, second)[1])]
    n = ranks[0].size
    rhos = [pearson(ranks[a], ranks[b]) if n > 2 else None for a, b in ((0, 1), (0, 2), (1, 2))]
    if any(rho is None for rho in rhos):
        return None
    first_rho, second_rho, cross_rho = (float(rho) for rho in rhos if rho is not None)
    contributions = (ranks[0] - ranks[0].mean()) * (ranks[1] - ranks[2])
    reasons = []
    interval = p_value = None
    if not contributions.any():
        reasons.append("both order the points alike")
    elif n < MIN_CLUSTERS:
        reasons.append(f"{n} points; an interval needs {MIN_CLUSTERS}")
    else:
        inner = (max(-_max_rho(n), min(_max_rho(n), rho)) for rho in (first_rho, second_rho, cross_rho))
        ends = spearman_interval(first_rho, n), spearman_interval(second_rho, n)
        assert ends[0] is not None
        assert ends[1] is not None
        interval = mover(first_rho, second_rho, ends[0], ends[1], correlation_of_correlations(*inner))
    if n < MIN_SWAPS:
        reasons.append(f"{n} points; a test needs {MIN_SWAPS}")
    else:
        p_value = sign_flip_p_two_sided(contributions)
    needed = points_for_difference(contributions, first_rho, second_rho, cross_rho)
    return CorrelationDifference(
        first_rho, second_rho, first_rho - second_rho, interval, p_value, needed, "; ".join(reasons) or None
    )


def mover(
    first: float,
    second: float,
    first_ends: tuple[float, float],
    second_ends: tuple[float, float],
    correlation: float,
) -> tuple[float, float]:
    """Return the interval of first - second from the intervals of both, whose errors have this correlation.

    Zou (2007): the distance of each end combines the facing sides of the two intervals.
    """
    (low, high), (other_low, other_high) = first_ends, second_ends
    below_first, above_first = first - low, high - first
    below_second, above_second = second - other_low, other_high - second
    square_below = below_first**2 + above_second**2 - 2 * correlation * below_first * above_second
    square_above = above_first**2 + below_second**2 - 2 * correlation * above_first * below_second
    value = first - second
    return value - math.sqrt(max(square_below, 0.0)), value + math.sqrt(max(square_above, 0.0))


def correlation_of_correlations(first: float, second: float, cross: float) -> float:
    """Correlation in [-1, 1] between the errors of two correlations that share a number.

    first, second: correlations of the shared number with each of the two, neither -1 nor 1; cross:
    correlation of these two. For many normal points (Pearson and Filon 1898; formula as in Zou 2007).
    """
    squares = first**2 + second**2 + cross**2
    common = (cross - first * second / 2) * (1 - squares) + cross**3
    return max(-1.0, min(1.0, common / ((1 - first**2) * (1 - second**2))))


def points_for_correlation(rho: float, n: int) -> int | None:
    """Return the number of points that distinguish such a rho from 0 with 80 % power, two-sided at 5 %.

    rho: in [-1, 1], of n points; full agreement counts as the next lower rho that n points can have. On
    Fisher's scale with Bonett and Wright's (2000) variance. None for rho 0, which no number of points
    distinguishes, and for fewer than 3 points.
    """
    if n < 3 or abs(rho) < _ROUNDING:
        return None
    inner = min(_max_rho(n), abs(rho))
    distance = (_LEVEL + _POWER * math.sqrt(1 + inner**2 / 2)) / math.atanh(inner)
    return max(MIN_CLUSTERS, math.ceil(3 + distance**2))


def points_for_difference(contributions: FloatArray, first: float, second: float, cross: float) -> int | None:
    """Return the number of such points that show the difference with 80 % power, by the swap test at 5 %.

    contributions: each of n points' contribution to the difference, whose sign a swap reverses; first,
    second, cross: as in ``correlation_of_correlations``. The threshold is that of swaps, whose spread is the
    root of the sum of squares; the difference has the spread of Zou (2007). The result is on the safe side.
    None if the contributions sum to 0.
    """
    n, total = len(contributions), abs(float(contributions.sum()))
    if total <= _ROUNDING * float(np.abs(contributions).sum()):
        return None
    first_rho, second_rho, cross_rho = (
        max(-_max_rho(n), min(_max_rho(n), rho)) for rho in (first, second, cross)
    )
    spreads = [(1 - rho**2) * math.sqrt(1 + rho**2 / 2) for rho in (first_rho, second_rho)]
    covariance = 2 * correlation_of_correlations(first_rho, second_rho, cross_rho) * spreads[0] * spreads[1]
    spread = math.sqrt(max(spreads[0] ** 2 + spreads[1] ** 2 - covariance, 0.0))
    swaps = math.sqrt(n * float((contributions**2).sum())) / total
    return max(MIN_SWAPS, math.ceil((_LEVEL * swaps + _POWER * spread / abs(first - second)) ** 2))


def _max_rho(n: int) -> float:
    """Return the largest rho below 1 of n points without ties."""
    return 1 - 12 / (n**3 - n)
