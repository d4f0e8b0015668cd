"""``culturescope serve``: a Prefect server, deployments of every evaluation, and weekly re-evaluations."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from deployments import profiles
from deployments.display import err
from deployments.evaluations import EVALUATIONS
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
    """Of every evaluation one a profile, to be started from the UI, and one that refreshes weekly."""
    made = []
    for evaluation, chosen in EVALUATIONS.items():
        for name in profiles.names():
            text = f"{chosen.title}, profile {name}. Any parameter can be edited."
            made.append(_deployment(evaluation, name, name, models, text))
        text = f"Scheduled re-evaluation, profile {profile}: everything is scored again."
        made.append(_deployment(evaluation, "weekly", profile, models, text, cron=cron, refresh=True))
    return made


def _deployment(
    evaluation: str,
    name: str,
    profile: str,
    models: list[str],
    text: str,
    cron: str | None = None,
    refresh: bool = False,
) -> RunnerDeployment:
    """A flow with a profile's parameters, found by module path in the runs' own processes."""
    from prefect.deployments.runner import RunnerDeployment
    from prefect.types.entrypoint import EntrypointType

    parameters = {**profiles.load(profile, evaluation), "models": models, "refresh": refresh}
    made = (
        EVALUATIONS[evaluation]
        .flow()
        .to_deployment(
            name,
            parameters={"params": parameters},
            description=text,
            cron=cron,
            tags=["culturescope"],
            entrypoint_type=EntrypointType.MODULE_PATH,
        )
    )
    assert isinstance(made, RunnerDeployment)  # a coroutine only where an event loop runs
    return made
