"""Which items belong to a country, and the row of a mean over items. Pure."""

from __future__ import annotations

from collections import Counter

import numpy as np

from tasks.evaluations.cure.requests import Study
from tasks.evaluations.cure.scores import Reasons
from tasks.metric_rows import Interval, Metric, Slice, scored, unscored
from tasks.metrics.bootstrap import bootstrap_indices, percentile_interval
from tasks.metrics.types import FloatArray, IntArray

Knobs = tuple[int, int]
"""(resamples, seed)"""

NOTHING = "nothing was scored"


def knobs_of(study: Study) -> Knobs:
    """Resamples and seed."""
    return study.params.bootstrap, study.params.seed


def by_country(study: Study, benchmark: str) -> dict[str, IntArray]:
    """Code -> positions of its items, codes in order; items without a country are in none."""
    places: dict[str, list[int]] = {}
    for place, item in enumerate(study.items(benchmark)):
        if item.country is not None:
            places.setdefault(item.country, []).append(place)
    return {country: np.array(places[country], dtype=np.intp) for country in sorted(places)}


def mean_row(
    metric: str,
    where: Slice,
    values: FloatArray,
    reasons: Reasons,
    knobs: Knobs,
    null: float | None = None,
) -> Metric:
    """The mean of the known values of some items, with its interval; NaN is unscored."""
    known = values[~np.isnan(values)]
    if not known.size:
        return unscored(metric, where, main_reason(reasons), values.size, null)
    counts = (known.size, values.size - known.size)
    return scored(metric, where, float(known.mean()), counts, mean_interval(known, knobs), null)


def mean_interval(values: FloatArray, knobs: Knobs) -> Interval:
    """95 % interval of a mean, drawing items again; None for fewer than two."""
    if values.size < 2:
        return None
    return percentile_interval(values[bootstrap_indices(values.size, *knobs)].mean(axis=1))


def mean_of(values: FloatArray) -> float | None:
    """The mean of what is known; None where nothing is."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else None


def main_reason(reasons: Reasons) -> str:
    """The most frequent reason, of equally frequent ones the first in code-point order."""
    counts = Counter(reason for reason in reasons.tolist() if reason)
    return min(counts, key=lambda reason: (-counts[reason], reason)) if counts else NOTHING
