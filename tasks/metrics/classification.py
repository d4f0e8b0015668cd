"""High or low by median split, and how well the resulting categories match the human ones."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from tasks.metrics.types import CATEGORIES, BoolArray, Category

__all__ = ["f1_per_class", "macro_f1", "median_split", "median_split_ceiling"]


def median_split(values: ArrayLike) -> BoolArray:
    """Which values are high: strictly above the median of all values given.

    values: m numbers, infinities allowed. Returns m booleans. With no ties at the median exactly floor(m/2)
    are high; values equal to the median are low, so ties make fewer high and a constant vector has none.
    Raises ValueError for no values or a NaN. What the median is taken over is the caller's choice: the paper
    pools all questions and models (section 3.3), which lets one model be high throughout.
    """
    points = np.asarray(values, dtype=np.float64)
    if points.ndim != 1 or not points.size or np.isnan(points).any():
        raise ValueError("a median split needs a non-empty vector without NaN: leave unscored points out")
    # "Above the lower middle value" is "above the median", also where the two middle values average to
    # infinity.
    lower_middle = np.sort(points)[(points.size - 1) // 2]
    high: BoolArray = points > lower_middle
    return high


def f1_per_class(
    true: Sequence[str], predicted: Sequence[str], classes: Sequence[str] = CATEGORIES
) -> dict[str, float]:
    """F1 = 2 TP / (2 TP + FP + FN) of each class.

    true, predicted: m labels each. Returns class -> F1 in [0, 1]; 1: found exactly; 0: never right. A class
    that is neither true nor predicted anywhere gets 0, as in scikit-learn with zero_division=0. Raises
    ValueError for vectors of different lengths or without points.
    """
    if len(true) != len(predicted) or not len(true):
        raise ValueError(f"cannot compare {len(true)} true with {len(predicted)} predicted labels")
    truth, guess = np.asarray(true), np.asarray(predicted)
    scores = {}
    for name in classes:
        hits = np.count_nonzero((truth == name) & (guess == name))
        named = np.count_nonzero(truth == name) + np.count_nonzero(guess == name)
        scores[name] = 2 * hits / named if named else 0.0
    return scores


def macro_f1(true: Sequence[str], predicted: Sequence[str]) -> float:
    """The mean F1 over the classes present in truth (seed paper, figure 2).

    Range [0, 1]; higher is better; 1: every label right; 0: none right. A class that is only predicted is no
    term of the mean but costs as the false negatives of others (scikit-learn: labels=set(true),
    zero_division=0). Raises as `f1_per_class`.
    """
    scores = f1_per_class(true, predicted, sorted(set(true)))
    return float(np.mean(list(scores.values())))


def median_split_ceiling(true_categories: Sequence[Category]) -> float:
    """The best macro-F1 that labels from one median split of ER and one of SR can reach.

    true_categories: the m human labels. Range (0, 1]; below 1 wherever the human labels are not themselves
    balanced. It bounds a model that is split at its own medians; medians pooled over models (the paper's)
    impose no such bound.

    Exact. Without ties k = floor(m/2) points are high on ER and k on SR, so with `both` points HH the
    predicted counts are HL = LH = k - both and LL = m - 2k + both: one free number. Given the counts, each F1
    rises with its class's hits, and all classes reach min(true, predicted) at once: what is left over is
    surplus predictions of some classes and surplus truths of others, never of one class, so they can be
    matched in any way.
    """
    m = len(true_categories)
    if m < 2:
        raise ValueError("a median split needs two points at least")
    unknown = set(true_categories) - set(CATEGORIES)
    if unknown:
        raise ValueError(f"unknown categories {sorted(unknown)}: expected {CATEGORIES}")
    actual = {name: list(true_categories).count(name) for name in CATEGORIES}
    present = [name for name in CATEGORIES if actual[name]]
    high = m // 2
    best = 0.0
    for both in range(high + 1):
        predicted = {"HH": both, "HL": high - both, "LH": high - both, "LL": m - 2 * high + both}
        scores = [2 * min(actual[c], predicted[c]) / (actual[c] + predicted[c]) for c in present]
        best = max(best, sum(scores) / len(scores))
    return best
