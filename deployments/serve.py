"""``culturescope serve``: a Prefect server, one deployment per profile, and a weekly re-evaluation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from deployments import profiles
from deployments.display import err
from deployments.server import HOST, pointed_at, started

if TYPE_CHECKING:
    from prefect.deployments.runner import RunnerDeployment


def serve_until_interrupted(home: Path, models: list[str], profile: str, cron: str, port: int) -> None:
    """Serve until Ctrl-C or SIGTERM. Flow runs under way are stopped; started again, they go on from there."""
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


def deployments(models: list[str], profile: str, cron: str) -> list[RunnerDeployment]:
    """One deployment per profile, to be started from the UI, and one on the schedule, which refreshes."""
    from prefect.flows import EntrypointType

    from flows.spectral import spectral

    on_demand = [
        spectral.to_deployment(
            name,
            parameters={"params": {**profiles.load(name, "spectral"), "models": models}},
            description=f"Spectral evaluation, profile {name}. Edit any parameter in the form.",
            tags=["culturescope"],
            entrypoint_type=EntrypointType.MODULE_PATH,
        )
        for name in profiles.names()
    ]
    scheduled = spectral.to_deployment(
        "weekly",
        parameters={"params": {**profiles.load(profile, "spectral"), "models": models, "refresh": True}},
        description=f"Scheduled re-evaluation, profile {profile}: everything is scored again.",
        cron=cron,
        tags=["culturescope", "scheduled"],
        entrypoint_type=EntrypointType.MODULE_PATH,
    )
    return [*on_demand, scheduled]
