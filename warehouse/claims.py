"""Claims: on units, so that nobody pays twice, and on runs, so that nothing of a run at work is deleted.

In a shared store a process leases units before it sends them, and each of its runs. A lease is renewed while
its process lives; after a kill it runs out, and other processes take over. Processes of one machine do not
wait for each other's units. Their runs are named in a file that a process locks; the lock ends with the
process, however that ends.
"""

from __future__ import annotations

import fcntl
import logging
import os
import threading
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from socket import gethostname
from uuid import uuid4

import polars as pl

from warehouse import interruption
from warehouse.connection import Warehouse
from warehouse.outside import has_no_locks
from warehouse.runs import missing_units
from warehouse.store import Leases, Store

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


_RUN = "run"
"""Value in the leases' column request_hash."""


@contextmanager
def working(store: Store, runs: Collection[str]) -> Iterator[None]:
    """Count these runs as at work within the block. Several processes may work on one run."""
    leases = store.leases
    if leases is None:
        with _marked(_marks(store), runs):
            yield
        return
    own = holder()
    units = [(_RUN, f"{run} {own}") for run in runs]
    leases.remove_ended()
    leases.take(units, own, LEASE_S)
    try:
        with renewed(leases):
            yield
    finally:
        leases.release(units, own)


def at_work(store: Store) -> list[str]:
    """Return the ids of the runs that processes work on now."""
    if store.leases is None:
        return sorted(_marked_runs(_marks(store)))
    return sorted({unit.split()[0] for unit in store.leases.held(_RUN, LEASE_S)})


def _marks(store: Store) -> Path:
    return store.home / "locks" / "at_work"


@contextmanager
def _marked(folder: Path, runs: Collection[str]) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / uuid4().hex
    draft = path.with_suffix(".tmp")
    with draft.open("x") as mark:
        fcntl.flock(mark, fcntl.LOCK_EX)
        mark.write("\n".join(runs))
        mark.flush()
        draft.rename(path)  # renamed after it is locked, so that nobody sees it unlocked
        try:
            yield
        finally:
            path.unlink(missing_ok=True)
            fcntl.flock(mark, fcntl.LOCK_UN)  # closing does not, where a child was forked meanwhile


def _marked_runs(folder: Path) -> set[str]:
    """Return the runs named in locked files. Killed processes left the files that are not locked."""
    runs = set[str]()
    for path in folder.glob("*"):
        if path.suffix:
            continue
        with suppress(FileNotFoundError), path.open() as mark:
            try:
                fcntl.flock(mark, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except OSError as error:  # without locks, nobody knows
                if not isinstance(error, BlockingIOError) and not has_no_locks(error):
                    raise
                runs.update(mark.read().split())
    return runs
