"""Verdicts of a release gate: whether the data show that a number meets a requirement, show that it does not,
or neither.

A requirement is met if the whole interval is on the good side of a limit, missed if the whole interval is on
the other side. A policy is GO if every requirement is met, so a wrong GO needs one wrong verdict about a
requirement that is missed: each has the whole level. It is NO-GO if any requirement is missed, so this side
of the level is divided by their number. Both are divided by the number of looks, which holds whatever looks
have in common: the same items, the same answers, or more items each time (docs/gate.md has the simulation).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from scipy.special import ndtri, stdtrit

from tasks.metrics.intervals import MIN_CLUSTERS, UNBOUNDED, from_scale, to_scale
from tasks.metrics.types import Interval

Verdict: TypeAlias = Literal["GO", "NO-GO", "INCONCLUSIVE"]

STORED_TAIL = 0.025
"""Chance on each side that a stored 95 % interval misses the number."""
POWER = 0.8
"""Chance with which the items that are still needed decide."""
# A distance below this share of the interval is too small for any number of items.
_NO_DISTANCE = 1e-6
# A value this near to a bound lies on it.
_ROUNDING = 1e-12


class Tails(NamedTuple):
    """Chances of a wrong verdict of one requirement at one look: that it is met, and that it is missed."""

    go: float
    no_go: float


def tails(level: float, looks: int, requirements: int) -> Tails:
    """Return the tails with which a policy is wrong with at most `level` / 2 in either direction, over all
    looks.

    level: 0.05 gives 95 % intervals for one look and requirement. Raises ValueError unless 0 < level < 1, and
    for fewer than one look or requirement.
    """
    if not 0 < level < 1 or looks < 1 or requirements < 1:
        raise ValueError(
            f"level {level}, {looks} looks, {requirements} requirements: 0 < level < 1, one or more"
        )
    return Tails(level / 2 / looks, level / 2 / looks / requirements)


def stretched(
    value: float, interval: Interval, tail: float, df: float, bounds: tuple[float, float] = UNBOUNDED
) -> Interval:
    """Return a stored 95 % interval with another chance on each side.

    tail: the chance, such as 0.025 / 52; df: degrees of freedom of the interval's t, the number of clusters
    less 1 if they are of one size; bounds: range of the number, as for `intervals.mean_interval`. The
    interval is stretched on the scale on which it was made, by the ratio of the quantiles of t. If the value
    is on a bound, the other end is where such a sample has that chance. None if there is no interval.
    """
    if interval is None:
        return None
    low, high = bounds
    if math.isfinite(low) and math.isfinite(high) and low != -high:
        x = (value - low) / (high - low)
        ends = [(end - low) / (high - low) for end in interval]
        power = math.log(tail) / math.log(STORED_TAIL)
        if x <= _ROUNDING:
            return low, low + (high - low) * (1 - (1 - ends[1]) ** power)
        if x >= 1 - _ROUNDING:
            return low + (high - low) * ends[0] ** power, high
    elif math.isfinite(low) and math.isfinite(high):
        bounds = UNBOUNDED  # a difference of two shares is not skewed by its bounds
    scaled = to_scale(np.array([value, *interval]), bounds)
    if not math.isfinite(scaled[0]):
        scaled, bounds = np.array([value, *interval]), UNBOUNDED
    ratio = float(stdtrit(df, 1 - tail) / stdtrit(df, 1 - STORED_TAIL))
    middle, below, above = (float(each) for each in scaled)
    ends_of = middle - ratio * (middle - below), middle + ratio * (above - middle)
    stretched_low, stretched_high = from_scale(ends_of, bounds)
    return max(stretched_low, low), min(stretched_high, high)


class Finding(NamedTuple):
    """Verdict about one requirement.

    interval: the one that decides, with the tail of the verdict's side on each; more: number of further items
    that would decide with 80 % power if the value stays; 0 if it is decided, None if no number would.
    """

    verdict: Verdict
    interval: Interval
    more: int | None


def judged(
    value: float,
    interval: Interval,
    limit: float,
    is_least: bool,
    chances: Tails,
    n: int,
    df: float = MIN_CLUSTERS - 1,
    bounds: tuple[float, float] = UNBOUNDED,
) -> Finding:
    """Return the verdict on whether a number is at least (or at most) a limit.

    value, interval: the number and its 95 % interval; without one the verdict is INCONCLUSIVE. n: number of
    items; df, bounds: as for `stretched`; the default df is the least that an interval has, for numbers whose
    clusters are not known.
    """
    if interval is None:
        return Finding("INCONCLUSIVE", None, None)
    go, no_go = (stretched(value, interval, tail, df, bounds) for tail in chances)
    assert go is not None
    assert no_go is not None
    if go[0] >= limit if is_least else go[1] <= limit:
        return Finding("GO", go, 0)
    if no_go[1] < limit if is_least else no_go[0] > limit:
        return Finding("NO-GO", no_go, 0)
    is_met = value >= limit if is_least else value <= limit
    tail = chances.go if is_met else chances.no_go
    return Finding("INCONCLUSIVE", go if is_met else no_go, more_items(value, interval, limit, tail, n, df))


def more_items(
    value: float, interval: tuple[float, float], limit: float, tail: float, n: int, df: float
) -> int | None:
    """Return how many further items would show on which side of the limit the number is, with 80 % power.

    The value is taken as the truth, and items vary like those that there are, in clusters of the same size.
    It is rough, like the value. None if the value is on the limit.
    """
    distance = abs(value - limit)
    side = value - interval[0] if limit < value else interval[1] - value
    if distance <= _NO_DISTANCE * max(side, 1e-300):
        return None
    error = side / float(stdtrit(df, 1 - STORED_TAIL))
    share = (error * float(-ndtri(tail) + ndtri(POWER)) / distance) ** 2
    return max(1, math.ceil(n * (share - 1)))


def difference_of_intervals(
    first: tuple[float, tuple[float, float]], second: tuple[float, tuple[float, float]]
) -> tuple[float, tuple[float, float]]:
    """Return the difference of two numbers with an interval from theirs (Zou and Donner 2008), as if
    independent.

    It is too wide for two models on the same items, whose scores rise and fall together.
    """
    (a, (a_low, a_high)), (b, (b_low, b_high)) = first, second
    value = a - b
    return value, (value - math.hypot(a - a_low, b_high - b), value + math.hypot(a_high - a, b - b_low))


def of_all(verdicts: Sequence[Verdict]) -> Verdict:
    """Return a policy's verdict: NO-GO if any requirement is missed, GO if all are met, else INCONCLUSIVE.

    Raises ValueError for no verdicts.
    """
    if not verdicts:
        raise ValueError("a policy has at least one requirement")
    if "NO-GO" in verdicts:
        return "NO-GO"
    return "GO" if set(verdicts) == {"GO"} else "INCONCLUSIVE"
