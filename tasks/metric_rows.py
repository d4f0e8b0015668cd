"""One row of ``metric_value``, as every evaluation makes it. Pure."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tasks.metrics.intervals import UNBOUNDED, mean_interval
from tasks.metrics.types import FloatArray, Interval

Slice = tuple[str, str]
"""(slice_kind, slice)"""

OVERALL: Slice = ("overall", "all")

Reasons = NDArray[np.object_]
"""Why points are unscored, "" where they are not."""

NOTHING = "nothing was scored"


class Metric(NamedTuple):
    """One row of ``metric_value``, without the run."""

    metric: str
    slice_kind: str
    slice: str
    value: float | None
    unscored_reason: str | None
    n_scored: int
    n_unscored: int
    ci_low: float | None = None
    ci_high: float | None = None
    null_value: float | None = None


def scored(
    metric: str,
    where: Slice,
    value: float,
    counts: tuple[int, int],
    interval: Interval = None,
    null: float | None = None,
) -> Metric:
    """A row with a value; counts: (n_scored, n_unscored)."""
    low, high = (float(interval[0]), float(interval[1])) if interval else (None, None)
    return Metric(
        metric, *where, float(value), None, *counts, low, high, None if null is None else float(null)
    )


def unscored(metric: str, where: Slice, reason: str, n: int, null: float | None = None) -> Metric:
    """A row without a value, with the reason; n: points that should have been in it."""
    return Metric(metric, *where, None, reason, 0, n, None, None, null)


def mean_row(
    metric: str,
    where: Slice,
    values: FloatArray,
    reasons: Reasons | str,
    clusters: ArrayLike | None = None,
    bounds: tuple[float, float] = UNBOUNDED,
    null: float | None = None,
) -> Metric:
    """The mean of the known values with its interval (``intervals.mean_interval``); NaN is unscored.

    Args:
        values: of any shape; clusters: labels of that shape. reasons: why points are unscored, or all are.
    """
    known = ~np.isnan(values)
    n, n_known = values.size, int(known.sum())
    if not n_known:
        reason = reasons if isinstance(reasons, str) else main_reason(reasons)
        return unscored(metric, where, reason, n, null)
    interval = known_interval(values, clusters, bounds)
    return scored(metric, where, float(values[known].mean()), (n_known, n - n_known), interval, null)


def known_interval(
    values: FloatArray, clusters: ArrayLike | None = None, bounds: tuple[float, float] = UNBOUNDED
) -> Interval:
    """``mean_interval`` of the values that are not NaN; None where all are."""
    known = ~np.isnan(values)
    if not known.any():
        return None
    return mean_interval(values[known], None if clusters is None else np.asarray(clusters)[known], bounds)


def mean_of(values: FloatArray) -> float | None:
    """The mean of what is known; None where nothing is."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else None


def main_reason(reasons: Reasons) -> str:
    """The most frequent reason, of equally frequent ones the first in code-point order."""
    counts = Counter(reason for reason in reasons.ravel().tolist() if reason)
    return min(counts, key=lambda reason: (-counts[reason], reason)) if counts else NOTHING
