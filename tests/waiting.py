"""Waiting for what another process or thread does: until it is so, however busy the machine is.

Nothing of the tests sleeps for a time in the hope that something has happened by then; tests/test_timing.py
holds them to it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from subprocess import Popen
from typing import Any, TypeVar

LONGEST_WAIT_S = 300.0
"""When waiting is given up: a test that comes here fails."""
LOOK_EVERY_S = 0.01

T = TypeVar("T")


def until(condition: Callable[[], T], process: Popen[Any] | None = None, every: float = LOOK_EVERY_S) -> T:
    """Returns the first value of a condition that is true.

    Raises AssertionError where there is none in ``LONGEST_WAIT_S``, or the process that was to bring it
    has ended.
    """
    deadline = time.monotonic() + LONGEST_WAIT_S
    while True:
        ended = process is not None and process.poll() is not None
        if value := condition():
            return value
        assert not ended, f"the process ended with code {process and process.returncode}"
        assert time.monotonic() < deadline, f"nothing came within {LONGEST_WAIT_S:.0f} s"
        time.sleep(every)
