"""Figure: intervals and tests of numbers that compare languages (``tasks.metrics.language_agreement``).

Countries have places in a space that all languages share, and places of each language's own; a map is the
cosines between them, as a model's maps are those between distributions. The truth of the agreement is that
of 1,200 countries. Effective ranks and orders of domains are of two languages that share their regions; the
truth of their agreement is the mean over draws, because both depend on the number of countries. Gains of a
country's own language are differences of probabilities whose expected mean is 0, with domains that differ and
three wordings each. Seeds are fixed.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from benchmarks.populations import CORE, FALLING, REGION, SAME
from benchmarks.process import Result, measure, show
from benchmarks.sizes import Sizes
from tasks.evaluations.spectral.read import MIN_COUNTRIES
from tasks.metrics import intervals, spectral
from tasks.metrics.comparison import holm
from tasks.metrics.intervals import CORRELATION
from tasks.metrics.language_agreement import (
    map_agreement,
    map_test,
    mean_pair,
    spearman,
    stratified_gain,
)
from tasks.metrics.types import FloatArray

COUNTRIES = (12, 40, 170)
SHARED = (0.0, 0.5, 0.9)
"""Weight of the space that all languages share."""
LANGUAGES, DOMAINS = 3, 3
ORDERS = {"the same": SAME, "near": (2, 0, 1, 8, 4, 3, 6, 5, 7), "the opposite": FALLING}
"""Order of the domains in the second language, against that in the first."""
NOISE = ("probabilities", "normal", "heavy tails", "one-sided")
HALVES = 60
FAMILY = 50
"""Countries whose main language is in a run."""

Generator = np.random.Generator


def languages(sizes: Sizes) -> None:
    """Print the tables of docs/intervals.md."""
    result = measure(simulated, simulations=sizes.simulations)
    show("| shared | countries | true agreement | covers | draws |", "| --- | --- | --- | --- | --- |")
    for shared, n, truth, share, draws in result["coverage"]:
        show(f"| {shared:g} | {n} | {truth:+.3f} | {share:.3f} | {draws} |")
    show(
        "",
        "| order of domains | domains | countries | effective ranks: true, covers, width | order | draws |",
        "| --- | --- | --- | --- | --- | --- |",
    )
    for order, domains, n, *found, draws in result["orders"]:
        cells = " | ".join("{:+.2f}, {:.3f}, {:.2f}".format(*of) for of in found)
        show(f"| {order} | {domains} | {n} | {cells} | {draws} |")
    show("", "| maps share nothing | all pairs | any of three pairs | draws |", "| --- | --- | --- | --- |")
    for n, overall, any_pair, draws in result["levels"]:
        show(f"| {n} countries | {overall:.3f} | {any_pair:.3f} | {draws} |")
    show(
        "",
        f"| gains | domains | one country | any of {FAMILY}, by Holm | draws |",
        "| --- | --- | --- | --- | --- |",
    )
    for noise, domains, one, some, draws in result["gains"]:
        show(f"| {noise} | {domains} | {one:.3f} | {some:.3f} | {draws} |")


def maps(rng: Generator, n: int, shared: float) -> list[list[FloatArray]]:
    """Return [domains][languages] maps of n countries in 12 regions of unequal size."""
    regions = rng.choice(12, n, p=np.arange(1, 13) / 78)
    found = []
    for domain in range(DOMAINS):
        places = np.random.default_rng(domain).normal(size=(12, 6))[regions] + rng.normal(size=(n, 6))
        row = []
        for _ in range(LANGUAGES):
            point = np.sqrt(shared) * places + np.sqrt(1 - shared) * rng.normal(scale=1.4, size=(n, 6))
            point = np.exp(point)  # positive, with a long tail, as distributions are
            point /= np.linalg.norm(point, axis=1, keepdims=True)
            row.append(np.clip(point @ point.T, 0, 1))
        found.append(row)
    return found


def agreement(tables: list[list[FloatArray]]) -> float:
    """Return the mean agreement over domains and pairs."""
    value = mean_pair([map_agreement(domain) for domain in tables])
    assert value is not None
    return value


def spectra(rng: Generator, n: int, domains: int, order: tuple[int, ...]) -> list[FloatArray]:
    """Return [domains, wordings, 1 + r, 2] logarithms of ER and SR of each of two languages: of all countries
    and of their half-samples.
    """
    members = [np.arange(n), *intervals.half_samples(n, HALVES, 0)]
    regions, chosen = rng.integers(0, len(REGION), n), np.linspace(0, 8, domains).round().astype(int)
    plural, weight = np.linspace(0.5, 2.5, 9), np.linspace(0.5, 3, 9)[[4, 7, 0, 8, 2, 5, 1, 6, 3]]

    def wording(domain: int) -> FloatArray:
        noise = plural[domain] * rng.normal(0, 1, (n, CORE.size)) * rng.gamma(4, 0.25, (n, 1))
        h = np.exp(CORE + weight[domain] * REGION[regions] + noise)
        return spectral.spectra_of_subsets(spectral.cosine_similarity(h), members)

    return [np.log([[wording(of[domain]) for _ in range(3)] for domain in chosen]) for of in (SAME, order)]


def orders(rng: Generator, n: int, domains: int, order: tuple[int, ...]) -> list[list[float]]:
    """Return, of effective ranks and of domains by gap ratio, rho of all countries and of half-samples."""
    one, other = spectra(rng, n, domains, order)
    er = [each[..., 0].reshape(-1, 1 + HALVES) for each in (one, other)]
    sr = [each[..., 1].mean(axis=1) for each in (one, other)]
    return [[spearman(x, y) or 0.0 for x, y in zip(a.T, b.T, strict=True)] for a, b in (er, sr)]


def order_coverage(
    n: int, domains: int, order: tuple[int, ...], draws: int
) -> list[tuple[float, float, float]]:
    """Return the truth, the share of intervals that hold it and their mean width, of both agreements."""
    rng = np.random.default_rng(n)
    both = zip(*(orders(rng, n, domains, order) for _ in range(draws)), strict=True)
    found = []
    for values in both:
        truth = float(np.mean([value for value, *_ in values]))
        ends = np.array(
            [
                intervals.half_sample_interval(value, halves, n, CORRELATION, MIN_COUNTRIES, is_fisher=True)
                for value, *halves in values
            ]
        )
        holds = (ends[:, 0] <= truth) & (truth <= ends[:, 1])
        found.append((truth, float(holds.mean()), float((ends[:, 1] - ends[:, 0]).mean())))
    return found


def gains(rng: Generator, noise: str, domains: int) -> list[FloatArray]:
    """Return a country's gains by domain and wording, whose expected mean over domains is 0."""
    scale = np.exp(rng.normal(size=(domains, 1)))
    if noise == "normal":
        return list(scale * rng.normal(size=(domains, 3)))
    if noise == "heavy tails":
        return list(scale * rng.standard_t(3, size=(domains, 3)))
    if noise == "one-sided":
        return list(scale * (rng.exponential(size=(domains, 3)) - 1))
    level, own = rng.normal(-2, 2, (domains, 1)), rng.normal(0, 0.7, (domains, 1))
    spread = np.exp(rng.normal(-0.7, 0.6, (domains, 1)))

    def drawn(shift: FloatArray | float, size: int) -> FloatArray:
        return 1 / (1 + np.exp(-(level + shift + spread * rng.normal(size=(domains, size)))))

    expected = (drawn(own, 4000) - drawn(0.0, 4000)).mean()
    return list(drawn(own, 3) - drawn(0.0, 3) - expected)


def simulated(simulations: int) -> Result:
    """Return coverage of the agreement and the levels of both tests."""
    coverage, levels, of_gains = [], [], []
    for shared in SHARED:
        truth = 0.0 if shared == 0 else agreement(maps(np.random.default_rng(1), 1200, shared))
        for n in COUNTRIES:
            rng, groups = np.random.default_rng(n), intervals.jackknife_groups(n, 0)
            hits = []
            for _ in range(draws := max(2, simulations // (2 if n < 100 else 10))):
                tables = maps(rng, n, shared)
                left_out = [
                    agreement([[m[np.ix_(g, g)] for m in domain] for domain in tables]) for g in groups
                ]
                ci = intervals.jackknife_interval(agreement(tables), left_out, CORRELATION, MIN_COUNTRIES)
                hits.append(ci is not None and ci[0] <= truth <= ci[1])
            coverage.append((shared, n, truth, float(np.mean(hits)), draws))
    of_orders = [
        (name, domains, n, *order_coverage(n, domains, order, draws), draws)
        for name, order in ORDERS.items()
        for domains in (3, 5)
        for n in COUNTRIES[:2]
        if (draws := max(2, simulations // 8))
    ]
    pairs = tuple(np.array(list(combinations(range(LANGUAGES), 2))).T)
    for n in COUNTRIES[:2]:
        rng = np.random.default_rng(n)
        draws = max(2, simulations // 4)
        tests = [map_test(maps(rng, n, 0.0), seed) for seed in range(draws)]
        overall = [test.overall is not None and test.overall <= 0.05 for test in tests]
        some = [test.pairs[pairs].min() <= 0.05 for test in tests]
        levels.append((n, float(np.mean(overall)), float(np.mean(some)), draws))
    for noise in NOISE:
        for domains in (1, 2, 4):
            rng = np.random.default_rng(domains)
            draws = max(2, simulations // 4)
            p = np.array(
                [
                    [stratified_gain(gains(rng, noise, domains)).p_value for _ in range(FAMILY)]
                    for _ in range(draws)
                ]
            )
            some = [holm(row).min() <= 0.05 for row in p]
            of_gains.append((noise, domains, float((p <= 0.05).mean()), float(np.mean(some)), draws * FAMILY))
    return {"coverage": coverage, "orders": of_orders, "levels": levels, "gains": of_gains}
