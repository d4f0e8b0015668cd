from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.metrics.alignment import (
    ACCURACY_BANDS,
    alignment,
    bucketed_profile,
    culture_distances,
    global_mean_profile,
    hofstede_errors,
    linear_profile,
    shuffled_alignments,
)

NAN = math.nan

# The paper, section 7.4: US, India, Japan, Mexico, UAE by IDV, PDI, MAS, UAI, LTO, IVR.
TARGETS = np.array(
    [
        [2.0, -1.0, 1.0, 0.0, -1.5, 1.5],
        [0.0, 1.5, 1.0, -1.0, 0.0, -1.5],
        [0.0, 0.0, 2.0, 2.0, 2.0, -1.0],
        [-1.5, 2.0, 1.5, 2.0, -1.5, 2.0],
        [-1.5, 2.0, 0.0, 1.5, -1.5, -1.0],
    ]
)
# Hofstede, Hofstede and Minkov (2010), in the same order; the paper estimates the UAE's.
PUBLISHED = np.array(
    [
        [91, 40, 62, 46, 26, 68],
        [48, 77, 56, 40, 51, 26],
        [46, 54, 95, 92, 88, 42],
        [30, 81, 69, 82, 24, 97],
        [30, 85, 50, 75, 28, 40],
    ]
)


# --- the paper's own numbers


def test_the_zero_profile_beats_the_models_of_the_paper() -> None:
    # Sizes of the targets: US 7, India 5, Japan 7, Mexico 10.5, UAE 7.5: 37 over 30 cells.
    zero = alignment(TARGETS, 0.0)
    assert np.abs(TARGETS).sum(axis=1).tolist() == [7, 5, 7, 10.5, 7.5]
    assert zero.mean() == pytest.approx(10 - 2.5 * 37 / 30)
    assert zero.mean() == pytest.approx(6.92, abs=0.005)
    # By culture 10 - 2.5 * 7 / 6 = 7.08 and so on. The paper's models, section 4.1, in the same order:
    models = np.array([6.73, 7.70, 6.94, 5.42, 6.36])
    assert models.mean() == pytest.approx(6.63)
    assert zero.mean(axis=1) == pytest.approx([7.083, 7.917, 7.083, 5.625, 6.875], abs=5e-4)
    assert (zero.mean(axis=1) > models).all()


def test_published_scores_give_the_profiles_of_the_paper() -> None:
    assert bucketed_profile(PUBLISHED).tolist() == TARGETS.tolist()


# --- profiles


def test_hand_calculation_gives_linear_profile() -> None:
    # 0 -> -2, 50 -> 0, 100 -> 2, 68 -> 68 / 25 - 2 = 0.72; Greece's 112 is clipped.
    assert linear_profile([0, 50, 100, 68, 112]).tolist() == pytest.approx([-2, 0, 2, 0.72, 2])


def test_buckets_start_at_their_threshold() -> None:
    starts = [0, 20, 35, 45, 55, 65, 80]
    values = [-2, -1.5, -1, 0, 1, 1.5, 2]
    assert bucketed_profile(starts).tolist() == values
    assert bucketed_profile(np.array(starts[1:]) - 0.001).tolist() == values[:-1]
    assert bucketed_profile([100, 112]).tolist() == [2, 2]


def test_missing_published_scores_stay_missing() -> None:
    for profile in (linear_profile, bucketed_profile):
        assert np.isnan(profile([50, NAN])).tolist() == [False, True]
        for wrong in (-1, 121):
            with pytest.raises(ValueError, match=r"outside 0\.\.120"):
                profile([50, wrong])


def test_global_mean_leaves_missing_targets_out() -> None:
    assert global_mean_profile([[1, NAN], [-2, 0.5]]).tolist() == [-0.5, 0.5]
    with pytest.raises(ValueError, match="no culture has a target on dimension 1"):
        global_mean_profile([[1, NAN], [-2, NAN]])
    with pytest.raises(ValueError, match="cultures x dimensions"):
        global_mean_profile([1, 2])


# --- alignment and errors


def test_hand_calculation_gives_alignment() -> None:
    # The paper's example (2.3 B): target 1.5, score 0.8: 10 - 2.5 * 0.7 = 8.25.
    assert alignment([1.5, 2, -1], [0.8, -2, -1]).tolist() == pytest.approx([8.25, 0, 10])
    # Beyond the scale it stays at 0.
    assert alignment(3, -3) == 0


@given(st.floats(-2, 2), st.floats(-2, 2))
def test_alignment_stays_in_range_and_is_symmetric(target: float, score: float) -> None:
    value = float(alignment(target, score))
    assert 0 <= value <= 10
    assert value == float(alignment(score, target))


def test_alignment_refuses_nan_and_infinity() -> None:
    for wrong in (NAN, math.inf):
        with pytest.raises(ValueError, match="not finite"):
            alignment([0, 1], [0, wrong])
        with pytest.raises(ValueError, match="not finite"):
            alignment([wrong, 1], 0)


def test_hand_calculation_gives_errors() -> None:
    # Errors score - target: 0.25, -0.5, -1, 1.5, -3, so that the bias is -2.75 / 5. Sizes 0.25, 0.5, 1, 1.5,
    # 3: mean 1.25, median 1; squares about the mean 1, 0.5625, 0.0625, 0.0625, 3.0625: 4.75 / 4. A size on a
    # border is in the worse band.
    result = hofstede_errors([0, 1, 1, -1, 1.5], [0.25, 0.5, 0, 0.5, -1.5])
    assert result is not None
    assert (result.mae, result.median, result.bias) == pytest.approx((1.25, 1.0, -0.55))
    assert result.sd == pytest.approx(math.sqrt(4.75 / 4))
    assert result.bands == {"excellent": 1, "good": 1, "acceptable": 1, "poor": 2}
    assert tuple(result.bands) == ACCURACY_BANDS
    assert result.n == 5


def test_errors_of_one_and_of_no_response() -> None:
    single = hofstede_errors([0], [0])
    assert single is not None
    assert single.sd is None
    assert single.bands == {"excellent": 1, "good": 0, "acceptable": 0, "poor": 0}
    assert hofstede_errors([], []) is None
    with pytest.raises(ValueError, match="NaN"):
        hofstede_errors([0, 1], [0, NAN])


def test_hand_calculation_gives_distances() -> None:
    # Profile (0, 1). To (0, 1): 0. To (1, 2): sqrt((1 + 1) / 2) = 1. To (2, -2): sqrt((4 + 9) / 2).
    distances = culture_distances([0, 1], [[0, 1], [1, 2], [2, -2]])
    assert distances.tolist() == pytest.approx([0, 1, math.sqrt(6.5)])


def test_distances_of_responses_include_their_spread() -> None:
    # Responses -1 and 1 on dimension 0, 1 on dimension 1; a culture at (0, 1). Squares 1, 1, 0: mean 2 / 3.
    # Their profile (0, 1) is on the spot.
    targets, dimension = np.array([[0.0, 1.0]]), [0, 0, 1]
    assert culture_distances([-1, 1, 1], targets[:, dimension]) == pytest.approx([math.sqrt(2 / 3)])
    assert culture_distances([0, 1], targets).tolist() == [0]


def test_distances_refuse_wrong_shapes_and_nan() -> None:
    with pytest.raises(ValueError, match="do not fit"):
        culture_distances([0, 1], [[0, 1, 2]])
    with pytest.raises(ValueError, match="do not fit"):
        culture_distances([], np.empty((2, 0)))
    with pytest.raises(ValueError, match="not finite"):
        culture_distances([0, NAN], [[0, 1]])


# --- nulls


def test_shuffled_alignments_use_each_responses_dimension() -> None:
    rng = np.random.default_rng(5)
    culture, dimension = rng.integers(0, 5, 60), rng.integers(0, 6, 60)
    scores = rng.uniform(-2, 2, 60)
    rotations = np.array([(np.arange(5) + shift) % 5 for shift in range(1, 5)])
    exact = shuffled_alignments(TARGETS, culture, dimension, scores, rotations).mean(axis=0)
    # Every other culture has the same weight.
    expected = [
        np.mean([10 - 2.5 * abs(TARGETS[other, d] - s) for other in range(5) if other != c])
        for c, d, s in zip(culture, dimension, scores, strict=True)
    ]
    assert exact == pytest.approx(expected)
