"""Rows, runs, parts and processes that tests of the warehouse make."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import wraps
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from warehouse import Run, Warehouse, part_path, register_parts, write_part

REPOSITORY = Path(__file__).parents[2]
KIND = "item_logprob"


def logprobs(
    countries: str = "FR IT", request: str = "q1", run_id: str = "r1", base: float = -1.0
) -> pl.DataFrame:
    """Return rows of an item_logprob part: two items for each of `countries`."""
    codes = countries.split()
    return pl.DataFrame(
        {
            "request_hash": request,
            "run_id": run_id,
            "model": "m",
            "domain": "currency",
            "question": "currency-1",
            "country": [code for code in codes for _ in range(2)],
            "item": ["euro", "yen"] * len(codes),
            "logprob": [base, base - 1] * len(codes),
            "n_tokens": [1, 2] * len(codes),
        }
    )


def metrics(
    metric: str = "macro_f1",
    value: float | None = 0.5,
    slice_kind: str = "overall",
    slice_: str = "all",
    **more: object,
) -> pl.DataFrame:
    """Return one metric row, or with `value=None` an unscored one."""
    reason = None if value is not None else "no answer"
    cells = {"model": "m", "metric": metric, "slice_kind": slice_kind, "slice": slice_, "value": value}
    cells |= {"unscored_reason": reason, "n_scored": 27, "n_unscored": 0}
    cells |= {"ci_low": None, "ci_high": None, "null_value": None}
    types = dict.fromkeys(("value", "ci_low", "ci_high", "null_value"), pl.Float64)
    return pl.DataFrame([cells | more], schema_overrides=types | {"unscored_reason": pl.String})


def make_run(run_id: str = "r1", model: str = "m", config_hash: str = "c", is_null: bool = False) -> Run:
    """Return a spectral run of a model under a configuration."""
    return Run(
        run_id=run_id,
        evaluation="spectral",
        model=model,
        is_null=is_null,
        profile="test",
        config_hash=config_hash,
        engine_hash="e",
        model_hash=model,
        params={"seed": 1},
        engine={"kind": "fake"},
        item_lists={"currencies": "0" * 16},
        boundary_rule="b",
        code_version="v",
    )


def store_part(
    warehouse: Warehouse, frame: pl.DataFrame, name: str = "p", kind: str = KIND, *, replace: bool = False
) -> Path:
    """Write a part of a local warehouse and register it in a write; returns its file."""
    units = write_part(warehouse.home, kind, name, frame)
    with warehouse.write() as connection:
        register_parts(connection, [units], replace=replace)
    return part_path(warehouse.home, kind, units["part"][0])


@contextmanager
def one_write(warehouse: Warehouse) -> Iterator[None]:
    """Make one of all writes within the block: many that follow one another take seconds."""
    with warehouse.write() as connection, pytest.MonkeyPatch.context() as patch:
        patch.setattr(Warehouse, "write", lambda _: nullcontext(connection))
        yield


def in_one_write(store: Callable[..., None]) -> Callable[..., None]:
    """Decorate a function that fills the warehouse that it is given, so that it writes once."""

    @wraps(store)
    def stored(warehouse: Warehouse, *more: Any, **named: Any) -> None:
        with one_write(warehouse):
            store(warehouse, *more, **named)

    return stored


def start_python(code: str, home: Path) -> subprocess.Popen[str]:
    """Start another Python process on the code given, with the home as sys.argv[1]."""
    return subprocess.Popen(
        [sys.executable, "-c", code, str(home)],
        env=os.environ | {"PYTHONPATH": str(REPOSITORY)},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def await_line(process: subprocess.Popen[str], line: str) -> None:
    """Wait for the next line that a process prints, and assert that it is this line."""
    assert process.stdout is not None
    assert process.stdout.readline() == f"{line}\n"


def start_to(code: str, home: Path, line: str) -> subprocess.Popen[str]:
    """Start another Python process and wait until it prints a line."""
    process = start_python(code, home)
    await_line(process, line)
    return process
