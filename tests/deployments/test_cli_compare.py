"""``compare``, ``drift`` and leaderboards of an occasion, on runs that are stored already."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.deployments.commands import call, one_line, refused, table
from tests.flows.stored_runs import Stored, store
from warehouse import Warehouse

RNG = np.random.default_rng(0)
GOOD, BAD = RNG.beta(3, 1, 60), RNG.beta(1, 3, 60)
LONG = "a-model-of-a-long-name-0.5b-instruct"


@pytest.fixture(scope="module")
def stored(copied_home: Callable[[], Path]) -> Warehouse:
    """Two models: the first gets worse from one occasion to the next, the other has a run of spectral too."""
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
    """The warehouse that commands open; no test here writes to it."""
    monkeypatch.setenv("CULTUREMETER_HOME", str(stored.home))
    return stored


def test_compare_fits_80_columns() -> None:
    result = call("compare", LONG, "b", "--occasion", "2026-w47", COLUMNS="80")
    assert max(map(len, result.stdout.splitlines())) <= 80
    difference = (GOOD - BAD).mean()
    assert f"{difference:.3f} [" in result.stdout
    assert "nothing differs" in one_line(result.stdout)
    assert f"A {LONG} (2026-w47, config config)" in result.stdout
    assert "for the 2 rows" in one_line(result.stderr)


def test_compare_as_json_and_csv_has_difference_and_adjusted_p() -> None:
    line = ("compare", LONG, "--evaluation", "cure")
    rows = table(*line)
    assert [row["metric"] for row in rows] == ["exact_match", "coverage"]
    assert rows[0]["difference"] == pytest.approx((BAD - GOOD).mean())
    assert (rows[0]["first_occasion"], rows[0]["second_occasion"]) == ("2026-w48", "2026-w47")
    as_csv = pl.read_csv(StringIO(call(*line, "--format", "csv").stdout))
    assert as_csv["p_holm"].to_list() == pytest.approx([row["p_holm"] for row in rows])


@pytest.mark.parametrize(
    ("line", "error"),
    [
        (["compare", "nobody"], f"the model 'nobody'; known: b, {LONG}"),
        (["compare", LONG, "b", "--occasion", "w9"], "the occasion 'w9'; known: 2026-w48, 2026-w47"),
        (["compare", LONG, "-e", "none"], "unknown evaluation 'none'; known: culturall, cure"),
        (["compare", "b"], "of b on another occasion: run both"),
        (["drift", "-e", "none"], "unknown evaluation 'none'"),
        (["leaderboard", "cure", "--occasion", "w9"], "occasion 'w9'; known: 2026-w47, 2026-w48"),
        (["leaderboard", "cure", "--occasion", "w9", "--history"], "leave --occasion out"),
    ],
)
def test_unknown_names_are_refused_with_the_known_ones(line: list[str], error: str) -> None:
    assert error in refused(*line)


def test_drift_counts_and_lists_moved_headlines() -> None:
    result = call("drift")
    assert "1 of 2" in result.stderr
    assert result.stdout.startswith(f"{LONG}: Exact match (cure) {GOOD.mean():.3f} -> {BAD.mean():.3f}")
    assert len(table("drift")) == 2
    assert "no model has two occasions" in call("drift", "-e", "spectral").stderr


def test_history_has_one_row_per_model_occasion_and_metric(warehouse: Warehouse) -> None:
    rows = pl.read_csv(StringIO(call("leaderboard", "cure", "--history", "-f", "csv").stdout))
    assert rows.columns == [
        "evaluation", "config_hash", "model", "engine_hash", "is_null", "occasion", "run_id", "finished_at",
        "metric", "label", "value", "ci_low", "ci_high", "null_value", "n_scored", "n_unscored",
        "is_beyond_null", "doubt",
    ]  # fmt: skip
    assert rows.select("model", "occasion", "metric").n_unique() == rows.height == 6
    printed = call("leaderboard", "cure", "--history", COLUMNS="160").stdout
    assert printed.count("2026-w47") == 2
    assert "Exact match" in printed


def test_leaderboard_takes_the_run_of_the_chosen_occasion(warehouse: Warehouse) -> None:
    newest = "SELECT model, run_id FROM latest_run WHERE evaluation = 'cure' ORDER BY ALL"
    latest = (Stored(LONG, "2026-w48"), Stored("b", "2026-w47"))
    assert warehouse.query(newest).rows() == sorted((run.model, run.run_id) for run in latest)
    with warehouse.read() as connection:
        connection.execute("SET VARIABLE occasion = '2026-w47'")
        rows = connection.execute(newest).fetchall()
    assert sorted(rows) == sorted((m, Stored(m, "2026-w47").run_id) for m in (LONG, "b"))
