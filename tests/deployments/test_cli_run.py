"""``culturescope run`` without Prefect, on fake models: options, plan, occasions, leaderboard."""

from __future__ import annotations

import csv
import io
import json
import re
import signal
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from deployments.cli import run as cli_run
from deployments.cli.app import app
from deployments.serve.server import ServerError
from tests.conftest import command, environment
from tests.waiting import LONGEST_WAIT_S, until
from warehouse import Warehouse

runner = CliRunner()
SMALL = ("--profile", "smoke", "--countries", "BR,DE,JP", "--max-items", "6", "--half-samples", "20")


def run(*arguments: str, check: bool = True) -> Result:
    result = runner.invoke(app, ["run", "spectral", "--no-server", *arguments], env={"COLUMNS": "160"})
    assert not check or result.exit_code == 0, result.output
    return result


def said(result: Result) -> str:
    return " ".join(result.stderr.replace("│", " ").split())


def n_parts(warehouse: Warehouse) -> int:
    return int(warehouse.query("SELECT count(DISTINCT part) AS n FROM part_unit")["n"][0])


@pytest.fixture(autouse=True)
def no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing here may start one."""

    def connect(*arguments: object, **named: object) -> str:
        raise AssertionError("a Prefect server was started")

    monkeypatch.setattr(cli_run, "connect", connect)


def test_a_dry_run_shows_the_plan_and_asks_nothing(warehouse: Warehouse) -> None:
    text = said(run("-m", "fake-a", *SMALL, "--dry-run"))
    assert "spectral, profile smoke, config " in text
    assert "3 countries, 9 questions" in text
    assert "fake-a fake 162 of 162 log-probabilities unknown none" in text
    assert "probe" not in text
    assert n_parts(warehouse) == 0


def test_a_dry_run_tries_an_engine_out_if_asked_to(warehouse: Warehouse) -> None:
    text = said(run("-m", "fake-a", *SMALL, "--dry-run", "--probe"))
    assert re.search(r"probe: fake-a [\d,]+ log-probabilities/s, about 0 s", text)
    assert n_parts(warehouse) == 0


@pytest.mark.heavy
def test_a_run_is_planned_once_and_leaves_nothing_to_do(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    from flows import session

    prepared: list[object] = []
    prepare = session.prepare
    monkeypatch.setattr(session, "prepare", lambda *a: prepared.append(a) or prepare(*a))
    first = said(run("-m", "fake-a,fake-b", *SMALL))
    assert len(prepared) == 1
    assert "probe: fake-b " in first
    assert "fake-a 162/162 in " in first
    assert "culturescope leaderboard spectral" in first
    assert n_parts(warehouse) > 0

    again = said(run("-m", "fake-a", "-m", "fake-b", *SMALL))
    assert "0 of 162 log-probabilities – none" in again
    assert again.endswith("nothing to do")
    third = said(run("-m", "fake-a", *SMALL, "--countries", "FR", "--dry-run", "--probe"))
    assert "probe" not in third  # its speed was measured


@pytest.mark.heavy
def test_again_asks_on_an_occasion_of_its_own(warehouse: Warehouse) -> None:
    run("-m", "fake-a", *SMALL)
    before = n_parts(warehouse)
    text = said(run("-m", "fake-a", *SMALL, "--again"))
    assert re.search(r"occasion 20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ ", text)
    assert "162 of 162" in text
    assert n_parts(warehouse) > before
    text = said(run("-m", "fake-a", *SMALL, "--occasion", "{week}", "--dry-run"))
    assert re.search(r"occasion 20\d\d-w\d\d ", text)
    both = said(run("-m", "fake-a", *SMALL, "--again", "--occasion", "x", check=False))
    assert both == "error: --again names the occasion itself: leave --occasion out"
    unknown = said(run("-m", "fake-a", *SMALL, "--occasion", "{month}", check=False))
    assert unknown.startswith("error: occasion '{month}': ")
    occasions = warehouse.query("SELECT DISTINCT occasion FROM run WHERE NOT is_null")["occasion"].to_list()
    assert len(occasions) == 2


def test_options_go_before_the_profile_and_it_before_the_defaults(warehouse: Warehouse) -> None:
    run("-m", "fake-a", *SMALL, "--normalisation", "per_byte")
    (stored,) = warehouse.query("SELECT DISTINCT params FROM run WHERE NOT is_null")["params"].to_list()
    params = json.loads(stored)
    assert params["countries"] == ["BR", "DE", "JP"]  # the option; the profile has ten
    assert params["variants"] == [1]  # the profile; by default three
    assert params["normalisation"] == "per_byte"
    assert (params["seed"], params["profile"]) == (0, "smoke")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--profile", "huge"), "error: --profile: there is no 'huge' of spectral; choose one of smoke,"),
        (("--max-items", "1"), "error: --max-items: expected at least 2, not '1'"),
        (("--dtype", "int8"), "error: --dtype: expected 'auto', 'float32', 'bfloat16' or 'float16', "
         "not 'int8'"),
        (("-m", "no-such-model"), "error: there is no model 'no-such-model'"),
        (("--countries", "Frence"), "France"),
    ],
)  # fmt: skip
def test_wrong_options_are_one_line(warehouse: Warehouse, arguments: tuple[str, ...], message: str) -> None:
    result = run(*arguments, check=False)
    assert result.exit_code == 1
    assert message in said(result)
    assert isinstance(result.exception, SystemExit)
    assert warehouse.query("SELECT count(*) AS n FROM run")["n"][0] == 0


def test_a_model_that_cannot_do_it_is_refused_before_anything_is_asked(
    warehouse: Warehouse, home: Path
) -> None:
    (home / "engines" / "served.toml").write_text(
        'kind = "openai"\nmodel = "b"\nbase_url = "http://127.0.0.1:9/v1"\n'
    )
    for more in ((), ("-m", "fake-a")):
        result = run("-m", "served", *more, *SMALL, "--dry-run", check=False)
        assert result.exit_code == 1
        assert said(result).count("a server gives no log-probabilities of given texts") == 1
    result = run("-m", "served", "-m", "fake-a", *SMALL, check=False)
    assert result.exit_code == 1
    board = warehouse.query("SELECT model FROM leaderboard_spectral WHERE NOT is_null")["model"].to_list()
    assert board == ["fake-a"]


@pytest.mark.heavy
def test_the_leaderboard_is_in_the_order_of_its_view(warehouse: Warehouse) -> None:
    run("-m", "fake-a", "-m", "fake-b", *SMALL)
    run("-m", "fake-a", *SMALL, "--countries", "FR,US")
    finished = "SELECT config_hash FROM run WHERE NOT is_null GROUP BY ALL ORDER BY max(finished_at)"
    old, new = warehouse.query(finished)["config_hash"].to_list()
    largest = runner.invoke(app, ["leaderboard", "--format", "csv"])
    rows = list(csv.DictReader(io.StringIO(largest.stdout)))
    assert {row["config_hash"] for row in rows} == {old}
    chosen = runner.invoke(app, ["leaderboard", "spectral", "--config", new[:6], "--format", "json"])
    places = [row["place"] for row in json.loads(chosen.stdout)]
    assert places == sorted(places)
    table = runner.invoke(app, ["leaderboard", "spectral"], env={"COLUMNS": "80"})
    assert max(map(len, table.stdout.splitlines())) <= 80
    assert "more columns with --wide" in table.stderr
    assert "F1 LL" in runner.invoke(app, ["leaderboard", "spectral", "--wide"]).stdout
    unknown = runner.invoke(app, ["leaderboard", "spectral", "--config", "zzz"])
    assert unknown.exit_code == 1
    assert f"no finished run of spectral has the configuration 'zzz'; known: {old}, {new}" in said(unknown)


@pytest.mark.heavy
def test_two_models_of_one_name_stand_beside_each_other(warehouse: Warehouse, home: Path) -> None:
    specs = []
    for folder, revision in (("one", "v1"), ("two", "v2")):
        (home / folder).mkdir()
        specs.append(home / folder / "model.toml")
        specs[-1].write_text(f'kind = "fake"\nname = "twin"\nmodel = "{folder}"\nrevision = "{revision}"\n')
    run("-m", str(specs[0]), *SMALL)
    first = warehouse.query("SELECT * FROM leaderboard_spectral WHERE NOT is_null")
    run("-m", str(specs[1]), "-m", str(specs[0]), *SMALL)
    board = warehouse.query("SELECT * FROM leaderboard_spectral WHERE NOT is_null ORDER BY model")
    assert board["model"][0] == "twin"
    assert re.fullmatch(r"twin#[0-9a-f]{4}", board["model"][1])
    assert board.filter(model="twin").drop("place").equals(first.drop("place"))  # the second changed nothing
    assert warehouse.query("SELECT count(DISTINCT engine_hash) AS n FROM run WHERE NOT is_null")["n"][0] == 2
    shown = runner.invoke(app, ["leaderboard", "spectral"], env={"COLUMNS": "80"}).stdout
    assert re.search(r"│ twin v1 +│", shown)
    assert re.search(r"│ twin#[0-9a-f]{4} v2 +│", shown)
    rows = csv.DictReader(io.StringIO(runner.invoke(app, ["leaderboard", "--format", "csv"]).stdout))
    assert {row["revision"] for row in rows} == {"v1", "v2", ""}


def test_where_there_is_no_server_it_offers_to_do_without(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    def connect(home: Path, otherwise: str) -> str:
        raise ServerError(f"the Prefect server ended with code 1. {otherwise}")

    monkeypatch.setattr(cli_run, "connect", connect)
    result = runner.invoke(app, ["run", "spectral", "-m", "fake-a", "--no-probe", *SMALL])
    assert result.exit_code == 1
    assert said(result).endswith("code 1. Run again with --no-server to do without Prefect.")
    assert n_parts(warehouse) == 0


@pytest.mark.heavy
@pytest.mark.slow
def test_ctrl_c_says_how_to_resume(home: Path) -> None:
    arguments = ("run", "spectral", "-m", "slow", *SMALL, "--no-server", "--no-probe", "--again")
    process = subprocess.Popen(
        command(*arguments), env=environment(home, None), stderr=subprocess.PIPE, text=True
    )
    parts = home / "parts" / "item_logprob"
    until(lambda: list(parts.glob("[!_]*.parquet")), process)
    process.send_signal(signal.SIGINT)
    _, text = process.communicate(timeout=LONGEST_WAIT_S)
    assert process.returncode == 130
    assert "Traceback" not in text
    last = text.splitlines()[-1]
    occasion = re.fullmatch(
        r"interrupted: run again to resume, with --occasion (\S+Z) in place of --again", last
    )
    assert occasion, text
    before = {path.name for path in parts.glob("[!_]*.parquet")}
    resumed = subprocess.run(
        command(*arguments[:-1], "--occasion", occasion[1]), env=environment(home, None), check=True,
    )  # fmt: skip
    assert resumed.returncode == 0
    assert before <= {path.name for path in parts.glob("[!_]*.parquet")}
    assert Warehouse.open(home).query("SELECT count(*) AS n FROM item_logprob")["n"][0] == 162
