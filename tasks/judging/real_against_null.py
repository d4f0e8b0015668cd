"""Do judge and metric tell real texts from null ones? Their difference, and the best null. Pure.

A judge that scores another item's text as high as an item's own measures nothing: then no score says that
texts fit what they are about.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from tasks.loop.rows import Metric, Reasons, Slice, main_reason, mean_of, scored, unscored
from tasks.metrics.intervals import MIN_FLIPPED, sign_flip_p
from tasks.metrics.types import FloatArray


def too_few(units: str) -> str:
    """Why there is no test; units: what varies, such as "personas"."""
    return f"fewer than {MIN_FLIPPED} {units} cannot show a difference"


def best_null(nulls: Iterable[FloatArray]) -> float | None:
    """The highest mean of a null's scores; None where none is scored."""
    return max((mean for scores in nulls if (mean := mean_of(scores)) is not None), default=None)


def told_apart_row(
    where: Slice,
    real: tuple[FloatArray, Reasons],
    null: tuple[FloatArray, Reasons],
    clusters: ArrayLike,
    units: str,
    seed: int,
) -> Metric:
    """``tells_real_from_shuffled``: 1 if real less null texts are above 0 by flipping the signs of clusters
    (one-sided, 0.025), else 0; unscored below ``MIN_FLIPPED``.

    Args:
        real, null: [n] scores and why they are missing. clusters: [n] labels; units: what they are, in words.
    """
    flag, gains = "tells_real_from_shuffled", real[0] - null[0]
    known = ~np.isnan(gains)
    n, of_known = int(known.sum()), np.asarray(clusters)[known]
    if np.unique(of_known).size < MIN_FLIPPED:
        reason = too_few(units) if n else main_reason(np.where(real[1] == "", null[1], real[1]))
        return unscored(flag, where, reason, gains.size)
    is_above = sign_flip_p(gains[known], of_known, seed) < 0.025
    return scored(flag, where, float(is_above), (n, gains.size - n))
