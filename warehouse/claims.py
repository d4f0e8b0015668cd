"""Claims on units: a process leases units in the store before it sends them, so that nobody pays twice.

A lease is renewed while its process lives. After a kill it runs out, and other processes take over. Only a
shared store has leases; processes of one machine do not wait for each other.
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
"""Seconds until other processes may take the units of a killed one."""
_POLL_S = 2.0

_log = logging.getLogger("culturemeter")


def claimed(warehouse: Warehouse, kind: str, units: Collection[Unit]) -> Iterator[list[Unit]]:
    """Yield the units that this process has to answer, share by share, until every unit is answered.

    Waits for units that another process holds: they are yielded once its lease has run out, unless it has
    answered them. The caller has to register the answers of a share before it takes the next share.

    Args:
        kind: kind of the parts that answer the units.
    """
    leases = warehouse.store.leases
    if leases is None:
        yield list(units)
        return
    pending, is_logged = list(dict.fromkeys(units)), False
    while pending:
        leased = leases.take(pending, holder(), LEASE_S)
        try:
            unanswered = _unanswered(warehouse, kind, pending)
            share = [unit for unit in pending if unit in leased and unit in unanswered]
            pending = [unit for unit in pending if unit not in leased and unit in unanswered]
            if share:
                with renewed(leases):
                    yield share
        finally:
            leases.release(leased, holder())
        if pending and not share:
            if not is_logged:
                _log.info("another machine is answering %d units of %s: waiting for them", len(pending), kind)
                is_logged = True
            time.sleep(_POLL_S)
            interruption.check()


def _unanswered(warehouse: Warehouse, kind: str, units: Collection[Unit]) -> set[Unit]:
    schema = {"request_hash": pl.String, "unit": pl.String}
    with warehouse.read() as connection:
        missing = missing_units(connection, kind, pl.DataFrame(list(units), schema, orient="row"))
    return set(missing.rows())


class renewed:  # noqa: N801 - used as a function
    """Context manager: a thread renews the leases of this process within the block."""

    def __init__(self, leases: Leases) -> None:
        self.leases, self.ended = leases, threading.Event()
        self.thread = threading.Thread(target=self._renew, daemon=True)

    def __enter__(self) -> None:
        self.thread.start()

    def __exit__(self, *error: object) -> None:
        self.ended.set()
        self.thread.join()

    def _renew(self) -> None:
        while not self.ended.wait(LEASE_S / 4):
            self.leases.renew(holder(), LEASE_S)


def holder() -> str:
    """Return the name that this process has in leases."""
    return _holder_of(os.getpid())


@cache
def _holder_of(process: int) -> str:
    """Return a name for a process that no other process has, now or later."""
    return f"{gethostname()}:{process}:{uuid4().hex[:8]}"
