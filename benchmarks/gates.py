"""Figure: wrong verdicts of `culturemeter gate`, over one look and over 52 weekly looks, and the items it
asks for.

The number that is judged is exactly on its limit, so that GO and NO-GO are both wrong; each may come in at
most 2.5 % of sequences of looks. The confidence sequence of Howard, Ramdas, McAuliffe and Sekhon (2021), the
usual answer to many looks, is printed beside it: the number of standard errors that it needs at its best.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import ndtri

from benchmarks.populations import Generator
from benchmarks.process import Result, measure, show
from benchmarks.sizes import Sizes
from tasks.metrics.gates import Tails, judged, tails
from tasks.metrics.intervals import SHARE, degrees_of_freedom, mean_interval
from tasks.metrics.types import FloatArray, IntArray, Interval

LOOKS = 52
LEVEL = 0.05


class Sample(NamedTuple):
    """Scores of items within clusters, and the mean of the population."""

    values: FloatArray
    clusters: IntArray
    mean: float


Draw = Callable[[Generator, int], Sample]


def gates(sizes: Sizes) -> None:
    """Print the tables of docs/gate.md."""
    show(
        "| scores | clusters | tail | wrong GO | wrong NO-GO | draws |",
        "| --- | --- | --- | --- | --- | --- |",
    )
    for name, n, looks, wrong, draws in measure(single_looks, draws=20 * sizes.simulations)["lines"]:
        show(f"| {name} | {n} | 0.025 / {looks} | {wrong[0]:.5f} | {wrong[1]:.5f} | {draws} |")
    show(
        "| 52 looks at | policy says | wrong GO | wrong NO-GO | sequences |",
        "| --- | --- | --- | --- | --- |",
    )
    for name, looks, wrong, draws in measure(sequences, draws=max(4, sizes.simulations // 5))["lines"]:
        show(f"| {name} | looks = {looks} | {wrong[0]:.3f} | {wrong[1]:.3f} | {draws} |")
    share, draws = measure(decided, draws=sizes.simulations)["result"]
    show(f"with the items it asks for, {share:.2f} of {draws} undecided gates decide rightly")
    ours, theirs = measure(widths)["result"]
    show(
        f"standard errors: {ours:.2f} by equal shares of 52 looks, {theirs:.2f} by a confidence sequence "
        "at its best"
    )


def _skewed(rng: Generator, n: int) -> Sample:
    return Sample(rng.beta(0.4, 0.1, n), np.arange(n), 0.8)


def _even(rng: Generator, n: int) -> Sample:
    return Sample(rng.beta(0.5, 2, n), np.arange(n), 0.2)


def _yes(rng: Generator, n: int, share: float) -> Sample:
    return Sample((rng.random(n) < share).astype(np.float64), np.arange(n), share)


def _clustered(rng: Generator, n: int) -> Sample:
    clusters = np.repeat(np.arange(n), rng.integers(1, 7, n))
    chance = rng.beta(6, 2, n)[clusters]
    return Sample((rng.random(clusters.size) < chance).astype(np.float64), clusters, 0.75)


DRAWS: dict[str, Draw] = {
    "judged, beta(0.4, 0.1)": _skewed,
    "mAP, beta(0.5, 2)": _even,
    "yes with 0.9": partial(_yes, share=0.9),
    "yes with 0.6": partial(_yes, share=0.6),
    "yes and no, 1 to 6 items a cluster": _clustered,
}


def _interval(sample: Sample) -> tuple[float, Interval, float]:
    """Return a sample's mean, stored interval and degrees of freedom."""
    counts = np.bincount(sample.clusters)
    ends = mean_interval(sample.values, sample.clusters, SHARE)
    return float(sample.values.mean()), ends, degrees_of_freedom(counts / counts.sum())


def _wrong(
    value: float, ends: Interval, df: float, limit: float, n: int, chances: Tails
) -> tuple[bool, bool]:
    """Return whether the verdict about a number on its limit is GO, and whether it is NO-GO."""
    verdict = judged(value, ends, limit, True, chances, n, df, SHARE).verdict
    return verdict == "GO", verdict == "NO-GO"


def single_looks(draws: int) -> Result:
    """Return the shares of wrong verdicts of one look, at the tails of one look and of 52."""
    lines = []
    for name, draw in DRAWS.items():
        for n in (12, 30, 100, 400):
            rng, wrong = np.random.default_rng(n), np.zeros((2, 2))
            own = max(2, draws * 30 // max(30, n))
            for _ in range(own):
                sample = draw(rng, n)
                value, ends, df = _interval(sample)
                for place, looks in enumerate((1, LOOKS)):
                    wrong[place] += _wrong(value, ends, df, sample.mean, n, tails(LEVEL, looks, 1))
            lines += [(name, n, looks, (wrong[i] / own).tolist(), own) for i, looks in enumerate((1, LOOKS))]
    return {"lines": lines}


def sequences(draws: int, n: int = 60) -> Result:
    """Return the shares of sequences of 52 looks with a wrong verdict at any look."""
    lines = []
    for name in ("the same items, answered again", "new items each time", "more items each time"):
        rng, wrong = np.random.default_rng(0), np.zeros((2, 2))
        for _ in range(draws):
            seen = np.zeros((2, 2), dtype=np.bool_)
            chance = rng.beta(6, 2, n * LOOKS)
            right = (rng.random(n * LOOKS) < chance).astype(np.float64)
            for look in range(LOOKS):
                own = slice(look * n, (look + 1) * n)
                if name.startswith("the same"):
                    values = (rng.random(n) < chance[:n]).astype(np.float64)
                else:
                    values = right[own] if name.startswith("new") else right[: own.stop]
                value, ends, df = _interval(Sample(values, np.arange(values.size), 0.75))
                for place, looks in enumerate((1, LOOKS)):
                    seen[place] |= _wrong(value, ends, df, 0.75, values.size, tails(LEVEL, looks, 1))
            wrong += seen
        lines += [(name, looks, (wrong[i] / draws).tolist(), draws) for i, looks in enumerate((1, LOOKS))]
    return {"lines": lines}


def decided(draws: int, n: int = 100) -> Result:
    """Return how often a gate that was undecided is GO with the items that its finding asks for.

    The finding takes the value for the truth, so this draws from a population in which it is.
    """
    rng, right, undecided = np.random.default_rng(0), 0, 0
    chances = tails(LEVEL, 1, 1)
    for _ in range(draws):
        values = (rng.random(n) < 0.8).astype(np.float64)
        value, ends, df = _interval(Sample(values, np.arange(n), 0.8))
        limit = value - 0.05
        found = judged(value, ends, limit, True, chances, n, df, SHARE)
        if found.verdict != "INCONCLUSIVE" or found.more is None or value == 1:
            continue
        undecided += 1
        again = (rng.random(n + found.more) < value).astype(np.float64)
        value, ends, df = _interval(Sample(again, np.arange(again.size), 0.8))
        right += judged(value, ends, limit, True, chances, again.size, df, SHARE).verdict == "GO"
    return {"result": (right / max(undecided, 1), undecided)}


def widths() -> Result:
    """Return the standard errors that separate a number from its limit: by equal shares of 52 looks, and by
    the normal-mixture confidence sequence with the parameter that is best at its last look."""

    def boundary(log_rho: float) -> float:
        rho = math.exp(log_rho)
        return math.sqrt((1 + rho) * math.log((1 + rho) / (rho * LEVEL**2)))

    best = minimize_scalar(boundary, bounds=(-8, 3), method="bounded")
    return {"result": (float(-ndtri(LEVEL / 2 / LOOKS)), float(best.fun))}
