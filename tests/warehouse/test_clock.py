"""If the clock is set back or forward, runs and occasions keep the order in which they were made."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import polars as pl
import pytest

from tests.warehouse.rows import logprobs, make_run, metrics
from warehouse import Run, Warehouse, finish_run, freeze_cohort, runs, save_metrics, save_run
from warehouse.parts import register_parts, write_part
from warehouse.prune import prune

NOW = datetime.now(UTC).replace(tzinfo=None)
CLOCKS = {
    "as it should": [NOW + timedelta(hours=n) for n in range(9)],
    "stands still": [NOW] * 9,
    "back between runs": [NOW, NOW, NOW - timedelta(400), NOW - timedelta(400), *[NOW - timedelta(900)] * 5],
    "back within runs": [NOW - timedelta(300 * n) for n in range(9)],
    "forward and back": [NOW, NOW + timedelta(800), NOW - timedelta(1), NOW, *[NOW - timedelta(70)] * 5],
    "before there was time": [NOW, NOW, *[datetime(1970, 1, 1)] * 7],
}
OCCASIONS = ("w1", "w2", "w3", "w10")
LATEST = "SELECT run_id FROM latest_run"
HISTORY = "SELECT occasion FROM leaderboard_history ORDER BY finished_at"
KIND = "item_logprob"


@pytest.fixture(name="made", params=CLOCKS)
def _made(request: pytest.FixtureRequest, warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> Warehouse:
    """Four occasions of a model, each with a part; the first is the cohort. The case sets the clock."""
    ticks = iter(CLOCKS[request.param])
    monkeypatch.setattr(runs, "now", lambda: next(ticks))
    of = [
        (Run(**{**vars(make_run(f"r{n}")), "occasion": occasion}), logprobs("FR", f"q{n}"))
        for n, occasion in enumerate((*OCCASIONS, "w11"))
    ]
    parts = [
        write_part(warehouse.home, KIND, f"p{n}", frame.with_columns(run_id=pl.lit(run.run_id)))
        for n, (run, frame) in enumerate(of)
    ]
    with warehouse.write() as connection:
        register_parts(connection, parts)
        for run, _ in of[:-1]:
            save_run(connection, run)
            save_metrics(connection, run.run_id, metrics())
            finish_run(connection, run.run_id)
        save_run(connection, of[-1][0])  # this run has not finished
        monkeypatch.undo()
        freeze_cohort(connection, "c", "first", ["r0"])
    return warehouse


@pytest.mark.nets(1)
def test_the_last_finished_run_is_the_newest_and_is_not_pruned_whatever_the_clock(made: Warehouse) -> None:
    times = made.query(
        "SELECT started_at, finished_at FROM run WHERE finished_at IS NOT NULL ORDER BY run_id"
    ).rows()
    assert all(started <= finished for started, finished in times)
    assert all(before[1] < after[1] for before, after in pairwise(times))
    for _ in range(2):
        assert made.query(LATEST)["run_id"].to_list() == ["r3"]
        assert made.query(HISTORY)["occasion"].to_list() == list(OCCASIONS)
        prune(made, timedelta(0))  # parts behind numbers stay, however old they are by the clock
        assert set(made.query(f"SELECT DISTINCT run_id FROM {KIND}")["run_id"]) >= {"r0", "r3", "r4"}
