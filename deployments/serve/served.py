"""The flows that ``serve`` starts, and their deployments and schedule on a Prefect server.

``deployments.serve.served.<evaluation>`` is the flow of that name with a profile to choose in its form:
Prefect imports it by this path. ``serving`` has the two ways of starting the runs.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any
from uuid import UUID

from prefect import Flow, flow
from prefect.artifacts import create_markdown_artifact
from prefect.client.orchestration import PrefectClient, get_client
from prefect.client.schemas.actions import DeploymentScheduleCreate
from prefect.client.schemas.filters import DeploymentFilter, FlowRunFilter
from prefect.client.schemas.objects import ConcurrencyLimitConfig, State
from prefect.context import FlowRunContext
from prefect.deployments.runner import RunnerDeployment
from prefect.exceptions import ObjectNotFound
from prefect.states import Cancelled
from prefect.types.entrypoint import EntrypointType

from deployments import evaluations
from deployments.cli.choices import (
    AllParams,
    completed,
    form,
    judging,
    one_of_all,
    packs_of_all,
    usual_profile,
)
from deployments.cli.ingest import CONTACT
from deployments.cli.options import validated
from deployments.evaluations import DEFAULT_PROFILE, doors, sound
from deployments.serve.lines import logged
from flows import session as sessions
from flows.evaluation import crashed_if_away, evaluate
from tasks.engines.protocols import EngineError
from tasks.evaluations.contract import Params
from tasks.loop import steps
from warehouse import StoreAway


def __getattr__(name: str) -> Any:
    if name in evaluations.doors():
        return served(name)
    raise AttributeError(name)


@cache
def served(name: str) -> Flow[..., str]:
    """Return the flow of an evaluation, whose form offers profiles."""
    own = evaluations.flow(name)

    def run(params: Params) -> str:
        with logged():
            config: str = own.fn(completed(name, params))
        return config

    run.__name__ = run.__qualname__ = name
    run.__doc__ = own.fn.__doc__
    run.__annotations__ = {"params": form(name), "return": str}
    return Flow(run, name=own.name, flow_run_name=own.flow_run_name, validate_parameters=True)


@flow(name="evaluate_all", flow_run_name="evaluate_all {params.profile}", validate_parameters=True)
def evaluate_all(params: AllParams) -> list[str] | State:
    """Run several evaluations of several models on one occasion, each as a run of its own."""
    steps.record_process()
    if is_superseded():
        return Cancelled(message="missed: a later scheduled run is due")
    with crashed_if_away():
        return run_all(params)


def is_superseded() -> bool:
    """Return whether the current flow run was scheduled, is late, and a later run of its schedule is due too.

    Needed in a work pool, where nothing drops missed runs before they start.
    """
    context = FlowRunContext.get()
    run = context.flow_run if context else None
    if run is None or not run.auto_scheduled or run.run_count > 1 or run.expected_start_time is None:
        return False
    later = {
        "deployment_id": {"any_": [run.deployment_id]},
        "state": {"type": {"any_": ["SCHEDULED"]}},
        "expected_start_time": {"after_": run.expected_start_time + timedelta(seconds=1)},
        "next_scheduled_start_time": {"before_": datetime.now(UTC)},
    }
    with get_client(sync_client=True) as client:
        runs = client.read_flow_runs(flow_run_filter=FlowRunFilter.model_validate(later))
    return any(each.auto_scheduled for each in runs)


def run_all(params: AllParams) -> list[str]:
    """Run the chosen evaluations one after another; returns those that succeeded.

    Raises:
        EngineError: some failed; says which and why. The others were run all the same.
        ValueError: there is no such pack, or it fits none of the evaluations.
    """
    chosen = params.model_copy(update={"occasion": sessions.occasion(params.occasion)})
    packs = packs_of_all(chosen)  # raises before anything runs
    done: list[str] = []
    failures: dict[str, str] = {}
    for name, taken in packs.items():
        try:
            failure = _run(name, one_of_all(name, chosen, taken))
        except StoreAway:  # the other evaluations need the store too
            raise
        except Exception as error:  # the next evaluation runs all the same
            failure = str(error) or type(error).__name__
        if failure:
            failures[name] = failure
            steps.logger().error("%s: %s", name, failure)
        else:
            done.append(name)
    _sum_up(chosen, done, failures)
    if failures:
        raise EngineError("\n".join(f"{name}: {failure}" for name, failure in failures.items()))
    return done


def _run(name: str, params: Params) -> str:
    """Run an evaluation, as a subflow if a flow run is under way; returns why it failed, or ""."""
    if FlowRunContext.get() is None:
        evaluate(evaluations.evaluation(name), params)
        return ""
    # Returns the state: a subflow that was done before a restart is not run again and has no result.
    state = evaluations.flow(name)(params, return_state=True)
    if state.is_completed():
        return ""
    error = state.result(raise_on_failure=False)
    if isinstance(error, StoreAway):
        raise error
    return str(error) or state.message or state.name


def _sum_up(chosen: AllParams, done: list[str], failures: dict[str, str]) -> None:
    """Attach to the flow run what is done and what failed."""
    if FlowRunContext.get() is None:
        return
    reports = os.environ.get("CULTUREMETER_REPORTS")  # set if our own server shows reports
    link = f"[Overview]({reports}), with the login of this page, or " if reports else ""
    # Messages hold texts of servers and models: as a code block they make no link and no picture.
    failed = [f"- {name}: failed\n\n      {' '.join(text.split())}\n" for name, text in failures.items()]
    title = f"{f'Occasion {chosen.occasion}' if chosen.occasion else 'No occasion'}, profile {chosen.profile}"
    lines = [
        title,
        "",
        *(f"- {name}: done" for name in done),
        *failed,
        "",
        f"{link}`culturemeter report --all`",
    ]
    counts = f"{len(done)} done, {len(failures)} failed"
    create_markdown_artifact("\n".join(lines), key="evaluate-all", description=counts)


WRITERS = ["smollm2-135m-vllm"]
TAG = "culturemeter"
WEEKLY = "0 3 * * 1"


@dataclass(frozen=True)
class ServeOptions:
    """Options of ``culturemeter serve`` for the deployments.

    Attributes:
        models, judges: None for each evaluation's own.
        evaluations: the scheduled evaluations; None for all.
        scheduled: profile of the scheduled runs, and the initial profile of forms.
        cron: the new schedule (UTC); None keeps the present one, at first ``WEEKLY``.
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
        """Return the schedule in words, with the profile."""
        return f"{self.cron or f'as scheduled in the UI, at first {WEEKLY}'} (UTC), {self.scheduled}"


Add = Callable[[RunnerDeployment], Awaitable[UUID]]


async def register(
    client: PrefectClient, every: Iterable[RunnerDeployment], cron: str | None, add: Add
) -> None:
    """Register the deployments with ``add``, and remove our outdated ones.

    Args:
        cron: replaces the present schedules; None keeps them.
    """
    own = [await _register(client, deployment, cron, add) for deployment in every]
    tagged = DeploymentFilter.model_validate({"tags": {"all_": [TAG]}})
    for old in await client.read_deployments(deployment_filter=tagged):
        if old.id not in own:  # of an earlier version, or of a removed evaluation
            await client.delete_deployment(old.id)


async def _register(client: PrefectClient, deployment: RunnerDeployment, cron: str | None, add: Add) -> UUID:
    """Register a deployment. A known one stays paused if it was, and keeps its schedules, which somebody may
    have changed in the UI, unless the command line names a new one."""
    try:
        known = await client.read_deployment_by_name(deployment.full_name)
    except ObjectNotFound:
        pass
    else:
        deployment.paused = known.paused
        if not (cron and deployment.schedules):
            names = {"schedule", "active", "max_scheduled_runs", "parameters", "slug"}
            deployment.schedules = [
                DeploymentScheduleCreate(**{name: getattr(each, name) for name in names})
                for each in known.schedules
            ]
        elif any(
            each.slug for each in known.schedules
        ):  # the server refuses to replace schedules with slugs in one request
            for each in known.schedules:
                await client.delete_deployment_schedule(known.id, each.id)
    return await add(deployment)


def deployments(wishes: ServeOptions) -> list[RunnerDeployment]:
    """Return the deployments: each evaluation, all evaluations on a schedule, the builders, and ingest.

    The occasion of a scheduled run is its week, so that earlier answers are kept.
    """
    from flows.build import build_culturall, build_specnorm, elevate_culturall, release_culturall
    from flows.ingest import ingest

    of_evaluations = []
    for name, door in ((name, doors()[name]) for name in sound() if doors()[name].is_served):
        values = {
            "models": wishes.models or list(door.models),
            "profile": usual_profile(name, wishes.scheduled),
            **judging(name, wishes.judges),
        }
        text = f"{door.title} Choose a profile; fields that you change override it."
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
    anew = "Re-evaluation: generates everything anew on one occasion; earlier answers are kept."
    weekly = _deployment(evaluate_all, "evaluate-all", everything.model_dump(), anew, wishes.cron or WEEKLY)
    writer = {"model": (wishes.models or WRITERS)[0]}
    live = f"Refresh item lists and dishes from live sources. Set a contact here or in {CONTACT}."
    return [
        *of_evaluations,
        weekly,
        _deployment(build_specnorm, "specnorm-build", writer, "Draft SpecNorm items for people to review."),
        _deployment(build_culturall, "culturall-build", writer, "Draft CulturALL items from your sources."),
        _deployment(
            elevate_culturall, "culturall-elevate", writer, "Make easy drafts harder, for people to review."
        ),
        _deployment(
            release_culturall,
            "culturall-release",
            writer,
            "Label and check drafts, and publish accepted ones.",
        ),
        _deployment(ingest, "ingest-live", {}, live),
    ]


def _deployment(
    flow: Any, name: str, parameters: Mapping[str, Any], text: str, cron: str | None = None
) -> RunnerDeployment:
    """Return a flow's deployment: one run at a time, each in a process that imports the flow by its path."""
    deployment = flow.to_deployment(
        name,
        parameters={"params": dict(parameters)},
        description=text,
        cron=cron,
        tags=[TAG],
        concurrency_limit=ConcurrencyLimitConfig(limit=1),
        entrypoint_type=EntrypointType.MODULE_PATH,
    )
    assert isinstance(deployment, RunnerDeployment)  # it is a coroutine only inside an event loop
    return deployment
