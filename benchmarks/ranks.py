"""Figure: rank sets: how often they contain all true ranks, their width, and the time of a large board.

``ranks`` draws scores of models that share items in clusters, of the shapes and sizes that the shipped
evaluations have, and compares Holm's correction of the paired t tests, which is the one in use, with the
bootstrap of Mogstad, Romano, Shaikh and Wilhelm (2024) and with sign flips, both by steps down. Seeds are
fixed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from benchmarks.populations import Generator
from benchmarks.process import Result, measure, show
from benchmarks.sizes import Sizes
from tasks.metrics.comparison import LEVEL
from tasks.metrics.ranks import RankSet, mean_pair_tests, rank_sets
from tasks.metrics.types import FloatArray, IntArray

_DRAWN = 400
"""Number of resamples of a bootstrap, and of flips."""
COMPARED = ("6 in pairs", "20 equal")
"""Boards on which all methods are compared."""
STEP = 0.35
"""Difference of two neighbours of models that differ, in standard deviations of an item's score."""


class Scores(NamedTuple):
    """Scores [items, models], the cluster of each item, and each model's true goodness (equal: equal
    means).
    """

    values: FloatArray
    clusters: IntArray
    goodness: FloatArray


class Design(NamedTuple):
    """A shape of scores; ``draw`` takes a generator, a number of clusters and the models' goodness."""

    name: str
    draw: Callable[[Generator, int, FloatArray], Scores]
    is_compared: bool = True
    """Whether methods are compared on it; the others allow no lost answers."""


def ranks(sizes: Sizes) -> None:
    """Print the tables of docs/intervals.md: the method in use on all boards, then all methods on two of
    them.
    """
    for boards_of, methods in (("all", ["Holm"]), ("compared", list(METHODS))):
        head = " | ".join(f"{name}: held, width" for name in methods)
        show(
            f"| models | scores | clusters (draws) | {head} |",
            f"| --- | --- | --- |{' --- |' * len(methods)}",
        )
        found = measure(shares, simulations=sizes.simulations, of=boards_of, methods=methods)["lines"]
        for board, name, n, cells, draws in found:
            text = " | ".join(f"{held:.3f}, {width:.2f}" for held, width in cells)
            show(f"| {board} | {name} | {n} ({draws}) | {text} |")
    separated, n = measure(equal_boards, draws=min(200, sizes.simulations))["result"]
    show(f"ten equal models over 1,000 items: a pair apart in {separated} of {n} draws", "")


def shares(
    simulations: int,
    of: str = "all",
    methods: Sequence[str] = ("Holm",),
    clusters: Sequence[int] = (5, 8, 12, 30, 60),
) -> Result:
    """Return, by board, shape and number of clusters, the share of draws in which all rank sets contain all
    true ranks, and the mean share of ranks in a set, for each method.

    of: "all" boards and shapes, or only those on which methods are "compared".
    """
    chosen = [METHODS[name] for name in methods]
    lines = []
    for board, goodness in boards():
        for design in DESIGNS:
            if of == "compared" and not (board in COMPARED and design.is_compared):
                continue
            for n in clusters:
                rng = np.random.default_rng(n)
                draws = max(2, simulations * 2 // (2 + goodness.size))
                held, width = np.zeros(len(chosen)), np.zeros(len(chosen))
                for _ in range(draws):
                    scores = design.draw(rng, n, goodness)
                    for place, method in enumerate(chosen):
                        sets = method(scores)
                        held[place] += contains(sets, goodness)
                        width[place] += np.mean([high - low + 1 for low, high in sets]) / goodness.size
                cells = list(zip((held / draws).tolist(), (width / draws).tolist(), strict=True))
                lines.append((board, design.name, n, cells, draws))
    return {"lines": lines}


def contains(sets: list[RankSet], goodness: FloatArray) -> bool:
    """Return whether each set has every rank that the true order allows: equal models share theirs."""
    better = (goodness[:, None] < goodness).sum(axis=1)
    worse = (goodness[:, None] > goodness).sum(axis=1)
    return all(
        low <= 1 + over and high >= goodness.size - under
        for (low, high), over, under in zip(sets, better, worse, strict=True)
    )


def boards() -> Iterator[tuple[str, FloatArray]]:
    """Yield the boards: equal models, one better than the rest, and models in steps of two."""
    for k in (2, 6, 20, 50):
        yield f"{k} equal", np.zeros(k)
    for k in (6, 20):
        yield f"{k}, one better", 2.0 * STEP * (np.arange(k) == 0)
        yield f"{k} in pairs", STEP * (np.arange(k) // 2).astype(np.float64)


def holm_t(scores: Scores) -> list[RankSet]:
    """Return the rank sets in use: paired t tests with the cluster-robust variance, Holm's correction."""
    tests = mean_pair_tests(scores.values, scores.clusters)
    return rank_sets(tests.difference, tests.p_value)


class _Pairs(NamedTuple):
    """Clusters' totals of the differences of all pairs [clusters, pairs], their sizes, and the models."""

    totals: FloatArray
    sizes: FloatArray
    first: IntArray
    second: IntArray


def _pairs(scores: Scores) -> _Pairs:
    sums = np.zeros((scores.clusters.max() + 1, scores.values.shape[1]))
    np.add.at(sums, scores.clusters, scores.values)
    first, second = np.triu_indices(sums.shape[1], 1)
    return _Pairs(sums[:, first] - sums[:, second], np.bincount(scores.clusters).astype(float), first, second)


def _stepped_down(pairs: _Pairs, statistic: FloatArray, drawn: FloatArray) -> list[RankSet]:
    """Return rank sets by steps down (Romano and Wolf 2005).

    statistic: |t| of each pair; drawn: [draws, pairs], |t| under the null.
    """
    apart = np.zeros(statistic.size, dtype=np.bool_)
    while not apart.all():
        least = np.sort(drawn[:, ~apart].max(axis=1))
        critical = least[min(int(np.ceil((1 - LEVEL) * (least.size + 1))) - 1, least.size - 1)]
        new = ~apart & (statistic > critical)
        if not new.any():
            break
        apart |= new
    k = int(pairs.second.max()) + 1
    means = pairs.totals.sum(axis=0)
    difference, p = np.zeros((k, k)), np.ones((k, k))
    difference[pairs.first, pairs.second], difference[pairs.second, pairs.first] = means, -means
    p[pairs.first, pairs.second] = p[pairs.second, pairs.first] = np.where(apart, 0.0, 1.0)
    return rank_sets(difference, p)


def _t(pairs: _Pairs, mean: FloatArray, squares: FloatArray) -> FloatArray:
    """Return |t| of means, given the sums of squared residuals of clusters."""
    g = pairs.sizes.size
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.abs(mean) / np.sqrt(np.maximum(squares, 0) * g / (g - 1)) * pairs.sizes.sum()
    finite: FloatArray = np.nan_to_num(t, nan=0.0, posinf=np.inf)
    return finite


def bootstrap(scores: Scores, has_own_error: bool = True) -> list[RankSet]:
    """Return rank sets by resampling clusters (Mogstad et al. 2024).

    has_own_error: divide by the resample's own standard error, not by the sample's.
    """
    pairs, (g, total) = _pairs(scores), (len(np.unique(scores.clusters)), len(scores.values))
    mean = pairs.totals.sum(axis=0) / total
    residuals = pairs.totals - pairs.sizes[:, None] * mean
    weights = np.random.default_rng(0).multinomial(g, np.full(g, 1 / g), _DRAWN).astype(float)
    moved = weights @ residuals / (weights @ pairs.sizes)[:, None]
    squares = (residuals**2).sum(axis=0)
    if has_own_error:
        cross = (weights * pairs.sizes) @ residuals
        own = weights @ residuals**2 - 2 * moved * cross + moved**2 * (weights @ pairs.sizes**2)[:, None]
        own = np.where(own > 1e-12 * squares, own, np.nan)
    else:
        own = np.broadcast_to(squares, moved.shape)
    return _stepped_down(pairs, _t(pairs, mean, squares), _t(pairs, moved, own))


def flips(scores: Scores) -> list[RankSet]:
    """Return rank sets by flipping the sign of each cluster's differences, of all pairs together."""
    pairs, total = _pairs(scores), len(scores.values)
    g = pairs.sizes.size
    signs = np.random.default_rng(0).integers(0, 2, (_DRAWN, g)) * 2.0 - 1
    signs[0] = 1
    mean = signs @ pairs.totals / total
    cross = (signs * pairs.sizes) @ pairs.totals
    squares = (pairs.totals**2).sum(axis=0) - 2 * mean * cross + mean**2 * (pairs.sizes**2).sum()
    drawn = _t(pairs, mean, squares)
    return _stepped_down(pairs, drawn[0], drawn)


METHODS: dict[str, Callable[[Scores], list[RankSet]]] = {
    "Holm": holm_t,
    "bootstrap": partial(bootstrap, has_own_error=False),
    "bootstrap t": bootstrap,
    "sign flips": flips,
}


def _logit_shares(
    rng: Generator, n: int, goodness: FloatArray, items: tuple[int, int], noise: float
) -> Scores:
    """Yes and no of items in clusters; a better model has a higher chance of yes on every item."""
    clusters = np.repeat(np.arange(n), rng.integers(items[0], items[1] + 1, n))
    ease = rng.normal(1, 1, (n, 1))[clusters] + rng.normal(0, 1, (clusters.size, 1))
    own = noise * rng.normal(0, 1, (n, goodness.size))[clusters]
    chance = 1 / (1 + np.exp(-(ease + own + 2 * goodness)))
    return Scores((rng.random(chance.shape) < chance).astype(np.float64), clusters, goodness)


def _skewed(rng: Generator, n: int, goodness: FloatArray, items: int) -> Scores:
    """Judged scores near 1 with a long tail, such as beta(0.4, 0.1), in clusters of `items`."""
    clusters = np.repeat(np.arange(n), items)
    base = 0.5 * rng.normal(0, 1, (clusters.size, 1)) + 0.5 * rng.normal(0, 1, (n, goodness.size))[clusters]
    latent = base + rng.normal(0, 1, (clusters.size, goodness.size)) + goodness
    return Scores(1 - np.minimum(1.0, np.exp(-1.5 - 1.2 * latent)), clusters, goodness)


def _graded(rng: Generator, n: int, goodness: FloatArray) -> Scores:
    """Grades from 1 to 10 of 12 talks with each persona."""
    clusters = np.repeat(np.arange(n), 12)
    persona = rng.normal(7, 1.5, (n, 1)) + rng.normal(0, 0.7, (n, goodness.size)) + 2 * goodness
    grades = np.round(persona[clusters] + rng.normal(0, 2, (clusters.size, goodness.size)))
    return Scores(np.clip(grades, 1, 10), clusters, goodness)


def _unlike(rng: Generator, n: int, goodness: FloatArray) -> Scores:
    """Scores of equal mean and unequal shape: every second model says yes or no, the others vary little."""
    ease = rng.beta(6, 2, (n, 1))
    chance = np.clip(ease + 0.2 * (goodness - goodness.mean()), 0.02, 0.98)
    yes = (rng.random(chance.shape) < chance).astype(np.float64)
    near = rng.beta(30 * chance, 30 * (1 - chance))
    return Scores(np.where(np.arange(goodness.size) % 2, yes, near), np.arange(n), goodness)


def _lost(rng: Generator, n: int, goodness: FloatArray) -> Scores:
    """Yes and no, of which each model lost every tenth."""
    scores = _logit_shares(rng, n, goodness, (2, 6), 0.5)
    return scores._replace(values=np.where(rng.random(scores.values.shape) < 0.1, np.nan, scores.values))


DESIGNS = (
    Design("yes and no, 1 to 6 items a cluster", partial(_logit_shares, items=(1, 6), noise=0.5)),
    Design("yes and no, 5 to 100 items a cluster", partial(_logit_shares, items=(5, 100), noise=0.5)),
    Design("skewed, one item a cluster", partial(_skewed, items=1)),
    Design("skewed, 15 items a cluster", partial(_skewed, items=15)),
    Design("grades 1 to 10, 12 a persona", _graded),
    Design("unlike shapes, one item a cluster", _unlike),
    Design("yes and no, every tenth lost", _lost, is_compared=False),
)


def equal_boards(draws: int) -> Result:
    """Return in how many draws ten models, equal by construction over 1,000 items, are not all of one rank
    set.
    """
    apart = 0
    for seed in range(draws):
        scores = _logit_shares(np.random.default_rng(seed), 1000, np.zeros(10), (1, 1), 0.5)
        apart += holm_t(scores) != [RankSet(1, 10)] * 10
    return {"result": (apart, draws)}
