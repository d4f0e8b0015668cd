"""A verdict that is lost (unreadable, cut off, missing) never raises the score of what it is about."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tasks.evaluations.explication.read import FAILURES, MEANS, Grades, _penalised, grade_of
from tasks.evaluations.fmlama.judge import JudgedDish, Marks, mean_marks
from tasks.judging.panel import score_of
from tasks.judging.verdicts import UNANSWERED, Opinion, Verdict

JUDGES = ("a", "b", "c")
VALUES = (0.0, 0.5, 1.0)
LOST = Opinion(Verdict("text", None, None, None, "the judge gave verdicts that differ"))
MISSING = Opinion(Verdict("text", None, None, None, UNANSWERED))


def opinion(value: float) -> Opinion:
    return Opinion(Verdict("text", str(value), None, value, None))


CASES = [
    (values, place, lost)
    for values in product(VALUES, repeat=len(JUDGES))
    for place in range(len(JUDGES))
    for lost in (LOST, MISSING)
]


@pytest.mark.parametrize(("values", "place", "lost"), CASES[:: len(CASES) // 40])
def test_a_text_of_which_a_judges_verdict_is_lost_has_no_higher_score(
    values: tuple[float, ...], place: int, lost: Opinion
) -> None:
    """Panels of culturall and the recipes, and marks of MES."""
    key = ("real", "item")
    whole = {judge: {key: opinion(value)} for judge, value in zip(JUDGES, values, strict=True)}
    broken = whole | {JUDGES[place]: {key: lost}}
    before, after = score_of(whole, key)[0], score_of(broken, key)[0]
    assert before is not None
    assert after is None or after <= before
    dish = JudgedDish("url", "soup", "FR", ("salt",), ("salt",))
    marks = [[Marks(dish, (of[key].verdict,))] for of in (broken[judge] for judge in JUDGES)]
    (verdict,) = mean_marks(marks)[0].verdicts
    assert verdict.value is None or verdict.value <= before
    assert verdict.unscored_reason == lost.verdict.unscored_reason


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("grade", [1.0, 4.0, 5.0, 8.0, 10.0])
@pytest.mark.parametrize("verdict", [0.0, 1.0])
def test_a_grade_whose_failure_is_unreadable_does_not_rise(
    failure: str, grade: float, verdict: float
) -> None:
    """The mean of three grades, of which a failure may reduce one to 4, was 8 without the verdict."""
    own = dict.fromkeys((*MEANS["apr"], "interaction"), grade) | dict.fromkeys(FAILURES, 0.0)

    metric = "interaction" if FAILURES[failure] == "interaction" else "apr"

    def graded(of: float) -> float:
        grades = _penalised(own | {failure: of})
        return grade_of(Grades(grades, {"judge": grades}), metric)

    before, after = graded(verdict), graded(np.nan)
    assert np.isnan(after) or after <= before
    assert np.isnan(after) == (grade > 4)
