"""``culturescope serve``: a Prefect server, deployments of every evaluation, and weekly re-evaluations."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deployments.cli_ingest import CONTACT
from deployments.display import err
from deployments.evaluations import doors, flow, profile, profiles
from deployments.server import HOST, pointed_at, started

if TYPE_CHECKING:
    from prefect.deployments.runner import RunnerDeployment

WRITERS = ["smollm2-135m-vllm"]


def serve_until_interrupted(home: Path, models: list[str] | None, weekly: str, cron: str, port: int) -> None:
    """Serve until Ctrl-C or SIGTERM. Flow runs under way stop, and go on from there when restarted.

    Args:
        weekly: profile of the re-evaluation.
    """
    with started(home, port, announce=True) as url, pointed_at(url):
        from prefect import serve

        err.print(
            f"Prefect UI   http://{HOST}:{port}\nwarehouse    {home}\nre-evaluate  {cron} (UTC), {weekly}"
        )
        err.print("Ctrl-C stops", style="dim")
        signal.signal(
            signal.SIGINT, signal.default_int_handler
        )  # Prefect puts its own in this one's place only
        serve(
            *deployments(models, weekly, cron), print_starting_message=False, pause_on_shutdown=False, limit=1
        )
    err.print("stopped")


def deployments(models: list[str] | None, weekly: str, cron: str) -> list[RunnerDeployment]:
    """Of every evaluation one per profile, for the UI, and one that re-evaluates weekly; and two more flows.

    Args:
        models: None: each evaluation's own.
        weekly: profile of the re-evaluation, whose occasion is the week: its answers stand beside the others.
    """
    of_evaluations = []
    for name, door in doors().items():
        asked = {"models": models or list(door.models)}
        for label, params in profiles(name).items():
            text = f"{door.title} Profile {label}. Any parameter can be edited."
            of_evaluations.append(_deployment(flow(name), label, params | asked, text))
        params = profile(name, weekly) | asked | {"occasion": "{week}"}
        text = f"Scheduled re-evaluation, profile {weekly}: everything is asked anew; what is there stays."
        of_evaluations.append(_deployment(flow(name), "weekly", params, text, cron))
    from flows.build_specnorm import build_specnorm
    from flows.ingest import ingest

    drafts = "Draft SpecNorm items with a model that can, for people to review."
    live = f"Refresh item lists and dishes from live sources; set a contact, here or in {CONTACT}."
    build = _deployment(build_specnorm, "build", {"model": (models or WRITERS)[0]}, drafts)
    return [*of_evaluations, build, _deployment(ingest, "live", {}, live)]


def _deployment(
    flow: Any, name: str, parameters: Mapping[str, Any], text: str, cron: str | None = None
) -> RunnerDeployment:
    """A flow with parameters, imported by module path in the runs' own processes."""
    from prefect.deployments.runner import RunnerDeployment
    from prefect.types.entrypoint import EntrypointType

    deployment = flow.to_deployment(
        name,
        parameters={"params": dict(parameters)},
        description=text,
        cron=cron,
        tags=["culturescope"],
        entrypoint_type=EntrypointType.MODULE_PATH,
    )
    assert isinstance(deployment, RunnerDeployment)  # a coroutine only where an event loop runs
    return deployment
