"""Merging another home: what is taken over, what stays, and that a repeated or killed merge is harmless."""

from __future__ import annotations

import os
import random
import shutil
import signal
import stat
import subprocess
from collections.abc import Callable, Iterator
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

from tests.warehouse.rows import logprobs, make_run, metrics, start_python
from warehouse import (
    Warehouse,
    WarehouseError,
    archive,
    finish_run,
    freeze_cohort,
    register_parts,
    run_checks,
    save_metrics,
    save_pack,
    save_ranking,
    save_run,
    save_run_requests,
    verify_parts,
    write_part,
)
from warehouse.local_store import LocalStore
from warehouse.merging import Merged, merge
from warehouse.people import save_study

KIND = "item_logprob"
TABLES = (
    "run", "run_request", "part_unit_base", "metric_value", "cohort", "item_list", "item", "user_rank",
    "pack", "pack_row", "study", "human_answer", "judge_validation", "evaluation_item", "recipe_metric",
)  # fmt: skip


@pytest.fixture
def homes(copied_home: Callable[[], Path]) -> Callable[[], Warehouse]:
    """A function that returns another new warehouse."""
    return lambda: Warehouse.open(copied_home())


def add_run(
    warehouse: Warehouse,
    model: str,
    *,
    requests: str = "",
    base: float = -1.0,
    cohort: tuple[str, ...] = (),
    status: Any = "finished",
    value: float = 0.5,
) -> str:
    """Store a run of a model with one answer to each request, and a frozen cohort; return its id."""
    run = f"run-{model}"
    names = (requests or f"request-{model}").split()
    parts = [
        write_part(
            warehouse.store, KIND, name, logprobs("FR IT", name, run, base).with_columns(model=pl.lit(model))
        )
        for name in names
    ]
    for part in parts:
        warehouse.register(part)
    with warehouse.write() as connection:
        save_run(connection, make_run(run, model))
        save_run_requests(
            connection, run, pl.DataFrame({"request_hash": names, "topic": "currency", "label": "1"})
        )
        if status == "finished":
            save_metrics(connection, run, metrics(value=value, model=model))
        if status != "running":
            finish_run(connection, run, status)
        if cohort:
            freeze_cohort(connection, "c", "first", cohort)
    return run


def state(warehouse: Warehouse) -> dict[str, list[Any]]:
    """Return the rows of all tables, without the times at which they came."""
    with warehouse.write():
        pass  # registrations in the log are folded
    rows = {}
    for table in TABLES:
        frame = warehouse.query(f'FROM "{table}"')
        kept = [n for n in frame.columns if n not in ("written_at", "added_at", "loaded_at", "pulled_at")]
        rows[table] = sorted(frame.select(kept).rows(), key=repr)
    return rows


def signs(home: Path) -> dict[str, str]:
    """Return the content of every file below a home."""
    return {str(p): sha256(p.read_bytes()).hexdigest() for p in sorted(home.rglob("*")) if p.is_file()}


def alone(evaluation: str) -> bool:
    return False


def test_runs_answers_and_numbers_of_two_homes_are_in_one(
    warehouse: Warehouse, homes: Callable[[], Warehouse]
) -> None:
    one, two = homes(), homes()
    add_run(one, "a", cohort=("run-a",))
    add_run(two, "b", cohort=("run-b",))
    before = signs(one.home)
    merged = merge(warehouse, one.store, alone)
    assert dict(merged.taken.select("what", "n_taken").rows()) == {"runs": 1, "answers": 2, "cohorts": 1}
    assert (merged.conflicts, merged.damaged, merged.n_waiting) == ((), (), 0)
    assert signs(one.home) == before
    merge(warehouse, two.store, alone)
    assert warehouse.query("SELECT run_id FROM run ORDER BY ALL")["run_id"].to_list() == ["run-a", "run-b"]
    assert warehouse.query("SELECT model, count(*) AS n FROM item_logprob GROUP BY ALL ORDER BY ALL").rows() == [
        ("a", 4), ("b", 4),
    ]  # fmt: skip
    assert warehouse.query("SELECT run_id, value FROM metric_value ORDER BY ALL").rows() == [
        ("run-a", 0.5), ("run-b", 0.5),
    ]  # fmt: skip
    assert warehouse.query("SELECT run_id FROM cohort").rows() == [("run-a",)]
    assert not verify_parts(warehouse).height
    assert (
        run_checks(warehouse)
        .filter(pl.col("n_violations") > 0, pl.col("check") != "metric_not_in_catalogue")
        .is_empty()
    )


def test_the_same_merge_again_changes_nothing(warehouse: Warehouse, homes: Callable[[], Warehouse]) -> None:
    other = homes()
    add_run(other, "a", cohort=("run-a",))
    merge(warehouse, other.store)
    before = signs(warehouse.home)
    again = merge(warehouse, other.store)
    assert again.taken["n_taken"].sum() == 0
    assert signs(warehouse.home) == before


def test_a_dry_run_says_what_a_merge_takes_and_changes_nothing(
    warehouse: Warehouse, homes: Callable[[], Warehouse]
) -> None:
    other = homes()
    add_run(other, "a", cohort=("run-a",))
    before = signs(warehouse.home)
    dry = merge(warehouse, other.store, is_dry=True)
    assert signs(warehouse.home) == before
    done = merge(warehouse, other.store)
    assert dry.taken.equals(done.taken)
    assert done.taken["n_taken"].sum() == 4
