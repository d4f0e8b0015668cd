"""A Prefect automation that tells people of drift: the event of ``flows.drift`` sends a notification.

Who is told is a notification block, made once in the Prefect UI (Blocks) or in code; its secrets stay there:

    CustomWebhookNotificationBlock(name="lab", url="https://…", json_data={"text": "{{body}}"}).save("lab")

Then ``culturescope drift --alert custom-webhook/lab``. Slack is ``slack-webhook/…``, e-mail
``sendgrid-email/…``.
"""

from __future__ import annotations

from typing import cast

from prefect.automations import Automation
from prefect.blocks.abstract import NotificationBlock
from prefect.blocks.core import Block
from prefect.events import EventTrigger, SendNotification

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
