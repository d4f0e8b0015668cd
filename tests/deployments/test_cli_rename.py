"""``culturemeter models rename``: what it prints, what it refuses, and the old name in commands."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from deployments.cli.app import app
from tests.test_names import BAD
from tests.warehouse.rows import make_run, metrics
from warehouse import Warehouse, finish_run, save_metrics, save_run

POLICY = """
[[rule]]
evaluation = "spectral"
metric = "macro_f1"
model = "one"
at_least = 0.1
"""


@pytest.fixture
def home(new_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with runs of two models."""
    monkeypatch.setenv("CULTUREMETER_HOME", str(new_home))
    with Warehouse.open(new_home).write() as connection:
        for number, model in enumerate(("one", "two")):
            run = replace(make_run(f"r{number}", model), engine_hash=f"{model}-engine")
            save_run(connection, run)
            save_metrics(connection, run.run_id, metrics(model=model))
            finish_run(connection, run.run_id)
    return new_home


def command(*words: str) -> Result:
    return CliRunner().invoke(app, [*words], env={"COLUMNS": "200"})


def test_a_model_is_renamed_and_found_by_its_old_name(home: Path, tmp_path: Path) -> None:
    renamed = command("models", "rename", "one", "Eins")
    assert renamed.exit_code == 0
    assert "one is shown as Eins from now on: 1 run;" in renamed.output
    assert "Eins" in command("leaderboard", "spectral").output
    assert "Eins" in command("runs").output
    (tmp_path / "policy.toml").write_text(POLICY)
    for words in (
        ("compare", "one", "two", "-f", "csv"), ("gate", str(tmp_path / "policy.toml")),
        ("export", "eee", str(tmp_path / "out"), "-m", "one"),
    ):  # fmt: skip
        output = command(*words).output
        assert "note: one is shown as Eins" in output, words
        assert "known:" not in output, words


def test_a_hostile_name_is_refused_in_one_line(home: Path) -> None:
    for kind, name in BAD.items():
        refused = command("models", "rename", "one", name)
        assert refused.exit_code == 1, kind
        assert refused.output.startswith("error: the new name "), kind
    assert Warehouse.open(home).query("FROM model_name").is_empty()
