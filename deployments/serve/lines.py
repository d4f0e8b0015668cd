"""Lines of the log of a flow run in the Prefect UI: how far the work has come, as on the terminal."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from deployments.show.display import clean
from tasks.loop import progress, steps

EVERY_S = 30.0
"""Seconds between two lines on the same work."""


@contextmanager
def logged() -> Iterator[None]:
    """Write how far the work has come into the log of the flow run under way, within the block.

    A line when work of a label begins, one now and then, and one when it is done.
    """
    lock = Lock()
    started: dict[str, float] = {}
    latest: dict[str, float] = {}
    done: dict[str, int] = {}

    def listener(label: str, advance: int, total: int) -> None:
        now = time.monotonic()
        with lock:
            start = started.setdefault(label, now)
            before, done[label] = done.get(label, 0), done.get(label, 0) + advance
            is_over, is_due = before < total <= done[label], now - latest.get(label, -EVERY_S) >= EVERY_S
            if not (is_over or is_due):
                return
            latest[label] = now
            line = f"{clean(label)} {done[label]:,}/{total:,}"
        steps.logger().info("%s", f"{line} in {now - start:.0f} s" if is_over else line)

    with progress.listen(listener):
        yield
