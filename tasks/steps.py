"""What the steps of all evaluations share: parts, models and runs, between Prefect and the warehouse."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from typing import NoReturn, Protocol

import polars as pl
from filelock import FileLock
from prefect import get_run_logger, task
from prefect.artifacts import create_table_artifact
from prefect.cache_policies import NO_CACHE
from pydantic import BaseModel
from threadpoolctl import threadpool_limits

from tasks.engines.specs import EngineSpec, load_spec
from tasks.metric_rows import Metric
from warehouse import (
    CorruptPart,
    Warehouse,
    adopt_parts,
    finish_run,
    register_parts,
    registration,
    save_metrics,
    save_run,
    save_run_requests,
    verify_parts,
    write_part,
)
from warehouse import Run as RunRow

Run = tuple[str, str]
"""(run_id, model)"""

COHORT = """
SELECT model, run_id FROM run WHERE config_hash = ? AND status = 'finished' AND NOT is_null
QUALIFY row_number() OVER (PARTITION BY model ORDER BY finished_at DESC) = 1
"""


class Study(Protocol):
    """What is asked, independent of the model."""

    @property
    def params(self) -> BaseModel:
        """The typed knobs; they have a ``profile``."""
        ...

    def config_hash(self) -> str:
        """Identifies what may be compared across models."""
        ...


@task(cache_policy=NO_CACHE, name="adopt parts of interrupted runs")
def adopt(kinds: Sequence[str]) -> None:
    """Register what a killed run stored but did not come to register."""
    warehouse, log = Warehouse.open(), get_run_logger()
    for kind in kinds:
        found = adopt_parts(warehouse, kind)
        if found.adopted:
            log.info("took over %d parts of an interrupted run", len(found.adopted))
        for part in found.quarantined:
            log.warning("part %s cannot be read: moved to quarantine/, and scored again", part)


def spec_of(name: str) -> EngineSpec:
    """The engine spec of a model by name, the user's own specs first."""
    return load_spec(name, Warehouse.open().home / "engines")


def is_finished(run: Run) -> bool:
    """Whether the run's metrics are stored already."""
    finished = "SELECT 1 FROM run WHERE run_id = ? AND status = 'finished'"
    return not Warehouse.open().query(finished, [run[0]]).is_empty()


def store_part(kind: str, part: str, frame: pl.DataFrame, replace: bool) -> None:
    """Write a part, then register it: killed in between, the next run adopts it."""
    warehouse = Warehouse.open()
    write_part(warehouse.home, kind, part, frame)
    with warehouse.write() as connection:
        register_parts(connection, [registration(kind, part, frame)], replace=replace)


def set_corrupt_aside(error: CorruptPart) -> NoReturn:
    """Unregister every unreadable part, so that the next run scores it again.

    Raises:
        CorruptPart: always; says what to do.
    """
    lost = verify_parts(Warehouse.open())
    parts = ", ".join(f"{kind}/{part}" for kind, part, *_ in lost.rows())
    raise CorruptPart(
        f"{error}\nSet aside: {parts}. Run the same command again: only these are scored anew."
    ) from error


def save(
    evaluation: str,
    study: Study,
    run: Run,
    spec: EngineSpec | None,
    requests: pl.DataFrame | None = None,
    rule: str = "none",
    item_lists: Mapping[str, str] | None = None,
) -> None:
    """Write down what a run is going to measure, before it does.

    Args:
        spec: the engine; None for a null model.
        requests: request_hash, domain and question of what it will ask.
        rule: how prompt and answer meet (boundary rule).
        item_lists: name -> hash of what is asked about.
    """
    row = RunRow(
        run_id=run[0],
        evaluation=evaluation,
        model=run[1],
        is_null=spec is None,
        profile=str(study.params.model_dump()["profile"]),
        config_hash=study.config_hash(),
        engine_hash=spec.hash() if spec else "null",
        params=study.params.model_dump(exclude={"models", "refresh"}),
        engine=spec.model_dump(exclude={"base_url", "api_key_env"}) if spec else {},
        item_lists=item_lists or {},
        boundary_rule=rule,
        code_version=version("culturescope"),
    )
    with Warehouse.open().write() as connection:
        save_run(connection, row)
        if requests is not None:
            save_run_requests(connection, run[0], requests)


def save_numbers(tables: Mapping[str, Sequence[Metric]], runs: Mapping[str, str]) -> None:
    """Store all rows and finish their runs in one transaction, so that no reader sees two cohorts mixed.

    Args:
        tables: model -> its rows.
        runs: model -> run_id, of those models at least.
    """
    with Warehouse.open().write() as connection:
        for model, metrics in tables.items():
            frame = pl.DataFrame([m._asdict() for m in metrics], infer_schema_length=None)
            save_metrics(connection, runs[model], frame.with_columns(model=pl.lit(model)))
            finish_run(connection, runs[model])


@contextmanager
def cohort(config_hash: str, scored: Sequence[Run]) -> Iterator[dict[str, str]]:
    """model -> run_id of all models with answers under a configuration: just scored, or finished before.

    Holds a lock, because numbers that compare models must not be made by two flows that leave each other
    out, and keeps numpy to one thread.
    """
    warehouse = Warehouse.open()
    with FileLock(warehouse.home / "locks" / f"metrics-{config_hash}.lock"), threadpool_limits(1):
        finished = dict(warehouse.query(COHORT, [config_hash]).rows())
        yield dict(sorted((finished | {model: run for run, model in scored}).items()))


def show_leaderboard(evaluation: str, config_hash: str, table: pl.DataFrame) -> None:
    """Attach the leaderboard to the flow run, for the Prefect UI."""
    create_table_artifact(
        key=f"leaderboard-{evaluation}",
        table=[
            {k: round(v, 4) if isinstance(v, float) else v for k, v in row.items()}
            for row in table.to_dicts()
        ],
        description=f"leaderboard_{evaluation}, configuration {config_hash}",
    )
