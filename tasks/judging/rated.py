"""People's ratings and a judge's scores of the same items, side by side. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from tasks.judging.ensemble import Vote, combine
from tasks.judging.ratings import Rating
from tasks.judging.rubric import normal


@dataclass(frozen=True)
class Judged:
    """What the judge said of one dimension of an item.

    Attributes:
        item: as in the ratings, which is the answer's ``audit.code``.
        value: the verdict's value in [0, 1]; None where unscored.
        graded: the graded score in [0, 1]; None where the engine gave none.

    Raises:
        ValueError: a score is out of range, as after an adjustment for length: cut it to the range first.
    """

    item: str
    dimension: str
    value: float | None
    graded: float | None

    def __post_init__(self) -> None:
        for score in (self.value, self.graded):
            if score is not None and not 0 <= score <= 1:
                raise ValueError(
                    f"{self.dimension} of {self.item!r} has the score {score}: cut it to the range 0 to 1"
                )


@dataclass(frozen=True)
class RatedItem:
    """One dimension of an item: annotator to rating, and the judge's scores where it has any."""

    item: str
    ratings: Mapping[str, float]
    value: float | None
    graded: float | None

    @property
    def mean(self) -> float:
        """Mean rating, rounded so that means of the same ratings in another order tie."""
        return round(fmean(self.ratings.values()), 12)

    @property
    def commonest(self) -> float | None:
        """The commonest rating; None where two are equally common."""
        (rating, most), *others = Counter(self.ratings.values()).most_common(2)
        return None if others and others[0][1] == most else rating


def scores_by_judge(verdicts: Iterable[Mapping[str, Any]]) -> dict[str, list[Judged]]:
    """Judge -> its score of each answer.

    Args:
        verdicts: rows of judge, dimension, code, verdict, value and graded. Several of one judge on one
            answer are its samples: the commonest verdict counts (none, if two are equally common), and the
            mean of the graded scores.
    """
    samples: dict[tuple[str, str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for row in verdicts:
        samples[row["judge"], row["dimension"], row["code"]].append(row)
    scores: dict[str, list[Judged]] = defaultdict(list)
    for (judge, dimension, code), of_answer in samples.items():
        verdict = combine([Vote(judge, "", row["verdict"], row["value"]) for row in of_answer]).verdict
        values = {row["verdict"]: row["value"] for row in of_answer}
        grades = [row["graded"] for row in of_answer if row["graded"] is not None]
        value = None if verdict is None else values[verdict]
        scores[judge].append(Judged(code, dimension, value, fmean(grades) if grades else None))
    return dict(scores)


def by_dimension(ratings: Iterable[Rating], judged: Iterable[Judged]) -> dict[str, list[RatedItem]]:
    """The rated items of every dimension, both sorted by name; what people did not rate is left out.

    Raises:
        ValueError: the judge scored a dimension of an item twice.
    """
    scores: dict[tuple[str, str], Judged] = {}
    for said in judged:
        if scores.setdefault((normal(said.dimension), said.item), said) is not said:
            raise ValueError(
                f"{said.dimension} of {said.item!r} was judged twice: give one judge's scores, once"
            )
    people: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    for rating in sorted(ratings, key=lambda r: r.annotator):
        people[rating.dimension, rating.item][rating.annotator] = rating.rating
    dimensions: dict[str, list[RatedItem]] = defaultdict(list)
    for (dimension, item), of_item in sorted(people.items()):
        said_of = scores.get((dimension, item), Judged(item, dimension, None, None))
        dimensions[dimension].append(RatedItem(item, of_item, said_of.value, said_of.graded))
    return dict(dimensions)
