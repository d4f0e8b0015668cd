"""Scores without any knowledge: uniform, constant, shuffled, and the reference list itself.

A result that one of these also reaches is not a finding. All baselines here are ours.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from tasks.metrics._arrays import as_table
from tasks.metrics.types import CATEGORIES, BoolArray, Category, FloatArray

# Rows come from a softmax in float64 or are stored in float32: this admits both and no unnormalised row.
_SUM_TOLERANCE = 1e-4


def uniform_category_f1(
    true_by_domain: Sequence[Category], questions_per_domain: Sequence[int], draws: int, seed: int
) -> dict[Category, FloatArray]:
    """F1 of giving each domain one category uniformly at random, the same for all its questions.

    true_by_domain: d human labels; questions_per_domain: d numbers of scored questions; draws: how many
    random predictions. Returns the F1 of each of them, in [0, 1], by class present in truth; macro-F1 is the
    mean over the classes. A model that 2.5 % of them reach is not told from guessing. Depends on nothing but
    the arguments.
    """
    truth, weight = np.array(true_by_domain), np.asarray(questions_per_domain)
    if draws < 1 or not truth.size or (weight < 0).any() or not weight.any():
        raise ValueError("a random prediction needs draws, domains and questions, one of each at least")
    generator = np.random.Generator(np.random.PCG64(seed))
    guess = np.array(CATEGORIES)[
        generator.integers(0, len(CATEGORIES), size=(draws, truth.size), dtype=np.intp)
    ]
    scores: dict[Category, FloatArray] = {}
    for label in sorted(set(true_by_domain)):
        is_true = (truth == label) & (weight > 0)
        if is_true.any():
            hits = (guess[:, is_true] == label) @ weight[is_true]
            scores[label] = 2 * hits / (weight[is_true].sum() + (guess == label) @ weight)
    return scores


def shuffle_countries(h: ArrayLike, rng: np.random.Generator) -> FloatArray:
    """H with its rows dealt out to countries at random: a model that confuses all countries.

    h: n x t. Returns n x t float64. By construction ER and SR do not change, because they ignore which row
    belongs to which country. So macro-F1 cannot distinguish a model from one that confuses all countries,
    which this row shows. Numbers that know the country (`reference_mass`, `consensus.mantel` against an
    outside map) do fall.
    """
    table = as_table(h, None)
    return table[rng.permutation(len(table))]


def list_frequency(n_countries: int, membership: ArrayLike) -> FloatArray:
    """H of a plain look-up in the reference list: no model at all.

    membership: n x t booleans, which country the list has which item for. Returns n x t float64, rows summing
    to 1:

        p(i | c) = (membership[c, i] + frequency[i]) / sum over items of the same,

    where frequency[i] is the share of countries that the list has item i for: the country's own items at
    equal weight, mixed with what is common everywhere. A country without items of its own has the frequencies
    alone; a list that names no country at all (house numbers) gives uniform rows. A model that does not beat
    this null knows the macrostructure no better than the list.
    """
    member = _membership(membership)
    if len(member) != n_countries:
        raise ValueError(f"membership has {len(member)} rows for {n_countries} countries")
    if not member.any():
        return np.full(member.shape, 1.0 / member.shape[1])
    weights: FloatArray = member + member.mean(axis=0)
    weights /= weights.sum(axis=1, keepdims=True)
    return weights


def reference_mass(h: ArrayLike, membership: ArrayLike) -> tuple[FloatArray, BoolArray]:
    """Probability that a country's row puts on the items the reference list has for that country.

    h: n x t distributions; membership: n x t booleans. Returns (values, scored): scored is n booleans, False
    for a country without items on the list; values has one entry for each scored country, in order, so that
    no placeholder can slip into a mean. Range [0, 1]; higher is better; 1: nothing but the country's own
    items; 0: none of them. Compare with `reference_mass_null`. Raises ValueError for rows that do not sum to
    1.
    """
    table, member = _distributions_and_membership(h, membership)
    return _own_mass(table, member)


def reference_mass_null(h: ArrayLike, membership: ArrayLike) -> tuple[FloatArray, BoolArray]:
    """Expected `reference_mass` of each country if it were given another country's row at random.

    Arguments, result and range as `reference_mass`. Exact, without sampling: the mean over the n - 1 other
    countries' rows of their mass on this country's items. A `reference_mass` at this level knows what is
    eaten in the world, not where. Raises ValueError for fewer than two countries, or as `reference_mass`.
    """
    table, member = _distributions_and_membership(h, membership)
    n = len(table)
    if n < 2:
        raise ValueError("a shuffle of countries needs two countries at least")
    mean_of_others = (table.sum(axis=0) - table) / (n - 1)
    return _own_mass(mean_of_others, member)


def _own_mass(table: FloatArray, member: BoolArray) -> tuple[FloatArray, BoolArray]:
    """Each row's sum over its own items, for the rows that have any; and which rows those are."""
    scored: BoolArray = np.count_nonzero(member, axis=1) > 0
    mass: FloatArray = np.where(member, table, 0.0).sum(axis=1)
    return mass[scored], scored


def _membership(membership: ArrayLike) -> BoolArray:
    member = np.asarray(membership, dtype=np.bool_)
    if member.ndim != 2 or 0 in member.shape:
        raise ValueError(f"membership must be a non-empty n x t table, got shape {member.shape}")
    return member


def _distributions_and_membership(h: ArrayLike, membership: ArrayLike) -> tuple[FloatArray, BoolArray]:
    table, member = as_table(h, None), _membership(membership)
    if table.shape != member.shape:
        raise ValueError(f"h has shape {table.shape} and membership {member.shape}: they must be the same")
    off = np.flatnonzero(~(np.abs(table.sum(axis=1) - 1.0) <= _SUM_TOLERANCE) | (table < 0).any(axis=1))
    if off.size:
        raise ValueError(f"row {off[0]} is not a distribution: it sums to {table[off[0]].sum()}")
    return table, member
