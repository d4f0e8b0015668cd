"""What the Prefect server itself does for a work pool: automations, as no process of ours watches the runs.

A flow run sends heartbeats as long as its process lives, whatever machine that is on. One that falls silent
has crashed, and one that has crashed is run again by any worker of the pool: what is stored is not asked
again.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from prefect.automations import Automation
from prefect.client.schemas.objects import StateType
from prefect.events import ChangeFlowRunState, EventTrigger
from prefect.events.schemas.automations import Posture

from deployments.serve.registered import TAG

HEARTBEAT_S = 30
"""Between two signs of life of a flow run: Prefect's shortest."""
SILENT = timedelta(seconds=50)
"""A flow run that gave none for so long has crashed. A heartbeat may so come 20 s late."""
AGAIN = 3
"""How often a flow run that has crashed is run again: what it does may be what kills the machine."""
NOT_STARTED = timedelta(minutes=10)
"""A worker that took a run and has not started it by then is gone."""
LATEST = timedelta(hours=24)
"""A scheduled run that no worker took for so long is dropped."""

ENVIRONMENT = {"PREFECT_FLOWS_HEARTBEAT_FREQUENCY": str(HEARTBEAT_S)}
"""Of the processes that run a pool's flows."""

RUN: dict[str, Any] = {"prefect.resource.id": "prefect.flow-run.*"}
OURS: dict[str, Any] = {"prefect.resource.role": "tag", "prefect.resource.id": f"prefect.tag.{TAG}"}
SCHEDULED: dict[str, Any] = {
    "prefect.resource.role": "tag",
    "prefect.resource.id": "prefect.tag.auto-scheduled",
}


def automations(pool: str, kind: str = "process") -> list[Automation]:
    """What the server is to do for the flow runs of a pool.

    Args:
        kind: of the pool.
    """
    of_pool: dict[str, Any] = {"prefect.resource.role": "work-pool", "prefect.resource.name": pool}
    again: dict[str, Any] = {
        "state": StateType.SCHEDULED,
        "name": "AwaitingRetry",  # so that it never counts as late
        "message": "goes on from the answers that are stored",
        "force": True,
    }
    wanted = {
        "silent": (
            f"A flow run without heartbeat for {SILENT.seconds} s has crashed.",
            # The heartbeat does not name the pool.
            _absent("prefect.flow-run.heartbeat", SILENT, [OURS]),
            ChangeFlowRunState(
                name="Crashed", state=StateType.CRASHED, message="its process is silent", force=False
            ),
        ),
        "resume": (
            f"A flow run that has crashed is run again, {AGAIN} times at most.",
            EventTrigger(
                expect={"prefect.flow-run.Crashed"},
                match=RUN | {"prefect.run-count": [str(count) for count in range(1, AGAIN + 1)]},
                match_related=[of_pool],
                for_each={"prefect.resource.id"},
                posture=Posture.Reactive,
                threshold=1,
            ),
            ChangeFlowRunState(**again),
        ),
        "missed": (
            f"A scheduled flow run that no worker took for {LATEST.total_seconds() / 3600:.0f} h is dropped.",
            _absent("prefect.flow-run.Late", LATEST, [of_pool, SCHEDULED]),
            ChangeFlowRunState(
                name="Cancelled",
                state=StateType.CANCELLED,
                message="missed: no worker took it when it was due",
                force=True,
            ),
        ),
    }
    if kind == "process":  # others may take long to find a machine
        wanted["not started"] = (
            f"A flow run that a worker did not start in {NOT_STARTED.seconds // 60} min is given back.",
            _absent("prefect.flow-run.Pending", NOT_STARTED, [of_pool]),
            ChangeFlowRunState(**again),
        )
    return [
        Automation(name=f"culturescope: {name}", description=text, trigger=trigger, actions=[action])
        for name, (text, trigger, action) in wanted.items()
    ]


def _absent(after: str, within: timedelta, related: list[Any]) -> EventTrigger:
    """Fires where after an event nothing is heard of a flow run within so long."""
    return EventTrigger(
        after={after},
        expect={"prefect.flow-run.*"},
        match=RUN,
        match_related=related,
        for_each={"prefect.resource.id"},
        posture=Posture.Proactive,
        threshold=1,
        within=within,
    )
