"""The runs that processes work on now. Deletions spare them; the runs of a killed process are not spared.

In a local store a process locks a file that names its runs; the lock ends with the process, however that
ends. In a shared store a process has a lease on each of its runs, which runs out after a kill.
"""

import fcntl
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from warehouse import claims
from warehouse.outside import has_no_locks
from warehouse.store import Store

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
    holder = claims.holder()
    units = [(_RUN, f"{run} {holder}") for run in runs]
    leases.remove_ended()
    leases.take(units, holder, claims.LEASE_S)
    try:
        with claims.renewed(leases):
            yield
    finally:
        leases.release(units, holder)


def at_work(store: Store) -> list[str]:
    """Return the ids of the runs that processes work on now."""
    if store.leases is None:
        return sorted(_marked_runs(_marks(store)))
    return sorted({unit.split()[0] for unit in store.leases.held(_RUN, claims.LEASE_S)})


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
