"""Rank sets: the ranks of models that the data allow, simultaneously over all pairs.

A model's rank is 1 plus the number of models that are truly better. A rank set is every rank between 1 plus
the number of models that a test finds better and the number of models less those that it finds worse. If no
test is wrong in its direction, all rank sets contain all true ranks (Mogstad, Romano, Shaikh and Wilhelm
2024). The tests are the paired ones of `comparison`, and Holm's correction over all pairs keeps the chance of
a wrong one at 5 %. docs/intervals.md has the simulated coverage, and why the tests are these and not a
bootstrap.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr

from tasks.metrics.comparison import LEVEL, holm
from tasks.metrics.intervals import MIN_CLUSTERS, degrees_of_freedom
from tasks.metrics.types import BoolArray, FloatArray, IntArray

FEW = 30
"""Number of clusters below which rare scores may be missing from a sample, as for
`intervals.mean_interval`.
"""

# A standard error below this share of the value's size is rounding, as in `comparison`.
_ROUNDING = 1e-12


class RankSet(NamedTuple):
    """Best and worst rank that the data allow a model, from 1 (best)."""

    low: int
    high: int


class PairTests(NamedTuple):
    """Tests of all pairs of k models, each a k x k array.

    difference: the row's model minus the column's, NaN if they share no item; p_value: two-sided, NaN if
    there is no test; n_clusters: number of clusters in which both have an item.
    """

    difference: FloatArray
    p_value: FloatArray
    n_clusters: IntArray

    @classmethod
    def none(cls, k: int) -> PairTests:
        """Return arrays for k models of which no two are tested."""
        return cls(np.full((k, k), np.nan), np.full((k, k), np.nan), np.zeros((k, k), dtype=np.intp))


def rank_sets(difference: ArrayLike, p_value: ArrayLike, level: float = LEVEL) -> list[RankSet]:
    """Return the rank sets of k models, in their order.

    difference: k x k, above 0 if the row's model is better, so that it is antisymmetric; p_value: k x k,
    two-sided and symmetric; NaN in either for a pair without a test, which separates nothing and counts in
    Holm's correction like any other. A pair is apart if its adjusted p is below `level`. A model without any
    test has the set from 1 to k. Raises ValueError for arrays that are not square, of one shape, or not
    (anti)symmetric.
    """
    apart, p = np.asarray(difference, dtype=np.float64), np.asarray(p_value, dtype=np.float64)
    k = len(apart)
    if apart.shape != (k, k) or p.shape != (k, k):
        raise ValueError(f"differences of shape {apart.shape}, p-values of shape {p.shape}: both k x k")
    if not (np.array_equal(apart, -apart.T, equal_nan=True) and np.array_equal(p, p.T, equal_nan=True)):
        raise ValueError("differences must be antisymmetric and p-values symmetric")
    first, second = np.triu_indices(k, 1)
    pairs = np.where(np.isnan(apart) | np.isnan(p), 1.0, p)[first, second]
    is_better = np.zeros((k, k), dtype=np.bool_)
    rejected = holm(pairs) < level
    for one, two in zip(first[rejected], second[rejected], strict=True):
        is_better[one, two], is_better[two, one] = apart[one, two] > 0, apart[one, two] < 0
    n_better, n_worse = is_better.sum(axis=0), is_better.sum(axis=1)
    return [RankSet(1 + int(over), k - int(under)) for over, under in zip(n_better, n_worse, strict=True)]


def can_separate(tests: PairTests) -> bool:
    """Return whether any two models have enough clusters in common for a test; else every rank is
    possible.
    """
    return bool((tests.n_clusters >= MIN_CLUSTERS).any())


def mean_pair_tests(values: ArrayLike, clusters: ArrayLike | None = None) -> PairTests:
    """Return the tests of all pairs of means of k models over m items, as `comparison.mean_difference` has
    them.

    values: m x k, NaN where a model has no score; clusters: m labels, by default one per item. A pair is
    tested on the items that both have. No p-value below `MIN_CLUSTERS` clusters, or if all items differ by
    the same, unless by 0; and, below `FEW` clusters, none for a model whose scores are all equal: eight
    answers that are all right do not show how often it fails. Raises ValueError for shapes that do not fit.
    """
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError(f"expected items x models, got shape {table.shape}")
    m, k = table.shape
    names = np.arange(m) if clusters is None else np.asarray(clusters)
    if names.shape != (m,):
        raise ValueError(f"{names.shape} clusters for {m} items: one each")
    code = np.unique(names, return_inverse=True)[1]
    order = np.argsort(code, kind="stable")
    table, code = table[order], code[order]
    starts = np.flatnonzero(np.diff(code, prepend=-1))
    is_known = ~np.isnan(table)
    known = np.where(is_known, table, 0.0)
    tests = PairTests.none(k)
    for one in range(k - 1):
        others = np.arange(one + 1, k)
        common = is_known[:, [one]] & is_known[:, others]
        points = np.where(common, known[:, [one]] - known[:, others], 0.0)
        of_pair = _tests(points, common, starts)
        for table_of, cells, sign in zip(tests, of_pair, (-1, 1, 1), strict=True):
            table_of[one, others], table_of[others, one] = cells, sign * cells
    lowest, highest = (np.where(is_known, table, end).T for end in (np.inf, -np.inf))
    is_constant = lowest.min(axis=1, initial=np.inf) >= highest.max(axis=1, initial=-np.inf)
    is_doubtful = (is_constant[:, None] | is_constant) & (tests.n_clusters < FEW)
    tests.p_value[is_doubtful & (tests.p_value < 1)] = np.nan
    return tests


def _tests(
    points: FloatArray, common: BoolArray, starts: IntArray
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return mean, p-value and number of clusters with a common item of each column of differences.

    points: m x q, 0 where `common` is false; starts: first row of each cluster.
    """
    if not len(points):
        empty = np.full(points.shape[1], np.nan)
        return empty, empty.copy(), np.zeros(points.shape[1], dtype=np.intp)
    sizes = np.add.reduceat(common, starts, axis=0, dtype=np.float64)
    totals = np.add.reduceat(points, starts, axis=0)
    n, g = sizes.sum(axis=0), (sizes > 0).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean, share = totals.sum(axis=0) / n, sizes / n
        error = np.sqrt(((totals - sizes * mean) ** 2 / (1 - share)).sum(axis=0)) / n
        is_tested = (g >= MIN_CLUSTERS) & (error > _ROUNDING * np.maximum(1.0, np.abs(mean)))
        p_value = np.where(is_tested, 2 * stdtr(_degrees(share, is_tested), -np.abs(mean) / error), np.nan)
    same = (points == 0).all(axis=0) & (n > 0)
    return mean, np.where(same, 1.0, p_value), g.astype(np.intp)


def _degrees(share: FloatArray, is_tested: BoolArray) -> FloatArray:
    """Return the degrees of freedom of each tested column; one calculation if no answer is lost."""
    tested = np.flatnonzero(is_tested)
    degrees = np.ones(share.shape[1])
    if tested.size and (share[:, tested] == share[:, tested[:1]]).all():
        degrees[tested] = degrees_of_freedom(share[:, tested[0]])
    else:
        degrees[tested] = [degrees_of_freedom(share[:, column]) for column in tested]
    return degrees
