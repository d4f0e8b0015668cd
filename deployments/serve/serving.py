"""``culturescope serve``: a Prefect server, deployments of every evaluation, and scheduled re-evaluations."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Collection, Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import psutil
from prefect.client.orchestration import PrefectClient, get_client
from prefect.client.schemas.filters import FlowRunFilter
from prefect.client.schemas.objects import FlowRun
from prefect.client.schemas.sorting import FlowRunSort
from prefect.deployments.runner import RunnerDeployment
from prefect.runner import Runner
from prefect.states import AwaitingRetry, Cancelled, Crashed

from deployments.serve.registered import Wishes, deployments, register
from deployments.serve.server import HOST, login, pointed_at, started
from deployments.show.display import say

AT_WORK = FlowRunFilter.model_validate({"state": {"type": {"any_": ["PENDING", "RUNNING", "CANCELLING"]}}})
RESUMED = "run again, not signed in yet"
"""Stands for the process of such a run, in place of that of its first try."""
LATEST = timedelta(hours=24)
"""A scheduled run that could not start for so long is dropped, one that crashed so long ago not resumed."""


def serve_until_interrupted(home: Path, wishes: Wishes, port: int) -> None:
    """Serve until Ctrl-C or SIGTERM. Flow runs under way stop, and go on from there when it serves again."""
    with started(home, port, announce=True) as url, pointed_at(url):
        say(
            f"Prefect UI   http://{HOST}:{port}\nlogin        {login(home)}\nwarehouse    {home}\n"
            f"re-evaluate  {wishes.schedule}",
            style="",
        )
        say("Ctrl-C stops", style="dim")
        signal.signal(signal.SIGINT, signal.default_int_handler)  # Prefect replaces no other
        try:
            asyncio.run(_work_off(deployments(wishes), wishes.cron))
        except KeyboardInterrupt:
            say("stopped", style="")


class _Runner(Runner):
    """Starts due flow runs, one at a time; what was missed is cancelled, what has died is run once more."""

    def handle_sigterm(self, *_: Any, **__: Any) -> None:
        """As Ctrl-C. Prefect's own would cancel what is under way, as if somebody had decided so."""
        signal.raise_signal(signal.SIGINT)

    async def __aenter__(self) -> _Runner:
        await super().__aenter__()
        since, ask = datetime.now(UTC), self._client.get_scheduled_flow_runs_for_deployments

        async def due(*args: Any, **named: Any) -> list[FlowRun]:
            own = self._deployment_registry.get_deployment_ids()
            await _resume(self._client, own, since)
            runs, missed = sort_out(await ask(*args, **named), since, datetime.now(UTC))
            for run in missed:
                dropped: Any = Cancelled(message="missed: nothing served it when it was due")
                await self._client.set_flow_run_state(run.id, dropped, force=True)
            return runs

        # What it polls for due runs: so it is told of those alone that may start.
        self._client.get_scheduled_flow_runs_for_deployments = due  # type: ignore[method-assign]
        return self


async def _resume(client: PrefectClient, own: Collection[UUID], since: datetime) -> None:
    """Mark runs whose process is gone as crashed, or as cancelled if somebody wished that; schedule those of
    our deployments that have crashed again, once each.

    What they stored is not asked again, so they go on from where they were.
    """
    for run in await client.read_flow_runs(flow_run_filter=AT_WORK):
        if is_gone(run, since):
            was_wished = run.state is not None and run.state.is_cancelling()
            over: Any = (Cancelled if was_wished else Crashed)(message="its process is gone")
            await client.set_flow_run_state(run.id, over, force=True)
    ended = {"state": {"type": {"any_": ["CRASHED"]}}, "deployment_id": {"any_": list(own)}}
    crashes = FlowRunFilter.model_validate(ended)
    for run in await client.read_flow_runs(flow_run_filter=crashes, sort=FlowRunSort.END_TIME_DESC):
        if may_resume(run, datetime.now(UTC)):
            await client.update_flow_run(run.id, infrastructure_pid=RESUMED)
            again: Any = AwaitingRetry(message="goes on from the answers that are stored")
            await client.set_flow_run_state(run.id, again, force=True)


def may_resume(run: FlowRun, now: datetime) -> bool:
    """Whether a crashed run is to be run again: once, however early that fails, and soon after."""
    is_first = run.run_count <= 1 and run.infrastructure_pid != RESUMED
    return is_first and run.state is not None and run.state.timestamp > now - LATEST


async def _work_off(every: Iterable[RunnerDeployment], cron: str | None) -> None:
    """Register the deployments, and start what is due until cancelled."""
    runner = _Runner(pause_on_shutdown=False, limit=1)
    async with get_client() as client:
        await register(client, every, cron, runner.aadd_deployment)
    await runner.start()


def sort_out(runs: Iterable[FlowRun], since: datetime, now: datetime) -> tuple[list[FlowRun], list[FlowRun]]:
    """Which of the runs that are due may start, and which scheduled ones were missed.

    Missed is what was due before ``since``, is due for longer than ``LATEST``, or is followed by a run of the
    same deployment that is due too. What somebody started by hand, or has begun before, is never missed, and
    goes before the rest.
    """
    first = [run for run in runs if not run.auto_scheduled or run.run_count]
    scheduled = [run for run in runs if run.auto_scheduled and not run.run_count]
    scheduled.sort(key=_due)
    newest = {run.deployment_id: run.id for run in scheduled if _due(run) <= now}
    missed = [
        run
        for run in scheduled
        if _due(run) < max(since, now - LATEST) or (_due(run) <= now and newest[run.deployment_id] != run.id)
    ]
    return first or [run for run in scheduled if run not in missed], missed


def is_gone(run: FlowRun, since: datetime) -> bool:
    """Whether the process that works on a run (``steps.record_process``) has ended.

    One that never named its process is gone if it began before ``since``. Of other hosts nothing is known.
    """
    host, _, process = (run.infrastructure_pid or "").partition(":")
    if not process:
        return run.state is not None and run.state.timestamp < since
    if host != socket.gethostname():
        return False
    try:
        begun = psutil.Process(int(process)).create_time()
    except psutil.NoSuchProcess:
        return True
    # Its number is reused. Since the state, as a run that goes on began long before its process.
    return run.state is not None and begun > run.state.timestamp.timestamp() + 60


def _due(run: FlowRun) -> datetime:
    return run.next_scheduled_start_time or run.expected_start_time or datetime.max.replace(tzinfo=UTC)
