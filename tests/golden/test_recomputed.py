"""``check --numbers`` recomputes all rows and reports edited ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from deployments.cli.app import app
from tests.golden.conftest import Homes
from tests.golden.harness import EVALUATIONS, run
from tests.golden.test_contract import disturbed
from warehouse import Warehouse, run_checks

pytestmark = pytest.mark.slow

EDITS = {
    "value": "UPDATE metric_value_base SET value = value + 0.001 WHERE value IS NOT NULL",
    "null": "UPDATE metric_value_base SET null_value = null_value - 0.001 WHERE null_value IS NOT NULL",
    "interval": "UPDATE metric_value_base SET ci_low = ci_low - 0.01 WHERE ci_low IS NOT NULL",
    "n": "UPDATE metric_value_base SET n_scored = n_scored + 1 WHERE n_unscored = 0",
    "reason": "UPDATE metric_value_base SET unscored_reason = 'too few' WHERE unscored_reason IS NOT NULL",
    "missing row": "DELETE FROM metric_value_base WHERE true",
}
"""Each is confined to one row below."""
QUICK = ("value", "missing row")


def checked(home: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[int, str]:
    """Return the command's exit code and output."""
    monkeypatch.setenv("CULTUREMETER_HOME", str(home))
    done = CliRunner().invoke(app, ["check", "--numbers"])
    return done.exit_code, done.stderr


@pytest.mark.parametrize("evaluation", disturbed(EVALUATIONS))
def test_recomputed_rows_equal_the_stored_ones(
    undisturbed: Homes, evaluation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = undisturbed(evaluation)
    code, words = checked(home, monkeypatch)
    n = Warehouse.open(home).query("SELECT count(*) FROM metric_value").item()
    assert code == 0, words
    assert f"{n:,} rows" in words


@pytest.mark.heavy
def test_rows_of_another_occasion_are_recomputed_with_the_frozen_cohort(
    finished: Homes, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = finished("spectral")
    run("spectral", home, models=["fake-b"], occasion="2026-w48")
    code, words = checked(home, monkeypatch)
    assert code == 0, words
    assert "2026-w48" in words


@pytest.mark.parametrize(
    "edit", [each if each in QUICK else pytest.param(each, marks=pytest.mark.heavy) for each in EDITS]
)
def test_an_edited_row_is_reported_with_model_and_metric(
    finished: Homes, edit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = finished("cure")
    statement = EDITS[edit]
    place = "(SELECT min(rowid) FROM metric_value_base WHERE " + statement.partition(" WHERE ")[2] + ")"
    edited = f"SELECT model, metric FROM metric_value_base WHERE rowid = {place}"
    with Warehouse.open(home).write() as connection:
        row = connection.execute(edited).fetchone()
        connection.execute(f"{statement} AND rowid = {place}")
    assert row is not None
    assert not run_checks(Warehouse.open(home))["n_violations"].sum(), "nothing else sees it"
    code, words = checked(home, monkeypatch)
    assert code == 1
    assert "1 differ " in words
    assert f"{row[0]}, {row[1]}" in " ".join(words.split())
