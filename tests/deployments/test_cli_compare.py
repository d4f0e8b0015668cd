"""``compare``, ``drift`` and leaderboards of an occasion, on runs that are stored already."""

from __future__ import annotations

import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from deployments.cli.app import app
from tests.flows.stored_runs import Stored, store
from warehouse import Warehouse

runner = CliRunner()
RNG = np.random.default_rng(0)
GOOD, BAD = RNG.beta(3, 1, 60), RNG.beta(1, 3, 60)
LONG = "a-model-of-a-long-name-0.5b-instruct"


@pytest.fixture(scope="module")
def stored(copied_home: Callable[[], Path]) -> Warehouse:
    """Two models; the first on two occasions, on which it got worse; and the other's spectral evaluation."""
    home = copied_home()
    warehouse = Warehouse.open(home)
    good, bad = {"exact_match": GOOD, "coverage": GOOD}, {"exact_match": BAD, "coverage": GOOD}
    halves = {"macro_f1": (40, 0.6 + 0.05 * RNG.standard_normal(51))}
    store(warehouse, [
        Stored(LONG, "2026-w47", scores=good),
        Stored("b", "2026-w47", scores=bad),
        Stored(LONG, "2026-w48", scores=bad),
        Stored("b", "2026-w47", evaluation="spectral", halves=halves),
    ])  # fmt: skip
    return warehouse


@pytest.fixture(autouse=True)
def warehouse(stored: Warehouse, monkeypatch: pytest.MonkeyPatch) -> Warehouse:
    """The commands' own: nothing here writes."""
    monkeypatch.setenv("CULTURESCOPE_HOME", str(stored.home))
    return stored


def test_compare_fits_a_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    result = runner.invoke(app, ["compare", LONG, "b", "--occasion", "2026-w47"])
    assert result.exit_code == 0, result.output
    assert max(map(len, result.stdout.splitlines())) <= 80
    difference = (GOOD - BAD).mean()
    assert f"{difference:.3f} [" in result.stdout
    assert "nothing differs" in " ".join(result.stdout.split())
    assert f"A {LONG} (2026-w47, config config)" in result.stdout
    assert "p-value adjusted for the 2 rows" in " ".join(result.stderr.split())


def test_compare_for_programs() -> None:
    line = ["compare", LONG, "--evaluation", "cure", "--format"]
    rows = json.loads(runner.invoke(app, [*line, "json"]).stdout)
    assert [row["metric"] for row in rows] == ["exact_match", "coverage"]
    assert rows[0]["difference"] == pytest.approx((BAD - GOOD).mean())
    assert (rows[0]["first_occasion"], rows[0]["second_occasion"]) == ("2026-w48", "2026-w47")
    as_csv = pl.read_csv(StringIO(runner.invoke(app, [*line, "csv"]).stdout))
    assert as_csv["p_holm"].to_list() == pytest.approx([row["p_holm"] for row in rows])


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (["compare", "nobody"], f"the model 'nobody'; there are: b, {LONG}"),
        (["compare", LONG, "b", "--occasion", "w9"], "the occasion 'w9'; there are: 2026-w48, 2026-w47"),
        (["compare", LONG, "-e", "none"], "there is no evaluation 'none'; known: culturall, cure"),
        (["compare", "b"], "of b on another occasion: run both"),
        (["drift", "-e", "none"], "there is no evaluation 'none'"),
        (["leaderboard", "cure", "--occasion", "w9"], "occasion 'w9'; known: 2026-w47, 2026-w48"),
        (["leaderboard", "cure", "--occasion", "w9", "--history"], "leave --occasion out"),
    ],
)
def test_errors_say_what_there_is(line: list[str], said: str) -> None:
    result = runner.invoke(app, line)
    assert result.exit_code == 1
    assert said in " ".join(result.stderr.split())


def test_drift_says_what_moved() -> None:
    result = runner.invoke(app, ["drift"])
    assert result.exit_code == 0, result.output
    assert "1 of 2 headlines moved" in result.stderr
    assert result.stdout.startswith(f"{LONG}: Exact match (cure) {GOOD.mean():.3f} -> {BAD.mean():.3f}")
    assert len(json.loads(runner.invoke(app, ["drift", "-f", "json"]).stdout)) == 2
    assert "no model has two occasions" in runner.invoke(app, ["drift", "-e", "spectral"]).stderr


def test_history_has_every_occasion(warehouse: Warehouse) -> None:
    result = runner.invoke(app, ["leaderboard", "cure", "--history", "-f", "csv"])
    rows = pl.read_csv(StringIO(result.stdout))
    assert rows.columns == [
        "evaluation", "config_hash", "model", "engine_hash", "is_null", "occasion", "run_id", "finished_at",
        "metric", "label", "value", "ci_low", "ci_high", "null_value", "n_scored", "n_unscored",
        "is_beyond_null", "doubt",
    ]  # fmt: skip
    assert rows.select("model", "occasion", "metric").n_unique() == rows.height == 6
    shown = runner.invoke(app, ["leaderboard", "cure", "--history"], env={"COLUMNS": "160"}).stdout
    assert shown.count("2026-w47") == 2
    assert "Exact match" in shown


def test_a_leaderboard_of_an_occasion(warehouse: Warehouse) -> None:
    newest = "SELECT model, run_id FROM latest_run WHERE evaluation = 'cure' ORDER BY ALL"
    of = {
        (run.model, run.occasion): run.run_id for run in (Stored(LONG, "2026-w48"), Stored("b", "2026-w47"))
    }
    assert warehouse.query(newest).rows() == sorted((model, run) for (model, _), run in of.items())
    with warehouse.read() as connection:
        connection.execute("SET VARIABLE occasion = '2026-w47'")
        rows = connection.execute(newest).fetchall()
    assert sorted(rows) == sorted((m, Stored(m, "2026-w47").run_id) for m in (LONG, "b"))
