"""``culturemeter run`` without Prefect, on fake models: options, plan, occasions, leaderboard."""

from __future__ import annotations

import csv
import io
import json
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from deployments.cli import run as cli_run
from deployments.serve.server import ServerError
from tests.conftest import command, environment
from tests.deployments.commands import call, one_line, refused, table
from tests.waiting import LONGEST_WAIT_S, until
from warehouse import Warehouse, run_checks

SMALL = ("--profile", "smoke", "--countries", "BR,DE,JP", "--max-items", "6", "--half-samples", "20")


def run(*arguments: str, code: int = 0) -> str:
    """Run spectral on fake models; return its output without the leaderboard, in one line."""
    result = call("run", "spectral", "--no-server", *arguments, code=code, COLUMNS="160")
    return one_line(result.stdout if "--dry-run" in arguments and not code else result.stderr)


def n_parts(warehouse: Warehouse) -> int:
    return int(warehouse.query("SELECT count(DISTINCT part) AS n FROM part_unit")["n"][0])


@pytest.fixture(autouse=True)
def no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail if a Prefect server is started."""

    def connect(*arguments: object, **named: object) -> str:
        raise AssertionError("a Prefect server was started")

    monkeypatch.setattr(cli_run, "connect", connect)


def test_dry_run_prints_the_plan_and_stores_nothing(warehouse: Warehouse) -> None:
    text = run("-m", "fake-a", *SMALL, "--dry-run")
    assert "spectral, profile smoke, config " in text
    assert "3 countries, 9 questions" in text
    assert "fake-a fake 162 of 162 log-probabilities unknown none" in text
    assert "probe" not in text
    assert n_parts(warehouse) == 0


def test_dry_run_with_probe_measures_the_engine(warehouse: Warehouse) -> None:
    text = run("-m", "fake-a", *SMALL, "--dry-run", "--probe")
    assert re.search(r"probe: fake-a [\d,]+ log-probabilities/s, about 0 s", text)
    assert n_parts(warehouse) == 0


@pytest.mark.heavy
def test_again_makes_a_new_occasion_with_new_answers(warehouse: Warehouse) -> None:
    run("-m", "fake-a", *SMALL)
    before = n_parts(warehouse)
    text = run("-m", "fake-a", *SMALL, "--again")
    assert re.search(r"occasion 20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ ", text)
    assert "162 of 162" in text
    assert n_parts(warehouse) > before
    text = run("-m", "fake-a", *SMALL, "--occasion", "{week}", "--dry-run")
    assert re.search(r"occasion 20\d\d-w\d\d ", text)
    both = run("-m", "fake-a", *SMALL, "--again", "--occasion", "x", code=1)
    assert both == "error: --again names the occasion itself: leave --occasion out"
    unknown = run("-m", "fake-a", *SMALL, "--occasion", "{month}", code=1)
    assert unknown.startswith("error: occasion '{month}': ")
    occasions = warehouse.query("SELECT DISTINCT occasion FROM run WHERE NOT is_null")["occasion"].to_list()
    assert len(occasions) == 2


def test_options_override_the_profile_and_the_profile_the_defaults(warehouse: Warehouse) -> None:
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
        (("--profile", "huge"), "error: --profile: unknown profile 'huge' of spectral; known: smoke,"),
        (("--max-items", "1"), "error: --max-items: expected at least 2, not '1'"),
        (("--dtype", "int8"), "error: --dtype: expected 'auto', 'float32', 'bfloat16' or 'float16', "
         "not 'int8'"),
        (("-m", "no-such-model"), "error: unknown model 'no-such-model'"),
        (("--countries", "Frence"), "France"),
    ],
)  # fmt: skip
def test_wrong_options_are_refused_and_store_nothing(
    warehouse: Warehouse, arguments: tuple[str, ...], message: str
) -> None:
    assert message in run(*arguments, code=1)
    assert warehouse.query("SELECT count(*) AS n FROM run")["n"][0] == 0


def test_model_that_cannot_score_is_refused_before_any_request(warehouse: Warehouse, home: Path) -> None:
    (home / "engines" / "served.toml").write_text(
        'kind = "openai"\nmodel = "b"\nbase_url = "http://127.0.0.1:9/v1"\n'
    )
    for more in (("-m", "fake-a"), ("--elicit", "logprobs")):
        text = run("-m", "served", *more, *SMALL, "--dry-run", code=1)
        assert text.count("a server gives no log-probabilities of given texts") == 1
    alone = run("-m", "served", *SMALL, "--dry-run")
    assert "10 written answers to each (only numbers of as many compare)" in alone
    run("-m", "served", "-m", "fake-a", *SMALL, code=1)
    board = warehouse.query("SELECT model FROM leaderboard_spectral WHERE NOT is_null")["model"].to_list()
    assert board == ["fake-a"]


@pytest.mark.heavy
def test_leaderboard_has_the_order_of_its_view(warehouse: Warehouse) -> None:
    run("-m", "fake-a", "-m", "fake-b", *SMALL)
    run("-m", "fake-a", *SMALL, "--countries", "FR,US")
    finished = "SELECT config_hash FROM run WHERE NOT is_null GROUP BY ALL ORDER BY max(finished_at)"
    old, new = warehouse.query(finished)["config_hash"].to_list()
    assert {row["config_hash"] for row in table("leaderboard")} == {old}
    places = [row["place"] for row in table("leaderboard", "spectral", "--config", new[:6])]
    assert places == sorted(places)
    narrow = call("leaderboard", "spectral", COLUMNS="80")
    assert max(map(len, narrow.stdout.splitlines())) <= 80
    assert "more columns with --wide" in narrow.stderr
    assert "F1 LL" in call("leaderboard", "spectral", "--wide").stdout
    unknown = refused("leaderboard", "spectral", "--config", "zzz")
    assert f"no finished run of spectral has the configuration 'zzz'; known: {old}, {new}" in unknown


@pytest.mark.heavy
def test_two_models_of_one_name_are_two_rows(warehouse: Warehouse, home: Path) -> None:
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
    printed = call("leaderboard", "spectral", COLUMNS="80").stdout
    assert re.search(r"│ twin v1 +│", printed)
    assert re.search(r"│ twin#[0-9a-f]{4} v2 +│", printed)
    rows = csv.DictReader(io.StringIO(call("leaderboard", "--format", "csv").stdout))
    assert {row["revision"] for row in rows} == {"v1", "v2", ""}


def test_run_without_a_server_names_the_option_to_do_without(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    def connect(home: Path, otherwise: str) -> str:
        raise ServerError(f"the Prefect server ended with code 1. {otherwise}")

    monkeypatch.setattr(cli_run, "connect", connect)
    error = refused("run", "spectral", "-m", "fake-a", "--no-probe", *SMALL)
    assert error.endswith("code 1. Run again with --no-server to do without Prefect.")
    assert n_parts(warehouse) == 0


@pytest.mark.heavy
@pytest.mark.slow
@pytest.mark.parametrize("gap", [0.0, 0.1, 0.3, 0.6])
def test_ctrl_c_again_ends_at_once_without_an_abort(home: Path, gap: float) -> None:
    arguments = ("run", "cure", "-m", "slow", "--judges", "fake-b", "--profile", "smoke", "--no-server")
    process = subprocess.Popen(
        command(*arguments, "--no-probe"), env=environment(home, None), stderr=subprocess.PIPE, text=True
    )
    until(lambda: list((home / "parts" / "response").glob("[!_]*.parquet")), process)
    for _ in range(3):
        process.send_signal(signal.SIGINT)
        time.sleep(gap)
    _, text = process.communicate(timeout=LONGEST_WAIT_S)
    assert process.returncode in (130, -signal.SIGINT), text
    assert "terminate called" not in text
    assert "Traceback" not in text
    assert run_checks(Warehouse.open(home))["n_violations"].sum() == 0


@pytest.mark.heavy
@pytest.mark.slow
def test_ctrl_c_names_the_occasion_to_resume(home: Path) -> None:
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
