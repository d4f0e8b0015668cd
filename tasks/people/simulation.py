"""Simulated participants with a known truth, some careless, and the number that a study needs. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import norm, rankdata

from tasks.metrics.agreement import (
    kendall_w,
    kendall_w_interval,
    krippendorff_alpha,
    krippendorff_alpha_interval,
)
from tasks.metrics.intervals import mean_interval
from tasks.metrics.types import FloatArray, Interval

RATERS, ITEMS = (2, 3, 5, 8), (25, 50, 100, 200)
"""Pairs of (people per rated item, items)."""
RANKERS = (10, 20, 40, 80, 160, 320)
"""People who rank the same things."""
_LARGE = 20_000


@dataclass(frozen=True)
class People:
    """The traits of simulated people.

    Attributes:
        noise: standard deviation of a person's view around the true value; true values have 1.
        careless: share of people who answer at random.
        points: a rating runs from 1 to this.
    """

    noise: float = 1.0
    careless: float = 0.05
    points: int = 5

    def __post_init__(self) -> None:
        if not (self.noise >= 0 and 0 <= self.careless <= 1 and self.points >= 2):
            raise ValueError(f"{self}: noise from 0, careless from 0 to 1, points from 2")


@dataclass(frozen=True)
class PlanRow:
    """The precision of a study of this size, over simulated ones.

    Attributes:
        truth: the number in a very large study of the same people; width: mean width of its 95 % interval;
            coverage: share of intervals that hold the truth; n_without: studies without an interval.
    """

    people: int
    items: int
    metric: str
    truth: float
    width: float | None
    coverage: float | None
    n_studies: int
    n_without: int


def simulated_rankings(truth: ArrayLike, n_people: int, people: People, seed: int) -> FloatArray:
    """Return ranks from 1, people x things, of things whose true places are ``truth``.

    Thurstone's model (1927): each person sees each place with independent noise.
    """
    places = np.asarray(truth, dtype=np.float64)
    generator = np.random.Generator(np.random.PCG64(seed))
    seen = places + people.noise * generator.standard_normal((n_people, places.size))
    blind = generator.random((n_people, places.size))
    is_careless = generator.random(n_people) < people.careless
    return np.asarray(rankdata(np.where(is_careless[:, None], blind, seen), axis=1), dtype=np.float64)


def simulated_ratings(n_items: int, n_people: int, people: People, seed: int) -> FloatArray:
    """Return ratings from 1 to ``points``, items x people, of items whose truth is standard normal.

    Perceived values are cut so that each point gets an equal share. A careless person is careless for all
    items.
    """
    generator = np.random.Generator(np.random.PCG64(seed))
    truth = generator.standard_normal((n_items, 1))
    seen = truth + people.noise * generator.standard_normal((n_items, n_people))
    cuts = norm.ppf(np.arange(1, people.points) / people.points) * np.hypot(1, people.noise)
    rated = np.searchsorted(cuts, seen) + 1
    blind = generator.integers(1, people.points + 1, (n_items, n_people))
    is_careless = generator.random(n_people) < people.careless
    return np.where(is_careless[None, :], blind, rated).astype(np.float64)


def plan_rankings(
    n_things: int, people: People, sizes: Sequence[int] = RANKERS, studies: int = 40, seed: int = 0
) -> list[PlanRow]:
    """Return the precision of the middle thing's mean rank and of Kendall's W for each number of people.

    Things are evenly spaced from -1.5 to 1.5.
    """
    truth, middle = np.linspace(-1.5, 1.5, n_things), n_things // 2
    bounds = (1.0, float(n_things))
    rows = []
    large = simulated_rankings(truth, _LARGE, people, seed + 1_000_003)
    for size in sizes:
        tables = [simulated_rankings(truth, size, people, seed + n) for n in range(studies)]
        # W depends on the number of people, so the large study's W is converted to this number.
        w = kendall_w(large) or 0.0
        rho = (_LARGE * w - 1) / (_LARGE - 1)
        means = [mean_interval(table[:, middle], bounds=bounds) for table in tables]
        rows.append(_plan_row((size, 1), "mean_rank", float(large[:, middle].mean()), means))
        concordance = [kendall_w_interval(table) for table in tables]
        rows.append(_plan_row((size, 1), "kendall_w", (1 + (size - 1) * rho) / size, concordance))
    return rows


def plan_ratings(
    people: People,
    raters: Sequence[int] = RATERS,
    items: Sequence[int] = ITEMS,
    studies: int = 20,
    seed: int = 0,
) -> list[PlanRow]:
    """Return the precision of ordinal alpha and of the mean rating for each number of people per item and of
    items.

    Every item has different people, so that chance cannot fill a whole study with careless ones. The true
    alpha is that of all of them.
    """
    rows = []
    for n_people in raters:
        large = _independent(4_000, n_people, people, seed + 1_000_003)
        truth = krippendorff_alpha(large, "ordinal") or 0.0
        for n_items in items:
            tables = [_independent(n_items, n_people, people, seed + n) for n in range(studies)]
            alphas = [krippendorff_alpha_interval(table, "ordinal") for table in tables]
            rows.append(_plan_row((n_people, n_items), "krippendorff_alpha_ordinal", truth, alphas))
            bounds = (1.0, float(people.points))
            means = [mean_interval(table.mean(axis=1), bounds=bounds) for table in tables]
            rows.append(_plan_row((n_people, n_items), "mean_rating", (1 + people.points) / 2, means))
    return rows


def smallest(rows: Sequence[PlanRow], metric: str, width: float) -> PlanRow | None:
    """Return the plan with the fewest answers (people x items) whose interval is narrow enough; None if none
    is.

    Raises:
        ValueError: no row has that metric.
    """
    own = [row for row in rows if row.metric == metric]
    if not own:
        raise ValueError(f"no plan for {metric!r}; known: {', '.join(sorted({r.metric for r in rows}))}")
    enough = [row for row in own if row.width is not None and row.width <= width]
    return min(enough, key=lambda row: (row.people * row.items, row.people), default=None)


def _independent(n_items: int, n_people: int, people: People, seed: int) -> FloatArray:
    """Return ratings with different people for every item: carelessness is drawn for each rating."""
    careful = simulated_ratings(n_items, n_people, People(people.noise, 0.0, people.points), seed)
    generator = np.random.Generator(np.random.PCG64([seed, 1]))
    blind = generator.integers(1, people.points + 1, careful.shape)
    return np.where(generator.random(careful.shape) < people.careless, blind, careful)


def _plan_row(size: tuple[int, int], metric: str, truth: float, intervals: Sequence[Interval]) -> PlanRow:
    known = [ends for ends in intervals if ends is not None]
    width = float(np.mean([high - low for low, high in known])) if known else None
    holds = float(np.mean([low <= truth <= high for low, high in known])) if known else None
    return PlanRow(*size, metric, truth, width, holds, len(intervals), len(intervals) - len(known))
