"""A fresh warehouse for each test, and rows to put into it."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from warehouse import Run, Warehouse
from warehouse.copying import copy
from warehouse.local_store import LocalStore
from warehouse.store import store_at

REPOSITORY = Path(__file__).parents[2]

LogprobRows = Callable[..., pl.DataFrame]
StartPython = Callable[[str, Path], "subprocess.Popen[str]"]
MetricRows = Callable[..., pl.DataFrame]
MakeRun = Callable[..., Run]


@pytest.fixture
def warehouse(new_home: Path) -> Warehouse:
    """A warehouse of this test's own, with reference data and nothing else."""
    return Warehouse.open(new_home)


@pytest.fixture
def logprobs() -> LogprobRows:
    """Rows of an item_logprob part: two items for each of `countries`."""

    def rows(
        countries: str = "FR IT", request: str = "q1", run_id: str = "r1", base: float = -1.0
    ) -> pl.DataFrame:
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

    return rows


@pytest.fixture
def metrics() -> MetricRows:
    """One metric row, or with `value=None` an unscored one."""

    def row(
        metric: str = "macro_f1",
        value: float | None = 0.5,
        slice_kind: str = "overall",
        slice_: str = "all",
        **more: object,
    ) -> pl.DataFrame:
        cells = {
            "model": "m",
            "metric": metric,
            "slice_kind": slice_kind,
            "slice": slice_,
            "value": value,
            "unscored_reason": None if value is not None else "no answer",
            "n_scored": 27,
            "n_unscored": 0,
            "ci_low": None,
            "ci_high": None,
            "null_value": None,
        }
        types = dict.fromkeys(("value", "ci_low", "ci_high", "null_value"), pl.Float64)
        return pl.DataFrame([cells | more], schema_overrides=types | {"unscored_reason": pl.String})

    return row


@pytest.fixture
def make_run() -> MakeRun:
    """A spectral run of model m under configuration c."""

    def run(run_id: str = "r1", model: str = "m", config_hash: str = "c", is_null: bool = False) -> Run:
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

    return run


@pytest.fixture
def start_python() -> StartPython:
    """Start another Python process on the code given, with the home as sys.argv[1]."""

    def start(code: str, home: Path) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-c", code, str(home)],
            env=os.environ | {"PYTHONPATH": str(REPOSITORY)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return start


@pytest.fixture
def shared(
    blank: Path, tmp_path: Path, shared_environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> Warehouse:
    """A warehouse on a shared store of this test's own: what every `Warehouse.open` gives in this process."""
    for name, value in shared_environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("CULTURESCOPE_HOME", str(tmp_path / "machine"))
    copy(Warehouse(LocalStore(blank)), store_at())
    return Warehouse.open()
