"""The shared store; `warehouse.store.Store` documents its members.

S3, under $CULTUREMETER_PARTS, has parts/<kind>/<part>.parquet and published/<version>-<sha256>.duckdb.
Postgres has the number of the newest version, the registrations and the locks. The home folder has, under
shared/<name>, copies of fetched files that match their hash, up to a limit (`cache`); all may be deleted.
Under unsent/<name> it has finished parts that are not on S3 yet (`outbox`).
"""

import hashlib
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from warehouse.local_store import new_draft, not_within_itself, remove_drafts
from warehouse.part_kinds import EMPTY_PART, KINDS, is_as_written, is_part_name, part_path
from warehouse.registrations import Position
from warehouse.shared.cache import Cache, write_anew
from warehouse.shared.database import Database, HeldLock, Version
from warehouse.shared.objects import Objects
from warehouse.shared.outbox import Outbox
from warehouse.shared.secrets import password_of
from warehouse.shared.tables import PostgresJobs, PostgresLeases, PostgresLog, requests_with_jobs
from warehouse.storage import CacheSize, WarehouseError, private_folder, remove_abandoned, room_for

PARTS_VARIABLE = "CULTUREMETER_PARTS"
_WRITE_LOCK_PATIENCE_S = 600.0
_BEING_PUBLISHED = timedelta(hours=1)
"""Age below which an unpublished file may still be published, once Postgres answers again."""
_AT_ONCE = 16
"""Number of objects that are fetched at the same time."""


class SharedStore:
    """A store in a Postgres database and at a place on S3."""

    has_all_parts = False

    def __init__(self, home: Path, url: str, parts: str) -> None:
        self.home = home
        self.objects = Objects(parts, home)
        self.root = self.objects.place
        self.database = Database(url, self.root, home)
        self.place = f"{self.database.place} with {self.root}"
        name = hashlib.sha256(self.place.encode()).hexdigest()[:16]
        self.cache = Cache(home / "shared")
        self.folder = self.cache.folder / name
        self.outbox = Outbox(home / "unsent" / name)

    @classmethod
    def from_environment(cls, home: Path, url: str) -> "SharedStore":
        """Return the environment's store. Raises WarehouseError if it names no place for parts."""
        return cls(home, url, _parts())

    @classmethod
    def from_command_line(cls, home: Path, url: str, parts: str | None) -> "SharedStore":
        """Return the store named on a command line, with the environment's password.

        Raises WarehouseError if the address has a password of its own.
        """
        if password_of(url):
            raise WarehouseError(
                "the address of the database has a password, which everybody on this machine can see: leave "
                "it out and set PGPASSWORD."
            )
        store = cls(home, url, parts or _parts())
        if environment_url := os.environ.get("CULTUREMETER_WAREHOUSE"):
            environment_store = cls(home, environment_url, store.root)
            return environment_store if environment_store.place == store.place else store
        return store

    def __repr__(self) -> str:
        return f"SharedStore({self.place})"

    def __reduce__(self) -> tuple[object, ...]:
        """Leave the password out of a pickle: the other process takes it from its own environment."""
        return _from_own_environment, (self.home,)

    @property
    def log(self) -> PostgresLog:
        return PostgresLog(self.database)

    @property
    def leases(self) -> PostgresLeases:
        return PostgresLeases(self.database)

    def version(self) -> Version | None:
        return self.database.newest()

    def published(self) -> Path | None:
        while (version := self.version()) is not None:
            path = self.folder / version.name
            if path.exists():
                return path
            try:
                content = self.objects.get(f"published/{version.name}")
            except FileNotFoundError:
                if self.version() != version:  # replaced and deleted before it was fetched
                    continue
                raise WarehouseError(
                    f"the published file {self.root}/published/{version.name} is missing: somebody deleted "
                    f"it. Restore it, or begin with another database and place."
                ) from None
            if hashlib.sha256(content).hexdigest() != version.sha256:
                raise WarehouseError(
                    f"{self.root}/published/{version.name} does not match its hash: restore the file."
                )
            self.cache.keep(path, content)
            self.cache.remove_replaced(self.folder)
            return path
        return None

    @contextmanager
    def draft(self) -> Iterator["_Draft"]:
        lock = self.database.lock("write", _WRITE_LOCK_PATIENCE_S)
        with not_within_itself(self.place), lock as held_lock:
            private_folder(self.folder)
            remove_drafts(self.folder)
            draft = _Draft(self, held_lock)
            with room_for(draft.path, 2 * draft.size):
                try:
                    draft.copy()
                    yield draft
                finally:
                    remove_drafts(self.folder)

    @contextmanager
    def locked(self, name: str) -> Iterator[None]:
        with self.database.lock(name):
            yield

    def jobs(self, request_hash: str) -> PostgresJobs:
        return PostgresJobs(self.database, request_hash, self.home / "batches")

    def job_requests(self) -> Sequence[str]:
        return requests_with_jobs(self.database)

    def put_part(self, kind: str, part: str, content: memoryview, *, remember: bool = True) -> None:
        path = part_path(self.folder, kind, part)
        with self.outbox.sending(kind, part, content):
            self.objects.put(_object(kind, part), content)
        self.send_unsent()
        if remember:
            self.cache.keep(path, content)

    def send_unsent(self) -> None:
        self.outbox.send(lambda kind, part, content: self.objects.put(_object(kind, part), content))

    def part(self, kind: str, part: str, *, anew: bool = False) -> bytes:
        path = part_path(self.folder, kind, part)
        if not anew:
            with suppress(FileNotFoundError):
                content = path.read_bytes()
                if is_as_written(part, content):
                    os.utime(path)  # marks it as used now
                    return content
        content = self._fetched(kind, part)
        if is_as_written(part, content) and (path.exists() or not anew):
            self.cache.keep(path, content)
        return content

    def part_sizes(self, kind: str) -> Mapping[str, int]:
        listed = self.objects.sizes(f"parts/{kind}")
        sizes = {name.removesuffix(".parquet"): n for name, n in listed.items() if name.endswith(".parquet")}
        return {name: size for name, size in sizes.items() if is_part_name(name)}

    def fetch(self, parts: Iterable[tuple[str, str]]) -> None:
        folders = {kind: part_path(self.folder, kind, EMPTY_PART).parent for kind in KINDS}
        places = {
            folders[kind] / f"{part}.parquet": (kind, part)
            for kind, part in parts
            if kind in KINDS and is_part_name(part)
        }
        missing = self.cache.touch(places)
        with ThreadPoolExecutor(min(_AT_ONCE, len(missing) or 1)) as pool:
            for call in [pool.submit(self._fetch, *places[path]) for path in missing]:
                call.result()

    def reading(self) -> AbstractContextManager[None]:
        return self.cache.reading()

    def cache_size(self) -> CacheSize:
        return self.cache.cache_size()

    def trim(self) -> None:
        self.cache.trim()

    def delete_part(self, kind: str, part: str) -> None:
        self.objects.delete([_object(kind, part)])
        part_path(self.folder, kind, part).unlink(missing_ok=True)

    def set_part_aside(self, kind: str, part: str) -> Path:
        moved = self.home / "quarantine" / kind / f"{part}.parquet"
        with suppress(FileNotFoundError):  # another machine has set it aside already
            write_anew(moved, self.objects.get(_object(kind, part)))
        self.delete_part(kind, part)
        return moved

    def strays(self) -> Mapping[str, int]:
        cutoff = datetime.now(UTC) - _BEING_PUBLISHED
        listed = self.objects.listed("published")  # listed first: a file published meanwhile is not a stray
        published = {version.name for version in self.database.versions()}
        return {
            name: entry.size
            for name, entry in listed.items()
            if name not in published and entry.written_at < cutoff
        }

    def delete_strays(self) -> None:
        self.objects.delete([f"published/{name}" for name in self.strays()])

    def remove_abandoned(self, kind: str) -> None:
        remove_abandoned(part_path(self.folder, kind, EMPTY_PART).parent)

    def _fetch(self, kind: str, part: str) -> None:
        """Copy a part to this machine, unless it is missing or damaged: then no query shows it."""
        with suppress(FileNotFoundError):
            content = self._fetched(kind, part)
            if is_as_written(part, content):
                self.cache.keep(part_path(self.folder, kind, part), content)

    def _fetched(self, kind: str, part: str) -> bytes:
        """Return a part's content; fetch it twice if its hash does not match: the line may be at fault."""
        content = self.objects.get(_object(kind, part))
        return content if is_as_written(part, content) else self.objects.get(_object(kind, part))


class _Draft:
    """A copy of the newest file that becomes the next version."""

    def __init__(self, store: SharedStore, lock: HeldLock) -> None:
        self.store, self.lock = store, lock
        self.path = new_draft(store.folder)
        self.published = store.published()
        self.number = int(self.published.name.split("-")[0]) if self.published else 0
        self.size = self.published.stat().st_size if self.published else 0

    def copy(self) -> None:
        if self.published:
            shutil.copyfile(self.published, self.path)

    def publish(self, folded: Position | None) -> None:
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:  # the next holder of the lock deletes other writers' drafts
            raise self.store.database.lost("another writer of this machine has it now") from None
        version = Version(self.number + 1, hashlib.sha256(content).hexdigest())
        store = self.store
        store.objects.put(f"published/{version.name}", content)
        store.database.publish(self.lock, version, len(content), folded.id if folded else 0)
        os.utime(self.path)  # readers that began before may still read the version that it replaces (`cache`)
        self.path.replace(store.folder / version.name)
        with suppress(WarehouseError):  # it is published; the next writer deletes replaced files
            if replaced := store.database.replaced():
                store.objects.delete([f"published/{version.name}" for version in replaced])
                store.database.forget(replaced)
        store.cache.remove_replaced(store.folder)


def _from_own_environment(home: Path) -> SharedStore:
    return SharedStore.from_environment(home, os.environ["CULTUREMETER_WAREHOUSE"])


def _parts() -> str:
    parts = os.environ.get(PARTS_VARIABLE)
    if not parts:
        raise WarehouseError(
            f"a shared store needs a place for parts as well as a database: set {PARTS_VARIABLE}=s3://bucket/"
            f"prefix."
        )
    return parts


def _object(kind: str, part: str) -> str:
    return f"parts/{kind}/{part}.parquet"
