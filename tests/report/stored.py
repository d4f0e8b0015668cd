"""Finished runs and their numbers in a real warehouse, for the pages' tests of all evaluations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from warehouse import KINDS, Run, Warehouse, finish_run, register_parts, save_metrics, save_run, write_part

CONFIG = "0123456789abcdef"

Row = dict[str, Any]


def row(metric: str, where: tuple[str, str], value: float | None, **more: object) -> Row:
    """Return one row of metric_value, without run and model; an unscored one has a reason."""
    ends: Row = dict.fromkeys(("ci_low", "ci_high", "null_value"))
    place = {"metric": metric, "slice_kind": where[0], "slice": where[1], "value": value}
    counts = {"n_scored": 0 if value is None else 90, "n_unscored": 90 if value is None else 0}
    return ends | place | {"unscored_reason": "refused" if value is None else None} | counts | more


def around(value: float, half: float, **more: object) -> Row:
    """Return both ends of an interval, as ``row`` takes them."""
    return {"ci_low": value - half, "ci_high": value + half, **more}


def unscored_rows(rows: list[Row]) -> list[Row]:
    """Return these rows for a model without any scored answer."""
    lost = dict.fromkeys(("value", "ci_low", "ci_high"))
    return [r | lost | {"unscored_reason": "refused", "n_scored": 0, "n_unscored": 90} for r in rows]


def store_run(
    warehouse: Warehouse,
    evaluation: str,
    model: str,
    rows: list[Row],
    params: Row,
    config: str = CONFIG,
    engine: tuple[str, str] = ("e", "fake"),
) -> str:
    """Store a finished run of these rows; return its run_id. engine: its hash, and the id of its model."""
    with warehouse.write() as connection:
        return put_run(connection, evaluation, model, rows, params, config, engine)


def put_run(
    connection: Any,
    evaluation: str,
    model: str,
    rows: list[Row],
    params: Row,
    config: str = CONFIG,
    engine: tuple[str, str] = ("e", "fake"),
) -> str:
    """Store a finished run as ``store_run`` does, but within a write, so that many runs cost one write."""
    run = Run(
        run_id=f"{config} {model}", evaluation=evaluation, model=model, is_null=model.startswith("null:"),
        profile="demo", config_hash=config, engine_hash=engine[0], params=params,
        engine={"kind": "fake", "model": engine[1]}, item_lists={}, boundary_rule="a rule",
        code_version="0.1.0", model_hash=model if engine == ("e", "fake") else "",
    )  # fmt: skip
    types = dict.fromkeys(("value", "ci_low", "ci_high", "null_value"), pl.Float64)
    overrides = types | {"unscored_reason": pl.String}
    frame = pl.DataFrame(rows, schema_overrides=overrides, infer_schema_length=None)
    save_run(connection, run)
    save_metrics(connection, run.run_id, frame.with_columns(model=pl.lit(model)))
    finish_run(connection, run.run_id)
    return run.run_id


def store_headline(
    warehouse: Warehouse, evaluation: str, values: Sequence[float | None], metric: str, half: float
) -> None:
    """Store a finished run of each model (m0, m1 …) with one headline and an interval of this half width."""
    with warehouse.write() as connection:
        for number, value in enumerate(values):
            ends = {} if value is None else around(value, half)
            rows = [row(metric, ("overall", "all"), value, null_value=0.15, **ends)]
            engine = f"e{number}", f"Lab/Model-{number}"
            put_run(connection, evaluation, f"m{number}", rows, {}, f"c {evaluation}", engine)


def store_part(warehouse: Warehouse, kind: str, name: str, frame: pl.DataFrame) -> None:
    """Store a registered part."""
    units = write_part(warehouse.home, kind, name, frame)
    with warehouse.write() as connection:
        register_parts(connection, [units])


def store_verdicts(warehouse: Warehouse, name: str, verdicts: list[Row]) -> None:
    """Store a registered part of verdicts; missing columns are empty."""
    schema = {column: kind for column, kind in KINDS["verdict"].columns.items() if column != "part"}
    rows = [dict.fromkeys(schema) | verdict for verdict in verdicts]
    store_part(warehouse, "verdict", name, pl.DataFrame(rows, schema=schema))
