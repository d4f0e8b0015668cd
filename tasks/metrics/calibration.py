"""Calibration: whether people agree in 80 of 100 cases with a score of 0.8."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binomtest

from tasks.metrics.types import FloatArray, as_pair


class Bin(NamedTuple):
    """Points whose score lies in (low, high].

    mean_score, observed: mean score and share of positive outcomes, which are equal if calibrated; ci_low,
    ci_high: Wilson's interval of `observed`; n: number of points, at least 1.
    """

    low: float
    high: float
    n: int
    mean_score: float
    observed: float
    ci_low: float
    ci_high: float


def reliability_curve(
    scores: ArrayLike, outcomes: ArrayLike, bins: int = 10, level: float = 0.95
) -> list[Bin]:
    """Mean score against share of positive outcomes, in bins of equal width (DeGroot and Fienberg 1983).

    scores: n numbers in [0, 1]; outcomes: n of 0 or 1. Returns the bins with points, ascending; a score on a
    border belongs to the lower bin, 0 to the first. If the observed share is above the mean score, scores are
    too low. Wilson's interval (1927) also holds for a bin of one point or of equal outcomes. Raises
    ValueError for a score outside [0, 1], an outcome besides 0 and 1, no points, or no bins.
    """
    score, outcome = _checked(scores, outcomes)
    if bins < 1:
        raise ValueError(f"a curve needs a bin, got {bins}")
    edges = np.linspace(0, 1, bins + 1)
    code = np.searchsorted(edges[1:-1], score, side="left")
    curve = []
    for number in np.unique(code):
        inside = code == number
        count, positive = int(inside.sum()), int(outcome[inside].sum())
        interval = binomtest(positive, count).proportion_ci(level, method="wilson")
        curve.append(
            Bin(
                float(edges[number]),
                float(edges[number + 1]),
                count,
                float(score[inside].mean()),
                positive / count,
                float(interval.low),
                float(interval.high),
            )
        )
    return curve


def expected_calibration_error(curve: list[Bin]) -> float:
    """Mean distance of score and outcome over the bins, weighted by their points (Naeini et al. 2015).

    curve: result of `reliability_curve`. Range [0, 1], lower is better; 0: in every bin the mean score equals
    the share of positive outcomes. A constant score at the base rate reaches 0 too, so read it beside the
    Brier score. Biased upwards: with few points per bin, chance alone causes a distance. Raises ValueError
    for no bins.
    """
    if not curve:
        raise ValueError("a calibration error needs a bin with points")
    total = sum(b.n for b in curve)
    return sum(b.n * abs(b.mean_score - b.observed) for b in curve) / total


def brier_score(scores: ArrayLike, outcomes: ArrayLike) -> float:
    """Mean squared distance of score and outcome (Brier 1950).

    scores: n numbers in [0, 1]; outcomes: n of 0 or 1. Range [0, 1], lower is better; 0: certain and right
    throughout; a constant at the base rate p has p * (1 - p), at most 0.25. Raises like `reliability_curve`.
    """
    score, outcome = _checked(scores, outcomes)
    return float(((score - outcome) ** 2).mean())


def _checked(scores: ArrayLike, outcomes: ArrayLike) -> tuple[FloatArray, FloatArray]:
    score, outcome = as_pair(scores, outcomes)
    if not score.size:
        raise ValueError("calibration needs at least one point")
    if not ((score >= 0) & (score <= 1)).all():
        raise ValueError("a score to calibrate lies between 0 and 1")
    if not np.isin(outcome, (0, 1)).all():
        raise ValueError("an outcome is 0 or 1: decide divided ratings before calibrating")
    return score, outcome
