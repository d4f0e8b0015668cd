"""The difference of two rank correlations that share a number, and the number of points that detects it.

Does a number correlate with one predictor more than with another, over the same few models? Both correlations
use the same points, so their errors are correlated. Level and coverage: docs/intervals.md.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata

from tasks.metrics._arrays import as_pair
from tasks.metrics.agreement import pearson, spearman_interval
from tasks.metrics.intervals import MIN_CLUSTERS, sign_flip_p_two_sided
from tasks.metrics.types import FloatArray, Interval

MIN_SWAPS = 6
"""Least number of points: with five, even the clearest of the 32 swaps has p = 2 / 32."""

# Normal quantiles of a two-sided test at 5 % and of 80 % power.
_LEVEL, _POWER = 1.959964, 0.841621

# A sum below this share of its terms is rounding.
_ROUNDING = 1e-9


class CorrelationDifference(NamedTuple):
    """Difference of two rank correlations with one number.

    Attributes:
        first, second: Spearman's rho of the shared number with each of the two, in [-1, 1].
        value: first - second, in [-2, 2]; above 0: the first correlation is higher.
        interval: 95 % interval of the value; None below 5 points, or where the two order the points alike.
        p_value: two-sided; None below 6 points.
        needed: number of points that would detect such a difference, see ``points_for_difference``.
        unscored_reason: why there is no interval or no p-value; None if there are both.
    """

    first: float
    second: float
    value: float
    interval: Interval
    p_value: float | None
    needed: int | None
    unscored_reason: str | None


def difference(shared: ArrayLike, first: ArrayLike, second: ArrayLike) -> CorrelationDifference | None:
    """Spearman's rho of `shared` and `first` less that of `shared` and `second`.

    shared, first, second: n values each, of the same points in the same order; ties have their average rank.
    The interval is that of ``mover`` around ``spearman_interval``. The p-value is of a swap test: if both go
    together with `shared` alike, the ranks of a point in the two can be exchanged (all swaps of up to 14
    points, else 19,999). None for fewer than 3 points, or where one of the three does not vary. Raises
    ValueError for a NaN or different lengths.
    """
    ranks = [rankdata(side) for side in (*as_pair(shared, first), as_pair(shared, second)[1])]
    n = ranks[0].size
    rhos = [pearson(ranks[a], ranks[b]) if n > 2 else None for a, b in ((0, 1), (0, 2), (1, 2))]
    if any(rho is None for rho in rhos):
        return None
    one, two, between = (float(rho) for rho in rhos if rho is not None)
    moved = (ranks[0] - ranks[0].mean()) * (ranks[1] - ranks[2])
    reasons = []
    interval = p_value = None
    if not moved.any():
        reasons.append("both order the points alike")
    elif n < MIN_CLUSTERS:
        reasons.append(f"{n} points; an interval needs {MIN_CLUSTERS}")
    else:
        inner = (max(-_most(n), min(_most(n), rho)) for rho in (one, two, between))
        ends = spearman_interval(one, n), spearman_interval(two, n)
        assert ends[0] is not None
        assert ends[1] is not None
        interval = mover(one, two, ends[0], ends[1], correlation_of_correlations(*inner))
    if n < MIN_SWAPS:
        reasons.append(f"{n} points; a test needs {MIN_SWAPS}")
    else:
        p_value = sign_flip_p_two_sided(moved)
    needed = points_for_difference(moved, one, two, between)
    return CorrelationDifference(one, two, one - two, interval, p_value, needed, "; ".join(reasons) or None)


def mover(
    first: float,
    second: float,
    first_ends: tuple[float, float],
    second_ends: tuple[float, float],
    correlation: float,
) -> tuple[float, float]:
    """Interval of first - second from the intervals of both, whose errors have this correlation.

    Zou (2007): each end is as far from the difference as the sides that face each other are together.
    """
    (low, high), (other_low, other_high) = first_ends, second_ends
    down, up = first - low, high - first
    other_down, other_up = second - other_low, other_high - second
    below = down**2 + other_up**2 - 2 * correlation * down * other_up
    above = up**2 + other_down**2 - 2 * correlation * up * other_down
    value = first - second
    return value - math.sqrt(max(below, 0.0)), value + math.sqrt(max(above, 0.0))


def correlation_of_correlations(first: float, second: float, between: float) -> float:
    """Correlation in [-1, 1] between the errors of two correlations that share a number.

    first, second: of the shared number with each of the two, neither of them -1 or 1; between: of these two.
    For many normal points (Pearson and Filon 1898; formula as in Zou 2007).
    """
    squares = first**2 + second**2 + between**2
    common = (between - first * second / 2) * (1 - squares) + between**3
    return max(-1.0, min(1.0, common / ((1 - first**2) * (1 - second**2))))


def points_for_correlation(rho: float, n: int) -> int | None:
    """Return the number of points by which 80 of 100 samples would tell a rho like this from 0, two-sided at
    5 %.

    rho in [-1, 1], as n points have it; a full agreement counts as the next one that n points can have. On
    Fisher's scale with Bonett and Wright's (2000) variance. None for rho 0, which no number of points tells
    from 0, and for fewer than 3 points.
    """
    if n < 3 or abs(rho) < _ROUNDING:
        return None
    inner = min(_most(n), abs(rho))
    distance = (_LEVEL + _POWER * math.sqrt(1 + inner**2 / 2)) / math.atanh(inner)
    return max(MIN_CLUSTERS, math.ceil(3 + distance**2))


def points_for_difference(moved: FloatArray, first: float, second: float, between: float) -> int | None:
    """Return the number of points like these by which 80 of 100 samples would show their difference by the
    swap test at 5 %.

    moved: what each of n points adds to the difference, which a swap turns round; first, second, between: as
    in ``correlation_of_correlations``. The threshold is that of swaps, whose spread is the root of the sum of
    squares; the difference itself has the spread that Zou (2007) gives it. On the safe side. None where the
    points add up to 0.
    """
    n, total = len(moved), abs(float(moved.sum()))
    if total <= _ROUNDING * float(np.abs(moved).sum()):
        return None
    one, two, both = (max(-_most(n), min(_most(n), rho)) for rho in (first, second, between))
    spreads = [(1 - rho**2) * math.sqrt(1 + rho**2 / 2) for rho in (one, two)]
    shared = 2 * correlation_of_correlations(one, two, both) * spreads[0] * spreads[1]
    own = math.sqrt(max(spreads[0] ** 2 + spreads[1] ** 2 - shared, 0.0))
    swaps = math.sqrt(n * float((moved**2).sum())) / total
    return max(MIN_SWAPS, math.ceil((_LEVEL * swaps + _POWER * own / abs(first - second)) ** 2))


def _most(n: int) -> float:
    """The largest rho of n points without ties that is not 1."""
    return 1 - 12 / (n**3 - n)
