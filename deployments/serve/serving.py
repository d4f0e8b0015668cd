"""Start the runs of deployments: in this process (``culturemeter serve``) or on the workers of a pool.

For a pool, this process registers the deployments with the server and ends. They are in one pool at a time.
"""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import signal
from collections.abc import Collection, Iterable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
from prefect.client.orchestration import PrefectClient, get_client
from prefect.client.schemas.actions import WorkPoolCreate, WorkPoolUpdate
from prefect.client.schemas.filters import FlowRunFilter
from prefect.client.schemas.objects import FlowRun, WorkPool
from prefect.client.schemas.sorting import FlowRunSort
from prefect.deployments.runner import RunnerDeployment
from prefect.exceptions import ObjectNotFound, PrefectHTTPStatusError
from prefect.runner import Runner
from prefect.states import AwaitingRetry, Cancelled, Crashed
from prefect.workers.process import ProcessWorker

from deployments.serve import automations
from deployments.serve.served import ServeOptions, deployments, register
from deployments.serve.server import HOST, ServerError, login, pointed_at, started
from deployments.show.display import say
from tasks.engines.protocols import EngineError
from tasks.engines.specs import catalogue, find_spec
from tasks.loop.steps import AT_WORK as TASKS_AT_WORK
from tasks.loop.steps import machine, process_of

AT_WORK = FlowRunFilter.model_validate({"state": {"type": {"any_": ["PENDING", "RUNNING", "CANCELLING"]}}})
RESUMED = "run again, not signed in yet"
"""Placeholder for a resumed run's process, until the new process records itself."""
LATEST = timedelta(hours=24)
"""A scheduled run this late is dropped, and a run that crashed this long ago is not resumed."""


def serve_until_interrupted(home: Path, wishes: ServeOptions, port: int) -> None:
    """Serve until Ctrl-C or SIGTERM. Current flow runs stop then, and continue when it serves again."""
    every = deployments(wishes)  # raises for wrong options before anything starts
    with started(home, port, announce=True) as url, pointed_at(url):
        say(
            f"Prefect UI   http://{HOST}:{port}\nlogin        {login(home)}\nwarehouse    {home}\n"
            f"re-evaluate  {wishes.schedule}",
            style="",
        )
        say("Ctrl-C stops", style="dim")
        signal.signal(signal.SIGINT, signal.default_int_handler)  # Prefect replaces only this handler
        try:
            asyncio.run(_work_off(every, wishes.cron))
        except KeyboardInterrupt:
            say("stopped", style="")


class _Runner(Runner):
    """Starts due flow runs, one at a time; it cancels missed runs and runs crashed ones once more."""

    def handle_sigterm(self, *_: Any, **__: Any) -> None:
        """Stop as on Ctrl-C. Prefect's own handler would cancel current runs, as if a user had."""
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

        # The runner polls this for due runs; it now returns only those that may start.
        self._client.get_scheduled_flow_runs_for_deployments = due  # type: ignore[method-assign]
        return self


async def _resume(client: PrefectClient, own: Collection[UUID], since: datetime) -> None:
    """Mark runs whose process is gone as crashed, or as cancelled if a user asked for that; schedule crashed
    runs of our deployments again, once each.

    Stored answers are not generated again, so a run continues from where it was.
    """
    for run in await client.read_flow_runs(flow_run_filter=AT_WORK):
        if is_gone(run, since):
            was_wished = run.state is not None and run.state.is_cancelling()
            over: Any = (Cancelled if was_wished else Crashed)(message="its process is gone")
            await _close_tasks(client, run.id)
            await client.set_flow_run_state(run.id, over, force=True)
    ended = {"state": {"type": {"any_": ["CRASHED"]}}, "deployment_id": {"any_": list(own)}}
    crashes = FlowRunFilter.model_validate(ended)
    for run in await client.read_flow_runs(flow_run_filter=crashes, sort=FlowRunSort.END_TIME_DESC):
        if may_resume(run, datetime.now(UTC)):
            await client.update_flow_run(run.id, infrastructure_pid=RESUMED)
            again: Any = AwaitingRetry(message="goes on from the answers that are stored")
            await client.set_flow_run_state(run.id, again, force=True)


async def _close_tasks(client: PrefectClient, run: UUID) -> None:
    """Set the tasks of a flow run that was at work to crashed: nobody else ends them."""
    of_run = FlowRunFilter.model_validate({"id": {"any_": [run]}})
    for task in await client.read_task_runs(flow_run_filter=of_run, task_run_filter=TASKS_AT_WORK):
        crashed: Any = Crashed(message="its flow run's process is gone")
        await client.set_task_run_state(task.id, crashed, force=True)


def may_resume(run: FlowRun, now: datetime) -> bool:
    """Return whether to run a crashed run again: only once, and only within ``LATEST``."""
    is_first = run.run_count <= 1 and run.infrastructure_pid != RESUMED
    return is_first and run.state is not None and run.state.timestamp > now - LATEST


async def _work_off(every: Iterable[RunnerDeployment], cron: str | None) -> None:
    """Register the deployments, and start due runs until cancelled."""
    runner = _Runner(pause_on_shutdown=False, limit=1)
    async with get_client() as client:
        await register(client, every, cron, runner.aadd_deployment)
    await runner.start()


def sort_out(runs: Iterable[FlowRun], since: datetime, now: datetime) -> tuple[list[FlowRun], list[FlowRun]]:
    """Return the runs that may start, and the scheduled ones that were missed.

    A scheduled run is missed if it was due before ``since``, has been due for longer than ``LATEST``, or a
    later run of its deployment is due too. Runs that were started by hand or have begun before are never
    missed, and come first.
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
    """Return whether the process of a run (``steps.record_process``) has ended.

    A run without a recorded process is gone if it last changed before ``since``, when this server began. So
    is one of another host or container, or of this machine before it was last started: no such process
    reaches this server, which answers on 127.0.0.1 only.
    """
    process = run.infrastructure_pid or ""
    place, number = process.rpartition("/")[0], process.rpartition(":")[2]
    if place != machine() or not number.isdecimal():
        return run.state is not None and run.state.timestamp < since
    return process_of(int(number)) != process


def _due(run: FlowRun) -> datetime:
    return run.next_scheduled_start_time or run.expected_start_time or datetime.max.replace(tzinfo=UTC)


_NEEDED = re.compile(
    r"PREFECT_API_AUTH_STRING|CULTUREMETER_\w+|PG\w+|AWS_\w+|HF_(?!HOME)\w+|RAY_AUTH_\w+|\w+_API_KEY"
)
_OWN = {"CULTUREMETER_HOME", "CULTUREMETER_REPORTS"}
"""Variables that differ by machine or server, so workers do not take them over."""


def needed(home: Path, models: Iterable[str] = ()) -> list[str]:
    """Return the names of this process's variables that flows read: workers need the same values.

    Args:
        home: folder of the engine specs, which may name further variables for keys.
        models: further models and judges, such as spec files elsewhere.
    """
    keys = set[str]()
    for name in (*catalogue(home / "engines"), *models):
        with suppress(EngineError):  # one that cannot be read is told to whoever uses it
            spec = find_spec(name, home / "engines")
            keys |= {spec.key_variable} if spec.is_served else set()
    return sorted(
        name for name in os.environ if name in keys or (_NEEDED.fullmatch(name) and name not in _OWN)
    )


def to_pool(url: str, name: str, limit: int | None, wishes: ServeOptions) -> str:
    """Register the deployments and automations with a work pool, which is made if missing.

    Args:
        url: the API that this process uses.
        limit: most flow runs of the pool at a time; None keeps the present limit, at first none.

    Returns the command that starts a worker, without secrets.

    Raises:
        ServerError: the server refuses, or none answers.
    """
    every = deployments(wishes)
    try:
        pool = asyncio.run(_tell(name, limit, every, wishes.cron))
        rules = automations.of_pool(name, pool.type)
        for automation in rules:
            automations.save(automation)
    except (PrefectHTTPStatusError, httpx.HTTPError) as error:
        raise ServerError(f"{url} refuses the work pool {name!r}: {_reason(error)}") from error
    bound = "no limit" if pool.concurrency_limit is None else f"{pool.concurrency_limit} runs at a time"
    say(
        f"work pool    {name} ({pool.type}, {bound})\ndeployments  {len(every)}, {url.removesuffix('/api')}\n"
        f"re-evaluate  {wishes.schedule}\n" + "\n".join(f"automation   {each.description}" for each in rules),
        style="",
    )
    return f"PREFECT_API_URL={shlex.quote(_open(url))} {worker(name, pool.type)}"


def worker(pool: str, kind: str) -> str:
    """Return the command for a worker. It runs one flow run at a time, since models fill a machine."""
    return f"prefect worker start --pool {shlex.quote(pool)} --type {shlex.quote(kind)} --limit 1"


async def _tell(
    name: str, limit: int | None, every: Iterable[RunnerDeployment], cron: str | None
) -> WorkPool:
    async with get_client() as client:
        pool = await _pool(client, name, limit)
        await register(client, every, cron, partial(_add, pool=name))
    return pool


async def _pool(client: PrefectClient, name: str, limit: int | None) -> WorkPool:
    """Return the pool with that limit; an existing pool keeps its type and its job template."""
    try:
        await client.read_work_pool(name)
    except ObjectNotFound:
        template = ProcessWorker.get_default_base_job_template()
        await client.create_work_pool(
            WorkPoolCreate(
                name=name, type="process", base_job_template=template, description="Runs of Culturemeter."
            )
        )
    if limit is not None:
        await client.update_work_pool(name, WorkPoolUpdate(concurrency_limit=limit))
    return await client.read_work_pool(name)


async def _add(deployment: RunnerDeployment, pool: str) -> UUID:
    deployment.job_variables = {"env": automations.ENVIRONMENT}
    return await deployment.aapply(work_pool_name=pool)


def _open(url: str) -> str:
    """Return a URL without a login."""
    return str(httpx.URL(url).copy_with(username=None, password=None))


def _reason(error: Exception) -> str:
    """Return an error as one line; for a refused login it says what to do."""
    if isinstance(error, httpx.HTTPStatusError):
        if error.response.status_code == 401:
            return "it needs a login: set PREFECT_API_AUTH_STRING to the server's"
        return f"{error.response.status_code} {' '.join(error.response.text.split())[:300]}"
    return str(error) or type(error).__name__
