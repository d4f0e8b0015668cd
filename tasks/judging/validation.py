"""Validates a judge: agreement among people, of the judge with people, and large disagreements. Pure.

With FmLAMA's verdicts the numbers by group are those of Zhou et al. 2025, section 5.3 and table 3: groups are
origins, items are dishes, and the means are Manual Evaluation Scores.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from scipy.stats import rankdata

from tasks.judging.audit import Menus, Rating
from tasks.judging.rubric import normal
from tasks.judging.votes import Vote, combine
from tasks.metrics.agreement import (
    Level,
    cohen_kappa,
    fleiss_kappa,
    krippendorff_alpha,
    krippendorff_alpha_interval,
    pearson,
)
from tasks.metrics.calibration import Bin, brier_score, expected_calibration_error, reliability_curve
from tasks.metrics.intervals import CORRELATION, SHARE, jackknife
from tasks.metrics.types import FloatArray, IntArray

Points: TypeAlias = list[tuple[float, float]]
"""Pairs of people's and judge's numbers, for items that have both."""

Statistic: TypeAlias = Callable[[FloatArray, FloatArray], float | None]
"""A metric of people's and judge's numbers."""

# Two points always correlate perfectly, and two items or answers give no information on raters.
_MIN_POINTS = 3

# At this gap or more, people and judge are on different sides, or one is in the middle and one at an end.
_HIGH = 0.5

# A judge this far from unanimous people is certain of the opposite.
_REVERSED = 0.9


@dataclass(frozen=True)
class JudgeScore:
    """A judge's score of one dimension of an item.

    Attributes:
        item: as in the ratings, which is the answer's ``audit.JudgedAnswer.code``.
        value: the verdict's value in [0, 1]; None where unscored.
        graded: the graded score in [0, 1]; None if the engine gave none.

    Raises:
        ValueError: a value or a graded score is out of range.
    """

    item: str
    dimension: str
    value: float | None = None
    graded: float | None = None

    def __post_init__(self) -> None:
        for score in (self.value, self.graded):
            if score is not None and not 0 <= score <= 1:
                raise ValueError(
                    f"{self.dimension} of {self.item!r} has the score {score}: cut it to the range 0 to 1"
                )

    @property
    def best(self) -> float | None:
        """Return the graded score, or the verdict's value if there is none."""
        return self.value if self.graded is None else self.graded


@dataclass(frozen=True)
class RatedItem:
    """One dimension of an item: ratings by annotator, and the judge's score."""

    ratings: Mapping[str, Rating]
    judge: JudgeScore

    @property
    def numbers(self) -> list[float]:
        """Return the ratings in the order of annotators' names."""
        return [rating.rating for rating in self.ratings.values()]

    @property
    def mean(self) -> float:
        """Return the mean rating, rounded so that the order of the ratings has no effect."""
        return round(fmean(self.numbers), 12)

    def commonest(self, values: Iterable[float] = ()) -> float | None:
        """Return the commonest rating; None if two are equally common.

        Args:
            values: of the verdicts on the rubric's menu. Another rating counts as the nearest value, or not
                at all if two are equally near: 0.5 is neither yes nor no.
        """
        menu = sorted(set(values))
        classes = [_nearest(rating, menu) for rating in self.numbers]
        counts = Counter(each for each in classes if each is not None).most_common(2)
        return None if not counts or len({n for _, n in counts}) < len(counts) else counts[0][0]


def _nearest(rating: float, menu: Sequence[float]) -> float | None:
    if not menu:
        return rating
    first, *others = sorted(menu, key=lambda value: abs(value - rating))
    is_between = others and abs(abs(others[0] - rating) - abs(first - rating)) < 1e-9
    return None if is_between else first


def scores_by_judge(
    verdicts: Iterable[Mapping[str, Any]],
) -> dict[str, list[JudgeScore]]:
    """Return each judge's scores of the answers.

    Args:
        verdicts: rows of judge, dimension, code, verdict, value and graded. Several rows of one judge on one
            answer are samples: the commonest verdict counts (none if tied), and the mean of the graded
            scores.
    """
    samples: dict[tuple[str, str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for row in verdicts:
        samples[row["judge"], row["dimension"], row["code"]].append(row)
    scores: dict[str, list[JudgeScore]] = defaultdict(list)
    for (judge, dimension, code), rows in samples.items():
        verdict = combine([Vote(judge, "", row["verdict"], row["value"]) for row in rows]).verdict
        values = {row["verdict"]: row["value"] for row in rows}
        grades = [row["graded"] for row in rows if row["graded"] is not None]
        value = None if verdict is None else values[verdict]
        scores[judge].append(JudgeScore(code, dimension, value, fmean(grades) if grades else None))
    return dict(scores)


def by_dimension(ratings: Iterable[Rating], scores: Iterable[JudgeScore]) -> dict[str, list[RatedItem]]:
    """Return the items that people rated, by dimension; dimensions and items are sorted by name.

    Raises:
        ValueError: the judge scored a dimension of an item twice.
    """
    known: dict[tuple[str, str], JudgeScore] = {}
    for score in scores:
        if known.setdefault((normal(score.dimension), score.item), score) is not score:
            raise ValueError(
                f"{score.dimension} of {score.item!r} was judged twice: give one judge's scores, once"
            )
    people: dict[tuple[str, str], dict[str, Rating]] = defaultdict(dict)
    for rating in sorted(ratings, key=lambda r: r.annotator):
        people[rating.dimension, rating.item][rating.annotator] = rating
    dimensions: dict[str, list[RatedItem]] = defaultdict(list)
    for (dimension, item), own in sorted(people.items(), key=lambda entry: entry[0]):
        score = known.get((dimension, item), JudgeScore(item, dimension))
        dimensions[dimension].append(RatedItem(own, replace(score, item=item)))
    return dict(dimensions)


@dataclass(frozen=True)
class JudgeAgreementRow:
    """One number on one dimension, or the reason why it is missing.

    Attributes:
        n: number of items used.
        n_dropped: number of items that people rated but that could not be used.
        ci_low, ci_high: 95 % interval, by leaving out one item at a time; None if there is none.
    """

    dimension: str
    metric: str
    value: float | None
    unscored_reason: str | None
    n: int
    n_dropped: int
    ci_low: float | None
    ci_high: float | None


def people_agreement(ratings: Iterable[Rating]) -> list[JudgeAgreementRow]:
    """Return ``alpha_nominal``, ``alpha_ordinal`` and ``alpha_interval`` (Krippendorff) of every dimension.

    n: number of items with two ratings or more. The order of the ratings has no effect.
    """
    rows = []
    for dimension, items in by_dimension(ratings, ()).items():
        annotators = sorted({name for item in items for name in item.ratings})
        by_name = ({name: own.rating for name, own in item.ratings.items()} for item in items)
        table = np.array([[own.get(name, np.nan) for name in annotators] for own in by_name])
        n = sum(len(item.ratings) > 1 for item in items)
        for level in get_args(Level):
            value, interval = None, None
            if n >= _MIN_POINTS:
                value = krippendorff_alpha(table, level)
                interval = krippendorff_alpha_interval(table, level)
            counts = (n, len(items) - n)
            rows.append(_row(dimension, f"alpha_{level}", value, counts, interval, "ratings"))
    return rows


def judge_agreement(
    ratings: Iterable[Rating], scores: Iterable[JudgeScore], menus: Menus | None = None
) -> list[JudgeAgreementRow]:
    """Return the judge's agreement with people on every dimension that they rated.

    The order of either argument has no effect.

    Returns:
        ``kappa``, ``kappa_quadratic``: the verdict's value and people's commonest rating, as classes of the
        menu; ``pearson``, ``spearman``: the verdict's value and the mean of people's ratings;
        ``pearson_graded``, ``spearman_graded``: the graded score and that mean;
        ``brier``, ``calibration_error``: the graded score and people's majority, 1 or 0 for a mean
        above or below 0.5. Items with a tie are dropped if a commonest rating or a majority is needed. The
        calibration error has no interval, because it is larger with fewer items.

    Args:
        menus: dimension -> verdict -> value. A rating off the menu, such as 0.75 for yes or no, counts as the
            nearest verdict; without a menu every rating is a separate class.

    Raises:
        ValueError: the judge scored a dimension of an item twice.
    """
    rows = []
    for dimension, items in by_dimension(ratings, scores).items():
        menu = (menus or {}).get(dimension, {})
        for metric, statistic, points in _comparisons(items, menu.values()):
            people, judge = np.array(points, dtype=np.float64).reshape(-1, 2).T
            n, value, interval = len(points), None, None
            if n >= _MIN_POINTS:
                value = statistic(people, judge)
            if value is not None and metric != "calibration_error":
                bounds = SHARE if metric == "brier" else CORRELATION
                interval = jackknife(partial(_on_subset, statistic, people, judge), np.arange(n), bounds)
            counts = (n, len(items) - n)
            rows.append(_row(dimension, metric, value, counts, interval, "people's or the judge's scores"))
    return rows


def reliability_curves(ratings: Iterable[Rating], scores: Iterable[JudgeScore]) -> dict[str, list[Bin]]:
    """Return curves of graded scores against people's majority, by dimension."""
    curves = {}
    for dimension, items in by_dimension(ratings, scores).items():
        if pairs := _majorities(items):
            outcomes, grades = zip(*pairs, strict=True)
            curves[dimension] = reliability_curve(grades, outcomes)
    return curves


def _comparisons(items: Sequence[RatedItem], menu: Collection[float]) -> list[tuple[str, Statistic, Points]]:
    """Return every metric of ``judge_agreement`` with its points."""

    def points(people: Callable[[RatedItem], float | None], field: str) -> Points:
        pairs = ((people(item), getattr(item.judge, field)) for item in items)
        return [(mark, score) for mark, score in pairs if mark is not None and score is not None]

    def mean(item: RatedItem) -> float:
        return item.mean

    classes = points(lambda item: item.commonest(menu), "value")
    names = sorted({number for pair in classes for number in pair})
    majorities = _majorities(items)
    correlations = [
        (f"{name}{suffix}", statistic, points(mean, field))
        for suffix, field in (("", "value"), ("_graded", "graded"))
        for name, statistic in (("pearson", pearson), ("spearman", spearman))
    ]
    return [
        ("kappa", lambda x, y: cohen_kappa(x.tolist(), y.tolist(), names), classes),
        ("kappa_quadratic", lambda x, y: cohen_kappa(x.tolist(), y.tolist(), names, "quadratic"), classes),
        *correlations,
        ("brier", lambda people, judge: brier_score(judge, people), majorities),
        ("calibration_error", _calibration_error, majorities),
    ]


def _majorities(items: Sequence[RatedItem]) -> Points:
    """Return (1 or 0, graded score) of the items that most people rate above or below 0.5."""
    graded = ((item.mean, item.judge.graded) for item in items)
    return [(float(mean > 0.5), score) for mean, score in graded if score is not None and mean != 0.5]


def _on_subset(statistic: Statistic, people: FloatArray, judge: FloatArray, items: IntArray) -> float | None:
    return statistic(people[items], judge[items])


def spearman(people: FloatArray, judge: FloatArray) -> float | None:
    """Return Spearman's rho of two finite vectors; None if a side is constant."""
    return pearson(rankdata(people), rankdata(judge))


def _calibration_error(people: FloatArray, judge: FloatArray) -> float:
    return expected_calibration_error(reliability_curve(judge, people))


def _row(
    dimension: str, metric: str, value: float | None, counts: tuple[int, int],
    interval: tuple[float, float] | None, subject: str,
) -> JudgeAgreementRow:  # fmt: skip
    """Return a row. counts: (n, n_dropped); subject: names the values in the reason "… do not vary"."""
    reason = None
    if counts[0] < _MIN_POINTS:
        reason = f"{counts[0]} items, {_MIN_POINTS} are needed"
    elif value is None:
        reason = f"{subject} do not vary"
    return JudgeAgreementRow(dimension, metric, value, reason, *counts, *(interval or (None, None)))


Pattern: TypeAlias = Literal["annotators split", "polarity reversed", "judge stricter", "judge more lenient"]


@dataclass(frozen=True)
class Disagreement:
    """A large gap between people's mean of ``n_annotators`` ratings and the judge's score, both in [0, 1]."""

    dimension: str
    item: str
    people: float
    judge: float
    n_annotators: int
    pattern: Pattern


def disagreements(ratings: Iterable[Rating], scores: Iterable[JudgeScore]) -> list[Disagreement]:
    """Return items on which the judge is at least 0.5 from people's mean rating, widest gap first.

    The judge's score is the graded score, or the verdict's value if there is none. An item has the first
    pattern that holds:

    - "annotators split": some rate below 0.5 and some above, so no judge could agree with all.
    - "polarity reversed": all people give the same rating, and the graded score is at least 0.9 away: the
      judge is certain of the opposite. A verdict alone does not show how certain it is.
    - "judge stricter", "judge more lenient": by the sign of the gap.

    Raises:
        ValueError: the judge scored a dimension of an item twice.
    """
    rows = [
        Disagreement(dimension, item.judge.item, item.mean, score, len(item.ratings), _pattern(item, score))
        for dimension, items in by_dimension(ratings, scores).items()
        for item in items
        if (score := item.judge.best) is not None and abs(score - item.mean) >= _HIGH
    ]
    return sorted(rows, key=lambda d: (-abs(d.judge - d.people), d.dimension, d.item))


def _pattern(item: RatedItem, score: float) -> Pattern:
    ratings = set(item.numbers)
    if min(ratings) < 0.5 < max(ratings):
        return "annotators split"
    if item.judge.graded is not None and len(ratings) == 1 and abs(score - item.mean) >= _REVERSED:
        return "polarity reversed"
    return "judge stricter" if score < item.mean else "judge more lenient"


class Subject(NamedTuple):
    """The subject of an answer: its group, its item and the model that answered."""

    group: str
    item: tuple[str, str]


class GroupAgreementRow(NamedTuple):
    """One number on people and judge, or the reason why it is missing.

    Attributes:
        group: its name; "all" for numbers over groups or items.
        n: number of answers, items or groups used, by metric.
        n_dropped: number that people rated but that could not be used.
    """

    dimension: str
    metric: str
    group: str
    value: float | None
    unscored_reason: str | None
    n: int
    n_dropped: int


def group_agreement(
    ratings: Sequence[Rating], scores: Iterable[JudgeScore], subjects: Mapping[str, Subject], menus: Menus
) -> list[GroupAgreementRow]:
    """Return people's and the judge's agreement by group; ratings of answers without a subject are left out.

    Returns:
        For each group: ``fleiss_kappa`` of people over the verdicts of the menu (n: answers), ``people_mean``
        and ``judge_mean`` (n: items). Over all: ``pearson_groups``, ``spearman_groups``, ``pearson_items``
        and ``spearman_items``, the correlation of people's and the judge's means.

    Means of both sides are taken over the answers that have a verdict and a rating: over people, then over an
    item's answers, then over a group's items. Raises ValueError if the judge scored an answer twice.
    """
    rows: list[GroupAgreementRow] = []
    for dimension, answers in by_dimension(ratings, scores).items():
        menu = {normal(word): value for word, value in menus.get(dimension, {}).items()}
        groups: dict[str, list[RatedItem]] = defaultdict(list)
        for answer in answers:
            if answer.judge.item in subjects:
                groups[subjects[answer.judge.item].group].append(answer)
        n_items, means, points = 0, [], []
        for group, own in sorted(groups.items()):
            rows.append(_fleiss(dimension, group, own, menu))
            n_rated = len({subjects[answer.judge.item].item for answer in own})
            item_means = _item_means(own, subjects)
            rows += _means(dimension, group, item_means, n_rated)
            n_items += n_rated
            points += item_means
            if item_means:
                means.append(
                    (fmean(people for people, _ in item_means), fmean(judge for _, judge in item_means))
                )
        rows += _correlations(dimension, "groups", means, len(groups))
        rows += _correlations(dimension, "items", points, n_items)
    return rows


def _fleiss(
    dimension: str, group: str, answers: Sequence[RatedItem], menu: Mapping[str, float]
) -> GroupAgreementRow:
    """Return Fleiss' kappa over answers with the commonest number of raters; if tied, the larger one."""
    raters = Counter(len(answer.ratings) for answer in answers)
    usual = max(raters, key=lambda n: (raters[n], n))
    used = [
        Counter(_verdict(rating, menu) for rating in answer.ratings.values())
        for answer in answers
        if len(answer.ratings) == usual
    ]
    verdicts = sorted(set().union(*used))
    value, reason = None, None
    if usual < 2:
        reason = "answers have one rater each, two are needed"
    elif len(used) < _MIN_POINTS:
        reason = f"{len(used)} answers, {_MIN_POINTS} are needed"
    else:
        value = fleiss_kappa([[counts[verdict] for verdict in verdicts] for counts in used])
        reason = "all ratings are the same verdict" if value is None else None
    return GroupAgreementRow(
        dimension, "fleiss_kappa", group, value, reason, len(used), len(answers) - len(used)
    )


def _verdict(rating: Rating, menu: Mapping[str, float]) -> str:
    """Return the rating as a verdict: the word, or the menu's last one of the same value, or the number."""
    same = [word for word, value in menu.items() if value == rating.rating]
    return rating.written if rating.written in menu else same[-1] if same else str(rating.rating)


def _item_means(answers: Iterable[RatedItem], subjects: Mapping[str, Subject]) -> Points:
    """Return people's and the judge's means for each item that has an answer with both."""
    by_item: dict[tuple[str, str], Points] = defaultdict(list)
    for answer in answers:
        if answer.judge.value is not None:
            by_item[subjects[answer.judge.item].item].append((fmean(answer.numbers), answer.judge.value))
    return [(fmean(p for p, _ in points), fmean(j for _, j in points)) for points in by_item.values()]


def _means(dimension: str, group: str, items: Points, n_rated: int) -> Iterator[GroupAgreementRow]:
    """Yield people's and the judge's mean over a group's items."""
    n, reason = len(items), None if items else "the judge gave no verdict on what people rated"
    for metric, side in (("people_mean", 0), ("judge_mean", 1)):
        value = fmean(item[side] for item in items) if n else None
        yield GroupAgreementRow(dimension, metric, group, value, reason, n, n_rated - n)


def _correlations(dimension: str, unit: str, means: Points, n_rated: int) -> Iterator[GroupAgreementRow]:
    """Yield the correlations of people's and the judge's means. unit: "groups" or "items"."""
    n = len(means)
    # Means of the same ratings must not depend on the order of summation.
    people, judge = np.array(means, dtype=np.float64).reshape(-1, 2).T.round(12)
    for name, correlation in (("pearson", pearson), ("spearman", spearman)):
        value = correlation(people, judge) if n >= _MIN_POINTS else None
        reason = None
        if n < _MIN_POINTS:
            reason = f"{n} {unit}, {_MIN_POINTS} are needed"
        elif value is None:
            reason = "people's or the judge's scores do not vary"
        yield GroupAgreementRow(dimension, f"{name}_{unit}", "all", value, reason, n, n_rated - n)
