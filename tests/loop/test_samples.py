from __future__ import annotations

import math

import pytest

from tasks.loop.samples import Score, listed


@pytest.mark.parametrize("value", [None, math.nan])
@pytest.mark.parametrize(
    ("reason", "explanation"), [("refused", "refused"), (None, "unscored"), ("", "unscored")]
)
def test_score_without_a_number_is_unscored_with_its_reason(
    value: float | None, reason: str | None, explanation: str
) -> None:
    score = Score.of(value, reason, answer="B")
    assert (score.value, score.explanation, score.answer) == (None, explanation, "B")


@pytest.mark.parametrize(("value", "number"), [(0.0, 0.0), (False, 0.0), (True, 1.0)])
def test_score_of_a_number_has_no_reason(value: float, number: float) -> None:
    score = Score.of(value, "refused")
    assert (score.value, score.explanation) == (number, None)


def test_items_are_listed_with_their_place_number_and_unit() -> None:
    assert listed([("rice", -1.0), ("pho", -12.34567)], "log p") == " 1. rice  -1\n 2. pho  -12.35\n(log p)"
    assert listed([], "log p") == ""
