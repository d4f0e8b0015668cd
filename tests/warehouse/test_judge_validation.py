"""Validations of judges: a second one replaces the first, and wrong rows change nothing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import duckdb
import polars as pl
import pytest

from tests.report.stored import row as metric_row
from tests.report.stored import store_run, store_verdicts
from warehouse import Warehouse, WarehouseError
from warehouse.runs import save_validation

STORED = "SELECT judge, rubric, metric, value FROM judge_validation ORDER BY ALL"


def rows(*metrics: str, **cells: Any) -> pl.DataFrame:
    """Return a row a metric, scored."""
    row = {"judge": "j", "judge_hash": "h", "rubric": "coverage 1", "dimension": "coverage", "value": 0.5}
    row |= {"unscored_reason": None, "ci_low": 0.1, "ci_high": 0.9, "n": 12, "source": "ana.csv sha256:00"}
    return pl.DataFrame([row | cells | {"metric": metric} for metric in metrics])


def test_a_validation_is_stored_as_given_with_its_time(warehouse: Warehouse) -> None:
    validation = rows("cohen_kappa", "brier")
    save_validation(warehouse, validation.select(sorted(validation.columns)))
    stored = warehouse.query("SELECT * FROM judge_validation ORDER BY metric DESC")
    assert (
        stored.drop("created_at").to_dicts()
        == validation.select(stored.drop("created_at").columns).to_dicts()
    )
    age = datetime.now(UTC).replace(tzinfo=None) - stored["created_at"][0]
    assert timedelta() <= age < timedelta(minutes=5)


@pytest.mark.heavy
def test_a_second_validation_replaces_only_that_of_its_judge_rubric_and_dimension(
    warehouse: Warehouse,
) -> None:
    save_validation(warehouse, rows("cohen_kappa", "pearson"))
    others = [{"judge": "k"}, {"judge_hash": "i"}, {"rubric": "coverage 2"}, {"dimension": "beauty"}]
    for cells in others:
        save_validation(warehouse, rows("cohen_kappa", **cells))
    # Pearson is not among the new numbers, so it is deleted.
    save_validation(warehouse, rows("cohen_kappa", "brier", value=0.25))
    stored = warehouse.query("SELECT * FROM judge_validation")
    assert stored.height == 2 + len(others)
    mine = stored.filter(judge="j", judge_hash="h", rubric="coverage 1", dimension="coverage")
    assert sorted(mine.select("metric", "value").rows()) == [("brier", 0.25), ("cohen_kappa", 0.25)]
    assert set(stored.join(mine, on=stored.columns[:5], how="anti")["value"]) == {0.5}


def test_an_unscored_number_is_stored_with_a_reason(warehouse: Warehouse) -> None:
    cells = {"value": None, "unscored_reason": "2 items, 3 are needed", "ci_low": None, "ci_high": None}
    save_validation(warehouse, rows("brier", **cells))
    assert warehouse.query(STORED).rows() == [("j", "coverage 1", "brier", None)]


@pytest.mark.nets(2)
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (rows("brier").drop("source"), "columns are .*, expected"),
        (rows("brier").with_columns(more=pl.lit(1)), "columns are .*, expected"),
        (rows("brier", value=float("nan")), "1 rows, first .*NaN is neither"),
        (rows("brier", ci_low=float("nan")), "1 rows, first"),
        (rows("brier", value=None), "1 rows, first"),
        (rows("brier", unscored_reason="why"), "1 rows, first"),
    ],
)
def test_wrong_rows_are_refused_and_change_nothing(
    warehouse: Warehouse, wrong: pl.DataFrame, message: str
) -> None:
    save_validation(warehouse, rows("cohen_kappa"))
    with pytest.raises(WarehouseError, match=message):
        save_validation(warehouse, wrong)
    assert warehouse.query(STORED).rows() == [("j", "coverage 1", "cohen_kappa", 0.5)]


@pytest.mark.parametrize("cells", [{"metric": "kapa"}, {"ci_low": None}, {"n": -1}])
def test_rows_that_the_table_refuses_leave_the_old_ones(warehouse: Warehouse, cells: dict[str, Any]) -> None:
    save_validation(warehouse, rows("cohen_kappa"))
    wrong = rows("brier").with_columns(**{name: pl.lit(cell) for name, cell in cells.items()})
    with pytest.raises(duckdb.ConstraintException):
        save_validation(warehouse, wrong)
    assert warehouse.query(STORED).rows() == [("j", "coverage 1", "cohen_kappa", 0.5)]


def test_a_validation_belongs_to_an_engine_not_to_a_name(warehouse: Warehouse) -> None:
    """Two engines with one name judged; one of them was validated under another name."""
    scored = [metric_row("coverage", ("overall", "all"), 0.5)]
    judged: dict[str, Any] = {"item": "i", "item_text": "i", "group_name": "IN", "judged": "real:0"}
    judged |= {"verdict": "YES", "value": 1.0, "model": "m", "judge": "j", "rubric": "coverage 1"}
    for engine in ("h", "i"):
        run_id = store_run(warehouse, "cure", f"m{engine}", scored, {}, engine=(engine, "x"))
        own = {"run_id": run_id, "request_hash": engine, "judge_hash": engine}
        store_verdicts(warehouse, f"v{engine}", [judged | own])
    save_validation(warehouse, rows("cohen_kappa", judge="old name"))
    used = warehouse.query("SELECT judge_hash, validated FROM judge_used ORDER BY ALL").rows()
    assert used == [("h", True), ("i", False)]
    who = warehouse.query("SELECT judge, judge_hash FROM report_judge ORDER BY place").rows()
    assert who == [("j", "h"), ("j", "i")]
    validations = warehouse.query("SELECT judge, judge_hash, metric FROM report_validation").rows()
    assert validations == [("j", "h", "cohen_kappa")]
