"""People's ratings and a judge's scores of the same items, side by side. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from tasks.judging.ensemble import Vote, combine
from tasks.judging.ratings import Rating
from tasks.judging.rubric import normal
from tasks.metrics.length_adjustment import adjust_for_length


@dataclass(frozen=True)
class Judged:
    """What the judge said of one dimension of an item.

    Attributes:
        item: as in the ratings, which is the answer's ``audit.code``.
        value: the verdict's value in [0, 1]; None where unscored.
        graded: the graded score in [0, 1]; None where the engine gave none.
        equal_length: the graded score without what the length of the text explains, which may leave [0, 1];
            None where scores are not compared so.

    Raises:
        ValueError: a value or a graded score is out of range.
    """

    item: str
    dimension: str
    value: float | None
    graded: float | None
    equal_length: float | None = None

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
    equal_length: float | None = None

    @property
    def mean(self) -> float:
        """Mean rating, rounded so that means of the same ratings in another order tie."""
        return round(fmean(self.ratings.values()), 12)

    def commonest(self, values: Iterable[float] = ()) -> float | None:
        """The commonest rating; None where two are equally common.

        Args:
            values: of the verdicts of the rubric's menu. A rating off the menu stands for the nearest of
                them, and for none where two are equally near: "in part" of a yes or no is neither.
        """
        menu = sorted(set(values))
        classes = [_nearest(rating, menu) for rating in self.ratings.values()]
        counts = Counter(each for each in classes if each is not None).most_common(2)
        return None if not counts or len({n for _, n in counts}) < len(counts) else counts[0][0]


def _nearest(rating: float, menu: Sequence[float]) -> float | None:
    if not menu:
        return rating
    first, *others = sorted(menu, key=lambda value: abs(value - rating))
    is_between = others and abs(abs(others[0] - rating) - abs(first - rating)) < 1e-9
    return None if is_between else first


def scores_by_judge(
    verdicts: Iterable[Mapping[str, Any]], lengths: Mapping[str, tuple[int, str]] | None = None
) -> dict[str, list[Judged]]:
    """Judge -> its score of each answer.

    Where the judge gives none but the verdict, its value stands for the graded score at equal length.

    Args:
        lengths: code -> words, of the dimensions whose scores are compared at equal length, and the
            model that wrote them: (words, model).
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
    return {judge: _at_equal_length(own, lengths or {}) for judge, own in scores.items()}


def _at_equal_length(judged: list[Judged], lengths: Mapping[str, tuple[int, str]]) -> list[Judged]:
    """The scores with what the length of the texts explains taken out, by its slope within each model."""
    moved: dict[tuple[str, str], float] = {}
    for dimension in sorted({one.dimension for one in judged}):
        own = [
            (one.item, one.value if one.graded is None else one.graded, *lengths[one.item])
            for one in judged
            if one.dimension == dimension and one.item in lengths and (one.value, one.graded) != (None, None)
        ]
        if own:
            items, scores, words, models = zip(*own, strict=True)
            adjusted = adjust_for_length(scores, words, groups=models).adjusted.tolist()
            moved |= {(dimension, item): score for item, score in zip(items, adjusted, strict=True)}
    return [replace(one, equal_length=moved.get((one.dimension, one.item))) for one in judged]


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
        dimensions[dimension].append(
            RatedItem(item, of_item, said_of.value, said_of.graded, said_of.equal_length)
        )
    return dict(dimensions)
