"""Scores adjusted for the length of their texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from tasks.metrics._arrays import as_pair
from tasks.metrics.types import FloatArray, IntArray


@dataclass(frozen=True)
class LengthAdjustment:
    """Scores at equal length.

    adjusted: n scores, their mean that of the scores given; slope: score per unit of length, which was taken
    out, None where lengths do not vary and the scores are as given.
    """

    adjusted: FloatArray
    slope: float | None


def adjust_for_length(
    scores: ArrayLike,
    lengths: ArrayLike,
    scale: Literal["log", "plain"] = "log",
    groups: ArrayLike | None = None,
) -> LengthAdjustment:
    """Regress scores on length by least squares; residual + mean is the length-normalised score.

    scores: n finite numbers; lengths: n numbers of words, 0 or more. scale: the regressor is log(1 + length)
    by default, since the tenth word adds more than the hundredth, or the length itself. The result's range is
    not bound to that of the scores; cutting it would move the mean. Vo and Koyejo (2025, judge validation)
    report that it raised Coherence's correlation with people from 0.75 to 0.81, and give no formula. groups:
    n labels, such as models. With them the slope is that within groups (one intercept for each, as in
    analysis of covariance). Without them a model that writes both more and better is pulled down for being
    better: the pooled slope takes the difference between models for an effect of length.

    Raises ValueError for a NaN, an infinite value, a negative length, different lengths or no scores.
    """
    score, length = as_pair(scores, lengths)
    if not score.size or not (np.isfinite(score).all() and np.isfinite(length).all()):
        raise ValueError("an adjustment for length needs scores, all of them finite")
    if (length < 0).any():
        raise ValueError("a length is 0 or more")
    x = np.log1p(length) if scale == "log" else length
    code = np.zeros(x.size, dtype=np.intp) if groups is None else _codes(groups, x.size)
    within, response = x - _means(x, code), score - _means(score, code)
    if np.abs(within).max() <= 1e-12 * np.abs(x).max():
        return LengthAdjustment(score, None)
    slope = float(within @ response / (within @ within))
    return LengthAdjustment(score - slope * (x - x.mean()), slope)


def _codes(groups: ArrayLike, n: int) -> IntArray:
    labels = np.asarray(groups)
    if labels.shape != (n,):
        raise ValueError(f"groups of shape {labels.shape}: one label for each of {n} scores")
    return np.unique(labels, return_inverse=True)[1].astype(np.intp)


def _means(values: FloatArray, code: IntArray) -> FloatArray:
    """Each point's group mean."""
    return (np.bincount(code, weights=values) / np.bincount(code))[code]
