"""What the steps of all evaluations share: parts, models and runs, between Prefect and the warehouse."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
from prefect import get_run_logger, task
from prefect.cache_policies import NO_CACHE

from tasks.engines.specs import EngineSpec, load_spec
from warehouse import (
    CorruptPart,
    Warehouse,
    adopt_parts,
    register_parts,
    registration,
    verify_parts,
    write_part,
)

Run = tuple[str, str]
"""(run_id, model)"""


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


def set_corrupt_aside(error: CorruptPart) -> None:
    """Unregister every unreadable part, so that the next run scores it again.

    Raises:
        CorruptPart: always; says what to do.
    """
    lost = verify_parts(Warehouse.open())
    parts = ", ".join(f"{kind}/{part}" for kind, part, *_ in lost.rows())
    raise CorruptPart(
        f"{error}\nSet aside: {parts}. Run the same command again: only these are scored anew."
    ) from error
