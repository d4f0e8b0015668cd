"""Error analysis of rankings: foreign or local confusions, and whether templates agree on them.

Source: FmLAMA, section 7, which names the patterns but gives no formulas; the definitions are ours. A
prediction is one of the top-l candidates of a dish, where l is the number of its ingredients
(`ranking.top_mask`). A false prediction is not an ingredient of the dish.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tasks.metrics.ranking import frequency_scores
from tasks.metrics.types import BoolArray, FloatArray, IntArray


class Confusions(NamedTuple):
    """Counts for each dish over all templates: foreign (coarse) and local (fine) errors."""

    n_coarse: IntArray
    n_fine: IntArray


def local_candidates(relevant: ArrayLike, groups: ArrayLike) -> BoolArray:
    """Return which candidates are local to a dish's origin.

    relevant: dishes x n booleans; groups: the origin of each dish. Returns dishes x n booleans: whether the
    candidate is an ingredient of some *other* dish of the same origin. A dish alone in its group has no local
    candidates: leave such groups out, because all their errors would count as foreign.
    """
    local: BoolArray = frequency_scores(relevant, groups) > 0
    return local


def confusions(predicted: ArrayLike, relevant: ArrayLike, local: ArrayLike) -> Confusions:
    """Return each dish's numbers of coarse errors (foreign) and fine errors (local, but not of this dish).

    predicted: templates x dishes x n booleans; relevant, local: dishes x n. Returns counts for each dish,
    summed over the templates; n_coarse + n_fine are all false predictions. Compare the coarse share with
    `foreign_share`: in a group with few dishes, few candidates are local. Raises ValueError for wrong shapes.
    """
    guesses, answers = _checked(predicted, relevant)
    home = np.asarray(local, dtype=np.bool_)
    if home.shape != answers.shape:
        raise ValueError(f"local has shape {home.shape} and relevant {answers.shape}")
    times = np.count_nonzero(guesses, axis=0)
    return Confusions(
        n_coarse=np.where(~answers & ~home, times, 0).sum(axis=1),
        n_fine=np.where(~answers & home, times, 0).sum(axis=1),
    )


def foreign_share(relevant: ArrayLike, local: ArrayLike) -> tuple[FloatArray, BoolArray]:
    """Coarse share of random false predictions, the null of `confusions`.

    relevant, local: dishes x n booleans. Returns (values, scored): the share of foreign candidates among
    those that are not ingredients of the dish, in [0, 1], for the scored dishes; scored is False for a dish
    that has all candidates as ingredients. Raises ValueError for wrong shapes.
    """
    wrong, foreign = ~np.asarray(relevant, dtype=np.bool_), ~np.asarray(local, dtype=np.bool_)
    if wrong.ndim != 2 or wrong.shape != foreign.shape:
        raise ValueError(f"relevant {wrong.shape} and local {foreign.shape} must have one shape, dishes x n")
    n_wrong = np.count_nonzero(wrong, axis=1)
    n_foreign = np.count_nonzero(wrong & foreign, axis=1)
    scored: BoolArray = n_wrong > 0
    return n_foreign[scored] / n_wrong[scored], scored


def inconsistency(predicted: ArrayLike, relevant: ArrayLike) -> tuple[FloatArray, BoolArray]:
    """Return how much a dish's false predictions differ between templates.

    predicted: templates x dishes x n booleans; relevant: dishes x n. For each dish, 1 minus the mean Jaccard
    similarity of the false predictions over all pairs of templates with errors. Returns (values, scored):
    values in [0, 1] for the scored dishes, in order; 0: every template has the same errors; 1: no error
    repeats. scored is False for a dish with errors in fewer than two templates. Raises ValueError for wrong
    shapes.
    """
    guesses, answers = _checked(predicted, relevant)
    # Counts below 2^24 are exact in float32, and matrix products are far faster than integer ones.
    errors = (guesses & ~answers).transpose(1, 0, 2).astype(np.float32)
    shared = errors @ errors.transpose(0, 2, 1)
    first, second = np.triu_indices(len(guesses), k=1)
    size = np.diagonal(shared, axis1=1, axis2=2).astype(np.float64)
    common = shared[:, first, second].astype(np.float64)
    union = size[:, first] + size[:, second] - common
    compared = (size[:, first] > 0) & (size[:, second] > 0)
    n_pairs = np.count_nonzero(compared, axis=1)
    similarity = np.where(compared, common / np.maximum(union, 1), 0.0).sum(axis=1)
    scored: BoolArray = n_pairs > 0
    return 1 - similarity[scored] / n_pairs[scored], scored


def _checked(predicted: ArrayLike, relevant: ArrayLike) -> tuple[BoolArray, BoolArray]:
    """Return predictions as templates x dishes x n and relevance as dishes x n; else ValueError."""
    guesses, answers = np.asarray(predicted, dtype=np.bool_), np.asarray(relevant, dtype=np.bool_)
    if guesses.ndim != 3 or guesses.shape[1:] != answers.shape:
        raise ValueError(
            f"predicted must be templates x {' x '.join(map(str, answers.shape))}, got {guesses.shape}"
        )
    return guesses, answers
