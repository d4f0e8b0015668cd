"""``culturescope serve``: a Prefect server, deployments of every evaluation, and scheduled re-evaluations."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psutil
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import DeploymentFilter, FlowRunFilter
from prefect.client.schemas.objects import ConcurrencyLimitConfig, ConcurrencyLimitStrategy, FlowRun
from prefect.deployments.runner import RunnerDeployment
from prefect.runner import Runner
from prefect.states import Cancelled, Crashed
from prefect.types.entrypoint import EntrypointType

from deployments.cli_ingest import CONTACT
from deployments.display import say
from deployments.evaluations import doors, flow, params, profile, profiles
from deployments.server import HOST, login, pointed_at, started

WRITERS = ["smollm2-135m-vllm"]
TAG = "culturescope"
AT_WORK = FlowRunFilter.model_validate({"state": {"type": {"any_": ["PENDING", "RUNNING", "CANCELLING"]}}})
LATEST = timedelta(hours=24)
"""A scheduled run that could not start for so long is dropped."""


@dataclass(frozen=True)
class Wishes:
    """What the command line says of the deployments.

    Attributes:
        models, judges: None: each evaluation's own.
        scheduled: profile of the re-evaluation. cron: when it is due (UTC).
        max_total_tokens, max_usd: budget of each scheduled run, per model.
    """

    models: list[str] | None = None
    judges: list[str] | None = None
    scheduled: str = "demo"
    cron: str = "0 3 * * 1"
    max_total_tokens: int | None = None
    max_usd: float | None = None


def serve_until_interrupted(home: Path, wishes: Wishes, port: int) -> None:
    """Serve until Ctrl-C or SIGTERM. Flow runs under way stop, and go on from there when restarted."""
    with started(home, port, announce=True) as url, pointed_at(url):
        say(
            f"Prefect UI   http://{HOST}:{port}\nlogin        {login(home)}\nwarehouse    {home}\n"
            f"re-evaluate  {wishes.cron} (UTC), {wishes.scheduled}",
            style="",
        )
        say("Ctrl-C stops", style="dim")
        signal.signal(signal.SIGINT, signal.default_int_handler)  # Prefect replaces no other
        try:
            asyncio.run(_work_off(deployments(wishes)))
        except KeyboardInterrupt:
            say("stopped", style="")


class _Runner(Runner):
    """Starts due flow runs, one at a time; what was missed is cancelled, and what has died is said so."""

    async def __aenter__(self) -> _Runner:
        await super().__aenter__()
        since, ask = datetime.now(UTC), self._client.get_scheduled_flow_runs_for_deployments

        async def due(*args: Any, **named: Any) -> list[FlowRun]:
            for run in await self._client.read_flow_runs(flow_run_filter=AT_WORK):
                if is_gone(run, since):
                    crashed: Any = Crashed(message="its process is gone")
                    await self._client.set_flow_run_state(run.id, crashed, force=True)
            runs, missed = sort_out(await ask(*args, **named), since, datetime.now(UTC))
            for run in missed:
                dropped: Any = Cancelled(message="missed: nothing served it when it was due")
                await self._client.set_flow_run_state(run.id, dropped, force=True)
            return runs

        # What it polls for due runs: so it is told of those alone that may start.
        self._client.get_scheduled_flow_runs_for_deployments = due  # type: ignore[method-assign]
        return self


async def _work_off(all_deployments: Iterable[RunnerDeployment]) -> None:
    """Register the deployments, remove others of ours, and start what is due until cancelled."""
    runner = _Runner(pause_on_shutdown=False, limit=1)
    own = [await runner.aadd_deployment(deployment) for deployment in all_deployments]
    tagged = DeploymentFilter.model_validate({"tags": {"all_": [TAG]}})
    async with get_client() as client:
        for old in await client.read_deployments(deployment_filter=tagged):
            if old.id not in own:  # an earlier version's, or of an evaluation that is gone
                await client.delete_deployment(old.id)
    await runner.start()


def sort_out(runs: Iterable[FlowRun], since: datetime, now: datetime) -> tuple[list[FlowRun], list[FlowRun]]:
    """Which of the runs that are due may start, and which scheduled ones were missed.

    Missed is what was due before ``since``, is due for longer than ``LATEST``, or is followed by a run of the
    same deployment that is due too. What somebody started by hand is never missed, and goes before the rest.
    """
    by_hand = [run for run in runs if not run.auto_scheduled]
    scheduled = [run for run in runs if run.auto_scheduled]
    scheduled.sort(key=_due)
    newest = {run.deployment_id: run.id for run in scheduled if _due(run) <= now}
    missed = [
        run
        for run in scheduled
        if _due(run) < max(since, now - LATEST) or (_due(run) <= now and newest[run.deployment_id] != run.id)
    ]
    return by_hand or [run for run in scheduled if run not in missed], missed


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
    return run.start_time is not None and begun > run.start_time.timestamp() + 60  # its number is reused


def _due(run: FlowRun) -> datetime:
    return run.next_scheduled_start_time or run.expected_start_time or datetime.max.replace(tzinfo=UTC)


def deployments(wishes: Wishes) -> list[RunnerDeployment]:
    """Of every evaluation one per profile, for the UI, and one that re-evaluates; and two more flows.

    The occasion of a re-evaluation is the week: its answers stand beside the others.
    """
    of_evaluations = []
    for name, door in doors().items():
        known, models = params(name).model_fields, wishes.models or list(door.models)
        asked: dict[str, Any] = {"models": models}
        if wishes.judges:
            asked |= {"judges": wishes.judges} if "judges" in known else {}
            asked |= {"judge": wishes.judges[0]} if "judge" in known else {}
        for label, values in profiles(name).items():
            text = f"{door.title} Profile {label}. Any parameter can be edited."
            of_evaluations.append(_deployment(flow(name), f"{name}-{label}", values | asked, text))
        budget = {"max_total_tokens": wishes.max_total_tokens, "max_usd": wishes.max_usd}
        asked |= {knob: most for knob, most in budget.items() if most is not None and knob in known}
        values = profile(name, wishes.scheduled) | asked | {"occasion": "{week}"}
        text = f"Re-evaluation, profile {wishes.scheduled}: everything is asked anew; what is there stays."
        of_evaluations.append(_deployment(flow(name), f"{name}-weekly", values, text, wishes.cron))
    from flows.build_specnorm import build_specnorm
    from flows.ingest import ingest

    drafts = "Draft SpecNorm items with a model that can, for people to review."
    live = f"Refresh item lists and dishes from live sources; set a contact, here or in {CONTACT}."
    writer = {"model": (wishes.models or WRITERS)[0]}
    build = _deployment(build_specnorm, "specnorm-build", writer, drafts)
    return [*of_evaluations, build, _deployment(ingest, "ingest-live", {}, live)]


def _deployment(
    flow: Any, name: str, parameters: Mapping[str, Any], text: str, cron: str | None = None
) -> RunnerDeployment:
    """A flow with parameters, imported by module path in the runs' own processes; one run at a time.

    A scheduled run that comes due while the one before is at work is dropped, one started by hand waits.
    """
    collision = ConcurrencyLimitStrategy.CANCEL_NEW if cron else ConcurrencyLimitStrategy.ENQUEUE
    deployment = flow.to_deployment(
        name,
        parameters={"params": dict(parameters)},
        description=text,
        cron=cron,
        tags=[TAG],
        concurrency_limit=ConcurrencyLimitConfig(limit=1, collision_strategy=collision),
        entrypoint_type=EntrypointType.MODULE_PATH,
    )
    assert isinstance(deployment, RunnerDeployment)  # a coroutine only where an event loop runs
    return deployment
