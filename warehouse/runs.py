"""Runs, their numbers, those of judges and users' rankings: what is stored of them, and asked for."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

import duckdb
import polars as pl

from warehouse.archive import forget_metrics
from warehouse.connection import Warehouse
from warehouse.part_kinds import part_kind
from warehouse.parts import read_part
from warehouse.storage import WarehouseError, as_numbers, columns_of, execute_with, now

# Clocks are set back, and machines that share a warehouse have several. What came later is the newest all the
# same: no run begins or ends before the last one that had ended, nor with it.
_SAVE_RUN = """
INSERT INTO run BY NAME SELECT * REPLACE (
    greatest(started_at, (SELECT max(finished_at) FROM run) + INTERVAL 1 MICROSECOND) AS started_at
) FROM incoming
ON CONFLICT (run_id) DO UPDATE SET started_at = excluded.started_at, finished_at = NULL, status = 'running'
WHERE run.status <> 'finished'
"""
_FINISH_RUN = """
UPDATE run SET status = $status, finished_at = greatest(
    $now::TIMESTAMP, started_at, (SELECT max(finished_at) FROM run) + INTERVAL 1 MICROSECOND
), n_answers = (
    SELECT count(*) FROM part_unit SEMI JOIN (FROM run_request WHERE run_id = $run_id) USING (request_hash)
) WHERE run_id = $run_id RETURNING run_id
"""
_CLEAR_REQUESTS = """
DELETE FROM run_request WHERE run_id = $run_id AND request_hash IN (SELECT request_hash FROM incoming)
"""
_SAVE_REQUESTS = """
INSERT INTO run_request (run_id, request_hash, topic, label)
SELECT $run_id, request_hash, topic, label FROM incoming
"""
_SAVE_METRICS = "INSERT INTO metric_value_base BY NAME SELECT $run_id AS run_id, * FROM incoming"
_CLEAR_VALIDATION = """
DELETE FROM judge_validation
WHERE (judge, judge_hash, rubric, dimension) IN (SELECT (judge, judge_hash, rubric, dimension) FROM incoming)
"""
_SAVE_VALIDATION = """
INSERT INTO judge_validation BY NAME SELECT *, $created_at AS created_at FROM incoming
"""
_CLEAR_RANKING = "DELETE FROM user_rank WHERE benchmark IN (SELECT benchmark FROM incoming)"
_SAVE_RANKING = "INSERT INTO user_rank BY NAME SELECT *, $added_at AS added_at FROM incoming"
_FREEZE = """
INSERT INTO cohort
SELECT $config_hash, $cohort, unnest($runs::VARCHAR[]), $frozen_at
WHERE NOT EXISTS (SELECT 1 FROM cohort WHERE config_hash = $config_hash AND cohort = $cohort)
"""
_MISSING = """
SELECT incoming.*
FROM incoming
ANTI JOIN (SELECT request_hash, unit FROM part_unit WHERE kind = $kind) AS done USING (request_hash, unit)
"""
_PARTS_OF_REQUESTS = """
SELECT part, request_hash, unit FROM part_unit
WHERE kind = $kind AND request_hash IN (SELECT unnest($requests::VARCHAR[]))
"""


@dataclass(frozen=True)
class Run:
    """One run; the comments on the table `run` say what each is. params, engine, item_lists become JSON.

    model_hash: "" where no more is known of the model than its engine, whose hash then names it.
    """

    run_id: str
    evaluation: str
    model: str
    is_null: bool
    profile: str
    config_hash: str
    engine_hash: str
    params: Mapping[str, object]
    engine: Mapping[str, object]
    item_lists: Mapping[str, str]
    boundary_rule: str
    code_version: str
    occasion: str = ""
    model_hash: str = ""


def save_run(connection: duckdb.DuckDBPyConnection, run: Run) -> None:
    """Store the run as running from now, or from the last run's end where the clock is behind that.

    A finished one stays finished, on the leaderboards.
    """
    values = asdict(run) | {"started_at": now(), "status": "running"}
    values["model_hash"] = run.model_hash or run.engine_hash
    for name in ("params", "engine", "item_lists"):
        values[name] = json.dumps(values[name], sort_keys=True)
    execute_with(connection, pl.DataFrame([values]), _SAVE_RUN)


def save_run_requests(connection: duckdb.DuckDBPyConnection, run_id: str, requests: pl.DataFrame) -> None:
    """Store what the run asks. requests: request_hash, topic, label; one row per request."""
    for statement in (_CLEAR_REQUESTS, _SAVE_REQUESTS):
        execute_with(connection, requests, statement, {"run_id": run_id})


def finish_run(
    connection: duckdb.DuckDBPyConnection, run_id: str, status: Literal["finished", "failed"] = "finished"
) -> None:
    """Mark the run as ended now, or right after the run that ended last, where the clock is behind that.

    Raises WarehouseError for a run that was never saved.
    """
    values = {"run_id": run_id, "status": status, "now": now()}
    if connection.execute(_FINISH_RUN, values).fetchone() is None:
        raise WarehouseError(f"there is no run {run_id!r} to finish: store it first with save_run().")


def freeze_cohort(
    connection: duckdb.DuckDBPyConnection, config_hash: str, cohort: str, runs: Sequence[str]
) -> None:
    """Fix which runs a cohort is made of, once: a name that is taken keeps its runs."""
    values = {"config_hash": config_hash, "cohort": cohort, "runs": list(runs), "frozen_at": now()}
    connection.execute(_FREEZE, values)


def save_metrics(connection: duckdb.DuckDBPyConnection, run_id: str, metrics: pl.DataFrame) -> None:
    """Make `metrics` all the metric values of the run; earlier ones go.

    metrics: the columns of metric_value without run_id, in any order. Raises WarehouseError naming the first
    row that has a NaN, or a value and a reason, or neither, or that is there twice.
    """
    schema = columns_of(connection, "metric_value_base", without=["run_id"])
    frame = as_numbers(metrics, schema, f"metrics of run {run_id}")
    repeated = frame.filter(pl.struct("metric", "slice_kind", "slice").is_duplicated())
    if repeated.height:
        raise WarehouseError(f"metrics of run {run_id}: {repeated.row(0, named=True)} is there twice.")
    forget_metrics(connection, run_id)
    execute_with(connection, frame, _SAVE_METRICS, {"run_id": run_id})


def save_validation(warehouse: Warehouse, rows: pl.DataFrame) -> None:
    """Make `rows` all that is known of their judges on their dimensions, in one transaction.

    rows: the columns of judge_validation without created_at, which is now. Earlier rows of the same judge,
    engine, rubric and dimension go. Raises WarehouseError, and changes nothing, for other columns or a row
    that has a NaN, a value and a reason, or neither.
    """
    with warehouse.write() as connection:
        schema = columns_of(connection, "judge_validation", without=["created_at"])
        frame = as_numbers(rows, schema, "judge validation")
        execute_with(connection, frame, _CLEAR_VALIDATION)
        execute_with(connection, frame, _SAVE_VALIDATION, {"created_at": now()})


def save_ranking(warehouse: Warehouse, rows: pl.DataFrame) -> None:
    """Make `rows` all that users brought of their benchmarks, in one transaction.

    rows: the columns of user_rank without added_at, which is now.
    """
    with warehouse.write() as connection:
        execute_with(connection, rows, _CLEAR_RANKING)
        execute_with(connection, rows, _SAVE_RANKING, {"added_at": now()})


def missing_units(connection: duckdb.DuckDBPyConnection, kind: str, units: pl.DataFrame) -> pl.DataFrame:
    """The rows of `units` that no registered part answers: what is still to be done, in any order.

    units: request_hash, unit and any other columns, which are kept. Raises WarehouseError for an undeclared
    kind.
    """
    return execute_with(connection, units, _MISSING, {"kind": part_kind(kind).name})


def read_answers(
    warehouse: Warehouse, kind: str, request_hash: str, units: Sequence[str], columns: Sequence[str]
) -> pl.DataFrame:
    """These columns of what one request answered for `units`: `read_requests` of one."""
    return read_requests(warehouse, kind, {request_hash: units}, columns)[request_hash]


def read_requests(
    warehouse: Warehouse, kind: str, wanted: Mapping[str, Sequence[str]], columns: Sequence[str]
) -> dict[str, pl.DataFrame]:
    """These columns of what several requests answered, from their parts of `kind`, by request.

    wanted: request -> units. One query for all: opening the warehouse takes longer than a part. Reads the
    registered parts and no others, each once, with no connection held meanwhile. Units that are not answered
    yet are absent (`missing_units` finds them). Raises CorruptPart.
    """
    declared = part_kind(kind)
    by = ["request_hash", declared.unit]
    registered = warehouse.query(_PARTS_OF_REQUESTS, {"kind": kind, "requests": list(wanted)})
    registered = registered.rename({"unit": declared.unit}).join(
        pl.DataFrame({by[0]: list(wanted), by[1]: [list(units) for units in wanted.values()]},
                     schema={by[0]: pl.String, by[1]: pl.List(pl.String)}).explode(by[1]),
        on=by, how="semi",
    )  # fmt: skip
    read = list(dict.fromkeys([*columns, *by, "part"]))
    frames = [pl.DataFrame(schema={name: declared.columns[name] for name in read})]
    for (part,), rows in registered.group_by("part", maintain_order=True):
        of_rows = pl.all_horizontal(pl.col(name).is_in(rows[name].unique().to_list()) for name in by)
        frames.append(read_part(warehouse.store, kind, str(part), read, of_rows))
    answers = pl.concat(frames).join(registered, on=[*by, "part"], how="semi")
    nothing = answers.clear().select(columns)
    of_request = answers.partition_by("request_hash", as_dict=True)
    return {r: of_request[(r,)].select(columns) if (r,) in of_request else nothing for r in wanted}
