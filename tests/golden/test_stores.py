"""On a shared store, too, all numbers equal the recorded ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engines.served import Scripted
from tests.golden.harness import (
    EVALUATIONS,
    differences,
    golden_path,
    leaderboard_rows,
    metric_rows,
    new_home_of_shared_store,
    read_golden,
    run,
)
from warehouse import Warehouse, run_checks

pytestmark = pytest.mark.heavy


@pytest.mark.parametrize("evaluation", EVALUATIONS)
def test_numbers_on_a_shared_store_equal_the_recorded_ones(
    blank: Path,
    tmp_path: Path,
    server: Scripted,
    shared_environment: dict[str, str],
    evaluation: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in shared_environment.items():
        monkeypatch.setenv(name, value)
    home = new_home_of_shared_store(blank, tmp_path, f"{evaluation}-shared", evaluation, server.url)
    run(evaluation, home)
    for table, rows in (("metric_value", metric_rows), ("leaderboard", leaderboard_rows)):
        recorded = read_golden(golden_path(evaluation, table))
        assert recorded
        assert differences(recorded, rows(home, evaluation)) == []
    checks = run_checks(Warehouse.open(home))
    assert checks.filter(checks["n_violations"] > 0).rows() == []
    assert not list((home / "parts").glob("*/[!_]*.parquet"))
