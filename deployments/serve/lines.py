"""Write progress lines to a flow run's log, so that the Prefect UI shows it as the terminal does."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from deployments.show.display import clean
from tasks.loop import progress, steps

EVERY_S = 30.0
"""Seconds between two lines on the same label."""


@contextmanager
def logged() -> Iterator[None]:
    """Write the progress within the block to the log of the current flow run.

    Each label gets a line at its start, one every ``EVERY_S`` and one at its end.
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
