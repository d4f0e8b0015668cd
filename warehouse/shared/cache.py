"""Local copies of shared stores' files: below a size, the least recently used goes, nothing in use.

Whoever reads has a *mark*, a locked file that is as old as the reading, and touches what it needs afterwards.
So a part that was last touched before the oldest mark was made is needed by nobody; nor is a published file
that another had replaced by then, because readers take the newest. To make a mark, to touch parts and to
delete files is one process's turn at a time. A killed reader's mark is locked no more.
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
"""The answers of a hundred models at full size."""
_ROOM = 10
"""One such part of the limit is free again afterwards, so that not every further file is one too many."""
_LOOK_EVERY = 64 * 2**20
"""Bytes that a process keeps before it looks at all files again."""
_FILES_STAY_S = 600.0
"""Seconds for which a replaced published file stays here: who was told its path may be about to open it."""
_NOBODY = sys.maxsize
"""The beginning of the oldest reading where there is none, in ns like all times of files here."""


class _File(NamedTuple):
    """touched: of a published file, when it came. path: text, as there may be many."""

    touched: int
    size: int
    path: str


@dataclass
class _Book:
    """One process's knowledge of a cache.

    left: bytes until it looks at all files again. waits_for: the beginning of the reading because of which
    there is still too much.
    """

    left: int = 0
    waits_for: int | None = None
    turn: Lock = field(default_factory=Lock)


_books: dict[Path, _Book] = {}


class Cache:
    """A folder with one folder for each store: published files, and parts/<kind>/<part>.parquet."""

    def __init__(self, folder: Path) -> None:
        """Raises WarehouseError if the environment sets no size."""
        self.folder, self.limit = folder, _limit()
        self._book = _books.setdefault(folder, _Book())

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Keep what is touched or fetched within the block, and the newest published file, until it ends."""
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
            if self._book.left < 0 or self._book.waits_for == began:
                self.trim()

    def touch(self, paths: Iterable[Path]) -> list[Path]:
        """Note that files are needed now, by a reading; returns those that are not there."""
        missing = []
        with self._turn():
            for path in paths:
                try:
                    os.utime(path)
                except FileNotFoundError:
                    missing.append(path)
        return missing

    def keep(self, path: Path, content: bytes | memoryview) -> None:
        """Write a file that can be fetched again; what was used least goes where that is too much."""
        write_anew(path, content)
        self._book.left -= len(content)
        if self._book.left < 0:
            self.trim()

    def cache_size(self) -> CacheSize:
        """Return the size of the cache."""
        files = self._all(_published) + self._all(_parts)
        return CacheSize(len(files), sum(file.size for file in files), self.limit)

    def trim(self) -> None:
        """Delete what nobody reads, the least recently used first, until there is room again."""
        book = self._book
        if not book.turn.acquire(blocking=False):
            return  # another thread is at it
        try:
            with self._turn():
                book.left = _LOOK_EVERY  # first: what other threads keep meanwhile counts
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
                book.waits_for = oldest if size > self.limit else None
        finally:
            book.turn.release()

    def remove_replaced(self, store: Path) -> None:
        """Delete the published files of one store that nobody reads any more."""
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
        """When the oldest reading began. Marks that are not locked are left by killed readers, and go."""
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
    """Write a file that can be fetched again: whole, but with no wait for the disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{uuid4().hex}.tmp")
    with room_for(path, len(content)):
        try:
            temporary.write_bytes(content)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)


def _remove_replaced(store: Path, oldest: int) -> None:
    """A file goes if a later version came here ten minutes ago, and before anybody began to read."""
    files = _published(store)
    before = min(oldest, time.time_ns() - int(_FILES_STAY_S * 1e9))
    for file in files:
        if any(file.path < other.path and file.touched < other.touched < before for other in files):
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
