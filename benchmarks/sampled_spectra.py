"""Figure: what written answers can say of effective rank (ER) and spectral gap ratio (SR).

Countries of known distributions draw N items each. The first table has the mean errors of ER and SR, in
natural logarithms, of the plain shares and of two corrections; the second the coverage of the intervals of
the number that is shown, the mean over draws at that N. The third has the coverage of the agreement of two
ways over questions, whose numbers are normal, with a part that the wordings of a domain share. Seeds are
fixed.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.process import Result, measure, show
from benchmarks.sizes import Sizes
from tasks.evaluations.spectral.read import MIN_COUNTRIES, MIN_SAMPLED
from tasks.evaluations.spectral.sampling import counted, order_agreement
from tasks.metrics import intervals, spectral
from tasks.metrics.agreement import spearman_interval
from tasks.metrics.intervals import POSITIVE
from tasks.metrics.types import FloatArray

KINDS = {
    "one pattern": (0.85, 0.1, 0.05),
    "many around a core": (0.4, 0.2, 0.4),
    "blocks": (0.1, 0.8, 0.1),
    "many": (0.05, 0.15, 0.8),
    "the same everywhere": (1.0, 0.0, 0.0),
}
"""Kind of domain -> weights of what all countries, a region and a country itself answer."""
DRAWS = (5, 10, 20)
SHARPNESS = (1.0, 3.0)
"""Powers of the distributions: 3 for models that nearly always answer the same."""

Spectrum = tuple[float, float]
Generator = np.random.Generator


def sampled_spectra(sizes: Sizes) -> None:
    """Print both tables."""
    result = measure(simulated, simulations=sizes.simulations)
    names = list(ESTIMATES)
    show(
        "| domain | sharpness | draws | "
        + " | ".join(f"{name}: error of ln ER, ln SR" for name in names)
        + " |"
    )
    for kind, sharpness, draws, errors in result["errors"]:
        cells = " | ".join(f"{er:+.2f}, {sr:+.2f}" for er, sr in errors)
        show(f"| {kind} | {sharpness:g} | {draws} | {cells} |")
    show("", "| domain | sharpness | draws | countries | ER covers | SR covers |")
    for kind, sharpness, draws, n, er, sr in result["coverage"]:
        show(f"| {kind} | {sharpness:g} | {draws} | {n} | {er:.3f} | {sr:.3f} |")
    show("", "| domains | wordings | shared part | rho | over domains | over questions |")
    for domains, wordings, shared, rho, own, apart in result["agreement"]:
        show(f"| {domains} | {wordings} | {shared:g} | {rho:.2f} | {own:.3f} | {apart:.3f} |")


def population(kind: str, sharpness: float, n: int, seed: int = 0, n_items: int = 150) -> FloatArray:
    """Return [n, items] distributions of countries in 12 regions."""
    rng = np.random.default_rng(seed)
    common = 1 / np.arange(1, n_items + 1)
    regions, own = rng.dirichlet(np.full(n_items, 0.05), 12), rng.dirichlet(np.full(n_items, 0.02), n)
    weights = rng.dirichlet(12 * np.array(KINDS[kind]) + 0.01, n)
    if kind == "the same everywhere":
        weights = np.tile(KINDS[kind], (n, 1))
    parts = np.stack([np.tile(common / common.sum(), (n, 1)), regions[rng.integers(0, 12, n)], own])
    mixed: FloatArray = np.einsum("nk,knt->nt", weights, parts) ** sharpness
    mixed /= mixed.sum(axis=1, keepdims=True)
    return mixed


def _counts(rng: Generator, truth: FloatArray, n: int) -> FloatArray:
    return np.array([rng.multinomial(n, row) for row in truth], dtype=np.float64)


def _of_counts(counts: FloatArray) -> Spectrum:
    values = spectral.eigenvalues(counts)
    return spectral.effective_rank(values), spectral.spectral_gap_ratio(values)


def _without_chance(counts: FloatArray) -> Spectrum:
    """Return ER and SR with squared lengths from pairs of different draws, drawn towards their mean."""
    n = counts.sum(axis=1)
    own = (counts * (counts - 1)).sum(axis=1) / (n * (n - 1))
    pairs = n * (n - 1) / 2
    own = (pairs * own + 6 * own.mean()) / (pairs + 6)
    gram = counts @ counts.T / np.outer(n, n)
    np.fill_diagonal(gram, own)
    values = np.linalg.eigvalsh(np.clip(gram / np.sqrt(np.outer(own, own)), -1, 1)).clip(0)
    return spectral.effective_rank(values), spectral.spectral_gap_ratio(values)


def _extrapolated(counts: FloatArray) -> Spectrum:
    """Return the jackknife over draws: what half of the draws say, continued to infinitely many."""
    rng, whole = np.random.default_rng(1), np.log(_of_counts(counts))
    n = int(counts[0].sum())
    halves = [
        np.log(_of_counts(np.array([rng.multivariate_hypergeometric(c, n // 2) for c in counts.astype(int)])))
        for _ in range(4)
    ]
    er, sr = np.exp(whole - (np.mean(halves, axis=0) - whole) * (n // 2) / (n - n // 2))
    return max(float(er), 1.0), max(float(sr), 1.0)


ESTIMATES: dict[str, Callable[[FloatArray], Spectrum]] = {
    "shares": _of_counts,
    "without chance": _without_chance,
    "jackknife": _extrapolated,
}


def simulated(simulations: int) -> Result:
    """Return errors and coverage of every kind of domain and number of draws."""
    errors, covered = [], []
    for kind in KINDS:
        for sharpness in SHARPNESS:
            truth = population(kind, sharpness, 170)
            exact = np.log(np.minimum(_of_counts(truth), 1e4))
            everyone = population(kind, sharpness, 3000, seed=1)
            for draws in DRAWS:
                rng = np.random.default_rng(draws)
                tables = [_counts(rng, truth, draws) for _ in range(max(1, simulations // 100))]
                means = [
                    np.mean([np.log(of(t)) - exact for t in tables], axis=0).tolist()
                    for of in ESTIMATES.values()
                ]
                errors.append((kind, sharpness, draws, means))
                for n in (MIN_SAMPLED, 170):
                    shares = _coverage(rng, everyone, n, counted(draws), max(2, simulations // 5))
                    covered.append((kind, sharpness, draws, n, *shares))
    of_agreement = [
        (
            domains,
            wordings,
            shared,
            *agreement_coverage(domains, wordings, shared, r, max(2, simulations // 3)),
        )
        for domains in (6, 9)
        for wordings in (1, 3)
        for shared in ((0.0, 0.5, 0.9) if wordings > 1 else (0.0,))
        for r in (0.0, 0.6, 0.9)
    ]
    return {"errors": errors, "coverage": covered, "agreement": of_agreement}


def agreement_coverage(
    domains: int, wordings: int, shared: float, r: float, samples: int
) -> tuple[float, float, float]:
    """Return rho of very many domains, and the shares of intervals that hold it, where there is one: those
    over domains, and those of as many independent questions.

    shared: part of the variance that a domain's wordings share. r: correlation of both ways in both parts.
    """
    rng, names = np.random.default_rng(domains), np.repeat(np.arange(domains), wordings).astype(str)
    rho, hits = 6 / np.pi * np.arcsin(r / 2), []
    for _ in range(samples):
        parts = rng.normal(size=(2, domains, 1)), rng.normal(size=(2, domains, wordings))
        x, y = (
            np.sqrt(shared) * of_domain + np.sqrt(1 - shared) * own
            for of_domain, own in zip(
                *([p[0], r * p[0] + np.sqrt(1 - r * r) * p[1]] for p in parts), strict=True
            )
        )
        found = order_agreement(x.ravel(), y.ravel(), list(names))
        if found is None or found[1] is None:
            continue
        both = found[1], spearman_interval(found[0], x.size)
        hits.append([each is not None and each[0] <= rho <= each[1] for each in both])
    own, apart = np.mean(hits, axis=0)
    return float(rho), float(own), float(apart)


def _coverage(rng: Generator, everyone: FloatArray, n: int, draws: int, samples: int) -> Spectrum:
    """Return the shares of intervals that hold the geometric mean of ER and SR over samples of countries."""
    found = []
    for _ in range(samples):
        counts = _counts(rng, everyone[rng.choice(len(everyone), n, replace=False)], draws)
        rest = spectral.spectra_of_subsets(
            spectral.cosine_similarity(counts), intervals.jackknife_groups(n, 0)
        )
        found.append((np.array(_of_counts(counts)), rest))
    means = np.exp(np.mean([np.log(own) for own, _ in found], axis=0))

    def holds(place: int) -> float:
        ends = [
            intervals.jackknife_interval(own[place], rest[:, place], POSITIVE, MIN_COUNTRIES)
            for own, rest in found
        ]
        return float(np.mean([each is not None and each[0] <= means[place] <= each[1] for each in ends]))

    return holds(0), holds(1)
