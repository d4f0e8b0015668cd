"""Files that are either complete or absent: durable renames, and telling a full disk from other errors."""

import errno
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from warehouse.home import WarehouseError

__all__ = [
    "disk_full_error",
    "is_disk_full",
    "publish",
    "remove_abandoned",
    "temporary_beside",
    "written_whole",
]

# A file-size limit and a quota stop a write exactly as a full disk does.
_DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


# Writing a part takes seconds. Age, unlike a process id, means the same in every container on the disk.
_ABANDONED_AFTER_S = 3600.0


def temporary_beside(target: Path) -> Path:
    """A fresh hidden name in the folder of `target`, to write to before `publish`."""
    return target.with_name(f".{target.name}.{uuid4().hex}.tmp")


def remove_abandoned(folder: Path) -> None:
    """Delete the temporary files in `folder` that are an hour old: their writers were killed."""
    oldest = time.time() - _ABANDONED_AFTER_S
    for temporary in folder.glob(".*.tmp"):
        if temporary.stat().st_mtime < oldest:
            temporary.unlink(missing_ok=True)


def publish(temporary: Path, target: Path) -> None:
    """Rename `temporary` over `target` (same folder) so that a power cut leaves the old file or the new one.

    The data must be on disk before the name points to it, and the name itself lives in the folder's data.
    """
    _fsync(temporary)
    temporary.replace(target)
    _fsync(target.parent)


@contextmanager
def written_whole(target: Path, needed: int) -> Iterator[Path]:
    """A temporary path to write to within the block; it then becomes `target`, or goes if there is an error.

    needed: bytes that the file takes, estimated. Raises WarehouseError if the disk is full.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = temporary_beside(target)
    try:
        yield temporary
        publish(temporary, target)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if is_disk_full(error):
            raise disk_full_error(target, needed) from error
        raise


def is_disk_full(error: BaseException) -> bool:
    """Whether `error` (an OSError, or DuckDB's or Polars' wrapping of one) means that there was no room."""
    if isinstance(error, WarehouseError):
        return False  # said already
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno in _DISK_FULL
    # DuckDB and Polars pass on the operating system's words only.
    return any(os.strerror(code) in str(error) for code in _DISK_FULL)


def disk_full_error(target: Path, needed: int) -> WarehouseError:
    """The error for a write to `target` that had no room. needed: bytes that it takes, estimated."""
    free = shutil.disk_usage(target.parent).free
    return WarehouseError(
        f"no room to write {target}: about {needed / 1e6:.1f} MB are needed, {free / 1e6:.1f} MB are free "
        f"(a quota or a file-size limit may allow less). Nothing was changed. Free some space, or move the "
        f"warehouse to a larger disk with CULTURESCOPE_HOME, and run again."
    )


def _fsync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
