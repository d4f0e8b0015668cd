"""Joins a judge's verdicts with people's ratings of the same answers, for rectified means. Pure.

Which labels count: a rating belongs to an answer by its code, which covers model, dimension, item and words,
so ratings of other models' answers and of older words never count. A label is of a drawn sample if a study
drew it with a known chance from exactly the answers of the stratum that the run has. Other ratings, such as
those of older studies, count only where there is no drawn one: the number is then one of a sample of
convenience, without an interval, and so it is if some stratum was not drawn from at all.

All answers of a stratum have the same chance, so the share of them that is rated is the chance that counts:
of a study that is rated in part, the rated answers of each stratum stand for all of it.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
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
    """Ratings by answer, of several studies and people.

    Attributes:
        drawn_from: stratum and population -> the studies that drew of it at random.
        hash: over everything that was rated, so that a new rating is a new number.
    """

    by_code: Mapping[str, Sequence[Label]]
    drawn_from: Mapping[tuple[str, str], frozenset[str]]
    hash: str

    def rating(self, code: str) -> float | None:
        """Return the mean of an answer's ratings by everyone; None without any."""
        return _mean(self.by_code.get(code, ()))

    def drawn(self, code: str, stratum: str, population: str) -> float | None:
        """Return the mean rating in the studies that drew the answer from this population; None if none."""
        studies = self.drawn_from.get((stratum, population), frozenset())
        own = self.by_code.get(code, ())
        return _mean([each for each in own if each.stratum == stratum and each.study in studies])


def _mean(labels: Sequence[Label]) -> float | None:
    return fmean(each.rating for each in labels) if labels else None


def labels_of(rows: Iterable[Label]) -> Labels:
    """Return the labels in ratings of all studies; their order has no effect."""
    by_code: dict[str, list[Label]] = defaultdict(list)
    drawn: dict[tuple[str, str], set[str]] = defaultdict(set)
    for row in sorted(rows, key=lambda row: (row.code, row.study, row.annotator)):
        by_code[row.code].append(row)
        if row.chance and row.population:
            drawn[row.stratum, row.population].add(row.study)
    every = [[row.code, row.study, row.annotator, row.rating] for own in by_code.values() for row in own]
    return Labels(by_code, {key: frozenset(own) for key, own in drawn.items()}, digest(every))


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
    drawn = [labels.drawn(part.code, part.stratum, populations[part.stratum]) for part in own]
    is_drawn = any(rating is not None for rating in drawn)
    ratings = drawn if is_drawn else [labels.rating(part.code) for part in own]
    rated = Counter(part.stratum for part, rating in zip(own, ratings, strict=True) if rating is not None)
    sizes = Counter(part.stratum for part in own)
    shares = {name: n / sizes[name] if is_drawn else math.nan for name, n in rated.items()}
    return JudgedSample(
        np.array([part.score for part in own]),
        np.array([math.nan if r is None else p.scale(r) for p, r in zip(own, ratings, strict=True)]),
        np.array([shares.get(part.stratum, math.nan) for part in own]),
        np.array([part.language for part in own], dtype=np.str_), units, fixed,
        np.array([points[name][1] for name in names], dtype=np.str_),
    )  # fmt: skip
