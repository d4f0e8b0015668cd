"""Differences between recorded and present rows."""

from __future__ import annotations

from pathlib import Path

from tests.golden.harness import Rows, differences, read_golden, write_golden

ROWS: Rows = [
    {"model": "a", "metric": "f1", "value": "0.3333333333333333", "unscored_reason": "", "n_scored": "3"},
    {"model": "b", "metric": "f1", "value": "", "unscored_reason": "refused", "n_scored": "0"},
]


def changed(**cells: str) -> Rows:
    """Return the first row with other cells."""
    return [ROWS[0] | cells, ROWS[1]]


def test_order_new_columns_and_a_relative_1e_9_do_not_count_as_differences() -> None:
    assert differences(ROWS, ROWS[::-1]) == []
    assert differences(ROWS, [row | {"place": "1"} for row in ROWS]) == []
    assert differences(ROWS, changed(value="0.3333333334")) == []


def test_a_changed_number_is_reported_with_both_values() -> None:
    (line,) = differences(ROWS, changed(value="0.333333335"))
    assert line == "a f1 3: value was '0.3333333333333333', is '0.333333335'"


def test_a_missing_value_and_another_count_are_differences() -> None:
    assert differences(ROWS, changed(value="")) == ["a f1 3: value was '0.3333333333333333', is ''"]
    unscored = changed(value="", unscored_reason="no answer")
    assert differences(ROWS, unscored) == ["- a f1 3", "+ a f1 no answer 3"]
    assert differences(ROWS, changed(n_scored="4")) == ["- a f1 3", "+ a f1 4"]


def test_missing_and_new_rows_and_columns_are_differences() -> None:
    assert differences(ROWS, ROWS[:1]) == ["- b f1 refused 0"]
    assert differences(ROWS[:1], ROWS) == ["+ b f1 refused 0"]
    assert differences(ROWS, [*ROWS, ROWS[0]]) == ["2 rows before, 3 now"]
    assert differences(ROWS, []) == ["2 rows before, 0 now"]
    without = [{name: cell for name, cell in row.items() if name != "metric"} for row in ROWS]
    assert differences(ROWS, without) == ["column metric is missing"]


def test_recorded_rows_are_read_back_unchanged(tmp_path: Path) -> None:
    write_golden(tmp_path / "rows.csv", ROWS)
    assert read_golden(tmp_path / "rows.csv") == ROWS
