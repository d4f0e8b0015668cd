"""The cure views over metric rows, verdicts and validations that are saved by hand."""

from __future__ import annotations

from typing import Any

import pytest

from tests.evaluations.cure.report.example_run import (
    JUDGE,
    METRICS,
    Made,
    gains,
    judge,
    model_rows,
    null_rows,
    store,
    validate,
)
from tests.evaluations.worldwise.report.example_run import Row, around, row
from warehouse import Warehouse

VIEWS = ("leaderboard_cure", "cure_thin_vs_thick", "cure_by_country", "cure_over_models", "cure_by_cue")


def rows_of(warehouse: Warehouse, view: str) -> list[dict[str, Any]]:
    return warehouse.query(f"SELECT * FROM {view}").to_dicts()


def explained(benchmark: str, value: float | None, gain: float | None) -> list[Row]:
    """Return a metric's value +- 0.1 and its gain +- 0.2."""
    where = ("benchmark", benchmark)
    return [
        row(
            METRICS[benchmark], where, value, **({} if value is None else around(value, 0.1)), null_value=0.3
        ),
        row("explanation_gain", where, gain, **({} if gain is None else around(gain, 0.2)), null_value=0.0),
        row("tells_real_from_shuffled", where, None if gain is None else float(gain > 0.2)),
    ]


def labelled(benchmark: str, mode: str, value: float, majority: float = 0.5, n: int = 70) -> list[Row]:
    where = ("benchmark_mode", f"{benchmark}:{mode}")
    return [
        row("exact_match", where, value, **around(value, 0.1), null_value=majority, n_scored=n,
            n_unscored=72 - n),
        row("f1_micro", where, value + 0.01),
        row("f1_macro", where, value - 0.1),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("gain", "tells"), [(0.21, True), (0.2, False), (0.0, False), (-0.5, False), (None, None)]
)
def test_a_metric_whose_gain_interval_reaches_0_is_flagged(
    warehouse: Warehouse, gain: float | None, tells: bool | None
) -> None:
    store(warehouse, "m", explained("casa", 0.4, gain))
    (line,) = rows_of(warehouse, "leaderboard_cure")
    assert line["tells_real_from_shuffled"] is tells


def test_validated_holds_for_this_judge_with_this_rubric(warehouse: Warehouse) -> None:
    rows = [r for benchmark in METRICS for r in explained(benchmark, 0.4, 0.3)]
    judge(warehouse, store(warehouse, "m", rows), "m")
    validate(warehouse, "normad")
    validate(warehouse, "casa", name="another judge")
    validate(warehouse, "culturebank", metrics=["krippendorff_alpha_nominal"])  # agreement among people only
    validated = {r["benchmark"]: r["validated"] for r in rows_of(warehouse, "leaderboard_cure")}
    assert validated == {"normad": True, "casa": False, "culturebank": False, "specnorm": False}


def test_an_entry_of_several_judges_is_validated_when_each_of_them_is(warehouse: Warehouse) -> None:
    run = store(warehouse, "m", explained("normad", 0.4, 0.3))
    judge(warehouse, run, "m", benchmarks=["normad"])
    judge(warehouse, run, "m", name="judge-b", benchmarks=["normad"])
    validate(warehouse, "normad")
    (line,) = rows_of(warehouse, "leaderboard_cure")
    assert (line["judge"], line["validated"]) == ("judge-a, judge-b", False)
    validate(warehouse, "normad", name="judge-b")
    (line,) = rows_of(warehouse, "leaderboard_cure")
    assert line["validated"] is True


def test_validation_without_a_value_does_not_count(warehouse: Warehouse) -> None:
    judge(warehouse, store(warehouse, "m", explained("normad", 0.4, 0.3)), "m", benchmarks=["normad"])
    validate(warehouse, "normad")
    with warehouse.write() as connection:
        connection.execute("UPDATE judge_validation SET value = NULL, unscored_reason = 'few items'")
    (line,) = rows_of(warehouse, "leaderboard_cure")
    assert line["validated"] is False


def test_the_judges_of_a_run_are_those_of_its_configuration(warehouse: Warehouse) -> None:
    judge(warehouse, store(warehouse, "a", explained("normad", 0.4, 0.3)), "a", benchmarks=["normad"])
    store(warehouse, "b", explained("normad", 0.5, 0.3))  # the verdicts belong to another run
    store(warehouse, "c", explained("normad", 0.5, 0.3), "other")
    judges = {r["model"]: r["judge"] for r in rows_of(warehouse, "leaderboard_cure")}
    assert judges == {"a": JUDGE, "b": JUDGE, "c": None}


def test_the_leaderboard_is_ordered_by_flag_then_value_then_nulls(warehouse: Warehouse) -> None:
    store(warehouse, "elsewhere", explained("normad", 0.9, 0.5), "old")
    models = {"flagged": (0.8, 0.1), "low": (0.3, 0.25), "high": (0.5, 0.25), "lost": (None, None)}
    for model, (value, gain) in models.items():
        store(warehouse, model, [*explained("normad", value, gain), *explained("casa", value, gain)], "new")
    store(warehouse, "null:majority", labelled("normad", "thin", 0.5), "new")
    lines = rows_of(warehouse, "leaderboard_cure")
    order = ["high", "low", "flagged", "lost"]
    assert [(r["config_hash"], r["benchmark"], r["model"]) for r in lines] == [
        *(("new", "normad", model) for model in [*order, "null:majority"]),
        *(("new", "casa", model) for model in order),
        ("old", "normad", "elsewhere"),
    ]


def test_unscored_difference_keeps_its_line_and_reason(warehouse: Warehouse) -> None:
    store(warehouse, "m", [row("thin_thick_difference", ("benchmark", "casa"), None),
                           row("thin_thick_p", ("benchmark", "casa"), None)])  # fmt: skip
    (line,) = rows_of(warehouse, "cure_thin_vs_thick")
    assert (line["difference"], line["p"], line["unscored_reason"]) == (None, None, "refused")


def test_metrics_of_the_page_are_in_the_catalogue(warehouse: Warehouse) -> None:
    rows = model_rows(Made(0.7, 0.75, gains(0.2, 0.1, 0.3, 0.0)), ["IN"], seed=0)
    metrics = {r["metric"] for r in [*rows, *null_rows({"casa": 0.5}, [])]}
    known = set(warehouse.query("SELECT metric FROM metric WHERE evaluation = 'cure'")["metric"])
    assert metrics <= known
