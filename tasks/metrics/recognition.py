"""Recognition of personas by their wording: a measure of stereotyping without judge or list.

A model that words every dilemma in set phrases of a country is recognised by them. WorldWise (2024) counts
listed phrases instead (`stereotypes.stereotype_scores`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from tasks.metrics.intervals import MIN_CLUSTERS, jackknife_interval, mean_interval
from tasks.metrics.types import FloatArray, IntArray, Interval

# Likenesses that differ by rounding alone are equal.
_ROUNDING = 1e-9


class Recognition(NamedTuple):
    """Recognition of the persona from answers; see `persona_recognition`.

    cultures: [k] codes of those compared, ascending; n: [k] their answers. The rest has 1 + k entries: the
    mean over cultures, then each. value: range [-1/(k - 1), 1], higher is easier to recognise, 0: as chance
    does, 1: every answer. p_value: of the mean; never 0. variety: mean distance between two answers of a
    culture to different scenarios, range [0, 1], 0: the same words, 1: no word in common; between: of an
    answer of the culture and one of another.
    """

    cultures: IntArray
    n: IntArray
    value: FloatArray
    intervals: list[Interval]
    p_value: float
    variety: FloatArray
    variety_intervals: list[Interval]
    between: FloatArray


class _Answers(NamedTuple):
    """n answers by k cultures, codes from 0: vectors [n, words]; nearby [n, k]: sum of the cosines of
    each with each culture's answers to its own scenario, itself among them."""

    vectors: Any  # csr_array, whose products have no types
    culture: IntArray
    scenario: IntArray
    nearby: FloatArray


def persona_recognition(
    words: Sequence[Sequence[str]], cultures: IntArray, scenarios: IntArray, permutations: int, seed: int
) -> Recognition | None:
    """Return how often an answer's wording tells its persona, learned from the answers to all other
    scenarios.

    words: of n answers, less names of countries (`stereotypes.bare_words`); cultures, scenarios: n codes.

    An answer is its distinct words, weighted by log(n / answers with the word), as a vector of length 1. It
    is taken for the culture whose answers to the other scenarios, summed, have the highest cosine with it
    (nearest centroid: Manning, Raghavan and Schütze 2008, chapter 14); m equally near ones count 1/m. Words
    that a dilemma itself calls for are no help, since no answer to it is learned from. Value: with a the mean
    over cultures of the share recognised, (a - 1/k) / (1 - 1/k).

    Null: within each scenario cultures are exchanged, with all their answers to it. The value is then 0 in
    expectation, and the p-value has its level exactly, whatever the texts. Intervals, 95 %: of shares, over
    scenarios, and wider by the root of 2, since a scenario counts where it is recognised and again in what it
    teaches; of variety, the jackknife over scenarios. Simulated with 3 to 5 cultures and 5 to 12 scenarios,
    from nothing to 95 % recognised, they cover .94 to 1 of the time; more scenarios were not tried.

    What it tells: at a high value a culture is worded the same way across unrelated dilemmas. With a variety
    well below `between` that is in set phrases, as stereotypes are; with a variety near it, by few marks (a
    currency, a city). What it cannot tell: whether the wording is false, unfair, or how people there speak; a
    persona that expresses its culture well is recognised too. So it compares models; there is no good value.
    Words need spaces between them. Cities and continents are not taken out, and in the culture's own language
    every answer gives itself away.

    None unless two cultures have answers to five scenarios; others are left out. Does not depend on the order
    of the answers. Raises ValueError for lengths that differ.
    """
    if not len(words) == len(cultures) == len(scenarios):
        raise ValueError(f"{len(words)} answers, {len(cultures)} cultures and {len(scenarios)} scenarios")
    codes, n_scenarios = np.unique(np.unique(np.stack([cultures, scenarios]), axis=1)[0], return_counts=True)
    codes = codes[n_scenarios >= MIN_CLUSTERS]
    k = codes.size
    if k < 2:
        return None
    distinct = [sorted(set(answer)) for answer in words]
    members = np.flatnonzero(np.isin(cultures, codes)).tolist()
    # In one order, so that sums are rounded in one way.
    members.sort(key=lambda i: (scenarios[i], cultures[i], distinct[i]))
    culture = np.searchsorted(codes, cultures[members])
    scenario = np.unique(scenarios[members], return_inverse=True)[1]
    answers = _gathered(_vectors([distinct[i] for i in members]), culture, scenario)
    credit, others = _recognised(answers)
    n = np.bincount(culture)
    shares = np.bincount(culture, credit) / n
    value = (_with_mean(shares) - 1 / k) / (1 - 1 / k)
    generator = np.random.Generator(np.random.PCG64(seed))
    drawn = (_exchanged(answers, generator) for _ in range(permutations))
    null = [np.mean(np.bincount(a.culture, _recognised(a)[0]) / np.bincount(a.culture)) for a in drawn]
    weight = (credit.size / (k * n))[culture]  # with which the mean over answers is that over cultures
    parts = [(credit * weight, scenario, float(weight.max()))]
    parts += [(credit[culture == c], scenario[culture == c], 1.0) for c in range(k)]
    variety, left_out, between = _variety(answers, others)
    return Recognition(
        codes,
        n,
        value,
        [
            _widened(float(v), mean_interval(points, clusters, (0.0, top)), k)
            for v, (points, clusters, top) in zip(value, parts, strict=True)
        ],
        (1 + np.count_nonzero(np.array(null) >= shares.mean() - _ROUNDING)) / (1 + permutations),
        variety,
        [jackknife_interval(float(v), left_out[:, i], (0.0, 1.0)) for i, v in enumerate(variety)],
        between,
    )


def _recognised(answers: _Answers) -> tuple[FloatArray, FloatArray]:
    """[n] credit of each answer, 1 where it is recognised; [n, k] sum of its cosines with each culture's
    answers to other scenarios."""
    vectors, culture, scenario, nearby = answers
    rows = np.arange(culture.size)
    total = _by_culture(vectors, culture)
    similar: FloatArray = vectors @ np.ascontiguousarray(total.toarray().T)
    # |total - own|^2 of what a culture has in the other scenarios, where own is its part in this one.
    crossed = _by_cell(nearby[rows, culture] - 2 * similar[rows, culture], culture, scenario)
    lengths = np.sqrt(np.maximum(total.multiply(total).sum(axis=1) + crossed, _ROUNDING))
    others = similar - nearby
    cosines = others / lengths[scenario]
    nearest = cosines >= cosines.max(axis=1, keepdims=True) - _ROUNDING
    return nearest[rows, culture] / nearest.sum(axis=1), others


def _variety(answers: _Answers, others: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """[1 + k] variety; [scenarios, 1 + k] variety without each scenario; [1 + k] between."""
    culture, scenario = answers.culture, answers.scenario
    own = others[np.arange(culture.size), culture]
    sizes, alike = (_by_cell(v, culture, scenario) for v in (np.ones(culture.size), own))
    total = sizes.sum(axis=0)
    pairs = np.outer(total, total) - sizes.T @ sizes
    n_own, n_apart = np.diag(pairs), pairs.sum(axis=1) - np.diag(pairs)
    apart = np.bincount(culture, others.sum(axis=1) - own)
    # A scenario's pairs count from both ends.
    without = 1 - (alike.sum(axis=0) - 2 * alike) / (n_own - 2 * sizes * (total - sizes))
    return _with_mean(1 - alike.sum(axis=0) / n_own), _with_mean(without), _with_mean(1 - apart / n_apart)


def _widened(value: float, interval: Interval, k: int) -> Interval:
    """An interval of the share of k cultures' answers that are recognised, on the scale of `Recognition`."""
    if interval is None:
        return None
    low, high = ((share - 1 / k) / (1 - 1 / k) for share in interval)
    root = math.sqrt(2)
    return max(-1 / (k - 1), value - root * (value - low)), min(1.0, value + root * (high - value))


def _with_mean(values: FloatArray) -> FloatArray:
    """The mean over the last axis put before it."""
    return np.concatenate([values.mean(axis=-1, keepdims=True), values], axis=-1)


def _gathered(vectors: Any, culture: IntArray, scenario: IntArray) -> _Answers:
    """Answers that are sorted by scenario, with `nearby`."""
    parts = [np.flatnonzero(scenario == s) for s in range(int(scenario.max()) + 1)]
    k = int(culture.max()) + 1
    nearby = [(vectors[p] @ _by_culture(vectors[p], culture[p], k).T).toarray() for p in parts]
    return _Answers(vectors, culture, scenario, np.concatenate(nearby))


def _exchanged(answers: _Answers, generator: np.random.Generator) -> _Answers:
    """Within each scenario the cultures that answered it are exchanged, with all their answers to it."""
    k = answers.nearby.shape[1]
    new = np.tile(np.arange(k), (int(answers.scenario.max()) + 1, 1))
    for s, row in enumerate(new):
        present = np.unique(answers.culture[answers.scenario == s])
        row[present] = generator.permutation(present)
    same = np.take_along_axis(answers.nearby, np.argsort(new, axis=1)[answers.scenario], axis=1)
    return answers._replace(culture=new[answers.scenario, answers.culture], nearby=same)


def _by_culture(vectors: Any, culture: IntArray, k: int | None = None) -> Any:
    """[k, words] sums of the vectors of each culture's answers."""
    n = culture.size
    shape = (k or int(culture.max()) + 1, n)
    return csr_array((np.ones(n), (culture, np.arange(n))), shape=shape) @ vectors


def _by_cell(values: FloatArray, culture: IntArray, scenario: IntArray) -> FloatArray:
    """[scenarios, k] sums of values [n]."""
    table = np.zeros((int(scenario.max()) + 1, int(culture.max()) + 1))
    np.add.at(table, (scenario, culture), values)
    return table


def _vectors(distinct: Sequence[Sequence[str]]) -> Any:
    """[n, words] of the answers' distinct words; an answer without words, or of words that all have, is 0."""
    counts = Counter(word for answer in distinct for word in answer)
    place = {word: i for i, word in enumerate(sorted(counts))}
    weights = np.log(len(distinct) / np.array([counts[word] for word in place]))
    rows = np.repeat(np.arange(len(distinct)), [len(answer) for answer in distinct])
    columns = np.array([place[word] for answer in distinct for word in answer], dtype=np.intp)
    lengths = np.sqrt(np.bincount(rows, weights[columns] ** 2, len(distinct)))
    values = weights[columns] / np.where(lengths > 0, lengths, 1.0)[rows]
    return csr_array((values, (rows, columns)), shape=(len(distinct), len(place)))
