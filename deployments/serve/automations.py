"""Automations of a Prefect server: it tells people of drift, and looks after the runs of a pool.

Who is told of drift is a notification block, made once in the Prefect UI (Blocks) or in code; its secrets
stay there:

    CustomWebhookNotificationBlock(name="lab", url="https://…", json_data={"text": "{{body}}"}).save("lab")

Then ``culturescope drift --alert custom-webhook/lab``. Slack is ``slack-webhook/…``, e-mail
``sendgrid-email/…``.

No process of ours watches the runs of a pool. A flow run sends heartbeats as long as its process lives,
whatever machine that is on. One that falls silent has crashed, and one that has crashed is run again by any
worker of the pool: what is stored is not asked again.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any, cast

from prefect.automations import Automation
from prefect.blocks.abstract import NotificationBlock
from prefect.blocks.core import Block
from prefect.client.schemas.objects import StateType
from prefect.events import ChangeFlowRunState, EventTrigger, SendNotification
from prefect.events.schemas.automations import Posture

from deployments.serve.served import TAG
from flows.drift import EVENT

NAME = "culturescope drift"
SUBJECT = "Culturescope: {{ event.payload.n_moved }} headlines moved"
BODY = "{{ event.payload.text }}"


def alert(block: str) -> Automation:
    """Make, or change, the automation on the server that this process is pointed at.

    Args:
        block: type and name of a notification block, such as slack-webhook/lab.

    Raises:
        ValueError: there is no such block, or it sends no notifications.
    """
    try:
        loaded = Block.load(block)
    except (ValueError, KeyError) as error:
        raise ValueError(
            f"--alert {block}: there is no such notification block; make one in the Prefect UI under Blocks, "
            "and name it by type and name, such as slack-webhook/lab"
        ) from error
    if not isinstance(loaded, NotificationBlock):
        raise ValueError(
            f"--alert {block}: it sends no notifications; choose an e-mail, Slack or webhook block"
        )
    identity = loaded._block_document_id
    assert identity is not None  # it was loaded
    return save(
        Automation(
            name=NAME,
            description="Tells of headlines that moved between a model's last two occasions.",
            trigger=EventTrigger(expect={EVENT}, threshold=1),
            actions=[SendNotification(block_document_id=identity, subject=SUBJECT, body=BODY)],
        )
    )


def save(wanted: Automation) -> Automation:
    """Make an automation on the server that this process is pointed at, or change the one of its name."""
    try:
        old = cast(Automation, Automation.read(name=wanted.name))
    except ValueError:
        return cast(Automation, wanted.create())
    wanted.id = old.id
    wanted.update()
    return wanted


HEARTBEAT_S = 30
"""Between two signs of life of a flow run: Prefect's shortest."""
SILENT = timedelta(seconds=50)
"""A flow run that gave none for so long has crashed. A heartbeat may so come 20 s late."""
AGAIN = 3
"""Most restarts of a flow run that has crashed: the run itself may kill the machine."""
NOT_STARTED = timedelta(minutes=10)
"""A worker that took a run and has not started it by then is gone."""
LATEST = timedelta(hours=24)
"""A scheduled run that no worker took for so long is dropped."""

ENVIRONMENT = {"PREFECT_FLOWS_HEARTBEAT_FREQUENCY": str(HEARTBEAT_S)}
"""Environment of the processes that run a pool's flows."""

RUN: dict[str, Any] = {"prefect.resource.id": "prefect.flow-run.*"}
OURS: dict[str, Any] = {"prefect.resource.role": "tag", "prefect.resource.id": f"prefect.tag.{TAG}"}
SCHEDULED: dict[str, Any] = {
    "prefect.resource.role": "tag",
    "prefect.resource.id": "prefect.tag.auto-scheduled",
}


def of_pool(name: str, kind: str = "process") -> list[Automation]:
    """The automations for the flow runs of a pool.

    Args:
        kind: of the pool.
    """
    pool: dict[str, Any] = {"prefect.resource.role": "work-pool", "prefect.resource.name": name}
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
                match_related=[pool],
                for_each={"prefect.resource.id"},
                posture=Posture.Reactive,
                threshold=1,
            ),
            ChangeFlowRunState(**again),
        ),
        "missed": (
            f"A scheduled flow run that no worker took for {LATEST.total_seconds() / 3600:.0f} h is dropped.",
            _absent("prefect.flow-run.Late", LATEST, [pool, SCHEDULED]),
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
            _absent("prefect.flow-run.Pending", NOT_STARTED, [pool]),
            ChangeFlowRunState(**again),
        )
    return [
        Automation(name=f"culturescope: {short}", description=text, trigger=trigger, actions=[action])
        for short, (text, trigger, action) in wanted.items()
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
