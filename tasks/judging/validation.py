"""Is a judge fit to stand in for people? People among themselves, and the judge against them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeAlias, get_args

import numpy as np
from scipy.stats import rankdata

from tasks.judging.rated import Judged, RatedItem, by_dimension
from tasks.judging.ratings import Menus, Rating
from tasks.metrics.agreement import cohen_kappa, pearson
from tasks.metrics.calibration import Bin, brier_score, expected_calibration_error, reliability_curve
from tasks.metrics.intervals import CORRELATION, SHARE, jackknife
from tasks.metrics.krippendorff_alpha import Level, krippendorff_alpha, krippendorff_alpha_interval
from tasks.metrics.types import FloatArray, IntArray

Points: TypeAlias = list[tuple[float, float]]
"""(people's, judge's) number of each item that has both."""

Statistic: TypeAlias = Callable[[FloatArray, FloatArray], float | None]
"""People's and judge's numbers to a metric."""

# Two points always correlate perfectly, and two items say nothing about raters.
_MIN_ITEMS = 3


@dataclass(frozen=True)
class AgreementRow:
    """One number on one dimension, or the reason why there is none.

    Attributes:
        n: items that the value rests on.
        n_dropped: items that people rated and that could not be used.
        ci_low, ci_high: 95 % interval, by leaving out item after item; None where there is none.
    """

    dimension: str
    metric: str
    value: float | None
    unscored_reason: str | None
    n: int
    n_dropped: int
    ci_low: float | None
    ci_high: float | None


def people_agreement(ratings: Iterable[Rating]) -> list[AgreementRow]:
    """Krippendorff's alpha of every dimension: ``alpha_nominal``, ``alpha_ordinal``, ``alpha_interval``.

    n: items with two ratings or more. Does not depend on the order of the ratings.
    """
    rows = []
    for dimension, items in by_dimension(ratings, ()).items():
        annotators = sorted({name for item in items for name in item.ratings})
        table = np.array([[item.ratings.get(name, np.nan) for name in annotators] for item in items])
        n = sum(len(item.ratings) > 1 for item in items)
        for level in get_args(Level):
            value, interval = None, None
            if n >= _MIN_ITEMS:
                value = krippendorff_alpha(table, level)
                interval = krippendorff_alpha_interval(table, level)
            counts = (n, len(items) - n)
            rows.append(_row(dimension, f"alpha_{level}", value, counts, interval, "ratings"))
    return rows


def judge_agreement(
    ratings: Iterable[Rating], judged: Iterable[Judged], menus: Menus | None = None
) -> list[AgreementRow]:
    """The judge against people, on every dimension that they rated.

    Returns:
        ``kappa``, ``kappa_quadratic``: the verdict's value and people's commonest one, as classes of the
        menu.
        ``pearson``, ``spearman``: the verdict's value and the mean of people's ratings;
        ``pearson_graded``, ``spearman_graded``: the graded score and that mean; ``pearson_equal_length``,
        ``spearman_equal_length``: that score at equal length, where scores are compared so. ``brier``,
        ``calibration_error``: the graded score and what most people say, 1 or 0 for a mean above or below
        0.5. Items on which people are tied are dropped where a commonest rating or a majority is needed. The
        calibration error has no interval: with fewer items it is larger.

    Does not depend on the order of either argument.

    Args:
        menus: dimension -> verdict -> value. A rating off its menu, such as 0.75 of a yes or no, counts for
            the nearest verdict; without a menu every rating is a class of its own.

    Raises:
        ValueError: the judge scored a dimension of an item twice.
    """
    rows = []
    for dimension, items in by_dimension(ratings, judged).items():
        menu = (menus or {}).get(dimension, {})
        for metric, statistic, points in _comparisons(items, menu.values()):
            people, judge = np.array(points, dtype=np.float64).reshape(-1, 2).T
            n, value, interval = len(points), None, None
            if n >= _MIN_ITEMS:
                value = statistic(people, judge)
            if value is not None and metric != "calibration_error":
                bounds = SHARE if metric == "brier" else CORRELATION
                interval = jackknife(_on(statistic, people, judge), np.arange(n), bounds)
            counts = (n, len(items) - n)
            rows.append(_row(dimension, metric, value, counts, interval, "people's or the judge's scores"))
    return rows


def reliability_curves(ratings: Iterable[Rating], judged: Iterable[Judged]) -> dict[str, list[Bin]]:
    """Dimension to the curve of its graded scores against what most people say, where there are any."""
    points = {name: _majorities(items) for name, items in by_dimension(ratings, judged).items()}
    return {
        name: reliability_curve([score for _, score in pairs], [outcome for outcome, _ in pairs])
        for name, pairs in points.items()
        if pairs
    }


def _comparisons(items: Sequence[RatedItem], menu: Collection[float]) -> list[tuple[str, Statistic, Points]]:
    """Every metric of ``judge_agreement`` with the points that it is taken over."""
    usual = ((item.commonest(menu), item.value) for item in items)
    classes = [(people, judge) for people, judge in usual if people is not None and judge is not None]
    names = sorted({number for pair in classes for number in pair})
    verdicts = [(i.mean, i.value) for i in items if i.value is not None]
    grades = [(i.mean, i.graded) for i in items if i.graded is not None]
    majorities = _majorities(items)
    at_length = [(i.mean, i.equal_length) for i in items if i.equal_length is not None]
    of_length: list[tuple[str, Statistic, Points]] = [
        ("pearson_equal_length", pearson, at_length),
        ("spearman_equal_length", spearman, at_length),
    ]
    return [
        ("kappa", partial(_kappa, classes=names, weights="none"), classes),
        ("kappa_quadratic", partial(_kappa, classes=names, weights="quadratic"), classes),
        ("pearson", pearson, verdicts),
        ("spearman", spearman, verdicts),
        ("pearson_graded", pearson, grades),
        ("spearman_graded", spearman, grades),
        *(of_length if at_length else ()),
        ("brier", _brier, majorities),
        ("calibration_error", _calibration_error, majorities),
    ]


def _majorities(items: Sequence[RatedItem]) -> Points:
    """(1 or 0, graded score) of the items that most people rate above or below 0.5."""
    return [(float(i.mean > 0.5), i.graded) for i in items if i.graded is not None and i.mean != 0.5]


def _on(statistic: Statistic, people: FloatArray, judge: FloatArray) -> Callable[[IntArray], float | None]:
    """The statistic of the items drawn."""
    return lambda drawn: statistic(people[drawn], judge[drawn])


def _kappa(
    people: FloatArray, judge: FloatArray, classes: Sequence[float], weights: Literal["none", "quadratic"]
) -> float | None:
    return cohen_kappa(people.tolist(), judge.tolist(), classes, weights)


def spearman(people: FloatArray, judge: FloatArray) -> float | None:
    """Spearman's rho of two finite vectors; None where a side is constant."""
    return pearson(rankdata(people), rankdata(judge))


def _brier(people: FloatArray, judge: FloatArray) -> float:
    return brier_score(judge, people)


def _calibration_error(people: FloatArray, judge: FloatArray) -> float:
    return expected_calibration_error(reliability_curve(judge, people))


def _row(
    dimension: str,
    metric: str,
    value: float | None,
    counts: tuple[int, int],
    interval: tuple[float, float] | None,
    what: str,
) -> AgreementRow:
    """counts: (n, n_dropped); what: whose sameness would leave the metric without a value."""
    n, n_dropped = counts
    reason = None
    if n < _MIN_ITEMS:
        reason = f"{n} items, {_MIN_ITEMS} are needed"
    elif value is None:
        reason = f"{what} do not vary"
    low, high = interval or (None, None)
    return AgreementRow(dimension, metric, value, reason, n, n_dropped, low, high)
