"""Waits for another process or thread, however busy the machine is.

Tests do not sleep for a fixed time instead; tests/test_timing.py checks this.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from subprocess import Popen
from typing import Any, TypeVar

LONGEST_WAIT_S = 300.0
"""Seconds after which a wait fails."""
LOOK_EVERY_S = 0.01

T = TypeVar("T")


def until(condition: Callable[[], T], process: Popen[Any] | None = None, every: float = LOOK_EVERY_S) -> T:
    """Return the first true value of a condition.

    Raise AssertionError if there is none within ``LONGEST_WAIT_S`` or the process that should cause it ends.
    """
    deadline = time.monotonic() + LONGEST_WAIT_S
    while True:
        ended = process is not None and process.poll() is not None
        if value := condition():
            return value
        assert not ended, f"the process ended with code {process and process.returncode}"
        assert time.monotonic() < deadline, f"the condition stayed false for {LONGEST_WAIT_S:.0f} s"
        time.sleep(every)
