"""A run with two replicas, one of them killed, stores every part once, with the numbers of one replica."""

from __future__ import annotations

import os
import signal
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import psutil
import pytest

from tests.conftest import command, environment, prefect_post
from tests.waiting import until
from warehouse import Warehouse

# One country per part: 9 questions x 5 countries.
SMALL = ("--profile", "smoke", "--countries", "BR,DE,JP,NG,PE", "--max-items", "6",
         "--countries-per-part", "1")  # fmt: skip
N_PARTS = 9 * 5
STORED = "SELECT question, country, item, logprob, n_tokens FROM item_logprob ORDER BY ALL"
NUMBERS = "SELECT model, metric, slice_kind, slice, value, ci_low, ci_high FROM metric_value ORDER BY ALL"
PARTS = "SELECT count(DISTINCT part) AS parts, count(*) AS units FROM part_unit WHERE kind = 'item_logprob'"


def killed_once(home: Path, api: str | None, *more: str) -> tuple[str, int]:
    """Run with two replicas and kill the first; return the log and the number of replicas started."""
    arguments = ("run", "spectral", "-m", "slow", *SMALL, "--replicas", "2", "--verbose", *more)
    run = subprocess.Popen(
        command(*arguments), env=environment(home, api), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True,
    )  # fmt: skip
    seen, killed = list[int](), list[int]()

    def has_ended() -> bool:
        for child in _children(run.pid):
            try:
                if "tasks.engines.copies" in child.cmdline():
                    seen.extend([child.pid] if child.pid not in seen else [])
            except psutil.NoSuchProcess:
                continue
        done = len(list((home / "parts" / "item_logprob").glob("[!_]*.parquet")))
        if not killed and len(seen) == 2 and done >= 4:
            killed.append(seen[0])
            os.kill(seen[0], signal.SIGKILL)
        return run.poll() is not None

    until(has_ended, every=0.02)
    output, _ = run.communicate()
    assert run.returncode == 0, output
    assert killed, "no replica was killed"
    return output, len(seen)


def _children(pid: int) -> list[psutil.Process]:
    """Return all descendants of a process; none if it has ended."""
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def assert_as_of_one_replica(home: Path, alone: Path) -> None:
    """Check that every part is stored once and that all numbers equal those of a run with one replica."""
    warehouse = Warehouse.open(home)
    assert warehouse.query(PARTS).row(0) == (N_PARTS, N_PARTS)

    (alone / "engines").mkdir()
    (alone / "engines" / "slow.toml").write_text('kind = "fake"\nmodel = "slow"\n')
    one = ("run", "spectral", "-m", "slow", *SMALL, "--no-server")
    subprocess.run(command(*one), env=environment(alone, None), check=True, capture_output=True)
    for sql in (STORED, NUMBERS):
        assert warehouse.query(sql).equals(Warehouse.open(alone).query(sql))


@pytest.mark.heavy
def test_run_with_two_replicas_and_a_kill_has_the_numbers_of_one_replica(
    home: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    output, n_loads = killed_once(home, None, "--no-server")
    assert "died (exit code -9); its part is retried" in output
    assert n_loads == 3
    assert_as_of_one_replica(home, tmp_path_factory.mktemp("alone"))


@pytest.mark.slow
@pytest.mark.heavy
def test_retry_of_a_killed_replica_is_shown_in_prefect(home: Path, prefect_api: str) -> None:
    # The server is shared with other tests, which retry tasks of their own.
    begun = datetime.now(UTC).isoformat()
    killed_once(home, prefect_api)
    assert Warehouse.open(home).query(PARTS).row(0) == (N_PARTS, N_PARTS)
    of_this_run = {"task_runs": {"expected_start_time": {"after_": begun}}, "limit": 200}
    tasks = prefect_post(prefect_api, "/task_runs/filter", of_this_run)
    scores = pl.DataFrame(
        [{"name": t["name"], "state": t["state_type"], "runs": t["run_count"]} for t in tasks]
    )
    again = scores.filter(pl.col("runs") > 1)
    assert again.height == 1
    assert again["state"][0] == "COMPLETED"
