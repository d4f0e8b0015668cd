"""Stored runs: their requests and numbers, judge validation, users' rankings, and reads of stored answers."""

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

# Clocks are set back, and machines that share a warehouse have several. So that later runs are newer all the
# same, a run begins and ends after the end of every run that had ended before.
_SAVE_RUN = """
INSERT INTO run_base BY NAME SELECT * REPLACE (
    greatest(started_at, (SELECT max(finished_at) FROM run_base) + INTERVAL 1 MICROSECOND) AS started_at
) FROM incoming
ON CONFLICT (run_id) DO UPDATE SET started_at = excluded.started_at, finished_at = NULL, status = 'running'
WHERE run_base.status <> 'finished'
"""
_FINISH_RUN = """
UPDATE run_base SET status = $status, finished_at = greatest(
    $now::TIMESTAMP, started_at, (SELECT max(finished_at) FROM run_base) + INTERVAL 1 MICROSECOND
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
_POINTS = ("metric", "design", "unit", "cluster", "value", "n_clusters")
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
    """One run; the comments on the table `run` explain the fields. params, engine, item_lists become JSON.

    model_hash: "" if only the engine is known; engine_hash then stands in for it.
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
    """Store the run as running from now, or from the last run's end if the clock is behind that.

    A finished run stays finished and on the leaderboards.
    """
    values = asdict(run) | {"started_at": now(), "status": "running"}
    values["model_hash"] = run.model_hash or run.engine_hash
    for name in ("params", "engine", "item_lists"):
        values[name] = json.dumps(values[name], sort_keys=True)
    execute_with(connection, pl.DataFrame([values]), _SAVE_RUN)


def save_run_requests(connection: duckdb.DuckDBPyConnection, run_id: str, requests: pl.DataFrame) -> None:
    """Store the run's requests. requests: request_hash, topic, label; one row per request."""
    for statement in (_CLEAR_REQUESTS, _SAVE_REQUESTS):
        execute_with(connection, requests, statement, {"run_id": run_id})


def finish_run(
    connection: duckdb.DuckDBPyConnection,
    run_id: str,
    status: Literal["finished", "failed", "cancelled"] = "finished",
) -> None:
    """Mark the run as ended now, or right after the run that ended last if the clock is behind that.

    Raises WarehouseError for a run that was never saved.
    """
    values = {"run_id": run_id, "status": status, "now": now()}
    if connection.execute(_FINISH_RUN, values).fetchone() is None:
        raise WarehouseError(f"unknown run {run_id!r}: store it with save_run() before finish_run().")


def freeze_cohort(
    connection: duckdb.DuckDBPyConnection, config_hash: str, cohort: str, runs: Sequence[str]
) -> None:
    """Store the runs of a cohort, unless a cohort of that name is stored already: it keeps its runs."""
    values = {"config_hash": config_hash, "cohort": cohort, "runs": list(runs), "frozen_at": now()}
    connection.execute(_FREEZE, values)


def save_metrics(connection: duckdb.DuckDBPyConnection, run_id: str, metrics: pl.DataFrame) -> None:
    """Replace the metric values of the run by `metrics`.

    metrics: the columns of metric_value without run_id, in any order. Raises WarehouseError with the first
    row that has a NaN, both a value and a reason, or neither, or that is repeated.
    """
    schema = columns_of(connection, "metric_value_base", excluded=["run_id"])
    frame = as_numbers(metrics, schema, f"metrics of run {run_id}")
    repeated = frame.filter(pl.struct("metric", "slice_kind", "slice").is_duplicated())
    if repeated.height:
        raise WarehouseError(f"metrics of run {run_id}: repeated row {repeated.row(0, named=True)}.")
    forget_metrics(connection, run_id)
    execute_with(connection, frame, _SAVE_METRICS, {"run_id": run_id})


def save_validation(warehouse: Warehouse, rows: pl.DataFrame) -> None:
    """Replace the validation of judges on the dimensions in `rows`, in one transaction.

    rows: the columns of judge_validation without created_at, which is now. Earlier rows of the same judge,
    engine, rubric and dimension are deleted. Raises WarehouseError, and changes nothing, for other columns or
    a row that has a NaN, both a value and a reason, or neither.
    """
    with warehouse.write() as connection:
        schema = columns_of(connection, "judge_validation", excluded=["created_at"])
        frame = as_numbers(rows, schema, "judge validation")
        execute_with(connection, frame, _CLEAR_VALIDATION)
        execute_with(connection, frame, _SAVE_VALIDATION, {"created_at": now()})


def save_ranking(warehouse: Warehouse, rows: pl.DataFrame) -> None:
    """Replace users' rankings of the benchmarks in `rows`, in one transaction.

    rows: the columns of user_rank without added_at, which is now.
    """
    with warehouse.write() as connection:
        execute_with(connection, rows, _CLEAR_RANKING)
        execute_with(connection, rows, _SAVE_RANKING, {"added_at": now()})


def missing_units(connection: duckdb.DuckDBPyConnection, kind: str, units: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of `units` that no registered part answers yet, in any order.

    units: request_hash, unit and any other columns, which are returned too. Raises WarehouseError for an
    unknown kind.
    """
    return execute_with(connection, units, _MISSING, {"kind": part_kind(kind).name})


def read_answers(
    warehouse: Warehouse, kind: str, request_hash: str, units: Sequence[str], columns: Sequence[str]
) -> pl.DataFrame:
    """Return these columns of the answers to one request's `units`, as `read_requests` does."""
    return read_requests(warehouse, kind, {request_hash: units}, columns)[request_hash]


def read_points(warehouse: Warehouse, headlines: Mapping[str, Sequence[str]]) -> dict[str, pl.DataFrame]:
    """Return run -> the stored points behind its headlines: metric, design, unit, cluster, value, n_clusters.

    headlines: run -> its headlines. A run that stored none has an empty frame. Raises CorruptPart.
    """
    return read_requests(warehouse, "headline_value", headlines, _POINTS)


def read_requests(
    warehouse: Warehouse, kind: str, units: Mapping[str, Sequence[str]], columns: Sequence[str]
) -> dict[str, pl.DataFrame]:
    """Return request -> these columns of its answers, from registered parts of `kind`.

    units: request -> its units. One query finds the parts of all, because opening the warehouse takes longer
    than reading a part. Each part is read once, with no connection open meanwhile. Units without an answer
    are absent (`missing_units` finds them). Raises CorruptPart.
    """
    declared = part_kind(kind)
    keys = ["request_hash", declared.unit]
    registered = warehouse.query(_PARTS_OF_REQUESTS, {"kind": kind, "requests": list(units)})
    registered = registered.rename({"unit": declared.unit}).join(
        pl.DataFrame({keys[0]: list(units), keys[1]: [list(names) for names in units.values()]},
                     schema={keys[0]: pl.String, keys[1]: pl.List(pl.String)}).explode(keys[1]),
        on=keys, how="semi",
    )  # fmt: skip
    names = list(dict.fromkeys([*columns, *keys, "part"]))
    frames = [pl.DataFrame(schema={name: declared.columns[name] for name in names})]
    for (part,), rows in registered.group_by("part", maintain_order=True):
        condition = pl.all_horizontal(pl.col(name).is_in(rows[name].unique().to_list()) for name in keys)
        frames.append(read_part(warehouse.store, kind, str(part), names, condition))
    answers = pl.concat(frames).join(registered, on=[*keys, "part"], how="semi")
    no_rows = answers.clear().select(columns)
    by_request = answers.partition_by("request_hash", as_dict=True)
    return {r: by_request[(r,)].select(columns) if (r,) in by_request else no_rows for r in units}
