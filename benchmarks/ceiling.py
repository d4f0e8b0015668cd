"""Figure: the human ceiling: how often its interval over people and items holds the mean of all of both.

People answer yes-or-no items. The chance of a right answer falls with an item's and its cluster's difficulty
and rises with a person's ability; an item goes to some of the people in turn. Seeds are fixed.
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
    Design(5, 20, 1, 3), Design(6, 6, 5, 6), Design(8, 10, 3, 3), Design(8, 30, 1, 3), Design(10, 5, 8, 3),
    Design(12, 10, 2, 12), Design(12, 40, 1, 3), Design(20, 60, 1, 3), Design(20, 12, 4, 3),
)  # fmt: skip


def ceiling(sizes: Sizes) -> None:
    """Print the table of docs/intervals.md on the human ceiling."""
    show(
        "| people | clusters x items | answers to each | held: lowest to highest |",
        "| --- | --- | --- | --- |",
    )
    for people, clusters, items, each, low, high in measure(held, simulations=sizes.simulations)["lines"]:
        show(f"| {people} | {clusters} x {items} | {each} | {low:.3f} to {high:.3f} |")


def held(simulations: int) -> Result:
    """Return lines: the design, and the extremes over means and spreads of the share that holds the truth."""
    lines = []
    for design in DESIGNS:
        shares = [
            _held(design, mean, spread, max(20, simulations // 7)) for mean, spread in product(MEANS, SPREADS)
        ]
        lines.append((*design, min(shares), max(shares)))
    return {"lines": lines}


def _held(design: Design, mean: float, spread: tuple[float, float, float], draws: int) -> float:
    rng = np.random.default_rng([ord(letter) for letter in f"{design} {mean} {spread}"])
    points = np.random.default_rng(1).normal(mean, np.linalg.norm(spread), 400_000)
    truth, hits = float(expit(points).mean()), []
    for _ in range(draws):
        ends = two_way_mean(*drawn(rng, design, mean, spread), SHARE).interval
        if ends:
            hits.append(ends[0] <= truth <= ends[1])
    return float(np.mean(hits))


def drawn(
    rng: Generator, design: Design, mean: float, spread: tuple[float, float, float]
) -> tuple[FloatArray, IntArray, IntArray, IntArray]:
    """Return scores, people, items and clusters of one study."""
    n_items = design.clusters * design.items
    item = np.repeat(np.arange(n_items), design.each)
    person, cluster = np.arange(item.size) % design.people, item // design.items
    able, level, own = (
        rng.normal(0, sd, n) for sd, n in zip(spread, (design.people, design.clusters, n_items), strict=True)
    )
    chance = expit(mean + able[person] + level[cluster] + own[item])
    return (rng.random(item.size) < chance).astype(np.float64), person, item, cluster
