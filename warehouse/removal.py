"""Removal of a run: what goes with it, obstacles to it, and the deletion.

A run's numbers and detail tables go with it. Its answers stay by default, because later runs use them;
answers that another run names always stay. A run cannot be removed while a process works on it, or while its
cohort has other runs.
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
"""Kinds of parts with answers of engines; the other kinds are detail tables of one run."""

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
    """Rows and parts that go with a run.

    Attributes:
        run_id, evaluation, model, status: the run.
        n_metrics: number of its rows in metric_value.
        units: kind, request_hash, unit, part, n_rows of its other rows, which are in Parquet parts.
        obstacle: why the run cannot be removed; "" if it can.
    """

    run_id: str
    evaluation: str
    model: str
    status: str
    n_metrics: int
    units: pl.DataFrame
    obstacle: str


def find_run(connection: duckdb.DuckDBPyConnection, run: str) -> tuple[str, str, str, str]:
    """Return run_id, evaluation, model and status of the run whose id begins with `run`.

    Raises:
        WarehouseError: no id, or several, begin with `run`.
    """
    runs: list[tuple[str, str, str, str]] = connection.execute(_FIND, [run]).fetchall()
    if not runs:
        raise WarehouseError(f"unknown run {run!r}; `culturemeter runs` lists them.")
    if len(runs) > 1:
        examples = ", ".join(sorted(row[0] for row in runs)[:5])
        raise WarehouseError(f"run {run!r} is ambiguous: {len(runs)} runs begin with it, such as {examples}.")
    return runs[0]


def removable(warehouse: Warehouse, run: str, answers: bool = False) -> Removal:
    """Return what would go with a run, without changing anything.

    Args:
        run: its run_id, or the beginning of it.
        answers: whether answers that no other run names go too.

    Raises:
        WarehouseError: no run_id, or several, begin with `run`.
    """
    with warehouse.read() as connection:
        return _removal(connection, run, answers, at_work(warehouse.store))


def remove(warehouse: Warehouse, run: str, answers: bool = False) -> Removal:
    """Delete a run in one transaction, and return what went. The next ``prune`` deletes its files.

    Raises:
        WarehouseError: like ``removable``; or the run has an obstacle.
    """
    with warehouse.write() as connection:
        removal = _removal(connection, run, answers, at_work(warehouse.store))
        if removal.obstacle:
            raise WarehouseError(f"run {removal.run_id} cannot be removed: {removal.obstacle}.")
        numbers = connection.execute(_NUMBERS, [removal.run_id]).pl()
        forget_metrics(connection, removal.run_id)
        if removal.units.height:
            execute_with(connection, removal.units, _UNREGISTER)
        parts = pl.concat([numbers, removal.units.select("kind", "part")])
        execute_with(connection, parts, _SUPERSEDE, {"at": now()})
        for table in ("run_request", "cohort", "run"):
            connection.execute(f"DELETE FROM {table} WHERE run_id = ?", [removal.run_id])
    return removal


def _removal(connection: duckdb.DuckDBPyConnection, run: str, answers: bool, working: list[str]) -> Removal:
    run_id, evaluation, model, status = find_run(connection, run)
    values = {"run": run_id, "answers": list(ANSWERS), "all": answers}
    units = connection.execute(_UNITS, values).pl()
    n_metrics = _count(connection, _METRICS, run=run_id)
    obstacle = ""
    if run_id in working:
        obstacle = "a process is working on it"
    elif n_others := _count(connection, _OTHERS, run=run_id):
        obstacle = f"its cohort has {n_others} other runs, whose numbers are computed over it"
    return Removal(run_id, evaluation, model, status, n_metrics, units, obstacle)


def _count(connection: duckdb.DuckDBPyConnection, sql: str, **values: Any) -> int:
    row = connection.execute(sql, values).fetchone()
    return row[0] if row else 0
