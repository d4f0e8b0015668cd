"""Automations of a Prefect server: they notify people of drift, and restart the runs of a pool.

Drift is sent by a notification block, made once in the Prefect UI (Blocks) or in code; its secrets stay
there:

    CustomWebhookNotificationBlock(name="lab", url="https://…", json_data={"text": "{{body}}"}).save("lab")

Then ``culturemeter drift --alert custom-webhook/lab``. Slack is ``slack-webhook/…``, e-mail
``sendgrid-email/…``.

No process of ours watches the runs of a pool. A flow run sends heartbeats while its process lives, on
whichever machine. A silent run counts as crashed, and any worker of the pool runs a crashed run again: stored
answers are not generated again.
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

NAME = "culturemeter drift"
SUBJECT = "Culturemeter: {{ event.payload.n_moved }} headlines moved"
BODY = "{{ event.payload.text }}"


def alert(block: str) -> Automation:
    """Make or change the drift automation on this process's server.

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
            f"--alert {block}: this block sends no notifications; choose an e-mail, Slack or webhook block"
        )
    identity = loaded._block_document_id
    assert identity is not None  # the block was loaded
    return save(
        Automation(
            name=NAME,
            description="Sends a message when headlines moved between a model's last two occasions.",
            trigger=EventTrigger(expect={EVENT}, threshold=1),
            actions=[SendNotification(block_document_id=identity, subject=SUBJECT, body=BODY)],
        )
    )


def save(wanted: Automation) -> Automation:
    """Make an automation on this process's server, or change the one of that name."""
    try:
        old = cast(Automation, Automation.read(name=wanted.name))
    except ValueError:
        return cast(Automation, wanted.create())
    wanted.id = old.id
    wanted.update()
    return wanted


HEARTBEAT_S = 30
"""Seconds between two heartbeats of a flow run: the shortest that Prefect allows."""
SILENT = timedelta(seconds=50)
"""A flow run without heartbeat for this long has crashed; a heartbeat may be 20 s late."""
AGAIN = 3
"""Most restarts of a crashed flow run, since the run itself may be what kills the machine."""
NOT_STARTED = timedelta(minutes=10)
"""A worker that has not started a run this long after taking it is gone."""
LATEST = timedelta(hours=24)
"""A scheduled run that no worker took for this long is dropped."""

ENVIRONMENT = {"PREFECT_FLOWS_HEARTBEAT_FREQUENCY": str(HEARTBEAT_S)}
"""Environment of the processes that run a pool's flows."""

RUN: dict[str, Any] = {"prefect.resource.id": "prefect.flow-run.*"}
OURS: dict[str, Any] = {"prefect.resource.role": "tag", "prefect.resource.id": f"prefect.tag.{TAG}"}
SCHEDULED: dict[str, Any] = {
    "prefect.resource.role": "tag",
    "prefect.resource.id": "prefect.tag.auto-scheduled",
}


def of_pool(name: str, kind: str = "process") -> list[Automation]:
    """Return the automations for the flow runs of a pool.

    Args:
        kind: the pool's type.
    """
    pool: dict[str, Any] = {"prefect.resource.role": "work-pool", "prefect.resource.name": name}
    again: dict[str, Any] = {
        "state": StateType.SCHEDULED,
        "name": "AwaitingRetry",  # a state that never counts as late
        "message": "continues from the stored answers",
        "force": True,
    }
    wanted = {
        "silent": (
            f"A flow run without heartbeat for {SILENT.seconds} s has crashed.",
            # Filtered by tag, since heartbeats do not name the pool.
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
    if kind == "process":  # other types may take long to find a machine
        wanted["not started"] = (
            f"A flow run that a worker did not start in {NOT_STARTED.seconds // 60} min is given back.",
            _absent("prefect.flow-run.Pending", NOT_STARTED, [pool]),
            ChangeFlowRunState(**again),
        )
    return [
        Automation(name=f"culturemeter: {short}", description=text, trigger=trigger, actions=[action])
        for short, (text, trigger, action) in wanted.items()
    ]


def _absent(after: str, within: timedelta, related: list[Any]) -> EventTrigger:
    """Return a trigger that fires if no event of a flow run follows this one within that time."""
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
