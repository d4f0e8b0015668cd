"""People and the judge by group: agreement within each, and of the means of both over groups and items. Pure.

With FmLAMA's verdicts these are the numbers of Zhou et al. 2025, section 5.3 and table 3: groups are origins,
items are dishes, and the means are Manual Evaluation Scores.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

import numpy as np

from tasks.judging.rated import Judged, RatedItem, by_dimension
from tasks.judging.ratings import Menus, Rating
from tasks.judging.rubric import normal
from tasks.judging.validation import spearman
from tasks.metrics.agreement import fleiss_kappa, pearson

# Two points always correlate perfectly, and two answers say nothing about raters.
_MIN_POINTS = 3


class About(NamedTuple):
    """What an answer is about: its group, and the item with the model that answered."""

    group: str
    item: tuple[str, str]


class GroupRow(NamedTuple):
    """One number on people and judge, or the reason why there is none.

    Attributes:
        group: its name; "all" where the number is over groups or items.
        n: how many answers, items or groups the value rests on, by metric.
        n_dropped: how many of these people rated and could not be used.
    """

    dimension: str
    metric: str
    group: str
    value: float | None
    unscored_reason: str | None
    n: int
    n_dropped: int


def group_agreement(
    ratings: Sequence[Rating], judged: Iterable[Judged], about: Mapping[str, About], menus: Menus
) -> list[GroupRow]:
    """The numbers of every dimension; ratings of answers that ``about`` does not know are left out.

    Returns:
        For each group: ``fleiss_kappa`` of people over the verdicts of the menu (n: answers), ``people_mean``
        and ``judge_mean`` (n: items). Over all: ``pearson_groups``, ``spearman_groups``, ``pearson_items``
        and ``spearman_items``, the correlation of people's and the judge's means.

    Means of both sides are taken over the answers that have a verdict and a rating: over people, then over an
    item's answers, then over a group's items. Raises ValueError if the judge scored an answer twice.
    """
    said: dict[tuple[str, str], list[str]] = defaultdict(list)
    for rating in ratings:
        said[rating.dimension, rating.item].append(_verdict(rating, menus.get(rating.dimension, {})))
    rows: list[GroupRow] = []
    for dimension, answers in by_dimension(ratings, judged).items():
        groups: dict[str, list[RatedItem]] = defaultdict(list)
        for answer in answers:
            if answer.item in about:
                groups[about[answer.item].group].append(answer)
        n_items, means, points = 0, [], []
        for group, of_group in sorted(groups.items()):
            verdicts = [said[dimension, answer.item] for answer in of_group]
            rows.append(_kappa(dimension, group, verdicts))
            n_rated = len({about[answer.item].item for answer in of_group})
            of_items = _item_means(of_group, about)
            rows += _means(dimension, group, of_items, n_rated)
            n_items += n_rated
            points += of_items
            if of_items:
                means.append((fmean(people for people, _ in of_items), fmean(judge for _, judge in of_items)))
        rows += _correlations(dimension, "groups", means, len(groups))
        rows += _correlations(dimension, "items", points, n_items)
    return rows


def _verdict(rating: Rating, menu: Mapping[str, float]) -> str:
    """The verdict that the rating is: the word, or the menu's last one of the same value, or the number."""
    words = {normal(word): value for word, value in menu.items()}
    same = [word for word, value in words.items() if value == rating.rating]
    return rating.said if rating.said in words else same[-1] if same else str(rating.rating)


def _kappa(dimension: str, group: str, verdicts: Sequence[Sequence[str]]) -> GroupRow:
    """Fleiss' kappa over the answers with the group's usual number of raters; if tied, the larger."""
    raters = Counter(map(len, verdicts))
    usual = max(raters, key=lambda n: (raters[n], n))
    used = [Counter(of_answer) for of_answer in verdicts if len(of_answer) == usual]
    menu = sorted(set().union(*used))
    value, reason = None, None
    if usual < 2:
        reason = "answers have one rater each, two are needed"
    elif len(used) < _MIN_POINTS:
        reason = f"{len(used)} answers, {_MIN_POINTS} are needed"
    else:
        value = fleiss_kappa([[of_answer[verdict] for verdict in menu] for of_answer in used])
        reason = "all ratings are the same verdict" if value is None else None
    return GroupRow(dimension, "fleiss_kappa", group, value, reason, len(used), len(verdicts) - len(used))


def _item_means(answers: Iterable[RatedItem], about: Mapping[str, About]) -> list[tuple[float, float]]:
    """People's and the judge's mean of each item that has an answer with both."""
    both: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    for answer in answers:
        if answer.value is not None:
            both[about[answer.item].item].append((fmean(answer.ratings.values()), answer.value))
    return [(fmean(p for p, _ in of_item), fmean(j for _, j in of_item)) for of_item in both.values()]


def _means(
    dimension: str, group: str, items: Sequence[tuple[float, float]], n_rated: int
) -> Iterator[GroupRow]:
    n = len(items)
    reason = None if n else "the judge gave no verdict on what people rated"
    for metric, side in (("people_mean", 0), ("judge_mean", 1)):
        value = fmean(item[side] for item in items) if n else None
        yield GroupRow(dimension, metric, group, value, reason, n, n_rated - n)


def _correlations(
    dimension: str, points: str, means: Sequence[tuple[float, float]], n_rated: int
) -> Iterator[GroupRow]:
    n = len(means)
    # Means of the same marks, added up in another order, must tie.
    people, judge = np.array(means, dtype=np.float64).reshape(-1, 2).T.round(12)
    for name, correlation in (("pearson", pearson), ("spearman", spearman)):
        value = correlation(people, judge) if n >= _MIN_POINTS else None
        reason = None
        if n < _MIN_POINTS:
            reason = f"{n} {points}, {_MIN_POINTS} are needed"
        elif value is None:
            reason = "people's or the judge's scores do not vary"
        yield GroupRow(dimension, f"{name}_{points}", "all", value, reason, n, n_rated - n)
