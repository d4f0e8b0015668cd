"""Figure: the human ceiling: how often its interval over people and items holds the mean of all of both.

People answer items. The mean score of an answer falls with an item's and its cluster's difficulty and rises
with a person's ability; scores are right or wrong, or grades with a long tail. An item goes to some of the
people in turn. Seeds are fixed.
"""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from benchmarks.populations import Generator
from benchmarks.process import Result, measure, show
from benchmarks.sizes import Sizes
from tasks.metrics.intervals import SHARE
from tasks.metrics.two_way import two_way_mean
from tasks.metrics.types import FloatArray, IntArray

MEANS = (0.5, 2.0, 3.0)
"""Logits of an average person on an average item."""
SPREADS = ((0.5, 0.0, 1.0), (1.0, 1.0, 0.5), (0.2, 0.5, 1.0))
"""Standard deviations of people, clusters and items on the logit scale."""


class Design(NamedTuple):
    """People, clusters, items of a cluster, and people who answer an item."""

    people: int
    clusters: int
    items: int
    each: int


DESIGNS = (
    Design(5, 20, 1, 3), Design(5, 12, 4, 5), Design(6, 6, 5, 6), Design(8, 10, 3, 3), Design(8, 30, 1, 3),
    Design(10, 5, 8, 3), Design(12, 10, 2, 12), Design(12, 40, 1, 3), Design(20, 60, 1, 3),
    Design(20, 12, 4, 3), Design(40, 5, 20, 4), Design(30, 60, 2, 3),
)  # fmt: skip
SHAPES = {"right or wrong": False, "skewed grades": True}
"""Scores -> whether they are grades with a long tail."""


def ceiling(sizes: Sizes) -> None:
    """Print the table of docs/intervals.md on the human ceiling."""
    show(
        "| people | clusters x items | answers to each | held, right or wrong | held, skewed grades |",
        "| --- | --- | --- | --- | --- |",
    )
    for people, clusters, items, each, *ends in measure(held, simulations=sizes.simulations)["lines"]:
        shares = " | ".join(f"{low:.3f} to {high:.3f}" if high else "none" for low, high in ends)
        show(f"| {people} | {clusters} x {items} | {each} | {shares} |")


def held(simulations: int) -> Result:
    """Return lines: the design, and for each kind of scores the extremes over means and spreads of the share
    that holds the truth, where most draws have an interval.
    """
    lines = []
    for design in DESIGNS:
        ends = []
        for shape in SHAPES:
            shares = [
                share
                for mean, spread in product(MEANS, SPREADS)
                if (share := share_held(design, shape, mean, spread, max(20, simulations // 7))) is not None
            ]
            ends.append((min(shares, default=0.0), max(shares, default=0.0)))
        lines.append((*design, *ends))
    return {"lines": lines}


def share_held(
    design: Design, shape: str, mean: float, spread: tuple[float, float, float], draws: int
) -> float | None:
    """Return the share of intervals that hold the truth; None if most draws have no interval."""
    rng = np.random.default_rng([ord(letter) for letter in f"{design} {shape} {mean} {spread}"])
    points = np.random.default_rng(1).normal(mean, np.linalg.norm(spread), 400_000)
    truth, hits = float(expit(points).mean()), []
    for _ in range(draws):
        ends = two_way_mean(*drawn(rng, design, mean, spread, SHAPES[shape]), SHARE).interval
        if ends:
            hits.append(ends[0] <= truth <= ends[1])
    return float(np.mean(hits)) if len(hits) > draws / 2 else None


def drawn(
    rng: Generator, design: Design, mean: float, spread: tuple[float, float, float], is_graded: bool
) -> tuple[FloatArray, IntArray, IntArray, IntArray]:
    """Return scores, people, items and clusters of one study."""
    n_items = design.clusters * design.items
    item = np.repeat(np.arange(n_items), design.each)
    person, cluster = np.arange(item.size) % design.people, item // design.items
    able, level, own = (
        rng.normal(0, sd, n) for sd, n in zip(spread, (design.people, design.clusters, n_items), strict=True)
    )
    chance = expit(mean + able[person] + level[cluster] + own[item])
    scores = rng.beta(1.2 * chance, 1.2 * (1 - chance)) if is_graded else rng.random(item.size) < chance
    return scores.astype(np.float64), person, item, cluster
