"""Moves the numbers of finished runs from the database file to parts, so that a write copies a small file.

New rows go to the table ``metric_value_base``, in the transaction that finishes their run. Once the table has
more than ``AT`` rows, the next write moves those of finished runs into parts of the kind ``metric_row``. One
transaction on a copy of the file registers the parts and deletes the rows from the table. So each row is in
exactly one of the two places, and a kill loses none. The view ``metric_value`` shows both.
"""

from __future__ import annotations

from hashlib import sha256

import duckdb
import polars as pl

from warehouse.parts import register_parts, write_part
from warehouse.storage import execute_with, fetched
from warehouse.store import Store

KIND = "metric_row"
AT = 200_000
"""Largest number of rows that stay in the file; they take about 7 MB."""
_LARGEST = 1_000_000
"""Approximate largest number of rows in a part, about 20 MB. A part holds whole runs."""

_WAITING = "SELECT count(*) FROM metric_value_base"
_RUNS = """
SELECT run_id, count(*) AS n FROM metric_value_base
WHERE run_id IN (SELECT run_id FROM run WHERE status = 'finished') GROUP BY run_id ORDER BY run_id
"""
# This order puts the rows of leaderboards side by side: scans skip other row groups by their statistics.
_ROWS = """
SELECT v.*, r.config_hash, v.run_id AS request_hash FROM metric_value_base AS v JOIN run AS r USING (run_id)
SEMI JOIN incoming USING (run_id)
ORDER BY v.slice_kind, v.metric, v.slice, r.config_hash, v.run_id
"""
_DELETE = "DELETE FROM metric_value_base WHERE run_id IN (SELECT run_id FROM incoming)"
_FORGET = (
    "DELETE FROM metric_value_base WHERE run_id = ?",
    f"DELETE FROM part_unit_base WHERE kind = '{KIND}' AND request_hash = ?",
)


def archive(connection: duckdb.DuckDBPyConnection, store: Store) -> None:
    """Move the numbers of finished runs into parts if the table has more than ``AT`` rows.

    The move is a transaction of its own. Raises WarehouseError if the disk is full or the store does not
    answer.
    """
    if _count(connection) <= AT:
        return
    connection.begin()
    runs = fetched(connection.execute(_RUNS))
    if runs["n"].sum() > AT:
        batches = runs.with_columns(batch=(pl.col("n").cum_sum() - 1) // _LARGEST)
        for _, batch in batches.group_by("batch", maintain_order=True):
            _move(connection, store, batch.select("run_id"))
    connection.commit()


def forget_metrics(connection: duckdb.DuckDBPyConnection, run_id: str) -> None:
    """Delete all numbers of a run, inside the caller's transaction."""
    for statement in _FORGET:
        connection.execute(statement, [run_id])


def _move(connection: duckdb.DuckDBPyConnection, store: Store, runs: pl.DataFrame) -> None:
    rows = execute_with(connection, runs, _ROWS)
    name = f"runs-{sha256(','.join(runs['run_id']).encode()).hexdigest()[:16]}"
    register_parts(connection, [write_part(store, KIND, name, rows)], replace=True)
    execute_with(connection, runs, _DELETE)


def _count(connection: duckdb.DuckDBPyConnection) -> int:
    row = connection.execute(_WAITING).fetchone()
    return row[0] if row else 0
