"""Scores without knowledge: uniform, constant and shuffled answers, and the reference list itself.

A result that one of these reaches too is not a finding. All baselines here are ours.
"""

from collections import Counter
from collections.abc import Callable, Collection, Sequence

import numpy as np
from numpy.typing import ArrayLike

from tasks.metrics.types import CATEGORIES, BoolArray, Category, FloatArray, as_table

# Rows come from a softmax in float64 or are stored in float32: the tolerance admits both, but no unnormalised
# row.
_SUM_TOLERANCE = 1e-4


OptionNull = Sequence[Sequence[Sequence[int]]]
"""A null model that chooses options: for each of its ways, the options that it draws from for each item."""


def option_nulls(
    lengths: Sequence[Sequence[int]],
    right: Sequence[Collection[int]],
    texts: Sequence[Sequence[str]] = (),
    clusters: Sequence[str] = (),
) -> dict[str, OptionNull]:
    """Return null models that see an item's options and no question, by name.

    chance: any option. longest, shortest: an option of most or fewest letters. position: has a way for each
    position, that option of every item, or the last if an item has fewer; the other models have one way.
    popular: the option whose text is right most often in items of other clusters, such as "unknown"; left out
    if there are no texts.

    Args:
        lengths: letters of each item's options, at least one. right: indexes of the right ones.
        texts: the options for comparing; equal ones are the same answer. clusters: of each item.
    """
    nulls: dict[str, OptionNull] = {
        "position": [
            [[min(place, len(own) - 1)] for own in lengths] for place in range(max(map(len, lengths)))
        ],
        "longest": [[_greatest(own) for own in lengths]],
        "shortest": [[_greatest([-length for length in own]) for own in lengths]],
        "chance": [[range(len(own)) for own in lengths]],
    }
    if texts:
        golds = [
            {own[place] for place in places if 0 <= place < len(own)}
            for own, places in zip(texts, right, strict=True)
        ]
        everywhere = Counter(text for own in golds for text in own)
        here = Counter((cluster, text) for cluster, own in zip(clusters, golds, strict=True) for text in own)
        elsewhere = (
            [everywhere[text] - here[cluster, text] for text in own]
            for cluster, own in zip(clusters, texts, strict=True)
        )
        nulls["popular"] = [[_greatest(own) for own in elsewhere]]
    return nulls


def share_right(null: OptionNull, right: Sequence[Collection[int]]) -> FloatArray:
    """Return [items, ways] in [0, 1]: the probability that the option that a null model draws is right."""
    return np.array(
        [
            [sum(p in own for p in places) / len(places) for places, own in zip(way, right, strict=True)]
            for way in null
        ]
    ).T


def best_way(
    values: FloatArray, mean: Callable[[FloatArray], float | None], direction: int = 1
) -> FloatArray:
    """Return [items]: a null model's scores in the way that is best by a mean over the items of interest.

    Args:
        values: [items], or [items, ways]. direction: -1 if less is better.
    """
    if values.ndim == 1:
        return values
    return max(values.T, key=lambda own: direction * (mean(own) or 0.0))


def _greatest(numbers: Sequence[int]) -> list[int]:
    return [place for place, number in enumerate(numbers) if number == max(numbers)]


def uniform_category_f1(
    true_by_domain: Sequence[Category], questions_per_domain: Sequence[int], draws: int, seed: int
) -> dict[Category, FloatArray]:
    """Return F1 of random predictions: one uniformly drawn category per domain, for all its questions.

    true_by_domain: d human labels; questions_per_domain: d numbers of scored questions; draws: number of
    random predictions. Returns class present in truth -> F1 of each prediction, in [0, 1]; macro-F1 is the
    mean over the classes. A model whose score at least 2.5 % of them reach is not distinguished from
    guessing. The result depends only on the arguments.
    """
    truth, weight = np.array(true_by_domain), np.asarray(questions_per_domain)
    if draws < 1 or not truth.size or (weight < 0).any() or not weight.any():
        raise ValueError("a random prediction needs at least one draw, one domain and one question")
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
    """Return H with its rows assigned to countries at random: a model that confuses all countries.

    h: n x t. Returns n x t float64. ER and SR do not change, because they ignore which row belongs to which
    country. So this null shows that macro-F1 cannot distinguish a model from one that confuses all countries.
    Numbers that depend on the country (`reference_mass`, `consensus.mantel` against another matrix) do fall.
    """
    table = as_table(h, None)
    return table[rng.permutation(len(table))]


def list_frequency(n_countries: int, membership: ArrayLike) -> FloatArray:
    """Return H of a look-up in the reference list, without a model.

    membership: n x t booleans, whether the list has the item for the country. Returns n x t float64, with
    rows that sum to 1:

        p(i | c) = (membership[c, i] + frequency[i]) / sum over items of the same,

    where frequency[i] is the share of countries for which the list has item i: the country's own items with
    equal weight, mixed with items that are common everywhere. A country without items has the frequencies
    alone; a list without countries (house numbers) gives uniform rows. A model that does not beat this null
    knows the macrostructure no better than the list.
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
    """Probability of the items that the reference list has for a country, in that country's row.

    h: n x t distributions; membership: n x t booleans. Returns (values, scored): scored is n booleans, False
    for a country without items on the list; values has one entry for each scored country, in order, so that
    no placeholder enters a mean. Range [0, 1]; higher is better; 1: only the country's own items; 0: none of
    them. Compare with `reference_mass_null`. Raises ValueError for rows that do not sum to 1.
    """
    table, member = _distributions_and_membership(h, membership)
    return _own_mass(table, member)


def reference_mass_null(h: ArrayLike, membership: ArrayLike) -> tuple[FloatArray, BoolArray]:
    """Expected `reference_mass` of each country with a random other country's row.

    Arguments, result and range as in `reference_mass`. It is exact, without sampling: the mean over the n - 1
    other countries' rows of their mass on this country's items. A model at this level knows which items
    exist, but not where. Raises ValueError for fewer than two countries, or like `reference_mass`.
    """
    table, member = _distributions_and_membership(h, membership)
    n = len(table)
    if n < 2:
        raise ValueError("a shuffle of countries needs at least two countries")
    mean_of_others = (table.sum(axis=0) - table) / (n - 1)
    return _own_mass(mean_of_others, member)


def _own_mass(table: FloatArray, member: BoolArray) -> tuple[FloatArray, BoolArray]:
    """Return each row's sum over its own items for rows with items, and whether each row has items."""
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
    invalid = np.flatnonzero(~(np.abs(table.sum(axis=1) - 1.0) <= _SUM_TOLERANCE) | (table < 0).any(axis=1))
    if invalid.size:
        raise ValueError(f"row {invalid[0]} is not a distribution: it sums to {table[invalid[0]].sum()}")
    return table, member
