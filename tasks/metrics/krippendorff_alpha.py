"""Krippendorff's alpha: agreement of any number of raters, some of whose ratings may be missing."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from tasks.metrics.intervals import UNBOUNDED, jackknife
from tasks.metrics.types import FloatArray, Interval

Level: TypeAlias = Literal["nominal", "ordinal", "interval"]


def krippendorff_alpha(ratings: ArrayLike, level: Level) -> float | None:
    """1 - observed / expected disagreement (Krippendorff 2011, "Computing Krippendorff's alpha").

    ratings: units x raters, NaN where a rater did not rate a unit; a unit with one rating is left out.
    level: cost of a disagreement of two values. "nominal": 1 if they differ; "ordinal": the squared number of
    ratings between them, half of each of the two counted; "interval": the square of their difference. Range
    up to 1, higher is better; 1: no disagreement; 0: as much as if the ratings had been dealt out at random;
    below 0: more than that. Does not depend on the order of units or raters.

    None where no unit has two ratings, or all ratings that can be compared are equal: agreement is then
    complete and says nothing. Raises ValueError for an infinite rating or another shape.

    Few raters and rare values make alpha low even where raters mostly agree; Krippendorff asks for 0.8, and
    0.667 for tentative conclusions.
    """
    counts, values = _counts(ratings)
    return _alpha(counts, values, np.ones(len(counts)), level)


def krippendorff_alpha_interval(ratings: ArrayLike, level: Level) -> Interval:
    """Interval of alpha by leaving out unit after unit, each with all its ratings (`intervals.jackknife`).

    Arguments as `krippendorff_alpha`. None for fewer than five units that can be compared, or where alpha
    hangs on one of them. Does not depend on the order of units or raters. (Krippendorff's own bootstrap draws
    pairs as if they were independent, and is narrower.)
    """
    counts, values = _counts(ratings)
    counts = counts[np.lexsort(counts.T)] if len(counts) else counts
    return jackknife(
        lambda sample: _alpha(counts[sample], values, np.ones(len(sample)), level),
        np.arange(len(counts)),
        UNBOUNDED,
    )


def _counts(ratings: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Units with two or more ratings x distinct values: how often each was given; and the values, rising."""
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
    """Alpha of units that count `times` each.

    Both sums of the definition, over pairs within a unit and over all pairs, are sums over unordered pairs of
    squared differences, which moments give without any pair: m * sum x^2 - (sum x)^2. The ordinal cost is the
    interval cost of the values' mid-ranks; the nominal one counts the pairs that are not equal.
    """
    of_value = times @ counts
    if np.count_nonzero(of_value) < 2:
        return None
    raters, n = counts.sum(axis=1), of_value.sum()
    if level == "nominal":
        within = raters**2 - (counts**2).sum(axis=1)
        overall = n**2 - (of_value**2).sum()
    else:
        x = values if level == "interval" else np.cumsum(of_value) - of_value / 2
        x = x - of_value @ x / n  # keeps the digits of values far from 0
        within = raters * (counts @ x**2) - (counts @ x) ** 2
        overall = n * (of_value @ x**2)
    return float(1 - (n - 1) * (times @ (within / (raters - 1))) / overall)
