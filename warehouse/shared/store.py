"""The shared store: `warehouse.store` says what its parts do.

On S3, under $CULTURESCOPE_PARTS: parts/<kind>/<part>.parquet and published/<version>-<sha256>.duckdb. In
Postgres: which version is the newest, the registrations, the locks. At home, under shared/<name>: what this
machine has fetched so far, only if it is what its name says, up to a limit (`cache`); all may be deleted.
Under unsent/<name>: finished parts that are not on S3 yet (`outbox`).
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
from warehouse.part_kinds import EMPTY_PART, KINDS, has_hash, is_as_written, is_part_name, part_path
from warehouse.registrations import Position
from warehouse.shared.cache import Cache, write_anew
from warehouse.shared.database import Database, Held, Version
from warehouse.shared.jobs import PostgresJobs, requests_with_jobs
from warehouse.shared.leases import PostgresLeases
from warehouse.shared.log import PostgresLog
from warehouse.shared.objects import Objects
from warehouse.shared.outbox import Outbox
from warehouse.shared.secrets import password_of
from warehouse.storage import CacheSize, WarehouseError, private_folder, remove_abandoned, room_for

PARTS_VARIABLE = "CULTURESCOPE_PARTS"
_WRITE_LOCK_PATIENCE_S = 600.0
_BEING_PUBLISHED = timedelta(hours=1)
"""A file that is sent is published at once, or as soon as Postgres answers again."""
_AT_ONCE = 16
"""Objects that are fetched at the same time."""


class SharedStore:
    """A database and a place on S3, by their addresses."""

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
    def of_environment(cls, home: Path, url: str) -> "SharedStore":
        """The store that the environment names. Raises WarehouseError if it does not say where parts are."""
        return cls(home, url, _parts())

    @classmethod
    def typed(cls, home: Path, url: str, parts: str | None) -> "SharedStore":
        """The store of a command line, with the environment's password. WarehouseError for one of its own."""
        if password_of(url):
            raise WarehouseError(
                "the address of the database has a password, which everybody on this machine can see: leave "
                "it out and set PGPASSWORD."
            )
        store = cls(home, url, parts or _parts())
        if known := os.environ.get("CULTURESCOPE_WAREHOUSE"):
            same = cls(home, known, store.root)
            return same if same.place == store.place else store
        return store

    def __repr__(self) -> str:
        return f"SharedStore({self.place})"

    def __reduce__(self) -> tuple[object, ...]:
        """Leave the password out for another process, which takes its own environment's."""
        return _of_this_process, (self.home,)

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
                if self.version() != version:  # replaced, and deleted, while we were about to fetch it
                    continue
                raise WarehouseError(
                    f"the published file is not at {self.root}/published/{version.name}: somebody deleted "
                    f"it. Bring it back, or begin with another database and place."
                ) from None
            if hashlib.sha256(content).hexdigest() != version.sha256:
                raise WarehouseError(f"{self.root}/published/{version.name} is not what was published.")
            self.cache.keep(path, content)
            self.cache.remove_replaced(self.folder)
            return path
        return None

    @contextmanager
    def draft(self) -> Iterator["_Draft"]:
        lock = self.database.lock("write", _WRITE_LOCK_PATIENCE_S)
        with not_within_itself(self.place), lock as held:
            private_folder(self.folder)
            remove_drafts(self.folder)
            draft = _Draft(self, held)
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
                    os.utime(path)  # it was used now
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
        wanted = [each for each in parts if each[0] in KINDS and is_part_name(each[1]) and has_hash(each[1])]
        folders = {kind: part_path(self.folder, kind, EMPTY_PART).parent for kind in KINDS}
        places = {folders[kind] / f"{part}.parquet": (kind, part) for kind, part in wanted}
        missing = self.cache.touch(places)
        with ThreadPoolExecutor(min(_AT_ONCE, len(missing) or 1)) as pool:
            for done in [pool.submit(self._fetch, *places[path]) for path in missing]:
                done.result()

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
        with suppress(FileNotFoundError):  # another machine has met it as well
            write_anew(moved, self.objects.get(_object(kind, part)))
        self.delete_part(kind, part)
        return moved

    def strays(self) -> Mapping[str, int]:
        before = datetime.now(UTC) - _BEING_PUBLISHED
        listed = self.objects.listed("published")  # first: what is published meanwhile is no stray
        published = {version.name for version in self.database.every()}
        return {
            name: each.size
            for name, each in listed.items()
            if name not in published and each.written_at < before
        }

    def delete_strays(self) -> None:
        self.objects.delete([f"published/{name}" for name in self.strays()])

    def remove_abandoned(self, kind: str) -> None:
        remove_abandoned(part_path(self.folder, kind, EMPTY_PART).parent)

    def _fetch(self, kind: str, part: str) -> None:
        """Keep a part here, unless it is not there or not what was written: then no query shows it."""
        with suppress(FileNotFoundError):
            content = self._fetched(kind, part)
            if is_as_written(part, content):
                self.cache.keep(part_path(self.folder, kind, part), content)

    def _fetched(self, kind: str, part: str) -> bytes:
        """Return the object's content; it is fetched twice before it is called damaged, since lines damage
        things too.
        """
        content = self.objects.get(_object(kind, part))
        return content if is_as_written(part, content) else self.objects.get(_object(kind, part))


class _Draft:
    """A copy of the newest file, to become the next version."""

    def __init__(self, store: SharedStore, held: Held) -> None:
        self.store, self.held = store, held
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
        except FileNotFoundError:  # whoever holds the lock deletes what others were writing
            raise self.store.database.lost("another writer of this machine has it now") from None
        version = Version(self.number + 1, hashlib.sha256(content).hexdigest())
        store = self.store
        store.objects.put(f"published/{version.name}", content)
        store.database.publish(self.held, version, len(content), folded.id if folded else 0)
        os.utime(self.path)  # what it replaces may be read by whoever began before (`cache`)
        self.path.replace(store.folder / version.name)
        with suppress(WarehouseError):  # it is published; whoever comes next will tidy up
            if old := store.database.old():
                store.objects.delete([f"published/{each.name}" for each in old])
                store.database.forget(old)
        store.cache.remove_replaced(store.folder)


def _of_this_process(home: Path) -> SharedStore:
    return SharedStore.of_environment(home, os.environ["CULTURESCOPE_WAREHOUSE"])


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
