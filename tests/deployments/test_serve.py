"""``culturemeter serve`` as a user runs it: UI, deployments, a scheduled run that really starts, Ctrl-C."""

from __future__ import annotations

import os
import re
import signal
import socket
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from prefect.client.schemas.objects import FlowRun
from prefect.states import Crashed, Running

from deployments.cli.serve import check_cron
from deployments.evaluations import doors, params, profiles
from deployments.serve.server import login
from deployments.serve.serving import RESUMED, is_gone, may_resume, sort_out
from tasks.loop.steps import machine, process_of
from tests.conftest import command, environment, prefect_post
from tests.ports import free_port
from tests.waiting import until
from warehouse import Warehouse

WAIT_S = 600  # a new server takes minutes on a busy machine
NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)


@dataclass
class Serving:
    """``culturemeter serve`` as a process, and its API."""

    home: Path
    port: int
    process: subprocess.Popen[str]

    @property
    def api(self) -> str:
        return f"http://127.0.0.1:{self.port}/api"

    def post(self, path: str, body: object) -> Any:
        return prefect_post(self.api, path, body, login(self.home))

    def patch(self, path: str, body: object) -> None:
        prefect_post(self.api, path, body, login(self.home), "PATCH")

    def page(self, url: str) -> httpx.Response:
        name, _, password = login(self.home).partition(":")
        return httpx.get(url, auth=(name, password), timeout=WAIT_S)

    def deployments(self) -> dict[str, dict[str, Any]]:
        """Return the deployments by name once all are registered (ingest-live is the last), else {}."""
        names = {each["name"]: each for each in self.post("/deployments/filter", {})}
        return names if "ingest-live" in names else {}

    def runs(self, *states: str) -> list[dict[str, Any]]:
        """Return flow runs, all or those in these states."""
        query = {"flow_runs": {"state": {"type": {"any_": list(states)}}}} if states else {}
        runs: list[dict[str, Any]] = self.post("/flow_runs/filter", query)
        return runs

    def wait(self, condition: Callable[[], Any]) -> Any:
        """Poll until the condition has a value; fail at once if the server has ended."""

        def there() -> Any:
            assert self.process.poll() is None, self.process.stderr and self.process.stderr.read()
            try:
                return condition()
            except httpx.HTTPError:
                return None

        return until(there, every=0.5)


@contextmanager
def serving(home: Path, *arguments: str) -> Iterator[Serving]:
    port = free_port()
    process = subprocess.Popen(
        command("serve", "-m", "fake-a", "--judges", "fake-b", "--profile", "smoke", "--port", str(port),
                "--evaluations", "spectral", *arguments),
        env=environment(home, None), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        yield Serving(home, port, process)
    finally:
        process.kill()
        process.communicate()


@pytest.mark.slow
@pytest.mark.heavy
def test_scheduled_run_starts_and_an_interrupted_run_resumes_after_a_restart(home: Path) -> None:
    (home / "engines" / "smollm2-135m-vllm.toml").write_text('kind = "fake"\nmodel = "judge"\n')
    with serving(home, "--cron", "* * * * *", "--max-usd", "2") as server:
        listed = server.wait(server.deployments)
        _check_deployments(listed)
        assert '<div id="app"' in httpx.get(f"http://127.0.0.1:{server.port}/").text
        weekly = listed["evaluate-all"]
        stranded = _missed_run(server, weekly["id"])
        whole = server.wait(lambda: _finished_of(server, weekly["id"]))
        _check_scheduled_run(server, whole)
        states = {run["id"]: run["state"]["type"] for run in server.runs()}
        assert states[stranded] == "CANCELLED"
        (schedule,) = weekly["schedules"]
        changed = {"active": False, "schedule": {"cron": "0 5 * * *", "timezone": "UTC"}}
        server.patch(f"/deployments/{weekly['id']}/schedules/{schedule['id']}", changed)
        form = {"models": ["slow"], "profile": "smoke", "max_items": 6, "countries_per_part": 1}
        parameters = {"parameters": {"params": form}}
        by_hand = server.post(f"/deployments/{listed['spectral']['id']}/create_flow_run", parameters)["id"]
        parts = home / "parts" / "item_logprob"
        begun = server.wait(lambda: _of_slow(home) >= 3 and {file.name for file in parts.glob("[!_]*")})
        server.process.terminate()  # as whoever restarts a service does
        assert server.process.wait(timeout=180) == 0
        printed = server.process.stderr.read() if server.process.stderr else ""
        assert f"login        {login(home)}" in printed
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{server.api}/health")
    assert _of_slow(home) < ALL_OF_SLOW
    with serving(home) as server:
        server.wait(lambda: by_hand in {run["id"] for run in server.runs("COMPLETED")})
        (resumed,) = (run for run in server.runs() if run["id"] == by_hand)
        assert resumed["run_count"] == 2
        assert _of_slow(home) == ALL_OF_SLOW
        assert begun <= {file.name for file in parts.glob("[!_]*")}  # no request was repeated
        (kept,) = server.deployments()["evaluate-all"]["schedules"]
        assert (kept["schedule"]["cron"], kept["active"]) == ("0 5 * * *", False)
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(timeout=180) == 0


ALL_OF_SLOW = 6 * 9
"""Units that the slow model answers: countries and questions of the profile."""


def _of_slow(home: Path) -> int:
    units = "SELECT count(*) AS n FROM part_unit JOIN run USING (run_id) WHERE kind = 'item_logprob'"
    return int(Warehouse.open(home).query(f"{units} AND model = 'slow'")["n"][0])


def _check_deployments(listed: dict[str, dict[str, Any]]) -> None:
    builds = {f"culturall-{stage}" for stage in ("build", "elevate", "release")}
    offered = [name for name, door in doors().items() if door.is_served]
    assert listed.keys() == {*offered, *builds, "evaluate-all", "ingest-live", "specnorm-build"}
    knobs = {name: d["parameters"].get("params", {}) for name, d in listed.items()}
    assert (knobs["cure"]["judges"], knobs["fmlama"]["judges"]) == (["fake-b"], ["fake-b"])
    assert (knobs["evaluate-all"]["max_usd"], knobs["cure"].get("max_usd")) == (2, None)
    for name in offered:
        schema = listed[name]["parameter_openapi_schema"]
        form = schema["definitions"][params(name).__name__]["properties"]
        assert form["profile"]["enum"] == [*profiles(name), "custom"]
        assert knobs[name]["profile"] == "smoke"
    assert {d["global_concurrency_limit"]["limit"] for d in listed.values()} == {1}


def _finished_of(server: Serving, deployment: str) -> dict[str, Any] | None:
    return next((run for run in server.runs("COMPLETED") if run["deployment_id"] == deployment), None)


def _check_scheduled_run(server: Serving, whole: dict[str, Any]) -> None:
    """Check a scheduled run of all evaluations: subruns, occasion, logs, tasks, artifacts and pages."""
    assert whole["auto_scheduled"]
    assert re.fullmatch(r".+:\d+", whole["infrastructure_pid"])
    under = [run for run in server.runs() if run["parent_task_run_id"]]
    assert {run["name"] for run in under} >= {"spectral smoke"}
    runs = Warehouse.open(server.home).query("SELECT DISTINCT model, occasion FROM run WHERE NOT is_null")
    due = datetime.fromisoformat(whole["expected_start_time"]).isocalendar()
    assert runs.rows() == [("fake-a", f"{due.year}-w{due.week:02}")]
    logs = server.post("/logs/filter", {})
    assert any(line["flow_run_id"] == whole["id"] for line in logs)
    by_key = {each["key"]: each["description"] for each in server.post("/artifacts/filter", {})}
    assert by_key["evaluate-all"] == "1 done, 0 failed"
    links = dict(re.findall(r"\[(\w+)\]\((http://[^)]+)\)", by_key["leaderboard-spectral"]))
    assert links["Leaderboard"] == f"{links['Report']}#leaderboard"
    for url in (links["Report"], f"http://127.0.0.1:{server.port}/reports"):
        page = server.page(url)
        assert (page.status_code, "fake-a" in page.text) == (200, True)
    tasks = server.post("/task_runs/filter", {})
    assert any(re.fullmatch(r"fake-a: .+, part [0-9a-f]{8}", task["name"]) for task in tasks)


def _missed_run(server: Serving, deployment: str) -> str:
    """Create a run that was scheduled for yesterday; return its id."""
    # Due tomorrow until it is marked as scheduled: else the server may start it as one started by hand.
    tomorrow = (datetime.now(UTC) + timedelta(hours=30)).isoformat()
    late = {"state": {"type": "SCHEDULED", "state_details": {"scheduled_time": tomorrow}}}
    run: str = server.post(f"/deployments/{deployment}/create_flow_run", late)["id"]
    with sqlite3.connect(server.home / "prefect" / "prefect.db", timeout=60) as database:
        yesterday = f"{datetime.now(UTC) - timedelta(hours=30):%Y-%m-%d %H:%M:%S.%f}"
        due = "auto_scheduled = 1, next_scheduled_start_time = ?, expected_start_time = ?"
        database.execute(f"UPDATE flow_run SET {due} WHERE id = ?", [yesterday, yesterday, run])
    return run


def run_of(deployment: int, minutes: float, *, by_hand: bool = False) -> FlowRun:
    """Return a run that is due `minutes` after NOW."""
    due = NOW + timedelta(minutes=minutes)
    return FlowRun(
        id=uuid4(), flow_id=uuid4(), deployment_id=UUID(int=deployment), next_scheduled_start_time=due,
        auto_scheduled=not by_hand,
    )  # fmt: skip


def test_only_the_newest_of_missed_runs_starts() -> None:
    every_minute = [run_of(1, -n) for n in range(81)]
    other, soon, old = run_of(2, -70), run_of(1, 0.1), run_of(3, -25 * 60)
    runs, missed = sort_out([*every_minute, other, soon, old], NOW - timedelta(days=9), NOW)
    assert runs == [other, every_minute[0], soon]
    assert {run.id for run in missed} == {run.id for run in [*every_minute[1:], old]}


def test_run_due_before_serving_began_is_dropped() -> None:
    before, after = run_of(1, -6), run_of(2, -4)
    assert sort_out([before, after], NOW - timedelta(minutes=5), NOW) == ([after], [before])


def test_run_started_by_hand_goes_first_and_is_never_missed() -> None:
    by_hand, scheduled = run_of(1, -9000, by_hand=True), run_of(1, -1)
    assert sort_out([scheduled, by_hand], NOW - timedelta(minutes=5), NOW) == ([by_hand], [])


@pytest.mark.parametrize(
    ("process", "expected"),
    [
        (process_of(os.getpid()), False),
        (f"{machine()}/1:999999999", True),
        (f"{machine()}/1:{os.getpid()}", True),  # of a container of this name that was made anew
        (f"{machine()}:{os.getpid()}", True),
        (f"{socket.gethostname()}:{os.getpid()}", True),
        ("another-host:1", True),
        ("another-host/with-its-boot/1:1", True),
        (process_of(os.getpid()).replace(machine(), f"{socket.gethostname()}/another-boot"), True),
        (None, True),
    ],
    ids=[
        "alive",
        "ended",
        "reused number",
        "without its start",
        "of an older version",
        "another host",
        "another container",
        "another boot",
        "unknown",
    ],
)
def test_run_has_crashed_if_its_process_has_ended(process: str | None, expected: bool) -> None:
    now = datetime.now(UTC)
    run = FlowRun(flow_id=uuid4(), infrastructure_pid=process, start_time=now, state=Running(timestamp=now))
    assert is_gone(run, since=datetime.now(UTC)) is expected
    assert not is_gone(FlowRun(flow_id=uuid4(), state=Running()), since=NOW)  # no process is recorded yet


def test_a_process_is_known_by_its_start() -> None:
    with subprocess.Popen(["sleep", "60"]) as other:
        known = process_of(other.pid)
        assert known == process_of(other.pid) != process_of(os.getpid())
        assert known.rpartition(":")[2] == str(other.pid)
        other.kill()
    assert process_of(other.pid) == ""


def test_a_run_of_another_host_that_began_after_this_server_has_not_crashed() -> None:
    run = FlowRun(flow_id=uuid4(), infrastructure_pid="another-host/boot:1", state=Running())
    assert not is_gone(run, since=NOW)


@pytest.mark.parametrize(("cron", "n"), [("0 6 * * *", 3), ("0 0 29 2 *", 3), (None, 0)])
def test_next_dates_of_a_schedule_are_known(cron: str | None, n: int) -> None:
    dates = check_cron(cron)
    assert len(dates) == n
    assert dates == sorted(dates)


@pytest.mark.parametrize("cron", ["0 0 30 2 *", "0 0 31 4 *", "0 0 31 2,4,6 *"])
def test_a_schedule_that_never_comes_is_refused(cron: str) -> None:
    with pytest.raises(ValueError, match="never comes"):
        check_cron(cron)


@pytest.mark.parametrize("cron", ["* * * * * *", "0 0 6 * * *", "0 6 * * * 2027 1"])
def test_schedule_with_seconds_is_refused(cron: str) -> None:
    with pytest.raises(ValueError, match="more than five fields"):
        check_cron(cron)


def test_resumed_run_older_than_its_process_has_not_crashed() -> None:
    begun = datetime.now(UTC) - timedelta(days=1)
    run = FlowRun(
        flow_id=uuid4(), infrastructure_pid=process_of(os.getpid()), start_time=begun,
        state=Running(timestamp=datetime.now(UTC)),
    )  # fmt: skip
    assert not is_gone(run, since=NOW)
    waiting = run.model_copy(update={"infrastructure_pid": RESUMED})
    assert not is_gone(waiting, since=NOW)


def test_crashed_run_may_resume_once_within_a_day() -> None:
    now = datetime.now(UTC)
    crashed = FlowRun(flow_id=uuid4(), run_count=1, state=Crashed(timestamp=now - timedelta(hours=1)))
    assert may_resume(crashed, now)
    assert may_resume(crashed.model_copy(update={"run_count": 0}), now)  # the run never started
    assert not may_resume(crashed.model_copy(update={"run_count": 0, "infrastructure_pid": RESUMED}), now)
    assert not may_resume(crashed.model_copy(update={"run_count": 2}), now)
    assert not may_resume(crashed, now + timedelta(days=2))


def test_resumed_run_goes_first_and_is_not_missed() -> None:
    resumed = run_of(1, -9000).model_copy(update={"run_count": 1})
    assert sort_out([run_of(1, -1), resumed], NOW - timedelta(minutes=5), NOW) == ([resumed], [])
