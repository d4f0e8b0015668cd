"""Figure: paired differences: how often 0 is rejected where it is true, and intervals hold what is true.

Two models of one population answer the same items, so that the difference is 0; where their populations
differ, it is the number that is written beside. Everything goes through the functions that ``culturescope
compare`` uses. Seeds are fixed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks import populations as of
from benchmarks.process import Result, measure, show
from benchmarks.sizes import Sizes
from tasks.evaluations.cure.scores import LENGTH_NORMALISED, Judged, Scored, equal_lengths
from tasks.judging.null_texts import REAL, SHUFFLED
from tasks.metrics import comparison, intervals
from tasks.metrics.comparison import Difference
from tasks.metrics.types import FloatArray

LEVEL, COVERED = (0.03, 0.07), (0.92, 0.98)
LEVELS_FROM = 12
"""Below so many clusters tests are cautious: fewer than 3 of 100 reject."""
Generator = np.random.Generator


class Case(NamedTuple):
    """A headline under a design: draw makes a sample of n clusters, and compares two models on it."""

    headline: str
    data: str
    sizes: tuple[int, ...]
    draw: Callable[[Generator, int], Difference]
    truth: float = 0.0
    slow: int = 1
    """One of so many simulations is made."""


def paired(sizes: Sizes) -> None:
    """The table of docs/intervals.md: level and coverage by number of clusters."""
    lines = measure(levels, simulations=sizes.simulations)["lines"]
    show("| headline | generated data | clusters: rejected at 5 %, held | ", "| --- | --- | --- |")
    for headline, data, truth, shares in lines:
        text = " · ".join(f"{n}: {'' if truth else f'{level:.3f}, '}{held:.3f}" for n, level, held in shares)
        show(f"| {headline} | {data} | {text} |")


def levels(simulations: int, headlines: tuple[str, ...] = ()) -> Result:
    """Of each case and number of clusters: the share of samples that reject 0, and of intervals that hold the
    truth."""
    lines = []
    for case in _cases():
        if headlines and case.headline not in headlines:
            continue
        shares = []
        for n in case.sizes:
            rng = np.random.default_rng(n)
            drawn = [case.draw(rng, n) for _ in range(max(2, simulations // case.slow))]
            rejected = np.mean([d.p_value is not None and d.p_value < 0.05 for d in drawn])
            ends = [d.interval for d in drawn if d.interval]
            held = np.mean([low <= case.truth <= high for low, high in ends]) if ends else 1.0
            shares.append((n, float(rejected), float(held)))
        lines.append((case.headline, case.data, case.truth, shares))
    return {"lines": lines}


def _cases() -> Iterator[Case]:
    few, some = (6, 12, 30, 100), (12, 30, 100)
    yield Case("map, reference_mass", "beta(0.5, 2), little apart", few, _near)
    yield Case("map", "beta(0.5, 2) and beta(0.5, 3)", some, _apart, 0.2 - 1 / 7)
    yield Case("coverage, specificity, connotation, mes", "beta(0.4, 0.1)", few, _judged)
    yield Case("exact_match", "yes and no, 1 to 6 items a cluster", few, _clustered)
    yield Case("alignment, alignment_gain", "15 answers a scenario", few, _alignments)
    yield Case("coherence", "slope of length, one writes twice as much", (12, 30, 100), _coherence, slow=4)
    yield Case("map_cv", "15 origins, dishes in all", (75, 150, 600), partial(_spread, 1.0), slow=4)
    yield Case(
        "map_cv", "the same, one spread half", (75, 150, 600), partial(_spread, 0.5), _true_spread(), 4
    )
    for name, number in (("macro_f1", of.category_f1), ("rank_spearman", partial(of.rank, place=0))):
        yield Case(name, "9 domains, own medians", (12, 30, 100), partial(_halves, number), slow=10)


def _near(rng: Generator, n: int) -> Difference:
    first, second = np.clip(rng.beta(0.5, 2, n) + rng.normal(0, 0.1, (2, n)), 0, 1)
    return comparison.mean_difference(first, second)


def _apart(rng: Generator, n: int) -> Difference:
    return comparison.mean_difference(rng.beta(0.5, 2, n), rng.beta(0.5, 3, n))


def _judged(rng: Generator, n: int) -> Difference:
    first, second = rng.beta(0.4, 0.1, (2, n))
    return comparison.mean_difference(first, second)


def _clustered(rng: Generator, n: int) -> Difference:
    sizes = rng.integers(1, 7, n)
    chance = np.repeat(rng.beta(2, 1, n), sizes)
    first, second = (rng.random((2, chance.size)) < chance).astype(np.float64)
    return comparison.mean_difference(first, second, np.repeat(np.arange(n), sizes))


def _alignments(rng: Generator, n: int) -> Difference:
    error = rng.normal(0, 0.8, (n, 1)) + rng.normal(0, 0.3, (2, n, 1)) + rng.normal(0, 0.5, (2, n, 15))
    first, second = np.maximum(0.0, 10 - 2.5 * np.abs(error)).reshape(2, -1)
    return comparison.mean_difference(first, second, np.repeat(np.arange(n), 15))


def _coherence(rng: Generator, n: int) -> Difference:
    """Explanations of n items, one each; longer ones get more, and the second model's are twice as long."""
    quality = rng.normal(0, 0.1, n)
    models = {}
    for name, longer in (("a", 0.0), ("b", np.log(2))):
        length = rng.normal(4 + longer, 0.4, n)
        marks = 0.5 + quality + 0.1 * (length - 4) + rng.normal(0, 0.1, n)
        nowhere = np.full(n, np.nan)
        judged = Judged(marks, marks, nowhere, np.expm1(length), (), np.full(n, "", dtype=object), {})
        models[name] = Scored({}, {(LENGTH_NORMALISED, source): judged for source in (REAL, SHUFFLED)})
    adjusted = equal_lengths(models, models, intervals.jackknife_groups(n, 0))
    first, second = (adjusted[name] for name in "ab")
    means = [float(side.judged[LENGTH_NORMALISED, REAL].scores.mean()) for side in (first, second)]
    rest = [np.array(side.left_out, dtype=np.float64) for side in (first, second)]
    return comparison.left_out_difference(means[0] - means[1], *rest)


_ORIGINS = np.linspace(0.1, 0.3, 15)


def _narrower(share: float) -> FloatArray:
    narrower: FloatArray = 0.2 + share * (_ORIGINS - 0.2)
    return narrower


def _true_spread() -> float:
    wide, narrow = (comparison.coefficient_of_variation(_narrower(share)) or 0.0 for share in (1.0, 0.5))
    return wide - narrow


def _spread(share: float, rng: Generator, n: int) -> Difference:
    """Dishes of 15 origins; the second model's means lie `share` as far apart."""
    origin = np.repeat(np.arange(15), n // 15)
    ap = [rng.beta(2, 2 / means[origin] - 2) for means in (_ORIGINS, _narrower(share))]

    def cv(values: FloatArray, kept: Any) -> float:
        means = np.bincount(origin[kept], values[kept], 15) / np.bincount(origin[kept], minlength=15)
        return comparison.coefficient_of_variation(means) or 0.0

    everything, groups = np.arange(n // 15 * 15), intervals.jackknife_groups(n // 15 * 15, 0)
    value = cv(ap[0], everything) - cv(ap[1], everything)
    return comparison.left_out_difference(value, *([cv(side, kept) for kept in groups] for side in ap))


def _halves(number: Callable[[FloatArray], float], rng: Generator, n: int) -> Difference:
    samples = [of.domains(rng, n).spectra for _ in range(2)]
    values, replicates = zip(
        *((number(each[:, 0]), [number(half) for half in each[:, 1:].swapaxes(0, 1)]) for each in samples),
        strict=True,
    )
    return comparison.half_sample_difference(values[0] - values[1], replicates[0], replicates[1], n)
