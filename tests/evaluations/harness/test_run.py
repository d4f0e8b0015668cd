"""Tasks of the harness from the command to the page, on fake models."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from deployments.cli.app import app
from tests.golden.harness import write_engine
from tests.golden.nets.harness import FILES

runner = CliRunner()


def test_run_has_leaderboard_and_page(
    copied_home: Callable[[], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    home = copied_home()
    monkeypatch.setenv("CULTUREMETER_HOME", str(home))

    def done(*words: str) -> str:
        result = runner.invoke(app, words, env={"COLUMNS": "100"})
        assert result.exit_code == 0, result.output
        return result.stdout

    write_engine(home, "fake-a")
    files = [part for name in ("choice", "written") for part in ("--tasks", str(FILES / f"{name}.yaml"))]
    arguments = ("harness", *files, "--cluster", "place", "--slice", "region", "-m", "fake-a")
    done("run", *arguments, "--no-server", "--no-probe")
    board = done("leaderboard", "harness")
    assert all(name in board for name in ("fake-a", "null:longest", "null:commonest"))
    done("report", "harness")
    page = next(home.glob("reports/*/report-harness.html")).read_text()
    assert all(f"By {kind}" in page for kind in ("task", "region"))
