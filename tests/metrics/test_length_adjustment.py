"""Length adjustment against the regressions of scipy and statsmodels."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
import statsmodels.api as sm  # type: ignore[import-untyped]
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.metrics.length_adjustment import adjust_for_length


def test_a_score_that_depends_only_on_length_becomes_constant() -> None:
    lengths = [0, 5, 30, 200]
    result = adjust_for_length([0.1 * math.log(1 + n) for n in lengths], lengths)
    assert result.slope == pytest.approx(0.1)
    assert np.ptp(result.adjusted) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("scale", ["log", "plain"])
@given(seed=st.integers(0, 10_000))
@settings(deadline=None, max_examples=40)
def test_adjusted_scores_are_residuals_of_scipys_regression_plus_the_mean(scale: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    lengths, scores = rng.integers(0, 200, 30), rng.random(30)
    x = np.log1p(lengths) if scale == "log" else lengths
    fit = scipy.stats.linregress(x, scores)
    result = adjust_for_length(scores, lengths, scale=scale)  # type: ignore[arg-type]
    assert result.slope == pytest.approx(fit.slope)
    assert result.adjusted == pytest.approx(scores - (fit.intercept + fit.slope * x) + scores.mean())
    assert result.adjusted.mean() == pytest.approx(scores.mean())
    assert scipy.stats.pearsonr(result.adjusted, x).statistic == pytest.approx(0, abs=1e-9)


def test_the_slope_within_groups_equals_statsmodels() -> None:
    rng = np.random.default_rng(0)
    model = rng.integers(0, 4, 80)
    lengths = 20 * (model + 1) + rng.integers(0, 15, 80)
    scores = 0.2 * model + 0.002 * lengths + 0.01 * rng.standard_normal(80)
    dummies = (model[:, None] == np.arange(4)).astype(float)
    slope = sm.OLS(scores, np.column_stack([dummies, lengths])).fit().params[-1]
    names = np.array(["a", "b", "c", "d"])[model]
    result = adjust_for_length(scores, lengths, scale="plain", groups=names)
    assert result.slope == pytest.approx(slope)
    assert result.slope == pytest.approx(0.002, abs=5e-4)
    # The pooled slope takes the better models' quality for an effect of their length.
    pooled = adjust_for_length(scores, lengths, scale="plain")
    assert pooled.slope is not None
    assert pooled.slope > 0.008


def test_equal_lengths_do_not_change_scores() -> None:
    result = adjust_for_length([0.1, 0.7, 0.4], [12, 12, 12])
    assert result.slope is None
    assert result.adjusted == pytest.approx([0.1, 0.7, 0.4])
    # Lengths that differ only between groups give no slope within them.
    assert adjust_for_length([0.1, 0.7, 0.4], [9, 9, 12], groups=["a", "a", "b"]).slope is None


@pytest.mark.parametrize(
    ("scores", "lengths", "complaint"),
    [
        ([0.5, 0.6], [1, -1], "0 or more"),
        ([0.5, math.inf], [1, 2], "finite"),
        ([0.5, math.nan], [1, 2], "NaN"),
        ([0.5], [1, 2], "one length"),
        ([], [], "needs scores"),
    ],
)
def test_wrong_scores_lengths_and_groups_are_refused(
    scores: list[float], lengths: list[float], complaint: str
) -> None:
    with pytest.raises(ValueError, match=complaint):
        adjust_for_length(scores, lengths)
    with pytest.raises(ValueError, match="one label for each of 2 scores"):
        adjust_for_length([0.5, 0.6], [1, 2], groups=["a"])
