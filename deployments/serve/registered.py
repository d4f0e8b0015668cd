"""What a Prefect server is told of this program: a deployment of every evaluation, and their schedule.

Who starts their runs is another matter: ``serve`` in a process of its own, or the workers of a work pool.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from prefect.client.orchestration import PrefectClient
from prefect.client.schemas.actions import DeploymentScheduleCreate
from prefect.client.schemas.filters import DeploymentFilter
from prefect.client.schemas.objects import ConcurrencyLimitConfig
from prefect.deployments.runner import RunnerDeployment
from prefect.exceptions import ObjectNotFound
from prefect.types.entrypoint import EntrypointType

from deployments.cli.choices import AllParams, judging, usual_profile
from deployments.cli.ingest import CONTACT
from deployments.cli.options import validated
from deployments.evaluations import DEFAULT_PROFILE, doors, sound

WRITERS = ["smollm2-135m-vllm"]
TAG = "culturescope"
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

    @property
    def schedule(self) -> str:
        """What is re-evaluated when, for people."""
        return f"{self.cron or f'as scheduled in the UI, at first {WEEKLY}'} (UTC), {self.scheduled}"


Add = Callable[[RunnerDeployment], Awaitable[UUID]]


async def register(
    client: PrefectClient, every: Iterable[RunnerDeployment], cron: str | None, add: Add
) -> None:
    """Register the deployments with ``add``, and remove others of ours.

    Args:
        cron: in place of the schedules that they have; None: they keep them.
    """
    own = [await _register(client, deployment, cron, add) for deployment in every]
    tagged = DeploymentFilter.model_validate({"tags": {"all_": [TAG]}})
    for old in await client.read_deployments(deployment_filter=tagged):
        if old.id not in own:  # an earlier version's, or of an evaluation that is gone
            await client.delete_deployment(old.id)


async def _register(client: PrefectClient, deployment: RunnerDeployment, cron: str | None, add: Add) -> UUID:
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
    return await add(deployment)


def deployments(wishes: Wishes) -> list[RunnerDeployment]:
    """One of each evaluation, one that runs all of them, on a schedule; those that build items, and ingest.

    The occasion of a re-evaluation is the week: its answers stand beside the others.
    """
    from deployments.serve.served import evaluate_all, served
    from flows.build import build_culturall, build_specnorm, elevate_culturall, release_culturall
    from flows.ingest import ingest

    of_evaluations = []
    for name in sound():
        door = doors()[name]
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
