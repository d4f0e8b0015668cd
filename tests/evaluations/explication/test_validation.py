"""Ratings of conversations by people beside grades of judges."""

from __future__ import annotations

import random

import pytest

from tasks.evaluations.explication.validation import (
    FEW_MODELS,
    NO_PAIR,
    ONE_RATER,
    ConversationRating,
    validation_rows,
)


def rated(*rows: tuple[str, str, float, float | None], dimension: str = "apr") -> list[ConversationRating]:
    """Return (rater, conversation "model persona", value, grade)."""
    return [
        ConversationRating(rater, talk, *talk.split(" "), dimension, value, True, grade)
        for rater, talk, value, grade in rows
    ]


def test_hand_calculation_gives_agreement_of_judge_and_raters() -> None:
    # Ana orders a > b > c, the judge b > a > c: one of three pairs is opposite. Ben rated his two alike.
    ana = [("ana", "a x", 5, 7), ("ana", "b x", 4, 8), ("ana", "c x", 1, 2)]
    ratings = rated(*ana, ("ben", "a y", 3, 1), ("ben", "b y", 3, 9))
    rows = {row.metric: row for row in validation_rows(ratings)}
    assert rows["opposite"].value == pytest.approx(1 / 3)
    assert rows["tied"].value == pytest.approx(1 / 4)
    assert rows["misaligned"].value == pytest.approx(1 / 4)
    assert (rows["misaligned"].null_value, rows["opposite"].null_value) == (pytest.approx(3 / 8), 0.5)
    assert rows["opposite"].n == 4
    # Models' means: people a 4, b 3.5, c 1; judges a 4, b 8.5, c 2.
    assert rows["spearman_models"].value == pytest.approx(0.5)
    assert rows["mean"].value == pytest.approx(16 / 5)
    assert rows["krippendorff_alpha_ordinal"].unscored_reason == ONE_RATER


def test_missing_pairs_and_grades_are_unscored_with_a_reason() -> None:
    ratings = rated(("ana", "a x", 5, None), ("ana", "b x", 4, 3))
    rows = {row.metric: row for row in validation_rows(ratings)}
    assert (rows["opposite"].value, rows["opposite"].unscored_reason) == (None, NO_PAIR)
    assert rows["opposite"].n_unscored == 1
    assert rows["spearman_models"].unscored_reason == FEW_MODELS
    assert all((row.value is None) == bool(row.unscored_reason) for row in rows.values())
    assert validation_rows([]) == []
    of_persona = validation_rows(rated(("ana", "a x", 5, None), dimension="persona"))
    assert {row.metric for row in of_persona} == {"mean", "order_effect", "krippendorff_alpha_ordinal"}


def test_random_judge_scores_the_null_in_any_order() -> None:
    dice = random.Random(1)
    rows = [
        (f"r{n % 8}", f"m{n % 3} p{n % 10}", float(dice.randint(1, 5)), dice.uniform(1, 10))
        for n in range(200)
    ]
    ratings = rated(*rows)
    table = validation_rows(ratings)
    by_metric = {row.metric: row for row in table}
    opposite = by_metric["opposite"]
    assert opposite.value == pytest.approx(0.5, abs=0.1)
    assert opposite.ci_low is not None
    assert opposite.ci_high is not None
    assert opposite.ci_low < opposite.value < opposite.ci_high
    assert by_metric["cohen_kappa"].value == pytest.approx(0, abs=0.15)
    dice.shuffle(ratings)
    assert validation_rows(ratings) == table
