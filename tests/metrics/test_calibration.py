"""Calibration by hand, against scikit-learn and statsmodels."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve  # type: ignore[import-untyped]
from sklearn.metrics import brier_score_loss  # type: ignore[import-untyped]
from statsmodels.stats.proportion import proportion_confint  # type: ignore[import-untyped]

from tasks.metrics.calibration import brier_score, expected_calibration_error, reliability_curve

points = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 1)), min_size=1, max_size=40)


def test_hand_calculation_gives_reliability_ece_and_brier() -> None:
    # Bins (0, 0.5] and (0.5, 1]. 0, 0.4 and the border 0.5 are in the first: mean 0.3, one of three positive.
    low, high = reliability_curve([0.0, 0.4, 0.5, 0.9], [0, 1, 0, 1], bins=2)
    assert low[:5] == pytest.approx((0, 0.5, 3, 0.3, 1 / 3))
    assert high[:5] == pytest.approx((0.5, 1, 1, 0.9, 1))
    # Wilson, 1 of 1, z^2 = 3.8415: centre (1 + z^2/2) / (1 + z^2) = 0.6033, half width z * sqrt(z^2/4) /
    # (1 + z^2) = 0.3967.
    assert high[5:] == pytest.approx((0.2065, 1), abs=1e-4)
    # (3 * |0.3 - 1/3| + 1 * |0.9 - 1|) / 4 = (0.1 + 0.1) / 4.
    assert expected_calibration_error([low, high]) == pytest.approx(0.05)
    # (0 + 0.36 + 0.25 + 0.01) / 4.
    assert brier_score([0.0, 0.4, 0.5, 0.9], [0, 1, 0, 1]) == pytest.approx(0.155)


@given(points, st.integers(1, 12))
@settings(deadline=None)
def test_calibration_equals_scikit_learn_and_statsmodels(pairs: list[tuple[float, int]], bins: int) -> None:
    scores, outcomes = np.array(pairs).T
    curve = reliability_curve(scores, outcomes, bins)
    observed, mean_score = calibration_curve(outcomes, scores, n_bins=bins, strategy="uniform", pos_label=1)
    assert [b.observed for b in curve] == pytest.approx(observed)
    assert [b.mean_score for b in curve] == pytest.approx(mean_score)
    assert sum(b.n for b in curve) == len(pairs)
    for b in curve:
        assert b.low <= b.mean_score <= b.high
        expected = proportion_confint(round(b.observed * b.n), b.n, method="wilson")
        assert (b.ci_low, b.ci_high) == pytest.approx(expected, abs=1e-9)
    sizes = np.array([b.n for b in curve])
    ece = (sizes * abs(observed - mean_score)).sum() / sizes.sum()
    assert expected_calibration_error(curve) == pytest.approx(ece)
    assert brier_score(scores, outcomes) == pytest.approx(brier_score_loss(outcomes, scores, pos_label=1))


@pytest.mark.parametrize(
    ("scores", "outcomes", "complaint"),
    [
        ([1.1], [1], "between 0 and 1"),
        ([0.5], [0.5], "an outcome is 0 or 1"),
        ([math.nan], [1], "NaN"),
        ([0.5, 0.5], [1], "one length"),
        ([], [], "needs at least one point"),
    ],
)
def test_calibration_refuses_wrong_scores_outcomes_and_bins(
    scores: list[float], outcomes: list[float], complaint: str
) -> None:
    for metric in (reliability_curve, brier_score):
        with pytest.raises(ValueError, match=complaint):
            metric(scores, outcomes)
    with pytest.raises(ValueError, match="needs a bin"):
        reliability_curve([0.5], [1], bins=0)
    with pytest.raises(ValueError, match="needs a bin"):
        expected_calibration_error([])
