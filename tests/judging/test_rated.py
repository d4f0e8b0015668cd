"""Ratings and scores side by side."""

from __future__ import annotations

import math

import pytest

from tasks.judging.audit import Rating
from tasks.judging.validation import JudgeScore, RatedItem, by_dimension, scores_by_judge


def rating(item: str, annotator: str, dimension: str, value: str) -> Rating:
    return Rating.model_validate(
        {"item": item, "annotator": annotator, "dimension": dimension, "rating": value}
    )


def test_ratings_and_scores_are_joined_by_item_and_dimension() -> None:
    ratings = [
        rating("a2", "ben", "coverage", "1"),
        rating("a1", "ben", "coverage", "0"),
        rating("a1", "ana", "coverage", "0.5"),
        rating("a1", "ana", "beauty", "1"),
    ]
    judged = [JudgeScore("a1", " Coverage", 1.0, 0.8), JudgeScore("a3", "coverage", 0.0, None)]
    dimensions = by_dimension(ratings, judged)
    assert list(dimensions) == ["beauty", "coverage"]
    sides = [(i.judge.item, i.numbers, i.judge.value, i.judge.graded) for i in dimensions["coverage"]]
    assert sides == [("a1", [0.5, 0.0], 1.0, 0.8), ("a2", [1.0], None, None)]
    assert list(dimensions["coverage"][0].ratings) == ["ana", "ben"]


def test_item_has_its_mean_and_commonest_rating() -> None:
    def item(*ratings: float) -> RatedItem:
        by_name = {name: rating("a1", name, "x", str(r)) for name, r in zip("abcd", ratings, strict=False)}
        return RatedItem(by_name, JudgeScore("a1", "x"))

    assert (item(1, 1, 0).mean, item(1, 1, 0).commonest()) == (0.666666666667, 1)
    assert (item(1, 0).mean, item(1, 0).commonest()) == (0.5, None)
    assert item(1, 0, 0.5).commonest() is None
    assert item(0.25).commonest() == 0.25
    # 0.1 + 0.2 + 0.3 is not 0.3 + 0.2 + 0.1 in floating point.
    assert item(0.1, 0.2, 0.3).mean == item(0.3, 0.2, 0.1).mean


@pytest.mark.parametrize("score", [1.04, -0.01, math.nan])
def test_a_score_out_of_range_is_refused(score: float) -> None:
    for value, graded in ((score, None), (1.0, score)):
        with pytest.raises(ValueError, match=r"coverage of .a1. has the score .*: cut it to"):
            JudgeScore("a1", "coverage", value, graded)


def test_two_scores_of_one_item_and_dimension_are_refused() -> None:
    judged = [JudgeScore("a1", "coverage", 1.0, None), JudgeScore("a1", "Coverage", 0.0, None)]
    with pytest.raises(ValueError, match="Coverage of 'a1' was judged twice: give one judge's scores"):
        by_dimension([], judged)


def test_samples_of_a_judge_give_one_mean_score() -> None:
    verdicts = [
        ("j", "a1", "YES", 1.0, 0.75), ("j", "a1", "NO", 0.0, 0.25), ("j", "a1", "YES", 1.0, None),
        ("j", "a2", "YES", 1.0, None), ("j", "a2", "NO", 0.0, None), ("k", "a1", None, None, None),
    ]  # fmt: skip
    columns = ("judge", "code", "verdict", "value", "graded")
    rows = [dict(zip(columns, row, strict=True)) | {"dimension": "coverage"} for row in verdicts]
    assert scores_by_judge(rows) == {
        "j": [JudgeScore("a1", "coverage", 1.0, 0.5), JudgeScore("a2", "coverage", None, None)],
        "k": [JudgeScore("a1", "coverage", None, None)],
    }
