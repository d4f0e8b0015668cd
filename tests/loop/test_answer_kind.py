"""The part kind ``worldwise_answer`` and its view."""

from __future__ import annotations

import polars as pl
import pytest

from warehouse import KINDS, Warehouse, WarehouseError, register_parts, run_checks, write_part

KIND = "worldwise_answer"


def answer(culture: str, repetition: int, **more: object) -> dict[str, object]:
    cells = {
        "request_hash": "r1", "run_id": "r1", "model": "m", "config_hash": "c1", "culture": culture,
        "scenario": "s1", "repetition": repetition, "framework": "hofstede", "dimension": "power_distance",
        "category": "work", "item": f"item-{culture}-{repetition}", "decision": "A", "value_1": "harmony",
        "value_2": "duty", "value_3": None, "explanation": "So.", "score": 0.5, "target": 1.5,
        "alignment": 7.5, "words": 4, "truncated": False, "unscored_reason": None,
    }  # fmt: skip
    return cells | more


def store(warehouse: Warehouse, cells: list[dict[str, object]]) -> None:
    frame = pl.DataFrame(cells, infer_schema_length=None)
    units = write_part(warehouse.home, KIND, "p1", frame)
    with warehouse.write() as connection:
        register_parts(connection, [units], replace=True)


UNREAD = ("decision", "value_1", "value_2", "value_3", "explanation", "score", "target", "alignment", "words",
          "truncated")  # fmt: skip


def test_answers_and_what_could_not_be_read(warehouse: Warehouse) -> None:
    unread = answer("baseline", 1, unscored_reason="refused", **dict.fromkeys(UNREAD))
    store(warehouse, [answer("IN", 0), answer("IN", 1), answer("baseline", 0, target=None), unread])
    shown = warehouse.query("SELECT * FROM worldwise_answer ORDER BY culture, repetition")
    assert shown["config_hash"].to_list() == ["c1"] * 4
    assert shown["unscored_reason"].to_list() == [None, None, None, "refused"]
    last = shown.row(3, named=True)
    assert all(last[name] is None for name in UNREAD)
    assert set(shown.columns) == set(KINDS[KIND].columns)
    assert run_checks(warehouse)["n_violations"].sum() == 0


def test_one_row_an_answer(warehouse: Warehouse) -> None:
    with pytest.raises(WarehouseError, match=r"rows repeat at \['IN', 's1', 0\]"):
        store(warehouse, [answer("IN", 0), answer("IN", 0)])


@pytest.mark.parametrize("view", ["embedding", KIND])
def test_every_column_has_a_comment(warehouse: Warehouse, view: str) -> None:
    columns = "SELECT column_name FROM duckdb_columns() WHERE table_name = ? AND comment IS NULL"
    assert warehouse.query(columns, [view]).is_empty()
    assert warehouse.query("SELECT comment FROM duckdb_views() WHERE view_name = ?", [view]).item()
