"""Figure: paired differences: false rejections of 0, and coverage of intervals.

Two models of one population answer the same items, so the true difference is 0; for two populations it is the
case's ``truth``. All differences are computed by the functions that ``culturemeter compare`` uses. Seeds are
fixed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks import populations as of
from benchmarks.process import Result, measure, show
from benchmarks.sizes import Sizes
from tasks.metrics import comparison, intervals
from tasks.metrics.comparison import Difference
from tasks.metrics.types import FloatArray

Generator = np.random.Generator


class Case(NamedTuple):
    """A headline under a design; ``draw`` generates n clusters and compares two models on them."""

    headline: str
    data: str
    sizes: tuple[int, ...]
    draw: Callable[[Generator, int], Difference]
    truth: Callable[[int], float] | None = None
    """Returns the true difference for a number of clusters; None: 0."""
    slow: int = 1
    """Divisor of the number of simulations."""


def paired(sizes: Sizes) -> None:
    """Print the table of docs/intervals.md: level and coverage by number of clusters."""
    lines = measure(levels, simulations=sizes.simulations)["lines"]
    show("| headline | generated data | clusters: rejected at 5 %, held | ", "| --- | --- | --- |")
    for headline, data, is_null, shares in lines:
        text = " · ".join(
            f"{n}: {f'{level:.3f}, ' if is_null else ''}{held:.3f}" for n, level, held in shares
        )
        show(f"| {headline} | {data} | {text} |")


def levels(simulations: int) -> Result:
    """Return the share of samples that reject 0 and of intervals that contain the truth, for each case and
    number of clusters."""
    lines = []
    for case in _cases():
        shares = []
        for n in case.sizes:
            rng, truth = np.random.default_rng(n), 0.0 if case.truth is None else case.truth(n)
            differences = [case.draw(rng, n) for _ in range(max(2, simulations // case.slow))]
            rejected = np.mean([d.p_value is not None and d.p_value < 0.05 for d in differences])
            ends = [d.interval for d in differences if d.interval]
            coverage = np.mean([low < truth < high for low, high in ends]) if ends else 1.0
            shares.append((n, float(rejected), float(coverage)))
        lines.append((case.headline, case.data, case.truth is None, shares))
    return {"lines": lines}


def _cases() -> Iterator[Case]:
    few, some = (6, 12, 30, 100), (12, 30, 100)
    yield Case("map, reference_mass", "beta(0.5, 2), little apart", few, _near)
    yield Case("map", "beta(0.5, 2) and beta(0.5, 3)", some, _apart, lambda n: 0.2 - 1 / 7)
    yield Case("coverage, specificity, connotation, mes", "beta(0.4, 0.1)", few, _judged)
    yield Case("exact_match", "yes and no, 1 to 6 items a cluster", few, _clustered)
    yield Case("alignment, alignment_gain", "15 answers a scenario", few, _alignments)
    yield Case("accuracy", "yes and no, 5 to 100 tasks a region", few, _accuracies)
    yield Case("scenario_gain", "with less without the scenario, the same regions", few, _gains)
    graded = "apr, interaction, instruction_following"
    yield Case(graded, "grades 1 to 10, 12 talks with a persona", few[:3], partial(_grades, 0.0))
    yield Case(graded, "the same, one 2 points worse", few[:3], partial(_grades, 2.0), _true_grades)
    yield Case("map_cv", "15 origins, dishes in all", (150, 300, 600), partial(_spread, 1.0), slow=2)
    data = "the same, one spread half"
    yield Case("map_cv", data, (150, 300, 600), partial(_spread, 0.5), _true_spread, 2)
    countries = (12, 30, 100, 170)
    for cohort, whose in ((1, "the first"), (2, "both"), (4, "four models")):
        data = f"9 domains, medians of {whose}"
        yield Case("macro_f1", data, countries, partial(_categories, cohort=cohort), slow=8)
    yield Case("rank_spearman", "9 domains", countries, partial(_ranks, of.SAME), slow=8)
    data = "9 domains, of one in another order"
    yield Case("macro_f1", data, countries, partial(_categories, order=of.OTHER), _true_categories, 8)
    yield Case("rank_spearman", data, countries, partial(_ranks, of.OTHER), _true_ranks, 8)


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


def _accuracies(rng: Generator, n: int) -> Difference:
    regions = np.repeat(np.arange(n), rng.integers(5, 101, n))
    chance = rng.beta(4, 2, n)[regions] * rng.beta(2, 0.5, regions.size)
    first, second = (rng.random((2, regions.size)) < chance).astype(np.float64)
    return comparison.mean_difference(first, second, regions)


def _gains(rng: Generator, n: int) -> Difference:
    """Return the difference of two models whose tasks are solved a little more often with their scenario."""
    regions = np.repeat(np.arange(n), rng.integers(5, 101, n))
    chance = rng.beta(4, 2, n)[regions] * np.array([[[1.0]], [[0.9]]])
    right, without = (rng.random((2, 2, regions.size)) < chance).astype(np.float64)
    return comparison.mean_difference(right[0] - without[0], right[1] - without[1], regions)


def _graded(rng: Generator, n: int, lower: float) -> FloatArray:
    """Return [2, 12 n] grades of two models; those of the second are lower by ``lower``."""
    persona, model = rng.normal(7, 1.5, (n, 1)), rng.normal(0, 0.7, (2, n, 1))
    grades: FloatArray = np.clip(np.round(persona + model + rng.normal(0, 2, (2, n, 12))), 1, 10)
    grades[1] = np.clip(grades[1] - lower, 1, 10)
    return grades.reshape(2, -1)


def _grades(lower: float, rng: Generator, n: int) -> Difference:
    first, second = _graded(rng, n, lower)
    return comparison.mean_difference(first, second, np.repeat(np.arange(n), 12))


def _true_grades(n: int) -> float:
    first, second = _graded(np.random.default_rng(0), 50_000, 2.0)
    return float(first.mean() - second.mean())


_ORIGINS = np.linspace(0.1, 0.3, 15)


def _narrower(share: float) -> FloatArray:
    narrower: FloatArray = 0.2 + share * (_ORIGINS - 0.2)
    return narrower


def _true_spread(n: int) -> float:
    wide, narrow = (comparison.coefficient_of_variation(_narrower(share)) or 0.0 for share in (1.0, 0.5))
    return wide - narrow


def _spread(share: float, rng: Generator, n: int) -> Difference:
    """Return the difference of two models on dishes of 15 origins; the spread of the second model's means is
    `share` times that of the first's."""
    origin = np.repeat(np.arange(15), n // 15)
    ap = [rng.beta(2, 2 / means[origin] - 2) for means in (_ORIGINS, _narrower(share))]

    def cv(values: FloatArray, members: Any) -> float:
        means = np.bincount(origin[members], values[members], 15) / np.bincount(origin[members], minlength=15)
        return comparison.coefficient_of_variation(means) or 0.0

    everything, groups = np.arange(n // 15 * 15), intervals.jackknife_groups(n // 15 * 15, 0)
    value = cv(ap[0], everything) - cv(ap[1], everything)
    return comparison.left_out_difference(value, *([cv(side, members) for members in groups] for side in ap))


def _categories(rng: Generator, n: int, cohort: int = 2, order: tuple[int, ...] = of.SAME) -> Difference:
    """Return the difference of two models' categories.

    Args:
        cohort: number of models over which medians are computed: the first, both, or more.
        order: order of the domains for the second model.
    """
    models = [of.domains(rng, n).spectra, of.domains(rng, n, order=order).spectra]
    models += [of.domains(rng, n).spectra for _ in range(cohort - 2)]
    pool = np.concatenate(models[:cohort])
    values = [
        [of.category_f1(spectra[:, i], pool[:, i]) for i in range(spectra.shape[1])] for spectra in models[:2]
    ]
    return _by_halves(values, n, is_correlation=False)


def _true_categories(n: int) -> float:
    rng, apart = np.random.default_rng(0), []
    for _ in range(500):
        first, second = (of.domains(rng, n, 0, order).spectra[:, 0] for order in (of.SAME, of.OTHER))
        pool = np.concatenate([first, second])
        apart.append(of.category_f1(first, pool) - of.category_f1(second, pool))
    return float(np.mean(apart))


def _ranks(order: tuple[int, ...], rng: Generator, n: int) -> Difference:
    models = of.domains(rng, n).spectra, of.domains(rng, n, order=order).spectra
    values = [[of.rank(each, 0) for each in spectra.swapaxes(0, 1)] for spectra in models]
    return _by_halves(values, n, is_correlation=True)


def _true_ranks(n: int) -> float:
    rng, rho = np.random.default_rng(0), partial(of.rank, place=0)
    return of.mean_over_countries(rng, n, rho) - of.mean_over_countries(rng, n, rho, order=of.OTHER)


def _by_halves(values: Sequence[Sequence[float]], n: int, is_correlation: bool) -> Difference:
    """Return the difference of two models from their values over all countries, then over half-samples."""
    (first, *one), (second, *other) = values
    return comparison.half_sample_difference((first, second), one, other, n, is_correlation)
