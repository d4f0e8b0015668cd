"""The fmlama flow through the command line, a real Prefect server and a real warehouse."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from tests.deployments.commands import refused
from warehouse import Warehouse, run_checks

pytestmark = pytest.mark.slow

Cli = Callable[..., "subprocess.CompletedProcess[str]"]
INGREDIENTS = "SELECT DISTINCT unnest(ingredients) AS name FROM fmlama_dish ORDER BY name"
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


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal in which no cell of the plan is folded."""
    monkeypatch.setenv("COLUMNS", "200")


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


def test_wrong_inputs_are_one_error_and_change_nothing(warehouse: Warehouse) -> None:
    for wrong, message in (
        (("--origins", "Itly"), "near: Italy"),
        (("--languages", "zh"), "no dish of these origins for zh: the shipped set is English only"),
        (("--dish-set", "fmalma"), "there is no dish set 'fmalma'"),
        (("--mention-country", "maybe"), "--mention-country: expected 'no', 'yes' or 'both'"),
    ):
        assert message in refused(*run(warehouse.home, "-m", "fake-a", *wrong)), wrong
    assert warehouse.query("SELECT count(*) FROM run").item() == 0
