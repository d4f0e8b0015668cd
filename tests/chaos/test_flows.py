"""Killed, interrupted, out of disk, with a clock that jumps: the flow run again makes the recorded rows."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.chaos.conftest import SCALE
from tests.chaos.forked import FLOWS, NOBODY, Child, Forked
from tests.golden.conftest import Homes
from warehouse import Warehouse

pytestmark = [pytest.mark.slow, pytest.mark.heavy]

Complete = Callable[[str, Path], None]

KILLS, SIGNALS, FULL_DISKS = (max(1, round(n * SCALE / len(FLOWS))) for n in (108, 54, 27))
"""Of each flow."""


def assert_one_message(child: Child, *expected: str) -> None:
    """Assert that the child printed nothing, or one message that begins with an expected word."""
    message = " ".join(child.output.split())
    assert "Traceback" not in message, child.output
    assert not message or message.startswith(expected), child.output
    assert sum(message.count(word) for word in ("error:", "interrupted:")) <= 1, child.output


@pytest.fixture(name="undisturbed_seconds", scope="module")
def _undisturbed_seconds(forked: Forked, new: Homes, assert_complete: Complete) -> Callable[[str], float]:
    """Return the seconds that an undisturbed flow takes."""
    seconds: dict[str, float] = {}

    def measured(flow: str) -> float:
        if flow not in seconds:
            home, start = new(flow), time.monotonic()
            forked.run(flow, home)
            seconds[flow] = time.monotonic() - start
            assert_complete(flow, home)
        return seconds[flow]

    return measured


@pytest.mark.parametrize("flow", FLOWS)
@pytest.mark.parametrize(
    ("signals", "n"),
    [([signal.SIGKILL], KILLS), ([signal.SIGTERM, signal.SIGINT], SIGNALS)],
)
def test_a_flow_stopped_at_random_points_is_completed_by_the_next_run(
    forked: Forked,
    new: Homes,
    assert_complete: Complete,
    undisturbed_seconds: Callable[[str], float],
    capsys: pytest.CaptureFixture[str],
    flow: str,
    signals: list[signal.Signals],
    n: int,
) -> None:
    """Each stop comes at a random time within the length of a whole run; a completed flow begins anew."""
    where, longest, home = random.Random(f"{flow} {signals}"), undisturbed_seconds(flow), new(flow)
    stopped = finished = 0
    while stopped < n:
        child, start = forked.begin(flow, home), time.monotonic()
        if child.ends_within(where.uniform(0, longest)):
            longest = min(longest, time.monotonic() - start)  # the machine is less busy now
        chosen = signals[stopped % len(signals)]
        os.kill(child.pid, chosen)
        ended = forked.end()
        if ended == 0:
            finished += 1
            assert_complete(flow, home)
            home = new(flow)
            continue
        stopped += 1
        assert ended in (-chosen, 130), child.output
        assert_one_message(child, "interrupted: run again to resume")
    forked.run(flow, home)
    assert_complete(flow, home)
    with capsys.disabled():
        print(f"\n{flow}: stopped {stopped} times, got through {finished} times, {longest:.1f} s a run")


@pytest.mark.parametrize("flow", FLOWS)
def test_a_full_disk_ends_a_flow_with_one_error_and_the_next_run_completes_it(
    forked: Forked, new: Homes, assert_complete: Complete, flow: str
) -> None:
    """No file may grow beyond a limit, from less than a part to just below the warehouse's file."""
    home = new(flow)
    size = (home / "culturemeter.duckdb").stat().st_size
    for n in range(FULL_DISKS):
        room = int(2_000 * (size / 2_000) ** (n / FULL_DISKS))
        child = forked.begin(flow, home, room=room)
        assert forked.end() == 1, child.output
        assert_one_message(child, "error:")
        assert Warehouse(home).query("SELECT count(*) FROM country").item() == 170
    forked.run(flow, home)
    assert_complete(flow, home)


@pytest.mark.parametrize("flow", FLOWS)
def test_a_jumping_clock_changes_no_number(
    forked: Forked, new: Homes, assert_complete: Complete, flow: str
) -> None:
    home = new(flow)
    forked.run(flow, home, clock=7)
    assert_complete(flow, home)


@pytest.mark.skipif(os.getuid() != 0, reason="root gives its rights up")
@pytest.mark.parametrize("flow", FLOWS)
def test_a_read_only_home_ends_a_flow_with_one_error(forked: Forked, new: Homes, flow: str) -> None:
    home = new(flow)
    Warehouse.open(home)
    for place in (home, *home.rglob("*")):
        place.chmod(0o755 if place.is_dir() else 0o644)
        os.chown(place, NOBODY, NOBODY)
    before = {place: place.stat().st_mtime_ns for place in home.rglob("*")}
    child = forked.begin(flow, home, reader=True)
    assert forked.end() == 1, child.output
    assert_one_message(child, "error:")
    assert {place: place.stat().st_mtime_ns for place in home.rglob("*")} == before
    assert {place.stat().st_uid for place in home.rglob("*")} == {NOBODY}
