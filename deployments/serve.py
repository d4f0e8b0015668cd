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


def deployments(models: list[str], profile: str, cron: str) -> list[RunnerDeployment]:
    """One deployment per profile, to be started from the UI, and one on the schedule, which refreshes."""
    on_demand = [
        _deployment(name, name, models, f"Spectral evaluation, profile {name}. Any parameter can be edited.")
        for name in profiles.names()
    ]
    text = f"Scheduled re-evaluation, profile {profile}: everything is scored again."
    return [*on_demand, _deployment("weekly", profile, models, text, cron=cron, refresh=True)]


def _deployment(
    name: str, profile: str, models: list[str], text: str, cron: str | None = None, refresh: bool = False
) -> RunnerDeployment:
    """The spectral flow with a profile's parameters, found by module path in the runs' own processes."""
    from prefect.deployments.runner import RunnerDeployment
    from prefect.types.entrypoint import EntrypointType

    from flows.spectral import spectral

    parameters = {**profiles.load(profile, "spectral"), "models": models, "refresh": refresh}
    made = spectral.to_deployment(
        name,
        parameters={"params": parameters},
        description=text,
        cron=cron,
        tags=["culturescope"],
        entrypoint_type=EntrypointType.MODULE_PATH,
    )
    assert isinstance(made, RunnerDeployment)  # a coroutine only where an event loop runs
    return made
