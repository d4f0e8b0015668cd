"""Ports of 127.0.0.1 for test servers that need a port number.

A port that the system chose and released may belong to another program a moment later, as every outgoing
connection gets one. So these ports lie below the system's range, every worker of a test run has its own, and
none is used twice.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from random import SystemRandom

LOWEST, HIGHEST, EACH = 10_000, 32_000, 400
FIRST = "TESTS_FIRST_PORT"
"""The variable with the first port of a test run; two runs on one machine have different ones."""
os.environ.setdefault(FIRST, str(SystemRandom().randrange(LOWEST, HIGHEST - 16 * EACH)))
_number = count()


def free_port() -> int:
    """Return a port on which nothing listens and that no other test gets."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % 16
    while True:
        port = int(os.environ[FIRST]) + worker * EACH + next(_number) % EACH
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)):
                return port


@contextmanager
def nobody() -> Iterator[str]:
    """Yield a host and port that refuse every connection."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{held.getsockname()[1]}"
