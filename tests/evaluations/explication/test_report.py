"""Numbers that explication's page computes itself; ``tests.golden.test_pages`` holds what the page shows."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from tasks.evaluations.explication.report import badge_of, model_pairs
from tasks.report.judges import judge_lines


def personas(lower: float, n: int = 6) -> Any:
    """Return the frames of two models; the second is graded lower for every persona."""
    rows = [
        (model, condition, f"p{persona}", grade + persona / 10, None)
        for model, grade in (("all", 4.0), ("cut", 4.0 - lower))
        for condition in ("control", "treatment")
        for persona in range(n)
    ]
    types = {
        "model": pl.String,
        "condition": pl.String,
        "persona": pl.String,
        "apr": pl.Float64,
        "facts_elicited": pl.Float64,
    }
    frame = pl.DataFrame(rows, schema=types, orient="row")
    return SimpleNamespace(models=["all", "cut"], conditions=["control", "treatment"], personas=frame)


def test_models_are_compared_over_personas_on_the_headline() -> None:
    (control,) = model_pairs(personas(1.0))
    # Every persona loses one: 1 of 64 orders of signs is as high on each side; one pair is tested.
    assert (control["metric"], control["condition"]) == ("apr", "control")
    assert (control["first"], control["second"], control["n"]) == ("all", "cut", 6)
    assert (control["difference"], control["p_value"]) == (pytest.approx(1.0), 2 / 64)
    assert (control["p_holm"], control["holm_reason"]) == (2 / 64, None)


def test_few_personas_give_no_p() -> None:
    (pair,) = model_pairs(personas(1.0, n=3))
    assert (pair["n"], pair["p_value"], pair["p_holm"]) == (3, None, None)


@pytest.mark.parametrize(
    ("tells", "is_null", "kind"),
    [(True, False, "good"), (False, False, "warn"), (None, False, "plain"), (None, True, "plain")],
)
def test_badge_follows_the_check_of_the_judges(tells: bool | None, is_null: bool, kind: str) -> None:
    assert badge_of({"is_null": is_null, "tells_real_from_shuffled": tells})[0] == kind


def test_judge_is_validated_by_agreement_with_people() -> None:
    # The last row is agreement among people only, which validates no judge.
    rows = [("quality 1", "pearson", 0.5), ("x 1", "pearson", None), ("y 1", "krippendorff_alpha", 0.9)]
    judged = pl.DataFrame(rows, schema=["rubric", "metric", "value"], orient="row").with_columns(
        judge=pl.lit("j"), judge_hash=pl.lit("h"), created_at=pl.lit(1)
    )
    lines = judge_lines(judged.drop("value", "created_at"), judged)
    assert [line["validated"] for line in lines] == [True, False, False]
