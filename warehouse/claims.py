"""Who answers what: units are claimed by a lease in the store before they are sent, so nobody pays twice.

A lease is renewed while its process lives. After a kill it runs out, and others take over. A shared store has
leases; in a folder of one machine nobody is kept waiting.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Collection, Iterator
from functools import cache
from socket import gethostname
from uuid import uuid4

import polars as pl

from warehouse import interruption
from warehouse.connection import Warehouse
from warehouse.runs import missing_units
from warehouse.store import Leases

Unit = tuple[str, str]
"""(request_hash, unit)"""

LEASE_S = 120.0
"""Seconds for which the units of a process that was killed are kept from others."""
_POLL_S = 2.0

_log = logging.getLogger("culturescope")


def claimed(warehouse: Warehouse, kind: str, units: Collection[Unit]) -> Iterator[list[Unit]]:
    """Yield which of some units are to be answered here, share by share, until all are answered by somebody.

    Units that another process has are waited for: they come once its lease has run out, or not at all if it
    has answered them. Whoever takes a share has to have it registered before the next one is asked for.

    Args:
        kind: of the parts that answer them.
    """
    leases = warehouse.store.leases
    if leases is None:
        yield list(units)
        return
    left, says_so = list(dict.fromkeys(units)), True
    while left:
        mine = leases.take(left, holder(), LEASE_S)
        try:
            open_ones = _unanswered(warehouse, kind, left)
            share = [unit for unit in left if unit in mine and unit in open_ones]
            left = [unit for unit in left if unit not in mine and unit in open_ones]
            if share:
                with renewed(leases):
                    yield share
        finally:
            leases.release(mine, holder())
        if left and not share:
            if says_so:
                _log.info("another machine is answering %d units of %s: waiting for them", len(left), kind)
                says_so = False
            time.sleep(_POLL_S)
            interruption.check()


def _unanswered(warehouse: Warehouse, kind: str, units: Collection[Unit]) -> set[Unit]:
    schema = {"request_hash": pl.String, "unit": pl.String}
    with warehouse.read() as connection:
        missing = missing_units(connection, kind, pl.DataFrame(list(units), schema, orient="row"))
    return set(missing.rows())


class renewed:  # noqa: N801 - a context manager
    """Within the block a thread renews the leases of this process."""

    def __init__(self, leases: Leases) -> None:
        self.leases, self.over = leases, threading.Event()
        self.thread = threading.Thread(target=self._renew, daemon=True)

    def __enter__(self) -> None:
        self.thread.start()

    def __exit__(self, *error: object) -> None:
        self.over.set()
        self.thread.join()

    def _renew(self) -> None:
        while not self.over.wait(LEASE_S / 4):
            self.leases.renew(holder(), LEASE_S)


def holder() -> str:
    """Return the name that this process has in leases."""
    return _holder_of(os.getpid())


@cache
def _holder_of(process: int) -> str:
    """A name of this process that no other has, now or later."""
    return f"{gethostname()}:{process}:{uuid4().hex[:8]}"
