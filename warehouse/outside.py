"""Other programs that have the published file open: DuckDB's own locks, and waiting for a writer."""

import fcntl
import time
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, TypeVar

from warehouse.storage import WarehouseError

T = TypeVar("T")

_OUTSIDE_WRITER_PATIENCE_S = 30.0
_FIRST_RETRY_S, _LONGEST_RETRY_S = 0.02, 1.0


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


def lock_shared(file: BinaryIO) -> None:
    """Take a reader's POSIX lock, which DuckDB's write lock excludes; for use in `patiently`."""
    try:
        fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError) as error:
        raise HeldOutside from error


def unlock(file: BinaryIO) -> None:
    """Release the lock. POSIX locks belong to the process and the file, so DuckDB's own is released too."""
    fcntl.lockf(file, fcntl.LOCK_UN)
