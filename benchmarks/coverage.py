"""Figure: how often intervals hold the truth, and how often tests reject what is true, on generated data.

Every line goes through the function that makes the evaluation's rows, on data of the shape that it meets. The
truth is the number of the population, or, for numbers that depend on how many countries there are (effective
rank and what follows from it), the mean over fresh samples of the same size. Seeds are fixed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks.process import Result, measure, show
from benchmarks.sizes import Sizes
from tasks.evaluations.spectral.scores import MIN_COUNTRIES
from tasks.metrics import classification, comparison, consensus, intervals, spectral, value_shift
from tasks.metrics.agreement import er_sr_correlation, pearson
from tasks.metrics.group_tests import group_test, pair_tests
from tasks.metrics.intervals import CORRELATION, POSITIVE, SHARE
from tasks.metrics.types import FloatArray, Interval

BAR = 0.92
Generator = np.random.Generator


class Case(NamedTuple):
    """A kind of interval: draw makes a sample of n clusters, interval its interval, truth the number."""

    number: str
    data: str
    sizes: tuple[int, ...]
    draw: Callable[[Generator, int], Any]
    interval: Callable[[Any], Interval]
    truth: Callable[[Generator, int], float]
    slow: int = 1
    """One of so many simulations is made."""


def coverage(sizes: Sizes) -> None:
    """The tables of docs/intervals.md: coverage by number of clusters, and levels of tests."""
    lines = measure(coverages, simulations=sizes.simulations)["lines"]
    show("| interval of | generated data | clusters: share that holds the truth |", "| --- | --- | --- |")
    for number, data, shares in lines:
        show(f"| {number} | {data} | {' · '.join(f'{n}: {share:.3f}' for n, share, _ in shares)} |")
    lowest = min(share for *_, shares in lines for _, share, _ in shares)
    show(f"lowest {lowest:.3f}, bar {BAR}: {'met' if lowest >= BAR else 'missed'}", "")
    show("| test at 5 % | generated data, all groups alike | rejected |", "| --- | --- | --- |")
    for test, data, share in measure(levels, simulations=sizes.simulations)["lines"]:
        show(f"| {test} | {data} | {share:.3f} |")


def coverages(simulations: int) -> Result:
    """Of each case and number of clusters: the share of intervals that hold the truth, and of samples with
    one."""
    lines = []
    for case in _cases():
        shares = []
        for n in case.sizes:
            truth = case.truth(np.random.default_rng(1), n)
            rng = np.random.default_rng(n)
            drawn = [case.interval(case.draw(rng, n)) for _ in range(max(2, simulations // case.slow))]
            known = [ends[0] - 1e-9 <= truth <= ends[1] + 1e-9 for ends in drawn if ends is not None]
            shares.append((n, float(np.mean(known)), len(known) / len(drawn)))
        lines.append((case.number, case.data, shares))
    return {"lines": lines}


def levels(simulations: int) -> Result:
    """Share of rejections at 5 % where no group differs."""
    lines = []
    for data, spreads in (("one group varies more", (0.5, 0.5, 2.0)), ("groups x scenarios", (1.0,) * 3)):
        alarms, rng = np.zeros(4), np.random.default_rng(0)
        for _ in range(simulations):
            common = rng.standard_normal((12, 1))
            groups = {
                str(i): common + spread * rng.standard_normal((12, 1)) + 0.5 * rng.standard_normal((12, 3))
                for i, spread in enumerate(spreads)
            }
            for place, reproduce in enumerate((False, True)):
                tests = group_test(groups, reproduce).p_value, pair_tests(groups, reproduce)[1].p_value
                alarms[2 * place : 2 * place + 2] += [p is not None and p < 0.05 for p in tests]
        names = ("mixed model", "paired t", "one-way ANOVA (reproduce)", "Student's t (reproduce)")
        lines += [(name, data, float(share)) for name, share in zip(names, alarms / simulations, strict=True)]
    for n in (6, 12, 30):
        rng = np.random.default_rng(n)
        flags = [intervals.sign_flip_p(rng.standard_t(3, n)) < 0.025 for _ in range(simulations // 4)]
        lines.append((f"sign flips of {n} clusters, at 2.5 %", "heavy tails", float(np.mean(flags))))
    return {"lines": lines}


def _cases() -> Iterator[Case]:
    means: dict[str, tuple[str, Callable[[Generator, int], FloatArray], float]] = {
        "mAP, reference mass": ("beta(0.5, 2)", lambda rng, n: rng.beta(0.5, 2, n), 0.2),
        "judged score, MES": ("beta(0.4, 0.1)", lambda rng, n: rng.beta(0.4, 0.1, n), 0.8),
        "exact match": ("yes with 0.9", lambda rng, n: (rng.random(n) < 0.9).astype(float), 0.9),
        "answered": ("yes with 0.98", lambda rng, n: (rng.random(n) < 0.98).astype(float), 0.98),
    }
    for number, (data, draw, mean) in means.items():
        sizes = (5, 8, 12, 30, 100)
        yield Case(number, data, sizes, draw, partial(intervals.mean_interval, bounds=SHARE), _is(mean))
    yield Case(
        "exact match, pairs and countries", "beta-binomial, 1 to 6 items a cluster", (5, 8, 12, 30),
        lambda rng, n: _clustered(rng, n, 0.75),
        partial(_clustered_interval, bounds=SHARE), _is(0.75),
    )  # fmt: skip
    differences: dict[str, tuple[str, Callable[[Generator, int], FloatArray], float]] = {
        "map_gain": (
            "beta(0.5, 2) - beta(0.5, 3)",
            lambda rng, n: rng.beta(0.5, 2, n) - rng.beta(0.5, 3, n),
            0.2 - 1 / 7,
        ),
        "explanation_gain": (
            "beta(0.4, 0.1) - beta(0.2, 0.6)",
            lambda rng, n: rng.beta(0.4, 0.1, n) - rng.beta(0.2, 0.6, n),
            0.55,
        ),
        "thick less thin": (
            "-1, 0, 1 with 0.05, 0.75, 0.2",
            lambda rng, n: rng.choice([-1.0, 0, 1], n, p=[0.05, 0.75, 0.2]),
            0.15,
        ),
    }
    for number, (data, draw, mean) in differences.items():
        yield Case(
            number,
            data,
            (5, 8, 12, 30),
            draw,
            lambda x: intervals.mean_interval(x, bounds=CORRELATION),
            _is(mean),
        )
    for number, bounds, null in (("alignment", (0.0, 10.0), 0.0), ("alignment_gain", (-10.0, 10.0), 7.0)):
        yield Case(
            number,
            "10 - 2.5 |error|, 15 answers a scenario",
            (5, 8, 12, 30),
            partial(_alignments, null=null),
            partial(_clustered_interval, bounds=bounds),
            partial(_mean_alignment, null=null),
        )
    yield Case(
        "F1 macro", "three labels, 70 % right", (12, 30, 100), _labels, _macro_interval,
        lambda rng, n: classification.macro_f1(*_labels(rng, 200_000)), 4,
    )  # fmt: skip
    yield Case(
        "map_cv", "15 origins, dishes in all", (75, 150, 600), _origins, _cv_interval,
        lambda rng, n: float(comparison.coefficient_of_variation(_ORIGINS) or 0), 4,
    )  # fmt: skip
    yield Case(
        "metric_correlation", "normal, r = 0.5", (5, 8, 12, 30),
        lambda rng, n: rng.multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]], n),
        lambda xy: intervals.jackknife(lambda kept: pearson(*xy[kept].T), np.arange(len(xy)), CORRELATION),
        _is(0.5), 4,
    )  # fmt: skip
    yield Case(
        "value_shift", "20 values, 3 answers a scenario", (8, 20, 60), _shifted, _shift_interval,
        _true_shift, 20,
    )  # fmt: skip
    for number, place in (("effective_rank", 0), ("spectral_gap_ratio", 1)):
        for plural in (0.5, 4.0):
            yield Case(
                number,
                f"{'plural' if plural > 1 else 'shared'} domain",
                (12, 30, 170),
                partial(_similarity, plural=plural),
                partial(_spectrum_interval, place=place),
                partial(_mean_spectrum, plural=plural, place=place),
                20,
            )
    yield Case(
        "macro_f1", "9 domains, medians of the model", (12, 30), _domains, _category_interval,
        lambda rng, n: float(np.mean([_category_f1(_spectra(_domains(rng, n))) for _ in range(400)])), 20,
    )  # fmt: skip
    yield Case(
        "er_sr_correlation", "9 domains", (12, 30), _domains, _correlation_interval,
        lambda rng, n: float(np.mean([_correlation(_spectra(_domains(rng, n))) for _ in range(400)])), 20,
    )  # fmt: skip
    country = partial(_similarity, plural=0.5, fixed=True)
    yield Case("competence", "one country", (12, 30), country, _competence_interval, _mean_competence, 20)


def _is(value: float) -> Callable[[Generator, int], float]:
    return lambda rng, n: value


def _clustered(rng: Generator, n: int, mean: float) -> tuple[FloatArray, FloatArray]:
    """Yes and no, of clusters that differ: and the cluster of each."""
    sizes = rng.integers(1, 7, n)
    chance = np.repeat(rng.beta(3 * mean, 3 * (1 - mean), n), sizes)
    return (rng.random(sizes.sum()) < chance).astype(np.float64), np.repeat(np.arange(n), sizes)


def _clustered_interval(sample: tuple[FloatArray, FloatArray], bounds: tuple[float, float]) -> Interval:
    return intervals.mean_interval(*sample, bounds)


def _alignments(rng: Generator, n: int, null: float) -> tuple[FloatArray, FloatArray]:
    """15 answers to each of n scenarios, less a null's; and the scenario of each."""
    error = rng.normal(0, 0.8, (n, 1)) + rng.normal(0, 0.5, (n, 15))
    points = np.maximum(0.0, 10 - 2.5 * np.abs(error)).ravel() - null
    return points, np.repeat(np.arange(n), 15)


def _mean_alignment(rng: Generator, n: int, null: float) -> float:
    return float(_alignments(rng, 100_000, null)[0].mean())


def _labels(rng: Generator, n: int) -> tuple[list[str], list[str]]:
    gold = rng.choice(["yes", "no", "neutral"], n, p=[0.5, 0.3, 0.2])
    said = np.where(rng.random(n) < 0.7, gold, rng.choice(["yes", "no", "neutral"], n))
    return gold.tolist(), said.tolist()


def _macro_interval(labels: tuple[list[str], list[str]]) -> Interval:
    rest = classification.macro_f1_left_out(*labels, [f"{i:06d}" for i in range(len(labels[0]))])
    return intervals.jackknife_interval(classification.macro_f1(*labels), rest, SHARE)


_ORIGINS = np.linspace(0.1, 0.3, 15)


def _origins(rng: Generator, n: int) -> FloatArray:
    """[15, dishes] average precision."""
    return rng.beta(2, 2 / _ORIGINS[:, None] - 2, (15, n // 15))


def _cv_interval(ap: FloatArray) -> Interval:
    origin = np.repeat(np.arange(15), ap.shape[1])

    def cv(kept: Any) -> float | None:
        means = [ap.ravel()[kept][origin[kept] == i].mean() for i in range(15)]
        return comparison.coefficient_of_variation(means)

    left_out = [cv(kept) for kept in intervals.jackknife_groups(ap.size, 0)]
    return intervals.jackknife_interval(cv(np.arange(ap.size)) or 0.0, left_out, POSITIVE, is_biased=True)


_BASE, _PUSH = np.random.default_rng(3).normal(0, 1, (2, 20))


def _shifted(rng: Generator, n: int) -> tuple[FloatArray, FloatArray]:
    """Counts [scenarios, values] of the baseline and of a persona."""
    own = rng.normal(0, 1.2, (n, 20)) + _BASE
    sides = (np.exp(own), np.exp(own + 0.5 * _PUSH))
    first, second = (rng.multinomial(9, side / side.sum(axis=1, keepdims=True)) for side in sides)
    return first.astype(np.float64), second.astype(np.float64)


def _true_shift(rng: Generator, n: int) -> float:
    first, second = (side.sum(axis=0) for side in _shifted(rng, 20_000))
    return value_shift.total_variation(first, second) or 0.0


def _shift_interval(sides: tuple[FloatArray, FloatArray]) -> Interval:
    baseline, persona = sides
    strata = np.arange(len(persona))
    shift = value_shift.persona_shift(persona, baseline, strata, strata, 100, 0)
    halves = intervals.half_samples(len(persona), 100, 0)
    return None if shift is None else value_shift.shift_interval([shift], persona[None], baseline, halves)


_CORE, _REGION = np.random.default_rng(5).normal(0, 1.5, 60), np.random.default_rng(6).normal(0, 1, (8, 60))


def _similarity(rng: Generator, n: int, plural: float, fixed: bool = False) -> FloatArray:
    """Cosines of n countries of 8 regions; the larger `plural`, the less they share."""
    noise = plural * rng.normal(0, 1, (n, 60)) * rng.gamma(4, 0.25, (n, 1))
    if fixed:
        noise[0] = plural * np.random.default_rng(7).normal(0, 1, 60)
    h = np.exp(_CORE + 0.5 * _REGION[rng.integers(0, 8, n)] * (np.arange(n) > 0)[:, None] + noise)
    return spectral.cosine_similarity(h)


def _mean_spectrum(rng: Generator, n: int, plural: float, place: int) -> float:
    """Geometric mean of ER (place 0) or SR (1) over fresh samples."""
    logs = [
        np.log(_spectra([_similarity(rng, n, plural)])[0, place]) for _ in range(1000 if n < 100 else 300)
    ]
    return float(np.exp(np.mean(logs)))


def _spectra(domains: list[FloatArray], kept: Any = None) -> FloatArray:
    """[domains, 2] ER and SR of all countries or some."""
    rows = np.arange(len(domains[0])) if kept is None else kept
    return np.concatenate([spectral.spectra_of_subsets(a, [rows]) for a in domains])


def _spectrum_interval(similarity: FloatArray, place: int) -> Interval:
    groups = intervals.jackknife_groups(len(similarity), 0)
    rest = spectral.spectra_of_subsets(similarity, groups)[:, place]
    return intervals.jackknife_interval(
        float(_spectra([similarity])[0, place]), rest, POSITIVE, MIN_COUNTRIES
    )


_PLURAL = np.linspace(0.5, 4, 9)
_HUMAN = ["LH", "LL", "LH", "HH", "LL", "HL", "HH", "HL", "HL"]


def _domains(rng: Generator, n: int) -> list[FloatArray]:
    return [_similarity(rng, n, plural) for plural in _PLURAL]


def _category_f1(spectra: FloatArray) -> float:
    high = spectra > classification.lower_median(spectra)
    return classification.macro_f1(_HUMAN, [spectral.er_sr_category(bool(er), bool(sr)) for er, sr in high])


def _correlation(spectra: FloatArray) -> float:
    return er_sr_correlation(*spectra.T).value or 0.0


def _of_halves(domains: list[FloatArray], number: Callable[[FloatArray], float], bounds: Any) -> Interval:
    n = len(domains[0])
    halves = intervals.half_samples(n, 100, 0)
    spectra = np.stack([spectral.spectra_of_subsets(a, halves) for a in domains])
    values = [number(spectra[:, half]) for half in range(len(halves))]
    return intervals.half_sample_interval(number(_spectra(domains)), values, n, bounds, MIN_COUNTRIES)


def _category_interval(domains: list[FloatArray]) -> Interval:
    return _of_halves(domains, _category_f1, SHARE)


def _correlation_interval(domains: list[FloatArray]) -> Interval:
    return _of_halves(domains, _correlation, CORRELATION)


def _competence(similarity: FloatArray) -> float:
    loadings = consensus.competence(similarity)
    return np.nan if loadings is None else float(loadings[0])


def _mean_competence(rng: Generator, n: int) -> float:
    return float(np.mean([_competence(_similarity(rng, n, 0.5, fixed=True)) for _ in range(800)]))


def _competence_interval(similarity: FloatArray) -> Interval:
    rest = consensus.competence_left_out(similarity, intervals.jackknife_groups(len(similarity), 0))
    left_out = () if rest is None else rest[:, 0]
    return intervals.jackknife_interval(_competence(similarity), left_out, CORRELATION, MIN_COUNTRIES)
