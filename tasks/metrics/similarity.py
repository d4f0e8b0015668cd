"""Word similarity of predictions to references: credit for near words, by vectors (FmLAMA, equations 6-8).

A zero or missing (NaN) vector has no direction, so a pair with one has no cosine. Such a reference is
unscored and counted; such a prediction is never the best match.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tasks.metrics.types import BoolArray, FloatArray, IntArray

# Number of cosines compared at once: the temporaries of one block fit into the processor's cache.
_BLOCK = 1 << 18


class WordSimilarities(NamedTuple):
    """Word similarity of each scored dish, and each dish's numbers of references.

    values: one float64 for each dish with n_scored > 0, in order; n_scored, n_unscored: one number of
    references for each dish.
    """

    values: FloatArray
    n_scored: IntArray
    n_unscored: IntArray


def cosine_matrix(vectors: ArrayLike) -> FloatArray:
    """Cosines of all pairs.

    vectors: n x d, a missing vector as a row with NaN. Returns n x n float64 in [-1, 1], symmetric; NaN in
    the row and column of a zero or missing vector. Raises ValueError for wrong shapes or an infinity.
    """
    table = _vectors(vectors)
    # Scaled to unit size first so that squares neither overflow nor vanish.
    size = np.abs(table).max(axis=1, keepdims=True, initial=0.0)
    unit = table / np.where(size > 0, size, np.nan)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    cosines: FloatArray = np.clip(unit @ unit.T, -1.0, 1.0)
    return cosines


def word_similarity_rows(cosines: ArrayLike, predicted: ArrayLike, reference: ArrayLike) -> WordSimilarities:
    """Return each dish's mean over its references of the cosine to the most similar prediction.

    These are equations 6 and 7, from cosines that are computed once; a reference without vector is left out.

    cosines: n x n from `cosine_matrix`; predicted, reference: dishes x n booleans (`ranking.top_mask` and the
    ingredients). mWS (equation 8) is the mean of the values. Range [-1, 1]; higher is better; 1: every
    reference was predicted, or has a prediction with its direction. Random predictions have
    `expected_word_similarity`, not 0. A dish without a prediction with a vector is unscored. Raises
    ValueError for wrong shapes.
    """
    similarity, answers = _checked(cosines, reference)
    guesses = np.asarray(predicted, dtype=np.bool_)
    if guesses.shape != answers.shape:
        raise ValueError(f"predicted has shape {guesses.shape} and reference {answers.shape}")
    # A prediction without a cosine ranks below every other, and a reference without one stays at -inf.
    similarity = np.where(np.isnan(similarity), -np.inf, similarity)
    rows, columns = np.nonzero(answers)
    best = np.empty(rows.size)
    step = max(1, _BLOCK // len(similarity))
    for start in range(0, rows.size, step):
        block = slice(start, start + step)
        best[block] = np.where(guesses[rows[block]], similarity[columns[block]], -np.inf).max(axis=1)
    return _mean_by_dish(best, rows, len(answers))


def expected_word_similarity(cosines: ArrayLike, reference: ArrayLike, counts: ArrayLike) -> WordSimilarities:
    """Return the expectation of `word_similarity_rows` for random predictions.

    cosines, reference: as there; counts: number of candidates drawn for a dish without replacement, in 1..n,
    one number or one for each dish. Range [-1, 1]. It is exact, by order statistics: the largest of l drawn
    candidates is the k-th largest of all n with probability C(n - k, l - 1) / C(n, l). Candidates without a
    vector may be drawn; the expectation is over draws with at least one vector, because the others are
    unscored. Raises ValueError for wrong shapes or counts.
    """
    similarity, answers = _checked(cosines, reference)
    drawn = np.broadcast_to(np.asarray(counts, dtype=np.intp), len(answers))
    n = len(similarity)
    if not ((drawn >= 1) & (drawn <= n)).all():
        raise ValueError(f"counts must lie between 1 and the {n} candidates")
    has_vector = ~np.isnan(np.diagonal(similarity))
    descending = -np.sort(-similarity[np.ix_(has_vector, has_vector)], axis=1)
    rows, columns = np.nonzero(answers)
    expected = np.empty(rows.size)
    for count in np.unique(drawn):
        candidate_expectations = np.full(n, -np.inf)
        candidate_expectations[has_vector] = descending @ _largest_of(int(count), n, len(descending))
        chosen = drawn[rows] == count
        expected[chosen] = candidate_expectations[columns[chosen]]
    return _mean_by_dish(expected, rows, len(answers))


def _largest_of(count: int, n: int, n_scored: int) -> FloatArray:
    """Return the probability that the k-th largest of n is the largest of `count` drawn, for k = 1..n_scored.

    It is conditional on at least one of these being drawn. The probability of k = 1 is proportional to count
    / n, and that of k + 1 is that of k times (n - k - count + 1) / (n - k).
    """
    if not n_scored:
        return np.empty(0)
    k = np.arange(1, n_scored)
    chance = np.cumprod(np.append(count / n, np.maximum(n - k - count + 1, 0) / (n - k)))
    share: FloatArray = chance / chance.sum()
    return share


def _mean_by_dish(best: FloatArray, rows: IntArray, n_dishes: int) -> WordSimilarities:
    """Return the mean over each dish's references without those at -inf."""
    scored = np.isfinite(best)
    n_scored = np.bincount(rows[scored], minlength=n_dishes)
    total = np.bincount(rows[scored], weights=best[scored], minlength=n_dishes)
    has_value = n_scored > 0
    return WordSimilarities(
        values=total[has_value] / n_scored[has_value],
        n_scored=n_scored,
        n_unscored=np.bincount(rows[~scored], minlength=n_dishes),
    )


def _vectors(vectors: ArrayLike) -> FloatArray:
    """Return a float64 n x d array without infinities; else ValueError."""
    table = np.asarray(vectors, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError(f"expected vectors as rows (n x dimensions), got shape {table.shape}")
    if np.isinf(table).any():
        row = int(np.argmax(np.isinf(table).any(axis=1)))
        raise ValueError(f"the vector in row {row} has an infinity; give a missing vector as NaN")
    return table


def _checked(cosines: ArrayLike, reference: ArrayLike) -> tuple[FloatArray, BoolArray]:
    """Return cosines as float64 n x n and references as dishes x n booleans; else ValueError."""
    similarity, answers = np.asarray(cosines, dtype=np.float64), np.asarray(reference, dtype=np.bool_)
    if similarity.ndim != 2 or similarity.shape[0] != similarity.shape[1] or not similarity.size:
        raise ValueError(f"cosines must be a non-empty n x n matrix, got shape {similarity.shape}")
    if answers.ndim != 2 or answers.shape[1] != len(similarity):
        raise ValueError(
            f"reference must be dishes x {len(similarity)} candidates, got shape {answers.shape}"
        )
    return similarity, answers
