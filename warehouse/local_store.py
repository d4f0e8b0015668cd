"""Stores a warehouse in a folder of this machine: the database file, the log of registrations, and parts/."""

import os
import shutil
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from uuid import uuid4

from filelock import Timeout

from warehouse.jobs import FolderJobs
from warehouse.outside import WriterLock, lock_shared, patiently
from warehouse.part_kinds import EMPTY_PART, is_part_name, part_path
from warehouse.registrations import Position, Registrations
from warehouse.storage import (
    FileSign,
    WarehouseError,
    publish,
    refuse_moved,
    remove_abandoned,
    room_for,
    sign_of,
    written_whole,
)

FILE = "culturemeter.duckdb"
_WRITE_LOCK_PATIENCE_S = 600.0

_writing = threading.local()  # .paths: the files that this thread is writing


class LocalStore:
    """The default store; ``warehouse.store.Store`` documents its members."""

    has_all_parts = True

    def __init__(self, home: Path) -> None:
        self.home = self.folder = home
        self.path = home / FILE
        self.root, self.place = str(home), str(self.path)

    @property
    def log(self) -> Registrations:
        refuse_moved(self.home)
        return Registrations(self.home)

    @property
    def leases(self) -> None:
        """None: processes of one machine do not wait for each other."""

    def version(self) -> FileSign | None:
        return sign_of(self.path)

    def published(self) -> Path | None:
        return self.path if self.path.exists() else None

    @contextmanager
    def draft(self) -> Iterator["_Draft"]:
        """Yield a private copy; writers take turns across threads and processes, for up to 10 minutes."""
        refuse_moved(self.home)
        with self._turn_to_write():
            remove_drafts(self.folder)
            draft = _Draft(self.path)
            size = self.path.stat().st_size if self.path.exists() else 0
            # Room for the copy, and for its log, which is at most as large until the checkpoint.
            with room_for(self.path, 2 * size):
                try:
                    patiently(self.path, lambda: copy_published(self.path, draft.path))
                    yield draft
                finally:
                    remove_drafts(self.folder)

    @contextmanager
    def locked(self, name: str) -> Iterator[None]:
        refuse_moved(self.home)
        with WriterLock(self.home / "locks" / f"{name}.lock"):
            yield

    def jobs(self, request_hash: str) -> FolderJobs:
        refuse_moved(self.home)
        return FolderJobs(self.home / "batches" / request_hash)

    def job_requests(self) -> Sequence[str]:
        return sorted({note.parent.name for note in (self.home / "batches").glob("*/*.json")})

    def put_part(self, kind: str, part: str, content: memoryview, *, remember: bool = True) -> None:
        refuse_moved(self.home)
        with written_whole(part_path(self.home, kind, part), content.nbytes) as temporary:
            temporary.write_bytes(content)

    def send_unsent(self) -> None:
        """Do nothing: parts are written to their place at once."""

    def part(self, kind: str, part: str, *, anew: bool = False) -> bytes:
        path = part_path(self.home, kind, part)
        if os.path.lexists(path) and not path.is_file():  # reading a pipe would block
            raise WarehouseError(f"{path} is not a file but a folder, a pipe or a broken link")
        return path.read_bytes()

    def part_sizes(self, kind: str) -> Mapping[str, int]:
        folder = part_path(self.home, kind, EMPTY_PART).parent
        if not folder.exists():
            return {}
        with os.scandir(folder) as files:
            names = [file for file in files if file.name.endswith(".parquet")]
            sizes = {file.name.removesuffix(".parquet"): _size(file) for file in names}
        return {name: size for name, size in sizes.items() if size is not None and is_part_name(name)}

    def fetch(self, parts: Iterable[tuple[str, str]]) -> None:
        """Do nothing: all parts are on this machine."""

    def reading(self) -> AbstractContextManager[None]:
        return nullcontext()

    def cache_size(self) -> None:
        """None: nothing is cached."""

    def trim(self) -> None:
        """Do nothing: nothing is cached."""

    def delete_part(self, kind: str, part: str) -> None:
        part_path(self.home, kind, part).unlink(missing_ok=True)

    def set_part_aside(self, kind: str, part: str) -> Path:
        path = part_path(self.home, kind, part)
        moved = self.home / "quarantine" / kind / path.name
        moved.parent.mkdir(parents=True, exist_ok=True)
        if moved.is_dir():  # a file cannot replace a folder
            moved = moved.with_name(f"{path.stem}.{uuid4().hex[:8]}{path.suffix}")
        path.replace(moved)
        return moved

    def strays(self) -> Mapping[str, int]:
        """Return an empty mapping: the next writer deletes them."""
        return {}

    def delete_strays(self) -> None:
        """Do nothing: there are none."""

    def remove_abandoned(self, kind: str) -> None:
        remove_abandoned(part_path(self.home, kind, EMPTY_PART).parent)

    @contextmanager
    def _turn_to_write(self) -> Iterator[None]:
        """Hold the inter-process write lock within the block. A kill releases it."""
        with not_within_itself(self.path):
            lock = WriterLock(self.home / f"{FILE}.lock", timeout=_WRITE_LOCK_PATIENCE_S, poll_interval=0.01)
            try:
                lock.acquire()
            except Timeout as error:
                raise WarehouseError(
                    f"another process has been writing to {self.path} for {_WRITE_LOCK_PATIENCE_S:.0f} s. "
                    f"`fuser {lock.lock_file}` names the process: end it and run again."
                ) from error
            try:
                yield
            finally:
                lock.release()


class _Draft:
    def __init__(self, published: Path) -> None:
        self.published = published
        self.path = new_draft(published.parent)

    def publish(self, folded: Position | None) -> None:
        publish(self.path, self.published)
        if folded:
            with suppress(WarehouseError):  # harmless: the file records how far the log is folded
                Registrations(self.published.parent).forget(folded)


@contextmanager
def not_within_itself(path: Path | str) -> Iterator[None]:
    """Raise WarehouseError if this thread is writing to `path` already."""
    paths: set[Path | str] = _writing.__dict__.setdefault("paths", set())
    if path in paths:
        raise WarehouseError(
            f"write() inside write() on {path}: it would wait for itself. Use the outer connection."
        )
    paths.add(path)
    try:
        yield
    finally:
        paths.remove(path)


def new_draft(folder: Path) -> Path:
    """Return a new path for a private copy."""
    return folder / f"{FILE}.writing-{uuid4().hex}"


def remove_drafts(folder: Path) -> None:
    """Delete the private copies of killed writers: the caller holds the write lock, so no other is alive."""
    for leftover in folder.glob(f"{FILE}.writing-*"):
        if leftover.is_dir():
            shutil.rmtree(leftover)
        else:
            leftover.unlink()


def copy_published(path: Path, target: Path) -> None:
    """Copy the published file, if there is one, while no outside program can change it (`patiently`)."""
    if not path.exists():
        return
    with path.open("rb") as source:
        lock_shared(source)
        log = path.with_name(f"{path.name}.wal")
        if log.exists():
            raise WarehouseError(
                f"{log} exists: an outside program wrote to {path} and did not finish. Keep its "
                f"changes with `duckdb {path} -c CHECKPOINT`, or drop them by deleting {log.name}."
            )
        with target.open("xb") as copy:
            shutil.copyfileobj(source, copy, 1 << 20)


def _size(file: os.DirEntry[str]) -> int | None:
    """Return a file's size in bytes: 0 for a broken link, None for a file that was deleted meanwhile."""
    try:
        return file.stat().st_size
    except OSError:
        return 0 if file.is_symlink() else None
