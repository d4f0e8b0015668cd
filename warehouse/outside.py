"""Locks of files: of other programs that have the published file open (DuckDB's own), and of writers.

Some file systems have no locks, such as NFS without its lock service. Readers do without, writers refuse.
"""

import errno
import fcntl
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, TypeVar

from filelock import FileLock

from warehouse.storage import WarehouseError

T = TypeVar("T")

_OUTSIDE_WRITER_PATIENCE_S = 30.0
_FIRST_RETRY_S, _LONGEST_RETRY_S = 0.02, 1.0
_COPIES, _COPY_PAUSE_S = 50, 0.1


_WITHOUT_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)


class WriterLock(FileLock):
    """A writer's lock; raises WarehouseError on a file system without locks."""

    def _acquire(self) -> None:
        try:
            super()._acquire()
        except (OSError, NotImplementedError) as error:
            if isinstance(error, NotImplementedError) or has_no_locks(error):
                raise WarehouseError(
                    f"the file system of {Path(self.lock_file).parent} has no locks, so two runs could "
                    "overwrite each other: set CULTUREMETER_HOME to a folder on a local disk, or use a "
                    "shared store"
                ) from error
            raise

    def _fallback_to_soft_lock(self) -> None:
        """Refuse the library's file in place of a lock, which a kill would leave for ever."""
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))


def has_no_locks(error: OSError) -> bool:
    """Return whether a lock failed because the file system has none."""
    return error.errno in _WITHOUT_LOCKS


class HeldOutside(Exception):  # noqa: N818 - not an error yet: readers wait for a while
    """An outside program has the file open for writing."""


def patiently(path: Path, attempt: Callable[[], T]) -> T:
    """Return `attempt`'s result once no outside program has the file at `path` open for writing.

    Raises WarehouseError if a program keeps it open for 30 s.
    """
    deadline, pause = time.monotonic() + _OUTSIDE_WRITER_PATIENCE_S, _FIRST_RETRY_S
    while True:
        try:
            return attempt()
        except HeldOutside as error:
            if time.monotonic() >= deadline:
                raise WarehouseError(
                    f"another program has had {path} open for writing for "
                    f"{_OUTSIDE_WRITER_PATIENCE_S:.0f} s. Close it there, and open it read-only instead: "
                    f"`duckdb -readonly {path}`."
                ) from error
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_RETRY_S)


def until_whole(place: object, attempt: Callable[[], bool]) -> None:
    """Try to copy what others write to, for 5 s, until `attempt` says that the copy is whole.

    Raises WarehouseError, which names the place, if it never is.
    """
    for _ in range(_COPIES):
        if attempt():
            return
        time.sleep(_COPY_PAUSE_S)
    raise WarehouseError(f"{place} is being written to all the time: try again later.")


def lock_shared(file: BinaryIO) -> None:
    """Take a reader's POSIX lock, which DuckDB's write lock excludes; for use in `patiently`."""
    try:
        fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError) as error:
        raise HeldOutside from error
    except OSError as error:
        if not has_no_locks(error):
            raise


def unlock(file: BinaryIO) -> None:
    """Release the lock. POSIX locks belong to the process and the file, so DuckDB's own is released too."""
    try:
        fcntl.lockf(file, fcntl.LOCK_UN)
    except OSError as error:
        if not has_no_locks(error):
            raise
