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

    adjusted: n scores with the mean of the original ones; slope: removed effect, in score per unit of length;
    None if lengths do not vary, and the scores are unchanged.
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
    by default, because the tenth word adds more than the hundredth; "plain" is the length itself. Results may
    leave the range of the scores; cutting them would move the mean. Vo and Koyejo (2025, judge validation)
    report that the adjustment raised Coherence's correlation with people from 0.75 to 0.81, but give no
    formula. groups: n labels, such as models. With groups the slope is that within groups (one intercept per
    group, as in analysis of covariance). Without them the pooled slope takes a difference between models for
    an effect of length, so a model that writes both more and better loses score.

    Raises ValueError for a NaN, an infinite value, a negative length, different lengths or no scores.
    """
    score, length = as_pair(scores, lengths)
    if not score.size or not (np.isfinite(score).all() and np.isfinite(length).all()):
        raise ValueError("an adjustment for length needs scores, all of them finite")
    if (length < 0).any():
        raise ValueError("a length is negative: give numbers of words, 0 or more")
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
    """Return each point's group mean."""
    return (np.bincount(code, weights=values) / np.bincount(code))[code]
