"""Commands and functions that only read create nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

import culturemeter as cs
from deployments.cli.app import app
from tasks.engines import presence
from tasks.engines.protocols import EngineError
from tasks.engines.specs import EngineSpec
from tasks.evaluations.settings import compared, settings
from tasks.evaluations.spectral.params import SpectralParams
from tasks.identity import choose_codes
from tests.conftest import command, environment
from tests.deployments.commands import call
from warehouse import Warehouse, WarehouseError

SMALL = "--profile smoke --countries BR,DE,JP --domains currency --half-samples 20 --no-server"
READERS = [
    *("sql 1", "leaderboard", "leaderboard cure", "report", "report --all", "compare a b", "drift"),
    "ranking",
    *("runs", "runs show a", "runs rm a", "browse", "export inspect", "check", "prune", "models list"),
    *("people status", "pack list", "judge audit --out x.csv"),
]


@pytest.mark.parametrize("line", READERS)
def test_reading_command_creates_no_warehouse(line: str, tmp_path: Path) -> None:
    home = tmp_path / "typo"
    env = {**os.environ, "CULTUREMETER_HOME": str(home)}
    done = CliRunner().invoke(app, line.split(), env=env)
    if "list" not in line and "status" not in line:
        assert done.exit_code == 1, done.output
        assert "there is no warehouse at" in done.stderr
        assert done.stderr.count("\n") == 1
    assert not home.exists()


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("loop", "leaderboard"),
        ("loop", "run spectral --profile smoke --dry-run"),
        ("~nobody-of-this-name/x", "browse spectral"),
    ],
)
def test_home_that_cannot_be_resolved_is_one_error(name: str, line: str, tmp_path: Path) -> None:
    """In a new process, since command modules read the names of packs in the home when they are imported."""
    (tmp_path / "loop").symlink_to("loop")
    home = name if name.startswith("~") else str(tmp_path / name)
    done = subprocess.run(
        command(*line.split()), capture_output=True, text=True,
        env={**os.environ, "CULTUREMETER_HOME": home},
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1), done.stderr
    assert done.stderr.startswith("error: CULTUREMETER_HOME=")


def test_connect_refuses_a_folder_without_a_warehouse(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CULTUREMETER_HOME", str(tmp_path / "usual"))
    with pytest.raises(WarehouseError, match="there is no warehouse at"):
        cs.connect(tmp_path / "nonexistent")
    with pytest.raises(WarehouseError, match="there is no warehouse at"):
        cs.sql("SELECT 1")
    assert list(tmp_path.iterdir()) == []
    assert os.environ["CULTUREMETER_HOME"] == str(tmp_path / "usual")


def test_command_line_only_options_are_refused_in_python() -> None:
    with pytest.raises(ValueError, match="replicas exists on the command line only"):
        cs.run("spectral", replicas=2)


def test_dry_run_from_python_returns_the_plan_and_stores_nothing(warehouse: Warehouse) -> None:
    options: dict[str, Any] = {"models": ["fake-a"], "judges": ["fake-b"], "profile": "smoke"}
    plan = cs.run("cure", **options, dry_run=True)
    mine = plan.row(0, named=True)
    assert [mine[name] for name in ("who", "role", "unit")] == ["fake-a", "candidate", "completions"]
    assert mine["left"] == mine["n"] > 0
    later = plan.filter(pl.col("n").is_null())
    assert later["role"].to_list() == ["judge"]
    assert later["left"].item() > 0
    assert warehouse.query("FROM run").is_empty()
    cs.run("cure", **options)
    assert cs.run("cure", **options, dry_run=True)["left"].sum() == 0


def test_dry_run_reports_missing_models_keys_and_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    def doubt(model: str, kind: str = "packed_trie") -> str | None:
        return presence.doubt(EngineSpec(name="m", kind=kind, model=model))  # type: ignore[arg-type]

    assert "is not on this machine" in (doubt("nobody/nothing-at-all") or "")
    assert "OPENAI_API_KEY is not set" in (doubt("gpt-5", "openai") or "")
    assert doubt("embedded:smollm2-135m") is None
    (tmp_path / "config.json").write_text('{"a": 1}')
    with pytest.raises(EngineError, match="names neither model_type nor architectures"):
        doubt(str(tmp_path))
    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    with pytest.raises(EngineError, match="there are no weights"):
        doubt(str(tmp_path))
    (tmp_path / "model.safetensors").touch()
    with pytest.raises(EngineError, match="is empty: get it again"):
        doubt(str(tmp_path))


def test_country_names_in_other_languages_are_known() -> None:
    names = {"FR": "France", "DE": "Germany", "JP": "Japan", "MX": "Mexico"}
    chosen = ["Frankreich", "Deutschland", "日本", "Mexique"]
    assert choose_codes("country", chosen, names) == ["DE", "FR", "JP", "MX"]
    with pytest.raises(ValueError, match="there is no country 'Narnia'"):
        choose_codes("country", ["Narnia"], names)


BOARD = """
import contextlib, io, json, sys
from deployments.cli.app import app
printed = io.StringIO()
with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
    app(["leaderboard"])
modules = sorted(sys.modules)
from deployments.show import settings
from warehouse import Warehouse
table = settings.stored(Warehouse.existing(), "spectral", sys.argv[1])
print(json.dumps([printed.getvalue(), table, modules]))
"""


def test_leaderboard_imports_no_evaluation(warehouse: Warehouse) -> None:
    """The settings shown beside the paper's are read from the run."""
    call("run", "spectral", *SMALL.split(), "-m", "fake-a")
    ((key, stored),) = warehouse.query("SELECT config_hash, params FROM run WHERE NOT is_null").rows()
    done = subprocess.run(
        [sys.executable, "-c", BOARD, key], env=environment(warehouse.home, None), capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    printed, table, modules = json.loads(done.stdout)
    assert "fake-a" in printed
    needless = {"prefect", "scipy", "statsmodels", "matplotlib", "tasks.evaluations.contract"}
    needless |= {"polars.dataframe", "pyarrow", "numpy"}
    assert needless.isdisjoint(modules)
    params = SpectralParams(**{"models": ["fake-a"], **json.loads(stored)})
    assert [tuple(row) for row in compared(settings("spectral"), params, profile="smoke")] == [
        tuple(tuple(cell) if isinstance(cell, list) else cell for cell in row) for row in table
    ]
