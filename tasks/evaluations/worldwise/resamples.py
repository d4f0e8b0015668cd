"""Bootstrap replicates of many groups at once, drawing the same scenarios for all of them. Pure."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from tasks.evaluations.worldwise.groups import Knobs
from tasks.metric_rows import Interval
from tasks.metrics.bootstrap import bootstrap_indices, percentile_interval
from tasks.metrics.types import FloatArray


def scenario_weights(n_scenarios: int, knobs: Knobs) -> FloatArray | None:
    """[resamples, scenarios] how often each scenario is drawn; None for a single one."""
    if n_scenarios < 2:
        return None
    drawn = bootstrap_indices(n_scenarios, *knobs)
    return np.stack([np.bincount(draw, minlength=n_scenarios) for draw in drawn]).astype(np.float64)


def resampled_means(values: FloatArray, weights: FloatArray) -> FloatArray:
    """[resamples, groups] means of ``values`` [groups, scenarios, answers], NaN left out.

    A group that has no answer to any scenario drawn has NaN.
    """
    known = ~np.isnan(values)
    totals = np.where(known, values, 0.0).sum(axis=2) @ weights.T
    sizes = known.sum(axis=2) @ weights.T
    means: FloatArray = np.divide(totals, sizes, out=np.full(totals.shape, np.nan), where=sizes > 0)
    return means.T


def percentiles(replicates: FloatArray) -> Interval:
    """Central 95 % of the replicates that have a value; None for fewer than two."""
    known = replicates[~np.isnan(replicates)]
    return percentile_interval(known) if known.size > 1 else None


def normal_interval(estimate: float, replicates: FloatArray) -> Interval:
    """Estimate -+ 1.96 standard deviations of the replicates, within [0, 1].

    For distances between distributions. A resample repeats scenarios, which moves distributions apart, so
    that the replicates' quantiles may lie above the estimate; only their spread is used.
    """
    known = replicates[~np.isnan(replicates)]
    if known.size < 2:
        return None
    half = NormalDist().inv_cdf(0.975) * float(known.std(ddof=1))
    return max(0.0, estimate - half), min(1.0, estimate + half)
