"""The mean of answers that several people gave to several items, with an interval over both. Pure.

People and items vary at once: another sample of either gives another mean. The variance is the two-way
cluster-robust one of Cameron, Gelbach and Miller (2011), with Satterthwaite's degrees of freedom. Coverage is
simulated: ``python -m benchmarks ceiling``, table in docs/intervals.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from tasks.metrics.intervals import MIN_CLUSTERS, few_others, from_scale, to_scale
from tasks.metrics.types import FloatArray, IntArray, Interval

MIN_PEOPLE = 5
"""Least number of people with which the interval reaches its coverage."""
TOO_FEW_PEOPLE = f"fewer than {MIN_PEOPLE} people"
TOO_FEW_CLUSTERS = f"fewer than {MIN_CLUSTERS} clusters of items"
MIN_ANSWERS_IF_RARE = 240
"""Fewest answers if right or wrong is rare; with fewer, intervals hold the mean in 98 %."""
NO_SPREAD = "all scores are the same"
_OF_DF = 0.75  # chosen in simulation: skewed scores of few people vary more than their spread shows


@dataclass(frozen=True)
class TwoWayMean:
    """A mean over items and people.

    Attributes:
        value: mean over items of the mean over the people who answered them, within the scores' bounds.
        interval: 95 %; None with ``reason`` if there is none.
    """

    value: float
    interval: Interval
    reason: str
    n_people: int
    n_items: int
    n_clusters: int


def two_way_mean(
    scores: ArrayLike, people: ArrayLike, items: ArrayLike, clusters: ArrayLike, bounds: tuple[float, float]
) -> TwoWayMean:
    """Return the mean of scores over items and people.

    Each item weighs the same, whoever answered it, as in a model's mean. With bounds on one side of 0 the
    interval is symmetric on the logit or log scale, so that it stays within them.

    Args:
        scores: n finite numbers, one for each answer. people, items, clusters: n labels; an item is in one
            cluster. bounds: range of a score.

    Raises:
        ValueError: shapes differ, there is no score, or one is not finite.
    """
    values = np.asarray(scores, dtype=np.float64)
    labels = [np.asarray(each) for each in (people, items, clusters)]
    if values.ndim != 1 or not values.size or any(each.shape != values.shape for each in labels):
        raise ValueError("each score needs a person, an item and a cluster, and there must be a score")
    if not np.isfinite(values).all():
        raise ValueError("scores must be finite")
    person, item, cluster = (np.unique(each, return_inverse=True)[1] for each in labels)
    weights = 1 / (np.bincount(item)[item] * (item.max() + 1))
    # Sorted, so that the sums do not depend on the order of the answers.
    order = np.lexsort((values, cluster, item, person))
    mean = math.fsum((weights * values)[order])
    deviations = weights * (values - mean)
    cell = person * (cluster.max() + 1) + cluster
    of_people, of_clusters, of_cells = (
        _variance(deviations[order], each[order]) for each in (person, cluster, cell)
    )
    n_people, n_clusters = int(person.max()) + 1, int(cluster.max()) + 1
    counts = (n_people, int(item.max()) + 1, n_clusters)
    variance = max(of_people + of_clusters - of_cells, of_people, of_clusters)
    if reason := _too_few(values, n_people, n_clusters, variance):
        return TwoWayMean(mean, None, reason, *counts)
    own, others = max(of_people - of_cells, 0.0), max(of_clusters - of_cells, 0.0)
    rest = max(variance - own - others, 0.0) / 2  # of single answers, which both people and clusters repeat
    squares = (own + rest) ** 2 / (n_people - 1) + (others + rest) ** 2 / (n_clusters - 1)
    df = max(1.0, _OF_DF * variance**2 / squares)
    half = float(stdtrit(df, 0.975)) * math.sqrt(variance)
    return TwoWayMean(mean, _around(mean, half, bounds), "", *counts)


def _too_few(values: FloatArray, n_people: int, n_clusters: int, variance: float) -> str:
    """Return why such answers have no interval; "" if they have one."""
    if n_people < MIN_PEOPLE:
        return TOO_FEW_PEOPLE
    if n_clusters < MIN_CLUSTERS:
        return TOO_FEW_CLUSTERS
    return NO_SPREAD if variance <= 1e-24 else few_others(values, "answers", MIN_ANSWERS_IF_RARE)


def _variance(deviations: FloatArray, code: IntArray) -> float:
    """Return the cluster-robust variance of a mean over the clusters that ``code`` numbers."""
    _, numbers = np.unique(code, return_inverse=True)
    totals = np.bincount(numbers, weights=deviations)
    n = totals.size
    return math.fsum(totals**2) * n / (n - 1) if n > 1 else 0.0


def _around(mean: float, half: float, bounds: tuple[float, float]) -> Interval:
    """Return the interval with this half width on the scores' scale, symmetric on that of the bounds."""
    low, high = bounds
    if low < 0 < high or not low < mean < high:
        return max(low, mean - half), min(high, mean + half)
    (centre,) = to_scale(np.array([mean]), bounds)
    is_open = not math.isfinite(high)
    slope = (1.0 if is_open else (high - mean) / (high - low)) * (mean - low) if math.isfinite(low) else 1.0
    scaled = half / slope
    return from_scale((float(centre) - scaled, float(centre) + scaled), bounds)
