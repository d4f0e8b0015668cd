"""The flows that ``serve`` starts: those of flows/ with a profile to choose in their form, and all together.

``deployments.serve.served.<evaluation>`` is the flow of that name: Prefect imports it by this path.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from prefect import Flow, flow
from prefect.artifacts import create_markdown_artifact
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowRunFilter
from prefect.client.schemas.objects import State
from prefect.context import FlowRunContext
from prefect.states import Cancelled

from deployments import evaluations
from deployments.cli.choices import AllParams, completed, form, one_of_all, packs_of_all
from flows import session as sessions
from flows.evaluation import evaluate
from tasks.engines.protocols import EngineError
from tasks.evaluations.contract import Params
from tasks.loop import steps


def __getattr__(name: str) -> Any:
    if name in evaluations.doors():
        return served(name)
    raise AttributeError(name)


@cache
def served(name: str) -> Flow[..., str]:
    """The flow of an evaluation, whose form has profiles to choose from."""
    own = evaluations.flow(name)

    def run(params: Params) -> str:
        config: str = own.fn(completed(name, params))
        return config

    run.__name__ = run.__qualname__ = name
    run.__doc__ = own.fn.__doc__
    run.__annotations__ = {"params": form(name), "return": str}
    return Flow(run, name=own.name, flow_run_name=own.flow_run_name, validate_parameters=True)


@flow(name="evaluate_all", flow_run_name="evaluate_all {params.profile}", validate_parameters=True)
def evaluate_all(params: AllParams) -> list[str] | State:
    """Run several evaluations of several models on one occasion, each a run of its own."""
    steps.record_process()
    if is_superseded():
        return Cancelled(message="missed: a later scheduled run is due")
    return run_all(params)


def is_superseded() -> bool:
    """Whether the flow run under way was scheduled, begins late, and a later one of its schedule is due too.

    In a work pool, where nobody sorts out what is due before it starts.
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
    """Run the chosen evaluations one after another; returns those that are done.

    Raises:
        EngineError: some failed; says which and why. The others are done, whatever failed before them.
        ValueError: a pack is not there, or for none of the evaluations.
    """
    chosen = params.model_copy(update={"occasion": sessions.occasion(params.occasion)})
    packs = packs_of_all(chosen)  # one that none of them takes stops all, before anything is run
    done: list[str] = []
    failures: dict[str, str] = {}
    for name, taken in packs.items():
        try:
            failure = _run(name, one_of_all(name, chosen, taken))
        except Exception as error:  # whatever one evaluation does, the next is run
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
    """Run an evaluation, within a flow run as a run under it; returns why it failed, if it did."""
    if FlowRunContext.get() is None:
        evaluate(evaluations.evaluation(name), params)
        return ""
    # Asked for its state, because one that was done before a restart is not run again and has no result.
    state = evaluations.flow(name)(params, return_state=True)
    if state.is_completed():
        return ""
    error = state.result(raise_on_failure=False)
    return str(error) or state.message or state.name


def _sum_up(chosen: AllParams, done: list[str], failures: dict[str, str]) -> None:
    """Attach to the flow run what is done and what failed."""
    if FlowRunContext.get() is None:
        return
    reports = os.environ.get("CULTURESCOPE_REPORTS")  # a server of ours shows them
    link = f"[Overview]({reports}), with the login of this page, or " if reports else ""
    # What failed is in words of servers and models: as code, it is neither a link nor a picture.
    told = [f"- {name}: failed\n\n      {' '.join(text.split())}\n" for name, text in failures.items()]
    title = f"{f'Occasion {chosen.occasion}' if chosen.occasion else 'No occasion'}, profile {chosen.profile}"
    lines = [
        title,
        "",
        *(f"- {name}: done" for name in done),
        *told,
        "",
        f"{link}`culturescope report --all`",
    ]
    counts = f"{len(done)} done, {len(failures)} failed"
    create_markdown_artifact("\n".join(lines), key="evaluate-all", description=counts)
