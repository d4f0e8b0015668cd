"""Figure: how often a model without knowledge is reported beyond its null, on generated data.

It compares the rule of the view ``against_null`` with the interval alone (the whole interval is above the
null's mean). Each rule of the view is repeated here in one line of Python. Seeds are fixed.
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
from tasks.metrics.types import Category, FloatArray, IntArray

HUMAN: list[Category] = ["LH", "HH", "HH", "HH", "LL", "LL", "LL", "HL", "HL"]
MIN_RHO = {5: 1.0, 9: 0.7}
Generator = np.random.Generator
BeyondNull = tuple[bool, bool]
"""Whether a model is reported beyond its null by its interval alone, and by the rule."""


class Case(NamedTuple):
    """Models without knowledge; ``draw`` generates one with n clusters."""

    headline: str
    data: str
    sizes: tuple[int, ...]
    draw: Callable[[Generator, int], BeyondNull]


def beyond_null(sizes: Sizes) -> None:
    """Print the table of docs/intervals.md: shares of models beyond their null by number of clusters."""
    show("| headline | knows nothing | clusters: by the interval alone, by the rule |", "| --- | --- | --- |")
    for headline, data, shares in measure(levels, simulations=sizes.simulations)["lines"]:
        text = " · ".join(f"{n}: {alone:.3f}, {rule:.3f}" for n, alone, rule in shares)
        show(f"| {headline} | {data} | {text} |")


def levels(simulations: int) -> Result:
    """Return the shares of models beyond their null, for each case and number of clusters."""
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
    yield Case("map", "one random ranking for all dishes", (30, 100, 300), _one_ranking)
    for headline in ("mws, mes", "interaction"):
        yield Case(
            headline, "scores like those of its null", (6, 12, 30, 100), partial(_same_population, headline)
        )
    yield Case("apr, judged scores", "scores like those of three nulls", (6, 12, 30, 100), _shuffled)
    yield Case("accuracy", "right with one item's chance, 5 to 100 items a region", (6, 12, 30), _accuracy)


def _macro_f1(wording_sd: float, is_split: bool, rng: Generator, n: int) -> BeyondNull:
    """Return the verdicts on random categories; intervals over countries have no width here.

    Args:
        wording_sd: standard deviation of a wording's own part of a number.
        is_split: numbers are split at their medians, instead of drawing a category per domain.
    """
    if is_split:
        er, sr = (rng.normal(size=(n, 1)) + wording_sd * rng.normal(size=(n, 3)) for _ in range(2))
        high = [numbers > lower_median(numbers.ravel()) for numbers in (er, sr)]
        predicted = [
            er_sr_category(bool(er_high), bool(sr_high))
            for er_high, sr_high in zip(*(is_high.ravel() for is_high in high), strict=True)
        ]
    else:
        predicted = np.repeat(rng.choice(["LH", "HL", "HH", "LL"], n), 3).tolist()
    truth: list[Category] = np.repeat(HUMAN, 3).tolist()
    value = float(np.mean([*f1_per_class(truth, predicted, sorted(set(HUMAN))).values()]))
    return value > float(DRAWS.mean()), value > float(np.quantile(DRAWS, 0.975))


DRAWS: FloatArray = np.mean([*nulls.uniform_category_f1(HUMAN, [3] * 9, 10_000, 0).values()], axis=0)
"""Macro F1 of random categories."""


def _rank(rng: Generator, n: int) -> BeyondNull:
    pair = agreement.rank_agreement(rng.permutation(n) + 1.0, np.arange(n))
    rho = pair[0] if pair else 0.0
    return rho > 0, rho > MIN_RHO[n] - 1e-9


def _mass(rng: Generator, n: int) -> BeyondNull:
    table = rng.dirichlet(np.full(40, 0.3), n)
    member = rng.random((n, 40)) < rng.beta(1, 9, 40)
    member[np.arange(n), rng.integers(40, size=n)] = True
    masses, null = (mass(table, member)[0] for mass in (nulls.reference_mass, nulls.reference_mass_null))
    is_beyond = _above(masses, float(null.mean()))
    return is_beyond, is_beyond


def _one_ranking(rng: Generator, n: int) -> BeyondNull:
    """Return the verdicts on one random ranking; the stronger null ranks ingredients by frequency."""
    shares = 1 / np.arange(1, 101)
    relevant = rng.random((n, 100)) < shares
    relevant[np.arange(n), rng.integers(100, size=n)] = True
    precision, null_precision = (
        np.asarray(ranking.average_precision(np.tile(scores, (n, 1)), relevant))
        for scores in (rng.normal(size=100), shares)
    )
    chance = float(ranking.expected_average_precision(relevant.sum(axis=1), np.full(n, 100)).mean())
    by_interval = _above(precision, chance)
    gain = mean_interval(precision - null_precision, bounds=CORRELATION)
    return by_interval, by_interval and gain is not None and gain[0] > 0


def _same_population(headline: str, rng: Generator, n: int) -> BeyondNull:
    """Return the verdicts on two independent samples of one population, a model's and a null's."""
    scores, null = rng.beta(0.4, 0.1, (2, n)) if headline != "interaction" else rng.beta(4, 3, (2, n))
    ends, null_ends = mean_interval(scores, bounds=SHARE), mean_interval(null, bounds=SHARE)
    if ends is None or null_ends is None:
        return False, False
    by_interval = bool(ends[0] > null.mean())
    margin = hypot(scores.mean() - ends[0], null_ends[1] - null.mean())
    return by_interval, by_interval and scores.mean() - null.mean() > margin


def _shuffled(rng: Generator, n: int) -> BeyondNull:
    """Return the verdicts against the best of three nulls; the paired test compares with the first."""
    scores, *nulls_scores = rng.beta(0.4, 0.1, (4, n))
    by_interval = _above(scores, max(float(null.mean()) for null in nulls_scores))
    return by_interval, by_interval and sign_flip_p(scores - nulls_scores[0]) < 0.025


def _accuracy(rng: Generator, n: int) -> BeyondNull:
    region = np.repeat(np.arange(n), rng.integers(5, 100, n))
    chance = rng.choice([0.0, 0.05, 0.25], region.size)
    is_beyond = _above((rng.random(region.size) < chance).astype(np.float64), float(chance.mean()), region)
    return is_beyond, is_beyond


def _above(values: FloatArray, null: float, clusters: IntArray | None = None) -> bool:
    ends = mean_interval(values, clusters, SHARE)
    return ends is not None and bool(ends[0] > null)
