"""``culturescope serve`` as a user runs it: UI, deployments, a scheduled run that really starts, Ctrl-C."""

from __future__ import annotations

import re
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from deployments.evaluations import doors, profiles
from deployments.server import free_port
from tests.conftest import command, environment
from warehouse import Warehouse

pytestmark = pytest.mark.slow
WAIT_S = 180


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


def test_a_scheduled_run_starts_and_ctrl_c_stops_everything(home: Path) -> None:
    # One run at a time: the judge of cure, which may be the first, would load vLLM.
    judge = home / "engines" / "smollm2-135m-vllm.toml"
    judge.write_text('kind = "fake"\nmodel = "judge"\n')
    port = free_port()
    api = f"http://127.0.0.1:{port}/api"
    process = subprocess.Popen(
        command("serve", "-m", "fake-a", "--profile", "smoke", "--cron", "* * * * *", "--port", str(port)),
        env=environment(home, None), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        names = wait_for(lambda: _deployments(api), process)
        assert names == {f"{e}/{label}" for e in doors() for label in [*profiles(e), "weekly"]} | {
            "ingest/live",
            "build_specnorm/build",
        }
        assert '<div id="app"' in httpx.get(f"http://127.0.0.1:{port}/").text
        finished = wait_for(lambda: _runs(api, "COMPLETED"), process)
        assert finished[0]["auto_scheduled"]
        runs = Warehouse.open(home).query("SELECT DISTINCT model, occasion FROM run WHERE NOT is_null")
        assert runs["model"].to_list() == ["fake-a"]
        assert re.fullmatch(r"20\d\d-w\d\d", runs["occasion"].item())
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 0
    finally:
        process.kill()
        process.wait()
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{api}/health")


def _deployments(api: str) -> set[str]:
    """Flow and deployment, once all are there: ingest is the last."""
    flows = {f["id"]: f["name"] for f in httpx.post(f"{api}/flows/filter", json={}).json()}
    listed = httpx.post(f"{api}/deployments/filter", json={}).json()
    names = {f"{flows[d['flow_id']]}/{d['name']}" for d in listed if d["flow_id"] in flows}
    return names if "ingest/live" in names else set()


def _runs(api: str, state: str) -> list[dict[str, Any]]:
    query = {"flow_runs": {"state": {"type": {"any_": [state]}}}}
    runs: list[dict[str, Any]] = httpx.post(f"{api}/flow_runs/filter", json=query).json()
    return runs
