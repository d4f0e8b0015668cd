"""The fmlama flow through the command line, a real Prefect server and a real warehouse."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from tests.conftest import command, environment
from tests.waiting import until
from warehouse import Warehouse, run_checks

pytestmark = pytest.mark.slow

Cli = Callable[..., "subprocess.CompletedProcess[str]"]
INGREDIENTS = "SELECT DISTINCT unnest(ingredients) AS name FROM fmlama_dish ORDER BY name"
# Smoke: four dishes of three origins, two wordings with and without the country.
N_DISHES, N_TEMPLATES = 12, 4
SCORED = "SELECT model, template, prompt, candidate, logprob, n_tokens FROM candidate_score ORDER BY ALL"
NUMBERS = "SELECT * EXCLUDE (run_id) FROM metric_value ORDER BY ALL"
DUPLICATES = """
SELECT model, template, prompt, candidate FROM candidate_score
GROUP BY ALL HAVING count(*) > 1
"""


def run(home: Path, *more: str) -> tuple[str, ...]:
    """Arguments of a small run; word vectors from a file, so that no model is loaded for mWS."""
    words = home / "words.vec"
    if not words.exists():
        names = Warehouse.open(home).query(INGREDIENTS)["name"]
        known = sorted({word for name in names for word in name.split()})
        vectors = [f"{word} {1 + number % 7} {number % 5}" for number, word in enumerate(known)]
        words.write_text("\n".join([f"{len(known)} 2", *vectors]) + "\n")
    return ("run", "fmlama", "--profile", "smoke", "--word-vectors", str(words), *more)


def parts(home: Path) -> dict[str, int]:
    return {str(p): p.stat().st_mtime_ns for p in (home / "parts").glob("*/[!_]*.parquet")}


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal in which no cell of the plan is folded."""
    monkeypatch.setenv("COLUMNS", "200")


@pytest.mark.usefixtures("wide")
@pytest.mark.heavy
def test_from_dishes_to_a_leaderboard(culturescope: Cli, culturescope_process: Cli, home: Path) -> None:
    both = run(home, "-m", "fake-a", "-m", "fake-b")
    planned = culturescope(*both, "--dry-run")
    said = " ".join(planned.stderr.split())
    assert f"{N_DISHES} dishes, 2 conditions" in said
    assert "fake-a" in said
    assert "unknown" in said  # how long it takes: never measured here
    warehouse = Warehouse.open(home)
    assert warehouse.query("SELECT count(*) AS n FROM run")["n"][0] == 0
    assert not parts(home)

    culturescope(*both)
    board = warehouse.query("SELECT * FROM leaderboard_fmlama")
    assert set(board["model"]) == {"fake-a", "fake-b", "null:common", "null:common-of-origin"}
    assert set(board["country_mentioned"]) == {True, False}
    assert board.height == 4 * 2
    whole = ("map", "ci_low", "ci_high", "map_sd", "null_map", "map_gain", "mws", "map_cv", "coverage")
    assert board.select(whole).null_count().sum_horizontal()[0] == 0
    assert set(board["coverage"]) == {1.0}
    assert warehouse.query("SELECT count(*) AS n FROM prediction")["n"][0] > 0
    n = warehouse.query(
        "SELECT count(DISTINCT (template, prompt)) AS n FROM candidate_score WHERE model = 'fake-a'"
    )
    assert n["n"][0] == N_DISHES * N_TEMPLATES
    assert run_checks(warehouse)["n_violations"].sum() == 0

    before = parts(home)
    again = culturescope(*both)
    assert "nothing to do" in again.stderr
    assert parts(home) == before

    # Data alone goes to standard output.
    lines = list(csv.DictReader(io.StringIO(culturescope("leaderboard", "fmlama", "-f", "csv").stdout)))
    rows = json.loads(culturescope("leaderboard", "fmlama", "-f", "json").stdout)
    assert len(lines) == len(rows) == 8
    stored = {(r["model"], r["country_mentioned"]): r["map"] for r in board.to_dicts()}
    assert {(r["model"], r["country_mentioned"]): r["map"] for r in rows} == stored
    assert sorted(float(line["map"]) for line in lines) == pytest.approx(sorted(stored.values()))
    table = culturescope_process("leaderboard", "fmlama").stdout
    assert "over baseline" in table
    assert "null:common-of-origin" in table


@pytest.mark.heavy
@pytest.mark.usefixtures("wide")
def test_a_judge_is_planned_and_another_occasion_stands_beside_the_first(
    culturescope: Cli, home: Path
) -> None:
    arguments = run(home, "-m", "fake-a", "--judge", "fake-b", "--origins", "Italy,Mexico")
    said = " ".join(culturescope(*arguments, "--dry-run").stderr.split())
    # Four dishes each, of two baselines before any answer, and of the model later.
    assert "fake-b │ judge fake │ 16 of 16 completions" in said
    assert "fake-b │ judge fake │ later ≤ 8 completions" in said
    culturescope(*arguments)
    warehouse = Warehouse.open(home)
    scores, numbers = warehouse.query(SCORED), warehouse.query(NUMBERS)
    responses = warehouse.query("SELECT item, text FROM response ORDER BY ALL")
    board = warehouse.query("SELECT model, country_mentioned, mes, null_mes FROM leaderboard_fmlama")
    judged = board.filter(~pl.col("country_mentioned"))  # the first condition
    assert judged["mes"].is_between(0, 1).all()
    assert judged.filter(model="fake-a")["null_mes"].null_count() == 0
    assert responses.height > 0
    vectors = warehouse.query("SELECT count(*) AS n FROM embedding")

    culturescope(*arguments, "--occasion", "2026-w48")
    assert warehouse.query(SCORED).equals(pl.concat([scores, scores]).sort(pl.all()))
    assert warehouse.query(NUMBERS).equals(pl.concat([numbers, numbers]).sort(pl.all()))
    both = warehouse.query("SELECT item, text FROM response ORDER BY ALL")
    assert both.equals(pl.concat([responses, responses]).sort(pl.all()))
    assert warehouse.query("SELECT count(*) AS n FROM embedding").equals(vectors)
    assert run_checks(warehouse)["n_violations"].sum() == 0


@pytest.mark.heavy
def test_killed_runs_lose_and_duplicate_nothing(culturescope: Cli, home: Path, prefect_api: str) -> None:
    arguments = run(home, "-m", "slow")
    scores = home / "parts" / "candidate_score"
    seen = 0
    for _ in range(2):
        process = subprocess.Popen(
            command(*arguments), env=environment(home, prefect_api),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        # Often, so that the kill comes soon after a part appears, registered or not.
        until(lambda: len(list(scores.glob("[!_]*.parquet"))) > seen, process, every=0.005)  # noqa: B023
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        seen = len(list(scores.glob("[!_]*.parquet")))
        assert 0 < seen < N_TEMPLATES
        Warehouse.open(home).query("SELECT count(*) FROM candidate_score")  # readable at any moment
    culturescope(*arguments)
    warehouse = Warehouse.open(home)
    assert warehouse.query(DUPLICATES).is_empty()
    answered = warehouse.query("SELECT count(DISTINCT (template, prompt)) AS n FROM candidate_score")
    assert answered["n"][0] == N_DISHES * N_TEMPLATES
    assert len(list(scores.glob("[!_]*.parquet"))) == N_TEMPLATES
    assert run_checks(warehouse)["n_violations"].sum() == 0
    assert warehouse.query("SELECT * FROM leaderboard_fmlama WHERE model = 'slow'").height == 2


@pytest.mark.heavy
def test_what_goes_wrong_is_one_clear_error_and_leaves_the_rest(culturescope: Cli, home: Path) -> None:
    (home / "engines" / "gone.toml").write_text(f'model = "{home / "nowhere"}"\n')
    failed = culturescope(*run(home, "-m", "gone", "-m", "fake-a", "--origins", "Italy"), check=False)
    assert failed.returncode == 1
    assert "error: gone:" in failed.stderr
    warehouse = Warehouse.open(home)
    board = warehouse.query("SELECT DISTINCT model FROM leaderboard_fmlama WHERE NOT is_null")
    assert board["model"].to_list() == ["fake-a"]
    n_runs = warehouse.query("SELECT count(*) AS n FROM run")["n"][0]
    for wrong, message in (
        (("--origins", "Itly"), "near: Italy"),
        (("--languages", "zh"), "no dish of these origins for zh: the shipped set is English only"),
        (("--dish-set", "fmalma"), "there is no dish set 'fmalma'"),
        (("--mention-country", "maybe"), "--mention-country: expected 'no', 'yes' or 'both'"),
    ):
        failed = culturescope(*run(home, "-m", "fake-a", *wrong), check=False)
        assert failed.returncode == 1
        assert message in " ".join(failed.stderr.split())
        assert "Traceback" not in failed.stderr
    assert warehouse.query("SELECT count(*) AS n FROM run")["n"][0] == n_runs
