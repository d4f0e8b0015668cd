"""Figure: rectified means and differences of judged scores: how often their intervals hold the truth.

Every cell draws 340 judged items in clusters, of six languages, and labels of some of them. The truth is the
population's mean. A judge of quality kappa repeats the truth with that probability and otherwise draws from
the same scores; in four of the languages it scores 0.15 higher on average. Seeds are fixed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from benchmarks.populations import Generator
from benchmarks.process import Result, measure, show
from benchmarks.sizes import Sizes
from tasks.metrics.intervals import CORRELATION, SHARE, mean_interval
from tasks.metrics.ppi import JudgedSample, rectified_difference, rectified_mean
from tasks.metrics.types import FloatArray, IntArray, Interval

ITEMS, LANGUAGES, BIAS = 340, 6, 0.15
KAPPAS, LABELS, CLUSTERS = (0.2, 0.5, 0.8, 0.9), (20, 30, 50, 100, 200, 400), (4, 5, 12, 30, 60, ITEMS)
SHAPES = {"yes and no": (0.6, False), "rare yes": (0.1, False), "skewed grades": (0.15, True)}
"""Scores -> their mean, and whether they are grades with a long tail."""
LOW, HIGH = 0.93, 0.97


class Drawn(NamedTuple):
    """A judged sample, and the population's mean."""

    sample: JudgedSample
    truth: float


class Cell(NamedTuple):
    """A design. crowd: kappa of the labels with the truth; design: chances of the draw, equal or not."""

    shape: str
    kappa: float
    labels: int
    clusters: int
    crowd: float = 1.0
    design: str = "equal"


def drawn(
    rng: Generator, cell: Cell, bias: float = BIAS, of: tuple[FloatArray, IntArray] | None = None
) -> Drawn:
    """Return one sample. of: what two models share: the clusters' levels, and the labelled items' order."""
    mean, is_graded = SHAPES[cell.shape]
    level, of_item = of or _levels(rng, cell)
    n, p = of_item.size, level[of_item]

    def scores() -> FloatArray:
        if is_graded:
            return rng.beta(1.2 * p, 1.2 * (1 - p))
        return (rng.random(n) < p).astype(np.float64)

    truth = scores()
    own = np.where(rng.random(n) < cell.kappa, truth, scores())
    language = of_item % LANGUAGES
    odd = language < 4
    own = _raised(rng, own, np.where(odd, bias, 0.0), is_graded)
    label = np.where(rng.random(n) < cell.crowd, truth, scores())
    chances = _chances(cell, language, n)
    chosen = np.zeros(n, dtype=bool)
    for value in np.unique(chances):
        places = np.flatnonzero(chances == value)
        k = max(1, round(value * places.size))
        chosen[rng.permutation(places)[:k]] = True
    sample = JudgedSample(
        own, np.where(chosen, label, np.nan), chances, language.astype(str), np.arange(n), np.full(n, np.nan),
        of_item.astype(str),
    )  # fmt: skip
    return Drawn(sample, mean)


def _levels(rng: Generator, cell: Cell) -> tuple[FloatArray, IntArray]:
    """Return each cluster's mean, and each item's cluster; with ``ITEMS`` clusters items are independent."""
    mean, n = SHAPES[cell.shape][0], max(ITEMS, 2 * cell.labels)
    if cell.clusters >= ITEMS:
        return np.full(n, mean), np.arange(n)
    return rng.beta(10 * mean, 10 * (1 - mean), cell.clusters), rng.permutation(np.arange(n) % cell.clusters)


def _raised(rng: Generator, own: FloatArray, bias: FloatArray, is_graded: bool) -> FloatArray:
    """Return scores that are higher by the bias on average."""
    if is_graded:
        return np.minimum(1.0, own + bias)
    zero = 1 - own.mean()
    return np.where(rng.random(own.size) < bias / max(zero, 0.15), 1.0, own)


def _chances(cell: Cell, language: IntArray, n: int) -> FloatArray:
    """Return each item's chance: the same for all, or twice as high in every other language."""
    share = min(1.0, cell.labels / n)
    if cell.design == "equal":
        return np.full(n, share)
    twice = np.where(language % 2 == 0, 4 / 3, 2 / 3)
    return np.minimum(1.0, share * twice)


def ppi(sizes: Sizes) -> None:
    """Print the tables of docs/intervals.md on rectified means and their differences."""
    head = "| number | scores | labels | clusters: lowest and highest share that holds the truth over kappa |"
    show(head, "| --- | --- | --- | --- |")
    lines = measure(rectified, simulations=sizes.simulations)["lines"]
    for number, shape, labels, shares in lines:
        points = " · ".join(
            f"{n}: {low:.3f} to {high:.3f}" if low else f"{n}: none" for n, low, high in shares
        )
        show(f"| {number} | {shape} | {labels} | {points} |")
    known = [share for *_, shares in lines for _, low, high in shares if low for share in (low, high)]
    show(f"lowest {min(known):.3f}, highest {max(known):.3f}, bar {LOW} to {HIGH}", "")
    one = measure(bar, draws=sizes.simulations)
    show(
        f"100 of 340 items labelled by a crowd of kappa 0.8: rectified {one['rectified']:.3f}, "
        f"raw {one['raw']:.3f}; widths: rectified {one['width']:.3f}, labels alone {one['alone']:.3f}", "",
    )  # fmt: skip


def rectified(simulations: int) -> Result:
    """Return lines: number, scores, labels, and for each number of clusters the extremes over kappa."""
    lines = []
    for number, shape, labels in product(NUMBERS, SHAPES, LABELS):
        shares = []
        for n in CLUSTERS:
            own = [
                NUMBERS[number](Cell(shape, kappa, labels, n), max(20, simulations // 8)) for kappa in KAPPAS
            ]
            known = [each.held for each in own if each.n > each.draws / 2]
            shares.append((n, min(known, default=0.0), max(known, default=0.0)))
        lines.append((number, shape, labels, shares))
    return {"lines": lines}


class Held(NamedTuple):
    """Shares of draws that hold the truth, of ``n`` of ``draws`` with an interval, and of raw; widths."""

    held: float
    raw: float
    width: float
    alone: float
    n: int
    draws: int


def held(cell: Cell, draws: int) -> Held:
    """Return how often intervals of a mean hold the truth, and their widths beside those of labels alone."""
    rng, rows, raw = _generator(cell), [], 0
    for _ in range(draws):
        sample, truth = drawn(rng, cell)
        plain = mean_interval(sample.scores, sample.clusters, SHARE)
        raw += plain is not None and plain[0] <= truth <= plain[1]
        rows.append(
            (rectified_mean(sample, SHARE).interval, truth, rectified_mean(sample, SHARE, 0.0).interval)
        )
    return _held(rows, raw / draws)


def difference_held(cell: Cell, draws: int) -> Held:
    """Return the same for differences of two equal models of which the judge prefers one by ``BIAS``."""
    rng, rows, raw = _generator(cell), [], 0
    for _ in range(draws):
        one, level, of_item = _with_levels(rng, cell)
        other = drawn(rng, cell, 0.0, (level, of_item)).sample
        clusters = one.clusters
        plain = mean_interval(one.scores - other.scores, clusters, CORRELATION)
        raw += plain is not None and plain[0] <= 0 <= plain[1]
        ends, alone = (
            rectified_difference(
                rectified_mean(one, SHARE, weight), rectified_mean(other, SHARE, weight), clusters
            )[1]
            for weight in (None, 0.0)
        )
        rows.append((ends, 0.0, alone))
    return _held(rows, raw / draws)


def unequal_held(cell: Cell, draws: int) -> Held:
    """Return ``held`` where items of every other language are drawn with twice the chance."""
    return held(cell._replace(design="unequal"), draws)


NUMBERS = {"mean": held, "mean, unequal chances": unequal_held, "difference of models": difference_held}


def bar(draws: int) -> Result:
    """Return the shares and widths of the design in the docs: 340 independent items, 100 labels."""
    one = held(Cell("yes and no", 0.8, 100, ITEMS, crowd=0.8), draws)
    return {"rectified": one.held, "raw": one.raw, "width": one.width, "alone": one.alone}


def _generator(cell: Cell) -> Generator:
    return np.random.default_rng([ord(letter) for letter in str(cell)])


def _with_levels(rng: Generator, cell: Cell) -> tuple[JudgedSample, FloatArray, IntArray]:
    levels = _levels(rng, cell)
    return drawn(rng, cell, BIAS, levels).sample, *levels


def _held(rows: Sequence[tuple[Interval, float, Interval]], raw: float) -> Held:
    known = [(ends, truth, alone) for ends, truth, alone in rows if ends]
    hits = [ends[0] <= truth <= ends[1] for ends, truth, _ in known]
    widths = [(ends[1] - ends[0], alone[1] - alone[0]) for ends, _, alone in known if alone]
    width, alone = np.mean(widths, axis=0) if widths else (math.nan, math.nan)
    return Held(float(np.mean(hits)) if hits else 0.0, raw, float(width), float(alone), len(known), len(rows))
