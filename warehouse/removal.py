"""A run taken away: what goes with it, why it may not go, and its deletion.

A run's numbers and detail tables go with it. Its answers stay unless they are to go too, since any later run
uses them; what another run names stays in any case. A run stays while it is at work, and where other runs'
numbers are taken over its cohort.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import duckdb
import polars as pl

from warehouse.archive import forget_metrics
from warehouse.at_work import at_work
from warehouse.connection import Warehouse
from warehouse.storage import WarehouseError, execute_with, now

ANSWERS = ("candidate_score", "embedding", "item_logprob", "option_score", "response")
"""Kinds of parts that hold what engines answered; the others are detail tables of one run."""

_FIND = "SELECT run_id, evaluation, model, status FROM run WHERE starts_with(run_id, ?)"
_OTHERS = """
SELECT count(DISTINCT run_id) FROM cohort
WHERE run_id <> $run AND run_id IN (SELECT run_id FROM run)
    AND (config_hash, cohort) IN (SELECT (config_hash, cohort) FROM cohort WHERE run_id = $run)
"""
_UNITS = """
SELECT kind, request_hash, unit, part, n_rows FROM part_unit AS u
WHERE (run_id = $run AND kind NOT IN (SELECT unnest($answers::VARCHAR[])) AND kind <> 'metric_row')
    OR ($all AND kind IN (SELECT unnest($answers::VARCHAR[])) AND request_hash IN (
        SELECT request_hash FROM run_request GROUP BY request_hash HAVING bool_and(run_id = $run)
    ))
"""
_UNREGISTER = """
DELETE FROM part_unit_base
WHERE (kind, request_hash, unit) IN (SELECT (kind, request_hash, unit) FROM incoming)
"""
_SUPERSEDE = """
INSERT OR REPLACE INTO superseded_part SELECT DISTINCT kind, part, $at FROM incoming
WHERE (kind, part) NOT IN (SELECT (kind, part) FROM part_unit_base)
"""
_NUMBERS = "SELECT kind, part FROM part_unit_base WHERE kind = 'metric_row' AND request_hash = ?"
_METRICS = """
SELECT (SELECT count(*) FROM metric_value_base WHERE run_id = $run) + (
    SELECT coalesce(sum(n_rows), 0)::BIGINT FROM part_unit WHERE kind = 'metric_row' AND request_hash = $run
)
"""


@dataclass(frozen=True)
class Removal:
    """Contents that go with a run.

    Attributes:
        run_id, evaluation, model, status: the run.
        n_metrics: rows of metric_value.
        units: kind, request_hash, unit, part, n_rows of what else is stored in Parquet parts and goes.
        obstacle: why it may not go; "" if it may.
    """

    run_id: str
    evaluation: str
    model: str
    status: str
    n_metrics: int
    units: pl.DataFrame
    obstacle: str


def find_run(connection: duckdb.DuckDBPyConnection, run: str) -> tuple[str, str, str, str]:
    """run_id, evaluation, model and status of the one run whose id begins so.

    Raises:
        WarehouseError: no run, or several, begin so.
    """
    parts: list[tuple[str, str, str, str]] = connection.execute(_FIND, [run]).fetchall()
    if len(parts) != 1:
        which = ", ".join(sorted(row[0] for row in parts)[:5])
        what = f"{len(parts)} runs begin with it: {which}" if parts else "`culturescope runs` lists them"
        raise WarehouseError(f"there is no run {run!r}: {what}.")
    return parts[0]


def removable(warehouse: Warehouse, run: str, answers: bool = False) -> Removal:
    """Return what would go with a run; nothing is changed.

    Args:
        run: its run_id, or the beginning of it.
        answers: whether the answers go that no other run names.

    Raises:
        WarehouseError: no run, or several, begin so.
    """
    with warehouse.read() as connection:
        return _removal(connection, run, answers, at_work(warehouse.store))


def remove(warehouse: Warehouse, run: str, answers: bool = False) -> Removal:
    """Delete a run in one transaction, and say what went. Its files go with the next ``prune``.

    Raises:
        WarehouseError: as ``removable``; or the run may not go.
    """
    with warehouse.write() as connection:
        going = _removal(connection, run, answers, at_work(warehouse.store))
        if going.obstacle:
            raise WarehouseError(f"run {going.run_id} stays: {going.obstacle}.")
        numbers = connection.execute(_NUMBERS, [going.run_id]).pl()
        forget_metrics(connection, going.run_id)
        if going.units.height:
            execute_with(connection, going.units, _UNREGISTER)
        parts = pl.concat([numbers, going.units.select("kind", "part")])
        execute_with(connection, parts, _SUPERSEDE, {"at": now()})
        for table in ("run_request", "cohort", "run"):
            connection.execute(f"DELETE FROM {table} WHERE run_id = ?", [going.run_id])
    return going


def _removal(connection: duckdb.DuckDBPyConnection, run: str, answers: bool, working: list[str]) -> Removal:
    run_id, evaluation, model, status = find_run(connection, run)
    values = {"run": run_id, "answers": list(ANSWERS), "all": answers}
    units = connection.execute(_UNITS, values).pl()
    n_metrics = _count(connection, _METRICS, run=run_id)
    reason = ""
    if run_id in working:
        reason = "a process is at work on it"
    elif others := _count(connection, _OTHERS, run=run_id):
        reason = f"other runs are compared with it: its cohort has {others} more"
    return Removal(run_id, evaluation, model, status, n_metrics, units, reason)


def _count(connection: duckdb.DuckDBPyConnection, sql: str, **values: Any) -> int:
    row = connection.execute(sql, values).fetchone()
    return row[0] if row else 0
