"""Runs and their numbers: what a flow stores before, during and after its work, and what it asks for."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Literal

import duckdb
import polars as pl

from warehouse.connection import Warehouse
from warehouse.home import WarehouseError
from warehouse.part_kinds import part_kind
from warehouse.parts import read_part

__all__ = [
    "Run",
    "finish_run",
    "missing_units",
    "read_answers",
    "save_metrics",
    "save_run",
    "save_run_requests",
]

_METRIC_SCHEMA = pl.Schema(
    {
        "model": pl.String,
        "metric": pl.String,
        "slice_kind": pl.String,
        "slice": pl.String,
        "value": pl.Float64,
        "unscored_reason": pl.String,
        "n_scored": pl.Int64,
        "n_unscored": pl.Int64,
        "ci_low": pl.Float64,
        "ci_high": pl.Float64,
        "null_value": pl.Float64,
    }
)

_SAVE_RUN = """
INSERT INTO run (run_id, evaluation, model, is_null, profile, config_hash, engine_hash, params, engine,
                 item_lists, boundary_rule, code_version, occasion, started_at, status)
VALUES ($run_id, $evaluation, $model, $is_null, $profile, $config_hash, $engine_hash, $params, $engine,
        $item_lists, $boundary_rule, $code_version, $occasion, $started_at, 'running')
ON CONFLICT (run_id) DO UPDATE SET started_at = excluded.started_at, finished_at = NULL, status = 'running'
WHERE run.status <> 'finished'
"""
_FINISH_RUN = (
    "UPDATE run SET status = $status, finished_at = $finished_at WHERE run_id = $run_id RETURNING run_id"
)
_SAVE_REQUESTS = """
INSERT OR REPLACE INTO run_request (run_id, request_hash, topic, label)
SELECT $run_id, request_hash, topic, label FROM incoming
"""
_SAVE_METRICS = "INSERT INTO metric_value BY NAME SELECT $run_id AS run_id, * FROM incoming"
_FREEZE = """
INSERT INTO cohort
SELECT $config_hash, $cohort, unnest($runs::VARCHAR[]), $frozen_at
WHERE NOT EXISTS (SELECT 1 FROM cohort WHERE config_hash = $config_hash AND cohort = $cohort)
"""
_MISSING = """
SELECT wanted.*
FROM wanted
ANTI JOIN (SELECT request_hash, unit FROM part_unit WHERE kind = $kind) AS done USING (request_hash, unit)
"""
_PARTS_OF_REQUEST = "SELECT part, unit FROM part_unit WHERE kind = ? AND request_hash = ?"


@dataclass(frozen=True)
class Run:
    """One run; the comments on the table `run` say what each is. params, engine, item_lists become JSON."""

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


def save_run(connection: duckdb.DuckDBPyConnection, run: Run) -> None:
    """Store the run as running from now.

    A finished run of this run_id stays finished, and so on the leaderboards.
    """
    values = asdict(run)
    for name in ("params", "engine", "item_lists"):
        values[name] = json.dumps(values[name], sort_keys=True)
    connection.execute(_SAVE_RUN, values | {"started_at": _now()})


def save_run_requests(connection: duckdb.DuckDBPyConnection, run_id: str, requests: pl.DataFrame) -> None:
    """Store what the run asks. requests: request_hash, topic, label; one row per request."""
    connection.register("incoming", requests)
    connection.execute(_SAVE_REQUESTS, {"run_id": run_id})
    connection.unregister("incoming")


def finish_run(
    connection: duckdb.DuckDBPyConnection, run_id: str, status: Literal["finished", "failed"] = "finished"
) -> None:
    """Mark the run as ended now. Raises WarehouseError for a run that was never saved."""
    values = {"run_id": run_id, "status": status, "finished_at": _now()}
    if connection.execute(_FINISH_RUN, values).fetchone() is None:
        raise WarehouseError(f"there is no run {run_id!r} to finish: store it first with save_run().")


def freeze_cohort(
    connection: duckdb.DuckDBPyConnection, config_hash: str, cohort: str, runs: Sequence[str]
) -> None:
    """Fix which runs a cohort is made of, once: a name that is taken keeps its runs."""
    values = {"config_hash": config_hash, "cohort": cohort, "runs": list(runs), "frozen_at": _now()}
    connection.execute(_FREEZE, values)


def save_metrics(connection: duckdb.DuckDBPyConnection, run_id: str, metrics: pl.DataFrame) -> None:
    """Make `metrics` all the metric values of the run; earlier ones go.

    metrics: the columns of metric_value without run_id, in any order. Raises WarehouseError naming the first
    row that has a NaN, or a value and a reason, or neither.
    """
    if set(metrics.columns) != set(_METRIC_SCHEMA):
        raise WarehouseError(
            f"metrics of run {run_id}: columns are {sorted(metrics.columns)}, expected "
            f"{sorted(_METRIC_SCHEMA)}."
        )
    frame = metrics.select(list(_METRIC_SCHEMA)).cast(_METRIC_SCHEMA)
    numbers = pl.col("value", "ci_low", "ci_high", "null_value")
    unclear = pl.col("value").is_null() != pl.col("unscored_reason").is_not_null()
    wrong = frame.filter(unclear | pl.any_horizontal(numbers.is_nan().fill_null(False)))
    if wrong.height:
        raise WarehouseError(
            f"metrics of run {run_id}: {wrong.height} rows, first {wrong.row(0, named=True)}. A row has a "
            f"value, or a null with an unscored_reason; NaN is neither."
        )
    connection.execute("DELETE FROM metric_value WHERE run_id = ?", [run_id])
    connection.register("incoming", frame)
    connection.execute(_SAVE_METRICS, {"run_id": run_id})
    connection.unregister("incoming")


def missing_units(connection: duckdb.DuckDBPyConnection, kind: str, units: pl.DataFrame) -> pl.DataFrame:
    """The rows of `units` that no registered part answers: what is still to be done, in any order.

    units: request_hash, unit and any other columns, which are kept. Raises WarehouseError for an undeclared
    kind.
    """
    part_kind(kind)
    connection.register("wanted", units)
    missing = connection.execute(_MISSING, {"kind": kind}).pl()
    connection.unregister("wanted")
    return missing


def read_answers(
    warehouse: Warehouse, kind: str, request_hash: str, units: Sequence[str], columns: Sequence[str]
) -> pl.DataFrame:
    """These columns of what one request answered for `units`, from its parts of `kind`.

    Reads the parts registered for the request and no others, with no connection held meanwhile. Units that
    are not answered yet are absent (`missing_units` finds them). Raises CorruptPart.
    """
    declared = part_kind(kind)
    registered = warehouse.query(_PARTS_OF_REQUEST, [kind, request_hash]).filter(
        pl.col("unit").is_in(list(units))
    )
    frames = [pl.DataFrame(schema={name: declared.columns[name] for name in columns})]
    for (part,), rows in registered.group_by("part", maintain_order=True):
        frame = read_part(warehouse.home, kind, str(part))
        frames.append(frame.filter(pl.col(declared.unit).is_in(rows["unit"].to_list())).select(columns))
    return pl.concat(frames)


def _now() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None)
