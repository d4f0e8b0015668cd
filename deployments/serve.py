"""``culturescope serve``: a Prefect server, deployments of every evaluation, and weekly re-evaluations."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deployments import profiles
from deployments.cli_ingest import CONTACT
from deployments.display import err
from deployments.evaluations import evaluations
from deployments.server import HOST, pointed_at, started

if TYPE_CHECKING:
    from prefect.deployments.runner import RunnerDeployment

WRITERS = ["smollm2-135m-vllm"]


def serve_until_interrupted(home: Path, models: list[str] | None, profile: str, cron: str, port: int) -> None:
    """Serve until Ctrl-C or SIGTERM. Flow runs under way stop, and go on from there when restarted."""
    with started(home, port, announce=True) as url, pointed_at(url):
        from prefect import serve

        err.print(
            f"Prefect UI   http://{HOST}:{port}\nwarehouse    {home}\nre-evaluate  {cron} (UTC), {profile}"
        )
        err.print("Ctrl-C stops", style="dim")
        serve(
            *deployments(models, profile, cron),
            print_starting_message=False,
            pause_on_shutdown=False,
            limit=1,
        )
    err.print("stopped")


def deployments(models: list[str] | None, profile: str, cron: str) -> list[RunnerDeployment]:
    """Of every evaluation one a profile, for the UI, and one that refreshes weekly; and the ingest flow.

    models: None: each evaluation's own.
    """
    made = []
    for evaluation, chosen in evaluations().items():
        flow, asked = chosen.flow(), {"models": models or list(chosen.models)}
        for name in profiles.names():
            text = f"{chosen.title}, profile {name}. Any parameter can be edited."
            made.append(_deployment(flow, name, profiles.load(name, evaluation) | asked, text))
        text = f"Scheduled re-evaluation, profile {profile}: everything is scored again."
        parameters = profiles.load(profile, evaluation) | asked | {"refresh": True}
        made.append(_deployment(flow, "weekly", parameters, text, cron))
    from flows.build_specnorm import build_specnorm
    from flows.ingest import ingest

    text = "Draft SpecNorm items with a model that can, for people to review."
    made.append(_deployment(build_specnorm, "build", {"model": (models or WRITERS)[0]}, text))
    text = f"Refresh item lists and dishes from live sources; set a contact, here or in {CONTACT}."
    return [*made, _deployment(ingest, "live", {}, text)]


def _deployment(
    flow: Any, name: str, parameters: Mapping[str, Any], text: str, cron: str | None = None
) -> RunnerDeployment:
    """A flow with parameters, found by module path in the runs' own processes."""
    from prefect.deployments.runner import RunnerDeployment
    from prefect.types.entrypoint import EntrypointType

    made = flow.to_deployment(
        name,
        parameters={"params": dict(parameters)},
        description=text,
        cron=cron,
        tags=["culturescope"],
        entrypoint_type=EntrypointType.MODULE_PATH,
    )
    assert isinstance(made, RunnerDeployment)  # a coroutine only where an event loop runs
    return made
