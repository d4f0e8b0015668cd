"""MES and the check of its judge: every number by hand, and the reason for every missing number."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tasks.evaluations.fmlama.judge import JudgedDish, Marks, rubric
from tasks.evaluations.fmlama.rows import NO_GOLD, NO_VERDICT, dish_score, mes_rows
from tasks.evaluations.fmlama.study import FmlamaStudy
from tasks.judging.verdicts import UNANSWERED, Verdict
from tasks.loop.rows import Metric
from tests.evaluations.fmlama.conftest import MakeStudy, one
from tests.evaluations.row_checks import check


def verdicts(*names: str | None) -> tuple[Verdict, ...]:
    """Return one verdict per name; None is unscored."""
    values = {name: choice.value for name, choice in rubric().verdicts.items()}
    return tuple(
        Verdict(str(i), name, None, values[name] if name else None, None if name else "cut off")
        for i, name in enumerate(names)
    )


def test_hand_calculation_gives_dish_score() -> None:
    # Two of four Correct, one Maybe: S = 2/4, Maybe 1/4.
    assert dish_score(verdicts("Correct", "Maybe", "Incorrect", "Correct")) == (0.5, 0.25)
    # One of five has no verdict: S = 2/4 over the rest.
    assert dish_score(verdicts("Correct", "Maybe", None, "Incorrect", "Correct")) == (0.5, 0.25)
    for nothing in (verdicts(None, None), ()):
        assert np.isnan(dish_score(nothing)).all()


# --- rows

# Predictions of the four dishes, and what of them is in the reference: pizza both, pasta none, sushi rice,
# onigiri its first.
PREDICTED = {
    "Q1": ("cheese", "flour"), "Q2": ("rice",), "Q3": ("rice",), "Q4": ("rice", "flour"),
}  # fmt: skip


@pytest.fixture(scope="module")
def study(make_study: MakeStudy) -> FmlamaStudy:
    """Two origins of two dishes, all of them judged."""
    return make_study(judges=["fake"], judged_dishes_per_origin=2)


def marked(study: FmlamaStudy, names: dict[str, Sequence[str | None]]) -> list[Marks]:
    """Return the marks of all judged dishes, in order; a dish that is not named has no answer."""

    def of(url: str) -> tuple[Verdict, ...]:
        unanswered = [Verdict(key, None, None, None, UNANSWERED) for key in PREDICTED[url]]
        return verdicts(*names[url]) if url in names else tuple(unanswered)

    return [
        Marks(JudgedDish(d.url, d.name, d.group, d.ingredients, PREDICTED[d.url]), of(d.url))
        for d in study.judged_probe.dishes
    ]


def rows_of(
    study: FmlamaStudy, marks: list[Marks] | str, null: list[Marks] | str | None = None
) -> list[Metric]:
    rows = list(mes_rows(study, marks, null))
    check(rows)
    return rows


def test_hand_calculation_gives_mes_rows(study: FmlamaStudy) -> None:
    marks = marked(
        study,
        {"Q1": ["Correct", "Maybe"], "Q2": ["Incorrect"], "Q3": ["Correct"], "Q4": ["Correct", "Incorrect"]},
    )
    null = marked(study, {"Q1": ["Incorrect", "Incorrect"], "Q2": ["Maybe"], "Q3": ["Correct"]})
    rows = rows_of(study, marks, null)
    # Dishes: pizza 1/2, pasta 0, sushi 1, onigiri 1/2. The null has 0, 0, 1 and no verdict.
    whole = one(rows, "mes")
    assert (whole.value, whole.n_scored, whole.n_unscored) == (0.5, 4, 0)
    assert whole.null_value == pytest.approx(1 / 3)
    assert whole.ci_low is None  # four dishes are too few
    assert (one(rows, "mes_maybe").value, one(rows, "mes_maybe").null_value) == (0.125, 1 / 3)
    italy, japan = (one(rows, "mes", f"en:en:no:{origin}") for origin in ("Italy", "Japan"))
    assert (italy.value, italy.n_scored, italy.null_value) == (0.25, 2, 0.0)
    assert (japan.value, japan.n_scored, japan.null_value) == (0.75, 2, 1.0)
    # In the reference are pizza's cheese and flour, sushi's and onigiri's rice: three of four accepted, while
    # three of all six marks are Correct.
    gold = one(rows, "judge_gold_accepted")
    assert (gold.value, gold.n_scored, gold.n_unscored, gold.null_value) == (0.75, 4, 0, 0.5)
    assert gold.ci_low is None  # three dishes are too few


def test_unmarked_predictions_are_counted_as_unscored(study: FmlamaStudy) -> None:
    rows = rows_of(study, marked(study, {"Q1": [None, "Correct"], "Q3": [None]}))
    # Pizza has one verdict of two, sushi's cannot be read, the others are not answered.
    assert (one(rows, "mes").value, one(rows, "mes").n_scored, one(rows, "mes").n_unscored) == (1.0, 1, 3)
    gold = one(rows, "judge_gold_accepted")
    # Of four predictions from the reference only pizza's flour is marked.
    assert (gold.value, gold.n_scored, gold.n_unscored) == (1.0, 1, 3)
    assert gold.ci_low == pytest.approx(0.025)  # Clopper and Pearson's interval of one of one
    japan = one(rows, "mes", "en:en:no:Japan")
    assert (japan.value, japan.unscored_reason, japan.n_unscored) == (None, NO_VERDICT, 2)


@pytest.mark.parametrize(
    ("judged", "reasons"),
    [
        ("the wording has no answer", ("the wording has no answer",) * 2),
        ({}, (UNANSWERED, UNANSWERED)),
        ({"Q1": [None, None], "Q2": [None], "Q3": [None], "Q4": [None, None]}, (NO_VERDICT, NO_VERDICT)),
        ({"Q2": ["Correct"]}, (None, UNANSWERED)),
    ],
)
def test_missing_marks_leave_the_same_rows_with_a_reason(
    study: FmlamaStudy, judged: dict[str, Sequence[str | None]] | str, reasons: tuple[str | None, str]
) -> None:
    marks = judged if isinstance(judged, str) else marked(study, judged)
    null = marked(study, {"Q2": ["Correct"]})
    rows = rows_of(study, marks, null)
    complete = rows_of(study, marked(study, dict.fromkeys(PREDICTED, ("Correct", "Correct"))), null)
    assert [r[:3] for r in rows] == [r[:3] for r in complete]
    assert one(rows, "mes").unscored_reason == reasons[0]
    assert one(rows, "judge_gold_accepted").unscored_reason == reasons[1]
    assert one(rows, "mes").null_value == 1.0


def test_judge_check_is_unscored_without_a_right_prediction(study: FmlamaStudy) -> None:
    marks = [
        Marks(JudgedDish("u", "n", "Italy", ("flour",), ("salt",)), verdicts("Correct")) for _ in range(2)
    ]
    gold = one(rows_of(study, marks), "judge_gold_accepted")
    assert (gold.value, gold.unscored_reason, gold.n_unscored) == (None, NO_GOLD, 2)
