"""Joins a judge's verdicts with people's ratings of the same answers, for rectified means. Pure.

Which labels count: a rating belongs to an answer by its code, which covers model, dimension, item and words,
so ratings of other models' answers and of older words never count. A label is of a drawn sample if a study
drew it with a known chance from exactly the answers of the stratum that the run has. Other ratings, such as
those of older studies, count only where there is no drawn one: the number is then one of a sample of
convenience, without an interval, and so it is if some stratum was not drawn from at all.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple

import numpy as np

from tasks.identity import digest
from tasks.metrics.ppi import JudgedSample

_ROUNDING = 1e-6


class JudgedPart(NamedTuple):
    """One judged answer that enters a mean.

    Attributes:
        unit: the item of the headline's points. score: the judges' mean, on the scale of the metric.
        stratum: what it is drawn within. language: what is corrected apart. scale: from a rating in [0, 1] to
            the scale of the metric.
    """

    code: str
    unit: str
    score: float
    stratum: str
    language: str
    scale: Callable[[float], float]


class Label(NamedTuple):
    """One person's rating of an answer, in [0, 1], and how a study drew the answer; see ``DrawnAnswer``."""

    code: str
    annotator: str
    rating: float
    study: str
    stratum: str
    chance: float | None
    population: str | None


@dataclass(frozen=True)
class Labels:
    """Ratings by answer: the mean over people, with the chance that some study drew the answer.

    Attributes:
        hash: over everything that was rated, so that a new rating is a new number.
    """

    value: Mapping[str, float]
    drawn: Mapping[str, Mapping[str, Label]]
    chances: Mapping[tuple[str, str], Mapping[str, float]]
    hash: str

    def chance(self, stratum: str, population: str) -> float:
        """Return the chance that some study drew an answer of this population; NaN if none drew from it."""
        own = self.chances.get((stratum, population), {})
        return 1 - math.prod(1 - chance for chance in own.values()) if own else math.nan

    def is_drawn(self, code: str, stratum: str, population: str) -> bool:
        """Return whether a rated answer was drawn from this population."""
        own = self.chances.get((stratum, population), {})
        return any(label.stratum == stratum and study in own for study, label in self.drawn[code].items())


def labels_of(rows: Iterable[Label]) -> Labels:
    """Return the labels in ratings of all studies; their order has no effect."""
    ratings: dict[str, dict[tuple[str, str], float]] = defaultdict(dict)
    drawn: dict[str, dict[str, Label]] = defaultdict(dict)
    chances: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    for row in sorted(rows, key=lambda row: (row.code, row.study, row.annotator)):
        ratings[row.code][row.study, row.annotator] = row.rating
        drawn[row.code][row.study] = row
        if row.chance and row.population:
            chances[row.stratum, row.population][row.study] = row.chance
    every = [[code, *map(list, own.items())] for code, own in ratings.items()]
    return Labels({code: fmean(own.values()) for code, own in ratings.items()}, drawn, chances, digest(every))


def judged_sample(
    parts: Sequence[JudgedPart],
    points: Mapping[str, tuple[float, str]],
    labels: Labels,
    populations: Mapping[str, str],
    worst: float,
) -> JudgedSample:
    """Return the arrays of one mean.

    Args:
        parts: judged answers with a score. points: unit -> its value and cluster, as the run stored them.
        populations: stratum -> hash of all its answers. worst: the metric's worst value; units of this value
            whose parts say otherwise, or that have none, are lost answers, which no rating changes.

    Raises:
        ValueError: the parts' scores do not give the units' values, so people's ratings could not either.
    """
    of_unit: dict[str, list[JudgedPart]] = defaultdict(list)
    for part in parts:
        of_unit[part.unit].append(part)
    names = sorted(points)
    fixed = np.full(len(names), np.nan)
    own: list[JudgedPart] = []
    for place, name in enumerate(names):
        value, found = points[name][0], of_unit.get(name, [])
        if found and abs(fmean(part.score for part in found) - value) < _ROUNDING:
            own += found
        elif abs(value - worst) < _ROUNDING:
            fixed[place] = value
        else:
            raise ValueError("the stored verdicts do not give the values of the items")
    place_of = {name: place for place, name in enumerate(names)}
    units = np.array([place_of[part.unit] for part in own], dtype=np.intp)
    rated = [part.code in labels.value for part in own]
    drawn = [
        is_rated and labels.is_drawn(part.code, part.stratum, populations[part.stratum])
        for part, is_rated in zip(own, rated, strict=True)
    ]
    known = drawn if any(drawn) else rated
    chances = [labels.chance(part.stratum, populations[part.stratum]) for part in own]
    return JudgedSample(
        np.array([part.score for part in own]),
        np.array([p.scale(labels.value[p.code]) if k else math.nan for p, k in zip(own, known, strict=True)]),
        np.array(chances), np.array([part.language for part in own], dtype=np.str_), units,
        fixed, np.array([points[name][1] for name in names], dtype=np.str_),
    )  # fmt: skip
