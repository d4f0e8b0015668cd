"""Record the golden files anew: ``python -m tests.golden.record [EVALUATION ...]``, all if none is named.

For a number that is meant to change; the diff of the files then shows which did.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.golden import served
from tests.golden.harness import (
    EVALUATIONS,
    golden_path,
    leaderboard_rows,
    metric_rows,
    new_home,
    run,
    write_golden,
)
from warehouse import Warehouse


def record(evaluations: Sequence[str]) -> None:
    """Run each evaluation's net and write its two files."""
    with tempfile.TemporaryDirectory() as folder:
        blank = Path(folder) / "blank"
        Warehouse.open(blank)
        model = served.start()
        for evaluation in evaluations:
            home = new_home(blank, evaluation, evaluation, model.url)
            run(evaluation, home)
            write_golden(golden_path(evaluation, "metric_value"), metric_rows(home, evaluation))
            write_golden(golden_path(evaluation, "leaderboard"), leaderboard_rows(home, evaluation))
            print(f"recorded {evaluation}")
        model.close()


if __name__ == "__main__":
    record(sys.argv[1:] or EVALUATIONS)
