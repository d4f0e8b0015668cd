"""The command line's quick commands, in this process."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from deployments import profiles
from deployments.cli import app
from tasks.evaluations.spectral.params import SpectralParams

runner = CliRunner()


@pytest.fixture(autouse=True)
def own_home(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CULTURESCOPE_HOME", str(home))
    return home


@pytest.mark.parametrize(
    "command", ["", "ingest", "check", "sql", "report", "serve", "run spectral", "models prepare"]
)
def test_every_command_explains_itself_with_an_example(command: str) -> None:
    result = runner.invoke(app, [*command.split(), "--help"])
    assert result.exit_code == 0
    assert not command or "culturescope " + command in " ".join(result.output.split())


def test_ingest_loads_the_shipped_reference_data() -> None:
    result = runner.invoke(app, ["ingest"])
    assert result.exit_code == 0
    assert "dishes" in result.stdout
    assert "integrity checks" in result.stderr


def test_sql_writes_csv_and_json() -> None:
    query = "SELECT country, name FROM country WHERE country IN ('FR', 'JP') ORDER BY country"
    as_csv = runner.invoke(app, ["sql", query, "--format", "csv"])
    assert as_csv.stdout == "country,name\nFR,France\nJP,Japan\n"
    as_json = runner.invoke(app, ["sql", "-", "--format", "json"], input=query)
    assert json.loads(as_json.stdout) == [
        {"country": "FR", "name": "France"},
        {"country": "JP", "name": "Japan"},
    ]
    infinite = runner.invoke(app, ["sql", "SELECT 'infinity'::DOUBLE AS sr", "--format", "json"])
    assert json.loads(infinite.stdout) == [{"sr": "inf"}]


@pytest.mark.parametrize("query", ["SELEC 1", "SELECT * FROM nowhere", "DROP TABLE country"])
def test_a_wrong_query_is_one_clear_error(query: str) -> None:
    result = runner.invoke(app, ["sql", query])
    assert result.exit_code == 1
    assert "error" in result.stderr
    assert "Traceback" not in result.output


def test_commands_before_any_run_say_which_one_to_start() -> None:
    for command in (["leaderboard", "spectral"], ["report"]):
        result = runner.invoke(app, command)
        assert result.exit_code == 1
        assert "culturescope run spectral" in " ".join(result.stderr.split())


def test_models_list_names_the_embedded_ones() -> None:
    result = runner.invoke(app, ["models", "list", "--format", "json"])
    names = {row["name"] for row in json.loads(result.stdout)}
    assert {"smollm2-135m", "gemma3-270m", "fake-a"} <= names


@pytest.mark.parametrize("name", profiles.names())
def test_profiles_are_valid(name: str) -> None:
    params = SpectralParams(models=["m"], **profiles.load(name, "spectral"))
    assert params.profile == name
