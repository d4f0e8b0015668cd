"""Items on which judge and people are far apart, and what probably happened there. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from tasks.judging.rated import Judged, RatedItem, by_dimension
from tasks.judging.ratings import Rating

Pattern: TypeAlias = Literal["annotators split", "polarity reversed", "judge stricter", "judge more lenient"]

# From here on they are on different sides, or one of them is at the middle and the other at an end.
_HIGH = 0.5

# A judge this far from people who all agree is sure of the opposite.
_REVERSED = 0.9


@dataclass(frozen=True)
class Disagreement:
    """Attributes: people, the mean of ``n_annotators`` ratings; judge, its score; both in [0, 1]."""

    dimension: str
    item: str
    people: float
    judge: float
    n_annotators: int
    pattern: Pattern


def disagreements(ratings: Iterable[Rating], judged: Iterable[Judged]) -> list[Disagreement]:
    """Items where the judge is at least 0.5 away from the mean of people's ratings, the widest gap first.

    The judge's score is the graded one, or the verdict's value where there is none. Patterns, the first that
    holds:

    - "annotators split": some rate below 0.5 and some above, so that no judge could agree with all.
    - "polarity reversed": people all give the same rating and the graded score is 0.9 away. The judge is sure
      of the opposite; a verdict alone does not say how sure it is.
    - "judge stricter", "judge more lenient": by the sign of the gap.

    Raises:
        ValueError: the judge scored a dimension of an item twice.
    """
    far = []
    for dimension, items in by_dimension(ratings, judged).items():
        for item in items:
            score = item.value if item.graded is None else item.graded
            if score is not None and abs(score - item.mean) >= _HIGH:
                n, pattern = len(item.ratings), _pattern(item, score)
                far.append(Disagreement(dimension, item.item, item.mean, score, n, pattern))
    return sorted(far, key=lambda d: (-abs(d.judge - d.people), d.dimension, d.item))


def _pattern(item: RatedItem, score: float) -> Pattern:
    ratings = set(item.ratings.values())
    if min(ratings) < 0.5 < max(ratings):
        return "annotators split"
    if item.graded is not None and len(ratings) == 1 and abs(score - item.mean) >= _REVERSED:
        return "polarity reversed"
    return "judge stricter" if score < item.mean else "judge more lenient"
