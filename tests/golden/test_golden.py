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
from tests.golden.harness import EVALUATIONS, assert_recorded

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
    assert_recorded(undisturbed(evaluation), evaluation)
