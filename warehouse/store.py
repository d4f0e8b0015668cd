"""Stores of a warehouse: a folder of this machine, or Postgres and S3 that many machines share.

A store keeps the published database file and replaces it as a whole, takes registrations, keeps parts that
never change, and grants locks. The rest of this package is the same for both stores.
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

VARIABLE = "CULTUREMETER_WAREHOUSE"
"""Variable with the address of a shared store's database; if unset, the store is the home folder."""


class Leases(Protocol):
    """The leases of a store: (request_hash, unit) -> holder and end."""

    def take(self, units: Collection[tuple[str, str]], holder: str, seconds: float) -> set[tuple[str, str]]:
        """Lease the units that no other holder has, for this number of seconds, and return them."""

    def renew(self, holder: str, seconds: float) -> None:
        """Extend the leases of all units of a holder to this number of seconds from now."""

    def release(self, units: Collection[tuple[str, str]], holder: str) -> None:
        """End a holder's leases of units."""

    def held(self, request_hash: str, seconds: float) -> set[str]:
        """Return the units of a request whose leases have not run out. seconds: length of a lease."""

    def remove_ended(self) -> None:
        """Delete leases that ran out at least a day ago: their processes were killed."""


class FileDraft(Protocol):
    """A private copy of the published file, made while the write lock is held.

    path: place of the copy; it has no file if nothing is published yet.
    """

    path: Path

    def publish(self, folded: Position | None) -> None:
        """Publish the copy in place of the published file, whole or not at all.

        folded: position up to which the copy has the registrations. Raises WarehouseError if it cannot be
        published, or if this thread lost the write lock or another lock meanwhile.
        """


class Store(Protocol):
    """The place of a warehouse. It holds no connection: share it among threads, send it to processes.

    home: this machine's folder of models, engines, reports and quarantined files. folder: folder in which
    DuckDB finds parts (``parts/<kind>/<part>.parquet``) on this machine. root: folder or address of the parts
    for other programs that open the file. place: name of the store in messages. has_all_parts: whether
    ``folder`` always has every part; if not, parts have to be fetched.
    """

    home: Path
    folder: Path
    root: str
    place: str
    has_all_parts: bool

    @property
    def log(self) -> Log:
        """Log of the registrations."""

    @property
    def leases(self) -> Leases | None:
        """Leases of units (``warehouse.claims``); None: processes do not wait for each other."""

    def version(self) -> object | None:
        """Return a value that changes with every publication; None if nothing is published."""

    def published(self) -> Path | None:
        """Return the newest published file, on this machine's disk; None if nothing is published."""

    def draft(self) -> AbstractContextManager[FileDraft]:
        """Hold the write lock within the block, and yield a private copy of the published file."""

    def locked(self, name: str) -> AbstractContextManager[None]:
        """Hold a lock of this name within the block; one process has it at a time, and a kill releases it."""

    def jobs(self, request_hash: str) -> StoredJobs:
        """Return the jobs of this request that were sent to a server and are answered later."""

    def job_requests(self) -> Sequence[str]:
        """Return the request_hash of every request with such jobs."""

    def put_part(self, kind: str, part: str, content: memoryview, *, remember: bool = True) -> None:
        """Store a part, whole or not at all. remember: whether this machine is likely to read it soon."""

    def send_unsent(self) -> None:
        """Send the finished parts that this machine could not send before."""

    def part(self, kind: str, part: str, *, anew: bool = False) -> bytes:
        """Return a part's content, unchecked. anew: from the store, not from this machine's copy.

        Raises FileNotFoundError if there is none; WarehouseError for an invalid name, or if it is not a file.
        """

    def part_sizes(self, kind: str) -> Mapping[str, int]:
        """Return part -> bytes for all stored parts, registered or not, without the empty part."""

    def fetch(self, parts: Iterable[tuple[str, str]]) -> None:
        """Copy these (kind, part) to ``folder``, except missing and damaged ones."""

    def reading(self) -> AbstractContextManager[None]:
        """Keep the published file and files fetched within the block on this machine until it ends."""

    def cache_size(self) -> CacheSize | None:
        """Return the size of this machine's cache; None for a local store."""

    def trim(self) -> None:
        """Delete cached files above this machine's limit, except those that are being read."""

    def delete_part(self, kind: str, part: str) -> None:
        """Delete a part if it exists."""

    def set_part_aside(self, kind: str, part: str) -> Path:
        """Move a damaged part to quarantine/ in the home folder, and return its path there."""

    def strays(self) -> Mapping[str, int]:
        """Return name -> bytes of strays: files that were uploaded over an hour ago and never published."""

    def delete_strays(self) -> None:
        """Delete the strays."""

    def remove_abandoned(self, kind: str) -> None:
        """Delete temporary files that killed writers left."""


def store_at(location: "Path | Store | None" = None) -> Store:
    """Return the store of a home folder: the shared one that $CULTUREMETER_WAREHOUSE names, else the folder.

    location: home folder, default ``warehouse.home()``; a store is returned as it is. Raises WarehouseError
    if the environment names a shared store incompletely.
    """
    if location is not None and not isinstance(location, Path):
        return location
    home = default_home() if location is None else location.expanduser().resolve()
    url = os.environ.get(VARIABLE)
    if not url:
        return LocalStore(home)
    from warehouse.shared.store import SharedStore  # imported here because its libraries are an extra

    return SharedStore.from_environment(home, url)


def store_named(place: str, parts: str | None = None) -> Store:
    """Return the store named on a command line: a folder, or the address of a database without its password.

    parts: s3://bucket/prefix for a database; default $CULTUREMETER_PARTS. Raises WarehouseError for an
    address with a password, which everybody on the machine could see.
    """
    if not place.startswith(("postgresql://", "postgres://")):
        if parts:
            raise WarehouseError(f"{place} is a folder, which needs no place for parts: leave out {parts}.")
        return LocalStore(Path(place).expanduser().resolve())
    from warehouse.shared.store import SharedStore

    return SharedStore.from_command_line(default_home(), place, parts)
