"""``culturemeter doctor``: what people send with a bug report."""

from __future__ import annotations

import getpass
import json
import socket
from pathlib import Path

import pytest

from deployments.cli import models as cli_models
from tests.deployments.commands import table
from warehouse.store import store_at


@pytest.fixture(autouse=True)
def own_home(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CULTUREMETER_HOME", str(home))


def rows(*arguments: str) -> dict[str, str]:
    return {row["what"]: row["here"] for row in table("doctor", *arguments)}


def test_doctor_reports_memory_device_and_versions_and_nothing_private(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CULTUREMETER_ENGINE_MEMORY", "3")
    report = rows("--no-measure")
    assert report["for engines"] == "3.0 GiB"
    assert report["device"].split(", ")[0] in ("cpu", "cuda:0")
    assert "culturemeter " in report["versions"]
    assert "torch " in report["versions"]
    assert "rate" not in report
    for private in (socket.gethostname(), getpass.getuser() + "@"):
        assert private not in json.dumps(report)


def test_doctor_names_home_and_warehouse_and_their_variables(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CULTUREMETER_WAREHOUSE", raising=False)
    report = rows("--no-measure")
    assert report["home"] == f"{home} (CULTUREMETER_HOME)"
    file = f"{home}/culturemeter.duckdb"
    assert report["warehouse"] == f"{file} (CULTUREMETER_WAREHOUSE is not set)"
    monkeypatch.setenv("HOME", str(home.parent))  # users' names are in paths
    assert rows("--no-measure")["home"] == f"~/{home.name} (CULTUREMETER_HOME)"


@pytest.mark.parametrize(
    "secret", ["lab:open-sesame@db.example:5433/culture", "lab@db.example:5433/culture?password=open-sesame"]
)
def test_shared_warehouse_is_shown_without_its_password(
    secret: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("psycopg", reason="the extra `shared` is not installed")
    monkeypatch.setenv("CULTUREMETER_WAREHOUSE", f"postgresql://{secret}")
    monkeypatch.setenv("CULTUREMETER_PARTS", "s3://lab/culture")
    places = cli_models.places(store_at(home))
    address = "postgresql://lab@db.example:5433/culture with s3://lab/culture"
    assert places["warehouse"] == f"{address} (CULTUREMETER_WAREHOUSE)"
    assert places["kept here"].startswith("0 files, ")


def test_doctor_reports_a_wrong_setting_in_place_of_failing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CULTUREMETER_ENGINE_MEMORY", "lots")
    assert "give the GiB" in rows("--no-measure")["for engines"]


@pytest.mark.heavy
@pytest.mark.slow
def test_doctor_reports_a_home_that_cannot_be_written_to(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: object) -> None:
        raise OSError(30, "Read-only file system", "models")

    monkeypatch.setattr(cli_models, "measured", refuse)
    report = rows()
    assert "Read-only file system" in report["rate"]
    assert report["writes with"]


def test_doctor_measures_the_scoring_rate(
    home: Path, models_cache: Path, smollm2_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "models").symlink_to(models_cache)
    monkeypatch.setattr(cli_models, "SECONDS", 1.0)
    report = rows()
    assert " items/s: " in report["rate"]
    assert report["speed"]
