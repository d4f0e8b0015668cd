"""``culturescope doctor``: what people send with a bug report."""

from __future__ import annotations

import getpass
import json
import socket
from pathlib import Path

import pytest
from typer.testing import CliRunner

from deployments.cli import models as cli_models
from deployments.cli.app import app
from warehouse.store import store_at

runner = CliRunner()


def rows(*arguments: str) -> dict[str, str]:
    result = runner.invoke(app, ["doctor", *arguments, "--format", "json"])
    assert result.exit_code == 0, result.output
    return {row["what"]: row["here"] for row in json.loads(result.stdout)}


def test_it_says_what_is_there_and_what_will_be_used(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CULTURESCOPE_HOME", str(home))
    monkeypatch.setenv("CULTURESCOPE_ENGINE_MEMORY", "3")
    said = rows("--no-measure")
    assert said["for engines"] == "3.0 GiB"
    assert said["device"].split(", ")[0] in ("cpu", "cuda:0")
    assert "culturescope " in said["versions"]
    assert "torch " in said["versions"]
    assert "rate" not in said
    for private in (socket.gethostname(), getpass.getuser() + "@"):
        assert private not in json.dumps(said)


def test_it_says_which_home_and_warehouse_are_used(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CULTURESCOPE_HOME", str(home))
    monkeypatch.delenv("CULTURESCOPE_WAREHOUSE", raising=False)
    said = rows("--no-measure")
    assert said["home"] == f"{home} (CULTURESCOPE_HOME)"
    file = f"{home}/culturescope.duckdb"
    assert said["warehouse"] == f"{file} (CULTURESCOPE_WAREHOUSE is not set)"
    monkeypatch.setenv("HOME", str(home.parent))  # users' names are in paths
    assert rows("--no-measure")["home"] == f"~/{home.name} (CULTURESCOPE_HOME)"


@pytest.mark.parametrize(
    "secret", ["lab:open-sesame@db.example:5433/culture", "lab@db.example:5433/culture?password=open-sesame"]
)
def test_a_shared_warehouse_is_named_without_its_password(
    secret: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("psycopg", reason="the extra `shared` is not installed")
    monkeypatch.setenv("CULTURESCOPE_WAREHOUSE", f"postgresql://{secret}")
    monkeypatch.setenv("CULTURESCOPE_PARTS", "s3://lab/culture")
    said = cli_models.places(store_at(home))
    address = "postgresql://lab@db.example:5433/culture with s3://lab/culture"
    assert said["warehouse"] == f"{address} (CULTURESCOPE_WAREHOUSE)"
    assert said["kept here"].startswith("0 files, ")


def test_every_wrong_setting_is_reported(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CULTURESCOPE_HOME", str(home))
    monkeypatch.setenv("CULTURESCOPE_ENGINE_MEMORY", "lots")
    assert "give the GiB" in rows("--no-measure")["for engines"]


@pytest.mark.heavy
@pytest.mark.slow
def test_the_rate_is_measured(
    home: Path, models_cache: Path, smollm2_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CULTURESCOPE_HOME", str(home))
    (home / "models").symlink_to(models_cache)
    monkeypatch.setattr(cli_models, "SECONDS", 1.0)
    said = rows()
    assert " items/s: " in said["rate"]
    assert "of plain matrix products" in said["speed"]
