"""Ports of 127.0.0.1 for servers of the tests that have to be told theirs.

A port that the system chooses and that is given up again may be another program's a moment later: it gives
them to every connection that goes out. So these lie below the range that it chooses from, every worker of a
run of the tests has its own, and none is given out twice.
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
"""The variable with the first port of a run of the tests: two on one machine begin at different ones."""
os.environ.setdefault(FIRST, str(SystemRandom().randrange(LOWEST, HIGHEST - 16 * EACH)))
_number = count()


def free_port() -> int:
    """A port that nobody listens on, and that nobody else is given."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % 16
    while True:
        port = int(os.environ[FIRST]) + worker * EACH + next(_number) % EACH
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)):
                return port


@contextmanager
def nobody() -> Iterator[str]:
    """The host and port of a place where every connection is refused, for as long as the block lasts."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{held.getsockname()[1]}"
