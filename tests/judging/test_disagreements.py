"""Items on which judge and people are far apart, and the pattern given to each."""

from __future__ import annotations

import random

import pytest

from tasks.judging.audit import Rating
from tasks.judging.validation import JudgeScore, disagreements


def rated(item: str, *ratings: float, dimension: str = "coverage") -> list[Rating]:
    return [
        Rating.model_validate(
            {"item": item, "annotator": name, "dimension": dimension, "rating": str(rating)}
        )
        for name, rating in zip("abcd", ratings, strict=False)
    ]


@pytest.mark.parametrize(
    ("ratings", "value", "graded", "pattern"),
    [
        ((1, 1, 1), 0.0, 0.05, "polarity reversed"),
        ((0, 0, 0), 1.0, 0.95, "polarity reversed"),
        ((1, 1, 1), 0.0, 0.3, "judge stricter"),
        ((0, 0, 0), 1.0, 0.7, "judge more lenient"),
        ((0, 0.55), 1.0, 0.9, "annotators split"),
        ((1, 1, 1), 0.0, None, "judge stricter"),  # a verdict without a graded score has no certainty
        ((0,), 1.0, None, "judge more lenient"),
        ((1, 1, 0.75), 0.0, 0.01, "judge stricter"),  # people are not unanimous
        ((1, 1, 0), 0.0, 0.1, "annotators split"),
        ((1, 1, 0, 0), 1.0, None, "annotators split"),
        ((1, 0.5), 0.0, 0.2, "judge stricter"),  # 0.5 is on neither side
        ((1, 1, 0.45), 0.0, 0.1, "annotators split"),
        ((1, 1, 1), 1.0, 0.6, None),  # less than 0.5 away
        ((1, 1, 0), 1.0, 0.9, None),
        ((1, 1, 1), None, None, None),  # unscored is no disagreement
        ((1, 1, 1), None, 0.5, "judge stricter"),
    ],
)
def test_disagreement_has_the_expected_pattern(
    ratings: tuple[float, ...], value: float | None, graded: float | None, pattern: str | None
) -> None:
    gaps = disagreements(rated("a1", *ratings), [JudgeScore("a1", "Coverage", value, graded)])
    assert [d.pattern for d in gaps] == ([] if pattern is None else [pattern])


def test_disagreements_are_ordered_by_their_gap() -> None:
    ratings = [*rated("a1", 1, 1), *rated("a2", 1, 0.5), *rated("a3", 0, 0), *rated("a4", 1, 1)]
    ratings += rated("a1", 0, dimension="beauty")
    judged = [JudgeScore(f"a{n}", "coverage", 0.0, 0.1) for n in (1, 2, 3, 4)] + [
        JudgeScore("a1", "beauty", 1.0, None)
    ]
    gaps = disagreements(ratings, judged)
    assert [(d.dimension, d.item, d.people, d.judge, d.n_annotators) for d in gaps] == [
        ("beauty", "a1", 0.0, 1.0, 1),
        ("coverage", "a1", 1.0, 0.1, 2),
        ("coverage", "a4", 1.0, 0.1, 2),
        ("coverage", "a2", 0.75, 0.1, 2),
    ]
    random.Random(0).shuffle(ratings)
    assert disagreements(ratings, judged[::-1]) == gaps
