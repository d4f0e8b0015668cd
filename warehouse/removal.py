"""Removal of a run: what goes with it, obstacles to it, and the deletion.

A run's numbers and detail tables go with it. Its answers stay by default, because later runs use them;
answers that another run names always stay. A run cannot be removed while a process works on it. Runs whose
numbers are computed over its cohort go with it or keep it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import duckdb
import polars as pl

from warehouse.archive import forget_metrics
from warehouse.claims import at_work
from warehouse.connection import Warehouse
from warehouse.storage import WarehouseError, execute_with, fetched, now

ANSWERS = ("candidate_score", "embedding", "item_logprob", "option_score", "pair_score", "response")
"""Kinds of parts with answers of engines; the other kinds are detail tables of one run."""

_FIND = "SELECT run_id, evaluation, model, status FROM run WHERE starts_with(run_id, ?)"
_OTHERS = """
SELECT DISTINCT r.run_id, is_null FROM run AS r
JOIN (FROM cohort WHERE run_id = $run) AS own USING (config_hash)
WHERE r.run_id <> $run AND (
    r.run_id IN (FROM cohort AS c SELECT run_id WHERE (c.config_hash, c.cohort) = (r.config_hash, own.cohort))
    OR (r.status = 'finished' AND coalesce(r.params ->> 'cohort', 'first') = own.cohort)
) ORDER BY ALL
"""
"""Query for the runs whose numbers are computed over the cohort of a run: those in it, and later ones that
are compared with it."""
_UNITS = """
SELECT kind, request_hash, unit, part, n_rows FROM part_unit AS u
WHERE (run_id IN (SELECT unnest($runs::VARCHAR[]))
        AND kind NOT IN (SELECT unnest($answers::VARCHAR[])) AND kind <> 'metric_row')
    OR ($all AND kind IN (SELECT unnest($answers::VARCHAR[])) AND request_hash IN (
        SELECT request_hash FROM run_request GROUP BY request_hash
        HAVING bool_and(run_id IN (SELECT unnest($runs::VARCHAR[])))
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
_NUMBERS = """
SELECT kind, part FROM part_unit_base WHERE kind = 'metric_row' AND request_hash IN (SELECT unnest(?))
"""
_METRICS = """
SELECT (SELECT count(*) FROM metric_value_base WHERE run_id IN (SELECT unnest($runs))) + (
    SELECT coalesce(sum(n_rows), 0)::BIGINT FROM part_unit
    WHERE kind = 'metric_row' AND request_hash IN (SELECT unnest($runs))
)
"""


@dataclass(frozen=True)
class Removal:
    """Rows and parts that go with a run.

    Attributes:
        run_id, evaluation, model, status: the run.
        others: the runs that go too, because their numbers are computed over its cohort.
        n_metrics: number of their rows in metric_value.
        units: kind, request_hash, unit, part, n_rows of their other rows, which are in Parquet parts.
        obstacle: why the run cannot be removed; "" if it can.
    """

    run_id: str
    evaluation: str
    model: str
    status: str
    others: tuple[str, ...]
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


def removable(
    warehouse: Warehouse,
    run: str,
    answers: bool = False,
    *,
    compares: bool = True,
    with_cohort: bool = False,
) -> Removal:
    """Return what would go with a run, without changing anything.

    Args:
        run: its run_id, or the beginning of it.
        answers: whether answers that no other run names go too.
        compares: whether the evaluation's numbers are computed over a cohort (``Evaluation.compares``).
        with_cohort: whether runs go too whose numbers are computed over the cohort that the run is in.

    Raises:
        WarehouseError: no run_id, or several, begin with `run`.
    """
    with warehouse.read() as connection:
        of_cohort = _of_cohort(connection, run, compares)
        return _removal(connection, run, answers, of_cohort, with_cohort, at_work(warehouse.store))


def remove(
    warehouse: Warehouse,
    run: str,
    answers: bool = False,
    *,
    compares: bool = True,
    with_cohort: bool = False,
) -> Removal:
    """Delete a run in one transaction, and return what went. The next ``prune`` deletes its files.

    Raises:
        WarehouseError: like ``removable``; or the run has an obstacle.
    """
    with warehouse.write() as connection:
        of_cohort = _of_cohort(connection, run, compares)
        removal = _removal(connection, run, answers, of_cohort, with_cohort, at_work(warehouse.store))
        if removal.obstacle:
            raise WarehouseError(f"run {removal.run_id} cannot be removed: {removal.obstacle}.")
        going = [removal.run_id, *removal.others]
        numbers = fetched(connection.execute(_NUMBERS, [going]))
        for each in going:
            forget_metrics(connection, each)
        if removal.units.height:
            execute_with(connection, removal.units, _UNREGISTER)
        parts = pl.concat([numbers, removal.units.select("kind", "part")])
        execute_with(connection, parts, _SUPERSEDE, {"at": now()})
        for table in ("run_request", "cohort", "run_base"):
            connection.execute(f"DELETE FROM {table} WHERE run_id IN (SELECT unnest(?))", [going])
    return removal


def _of_cohort(connection: duckdb.DuckDBPyConnection, run: str, compares: bool) -> dict[str, bool]:
    """Return the other runs whose numbers are computed over a run's cohort -> whether of a null model."""
    if not compares:
        return {}
    return dict(connection.execute(_OTHERS, {"run": find_run(connection, run)[0]}).fetchall())


def _removal(
    connection: duckdb.DuckDBPyConnection,
    run: str,
    answers: bool,
    of_cohort: dict[str, bool],
    with_cohort: bool,
    working: list[str],
) -> Removal:
    run_id, evaluation, model, status = find_run(connection, run)
    n_models = sum(not is_null for is_null in of_cohort.values())
    # Null models are not run by name: the next run of the configuration computes them again.
    others = tuple(of_cohort) if with_cohort or not n_models else ()
    runs = [run_id, *others]
    units = fetched(connection.execute(_UNITS, {"runs": runs, "answers": list(ANSWERS), "all": answers}))
    n_metrics = _count(connection, _METRICS, runs=runs)
    obstacle = ""
    if busy := set(working).intersection(runs):
        obstacle = "a process is working on " + ("it" if run_id in busy else min(busy))
    elif n_models and not with_cohort:
        obstacle = (
            f"{n_models} other runs have numbers computed over its cohort: --with-cohort removes them too"
        )
    return Removal(run_id, evaluation, model, status, others, n_metrics, units, obstacle)


def _count(connection: duckdb.DuckDBPyConnection, sql: str, **values: Any) -> int:
    row = connection.execute(sql, values).fetchone()
    return row[0] if row else 0
