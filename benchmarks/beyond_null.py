"""Figure: how often a model without knowledge is called beyond its null, on generated data.

It compares the rule of the view ``against_null`` with the interval alone (the whole interval is above the
null's mean). Each view's SQL is repeated here in one line. Seeds are fixed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from math import hypot
from typing import NamedTuple

import numpy as np

from benchmarks.process import Result, measure, show
from benchmarks.sizes import Sizes
from tasks.metrics import agreement, nulls, ranking
from tasks.metrics.classification import f1_per_class, lower_median
from tasks.metrics.intervals import CORRELATION, SHARE, mean_interval, sign_flip_p
from tasks.metrics.spectral import er_sr_category
from tasks.metrics.types import Category, FloatArray

HUMAN: list[Category] = ["LH", "HH", "HH", "HH", "LL", "LL", "LL", "HL", "HL"]
LEAST_RHO = {5: 1.0, 9: 0.7}
Generator = np.random.Generator
Called = tuple[bool, bool]
"""Whether a model is called beyond its null by its interval alone, and by the rule."""


class Case(NamedTuple):
    """Models without knowledge: draw makes one with n clusters."""

    headline: str
    data: str
    sizes: tuple[int, ...]
    draw: Callable[[Generator, int], Called]


def beyond_null(sizes: Sizes) -> None:
    """The table of docs/intervals.md: shares called beyond their null by number of clusters."""
    show("| headline | knows nothing | clusters: by the interval alone, by the rule |", "| --- | --- | --- |")
    for headline, data, shares in measure(levels, simulations=sizes.simulations)["lines"]:
        text = " · ".join(f"{n}: {alone:.3f}, {rule:.3f}" for n, alone, rule in shares)
        show(f"| {headline} | {data} | {text} |")


def levels(simulations: int) -> Result:
    """Return the shares called beyond their null, for each case and number of clusters."""
    lines = []
    for case in _cases():
        shares = []
        for n in case.sizes:
            rng = np.random.default_rng(n)
            alone, rule = np.mean([case.draw(rng, n) for _ in range(simulations)], axis=0)
            shares.append((n, float(alone), float(rule)))
        lines.append((case.headline, case.data, shares))
    return {"lines": lines}


def _cases() -> Iterator[Case]:
    yield Case("macro_f1", "a random category for each of 9 domains", (9,), partial(_macro_f1, 0.0, False))
    yield Case("macro_f1", "random numbers, split at their medians", (9,), partial(_macro_f1, 0.0, True))
    yield Case("macro_f1", "the same, each wording of its own in part", (9,), partial(_macro_f1, 0.5, True))
    yield Case("rank_spearman", "random orders of so many domains", (5, 9), _rank)
    yield Case("reference_mass", "a country's answers are any country's", (12, 30, 170), _mass)
    yield Case("map", "one random ranking for all dishes", (30, 100, 300), _map)
    for headline in ("mws, mes", "interaction"):
        yield Case(headline, "scores like those of its null", (6, 12, 30, 100), partial(_alike, headline))
    yield Case("apr, judged scores", "scores like those of three nulls", (6, 12, 30, 100), _shuffled)
    yield Case("accuracy", "right with one item's chance, 5 to 100 items a region", (6, 12, 30), _accuracy)


def _macro_f1(own: float, is_split: bool, rng: Generator, n: int) -> Called:
    """own: share of a number that is due to its wording. Intervals over countries have no width here."""
    if is_split:
        er, sr = (rng.normal(size=(n, 1)) + own * rng.normal(size=(n, 3)) for _ in range(2))
        high = [x > lower_median(x.ravel()) for x in (er, sr)]
        predicted = [
            er_sr_category(bool(e), bool(s)) for e, s in zip(*(h.ravel() for h in high), strict=True)
        ]
    else:
        predicted = np.repeat(rng.choice(["LH", "HL", "HH", "LL"], n), 3).tolist()
    truth: list[Category] = np.repeat(HUMAN, 3).tolist()
    value = float(np.mean([*f1_per_class(truth, predicted, sorted(set(HUMAN))).values()]))
    return value > float(DRAWS.mean()), value > float(np.quantile(DRAWS, 0.975))


DRAWS: FloatArray = np.mean([*nulls.uniform_category_f1(HUMAN, [3] * 9, 10_000, 0).values()], axis=0)


def _rank(rng: Generator, n: int) -> Called:
    pair = agreement.rank_agreement(rng.permutation(n) + 1.0, np.arange(n))
    rho = pair[0] if pair else 0.0
    return rho > 0, rho > LEAST_RHO[n] - 1e-9


def _mass(rng: Generator, n: int) -> Called:
    table = rng.dirichlet(np.full(40, 0.3), n)
    member = rng.random((n, 40)) < rng.beta(1, 9, 40)
    member[np.arange(n), rng.integers(40, size=n)] = True
    own, null = (of(table, member)[0] for of in (nulls.reference_mass, nulls.reference_mass_null))
    called = _above(own, float(null.mean()))
    return called, called


def _map(rng: Generator, n: int) -> Called:
    """Ingredients are common or rare; the stronger null names the common ones."""
    shares = 1 / np.arange(1, 101)
    relevant = rng.random((n, 100)) < shares
    relevant[np.arange(n), rng.integers(100, size=n)] = True
    own, common = (
        np.asarray(ranking.average_precision(np.tile(scores, (n, 1)), relevant))
        for scores in (rng.normal(size=100), shares)
    )
    chance = float(ranking.expected_average_precision(relevant.sum(axis=1), np.full(n, 100)).mean())
    alone = _above(own, chance)
    gain = mean_interval(own - common, bounds=CORRELATION)
    return alone, alone and gain is not None and gain[0] > 0


def _alike(headline: str, rng: Generator, n: int) -> Called:
    """Two independent samples of one population."""
    own, null = rng.beta(0.4, 0.1, (2, n)) if headline != "interaction" else rng.beta(4, 3, (2, n))
    ends, beside = mean_interval(own, bounds=SHARE), mean_interval(null, bounds=SHARE)
    if ends is None or beside is None:
        return False, False
    alone = bool(ends[0] > null.mean())
    return alone, alone and own.mean() - null.mean() > hypot(own.mean() - ends[0], beside[1] - null.mean())


def _shuffled(rng: Generator, n: int) -> Called:
    """The best of three nulls is the null value; the paired test is against the first."""
    own, *others = rng.beta(0.4, 0.1, (4, n))
    alone = _above(own, max(float(null.mean()) for null in others))
    return alone, alone and sign_flip_p(own - others[0]) < 0.025


def _accuracy(rng: Generator, n: int) -> Called:
    region = np.repeat(np.arange(n), rng.integers(5, 100, n))
    chance = rng.choice([0.0, 0.05, 0.25], region.size)
    called = _above((rng.random(region.size) < chance).astype(np.float64), float(chance.mean()), region)
    return called, called


def _above(values: FloatArray, null: float, clusters: FloatArray | None = None) -> bool:
    ends = mean_interval(values, clusters, SHARE)
    return ends is not None and bool(ends[0] > null)
