"""Numbers of finished runs move to parts: the same rows before and after, once each, whatever is killed."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from tests.warehouse.rows import make_run, metrics
from warehouse import Warehouse, WarehouseError, finish_run, register_orphans, save_metrics, save_run
from warehouse import archive as archive_module
from warehouse import connection as connection_module
from warehouse.prune import prunable
from warehouse.recovery import verify_parts
from warehouse.removal import removable, remove
from warehouse.storage import now

NUMBERS = "FROM metric_value ORDER BY ALL"
WAITING = "SELECT count(*) FROM metric_value_base"
MOVED = "SELECT request_hash, run_id, n_rows FROM part_unit WHERE kind = 'metric_row' ORDER BY ALL"
STATES = "SELECT run_id, status FROM run ORDER BY ALL"


@pytest.fixture
def two_runs(warehouse: Warehouse) -> Warehouse:
    """A warehouse with two finished runs of two rows each, and a running one with a row."""
    with warehouse.write() as connection:
        for name, model in (("aa", "m"), ("ab", "n"), ("ba", "o")):
            save_run(connection, make_run(name, model))
            save_metrics(connection, name, numbers(model))
            if name != "ba":
                finish_run(connection, name)
    return warehouse


def numbers(model: str, value: float = 0.5) -> pl.DataFrame:
    unscored = metrics(value=None, slice_kind="country", slice_="FR", model=model)
    return pl.concat([metrics(value=value, model=model), unscored])


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every write moves all that it can."""
    monkeypatch.setattr(archive_module, "AT", 0)


def written(warehouse: Warehouse) -> None:
    with warehouse.write():
        pass


def killed(*_: object) -> None:
    raise KeyboardInterrupt


def parts(warehouse: Warehouse) -> list[Path]:
    return sorted((warehouse.store.folder / "parts" / "metric_row").glob("[!_]*.parquet"))


def test_rows_of_finished_runs_move_to_a_part_and_read_the_same(two_runs: Warehouse, at_once: None) -> None:
    boards = ("FROM leaderboard ORDER BY ALL", "FROM leaderboard_spectral ORDER BY ALL", NUMBERS)
    before = [two_runs.query(sql) for sql in boards]
    written(two_runs)
    assert two_runs.query(WAITING).item() == 2, "those of the run at work"
    assert two_runs.query(MOVED).rows() == [("aa", "aa", 2), ("ab", "ab", 2)]
    assert len(parts(two_runs)) == 1
    assert all(two_runs.query(sql).equals(rows) for sql, rows in zip(boards, before, strict=True))


def test_few_rows_stay_in_the_database(two_runs: Warehouse) -> None:
    written(two_runs)
    assert two_runs.query(WAITING).item() == 6
    assert not parts(two_runs)


def test_rows_saved_again_replace_those_in_a_part(two_runs: Warehouse, at_once: None) -> None:
    written(two_runs)
    with two_runs.write() as connection:
        save_metrics(connection, "aa", numbers("m", 0.9))
    scored = "SELECT run_id, value FROM metric_value WHERE value IS NOT NULL ORDER BY ALL"
    assert two_runs.query(scored).rows() == [("aa", 0.9), ("ab", 0.5), ("ba", 0.5)]
    assert two_runs.query("SELECT count(*) FROM metric_value").item() == 6


def test_removing_a_run_keeps_other_runs_of_its_part(two_runs: Warehouse, at_once: None) -> None:
    written(two_runs)
    assert removable(two_runs, "aa").n_metrics == 2
    remove(two_runs, "aa")
    assert set(two_runs.query(NUMBERS)["run_id"]) == {"ab", "ba"}
    superseded = "SELECT kind, part FROM superseded_part"
    assert two_runs.query(superseded).is_empty(), "the other run's rows are in it"
    remove(two_runs, "ab")
    assert two_runs.query(superseded).rows() == [("metric_row", parts(two_runs)[0].stem)]
    assert set(two_runs.query(NUMBERS)["run_id"]) == {"ba"}


def test_a_kill_between_the_part_and_the_file_loses_and_doubles_nothing(
    two_runs: Warehouse, at_once: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = two_runs.query(NUMBERS)

    with monkeypatch.context() as patch:
        patch.setattr("warehouse.local_store._Draft.publish", killed)
        with pytest.raises(KeyboardInterrupt):
            written(two_runs)
    assert len(parts(two_runs)) == 1
    assert two_runs.query(NUMBERS).equals(before)
    monkeypatch.setattr(archive_module, "AT", 100)
    assert register_orphans(two_runs, "metric_row").registered == []
    assert two_runs.query(NUMBERS).equals(before)
    assert two_runs.query("SELECT kind FROM superseded_part").rows() == [("metric_row",)]
    monkeypatch.setattr(archive_module, "AT", 0)
    written(two_runs)
    assert two_runs.query(NUMBERS).equals(before)
    assert two_runs.query("SELECT kind FROM superseded_part").is_empty(), "the same part, registered now"


def test_runs_of_a_damaged_part_become_failed_and_can_be_saved_again(
    two_runs: Warehouse, at_once: None
) -> None:
    written(two_runs)
    content = bytearray(parts(two_runs)[0].read_bytes())
    content[len(content) // 2] ^= 1
    parts(two_runs)[0].write_bytes(content)
    with pytest.raises(WarehouseError, match="is corrupt"):
        two_runs.query(NUMBERS)
    assert verify_parts(two_runs)["n_units"].to_list() == [2]
    assert two_runs.query(STATES).rows() == [("aa", "failed"), ("ab", "failed"), ("ba", "running")]
    with two_runs.write() as connection:
        save_run(connection, make_run("aa"))
        save_metrics(connection, "aa", numbers("m"))
        finish_run(connection, "aa")
    assert two_runs.query("SELECT DISTINCT run_id FROM leaderboard")["run_id"].to_list() == ["aa"]


def test_prune_never_deletes_numbers(two_runs: Warehouse, at_once: None) -> None:
    written(two_runs)
    assert prunable(two_runs, now() - now()).select("goes", "why").rows() == [(False, "past numbers")]


def test_a_file_with_gaps_is_rewritten_smaller_with_equal_content(
    two_runs: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    def tables() -> list[pl.DataFrame]:
        catalogue = (
            "SELECT table_name, column_name, comment, data_type FROM duckdb_columns() WHERE NOT internal",
            "SELECT view_name, comment FROM duckdb_views() WHERE NOT internal",
            "SELECT table_name, constraint_type, count(*) AS n FROM duckdb_constraints() GROUP BY ALL",
            "SELECT rowid, * FROM metric",
        )
        return [two_runs.query(sql).sort(pl.all()) for sql in (*catalogue, NUMBERS, "FROM leaderboard")]

    before, size = tables(), two_runs.path.stat().st_size
    monkeypatch.setattr(connection_module, "_LEAST_GAPS", 0)
    with two_runs.write() as connection:
        connection.execute(
            "CREATE TABLE big AS SELECT i, sha256(i::VARCHAR) AS text FROM range(200000) AS t(i)"
        )
    assert two_runs.path.stat().st_size > 2 * size
    with two_runs.write() as connection:
        connection.execute("DROP TABLE big")
    assert two_runs.path.stat().st_size < 1.5 * size
    assert all(one.equals(two) for one, two in zip(before, tables(), strict=True))
    assert [file.name for file in two_runs.home.glob("*writing*")] == []
