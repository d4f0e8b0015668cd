"""Scores of labels: exact match, F1, baselines of guessing; and the median split."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tasks.metrics.types import CATEGORIES, FloatArray


def rounded(values: ArrayLike) -> FloatArray:
    """Return values rounded to 34 bits (about 10 digits), so that rounding noise makes ties."""
    mantissa, exponent = np.frexp(np.asarray(values, dtype=np.float64))
    result: FloatArray = np.ldexp(np.round(np.ldexp(mantissa, 34)), exponent - 34)
    return result


def lower_median(values: ArrayLike) -> FloatArray:
    """Return the largest value that counts as low in a median split; high values are strictly above it.

    values: m rows of numbers, infinities allowed. Returns the lower of the two middle values over the rows,
    for each column. Without ties exactly floor(m/2) values are high; values equal to the median are low, so
    ties leave fewer high ones, and of equal values none is high. Raises ValueError for no values or a NaN.
    The caller chooses the rows: the paper pools all questions and models (section 3.3), so one model may be
    high throughout.
    """
    points = np.asarray(values, dtype=np.float64)
    if not points.size or np.isnan(points).any():
        raise ValueError("a median split needs values, none of them NaN: leave unscored points out")
    median: FloatArray = np.sort(points, axis=0)[(len(points) - 1) // 2]
    return median


def f1_per_class(
    true: Sequence[str], predicted: Sequence[str], classes: Sequence[str] = CATEGORIES
) -> dict[str, float]:
    """Return F1 = 2 TP / (2 TP + FP + FN) of each class.

    true, predicted: m labels each. Returns class -> F1 in [0, 1]; 1: predicted exactly where true; 0: never
    right. A class that is neither true nor predicted gets 0, as in scikit-learn with zero_division=0. Raises
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
    """Mean F1 over the classes present in truth (figure 2 of the spectral paper).

    Range [0, 1]; higher is better; 1: every label right; 0: none right. A class that is only predicted has no
    term in the mean, but its points are false negatives of others (scikit-learn: labels=set(true),
    zero_division=0). Raises like `f1_per_class`.
    """
    scores = f1_per_class(true, predicted, sorted(set(true)))
    return float(np.mean(list(scores.values())))


_OTHER = {"L": "H", "H": "L"}


def jump_error(true: Sequence[str], predicted: Sequence[str]) -> dict[str, float]:
    """Return the standard error of F1 if one letter of one predicted category is undecided: class -> error,
    and "macro_f1" -> that of macro F1.

    true, predicted: m categories of two letters each. An undecided letter changes F1 by a jump in every
    second sample: the error is half of the mean jump over all letters. Half-samples that agree do not show
    it, and without it intervals of F1 are too short (docs/intervals.md).
    """
    classes = sorted(set(true))
    changed = [
        [*predicted[:i], other, *predicted[i + 1 :]]
        for i, own in enumerate(predicted)
        for other in (_OTHER[own[0]] + own[1], own[0] + _OTHER[own[1]])
    ]
    table = np.array([list(f1_per_class(true, each, classes).values()) for each in (predicted, *changed)])
    columns = dict(zip(classes, table.T, strict=True)) | {"macro_f1": table.mean(axis=1)}
    return {name: float(np.abs(own[1:] - own[0]).mean()) / 2 for name, own in columns.items()}


LOST = ""
"""Label of a lost answer: its gold class is missed, and no other class is predicted."""


class LabelScores(NamedTuple):
    """Scores of labels; all in [0, 1], higher is better, 1: every label right, 0: none.

    exact_match: share right; f1_micro: F1 of all classes' hits and misses together, which equals exact_match
    if no label is LOST and is higher otherwise; f1_macro: mean F1 of the classes in gold.
    """

    exact_match: float
    f1_micro: float
    f1_macro: float


def label_scores(gold: Sequence[str], predicted: Sequence[str]) -> LabelScores:
    """Exact match and F1 of m labels (CURE, "Thin vs. thick": F1 micro and macro).

    gold, predicted: m labels each; LOST for a lost answer. HELM, which Vo and Koyejo (2025) use, counts a
    text that is not a label the same way (Liang et al. 2023). Raises ValueError like `f1_per_class`.
    """
    macro = macro_f1(gold, predicted)
    hits = int((np.asarray(gold) == np.asarray(predicted)).sum())
    n_named = sum(label != LOST for label in predicted)
    return LabelScores(hits / len(gold), 2 * hits / (len(gold) + n_named), macro)


class F1LeftOut(NamedTuple):
    """F1 micro and macro without each cluster in turn: [clusters] by name, NaN if no item is left."""

    micro: FloatArray
    macro: FloatArray


def f1_left_out(gold: Sequence[str], predicted: Sequence[str], clusters: Sequence[str]) -> F1LeftOut:
    """Return F1 of `label_scores` without each cluster in turn, for `intervals.jackknife_interval`.

    clusters: m labels.
    """
    names = sorted({*gold, *predicted, LOST})
    place = {name: number for number, name in enumerate(names)}
    cluster = np.unique(np.asarray(clusters), return_inverse=True)[1]
    tables = np.zeros((cluster.max() + 1, len(names), len(names)))
    true, predicted_places = (np.array([place[name] for name in labels]) for labels in (gold, predicted))
    np.add.at(tables, (cluster, true, predicted_places), 1)
    remaining = tables.sum(axis=0) - tables
    in_gold, named = remaining.sum(axis=2), remaining.sum(axis=2) + remaining.sum(axis=1)
    f1 = 2 * np.diagonal(remaining, axis1=1, axis2=2) / np.maximum(named, 1)
    n_classes = (in_gold > 0).sum(axis=1)
    macro = np.where(n_classes > 0, (f1 * (in_gold > 0)).sum(axis=1) / np.maximum(n_classes, 1), np.nan)
    n_named = named.sum(axis=1) - remaining.sum(axis=1)[:, place[LOST]]
    hits = np.diagonal(remaining, axis1=1, axis2=2).sum(axis=1)
    micro = np.where(n_classes > 0, 2 * hits / np.maximum(n_named, 1), np.nan)
    return F1LeftOut(micro, macro)


def commonest(labels: Sequence[str]) -> str:
    """Return the commonest label; ties go to the first by name. Raises ValueError for no labels."""
    if not len(labels):
        raise ValueError("a baseline needs labels")
    names, counts = np.unique(np.asarray(labels, dtype=np.str_), return_counts=True)
    return str(names[counts.argmax()])


def random_baseline(gold: Sequence[str]) -> LabelScores:
    """Expected scores of random labels at the prior: the gold labels, shuffled.

    Exact. A class with share p_c is then predicted as often as it is true, so its F1 equals its share of
    hits, p_c on average. Exact match and F1 micro are the sum of p_c^2, F1 macro is 1 / classes. Raises
    ValueError for no labels.
    """
    if not len(gold):
        raise ValueError("a baseline needs labels")
    share = np.unique(np.asarray(gold, dtype=np.str_), return_counts=True)[1] / len(gold)
    by_chance = float((share**2).sum())
    return LabelScores(by_chance, by_chance, 1 / share.size)
