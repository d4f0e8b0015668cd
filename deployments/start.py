"""From a profile and options to a running flow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deployments import profiles
from deployments.cli_common import validated
from deployments.display import bars, err
from deployments.server import configure, connect
from warehouse import Warehouse


def start(evaluation: str, profile: str, given: Mapping[str, Any], dry_run: bool, verbose: bool) -> None:
    """``culturescope run``: show the plan, and if anything is left to do, start Prefect and the flow."""
    from deployments.evaluations import evaluations

    warehouse = Warehouse.open()
    configure(warehouse.home, verbose)
    chosen = evaluations()[evaluation]
    values = profiles.load(profile, evaluation) | {k: v for k, v in given.items() if v is not None}
    params = validated(chosen.params(), values)
    work_left = chosen.show_plan(params)
    if dry_run or not work_left:
        return
    with err.status("starting Prefect"):
        connect(warehouse.home)
    flow = chosen.flow()
    with bars():
        flow(params)
    err.print(
        f"[green]done[/]  next: culturescope leaderboard {evaluation} · culturescope report {evaluation}"
    )
