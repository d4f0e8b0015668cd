"""Who reads makes nothing; and one configuration is shown unless another is named."""

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

import culturescope as cs
from deployments.cli.app import app
from deployments.cli.which import of_hash
from deployments.show.configurations import shown_configuration
from tasks.engines import presence
from tasks.engines.protocols import EngineError
from tasks.engines.specs import EngineSpec
from tasks.evaluations.settings import compared, settings
from tasks.evaluations.spectral.params import SpectralParams
from tasks.identity import choose_codes
from tests.conftest import environment
from warehouse import Warehouse, WarehouseError

SMALL = "--profile smoke --countries BR,DE,JP --domains currency --half-samples 20 --no-server"
READERS = [
    *("sql 1", "leaderboard", "leaderboard cure", "report", "report --all", "compare a b", "drift"),
    "ranking",
    *("runs", "runs show a", "runs rm a", "browse", "export inspect", "check", "prune", "models list"),
    *("people status", "pack list", "judge audit --out x.csv"),
]


@pytest.mark.parametrize("line", READERS)
def test_a_reader_makes_no_warehouse(line: str, tmp_path: Path) -> None:
    home = tmp_path / "typo"
    env = {**os.environ, "CULTURESCOPE_HOME": str(home)}
    done = CliRunner().invoke(app, line.split(), env=env)
    if "list" not in line and "status" not in line:
        assert done.exit_code == 1, done.output
        assert "there is no warehouse at" in done.stderr
        assert done.stderr.count("\n") == 1
    assert not home.exists()


@pytest.mark.parametrize("name", ["loop", "~nobody-of-this-name/x"])
def test_a_home_that_leads_nowhere_is_one_line(name: str, tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    env = {**os.environ, "CULTURESCOPE_HOME": name if name.startswith("~") else str(tmp_path / name)}
    done = CliRunner().invoke(app, ["leaderboard"], env=env)
    assert (done.exit_code, done.stderr.count("\n")) == (1, 1), done.output
    assert "error: " in done.stderr


def test_connect_creates_a_warehouse_only_with_create(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CULTURESCOPE_HOME", str(tmp_path / "usual"))
    with pytest.raises(WarehouseError, match="there is no warehouse at"):
        cs.connect(tmp_path / "nonexistent")
    with pytest.raises(WarehouseError, match="there is no warehouse at"):
        cs.sql("SELECT 1")
    assert list(tmp_path.iterdir()) == []
    assert os.environ["CULTURESCOPE_HOME"] == str(tmp_path / "usual")


def test_options_of_the_shell_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match="replicas exists on the command line only"):
        cs.run("spectral", replicas=2)


def test_a_dry_run_from_python_returns_the_plan_and_runs_nothing(warehouse: Warehouse) -> None:
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


def test_a_smaller_run_hides_nothing_and_a_beginning_names_a_configuration(warehouse: Warehouse) -> None:
    for more in (["-m", "fake-a", "-m", "fake-b"], ["-m", "fake-a", "--countries", "FR,US"]):
        done = CliRunner().invoke(app, ["run", "spectral", *SMALL.split(), *more])
        assert done.exit_code == 0, done.output
    order = "SELECT config_hash FROM run WHERE NOT is_null GROUP BY ALL ORDER BY max(finished_at)"
    large, small = warehouse.query(order)["config_hash"].to_list()
    assert shown_configuration(warehouse, "spectral", None, None) == large
    assert shown_configuration(warehouse, "spectral", "smoke", None) == large
    assert shown_configuration(warehouse, "spectral", None, small[:6]) == small
    assert of_hash(warehouse, small[:6]) == ("spectral", small)
    for wrong in ("zz", ""):
        with pytest.raises(WarehouseError):
            of_hash(warehouse, wrong)
    board = CliRunner().invoke(app, ["leaderboard", "--config", small[:6]])
    assert f"config {small}" in board.stdout
    compared = CliRunner().invoke(app, ["compare", "fake-a", "fake-b", "--config", "zz"])
    assert "no finished run has the configuration 'zz'" in compared.stderr


def test_a_dry_run_doubts_what_is_not_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    assert "there are no weights" in (doubt(str(tmp_path)) or "")
    (tmp_path / "model.safetensors").touch()
    assert doubt(str(tmp_path)) is None


def test_countries_are_known_by_their_names_in_other_languages() -> None:
    names = {"FR": "France", "DE": "Germany", "JP": "Japan", "MX": "Mexico"}
    given = ["Frankreich", "Deutschland", "日本", "Mexique"]
    assert choose_codes("country", given, names) == ["DE", "FR", "JP", "MX"]
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


def test_a_leaderboard_imports_no_evaluation(warehouse: Warehouse) -> None:
    """The settings that stand beside the paper's are those that the run stored."""
    done = CliRunner().invoke(app, ["run", "spectral", *SMALL.split(), "-m", "fake-a"])
    assert done.exit_code == 0, done.output
    ((key, stored),) = warehouse.query("SELECT config_hash, params FROM run WHERE NOT is_null").rows()
    said = subprocess.run(
        [sys.executable, "-c", BOARD, key], env=environment(warehouse.home, None), capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    printed, table, modules = json.loads(said.stdout)
    assert "fake-a" in printed
    needless = {"prefect", "scipy", "statsmodels", "matplotlib", "tasks.evaluations.contract"}
    needless |= {"polars.dataframe", "pyarrow", "numpy"}
    assert needless.isdisjoint(modules)
    params = SpectralParams.stored({"models": ["fake-a"], **json.loads(stored)})
    assert [tuple(row) for row in compared(settings("spectral"), params, profile="smoke")] == [
        (*row[:-1], tuple(row[-1])) for row in table
    ]
