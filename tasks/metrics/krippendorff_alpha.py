"""Krippendorff's alpha: agreement of any number of raters, some of whose ratings may be missing."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from tasks.metrics.intervals import UNBOUNDED, jackknife
from tasks.metrics.types import FloatArray, Interval

Level: TypeAlias = Literal["nominal", "ordinal", "interval"]


def krippendorff_alpha(ratings: ArrayLike, level: Level) -> float | None:
    """Return 1 - observed / expected disagreement (Krippendorff 2011, "Computing Krippendorff's alpha").

    ratings: units x raters, NaN for a missing rating; a unit with one rating is left out. level: cost of a
    disagreement of two values. "nominal": 1 if they differ; "ordinal": the squared number of ratings between
    them, with half of the ratings at either value; "interval": their squared difference. Range up to 1,
    higher is better; 1: no disagreement; 0: as much as in randomly shuffled ratings; below 0: more than that.
    It does not depend on the order of units or raters.

    None if no unit has two ratings, or all comparable ratings are equal: agreement is then complete but
    uninformative. Raises ValueError for an infinite rating or another shape.

    Few raters and rare values make alpha low even if raters mostly agree; Krippendorff requires 0.8, and
    0.667 for tentative conclusions.
    """
    counts, values = _counts(ratings)
    return _alpha(counts, values, np.ones(len(counts)), level)


def krippendorff_alpha_interval(ratings: ArrayLike, level: Level) -> Interval:
    """Return the 95 % interval of alpha, leaving out each unit with all its ratings (`intervals.jackknife`).

    Arguments as in `krippendorff_alpha`. None for fewer than five comparable units, or if alpha is undefined
    without one of them. It does not depend on the order of units or raters. (Krippendorff's own bootstrap
    draws pairs as if they were independent, and is narrower.)
    """
    counts, values = _counts(ratings)
    counts = counts[np.lexsort(counts.T)] if len(counts) else counts
    return jackknife(
        lambda sample: _alpha(counts[sample], values, np.ones(len(sample)), level),
        np.arange(len(counts)),
        UNBOUNDED,
    )


def _counts(ratings: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return [units with two or more ratings, distinct values] counts, and the values, ascending."""
    table = np.asarray(ratings, dtype=np.float64)
    if table.ndim != 2 or np.isinf(table).any():
        raise ValueError(
            f"expected a table of units x raters, finite or NaN where missing, got shape {table.shape}"
        )
    table = table[np.count_nonzero(~np.isnan(table), axis=1) >= 2]
    values, code = np.unique(table[~np.isnan(table)], return_inverse=True)
    counts = np.zeros((len(table), values.size))
    np.add.at(counts, (np.nonzero(~np.isnan(table))[0], code), 1)
    return counts, values


def _alpha(counts: FloatArray, values: FloatArray, times: FloatArray, level: Level) -> float | None:
    """Return alpha of units that count `times` each.

    Both sums of the definition, over pairs within a unit and over all pairs, are sums of squared differences
    over unordered pairs, which follow from moments: m * sum x^2 - (sum x)^2. The ordinal cost is the interval
    cost of the values' mid-ranks; the nominal cost counts the unequal pairs.
    """
    value_counts = times @ counts
    if np.count_nonzero(value_counts) < 2:
        return None
    raters, n = counts.sum(axis=1), value_counts.sum()
    if level == "nominal":
        within = raters**2 - (counts**2).sum(axis=1)
        overall = n**2 - (value_counts**2).sum()
    else:
        x = values if level == "interval" else np.cumsum(value_counts) - value_counts / 2
        x = x - value_counts @ x / n  # keeps the digits of values far from 0
        within = raters * (counts @ x**2) - (counts @ x) ** 2
        overall = n * (value_counts @ x**2)
    return float(1 - (n - 1) * (times @ (within / (raters - 1))) / overall)
