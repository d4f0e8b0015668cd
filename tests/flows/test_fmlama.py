"""The fmlama flow through the command line, a real Prefect server and a real warehouse."""

from __future__ import annotations

import csv
import io
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from warehouse import Warehouse, run_checks

pytestmark = pytest.mark.slow

Cli = Callable[..., "subprocess.CompletedProcess[str]"]
INGREDIENTS = "SELECT DISTINCT unnest(ingredients) AS name FROM fmlama_dish ORDER BY name"
# Smoke: four dishes of three origins, two wordings with and without the country.
N_DISHES, N_TEMPLATES = 12, 4
SCORED = "SELECT model, template, prompt, candidate, logprob, n_tokens FROM candidate_score ORDER BY ALL"
NUMBERS = "SELECT * EXCLUDE (run_id) FROM metric_value ORDER BY ALL"


def run(home: Path, *more: str) -> tuple[str, ...]:
    """Return arguments of a small run; word vectors come from a file, so no embedder is loaded for mWS."""
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
def test_fmlama_run_gives_a_leaderboard_and_a_second_run_does_nothing(
    culturemeter: Cli, culturemeter_process: Cli, home: Path
) -> None:
    both = run(home, "-m", "fake-a", "-m", "fake-b")
    planned = culturemeter(*both, "--dry-run")
    plan = " ".join(planned.stderr.split())
    assert f"{N_DISHES} dishes, 2 conditions" in plan
    assert "fake-a" in plan
    assert "unknown" in plan  # the time: this engine was never measured
    warehouse = Warehouse.open(home)
    assert warehouse.query("SELECT count(*) AS n FROM run")["n"][0] == 0
    assert not parts(home)

    culturemeter(*both)
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
    again = culturemeter(*both)
    assert "nothing to do" in again.stderr
    assert parts(home) == before

    # Standard output has data only.
    lines = list(csv.DictReader(io.StringIO(culturemeter("leaderboard", "fmlama", "-f", "csv").stdout)))
    rows = json.loads(culturemeter("leaderboard", "fmlama", "-f", "json").stdout)
    assert len(lines) == len(rows) == 8
    stored = {(r["model"], r["country_mentioned"]): r["map"] for r in board.to_dicts()}
    assert {(r["model"], r["country_mentioned"]): r["map"] for r in rows} == stored
    assert sorted(float(line["map"]) for line in lines) == pytest.approx(sorted(stored.values()))
    table = culturemeter_process("leaderboard", "fmlama").stdout
    assert "over baseline" in table
    assert "null:common-of-origin" in table


@pytest.mark.heavy
@pytest.mark.usefixtures("wide")
def test_judge_is_planned_and_another_occasion_repeats_every_row(culturemeter: Cli, home: Path) -> None:
    arguments = run(home, "-m", "fake-a", "--judges", "fake-b", "--origins", "Italy,Mexico")
    plan = " ".join(culturemeter(*arguments, "--dry-run").stdout.split())
    # Four dishes per condition, of two baselines before any answer and of the model later.
    assert "fake-b │ judge fake │ 16 of 16 completions" in plan
    assert "fake-b │ judge fake │ later ≤ 8 completions" in plan
    culturemeter(*arguments)
    warehouse = Warehouse.open(home)
    scores, numbers = warehouse.query(SCORED), warehouse.query(NUMBERS)
    responses = warehouse.query("SELECT item, text FROM response ORDER BY ALL")
    board = warehouse.query("SELECT model, country_mentioned, mes, null_mes FROM leaderboard_fmlama")
    judged = board.filter(~pl.col("country_mentioned"))  # the first condition
    assert judged["mes"].is_between(0, 1).all()
    assert judged.filter(model="fake-a")["null_mes"].null_count() == 0
    assert responses.height > 0
    vectors = warehouse.query("SELECT count(*) AS n FROM embedding")

    culturemeter(*arguments, "--occasion", "2026-w48")
    assert warehouse.query(SCORED).equals(pl.concat([scores, scores]).sort(pl.all()))
    assert warehouse.query(NUMBERS).equals(pl.concat([numbers, numbers]).sort(pl.all()))
    both = warehouse.query("SELECT item, text FROM response ORDER BY ALL")
    assert both.equals(pl.concat([responses, responses]).sort(pl.all()))
    assert warehouse.query("SELECT count(*) AS n FROM embedding").equals(vectors)
    assert run_checks(warehouse)["n_violations"].sum() == 0


@pytest.mark.heavy
def test_failed_model_and_wrong_inputs_give_one_error_each(culturemeter: Cli, home: Path) -> None:
    (home / "engines" / "gone.toml").write_text(f'model = "{home / "nowhere"}"\n')
    failed = culturemeter(*run(home, "-m", "gone", "-m", "fake-a", "--origins", "Italy"), check=False)
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
        failed = culturemeter(*run(home, "-m", "fake-a", *wrong), check=False)
        assert failed.returncode == 1
        assert message in " ".join(failed.stderr.split())
        assert "Traceback" not in failed.stderr
    assert warehouse.query("SELECT count(*) AS n FROM run")["n"][0] == n_runs
