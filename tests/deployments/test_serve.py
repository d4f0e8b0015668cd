"""``culturescope serve`` as a user runs it: UI, deployments, a scheduled run that really starts, Ctrl-C."""

from __future__ import annotations

import os
import re
import signal
import socket
import sqlite3
import subprocess
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from prefect.client.schemas.objects import FlowRun
from prefect.states import Running

from deployments.evaluations import doors, profiles
from deployments.serve import is_gone, sort_out
from deployments.server import free_port, login
from tests.conftest import command, environment, prefect_post
from warehouse import Warehouse

WAIT_S = 600  # a server that is new takes minutes on a busy machine
NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)


def wait_for(condition: Callable[[], Any], process: subprocess.Popen[str]) -> Any:
    """Poll until there is a value; a server that has ended fails at once."""
    deadline = time.monotonic() + WAIT_S
    while time.monotonic() < deadline:
        assert process.poll() is None, process.stderr and process.stderr.read()
        try:
            if value := condition():
                return value
        except httpx.HTTPError:
            pass
        time.sleep(0.5)
    raise AssertionError("nothing came in time")


@pytest.mark.slow
def test_scheduled_runs_start_one_at_a_time_and_ctrl_c_stops_everything(home: Path) -> None:
    # One run at a time: the judge of cure, which may be the first, would load vLLM.
    judge = home / "engines" / "smollm2-135m-vllm.toml"
    judge.write_text('kind = "fake"\nmodel = "judge"\n')
    port = free_port()
    api = f"http://127.0.0.1:{port}/api"
    process = subprocess.Popen(
        command("serve", "-m", "fake-a", "--judge", "fake-b", "--profile", "smoke", "--cron", "* * * * *",
                "--max-usd", "2", "--port", str(port)),
        env=environment(home, None), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        listed = wait_for(lambda: _deployments(home, api), process)
        assert listed.keys() == {f"{e}-{label}" for e in doors() for label in [*profiles(e), "weekly"]} | {
            "ingest-live",
            "specnorm-build",
        }
        knobs = {name: d["parameters"].get("params", {}) for name, d in listed.items()}
        assert knobs["cure-weekly"]["judges"] == ["fake-b"]
        assert knobs["fmlama-weekly"]["judge"] == "fake-b"
        assert (knobs["cure-weekly"]["max_usd"], knobs["cure-smoke"].get("max_usd")) == (2, None)
        assert {d["global_concurrency_limit"]["limit"] for d in listed.values()} == {1}
        assert '<div id="app"' in httpx.get(f"http://127.0.0.1:{port}/").text
        stranded = _missed_while_nobody_served(home, api, listed["spectral-weekly"]["id"])
        finished = wait_for(lambda: _runs(home, api, "COMPLETED"), process)
        assert finished[0]["auto_scheduled"]
        assert re.fullmatch(r".+:\d+", finished[0]["infrastructure_pid"])
        runs = Warehouse.open(home).query("SELECT DISTINCT model, occasion FROM run WHERE NOT is_null")
        assert runs["model"].to_list() == ["fake-a"]
        assert re.fullmatch(r"20\d\d-w\d\d", runs["occasion"].item())
        states = {run["id"]: run["state"]["type"] for run in _runs(home, api)}
        assert [states[name] for name in stranded] == ["CANCELLED", "CRASHED"]
        said = prefect_post(api, "/logs/filter", {}, login(home))
        assert any(line["flow_run_id"] == finished[0]["id"] for line in said)
        (artifact,) = prefect_post(api, "/artifacts/filter", {"limit": 1}, login(home))
        (link,) = re.findall(r"\[Report\]\((http://[^)]+)\)", artifact["description"])
        name, _, password = login(home).partition(":")
        page = httpx.get(link, auth=(name, password), timeout=120)
        assert (page.status_code, "<html" in page.text) == (200, True)
        tasks = prefect_post(api, "/task_runs/filter", {}, login(home))
        assert any(re.fullmatch(r"fake-a: .+, part [0-9a-f]{8}", task["name"]) for task in tasks)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=180) == 0
    finally:
        process.kill()
        _, text = process.communicate()
    assert f"login        {login(home)}" in text
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{api}/health")


def _missed_while_nobody_served(home: Path, api: str, deployment: str) -> list[str]:
    """A scheduled run of yesterday's, and one that is said to run in a process that is gone."""
    gone = subprocess.Popen(["true"])
    gone.wait()
    # Due tomorrow until it is marked as scheduled: else the server may start it as one started by hand.
    tomorrow = (datetime.now(UTC) + timedelta(hours=30)).isoformat()
    late = {"type": "SCHEDULED", "state_details": {"scheduled_time": tomorrow}}
    made = []
    for state in (late, {"type": "RUNNING"}):
        path = f"/deployments/{deployment}/create_flow_run"
        made.append(prefect_post(api, path, {"state": state}, login(home))["id"])
    with sqlite3.connect(home / "prefect" / "prefect.db", timeout=60) as database:
        yesterday = f"{datetime.now(UTC) - timedelta(hours=30):%Y-%m-%d %H:%M:%S.%f}"
        due = "auto_scheduled = 1, next_scheduled_start_time = ?, expected_start_time = ?"
        database.execute(f"UPDATE flow_run SET {due} WHERE id = ?", [yesterday, yesterday, made[0]])
        process = f"{socket.gethostname()}:{gone.pid}"
        database.execute("UPDATE flow_run SET infrastructure_pid = ? WHERE id = ?", [process, made[1]])
    return made


def run_of(deployment: int, minutes: float, *, by_hand: bool = False) -> FlowRun:
    """A run that is due so many minutes after NOW."""
    due = NOW + timedelta(minutes=minutes)
    return FlowRun(
        id=uuid4(), flow_id=uuid4(), deployment_id=UUID(int=deployment), next_scheduled_start_time=due,
        auto_scheduled=not by_hand,
    )  # fmt: skip


def test_of_missed_runs_the_newest_alone_may_start() -> None:
    every_minute = [run_of(1, -n) for n in range(81)]
    other, soon, old = run_of(2, -70), run_of(1, 0.1), run_of(3, -25 * 60)
    runs, missed = sort_out([*every_minute, other, soon, old], NOW - timedelta(days=9), NOW)
    assert runs == [other, every_minute[0], soon]
    assert {run.id for run in missed} == {run.id for run in [*every_minute[1:], old]}


def test_what_was_due_before_serving_began_is_dropped() -> None:
    before, after = run_of(1, -6), run_of(2, -4)
    assert sort_out([before, after], NOW - timedelta(minutes=5), NOW) == ([after], [before])


def test_what_somebody_started_goes_first_and_is_never_missed() -> None:
    by_hand, scheduled = run_of(1, -9000, by_hand=True), run_of(1, -1)
    assert sort_out([scheduled, by_hand], NOW - timedelta(minutes=5), NOW) == ([by_hand], [])


@pytest.mark.parametrize(
    ("process", "expected"),
    [
        (f"{socket.gethostname()}:{os.getpid()}", False),
        (f"{socket.gethostname()}:999999999", True),
        (f"{socket.gethostname()}:1", True),  # it began long before this machine: its number was used again
        ("another-host:999999999", False),
        (None, True),
    ],
    ids=["alive", "ended", "number used again", "another machine", "unknown"],
)
def test_a_run_has_crashed_once_its_process_is_gone(process: str | None, expected: bool) -> None:
    begun = datetime(2001, 1, 1, tzinfo=UTC) if process and process.endswith(":1") else datetime.now(UTC)
    run = FlowRun(
        flow_id=uuid4(), infrastructure_pid=process, start_time=begun, state=Running(timestamp=begun)
    )
    assert is_gone(run, since=datetime.now(UTC)) is expected
    assert not is_gone(FlowRun(flow_id=uuid4(), state=Running()), since=NOW)  # it has not signed in yet


def _deployments(home: Path, api: str) -> dict[str, dict[str, Any]]:
    """By name, once all are there: ingest is the last."""
    listed = prefect_post(api, "/deployments/filter", {}, login(home))
    names = {each["name"]: each for each in listed}
    return names if "ingest-live" in names else {}


def _runs(home: Path, api: str, state: str | None = None) -> list[dict[str, Any]]:
    query = {"flow_runs": {"state": {"type": {"any_": [state]}}}} if state else {}
    runs: list[dict[str, Any]] = prefect_post(api, "/flow_runs/filter", query, login(home))
    return runs
