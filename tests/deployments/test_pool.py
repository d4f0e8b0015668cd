"""``culturemeter serve --pool``: deployments on the server, and its automations for a pool's runs."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from subprocess import CompletedProcess
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import StateType

from deployments.evaluations import doors
from deployments.serve import automations, served, server, serving
from tests.conftest import prefect_post
from tests.deployments.commands import refused

Culturemeter = Callable[..., CompletedProcess[str]]
WISHES = ("-m", "fake-a", "--judges", "fake-b", "--profile", "smoke", "--evaluations", "spectral")


@pytest.fixture
def registered(culturemeter: Culturemeter, prefect_api: str) -> Callable[..., str]:
    """Register to a pool; return the printed worker command."""

    def register(name: str, *more: str) -> str:
        return culturemeter("serve", "--pool", name, *WISHES, *more).stdout

    return register


def of(api: str, what: str, query: object = None) -> dict[str, Any]:
    """Return the server's objects of a kind by name."""
    return {each["name"]: each for each in prefect_post(api, f"/{what}/filter", query or {})}


def test_worker_environment_lists_needed_variables_only(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "engines").mkdir()
    ours = 'kind = "openai"\nmodel = "m"\napi_key_env = "OUR_LOGIN_TOKEN"'
    for name, lines in (("ours", ours), ("broken", "?")):
        (tmp_path / "engines" / f"{name}.toml").write_text(lines)
    for name in list(os.environ):
        monkeypatch.delenv(name)
    theirs = {
        "AWS_ACCESS_KEY_ID", "AWS_REGION", "AWS_SECRET_ACCESS_KEY", "CULTUREMETER_PARTS",
        "CULTUREMETER_PARTS_ENDPOINT", "CULTUREMETER_REPLICAS", "CULTUREMETER_WAREHOUSE", "HF_TOKEN",
        "OPENAI_API_KEY", "OUR_LOGIN_TOKEN", "PGPASSWORD", "PREFECT_API_AUTH_STRING", "RAY_AUTH_TOKEN",
    }  # fmt: skip
    for name in (*theirs, "CULTUREMETER_HOME", "CULTUREMETER_REPORTS", "HF_HOME", "PATH", "PREFECT_API_URL"):
        monkeypatch.setenv(name, "x")
    assert serving.needed(tmp_path) == sorted(theirs)
    (tmp_path / "far.toml").write_text(ours.replace("OUR_LOGIN", "THEIR"))
    monkeypatch.setenv("THEIR_TOKEN", "x")
    monkeypatch.setenv("GITHUB_TOKEN", "x")
    further = serving.needed(tmp_path, [str(tmp_path / "far.toml"), "openai/gpt-5-mini", "no such model"])
    assert further == sorted({*theirs, "THEIR_TOKEN"})


@pytest.mark.slow
def test_pool_has_the_deployments_schedules_and_limits_of_serve(
    registered: Callable[..., str], prefect_api: str
) -> None:
    printed = registered("lab", "--limit", "3", "--cron", "0 6 * * *", "--max-usd", "2")
    worker = "prefect worker start --pool lab --type process --limit 1"
    assert printed == f"PREFECT_API_URL={prefect_api} {worker}\n"
    lab = of(prefect_api, "work_pools")["lab"]
    assert (lab["type"], lab["concurrency_limit"]) == ("process", 3)
    assert "env" in lab["base_job_template"]["variables"]["properties"]
    listed = of(prefect_api, "deployments")
    offered = {name for name, door in doors().items() if door.is_served}
    assert offered | {"evaluate-all", "ingest-live"} <= listed.keys()
    assert {each["work_pool_name"] for each in listed.values()} == {"lab"}
    assert {each["global_concurrency_limit"]["limit"] for each in listed.values()} == {1}
    weekly = listed["evaluate-all"]
    assert (weekly["parameters"]["params"]["max_usd"], weekly["tags"]) == (2, ["culturemeter"])
    assert [each["schedule"]["cron"] for each in weekly["schedules"]] == ["0 6 * * *"]
    assert listed["cure"]["parameters"]["params"]["judges"] == ["fake-b"]
    assert listed["cure"]["job_variables"] == {"env": {"PREFECT_FLOWS_HEARTBEAT_FREQUENCY": "30"}}
    names = {f"culturemeter: {each}" for each in ("silent", "resume", "missed", "not started")}
    assert names <= of(prefect_api, "automations").keys()

    schedule = weekly["schedules"][0]["id"]
    changed = {"active": False, "schedule": {"cron": "0 5 * * *", "timezone": "UTC"}}
    prefect_post(prefect_api, f"/deployments/{weekly['id']}/schedules/{schedule}", changed, method="PATCH")
    before = of(prefect_api, "automations")
    registered("lab")  # again, as after an upgrade: nothing is doubled, and users' settings stay
    assert of(prefect_api, "work_pools")["lab"]["concurrency_limit"] == 3
    after = of(prefect_api, "automations")
    assert {name: each["id"] for name, each in after.items()} == {n: e["id"] for n, e in before.items()}
    (kept,) = of(prefect_api, "deployments")["evaluate-all"]["schedules"]
    assert (kept["schedule"]["cron"], kept["active"]) == ("0 5 * * *", False)


@pytest.mark.slow
@pytest.mark.heavy
def test_only_the_newest_of_late_scheduled_runs_is_current(
    registered: Callable[..., str], prefect_api: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    registered("lab")
    weekly = of(prefect_api, "deployments")["evaluate-all"]["id"]
    older, newer, by_hand = (_late(prefect_api, weekly, hours, hours > 1) for hours in (9, 5, 1))
    with server.pointed_at(prefect_api), get_client(sync_client=True) as client:
        for run, expected in ((older, True), (newer, False), (by_hand, False)):
            context = SimpleNamespace(flow_run=client.read_flow_run(run))
            monkeypatch.setattr(served, "FlowRunContext", SimpleNamespace(get=lambda at=context: at))
            assert served.is_superseded() is expected


def _late(api: str, deployment: str, hours: float, is_scheduled: bool) -> UUID:
    """Create a run that was due `hours` ago and did not start."""
    # Due tomorrow until it is marked as scheduled, so that the server does not mark it late meanwhile.
    tomorrow = (datetime.now(UTC) + timedelta(hours=30)).isoformat()
    late = {"state": {"type": "SCHEDULED", "state_details": {"scheduled_time": tomorrow}}}
    run: str = prefect_post(api, f"/deployments/{deployment}/create_flow_run", late)["id"]
    with sqlite3.connect(Path(os.environ["PREFECT_HOME"]) / "prefect.db", timeout=60) as database:
        due = f"{datetime.now(UTC) - timedelta(hours=hours):%Y-%m-%d %H:%M:%S.%f}"
        columns = "auto_scheduled = ?, next_scheduled_start_time = ?, expected_start_time = ?"
        database.execute(f"UPDATE flow_run SET {columns} WHERE id = ?", [is_scheduled, due, due, run])
    return UUID(run)


@pytest.mark.slow
@pytest.mark.heavy
def test_pool_of_another_type_keeps_its_type(registered: Callable[..., str], prefect_api: str) -> None:
    prefect_post(prefect_api, "/work_pools/", {"name": "grid", "type": "kubernetes", "base_job_template": {}})
    assert registered("grid").endswith("--pool grid --type kubernetes --limit 1\n")
    assert of(prefect_api, "work_pools")["grid"]["type"] == "kubernetes"
    assert {each["work_pool_name"] for each in of(prefect_api, "deployments").values()} == {"grid"}


def test_login_in_an_address_is_removed() -> None:
    assert serving._open("https://me:secret@head.example:4200/api") == "https://head.example:4200/api"


def test_pool_name_is_quoted_in_the_worker_command() -> None:
    assert " --pool 'our lab; ls' --type process" in serving.worker("our lab; ls", "process")


@pytest.mark.parametrize(
    ("arguments", "environment", "message"),
    [
        (["--limit", "2"], {}, "--limit needs --pool"),
        (["--pool", "lab"], {}, "set PREFECT_API_URL"),
        (["--pool", "lab"], {"PREFECT_API_URL": "http://127.0.0.1:1/api"}, "no server answers at"),
    ],
)
def test_serve_pool_without_option_or_server_is_refused(
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    environment: dict[str, str],
    message: str,
) -> None:
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    assert message in refused("serve", *arguments, CULTUREMETER_HOME=str(home), **environment)


def test_crashed_run_is_resumed_a_limited_number_of_times() -> None:
    resume = by_name("lab")["resume"]
    runs = [str(count) for count in range(1, automations.AGAIN + 1)]
    assert resume.trigger.match.model_dump()["prefect.run-count"] == runs  # a run that never began is not
    (action,) = resume.actions
    assert (action.state, action.name) == (StateType.SCHEDULED, "AwaitingRetry")


def test_run_is_silent_after_more_than_one_missed_heartbeat() -> None:
    silent = by_name("lab")["silent"]
    assert timedelta(seconds=automations.HEARTBEAT_S) < silent.trigger.within < timedelta(seconds=60)
    assert "prefect.flow-run.heartbeat" in silent.trigger.after
    assert silent.actions[0].state is StateType.CRASHED


def test_only_scheduled_runs_of_the_pool_count_as_missed() -> None:
    related = by_name("lab")["missed"].trigger.match_related
    assert "prefect.tag.auto-scheduled" in str(related)
    assert "'lab'" in str(related)


def test_only_process_pools_report_runs_that_do_not_start() -> None:
    assert "not started" in by_name("lab")
    assert "not started" not in by_name("lab", "kubernetes")


def by_name(name: str, kind: str = "process") -> dict[str, Any]:
    return {each.name.removeprefix("culturemeter: "): each for each in automations.of_pool(name, kind)}
