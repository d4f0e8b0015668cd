"""Recognition of personas by their wording: a measure of stereotyping without judge or list.

A model that answers every dilemma in set phrases of a country is recognised by them. WorldWise (2024) counts
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

# Similarities that differ only by rounding are equal.
_ROUNDING = 1e-9


class Recognition(NamedTuple):
    """Recognition of the persona from answers; see `persona_recognition`.

    cultures: [k] codes of the compared cultures, ascending; n: [k] numbers of their answers. The other fields
    have 1 + k entries: the mean over cultures, then each culture. value: range [-1/(k - 1), 1], higher is
    easier to recognise, 0: at chance, 1: every answer. p_value: of the mean; never 0. variety: mean distance
    between two answers of a culture to different scenarios, range [0, 1], 0: the same words, 1: no word in
    common; between: mean distance between an answer of the culture and one of another.
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
    """n answers of k cultures, with codes from 0.

    vectors: [n, words]; nearby: [n, k] sum of an answer's cosines with each culture's answers to the same
    scenario, itself included.
    """

    vectors: Any  # csr_array, whose products have no types
    culture: IntArray
    scenario: IntArray
    nearby: FloatArray


def persona_recognition(
    words: Sequence[Sequence[str]], cultures: IntArray, scenarios: IntArray, permutations: int, seed: int
) -> Recognition | None:
    """Return how often the persona is recognised from an answer's wording, given the answers to all other
    scenarios.

    words: words of n answers without names of countries (`stereotypes.bare_words`); cultures, scenarios: n
    codes.

    An answer is a vector of length 1 of its distinct words, weighted by log(n / answers with the word). It is
    assigned to the culture whose answers to the other scenarios, summed, have the highest cosine with it
    (nearest centroid: Manning, Raghavan and Schütze 2008, chapter 14); a tie of m cultures counts 1/m. Words
    of the dilemma itself do not help, because no answer to it is used. The value is (a - 1/k) / (1 - 1/k),
    with a the mean over cultures of the share recognised.

    The null exchanges cultures within each scenario, with all their answers to it. The value then has the
    expectation 0, and the p-value keeps its level exactly, whatever the texts. The 95 % intervals of shares
    are over scenarios, and wider by the root of 2, because a scenario's answers are both recognised and used
    to recognise others; those of variety are a jackknife over scenarios. In simulations with 3 to 5 cultures,
    5 to 12 scenarios and 0 to 95 % recognised, their coverage is .94 to 1; more scenarios were not simulated.

    A high value means that a culture's answers use the same words across unrelated dilemmas. With a variety
    well below `between` these are set phrases, like stereotypes; with a variety near it, a few marks (a
    currency, a city). The value does not show whether the wording is false or unfair, or how people there
    speak; a persona that expresses its culture well is recognised too. So it compares models; there is no
    good value. Words need spaces between them. Names of cities and continents stay, and in the culture's own
    language every answer is recognised.

    None unless two cultures have answers to five scenarios; other cultures are left out. The result does not
    depend on the order of the answers. Raises ValueError for lengths that differ.
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
    # Sorted so that sums are always rounded in the same way.
    members.sort(key=lambda i: (scenarios[i], cultures[i], distinct[i]))
    culture = np.searchsorted(codes, cultures[members])
    scenario = np.unique(scenarios[members], return_inverse=True)[1]
    answers = _with_nearby(_vectors([distinct[i] for i in members]), culture, scenario)
    credit, other_cosines = _recognition_credits(answers)
    n = np.bincount(culture)
    shares = np.bincount(culture, credit) / n
    value = (_prepend_mean(shares) - 1 / k) / (1 - 1 / k)
    generator = np.random.Generator(np.random.PCG64(seed))
    exchanged_answers = (_exchanged(answers, generator) for _ in range(permutations))
    null = [
        np.mean(np.bincount(a.culture, _recognition_credits(a)[0]) / np.bincount(a.culture))
        for a in exchanged_answers
    ]
    weight = (credit.size / (k * n))[culture]  # makes the mean over answers equal that over cultures
    parts = [(credit * weight, scenario, float(weight.max()))]
    parts += [(credit[culture == c], scenario[culture == c], 1.0) for c in range(k)]
    variety, variety_left_out, between = _variety(answers, other_cosines)
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
        [jackknife_interval(float(v), variety_left_out[:, i], (0.0, 1.0)) for i, v in enumerate(variety)],
        between,
    )


def _recognition_credits(answers: _Answers) -> tuple[FloatArray, FloatArray]:
    """Return [n] credit of each answer, 1 if recognised, and [n, k] sum of its cosines with each culture's
    answers to other scenarios.
    """
    vectors, culture, scenario, nearby = answers
    rows = np.arange(culture.size)
    total = _culture_sums(vectors, culture)
    similar: FloatArray = vectors @ np.ascontiguousarray(total.toarray().T)
    # |total - part|^2 for the culture's other scenarios, where part is its sum in this scenario.
    crossed = _cell_sums(nearby[rows, culture] - 2 * similar[rows, culture], culture, scenario)
    lengths = np.sqrt(np.maximum(total.multiply(total).sum(axis=1) + crossed, _ROUNDING))
    other_cosines = similar - nearby
    cosines = other_cosines / lengths[scenario]
    nearest = cosines >= cosines.max(axis=1, keepdims=True) - _ROUNDING
    return nearest[rows, culture] / nearest.sum(axis=1), other_cosines


def _variety(answers: _Answers, other_cosines: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return [1 + k] variety, [scenarios, 1 + k] variety without each scenario, and [1 + k] between.

    other_cosines: [n, k] from `_recognition_credits`.
    """
    culture, scenario = answers.culture, answers.scenario
    own_cosines = other_cosines[np.arange(culture.size), culture]
    sizes, cosine_sums = (_cell_sums(v, culture, scenario) for v in (np.ones(culture.size), own_cosines))
    total = sizes.sum(axis=0)
    pairs = np.outer(total, total) - sizes.T @ sizes
    n_own, n_other = np.diag(pairs), pairs.sum(axis=1) - np.diag(pairs)
    other_culture_cosines = np.bincount(culture, other_cosines.sum(axis=1) - own_cosines)
    # Each pair of scenarios is counted from both sides.
    left_out = 1 - (cosine_sums.sum(axis=0) - 2 * cosine_sums) / (n_own - 2 * sizes * (total - sizes))
    return (
        _prepend_mean(1 - cosine_sums.sum(axis=0) / n_own),
        _prepend_mean(left_out),
        _prepend_mean(1 - other_culture_cosines / n_other),
    )


def _widened(value: float, interval: Interval, k: int) -> Interval:
    """Return the widened interval of a recognised share of k cultures, scaled as in `Recognition`."""
    if interval is None:
        return None
    low, high = ((share - 1 / k) / (1 - 1 / k) for share in interval)
    root = math.sqrt(2)
    return max(-1 / (k - 1), value - root * (value - low)), min(1.0, value + root * (high - value))


def _prepend_mean(values: FloatArray) -> FloatArray:
    """Return values with their mean prepended on the last axis."""
    return np.concatenate([values.mean(axis=-1, keepdims=True), values], axis=-1)


def _with_nearby(vectors: Any, culture: IntArray, scenario: IntArray) -> _Answers:
    """Return answers, sorted by scenario, with `nearby`."""
    parts = [np.flatnonzero(scenario == s) for s in range(int(scenario.max()) + 1)]
    k = int(culture.max()) + 1
    nearby = [(vectors[p] @ _culture_sums(vectors[p], culture[p], k).T).toarray() for p in parts]
    return _Answers(vectors, culture, scenario, np.concatenate(nearby))


def _exchanged(answers: _Answers, generator: np.random.Generator) -> _Answers:
    """Return answers with cultures exchanged within each scenario, with all their answers to it."""
    k = answers.nearby.shape[1]
    assigned = np.tile(np.arange(k), (int(answers.scenario.max()) + 1, 1))
    for s, row in enumerate(assigned):
        present = np.unique(answers.culture[answers.scenario == s])
        row[present] = generator.permutation(present)
    nearby = np.take_along_axis(answers.nearby, np.argsort(assigned, axis=1)[answers.scenario], axis=1)
    return answers._replace(culture=assigned[answers.scenario, answers.culture], nearby=nearby)


def _culture_sums(vectors: Any, culture: IntArray, k: int | None = None) -> Any:
    """Return [k, words] sums of the vectors of each culture's answers."""
    n = culture.size
    shape = (k or int(culture.max()) + 1, n)
    return csr_array((np.ones(n), (culture, np.arange(n))), shape=shape) @ vectors


def _cell_sums(values: FloatArray, culture: IntArray, scenario: IntArray) -> FloatArray:
    """Return [scenarios, k] sums of values [n]."""
    table = np.zeros((int(scenario.max()) + 1, int(culture.max()) + 1))
    np.add.at(table, (scenario, culture), values)
    return table


def _vectors(distinct: Sequence[Sequence[str]]) -> Any:
    """Return [n, words] vectors of the answers' distinct words; 0 for an answer without telling words."""
    counts = Counter(word for answer in distinct for word in answer)
    place = {word: i for i, word in enumerate(sorted(counts))}
    weights = np.log(len(distinct) / np.array([counts[word] for word in place]))
    rows = np.repeat(np.arange(len(distinct)), [len(answer) for answer in distinct])
    columns = np.array([place[word] for answer in distinct for word in answer], dtype=np.intp)
    lengths = np.sqrt(np.bincount(rows, weights[columns] ** 2, len(distinct)))
    values = weights[columns] / np.where(lengths > 0, lengths, 1.0)[rows]
    return csr_array((values, (rows, columns)), shape=(len(distinct), len(place)))
