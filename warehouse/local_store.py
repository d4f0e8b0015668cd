"""A warehouse in a folder of this machine: the database file, the log of registrations beside it, parts/."""

import os
import shutil
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from uuid import uuid4

from filelock import FileLock, Timeout

from warehouse.jobs import FolderJobs
from warehouse.outside import lock_shared, patiently
from warehouse.part_kinds import EMPTY_PART, is_part_name, part_path
from warehouse.registrations import Position, Registrations
from warehouse.storage import (
    FileSign,
    WarehouseError,
    publish,
    remove_abandoned,
    room_for,
    sign_of,
    written_whole,
)

FILE = "culturescope.duckdb"
_WRITE_LOCK_PATIENCE_S = 600.0

_writing = threading.local()  # .paths: the files that this thread is writing


class LocalStore:
    """The default store; ``warehouse.store`` says what its parts do."""

    has_all_parts = True

    def __init__(self, home: Path) -> None:
        self.home = self.folder = home
        self.path = home / FILE
        self.root, self.place = str(home), str(self.path)

    @property
    def log(self) -> Registrations:
        return Registrations(self.home)

    @property
    def leases(self) -> None:
        """One machine's processes are not kept from each other."""

    def version(self) -> FileSign | None:
        return sign_of(self.path)

    def published(self) -> Path | None:
        return self.path if self.path.exists() else None

    @contextmanager
    def draft(self) -> Iterator["_Draft"]:
        """Writers take turns across threads and processes (10 minutes' patience)."""
        with self._turn_to_write():
            remove_drafts(self.folder)
            draft = _Draft(self.path)
            size = self.path.stat().st_size if self.path.exists() else 0
            # The copy, and at most as much again for its log until the checkpoint.
            with room_for(self.path, 2 * size):
                try:
                    patiently(self.path, lambda: _copy_published(self.path, draft.path))
                    yield draft
                finally:
                    remove_drafts(self.folder)

    @contextmanager
    def locked(self, name: str) -> Iterator[None]:
        with FileLock(self.home / "locks" / f"{name}.lock"):
            yield

    def jobs(self, request_hash: str) -> FolderJobs:
        return FolderJobs(self.home / "batches" / request_hash)

    def job_requests(self) -> Sequence[str]:
        return sorted({note.parent.name for note in (self.home / "batches").glob("*/*.json")})

    def put_part(self, kind: str, part: str, content: memoryview, *, remember: bool = True) -> None:
        with written_whole(part_path(self.home, kind, part), content.nbytes) as temporary:
            temporary.write_bytes(content)

    def send_unsent(self) -> None:
        """All is where it belongs."""

    def part(self, kind: str, part: str, *, anew: bool = False) -> bytes:
        path = part_path(self.home, kind, part)
        if os.path.lexists(path) and not path.is_file():  # a pipe would be waited for
            raise WarehouseError(f"{path} is a folder, a pipe or a link to nothing, and no file")
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
        """All are here."""

    def reading(self) -> AbstractContextManager[None]:
        return nullcontext()

    def cache_size(self) -> None:
        """All is here."""

    def trim(self) -> None:
        """All is here, and stays."""

    def delete_part(self, kind: str, part: str) -> None:
        part_path(self.home, kind, part).unlink(missing_ok=True)

    def set_part_aside(self, kind: str, part: str) -> Path:
        path = part_path(self.home, kind, part)
        moved = self.home / "quarantine" / kind / path.name
        moved.parent.mkdir(parents=True, exist_ok=True)
        if moved.is_dir():  # which no file replaces
            moved = moved.with_name(f"{path.stem}.{uuid4().hex[:8]}{path.suffix}")
        path.replace(moved)
        return moved

    def strays(self) -> Mapping[str, int]:
        """None: who writes next deletes them."""
        return {}

    def delete_strays(self) -> None:
        """There are none."""

    def remove_abandoned(self, kind: str) -> None:
        remove_abandoned(part_path(self.home, kind, EMPTY_PART).parent)

    @contextmanager
    def _turn_to_write(self) -> Iterator[None]:
        """Hold the inter-process write lock. The kernel releases it when a writer is killed."""
        with not_within_itself(self.path):
            lock = FileLock(self.home / f"{FILE}.lock", timeout=_WRITE_LOCK_PATIENCE_S, poll_interval=0.01)
            try:
                lock.acquire()
            except Timeout as error:
                raise WarehouseError(
                    f"another process has been writing to {self.path} for {_WRITE_LOCK_PATIENCE_S:.0f} s. "
                    f"See who holds {lock.lock_file} (fuser {lock.lock_file}), end it and run again."
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
            with suppress(WarehouseError):  # what stays in the log is known to be in the file
                Registrations(self.published.parent).forget(folded)


@contextmanager
def not_within_itself(path: Path | str) -> Iterator[None]:
    """Raises WarehouseError where this thread is writing to `path` already."""
    mine: set[Path | str] = _writing.__dict__.setdefault("paths", set())
    if path in mine:
        raise WarehouseError(
            f"write() inside write() on {path}: it would wait for itself. Use the outer connection."
        )
    mine.add(path)
    try:
        yield
    finally:
        mine.remove(path)


def new_draft(folder: Path) -> Path:
    """A name for a private copy."""
    return folder / f"{FILE}.writing-{uuid4().hex}"


def remove_drafts(folder: Path) -> None:
    """Delete private copies of writers that were killed: who holds the write lock is the only live one."""
    for leftover in folder.glob(f"{FILE}.writing-*"):
        if leftover.is_dir():
            shutil.rmtree(leftover)
        else:
            leftover.unlink()


def _copy_published(path: Path, target: Path) -> None:
    """Copy the published file, if there is one yet, while no outside program can change it."""
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
    """Bytes; 0 of a link that leads nowhere; None of a file that is gone."""
    try:
        return file.stat().st_size
    except OSError:
        return 0 if file.is_symlink() else None
