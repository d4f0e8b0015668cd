"""Cultural Consensus Theory on countries: share in the consensus, nearest countries, agreement of phrasings.

Source: Romney, Batchelder and Weller (1987), "Recent applications of cultural consensus theory"; Mantel
(1967).
"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import eigh

from tasks.metrics.agreement import pearson
from tasks.metrics.types import FloatArray, IntArray, as_square


def competence(similarity: ArrayLike) -> FloatArray | None:
    """Each country's loading on the shared pattern: sqrt(lambda_1) * v_1, signed so that the sum is positive.

    similarity: n x n cosines with unit diagonal. Returns n float64 values, range [-1, 1] ([0, 1] if no cosine
    is negative). 1: the country's answers equal the consensus; 0: they have no part in it. None if no pattern
    leads: lambda_1 and lambda_2 coincide (the identity; two equal blocks), or the loadings sum to 0, so that
    the vector or its sign would depend on the solver.
    """
    matrix = as_square(similarity)
    n = len(matrix)
    values, vectors = eigh(matrix, subset_by_index=[max(n - 2, 0), n - 1])
    if len(values) < min(n, 2):  # LAPACK returns none of two where many coincide
        values, vectors = eigh(matrix)
        values, vectors = values[-2:], vectors[:, -2:]
    leading, loading = float(values[-1]), vectors[:, -1]
    tolerance = 10 * n * np.finfo(np.float64).eps
    if n > 1 and leading - values[0] <= tolerance * leading:
        return None
    total = float(loading.sum())
    if abs(total) <= tolerance:
        return None
    scores: FloatArray = np.clip(np.sqrt(leading) * loading * np.sign(total), -1.0, 1.0)
    return scores


def competence_left_out(similarity: ArrayLike, subsets: Sequence[IntArray]) -> FloatArray | None:
    """Return r x n, for intervals: `competence` of all n countries in the pattern of each subset.

    subsets: r arrays of positions. A country outside a subset loads on its pattern by its cosines to the
    subset's countries. None if a subset has no leading pattern.
    """
    matrix = as_square(similarity)
    loadings = []
    for members in subsets:
        loading = competence(matrix[np.ix_(members, members)])
        if loading is None:
            return None
        # As A v = lambda v, this returns the loadings of the subset's countries, and loadings of the others.
        loadings.append(matrix[:, members] @ loading / (loading @ loading))
    return np.clip(np.array(loadings).reshape(-1, len(matrix)), -1.0, 1.0)


def nearest(similarity: ArrayLike, k: int) -> tuple[IntArray, FloatArray]:
    """Each country's k most similar other countries.

    similarity: n x n. Returns (index, value), n x k both, most similar first. Ties go to the smaller index;
    values equal to 12 decimals are ties, because equal cosines differ in the last bits. Raises ValueError
    unless 1 <= k <= n - 1.
    """
    matrix = as_square(similarity)
    if not 1 <= k < len(matrix):
        raise ValueError(f"k is {k}, but {len(matrix)} countries have 1 to {len(matrix) - 1} neighbours")
    key = -np.round(matrix, 12)
    np.fill_diagonal(key, np.inf)
    index = np.argsort(key, axis=1, kind="stable")[:, :k]
    return index, np.take_along_axis(matrix, index, axis=1)


def mantel(a: ArrayLike, b: ArrayLike) -> float | None:
    """Mantel's statistic: Pearson correlation of two similarity matrices' off-diagonal entries.

    a, b: n x n over the same countries in the same order. Range [-1, 1]; 1: the same structure up to scale
    and shift; 0: unrelated. None for fewer than 3 countries or if all cosines of a matrix are equal.
    """
    left, right = as_square(a), as_square(b)
    if left.shape != right.shape:
        raise ValueError(f"cannot compare {len(left)} countries with {len(right)}")
    if len(left) < 3:
        return None
    upper = np.triu_indices(len(left), k=1)
    return pearson(left[upper], right[upper])


def paraphrase_agreement(similarities: Sequence[ArrayLike]) -> float | None:
    """Mean Mantel statistic over all pairs of a domain's phrasings.

    similarities: two or more n x n matrices. Range [-1, 1]; 1: every phrasing has the same structure of
    countries; 0: the structure depends on the phrasing. None if a pair has no correlation: a mean over the
    others would hide that a phrasing does not distinguish countries. Raises ValueError for fewer than two
    matrices.
    """
    if len(similarities) < 2:
        raise ValueError("agreement needs at least two phrasings")
    scores = [mantel(a, b) for a, b in combinations(similarities, 2)]
    scored = [score for score in scores if score is not None]
    return float(np.mean(scored)) if len(scored) == len(scores) else None
