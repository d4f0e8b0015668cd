"""Local copies of shared stores' files, up to a limit: the least recently used go first, none that is in use.

Each reading has a *mark*, a locked file that is made when the reading begins; the reader touches the files
that it needs afterwards. So nobody needs a part that was last touched before the oldest mark was made, nor a
published file that was replaced before then, because readers take the newest. One process at a time makes
marks, touches parts or deletes files. The mark of a killed reader is no longer locked.
"""

import fcntl
import math
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import NamedTuple
from uuid import uuid4

from warehouse.part_kinds import EMPTY_PART
from warehouse.storage import CACHE_GB, CacheSize, WarehouseError, remove_abandoned, room_for

_DEFAULT_GB = 20.0
"""Default limit: room for the answers of a hundred models at full size."""
_ROOM = 10
"""Divisor: a trim frees this fraction of the limit, so that the next file does not need another trim."""
_SCAN_EVERY = 64 * 2**20
"""Bytes that a process writes before it scans all files again."""
_FILES_STAY_S = 600.0
"""Seconds for which a replaced published file stays: a reader that has its path may be about to open it."""
_NOBODY = sys.maxsize
"""Begin of the oldest reading if there is none, in ns like all file times here."""


class _File(NamedTuple):
    """A cached file. touched: last use; for a published file, its arrival. path: a text, for speed."""

    touched: int
    size: int
    path: str


@dataclass
class _State:
    """One process's state of a cache.

    budget: bytes to write until the next scan of all files. blocked_by: begin of the reading that keeps the
    cache above its limit.
    """

    budget: int = 0
    blocked_by: int | None = None
    turn: Lock = field(default_factory=Lock)


_states: dict[Path, _State] = {}


class Cache:
    """A folder with one folder for each store: published files, and parts/<kind>/<part>.parquet."""

    def __init__(self, folder: Path) -> None:
        """Read the limit from the environment. Raises WarehouseError if it is not a size."""
        self.folder, self.limit = folder, _limit()
        self._state = _states.setdefault(folder, _State())

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Keep files that are touched or fetched within the block, and the published file, until it ends."""
        path = self._marks / uuid4().hex
        with room_for(path, 0), self._turn():
            mark = path.open("xb")
            fcntl.flock(mark, fcntl.LOCK_EX)
        began = os.fstat(mark.fileno()).st_mtime_ns
        try:
            yield
        finally:
            path.unlink(missing_ok=True)
            fcntl.flock(mark, fcntl.LOCK_UN)
            mark.close()
            if self._state.budget < 0 or self._state.blocked_by == began:
                self.trim()

    def touch(self, paths: Iterable[Path]) -> list[Path]:
        """Mark files as used by a reading now, and return those that are missing."""
        missing = []
        with self._turn():
            for path in paths:
                try:
                    os.utime(path)
                except FileNotFoundError:
                    missing.append(path)
        return missing

    def keep(self, path: Path, content: bytes | memoryview) -> None:
        """Write a file that can be fetched again, and trim the cache if it may be above its limit."""
        write_anew(path, content)
        self._state.budget -= len(content)
        if self._state.budget < 0:
            self.trim()

    def cache_size(self) -> CacheSize:
        """Return the size of the cache."""
        files = self._all(_published) + self._all(_parts)
        return CacheSize(len(files), sum(file.size for file in files), self.limit)

    def trim(self) -> None:
        """Delete files that nobody reads, the least recently used first, until there is room again."""
        state = self._state
        if not state.turn.acquire(blocking=False):
            return  # another thread is trimming
        try:
            with self._turn():
                state.budget = (
                    _SCAN_EVERY  # set first, so that files written meanwhile by other threads count
                )
                oldest = self._oldest_reading()
                for store in self._stores():
                    remove_abandoned(store)
                    _remove_replaced(store, oldest)
                parts = sorted(self._all(_parts))
                size = sum(file.size for file in (*parts, *self._all(_published)))
                goal = self.limit - self.limit // _ROOM if size > self.limit else size
                for part in parts:
                    if size <= goal or part.touched >= oldest:
                        break
                    with suppress(FileNotFoundError):
                        os.unlink(part.path)
                    size -= part.size
                state.blocked_by = oldest if size > self.limit else None
        finally:
            state.turn.release()

    def remove_replaced(self, store: Path) -> None:
        """Delete the published files of one store that are replaced and that nobody reads."""
        with self._turn():
            _remove_replaced(store, self._oldest_reading())

    def _stores(self) -> list[Path]:
        return [folder for folder in self.folder.glob("*/") if folder != self._marks]

    def _all(self, files_of: Callable[[Path], list[_File]]) -> list[_File]:
        return [file for store in self._stores() for file in files_of(store)]

    @property
    def _marks(self) -> Path:
        return self.folder / ".reading"

    def _oldest_reading(self) -> int:
        """Return when the oldest reading began, and delete unlocked marks, which killed readers left."""
        began = [_NOBODY]
        for path in self._marks.glob("*"):
            with suppress(FileNotFoundError), path.open("rb") as mark:
                try:
                    fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    path.unlink()
                except BlockingIOError:
                    began.append(os.fstat(mark.fileno()).st_mtime_ns)
        return min(began)

    @contextmanager
    def _turn(self) -> Iterator[None]:
        self._marks.mkdir(parents=True, exist_ok=True)
        with (self.folder / ".lock").open("ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            try:
                yield
            finally:
                fcntl.flock(lock, fcntl.LOCK_UN)  # closing does not, where a child was forked meanwhile


def write_anew(path: Path, content: bytes | memoryview) -> None:
    """Write a file that can be fetched again: whole, but without waiting for the disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{uuid4().hex}.tmp")
    with room_for(path, len(content)):
        try:
            temporary.write_bytes(content)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)


def _remove_replaced(store: Path, oldest: int) -> None:
    """Delete a published file if a later version came over ten minutes ago and before the oldest reading."""
    files = _published(store)
    cutoff = min(oldest, time.time_ns() - int(_FILES_STAY_S * 1e9))
    for file in files:
        if any(file.path < later.path and file.touched < later.touched < cutoff for later in files):
            Path(file.path).unlink(missing_ok=True)


def _published(store: Path) -> list[_File]:
    return _files(store, ".duckdb")


def _parts(store: Path) -> list[_File]:
    kinds = (store / "parts").glob("*/")
    empty = f"{os.sep}{EMPTY_PART}.parquet"
    return [file for kind in kinds for file in _files(kind, ".parquet") if not file.path.endswith(empty)]


def _files(folder: Path, suffix: str) -> list[_File]:
    files = []
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(suffix):
                with suppress(FileNotFoundError):
                    stat = entry.stat()
                    files.append(_File(stat.st_mtime_ns, stat.st_size, entry.path))
    return files


def _limit() -> int:
    size = os.environ.get(CACHE_GB) or _DEFAULT_GB
    try:
        limit = float(size)
    except ValueError:
        limit = math.nan
    if not 0 <= limit < math.inf:
        raise WarehouseError(f"{CACHE_GB} is {size!r}: set it to a number of gigabytes, such as 20.")
    return int(limit * 1e9)
