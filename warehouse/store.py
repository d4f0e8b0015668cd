"""Places of a warehouse: a folder of this machine, or Postgres and S3 that many machines share.

All else in this package is the same for both. What differs is what a store does: it keeps the published
database file and replaces it whole, takes registrations, keeps parts that are never changed, and gives locks.
"""

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from warehouse.jobs import StoredJobs
from warehouse.local_store import LocalStore
from warehouse.registrations import Log, Position
from warehouse.storage import CacheSize, WarehouseError
from warehouse.storage import home as default_home

VARIABLE = "CULTURESCOPE_WAREHOUSE"
"""The address of a shared store's database; not set: the store is the home folder."""


class Leases(Protocol):
    """The leases of a store: unit, as (request_hash, unit) -> holder, and until when."""

    def take(self, units: Collection[tuple[str, str]], holder: str, seconds: float) -> set[tuple[str, str]]:
        """Take those units that no other holder has, for so long; returns them."""

    def renew(self, holder: str, seconds: float) -> None:
        """Keep all of a holder's units for so long from now."""

    def release(self, units: Collection[tuple[str, str]], holder: str) -> None:
        """Give units free that a holder has."""

    def held(self, request_hash: str, seconds: float) -> set[str]:
        """Return the units of a request whose leases of so many seconds have not run out."""

    def remove_ended(self) -> None:
        """Delete the leases of processes that were killed a day ago or before."""


class FileDraft(Protocol):
    """A private copy of the published file, made while the write lock is held.

    path: where it is; there is no file if nothing is published yet.
    """

    path: Path

    def publish(self, folded: Position | None) -> None:
        """Give the copy the name of the published file, whole or not at all.

        folded: the registrations up to here are in it. Raises WarehouseError if it could not be done, or if
        the write lock or another lock that this thread holds was lost meanwhile.
        """


class Store(Protocol):
    """The place of a warehouse. It holds no connection: share it among threads, send it to processes.

    home: this machine's folder of models, engines, reports and what was set aside. folder: where DuckDB finds
    parts (``parts/<kind>/<part>.parquet``) on this machine. root: where parts are to whoever opens the file
    without us. place: what people are told. has_all_parts: whether ``folder`` has every part at any time; if
    not, they have to be fetched.
    """

    home: Path
    folder: Path
    root: str
    place: str
    has_all_parts: bool

    @property
    def log(self) -> Log:
        """The registrations."""

    @property
    def leases(self) -> Leases | None:
        """Who is having what answered (``warehouse.claims``); None: nobody is kept waiting."""

    def version(self) -> object | None:
        """Changes with every publication; None: nothing is published."""

    def published(self) -> Path | None:
        """The newest published file, on this machine's disk; None: nothing is published."""

    def draft(self) -> AbstractContextManager[FileDraft]:
        """Hold the write lock, and a private copy of what is published, until the block ends."""

    def locked(self, name: str) -> AbstractContextManager[None]:
        """Hold a lock of this name, which one process has at a time; it goes when its holder is killed."""

    def jobs(self, request_hash: str) -> StoredJobs:
        """Return the jobs that a server was sent of this request, which are answered later."""

    def job_requests(self) -> Sequence[str]:
        """The request_hash of all that there are such jobs of."""

    def put_part(self, kind: str, part: str, content: memoryview, *, remember: bool = True) -> None:
        """Keep a part, whole or not at all. remember: whether it is likely to be read here soon."""

    def send_unsent(self) -> None:
        """Send the finished parts that this machine could not send before."""

    def part(self, kind: str, part: str, *, anew: bool = False) -> bytes:
        """Return a part's content, unchecked. anew: from the store, not from this machine's copy.

        Raises FileNotFoundError if there is none; WarehouseError for what is no name of a part, or no file.
        """

    def part_sizes(self, kind: str) -> Mapping[str, int]:
        """Part -> bytes, of all that are there, registered or not; without the empty one."""

    def fetch(self, parts: Iterable[tuple[str, str]]) -> None:
        """Have these (kind, part) in ``folder``, except those that are not there or damaged."""

    def reading(self) -> AbstractContextManager[None]:
        """Keep what is fetched within the block, and the published file, on this machine until it ends."""

    def cache_size(self) -> CacheSize | None:
        """Return this machine's cache, with its size; None for a local store."""

    def trim(self) -> None:
        """Delete what this machine keeps above its limit, except what is being read."""

    def delete_part(self, kind: str, part: str) -> None:
        """Delete a part, if it is there."""

    def set_part_aside(self, kind: str, part: str) -> Path:
        """Move a damaged part to quarantine/ at home; returns where it is."""

    def strays(self) -> Mapping[str, int]:
        """Name -> bytes, of files that were to be published an hour ago or before, and never were."""

    def delete_strays(self) -> None:
        """Delete them."""

    def remove_abandoned(self, kind: str) -> None:
        """Delete what killed writers left half written."""


def store_at(where: "Path | Store | None" = None) -> Store:
    """The store of a home folder: the shared one if $CULTURESCOPE_WAREHOUSE names one, else the folder.

    where: default: ``warehouse.home()``; a store is itself. Raises WarehouseError if the environment does not
    name a whole shared store.
    """
    if where is not None and not isinstance(where, Path):
        return where
    home = default_home() if where is None else where.expanduser().resolve()
    url = os.environ.get(VARIABLE)
    if not url:
        return LocalStore(home)
    from warehouse.shared.store import SharedStore  # its libraries are an extra

    return SharedStore.of_environment(home, url)


def store_named(place: str, parts: str | None = None) -> Store:
    """The store that somebody typed: a folder, or the address of a database without its password.

    parts: of a database: s3://bucket/prefix; default $CULTURESCOPE_PARTS. Raises WarehouseError for an
    address with a password, which everybody on the machine could see.
    """
    if not place.startswith(("postgresql://", "postgres://")):
        if parts:
            raise WarehouseError(f"{parts} goes with a database, and {place} is a folder: leave it out.")
        return LocalStore(Path(place).expanduser().resolve())
    from warehouse.shared.store import SharedStore

    return SharedStore.typed(default_home(), place, parts)
