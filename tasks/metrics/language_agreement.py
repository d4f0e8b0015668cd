"""Agreement of the maps of countries that several languages give, and tests of it and of a language's gain.

A map is the matrix of similarities between countries. Sources: Mantel (1967), "The detection of disease
clustering", for the permutation of countries; Westfall and Young (1993), "Resampling-based multiple testing",
for the largest of several standardised statistics; Satterthwaite (1946) for the degrees of freedom.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata, t

from tasks.metrics.agreement import pearson
from tasks.metrics.types import FloatArray, IntArray, Interval, as_pair, as_square

PERMUTATIONS = 999
"""Random orders of the countries in each language; the smallest p is 1 / (1 + PERMUTATIONS)."""

_CONSTANT = 1e-12
"""Spread of cosines, beside their size, that is rounding."""


def map_agreement(maps: Sequence[ArrayLike | None]) -> FloatArray:
    """Spearman's correlation between the off-diagonal similarities of every two maps.

    maps: of l languages, n x n each over the same countries in one order; None: the language has no map.
    Returns l x l float64, range [-1, 1], diagonal 1. 1: countries are alike in the same order of pairs; 0:
    unrelated, the mean over all orders of the countries of either map. NaN for a language without a map, for
    fewer than 3 countries, or if all similarities of a map are equal.
    """
    rows = [None if one is None else _ranks(as_square(one)) for one in maps]
    found = np.full((len(rows), len(rows)), np.nan)
    there = [place for place, row in enumerate(rows) if row is not None]
    if there:
        table = np.array([rows[place] for place in there])
        found[np.ix_(there, there)] = np.clip(table @ table.T, -1.0, 1.0)
    return found


def mean_pair(agreement: ArrayLike) -> float | None:
    """Mean over all pairs of languages, and all domains, that have an agreement.

    agreement: [..., l, l] of ``map_agreement``. None if there is no pair.
    """
    table = np.asarray(agreement, dtype=np.float64)
    first, second = np.triu_indices(table.shape[-1], k=1)
    pairs = table[..., first, second]
    known = pairs[~np.isnan(pairs)]
    return float(known.mean()) if known.size else None


def spearman(x: ArrayLike, y: ArrayLike) -> float | None:
    """Spearman's rho of n values, infinity allowed; range [-1, 1]. None if a side does not vary."""
    left, right = as_pair(x, y)
    return pearson(rankdata(left), rankdata(right))


class MapTest(NamedTuple):
    """One-sided p-values of "the maps agree no more than if the countries of each language were shuffled".

    overall: of the mean over domains and pairs; None without a pair. pairs: [l, l] of the mean over domains
    of each pair of languages, adjusted for all pairs; NaN where there is none.
    """

    overall: float | None
    pairs: FloatArray


def map_test(maps: Sequence[Sequence[ArrayLike | None]], seed: int) -> MapTest:
    """Test the agreement of languages by shuffling the countries of each, all its domains alike.

    maps: by domain, then language, as in ``map_agreement``. The p of a pair is that of the largest
    standardised mean among all pairs (single-step maxT), so a family of any size can reject: the smallest p
    is 1 / (1 + PERMUTATIONS).
    """
    ranks = [[None if one is None else _rank_matrix(as_square(one)) for one in domain] for domain in maps]
    sizes = {len(matrix) for domain in ranks for matrix in domain if matrix is not None}
    n_languages = len(maps[0]) if maps else 0
    first, second = np.triu_indices(n_languages, k=1)
    observed = _pair_means(ranks, None)[first, second] if sizes else np.full(first.size, np.nan)
    pairs = np.full((n_languages, n_languages), np.nan)
    known = ~np.isnan(observed)
    if not known.any():
        return MapTest(None, pairs)
    n, rng = sizes.pop(), np.random.Generator(np.random.PCG64(seed))
    drawn = np.array(
        [
            _pair_means(ranks, [rng.permutation(n) for _ in range(n_languages)])[first, second][known]
            for _ in range(PERMUTATIONS)
        ]
    )
    scale = drawn.std(axis=0)
    scale[scale == 0] = np.inf
    largest = (drawn / scale).max(axis=1)
    p_values = [_p(largest, value) for value in observed[known] / scale]
    pairs[first[known], second[known]] = pairs[second[known], first[known]] = p_values
    return MapTest(_p(drawn.mean(axis=1), float(observed[known].mean())), pairs)


class Gain(NamedTuple):
    """Mean of strata's means, its 95 % interval and two-sided p; both None if they would be unreliable."""

    value: float
    interval: Interval
    p_value: float | None


def stratified_gain(values: Sequence[ArrayLike]) -> Gain:
    """Return the mean over fixed strata of the mean over the random units in each, tested against 0.

    values: by stratum, the differences of its units: of a domain, those of its wordings. The variance is that
    within strata, with Satterthwaite's degrees of freedom, at most half of all: with three units in each of
    four strata and Holm over 50 countries, more would reject too often. Strata themselves are not resampled.
    No interval and no p if a stratum has a single unit or nothing varies. Raises ValueError without a
    stratum.
    """
    strata = [np.asarray(own, dtype=np.float64) for own in values]
    if not strata or any(own.ndim != 1 or not own.size for own in strata):
        raise ValueError("a gain needs strata, each with at least one unit")
    mean = float(np.mean([own.mean() for own in strata]))
    if any(own.size < 2 for own in strata):
        return Gain(mean, None, None)
    parts = np.array([own.var(ddof=1) / own.size for own in strata]) / len(strata) ** 2
    variance = float(parts.sum())
    if variance <= (_CONSTANT * max(float(np.abs(own).max()) for own in strata)) ** 2:
        return Gain(mean, None, None)
    free = np.array([own.size - 1 for own in strata])
    df = min(variance**2 / float(np.sum(parts**2 / free)), float(free.sum()) / 2)
    error = math.sqrt(variance)
    half = float(t.ppf(0.975, df)) * error
    return Gain(mean, (mean - half, mean + half), 2 * float(t.sf(abs(mean) / error, df)))


def _ranks(matrix: FloatArray) -> FloatArray | None:
    """Return centred ranks of the off-diagonal entries, of length 1; None if fewer than 3, or all equal."""
    values = matrix[np.triu_indices(len(matrix), k=1)]
    if values.size < 3 or np.ptp(values) <= _CONSTANT * max(float(np.abs(values).max()), 1.0):
        return None
    ranks = rankdata(values)
    ranks -= ranks.mean()
    unit: FloatArray = ranks / np.linalg.norm(ranks)
    return unit


def _rank_matrix(matrix: FloatArray) -> FloatArray | None:
    """Return [n, n] with ``_ranks`` off the diagonal and 0 on it."""
    ranks = _ranks(matrix)
    if ranks is None:
        return None
    square: FloatArray = np.zeros_like(matrix)
    square[np.triu_indices(len(matrix), k=1)] = ranks
    return square + square.T


def _pair_means(
    ranks: Sequence[Sequence[FloatArray | None]], orders: Sequence[IntArray] | None
) -> FloatArray:
    """Return [l, l] means over domains of the correlations of ``_rank_matrix``; NaN without a domain.

    orders: of each language's countries.
    """
    n_languages = len(ranks[0])
    total, count = np.zeros((n_languages, n_languages)), np.zeros((n_languages, n_languages))
    for domain in ranks:
        there = [place for place, matrix in enumerate(domain) if matrix is not None]
        if not there:
            continue
        rows = []
        for place in there:
            matrix = domain[place]
            assert matrix is not None
            rows.append((matrix if orders is None else matrix[np.ix_(orders[place], orders[place])]).ravel())
        table, among = np.array(rows), np.ix_(there, there)
        total[among] += table @ table.T / 2  # each pair of countries is there twice
        count[among] += 1
    means: FloatArray = np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)
    return means


def _p(drawn: FloatArray, value: float) -> float:
    """Return the share of draws, and the value itself, that are at least the value."""
    return (1 + int(np.count_nonzero(drawn >= value - _CONSTANT))) / (1 + drawn.size)
