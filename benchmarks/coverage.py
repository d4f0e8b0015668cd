"""Figure: coverage of intervals and false rejections of tests, on generated data.

Every line uses the function that computes the evaluation's rows, on data of a realistic shape
(`benchmarks.populations`). The truth is the population's number. For numbers that depend on the number of
clusters (effective rank and numbers computed from it), it is the mean over new samples of the same size.
Seeds are fixed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import spearmanr

from benchmarks import populations as of
from benchmarks.populations import Generator
from benchmarks.process import Result, measure, show
from benchmarks.sizes import Sizes
from tasks.metrics import classification, intervals
from tasks.metrics.agreement import pearson, spearman_interval
from tasks.metrics.group_tests import group_test, pair_tests
from tasks.metrics.intervals import CORRELATION, POSITIVE, SHARE
from tasks.metrics.types import FloatArray, Interval

BAR = 0.92


class Case(NamedTuple):
    """A kind of interval.

    ``draw`` generates a sample of n clusters, ``interval`` returns its interval, and ``truth`` the true
    number.
    """

    number: str
    data: str
    sizes: Mapping[int, int]
    """Divisor of the number of simulations, by number of clusters."""
    draw: Callable[[Generator, int], Any]
    interval: Callable[[Any], Interval]
    truth: Callable[[Generator, int], float]


def coverage(sizes: Sizes) -> None:
    """Print the tables of docs/intervals.md: coverage by number of clusters, and levels of tests."""
    lines = measure(coverages, simulations=sizes.simulations, only=sizes.only)["lines"]
    head = "| interval of | generated data | clusters: share that holds the truth (samples) |"
    show(head, "| --- | --- | --- |")
    for number, data, shares in lines:
        points = " · ".join(f"{n}: {share:.3f} ({samples})" for n, share, samples in shares)
        show(f"| {number} | {data} | {points} |")
    lowest = min(share for *_, shares in lines for _, share, _ in shares)
    show(f"lowest {lowest:.3f}, bar {BAR}: {'met' if lowest >= BAR else 'missed'}", "")
    if sizes.only:
        return
    show("| test at 5 % | generated data, nothing to find | rejected (samples) |", "| --- | --- | --- |")
    for test, data, share, samples in measure(levels, simulations=sizes.simulations)["lines"]:
        show(f"| {test} | {data} | {share:.3f} ({samples}) |")


def coverages(simulations: int, only: str = "") -> Result:
    """Return the share of intervals that contain the truth and the number of intervals, for each case and
    number of clusters.

    Args:
        only: the number whose cases are simulated; "": all.

    Raises:
        ValueError: no case is of that number.
    """
    lines = []
    chosen = [case for case in cases() if only in ("", case.number)]
    if not chosen:
        known = ", ".join(dict.fromkeys(case.number for case in cases()))
        raise ValueError(f"no interval of {only!r}; known: {known}")
    for case in chosen:
        shares = []
        for n, divisor in case.sizes.items():
            truth = case.truth(np.random.default_rng(1), n)
            rng = np.random.default_rng(n)
            drawn_intervals = [
                case.interval(case.draw(rng, n)) for _ in range(max(2, simulations // divisor))
            ]
            is_covered = [
                ends[0] - 1e-9 <= truth <= ends[1] + 1e-9 for ends in drawn_intervals if ends is not None
            ]
            shares.append((n, float(np.mean(is_covered)), len(is_covered)))
        lines.append((case.number, case.data, shares))
    return {"lines": lines}


def levels(simulations: int) -> Result:
    """Return the share of rejections at 5 % and the number of samples, for groups that do not differ."""
    lines: list[tuple[str, str, float, int]] = []
    for data, spreads in (("one group varies more", (0.5, 0.5, 2.0)), ("groups x scenarios", (1.0,) * 3)):
        for n in (5, 12):
            n_rejected, rng = np.zeros(6), np.random.default_rng(n)
            for _ in range(simulations):
                groups = _groups(rng, n, spreads)
                separate = {
                    name: _own_scenarios(table, int(name))
                    for name, table in _groups(rng, 3 * n, spreads).items()
                }
                p_values = [
                    p
                    for tables, reproduce in ((groups, False), (separate, False), (groups, True))
                    for p in (group_test(tables, reproduce).p_value, _pair_p(tables, reproduce))
                ]
                n_rejected += [p is not None and p < 0.05 for p in p_values]
            names = (
                "mixed model (Hotelling)", "paired t", "Welch, no scenario in common",
                "Welch's t, no scenario in common", "one-way ANOVA (reproduce)", "Student's t (reproduce)",
            )  # fmt: skip
            shares = zip(names, n_rejected / simulations, strict=True)
            lines += [(name, f"{data}, {n} scenarios", float(share), simulations) for name, share in shares]
    n_samples = max(2, simulations // 4)
    p_functions: list[tuple[str, str, Callable[[Generator], float]]] = [
        (f"sign flips of {n} clusters", "heavy tails", partial(_flip_p, n=n)) for n in (6, 12, 30)
    ]
    p_functions += [
        ("value_shift_p", "20 scenarios", lambda rng: _shift_p(rng)),
        ("persona_recognition_p", "8 scenarios", lambda rng: of.recognised(rng, 8, 0.0, 39).p_value),
    ]
    for name, data, p_value in p_functions:
        rng = np.random.default_rng(2)
        lines.append(
            (name, data, float(np.mean([p_value(rng) <= 0.05 for _ in range(n_samples)])), n_samples)
        )
    return {"lines": lines}


def _pair_p(groups: dict[str, FloatArray], reproduce: bool) -> float | None:
    """Return the p-value of the first group against the last, whose answers may vary more."""
    return pair_tests({name: groups[name] for name in ("0", "2")}, reproduce)[0].p_value


def _groups(rng: Generator, n: int, spreads: tuple[float, ...]) -> dict[str, FloatArray]:
    """Return three answers of each group to n scenarios, with effects of scenarios common to all groups and
    effects of each group's own."""
    common = rng.standard_normal((n, 1))
    effects = [spread * rng.standard_normal((n, 1)) + 0.5 * rng.standard_normal((n, 3)) for spread in spreads]
    return {str(i): common + effect for i, effect in enumerate(effects)}


def _own_scenarios(table: FloatArray, group: int) -> FloatArray:
    """Return the answers to the scenarios that only this one of three groups has."""
    return np.where(np.arange(len(table))[:, None] % 3 == group, table, np.nan)


def _flip_p(rng: Generator, n: int) -> float:
    return intervals.sign_flip_p(rng.standard_t(3, n))


def _shift_p(rng: Generator) -> float:
    shift = of.persona_shift(of.shifted(rng, 20, 0.0))
    assert shift is not None
    return shift.p_value


def cases() -> Iterator[Case]:
    """Yield every kind of interval."""
    yield from _mean_numbers()
    yield from _other_numbers()
    yield from _country_numbers()


def _mean_numbers() -> Iterator[Case]:
    sizes = dict.fromkeys((5, 8, 12, 30, 100), 1)
    shares: dict[str, tuple[str, Callable[[Generator, int], FloatArray], float]] = {
        "mAP, reference mass": ("beta(0.5, 2)", lambda rng, n: rng.beta(0.5, 2, n), 0.2),
        "judged score, MES": ("beta(0.4, 0.1)", lambda rng, n: rng.beta(0.4, 0.1, n), 0.8),
        "exact match": ("yes with 0.9", lambda rng, n: (rng.random(n) < 0.9).astype(float), 0.9),
        "answered": ("yes with 0.98", lambda rng, n: (rng.random(n) < 0.98).astype(float), 0.98),
    }
    for number, (data, draw, mean) in shares.items():
        yield Case(number, data, sizes, draw, partial(intervals.mean_interval, bounds=SHARE), _constant(mean))
    sizes = dict.fromkeys((5, 8, 12, 30), 1)
    yield Case(
        "exact match, pairs and countries", "beta-binomial, 1 to 6 items a cluster", sizes,
        partial(of.clustered, mean=0.75), partial(of.clustered_interval, bounds=SHARE), _constant(0.75),
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
    between = partial(intervals.mean_interval, bounds=CORRELATION)
    for number, (data, draw, mean) in differences.items():
        yield Case(number, data, sizes, draw, between, _constant(mean))
    for number, bounds, null in (("alignment", (0.0, 10.0), 0.0), ("alignment_gain", (-10.0, 10.0), 7.0)):
        yield Case(
            number, "10 - 2.5 abs(error), 15 answers a scenario", sizes,
            partial(of.alignments, null=null), partial(of.clustered_interval, bounds=bounds),
            partial(of.mean_alignment, null=null),
        )  # fmt: skip
    yield Case(
        "baseline_distance", "root of a mean square", sizes, of.errors, of.distance_interval,
        lambda rng, n: float(np.sqrt((of.errors(rng, 1_000_000) ** 2).mean())),
    )  # fmt: skip


def _normal_pairs(rng: Generator, n: int, r: float) -> FloatArray:
    return rng.multivariate_normal([0, 0], [[1, r], [r, 1]], n)


def _other_numbers() -> Iterator[Case]:
    yield Case(
        "F1 macro of labels", "three labels, 70 % right", dict.fromkeys((5, 8, 12, 30, 100), 2), of.labels,
        of.macro_interval, lambda rng, n: classification.macro_f1(*of.labels(rng, 200_000)),
    )  # fmt: skip
    spreads = (
        ("map_cv", of.cv, POSITIVE, {75: 4, 150: 4, 600: 4}),
        ("map_mws_correlation", of.map_mws, CORRELATION, {1500: 2}),
    )
    for number, statistic, bounds, sizes in spreads:
        truth = statistic(of.ORIGINS, of.CLOSENESS) or 0.0
        yield Case(
            number, "15 origins, dishes in all", sizes, of.origins,
            partial(of.spread_interval, number=statistic, bounds=bounds), _constant(truth),
        )  # fmt: skip
    for rho in (0.0, 0.6, 0.9):
        yield Case(
            "evaluation_agreement", f"normal, r = {rho}", dict.fromkeys((5, 8, 12, 30), 1),
            partial(_normal_pairs, r=rho),
            lambda xy: spearman_interval(float(spearmanr(*xy.T).statistic), len(xy)),
            _constant(6 / math.pi * math.asin(rho / 2)),
        )  # fmt: skip
    yield Case(
        "metric_correlation", "normal, r = 0.5", dict.fromkeys((5, 8, 12, 30), 2),
        partial(_normal_pairs, r=0.5),
        lambda xy: intervals.jackknife(lambda own: pearson(*xy[own].T), np.arange(len(xy)), CORRELATION),
        _constant(0.5),
    )  # fmt: skip
    scenarios = {5: 4, 8: 4, 20: 4, 60: 8}
    data = "20 values, 3 answers a scenario"
    yield Case("value_shift", data, scenarios, of.shifted, of.shift_interval, of.true_shift)
    yield Case("value_share", data, scenarios, of.shifted, of.share_interval, of.common_share)
    scenarios, data = dict.fromkeys((5, 12, 30), 8), "4 cultures, 2 answers a scenario"
    yield Case(
        "persona_recognition", data, scenarios, of.recognised, lambda sample: sample.intervals[0],
        partial(of.mean_of, draw=of.recognised, number=lambda sample: sample.value[0], samples=300),
    )  # fmt: skip
    yield Case(
        "answer_variety", data, scenarios, of.recognised, lambda sample: sample.variety_intervals[0],
        partial(of.mean_of, draw=of.recognised, number=lambda sample: sample.variety[0], samples=300),
    )  # fmt: skip


def _country_numbers() -> Iterator[Case]:
    countries = {12: 4, 30: 4, 170: 5}
    for number, place in (("effective_rank", 0), ("spectral_gap_ratio", 1)):
        for plural in (0.5, 4.0):
            yield Case(
                number, f"{'plural' if plural > 1 else 'shared'} domain", countries,
                partial(of.left_out, plural=plural), partial(of.spectrum_interval, place=place),
                partial(of.mean_spectrum, plural=plural, place=place),
            )  # fmt: skip
    one_country = partial(of.similarity, plural=0.5, fixed=True)
    yield Case(
        "competence", "one country", {12: 4, 30: 4, 170: 20}, one_country, of.competence_interval,
        partial(of.mean_of, draw=one_country, number=of.competence, samples=1000),
    )  # fmt: skip
    yield Case(
        "paraphrase_agreement", "3 wordings", {12: 4, 30: 4, 170: 20},
        of.phrasings, of.wording_interval,
        partial(of.mean_of, draw=of.phrasings, number=of.wording, samples=1000),
    )  # fmt: skip
    yield Case(
        "macro_f1", "9 domains", {12: 8, 30: 8, 170: 20}, of.domains, of.category_interval,
        partial(of.mean_over_countries, number=of.category_f1),
    )  # fmt: skip
    numbers: dict[str, tuple[Callable[[FloatArray], float], Any]] = {
        "er_sr_correlation": (of.correlation, CORRELATION),
        "rank_spearman": (partial(of.rank, place=0), CORRELATION),
        "rank_kendall": (partial(of.rank, place=1), CORRELATION),
    }
    for number, (statistic, bounds) in numbers.items():
        yield Case(
            number, "9 domains", {12: 8, 30: 8, 170: 20}, of.domains,
            partial(of.of_halves, number=statistic, bounds=bounds, is_fisher=statistic is of.correlation),
            partial(of.mean_over_countries, number=statistic),
        )  # fmt: skip
    near = {"as in table 1": None, "a domain 1 SE from the threshold": 1.0, "0.25 SE": 0.25}
    for name, errors in near.items():
        yield Case(
            "macro_f1_with_people", f"9 domains ranked by 80 people, {name}", {12: 4, 30: 4, 170: 20},
            partial(of.survey, near=errors), of.survey_interval,
            partial(of.mean_of_surveys, near=errors),
        )  # fmt: skip
    orders = {"rho -0.6": None, "rho 0.1": of.FALLING, "rho -0.9": of.RISING}
    for name, order in orders.items():
        yield Case(
            "er_sr_correlation", f"27 questions, {name}", {14: 8, 30: 16}, partial(of.questions, order=order),
            partial(of.of_halves, number=of.correlation, bounds=CORRELATION, is_fisher=True),
            partial(of.mean_over_countries, number=of.correlation, draw=of.questions, order=order),
        )  # fmt: skip


def _constant(value: float) -> Callable[[Generator, int], float]:
    return lambda rng, n: value
