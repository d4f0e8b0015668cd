"""Runs of one configuration that end at the same time: one freezes the cohort, the other waits for it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY, environment
from tests.golden.harness import FAKES, metric_rows, new_home
from warehouse import Warehouse, run_checks

pytestmark = [pytest.mark.slow, pytest.mark.heavy]

COHORT = "SELECT cohort, model FROM cohort JOIN run USING (run_id) ORDER BY ALL"
RACER = """
import sys, time
from pathlib import Path
import flows.evaluation as loop
from tests.golden.harness import run
home, model, other = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
locked = loop.steps.locked_cohort
def at_once(config):
    # Both are ready to score before either takes the lock.
    (home / f"ready-{model}").touch()
    until = time.monotonic() + 300
    while other and not (home / f"ready-{other}").exists():
        assert time.monotonic() < until
        time.sleep(0.005)
    return locked(config)
loop.steps.locked_cohort = at_once
run("spectral", home, models=[model])
"""


def racers(home: Path, first: str, second: str, at_once: bool) -> None:
    def start(model: str, other: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", RACER, str(home), model, other],
            env=environment(home, None), cwd=REPOSITORY, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    if at_once:
        running = [start(first, second), start(second, first)]
        for process in running:
            _, errors = process.communicate(timeout=600)
            assert process.returncode == 0, errors
        return
    for model in (first, second):
        process = start(model, "")
        _, errors = process.communicate(timeout=600)
        assert process.returncode == 0, errors


def test_one_of_two_simultaneous_runs_freezes_the_cohort(
    blank: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The rows equal those of two consecutive runs, the winner's first."""
    first, second = FAKES[:2]
    place = Path(shutil.copytree(blank, tmp_path_factory.mktemp("race") / "blank"))
    raced = new_home(place, "raced", "spectral", "http://127.0.0.1:9")
    racers(raced, first, second, at_once=True)
    cohort = Warehouse.open(raced).query(COHORT).rows()
    assert cohort in ([("first", first)], [("first", second)])
    winner = cohort[0][1]
    loser = second if winner == first else first
    ordered = new_home(place, "ordered", "spectral", "http://127.0.0.1:9")
    racers(ordered, winner, loser, at_once=False)
    assert Warehouse.open(ordered).query(COHORT).rows() == cohort
    assert metric_rows(raced, "spectral") == metric_rows(ordered, "spectral")
    assert not run_checks(Warehouse.open(raced))["n_violations"].sum()
