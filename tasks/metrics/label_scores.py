"""How well labels were given: exact match, F1, and what guessing reaches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tasks.metrics.bootstrap import percentile_interval
from tasks.metrics.types import FloatArray

__all__ = [
    "LabelIntervals",
    "LabelScores",
    "Unanswered",
    "label_intervals",
    "label_scores",
    "majority_baseline",
    "random_baseline",
]

Unanswered: TypeAlias = Literal["excluded", "wrong"]
Interval: TypeAlias = tuple[float, float] | None


@dataclass(frozen=True)
class LabelScores:
    """Scores of n_scored items; all in [0, 1], higher is better, 1: every label right, 0: none.

    exact_match: share right; f1_micro: F1 of all classes' hits and misses together, equal to exact_match
    where no unanswered item counts; f1_macro: mean of `f1`; f1: of each class that is in gold.
    n_unanswered: items without an answer, whether they count as wrong or not.
    """

    exact_match: float
    f1_micro: float
    f1_macro: float
    f1: dict[str, float]
    n_scored: int
    n_unanswered: int


class LabelIntervals(NamedTuple):
    """Bootstrap interval (low, high) of each of the three scores."""

    exact_match: Interval
    f1_micro: Interval
    f1_macro: Interval


def label_scores(
    gold: Sequence[str], predicted: Sequence[str | None], unanswered: Unanswered = "excluded"
) -> LabelScores | None:
    """Exact match and F1 of m labels (CURE, "Thin vs. thick": F1 micro and macro).

    gold: m labels; predicted: m labels, None where no answer could be read. An item without an answer is left
    out of n_scored and counted in n_unanswered: not to answer is neither right nor wrong. "wrong" counts it
    as a miss of its gold class instead, to see how far that moves a model that rarely answers; F1 micro is
    then above exact match, since a missing answer is no false positive.

    The macro mean is over the classes in gold: a class that is only predicted costs as misses of others
    (scikit-learn: labels=set(gold), zero_division=0). None where nothing is scored. Raises ValueError for
    vectors of different lengths.
    """
    table, classes = _confusion(gold, predicted, unanswered)
    n = int(table.sum())
    if not n:
        return None
    present = table.sum(axis=1) > 0
    f1 = {name: float(f) for name, f, known in zip(classes, _f1(table), present, strict=True) if known}
    exact, micro, macro = map(float, _scores(table))
    return LabelScores(exact, micro, macro, f1, n, sum(answer is None for answer in predicted))


def label_intervals(
    gold: Sequence[str],
    predicted: Sequence[str | None],
    replicates: int,
    seed: int,
    level: float = 0.95,
    unanswered: Unanswered = "excluded",
) -> LabelIntervals | None:
    """Percentile intervals of `label_scores`, drawing scored items again with replacement.

    None for fewer than two scored items. Does not depend on the order of the items: what a resample changes
    is how many items are in each cell of gold x predicted, and these counts are drawn at once, from the
    multinomial distribution. A resample without an item of some class has no such term in its macro mean.
    """
    table, _ = _confusion(gold, predicted, unanswered)
    n = int(table.sum())
    if n < 2:
        return None
    generator = np.random.Generator(np.random.PCG64(seed))
    drawn = generator.multinomial(n, table.ravel() / n, size=replicates).astype(np.float64)
    tables = drawn.reshape(replicates, *table.shape)
    return LabelIntervals(*(percentile_interval(scores, level) for scores in _scores(tables)))


def majority_baseline(gold: Sequence[str]) -> LabelScores:
    """Scores of always answering the commonest label of gold; ties: the first by name, the scores are equal.

    Exact match p and macro F1 2p / (1 + p) / classes, where p is that label's share. Raises ValueError for no
    labels.
    """
    names, counts = np.unique(_labels(gold), return_counts=True)
    scores = label_scores(gold, [str(names[counts.argmax()])] * len(gold))
    assert scores is not None  # there are labels, all of them answered
    return scores


def random_baseline(gold: Sequence[str]) -> LabelScores:
    """Expected scores of random labels at the prior: those of gold, dealt out again at random.

    Exact. A class with share p_c is then predicted as often as it is true, so that its F1 is its share of
    hits, p_c in the mean. Exact match and F1 micro are the sum of p_c^2, F1 macro is 1 / classes. Raises
    ValueError for no labels.
    """
    names, counts = np.unique(_labels(gold), return_counts=True)
    share = counts / len(gold)
    f1 = {str(name): float(p) for name, p in zip(names, share, strict=True)}
    by_chance = float((share**2).sum())
    return LabelScores(by_chance, by_chance, 1 / len(f1), f1, len(gold), 0)


def _confusion(
    gold: Sequence[str], predicted: Sequence[str | None], unanswered: Unanswered
) -> tuple[FloatArray, list[str]]:
    """Items by gold class (rows) and answer (columns: the classes, last "no answer"), and the classes."""
    if len(gold) != len(predicted):
        raise ValueError(f"cannot compare {len(gold)} gold with {len(predicted)} predicted labels")
    classes = sorted({*gold, *(answer for answer in predicted if answer is not None)})
    code: dict[str | None, int] = {name: number for number, name in enumerate([*classes, None])}
    table = np.zeros((len(classes), len(classes) + 1))
    for truth, answer in zip(gold, predicted, strict=True):
        if answer is not None or unanswered == "wrong":
            table[code[truth], code[answer]] += 1
    return table, classes


def _f1(tables: FloatArray) -> FloatArray:
    """F1 = 2 TP / (2 TP + FP + FN) of each class, 0 where it is neither true nor predicted."""
    hits, named = _hits_and_named(tables)
    f1: FloatArray = 2 * hits / np.maximum(named, 1)
    return f1


def _scores(tables: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Exact match, F1 micro and F1 macro of one or many confusion tables (... x k x k+1), none empty."""
    hits, named = _hits_and_named(tables)
    present = tables.sum(axis=-1) > 0
    exact = hits.sum(axis=-1) / tables.sum(axis=(-2, -1))
    micro = 2 * hits.sum(axis=-1) / named.sum(axis=-1)
    macro = (_f1(tables) * present).sum(axis=-1) / present.sum(axis=-1)
    return exact, micro, macro


def _hits_and_named(tables: FloatArray) -> tuple[FloatArray, FloatArray]:
    """TP, and how often a class is true plus how often it is predicted, for each class."""
    answered = tables[..., :-1]
    return np.diagonal(answered, axis1=-2, axis2=-1), tables.sum(axis=-1) + answered.sum(axis=-2)


def _labels(gold: Sequence[str]) -> NDArray[np.str_]:
    if not len(gold):
        raise ValueError("a baseline needs labels")
    return np.asarray(gold, dtype=np.str_)
