"""One row of ``metric_value``, as every evaluation makes it. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from tasks.metrics import bootstrap

Interval = tuple[float, float] | None
Slice = tuple[str, str]
"""(slice_kind, slice)"""

OVERALL: Slice = ("overall", "all")


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
    return Metric(metric, *where, float(value), None, *counts, low, high, null)


def unscored(metric: str, where: Slice, reason: str, n: int, null: float | None = None) -> Metric:
    """A row without a value, with the reason; n: points that should have been in it."""
    return Metric(metric, *where, None, reason, 0, n, None, None, null)


def percentile(replicates: Iterable[float | None]) -> Interval:
    """95 % interval over the replicates that have a value; None with fewer than two of those."""
    known = [v for v in replicates if v is not None and not np.isnan(v)]
    return bootstrap.percentile_interval(known) if len(known) > 1 else None
