"""Agreement of a model's numbers with people's ranking and with each other, and of raters."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import kendalltau, rankdata, t

from tasks.metrics.intervals import (
    CORRELATION,
    MIN_CLUSTERS,
    UNBOUNDED,
    jackknife,
    jackknife_groups,
    jackknife_interval,
)
from tasks.metrics.types import FloatArray, IntArray, Interval, as_pair, as_table

# Two distinct values make one comparison, which is not a ranking.
_MIN_DISTINCT = 3

# Largest number of points for which a test goes through all orders: 8! are 40,320.
_ALL_ORDERS = 8


@dataclass(frozen=True)
class Correlation:
    """A correlation, or the reason why there is none, and its numbers of points."""

    value: float | None
    reason: str | None
    n_used: int
    n_dropped: int


def pearson(x: FloatArray, y: FloatArray) -> float | None:
    """Pearson's r of two finite vectors; range [-1, 1]. None if a side is constant.

    A side is constant if its spread is below 1e-12 of the values' size: the rounding of equal cosines has
    such a spread, and its correlation would be random.
    """
    dx, dy = x - x.mean(), y - y.mean()
    for values, deviation in ((x, dx), (y, dy)):
        if np.abs(deviation).max() <= 1e-12 * np.abs(values).max():
            return None
    # Scaled to unit size first, so that the squares of very large values cannot overflow.
    dx, dy = dx / np.abs(dx).max(), dy / np.abs(dy).max()
    r = float(dx @ dy / np.sqrt((dx @ dx) * (dy @ dy)))
    return min(1.0, max(-1.0, r))


def rank_agreement(model_values: ArrayLike, human_scores: ArrayLike) -> tuple[float, float] | None:
    """Spearman's rho and Kendall's tau-b between the model's and people's order of domains.

    model_values: m spectral gap ratios, infinity allowed; human_scores: m mean ranks. A human score is LOW
    where answers are common across countries and SR is HIGH there, so the order by descending SR is compared
    with the order by ascending human score. Range [-1, 1] both; 1: the same order; -1: the reverse; 0:
    unrelated. Ties have their average rank in rho and are corrected for in tau-b. None if either side has
    fewer than 3 distinct values. Raises ValueError for a NaN or different lengths. Human scores are from
    table 1 of "Measuring Meta-Cultural Competency" (2025); this number is ours.
    """
    model, human = as_pair(model_values, human_scores)
    if min(np.unique(model).size, np.unique(human).size) < _MIN_DISTINCT:
        return None
    model_rank, human_rank = rankdata(-model), rankdata(human)
    rho = pearson(model_rank, human_rank)
    assert rho is not None  # three distinct ranks vary
    return rho, float(kendalltau(model_rank, human_rank, variant="b").statistic)


def spearman_test(x: ArrayLike, y: ArrayLike) -> tuple[float, float] | None:
    """Spearman's rho of n points with its two-sided p-value.

    x, y: n values each, in the same order; ties have their average rank. rho in [-1, 1]; 1: the same order;
    0: unrelated. Up to 8 points p is exact, also with ties: the share of all n! orders of y with at least
    this |rho|; above it is from the t distribution. With four points p is at least 1 / 12. None for fewer
    than 3 points or if a side does not vary. Raises ValueError for a NaN or different lengths.
    """
    left, right = (rankdata(side) for side in as_pair(x, y))
    rho = pearson(left, right) if left.size >= _MIN_DISTINCT else None
    if rho is None:
        return None
    n = left.size
    if n > _ALL_ORDERS:
        distance = abs(rho) * math.sqrt((n - 2) / max(1 - rho**2, 1e-12))
        return rho, 2 * float(t.sf(distance, n - 2))
    orders = right[np.array(list(permutations(range(n))))]
    # Sums of products of ranks and half ranks are exact.
    products = np.abs(orders @ left - n * left.mean() * right.mean())
    return rho, float(np.mean(products >= abs(left @ right - n * left.mean() * right.mean()) - 1e-9))


def least_spearman_p(n: int) -> float:
    """Return the smallest p that ``spearman_test`` can give for n points without ties: two of n! orders.

    Above 8 points the t distribution has no smallest p: 0.
    """
    return min(1.0, 2 / math.factorial(n)) if n <= _ALL_ORDERS else 0.0


def spearman_interval(rho: float, n: int) -> Interval:
    """Return the 95 % interval of Spearman's rho of n independent points, as in evaluation_agreement.

    rho in [-1, 1]. Bonett and Wright's variance (2000) on Fisher's scale, with the t of n - 2 degrees of
    freedom. For full agreement the variance is that of the next lower possible rho, and rho itself is one
    end. Below ten points the interval is wide and may contain 0 although `spearman_test` rejects 0. None
    below `MIN_CLUSTERS` points.
    """
    if n < MIN_CLUSTERS:
        return None
    max_rho = 1 - 12 / (n**3 - n)
    inner = max(-max_rho, min(max_rho, rho))
    half = float(t.ppf(0.975, n - 2)) * math.sqrt((1 + inner**2 / 2) / (n - 3))
    low, high = math.tanh(math.atanh(inner) - half), math.tanh(math.atanh(inner) + half)
    return (-1.0 if rho == -1 else low), (1.0 if rho == 1 else high)


def er_sr_correlation(
    er: ArrayLike, sr: ArrayLike, method: Literal["spearman", "pearson"] = "spearman"
) -> Correlation:
    """Correlation between one model's ER and SR over all its questions.

    er, sr: m values each; SR may be infinite. Range [-1, 1]; -1 is ideal: the more patterns, the less
    consensus; 0: unrelated. Value None, with a reason, if fewer than 3 points remain or one side does not
    vary.

    Spearman by default: SR runs from 1 to millions, so Pearson's r depends mostly on the largest SR, and an
    infinite SR has a rank but no value. The paper (table 4) does not name its method, presumably Pearson:
    `method="pearson"` compares with it, leaves infinite values out and counts them in n_dropped.
    """
    x, y = as_pair(er, sr)
    if method == "spearman":
        return _correlate(rankdata(x), rankdata(y), n_dropped=0)
    finite = np.isfinite(x) & np.isfinite(y)
    return _correlate(x[finite], y[finite], n_dropped=int(np.count_nonzero(~finite)))


def kendall_w(ranks: ArrayLike) -> float | None:
    """Kendall's coefficient of concordance W (Kendall and Babington Smith 1939), corrected for ties.

    ranks: m raters x n things, each row the ranks or scores of all things by one rater, finite. Range [0, 1],
    higher is better; 1: all give the same order. Random ranks have 1 / m on average, so W looks high for few
    raters; the mean of their pairwise Spearman correlations, (m W - 1) / (m - 1), is then 0.

    None for fewer than two raters or three things, or if a rater gives all things the same rank. Raises
    ValueError for a value that is not finite or another shape.
    """
    table = np.asarray(ranks, dtype=np.float64)
    if table.ndim != 2 or not np.isfinite(table).all():
        raise ValueError(f"expected raters x things, all finite, got shape {table.shape}")
    m, n = table.shape
    if m < 2 or n < _MIN_DISTINCT or (np.ptp(table, axis=1) == 0).any():
        return None
    ranked = rankdata(table, axis=1)
    # Sum of t^3 - t over the ties of all raters; each tie lowers the sum of squared ranks by a twelfth of it.
    ties = 2 * m * n * (n + 1) * (2 * n + 1) - 12 * float((ranked**2).sum())
    totals = ranked.sum(axis=0)
    spread = float(((totals - totals.mean()) ** 2).sum())
    return float(12 * spread / (m**2 * (n**3 - n) - m * ties))


def kendall_w_interval(ranks: ArrayLike) -> Interval:
    """Return the 95 % interval of W for the same number of similar raters; None for fewer than five.

    It is a jackknife over raters, or groups of many raters, of the mean pairwise correlation, which does not
    depend on the number of raters. Its ends are converted to the scale of W.
    """
    table = np.asarray(ranks, dtype=np.float64)
    table = table[np.lexsort(table.T)] if len(table) else table
    m = len(table)

    def correlation(members: IntArray) -> float | None:
        w = kendall_w(table[members])
        return None if w is None else (len(members) * w - 1) / (len(members) - 1)

    estimate = correlation(np.arange(m)) if m > 1 else None
    if estimate is None:
        return None
    ends = jackknife_interval(estimate, map(correlation, jackknife_groups(m, seed=0)), CORRELATION)
    return ends and (max(0.0, (1 + (m - 1) * ends[0]) / m), min(1.0, (1 + (m - 1) * ends[1]) / m))


def fleiss_kappa(counts: ArrayLike) -> float | None:
    """Return Fleiss' kappa (1971): agreement of raters beyond chance, given their use of the categories.

    counts: subjects x categories, number of raters who chose the category; each subject has the same number
    of raters, two or more. Range [-1, 1]; higher is better; 1: they always agree; 0: no more than chance.
    None if all ratings are in one category: agreement is then complete but uninformative. Raises ValueError
    for a negative or fractional count, or a subject with another number of raters.
    """
    table = as_table(counts, None)
    if not ((table >= 0) & (table == np.floor(table))).all() or np.isinf(table).any():
        raise ValueError("counts of ratings must be whole numbers, none negative")
    raters = table.sum(axis=1)
    differing = np.flatnonzero(raters != raters[0])
    if differing.size:
        raise ValueError(
            f"subject {differing[0]} has {raters[differing[0]]:.0f} ratings, subject 0 has {raters[0]:.0f}: "
            "leave out subjects that not all raters rated"
        )
    if raters[0] < 2:
        raise ValueError("agreement needs at least two raters")
    if np.count_nonzero(table.sum(axis=0)) == 1:
        return None
    share = table.sum(axis=0) / table.sum()
    by_chance = float(share @ share)
    agreeing = (table * (table - 1)).sum(axis=1) / (raters[0] * (raters[0] - 1))
    return (float(agreeing.mean()) - by_chance) / (1 - by_chance)


def cohen_kappa(
    first: Sequence[Hashable],
    second: Sequence[Hashable],
    classes: Sequence[Hashable],
    weights: Literal["none", "quadratic"] = "none",
) -> float | None:
    """Cohen's kappa (1960; weighted 1968): agreement of two raters beyond chance, given their class counts.

    first, second: m ratings each, of the same things in the same order; classes: possible ratings, in rising
    order if that matters. weights: cost of a disagreement, always 1 ("none") or the squared distance of the
    two classes ("quadratic"). Range [-1, 1], higher is better; 1: they always agree; 0: no more than chance.

    None if both put everything into the same class, or nothing is rated. Raises ValueError for
    different lengths, a rating that is no class, or a class named twice.
    """
    if len(first) != len(second):
        raise ValueError(f"kappa needs ratings of the same things, got {len(first)} and {len(second)}")
    place = {name: number for number, name in enumerate(classes)}
    if len(place) < len(classes):
        raise ValueError(f"a class is named twice: {list(classes)}")
    unknown = {*first, *second} - place.keys()
    if unknown:
        known = ", ".join(map(repr, classes))
        raise ValueError(f"unknown class {sorted(map(repr, unknown))[0]}; known: {known}")
    observed = np.zeros((len(place), len(place)))
    for a, b in zip(first, second, strict=True):
        observed[place[a], place[b]] += 1
    by_first, by_second = observed.sum(axis=1), observed.sum(axis=0)
    if not np.count_nonzero(by_first + by_second) > 1:
        return None
    distance = np.abs(np.subtract.outer(np.arange(len(place)), np.arange(len(place))))
    cost = distance**2 if weights == "quadratic" else distance > 0
    by_chance = np.outer(by_first, by_second) / observed.sum()
    return 1 - float((cost * observed).sum() / (cost * by_chance).sum())


def _correlate(x: FloatArray, y: FloatArray, n_dropped: int) -> Correlation:
    """Return Pearson's r of the remaining points, or the reason why there is none."""
    if x.size < _MIN_DISTINCT:
        return Correlation(None, f"{x.size} points, {_MIN_DISTINCT} are needed", x.size, n_dropped)
    value = pearson(x, y)
    reason = "ER or SR does not vary" if value is None else None
    return Correlation(value, reason, x.size, n_dropped)


class OppositeOrder(NamedTuple):
    """Agreement of a judge with people on pairs of conversations.

    opposite: share of pairs ordered in opposite ways, among pairs that both sides order; range [0, 1], lower
    is better, 0.5 by chance. tied: share of all pairs in which a side has no difference; they are left out of
    ``opposite``. kappa: Cohen's kappa of the orders before, equal and after over all pairs; None if it is not
    defined. n: number of pairs.
    """

    opposite: float | None
    tied: float
    kappa: float | None
    n: int


def opposite_order(
    people: ArrayLike, judge: ArrayLike, groups: ArrayLike | None = None
) -> OppositeOrder | None:
    """Agreement of a judge and people on the order of pairs (“Measuring meta-cultural competency”, 5.2).

    people, judge: m ratings each of the same conversations, in the same order. groups: m labels; only pairs
    within a group count, such as those that one person rated. None if there is no pair. The paper counts ties
    as aligned: its share is ``opposite * (1 - tied)``. Raises ValueError for a NaN or different lengths.
    """
    first, second = as_pair(people, judge)
    names = np.zeros(first.size) if groups is None else np.asarray(groups)
    if names.shape != first.shape:
        raise ValueError(f"groups of shape {names.shape} for {first.shape} ratings: give one label for each")
    members = (np.flatnonzero(names == name).tolist() for name in np.unique(names))
    pairs = [pair for group in members for pair in combinations(group, 2)]
    if not pairs:
        return None
    orders = [[int(np.sign(side[i] - side[j])) for i, j in pairs] for side in (first, second)]
    both = [(a, b) for a, b in zip(*orders, strict=True) if a and b]
    opposite = sum(a != b for a, b in both) / len(both) if both else None
    kappa = cohen_kappa(orders[0], orders[1], (-1, 0, 1))
    return OppositeOrder(opposite, 1 - len(both) / len(pairs), kappa, len(pairs))


Level: TypeAlias = Literal["nominal", "ordinal", "interval"]


def krippendorff_alpha(ratings: ArrayLike, level: Level) -> float | None:
    """Return 1 - observed / expected disagreement (Krippendorff 2011, "Computing Krippendorff's alpha").

    ratings: units x raters, NaN for a missing rating; a unit with one rating is left out. level: cost of a
    disagreement of two values. "nominal": 1 if they differ; "ordinal": the squared number of ratings between
    them, with half of the ratings at either value; "interval": their squared difference. Range up to 1,
    higher is better; 1: no disagreement; 0: as much as in randomly shuffled ratings; below 0: more than that.
    It does not depend on the order of units or raters.

    None if no unit has two ratings, or all comparable ratings are equal: agreement is then complete but
    uninformative. Raises ValueError for an infinite rating or another shape.

    Few raters and rare values make alpha low even if raters mostly agree; Krippendorff requires 0.8, and
    0.667 for tentative conclusions.
    """
    counts, values = _counts(ratings)
    return _alpha(counts, values, np.ones(len(counts)), level)


def krippendorff_alpha_interval(ratings: ArrayLike, level: Level) -> Interval:
    """Return the 95 % interval of alpha, leaving out each unit with all its ratings (`intervals.jackknife`).

    Arguments as in `krippendorff_alpha`. None for fewer than five comparable units, or if alpha is undefined
    without one of them. It does not depend on the order of units or raters. (Krippendorff's own bootstrap
    draws pairs as if they were independent, and is narrower.)
    """
    counts, values = _counts(ratings)
    counts = counts[np.lexsort(counts.T)] if len(counts) else counts
    return jackknife(
        lambda sample: _alpha(counts[sample], values, np.ones(len(sample)), level),
        np.arange(len(counts)),
        UNBOUNDED,
    )


def _counts(ratings: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return [units with two or more ratings, distinct values] counts, and the values, ascending."""
    table = np.asarray(ratings, dtype=np.float64)
    if table.ndim != 2 or np.isinf(table).any():
        raise ValueError(
            f"expected a table of units x raters, finite or NaN where missing, got shape {table.shape}"
        )
    table = table[np.count_nonzero(~np.isnan(table), axis=1) >= 2]
    values, code = np.unique(table[~np.isnan(table)], return_inverse=True)
    counts = np.zeros((len(table), values.size))
    np.add.at(counts, (np.nonzero(~np.isnan(table))[0], code), 1)
    return counts, values


def _alpha(counts: FloatArray, values: FloatArray, times: FloatArray, level: Level) -> float | None:
    """Return alpha of units that count `times` each.

    Both sums of the definition, over pairs within a unit and over all pairs, are sums of squared differences
    over unordered pairs, which follow from moments: m * sum x^2 - (sum x)^2. The ordinal cost is the interval
    cost of the values' mid-ranks; the nominal cost counts the unequal pairs.
    """
    value_counts = times @ counts
    if np.count_nonzero(value_counts) < 2:
        return None
    raters, n = counts.sum(axis=1), value_counts.sum()
    if level == "nominal":
        within = raters**2 - (counts**2).sum(axis=1)
        overall = n**2 - (value_counts**2).sum()
    else:
        x = values if level == "interval" else np.cumsum(value_counts) - value_counts / 2
        x = x - value_counts @ x / n  # keeps the digits of values far from 0
        within = raters * (counts @ x**2) - (counts @ x) ** 2
        overall = n * (value_counts @ x**2)
    return float(1 - (n - 1) * (times @ (within / (raters - 1))) / overall)
