"""Rankings of candidates: average precision, the top of a ranking, and baselines for both.

Source: FmLAMA (Zhou et al. 2025), equations 3 to 5. Baselines must be scored by the same rule as models. The
paper's 'dumb' column does not follow its equation 4: it divides by the number of hits and gives a dish
without a hit 1/874. By equation 4 its comparison with BERT reverses.

Candidates are columns. Callers keep them in code-point order, so that results that depend on the position
(`top_mask`, `top_ranked`) do not depend on the order in which data arrived.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import digamma

from tasks.metrics.types import BoolArray, FloatArray, IntArray

# Number of comparisons at once: the temporaries of one block fit into the processor's cache.
_BLOCK = 1 << 18


def average_precision(scores: ArrayLike, relevant: ArrayLike) -> float | FloatArray:
    """Average precision of one ranking, or of each of many, over all candidates (FmLAMA, equation 4).

    scores: [..., n], higher is ranked first, -inf allowed; relevant: [..., n] booleans. Leading axes are rows
    and broadcast, so relevant may be dishes x n for scores of templates x dishes x n. Returns a float for
    vectors, else an array of the leading shape. Range (0, 1]; higher is better; 1: the relevant candidates
    come first. The denominator is the number of relevant candidates. A random ranking has
    `expected_average_precision`, not 0.

    For ties it is the exact mean over all orders of the tied candidates (McSherry and Najork 2008, "Computing
    information retrieval performance measures efficiently in the presence of tied scores"). So a constant
    score equals a random ranking in expectation, and the order of the input does not matter.

    Raises ValueError for a NaN and for a row without a relevant candidate. Time grows with the number of
    relevant candidates times n, because candidates are compared, not sorted.
    """
    table, is_relevant = _rankings(scores, relevant)
    leading, n = table.shape[:-1], table.shape[-1]
    table, is_relevant = table.reshape(-1, n), is_relevant.reshape(-1, n)
    n_relevant = np.count_nonzero(is_relevant, axis=1)
    _refuse_rows(n_relevant == 0, leading, "has no relevant candidate: average precision is not defined")
    rows, columns = np.nonzero(is_relevant)
    precision = np.empty(rows.size)
    step = max(1, _BLOCK // n)
    for start in range(0, rows.size, step):
        block = slice(start, start + step)
        precision[block] = _precision_at(table, is_relevant, rows[block], columns[block])
    values = np.bincount(rows, weights=precision, minlength=len(table)) / n_relevant
    return values.reshape(leading) if leading else float(values[0])


def expected_average_precision(n_relevant: ArrayLike, n: ArrayLike) -> FloatArray:
    """Expected average precision of a random ranking.

    n_relevant: number of relevant candidates; n: of all; they broadcast. Returns float64 of their common
    shape, range (0, 1]. With H_n the n-th harmonic number and R = n_relevant:

        (H_n + (R - 1) / (n - 1) * (n - H_n)) / n.

    Raises ValueError unless 1 <= n_relevant <= n.
    """
    relevant, total = np.asarray(n_relevant, dtype=np.float64), np.asarray(n, dtype=np.float64)
    if not ((relevant >= 1) & (relevant <= total)).all():
        raise ValueError("n_relevant must lie between 1 and n")
    zeros = np.zeros_like(total)
    return _expected_precision(zeros, zeros, total, relevant)


def top_mask(scores: ArrayLike, counts: ArrayLike) -> BoolArray:
    """Return whether each candidate is among the best `counts` of its row.

    scores: [..., n]; counts: one number, or one for each row (the leading shape), in 0..n. Returns [..., n]
    booleans, `counts` of them True in each row. Of candidates tied at the border the first ones enter. Raises
    ValueError for a NaN or a count out of range.
    """
    table = _scores(scores)
    n = table.shape[-1]
    size = np.broadcast_to(np.asarray(counts, dtype=np.intp), table.shape[:-1])[..., None]
    if not ((size >= 0) & (size <= n)).all():
        raise ValueError(f"counts must lie between 0 and the {n} candidates")
    # The score of the last candidate that enters; the highest score if none enters.
    cutoff = np.take_along_axis(np.sort(table, axis=-1), np.minimum(n - size, n - 1), axis=-1)
    above, tied = table > cutoff, table == cutoff
    room = size - np.count_nonzero(above, axis=-1, keepdims=True)
    mask: BoolArray = above | (tied & (np.cumsum(tied, axis=-1, dtype=np.int32) <= room))
    return mask


def top_ranked(scores: ArrayLike, k: int) -> IntArray:
    """Return the columns of the k best candidates of each row, best first.

    scores: [..., n]. Returns [..., k] indices. Ties go to the first position. Raises like `top_mask`.
    """
    table = _scores(scores)
    columns = np.nonzero(top_mask(table, k))[-1].reshape(*table.shape[:-1], k)
    best = np.argsort(-np.take_along_axis(table, columns, axis=-1), axis=-1, kind="stable")
    return np.take_along_axis(columns, best, axis=-1)


def frequency_scores(
    relevant: ArrayLike,
    groups: ArrayLike | None = None,
    top: int | None = None,
    leave_one_out: bool = True,
) -> FloatArray:
    """Scores by the frequency of a candidate alone, the baseline of every table.

    relevant: dishes x n booleans; groups: one label for each dish, to count within its group only; top: keep
    the counts of the `top` most common candidates of a dish and set the others to 0, all tied (the paper's
    'dumb' baseline predicts the 10 most common). Returns dishes x n float64: the number of *other* dishes (of
    the group) with the candidate. A dish alone in its group has zeros, which is a random ranking.

    With leave_one_out=False the dish itself counts too: its answers leak into its baseline, more in smaller
    groups (a group of one dish scores 1). The paper's column leaks like this; use it only for comparison with
    that column. Raises ValueError for wrong shapes.
    """
    member = np.asarray(relevant, dtype=np.bool_)
    if member.ndim != 2:
        raise ValueError(f"relevant must be dishes x candidates, got shape {member.shape}")
    own = member.astype(np.float64)
    counts = _group_totals(own, np.zeros(len(own)) if groups is None else np.asarray(groups))
    if leave_one_out:
        counts = counts - own
    if top is not None:
        counts = np.where(top_mask(counts, min(top, own.shape[1])), counts, 0.0)
    return counts


def seed_dumb_average_precision(scores: ArrayLike, relevant: ArrayLike, k: int) -> FloatArray:
    """Return the number in the 'dumb' column of Zhou et al. 2025, where average precision would belong.

    scores, relevant: as in `average_precision`; k: number of predicted candidates. Returns the leading shape:
    the sum of the precisions at the hits among the top k over the number of *hits*, and 1/(n + 1) for a row
    without a hit (1/874 with 873 candidates). Range (0, 1].

    Compare it with the paper's table only, never with a model: one hit at rank 1 scores 1 however many
    ingredients were missed, so it is not equation 4 and is larger than AP.
    """
    table, is_relevant = _rankings(scores, relevant)
    hits = np.take_along_axis(is_relevant, top_ranked(table, k), axis=-1)
    precision = np.cumsum(hits, axis=-1) / np.arange(1, k + 1)
    n_hits = np.count_nonzero(hits, axis=-1)
    values: FloatArray = np.where(
        n_hits > 0, (precision * hits).sum(axis=-1) / np.maximum(n_hits, 1), 1 / (table.shape[-1] + 1)
    )
    return values


def _precision_at(scores: FloatArray, relevant: BoolArray, rows: IntArray, columns: IntArray) -> FloatArray:
    """Return the expected precision at the rank of each relevant (row, column)."""
    row_scores, is_relevant = scores[rows], relevant[rows]
    value = scores[rows, columns][:, None]
    above, tied = row_scores > value, row_scores == value
    n_above, n_tied = np.count_nonzero(above, axis=1), np.count_nonzero(tied, axis=1)
    return _expected_precision(
        n_above.astype(np.float64),
        np.count_nonzero(above & is_relevant, axis=1).astype(np.float64),
        n_tied.astype(np.float64),
        np.count_nonzero(tied & is_relevant, axis=1).astype(np.float64),
    )


def _expected_precision(
    before: FloatArray, relevant_before: FloatArray, tied: FloatArray, tied_relevant: FloatArray
) -> FloatArray:
    """Return the mean precision at a relevant member of a tie group, over all orders of the group.

    The member is at each place j = 1..tied with equal probability. There the precision is (relevant_before +
    1 + (j - 1) * share) / (before + j), where share = (tied_relevant - 1) / (tied - 1) is the probability
    that another member is relevant. The sums over j are H = sum 1 / (before + j) and sum (j - 1) / (before +
    j) = tied - (before + 1) * H.
    """
    # A difference of digammas loses digits if nothing is tied, which is the most frequent case.
    harmonic = np.where(
        tied == 1, 1 / (before + 1), np.asarray(digamma(before + tied + 1) - digamma(before + 1))
    )
    share = (tied_relevant - 1) / np.maximum(tied - 1, 1)
    total: FloatArray = (relevant_before + 1) * harmonic + share * (tied - (before + 1) * harmonic)
    return total / tied


def _group_totals(member: FloatArray, groups: np.typing.NDArray[np.generic]) -> FloatArray:
    """Return, for each dish, the column sums over the dishes of its group."""
    if groups.shape != (len(member),):
        raise ValueError(f"groups has shape {groups.shape}: one label for each of {len(member)} dishes")
    labels, code = np.unique(groups, return_inverse=True)
    belongs = (code == np.arange(labels.size)[:, None]).astype(np.float64)
    totals: FloatArray = (belongs @ member)[code]
    return totals


def _scores(scores: ArrayLike) -> FloatArray:
    """Return scores as float64 [..., n] without NaN; else ValueError naming the row."""
    table = np.asarray(scores, dtype=np.float64)
    if not table.ndim or not table.shape[-1]:
        raise ValueError("scores must have at least one candidate")
    unscored = np.asarray(np.isnan(table).any(axis=-1))
    _refuse_rows(unscored, table.shape[:-1], "has a NaN: leave the candidate out, or score it -inf")
    return table


def _rankings(scores: ArrayLike, relevant: ArrayLike) -> tuple[FloatArray, BoolArray]:
    """Return scores and relevance in one common shape [..., n]; else ValueError."""
    table, is_relevant = _scores(scores), np.asarray(relevant, dtype=np.bool_)
    if not is_relevant.ndim or table.shape[-1] != is_relevant.shape[-1]:
        raise ValueError(
            f"scores has shape {table.shape}, relevant {is_relevant.shape}: candidates must match"
        )
    shape = np.broadcast_shapes(table.shape, is_relevant.shape)
    return np.broadcast_to(table, shape), np.broadcast_to(is_relevant, shape)


def _refuse_rows(bad: BoolArray, leading: tuple[int, ...], complaint: str) -> None:
    """Raise ValueError for the first bad row, with its index in the leading axes."""
    if bad.any():
        index = np.unravel_index(int(np.argmax(bad)), leading) if leading else ()
        label = ", ".join(map(str, index))
        raise ValueError(f"row {label} {complaint}" if leading else f"the ranking {complaint}")
