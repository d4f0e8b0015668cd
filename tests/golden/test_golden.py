"""Every number of a finished run equals the recorded one.

One small run of each evaluation on deterministic engines was recorded: all rows of ``metric_value`` in
``<evaluation>.csv`` and the leaderboard in ``<evaluation>_leaderboard.csv``. Numbers may be off by a
billionth. If a number is meant to change, record again and say in CHANGELOG.md which and why:

    python -m tests.golden.record            all evaluations
    python -m tests.golden.record spectral   one
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden.conftest import Homes
from tests.golden.harness import (
    EVALUATIONS,
    differences,
    golden_path,
    leaderboard_rows,
    metric_rows,
    net,
    read_golden,
)
from warehouse import Warehouse, run_checks

TASKS = Path(__file__).parents[2] / "tasks" / "evaluations"


def test_every_evaluation_has_a_net() -> None:
    shipped = {path.parent.name for path in TASKS.glob("*/params.py")}
    examples = [path.name for path in (TASKS / "recipe" / "examples").iterdir()]
    assert shipped <= set(EVALUATIONS)
    # A net for the example of each recipe, and for harness, whose knobs are not in a file of their own.
    assert len(EVALUATIONS) == len(shipped) + len(examples) + 1


@pytest.mark.slow
@pytest.mark.parametrize("evaluation", EVALUATIONS)
def test_all_numbers_equal_the_recorded_ones(undisturbed: Homes, evaluation: str) -> None:
    home = undisturbed(evaluation)
    recorded = read_golden(golden_path(evaluation, "metric_value"))
    assert set(net(evaluation).models) < {row["model"] for row in recorded}
    assert differences(recorded, metric_rows(home, evaluation)) == []
    recorded = read_golden(golden_path(evaluation, "leaderboard"))
    assert differences(recorded, leaderboard_rows(home, evaluation)) == []
    checks = run_checks(Warehouse.open(home))
    assert checks.filter(checks["n_violations"] > 0).rows() == []
