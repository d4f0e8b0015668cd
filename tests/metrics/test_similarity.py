from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike
from sklearn.metrics.pairwise import cosine_similarity

from tasks.metrics.ranking import top_mask
from tasks.metrics.similarity import (
    cosine_matrix,
    expected_word_similarity,
    word_similarity_rows,
)

NAN = math.nan
ROOT_HALF = math.sqrt(0.5)


def mean_word_similarity(predicted: ArrayLike, reference: ArrayLike) -> float | None:
    """Return the word similarity of one dish whose predictions and references have these vectors."""
    guesses, answers = np.asarray(predicted, dtype=float), np.asarray(reference, dtype=float)
    if not len(guesses) or not len(answers):
        return None
    is_guess = np.arange(len(guesses) + len(answers)) < len(guesses)
    cosines = cosine_matrix(np.concatenate([guesses, answers]))
    values = word_similarity_rows(cosines, is_guess[None], ~is_guess[None]).values
    return float(values[0]) if values.size else None


def plain_word_similarity(vectors: np.ndarray, predicted: list[int], reference: list[int]) -> float | None:
    """Return equations 6 and 7, computed in loops; None if nothing can be scored."""

    def cosine(a: np.ndarray, b: np.ndarray) -> float | None:
        size = float(np.sqrt((a * a).sum() * (b * b).sum()))
        return float((a * b).sum()) / size if size > 0 else None

    best = []
    for g in reference:
        cosines = [c for p in predicted if (c := cosine(vectors[g], vectors[p])) is not None]
        if cosines:
            best.append(max(cosines))
    return sum(best) / len(best) if best else None


# --- one dish


def test_word_similarity_leaves_zero_and_missing_vectors_out() -> None:
    # The first reference and prediction have no direction: what remains is (1, 0) against (1, 1).
    for nothing in ([0.0, 0.0], [NAN, NAN], [NAN, 1.0]):
        value = mean_word_similarity([nothing, [1, 1]], [nothing, [1, 0]])
        assert value == pytest.approx(ROOT_HALF)
        assert mean_word_similarity([nothing], [[1, 0]]) is None
        assert mean_word_similarity([[1, 0]], [nothing]) is None


def test_word_similarity_refuses_wrong_vectors() -> None:
    with pytest.raises(ValueError, match="vectors as rows"):
        cosine_matrix([1, 0])
    with pytest.raises(ValueError, match="row 1 has an infinity"):
        cosine_matrix([[1, 0], [math.inf, 0]])


# --- all pairs


def test_cosines_equal_scikit_learn_and_are_nan_without_a_vector() -> None:
    vectors = np.random.default_rng(0).standard_normal((7, 4))
    vectors[2], vectors[5] = 0, NAN
    cosines = cosine_matrix(vectors)
    kept = [0, 1, 3, 4, 6]
    assert cosines[np.ix_(kept, kept)] == pytest.approx(cosine_similarity(vectors[kept]))
    assert np.isnan(cosines[[2, 5]]).all()
    assert np.isnan(cosines[:, [2, 5]]).all()
    assert np.isnan(cosines).sum() == 2 * 7 + 2 * 5


def test_cosines_of_very_large_and_small_vectors_do_not_overflow() -> None:
    assert cosine_matrix([[1e200, 0], [1e-200, 1e-200]])[0, 1] == pytest.approx(ROOT_HALF)
    assert np.abs(cosine_matrix(np.full((3, 5), 0.1))).max() <= 1


# --- all dishes


@given(st.integers(0, 10_000))
@example(513)  # a dish with neither predictions nor references
@settings(deadline=None, max_examples=50)
def test_rows_equal_the_loops_of_equations_6_and_7(seed: int) -> None:
    rng = np.random.default_rng(seed)
    vectors = rng.standard_normal((8, 3))
    vectors[rng.random(8) < 0.3] = 0
    predicted, reference = rng.random((5, 8)) < 0.4, rng.random((5, 8)) < 0.4
    result = word_similarity_rows(cosine_matrix(vectors), predicted, reference)
    values = [
        plain_word_similarity(vectors, list(np.flatnonzero(p)), list(np.flatnonzero(r)))
        for p, r in zip(predicted, reference, strict=True)
    ]
    assert result.values == pytest.approx([v for v in values if v is not None])
    assert (result.n_scored > 0).tolist() == [v is not None for v in values]
    assert (result.n_scored + result.n_unscored).tolist() == reference.sum(axis=1).tolist()
    singly = [mean_word_similarity(vectors[p], vectors[r]) for p, r in zip(predicted, reference, strict=True)]
    assert singly == pytest.approx(values)


def test_rows_do_not_mix_where_blocks_meet() -> None:
    rng = np.random.default_rng(1)
    vectors = rng.standard_normal((600, 5))
    reference = top_mask(rng.random((300, 600)), 4)
    predicted = top_mask(rng.random((300, 600)), 4)
    values = word_similarity_rows(cosine_matrix(vectors), predicted, reference).values
    for dish in (0, 108, 109, 299):
        expected = mean_word_similarity(vectors[predicted[dish]], vectors[reference[dish]])
        assert values[dish] == pytest.approx(expected)


def test_rows_refuse_wrong_shapes() -> None:
    with pytest.raises(ValueError, match="n x n"):
        word_similarity_rows([[1, 0]], [[1, 0]], [[1, 0]])
    with pytest.raises(ValueError, match="dishes x 2 candidates"):
        word_similarity_rows(np.eye(2), [[1, 0, 0]], [[1, 0, 0]])
    with pytest.raises(ValueError, match=r"predicted has shape \(1, 2\)"):
        word_similarity_rows(np.eye(2), [[1, 0]], [[1, 0], [1, 0]])


# --- predictions at random


@given(st.integers(0, 10_000), st.integers(1, 6))
@settings(deadline=None, max_examples=60)
def test_expected_similarity_equals_the_mean_over_all_draws(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    vectors = rng.integers(-1, 2, (n, 2)).astype(float)
    reference = rng.random((3, n)) < 0.6
    counts = rng.integers(1, n + 1, 3)
    result = expected_word_similarity(cosine_matrix(vectors), reference, counts)
    expected = []
    for row, count in zip(reference, counts, strict=True):
        answers = list(np.flatnonzero(row))
        drawn = [plain_word_similarity(vectors, list(d), answers) for d in combinations(range(n), int(count))]
        scored = [value for value in drawn if value is not None]
        expected += [np.mean(scored)] if scored else []
    assert result.values == pytest.approx(expected)


def test_expected_similarity_at_full_size() -> None:
    # The largest of 12 drawn from 873 equally spaced values 0..1: in expectation rank 874 * 12/13 of 873.
    values = np.arange(873) / 872
    cosines = np.full((873, 873), 0.5)
    cosines[0] = values
    reference = np.zeros((1, 873), dtype=bool)
    reference[0, 0] = True
    expected = (874 * 12 / 13 - 1) / 872
    assert expected_word_similarity(cosines, reference, 12).values == pytest.approx([expected], rel=1e-12)
    assert expected_word_similarity(cosines, reference, 873).values == pytest.approx([1.0])


def test_expected_similarity_counts_unscored_and_refuses_wrong_counts() -> None:
    result = expected_word_similarity(cosine_matrix([[1, 0], [0, 0]]), [[1, 1], [0, 1]], [2, 1])
    assert result.values == pytest.approx([1.0])
    assert (result.n_scored.tolist(), result.n_unscored.tolist()) == ([1, 0], [1, 1])
    assert not expected_word_similarity(np.full((2, 2), NAN), [[1, 1]], 1).values.size
    with pytest.raises(ValueError, match="between 1 and the 2"):
        expected_word_similarity(np.eye(2), [[1, 0]], 3)
