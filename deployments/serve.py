"""``culturescope serve``: a Prefect server, deployments of every evaluation, and scheduled re-evaluations."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import psutil
from prefect.client.orchestration import PrefectClient, get_client
from prefect.client.schemas.actions import DeploymentScheduleCreate
from prefect.client.schemas.filters import DeploymentFilter, FlowRunFilter, TaskRunFilter
from prefect.client.schemas.objects import ConcurrencyLimitConfig, FlowRun
from prefect.client.schemas.sorting import FlowRunSort
from prefect.deployments.runner import RunnerDeployment
from prefect.exceptions import ObjectNotFound
from prefect.runner import Runner
from prefect.states import AwaitingRetry, Cancelled, Crashed
from prefect.types.entrypoint import EntrypointType

from deployments.choices import AllParams, judging, usual_profile
from deployments.cli_ingest import CONTACT
from deployments.display import say
from deployments.evaluations import DEFAULT_PROFILE, doors
from deployments.options import validated
from deployments.server import HOST, login, pointed_at, started

WRITERS = ["smollm2-135m-vllm"]
TAG = "culturescope"
AT_WORK = FlowRunFilter.model_validate({"state": {"type": {"any_": ["PENDING", "RUNNING", "CANCELLING"]}}})
TASKS_AT_WORK = TaskRunFilter.model_validate(
    {"state": {"type": {"any_": ["PENDING", "RUNNING"]}, "name": None}}
)
RESUMED = "run again, not signed in yet"
"""Stands for the process of such a run, in place of that of its first try."""
LATEST = timedelta(hours=24)
"""A scheduled run that could not start for so long is dropped, one that crashed so long ago not resumed."""
WEEKLY = "0 3 * * 1"


@dataclass(frozen=True)
class Wishes:
    """What the command line says of the deployments.

    Attributes:
        models, judges: None: each evaluation's own.
        evaluations: those of the re-evaluation; None: all.
        scheduled: profile of the re-evaluation, and of forms to begin with.
        cron: when to re-evaluate (UTC), whatever was scheduled before; None: as it is, at first ``WEEKLY``.
        max_total_tokens, max_usd: budget of each scheduled evaluation, per model.
    """

    models: list[str] | None = None
    judges: list[str] | None = None
    evaluations: list[str] | None = None
    scheduled: str = DEFAULT_PROFILE
    cron: str | None = None
    max_total_tokens: int | None = None
    max_usd: float | None = None


def serve_until_interrupted(home: Path, wishes: Wishes, port: int) -> None:
    """Serve until Ctrl-C or SIGTERM. Flow runs under way stop, and go on from there when it serves again."""
    with started(home, port, announce=True) as url, pointed_at(url):
        say(
            f"Prefect UI   http://{HOST}:{port}\nlogin        {login(home)}\nwarehouse    {home}\n"
            f"re-evaluate  {wishes.cron or f'as scheduled in the UI, at first {WEEKLY}'} (UTC), "
            f"{wishes.scheduled}",
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
            # Only what is final is made anew by a flow that runs again: the runs under it have crashed too.
            of_run = FlowRunFilter.model_validate({"id": {"any_": [run.id]}})
            for task in await client.read_task_runs(flow_run_filter=of_run, task_run_filter=TASKS_AT_WORK):
                gone: Any = Crashed(message="its flow run's process is gone")
                await client.set_task_run_state(task.id, gone, force=True)
            await client.update_flow_run(run.id, infrastructure_pid=RESUMED)
            again: Any = AwaitingRetry(message="goes on from the answers that are stored")
            await client.set_flow_run_state(run.id, again, force=True)


def may_resume(run: FlowRun, now: datetime) -> bool:
    """Whether a crashed run is to be run again: once, however early that fails, and soon after."""
    is_first = run.run_count <= 1 and run.infrastructure_pid != RESUMED
    return is_first and run.state is not None and run.state.timestamp > now - LATEST


async def _work_off(all_deployments: Iterable[RunnerDeployment], cron: str | None) -> None:
    """Register the deployments, remove others of ours, and start what is due until cancelled."""
    runner = _Runner(pause_on_shutdown=False, limit=1)
    tagged = DeploymentFilter.model_validate({"tags": {"all_": [TAG]}})
    async with get_client() as client:
        own = [await _register(runner, client, deployment, cron) for deployment in all_deployments]
        for old in await client.read_deployments(deployment_filter=tagged):
            if old.id not in own:  # an earlier version's, or of an evaluation that is gone
                await client.delete_deployment(old.id)
    await runner.start()


async def _register(
    runner: Runner, client: PrefectClient, deployment: RunnerDeployment, cron: str | None
) -> UUID:
    """Register a deployment. One that is known keeps the schedules that it has, as somebody may have changed
    them in the UI, unless the command line names another one; and it stays paused if it is."""
    try:
        known = await client.read_deployment_by_name(deployment.full_name)
    except ObjectNotFound:
        pass
    else:
        deployment.paused = known.paused
        if not (cron and deployment.schedules):
            kept = {"schedule", "active", "max_scheduled_runs", "parameters", "slug"}
            deployment.schedules = [
                DeploymentScheduleCreate(**{name: getattr(each, name) for name in kept})
                for each in known.schedules
            ]
        elif any(each.slug for each in known.schedules):  # the server refuses to replace these in one go
            for each in known.schedules:
                await client.delete_deployment_schedule(known.id, each.id)
    return await runner.aadd_deployment(deployment)


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
    """Whether the process that works on a run (``steps.sign_in``) has ended.

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


def deployments(wishes: Wishes) -> list[RunnerDeployment]:
    """One of each evaluation, one that runs all of them, on a schedule; those that build items, and ingest.

    The occasion of a re-evaluation is the week: its answers stand beside the others.
    """
    from deployments.served import evaluate_all, served
    from flows.build_culturall import build_culturall, elevate_culturall, release_culturall
    from flows.build_specnorm import build_specnorm
    from flows.ingest import ingest

    of_evaluations = []
    for name, door in doors().items():
        values = {
            "models": wishes.models or list(door.models),
            "profile": usual_profile(name, wishes.scheduled),
            **judging(name, wishes.judges),
        }
        text = f"{door.title} Choose a profile; what you change in the form goes before it."
        of_evaluations.append(_deployment(served(name), name, values, text))
    values = {
        "evaluations": wishes.evaluations or [],
        "models": wishes.models or [],
        "profile": wishes.scheduled,
        "occasion": "{week}",
        "judges": wishes.judges or [],
        "max_total_tokens": wishes.max_total_tokens,
        "max_usd": wishes.max_usd,
    }
    everything = validated(AllParams, values)
    anew = "Re-evaluation: everything is asked anew on the occasion, one for all; what is there stays."
    weekly = _deployment(evaluate_all, "evaluate-all", everything.model_dump(), anew, wishes.cron or WEEKLY)
    writer = {"model": (wishes.models or WRITERS)[0]}
    live = f"Refresh item lists and dishes from live sources; set a contact, here or in {CONTACT}."
    return [
        *of_evaluations,
        weekly,
        _deployment(build_specnorm, "specnorm-build", writer, "Draft SpecNorm items for people to review."),
        _deployment(build_culturall, "culturall-build", writer, "Draft CulturALL items on your sources."),
        _deployment(elevate_culturall, "culturall-elevate", writer, "Make easy drafts harder, for people."),
        _deployment(release_culturall, "culturall-release", writer, "Label and check drafts, and publish."),
        _deployment(ingest, "ingest-live", {}, live),
    ]


def _deployment(
    flow: Any, name: str, parameters: Mapping[str, Any], text: str, cron: str | None = None
) -> RunnerDeployment:
    """A flow with parameters, imported by module path in the runs' own processes; one run at a time."""
    deployment = flow.to_deployment(
        name,
        parameters={"params": dict(parameters)},
        description=text,
        cron=cron,
        tags=[TAG],
        concurrency_limit=ConcurrencyLimitConfig(limit=1),
        entrypoint_type=EntrypointType.MODULE_PATH,
    )
    assert isinstance(deployment, RunnerDeployment)  # a coroutine only where an event loop runs
    return deployment
