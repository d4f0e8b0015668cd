from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics.pairwise import cosine_similarity  # type: ignore[import-untyped]

from tasks.metrics.projection import project, project_dimensions

NAN = math.nan
EAST: list[float] = [1.0, 0.0]
NORTH: list[float] = [0.0, 1.0]


def plain_score(text: np.ndarray, high: np.ndarray, low: np.ndarray) -> float:
    """Return the score of section 2.2 of the paper with scikit-learn's cosines."""
    h = float(cosine_similarity(text[None], high).mean())
    low_mean = float(cosine_similarity(text[None], low).mean())
    r = (h - low_mean) / (h + low_mean) if h + low_mean > 0 else 0.0
    return min(2.0, max(-2.0, 2 * math.tanh(r)))


def test_hand_calculation_gives_score() -> None:
    # Text (3, 4): cosine 0.6 to the high pole, 0.8 to the low one. r = -0.2 / 1.4 = -1/7.
    assert project([[3, 4]], [EAST], [NORTH]).tolist() == pytest.approx([2 * math.tanh(-1 / 7)])
    # A text on the high pole: r = (1 - 0) / (1 + 0) = 1, the most that poles at right angles allow.
    assert project([EAST], [EAST], [NORTH]).tolist() == pytest.approx([2 * math.tanh(1)])
    assert 2 * math.tanh(1) == pytest.approx(1.523, abs=5e-4)
    # Half way: h = l.
    assert project([[1, 1]], [EAST], [NORTH]).tolist() == [0.0]


def test_a_text_unrelated_to_both_poles_scores_0() -> None:
    # h = -1, l = -0.6: the sum is negative. Then h = 1, l = -1: it is 0.
    assert project([[-1, 0]], [EAST], [[0.6, 0.8]]).tolist() == [0.0]
    assert project([EAST], [EAST], [[-1, 0]]).tolist() == [0.0]
    # A text at right angles to all poles: h + l is only rounding error, so it is not a divisor.
    third = math.pi / 3
    ring = [[math.cos(k * third), math.sin(k * third)] for k in range(6)]
    assert np.abs(project(np.random.default_rng(0).standard_normal((50, 2)), ring, ring[::-1])).max() == 0


def test_texts_without_a_vector_are_unscored() -> None:
    scores = project([[0.0, 0.0], [3.0, 4.0], [NAN, 1.0], [NAN, NAN]], [EAST], [NORTH])
    assert np.isnan(scores).tolist() == [True, False, True, True]
    assert scores[1] == project([[3, 4]], [EAST], [NORTH])[0]
    assert project(np.empty((0, 2)), [EAST], [NORTH]).shape == (0,)


def test_project_dimensions_equals_single_projections() -> None:
    rng = np.random.default_rng(3)
    texts = rng.standard_normal((40, 12)) + 0.5
    texts[7] = 0
    dimensions = [(rng.standard_normal((k, 12)) + 1, rng.standard_normal((9 - k, 12)) + 1) for k in (1, 4, 8)]
    scores = project_dimensions(texts, dimensions)
    assert scores.shape == (40, 3)
    assert np.isnan(scores[7]).all()
    for column, (high, low) in enumerate(dimensions):
        assert scores[:, column] == pytest.approx(project(texts, high, low), nan_ok=True)
        kept = [row for row in range(40) if row != 7]
        expected = [plain_score(texts[row], high, low) for row in kept]
        assert scores[kept, column] == pytest.approx(expected)


@given(seed=st.integers(0, 10_000), scale=st.floats(1e-100, 1e100))
@settings(deadline=None, max_examples=60)
def test_projections_are_antisymmetric_and_ignore_scale_and_order(seed: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    texts, high, low = (rng.standard_normal((n, 4)) for n in (6, 3, 5))
    scores = project(texts, high, low)
    assert np.abs(scores).max() <= 2
    assert project(texts, low, high).tolist() == (-scores).tolist()
    # A sum near 0 magnifies the last digit of a cosine.
    assert project(texts * scale, high, low) == pytest.approx(scores, abs=1e-6)
    assert project(texts, high * scale, low / scale) == pytest.approx(scores, abs=1e-6)
    assert project(texts[::-1], high[::-1], low) == pytest.approx(scores[::-1], abs=1e-6)
    assert scores.tolist() == pytest.approx([plain_score(text, high, low) for text in texts], abs=1e-6)


def test_float32_vectors_are_projected_in_float64_and_not_changed() -> None:
    rng = np.random.default_rng(0)
    texts, high, low = (rng.random((n, 8)).astype(np.float32) for n in (5, 3, 3))
    assert project(texts, high, low).dtype == np.float64
    texts_before = texts.copy()
    project_dimensions(np.vstack([texts, np.zeros((1, 8))]), [(high, low)])
    assert (texts == texts_before).all()


def test_wrong_vectors_are_refused_with_their_place() -> None:
    with pytest.raises(ValueError, match="text_vectors must be vectors as rows"):
        project([1, 0], [EAST], [NORTH])
    with pytest.raises(ValueError, match="row 1 of text_vectors has an infinity"):
        project([EAST, [math.inf, 0]], [EAST], [NORTH])
    with pytest.raises(ValueError, match="high pole of dimension 0 has shape"):
        project([EAST], [[1, 0, 0]], [NORTH])
    with pytest.raises(ValueError, match="low pole of dimension 0 has shape"):
        project([EAST], [EAST], np.empty((0, 2)))
    with pytest.raises(ValueError, match="exemplar 1 of the low pole of dimension 1 is zero or missing"):
        project_dimensions([EAST], [([EAST], [NORTH]), ([EAST], [NORTH, [0, 0]])])
    with pytest.raises(ValueError, match="at least one dimension"):
        project_dimensions([EAST], [])
