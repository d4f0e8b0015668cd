"""The Postgres side of a shared store: which file is published, the registrations, and the locks.

A lock is a session-level advisory lock on a connection of its own, so that it ends with its holder, however
that ends. A file is published on the connection that holds the write lock, by one statement that checks that
this and every other lock of the thread are still held and that nobody else has published meanwhile. So a lost
lock makes the write fail. A connection pooler is refused, because locks do not hold there.
"""

import hashlib
import os
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, LiteralString, NamedTuple, TypeVar
from uuid import uuid4

import psycopg
from psycopg import conninfo, errors

from warehouse.shared.patience import contact_file, patiently
from warehouse.shared.secrets import redacted
from warehouse.storage import WarehouseError

T = TypeVar("T")
Connection = psycopg.Connection[Any]

_TABLES = Path(__file__).with_name("tables.sql").read_bytes()
_NEWEST = """
SELECT s.parts, p.version, p.sha256 FROM culturemeter.store AS s
LEFT JOIN LATERAL (SELECT * FROM culturemeter.published ORDER BY version DESC LIMIT 1) AS p ON true
"""
_PUBLISH = """
INSERT INTO culturemeter.published (version, sha256, bytes, folded)
SELECT %(version)s, %(sha256)s, %(bytes)s, greatest(%(folded)s, coalesce(max(folded), 0))
FROM culturemeter.published
HAVING coalesce(max(version), 0) = %(version)s - 1 AND %(n)s = (
    SELECT count(*) FROM pg_locks AS l
    JOIN unnest(%(pids)s::int[], %(keys)s::bigint[]) AS h (pid, key)
        ON l.pid = h.pid AND (l.classid::bigint << 32 | l.objid::bigint) = h.key
    WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
        AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
)
"""
_REPLACED = """
SELECT version, sha256 FROM culturemeter.published WHERE version < (
    SELECT max(version) FROM culturemeter.published
    WHERE published_at < clock_timestamp() - interval '10 minutes'
)
"""
_VERSIONS = "SELECT version, sha256 FROM culturemeter.published"
_FORGET = "DELETE FROM culturemeter.published WHERE version = ANY(%s)"
_SESSION = """
SELECT set_config(name, '0', false) FROM pg_settings
WHERE name IN ('idle_session_timeout', 'statement_timeout', 'lock_timeout')
UNION ALL SELECT set_config('tcp_keepalives_idle', '10', false)
UNION ALL SELECT set_config('tcp_keepalives_interval', '5', false)
UNION ALL SELECT set_config('tcp_keepalives_count', '3', false)
"""
_CONNECTION = {
    "application_name": "culturemeter", "connect_timeout": 10,
    "keepalives": 1, "keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3,
}  # fmt: skip
"""Options by which both sides notice within half a minute that the other side has vanished."""
_FOR_GOOD = re.compile(
    "authentication|password|does not exist|pg_hba|permission denied|read-only|Name or service not known"
)

_NUMBER = "SELECT coalesce(max(version), 0) FROM culturemeter.published"
_LOOK_AT = "Look at CULTUREMETER_WAREHOUSE, PGPASSWORD and the server."
_RETAKE_S = 60.0

_idle: dict[tuple[int, str], list[Connection]] = {}
_mutex = threading.Lock()
_thread = threading.local()  # .locks: the locks that this thread holds


class Version(NamedTuple):
    """A published file."""

    number: int
    sha256: str

    @property
    def name(self) -> str:
        return f"{self.number:08d}-{self.sha256}.duckdb"


@dataclass
class HeldLock:
    """A lock that this thread holds, on a connection of its own.

    newest: number of the newest published file when the thread took the lock, or last published.
    """

    connection: Connection
    pid: int
    key: int
    newest: int = 0


class _LostOnce(psycopg.OperationalError):
    """Locks were lost and taken again: try once more."""


class Database:
    """One database. It holds no connection: idle ones are kept by process.

    place: its address without the password.
    """

    def __init__(self, url: str, parts: str, home: Path | None = None) -> None:
        """Parse the URL; raises WarehouseError if it is not a valid Postgres URL.

        parts: place of the objects. home: folder that records that the server has answered.
        """
        self.url, self.parts = url, parts
        try:
            fields = conninfo.conninfo_to_dict(url)
        except psycopg.Error as error:
            raise WarehouseError(
                f"CULTUREMETER_WAREHOUSE is not a valid Postgres URL: {redacted(error, url)}. Write it as "
                f"postgresql://user@host/database, and set the password in PGPASSWORD."
            ) from None
        port = f":{fields['port']}" if fields.get("port") else ""
        user = f"{fields['user']}@" if fields.get("user") else ""
        self.place = f"postgresql://{user}{fields.get('host') or ''}{port}/{fields.get('dbname') or ''}"
        self._contact = home and contact_file(home, self.place)

    def newest(self) -> Version | None:
        """Return the published file. Raises WarehouseError if this database's parts are at another place."""
        parts, number, sha256 = self.call(lambda connection: connection.execute(_NEWEST).fetchall())[0]
        if parts != self.parts:
            raise WarehouseError(
                f"the parts of {self.place} are at {parts}, but CULTUREMETER_PARTS is {self.parts}: set it "
                f"to {parts}, or name another database."
            )
        return None if number is None else Version(number, sha256)

    def publish(self, write: HeldLock, version: Version, size: int, folded: int) -> None:
        """Make a file the newest one, if nobody else has published since and all locks are still held.

        Locks that were lost with their connection, as in a restart of the server, are taken again if nobody
        has published since the thread took them, because what it read is still current. Raises
        WarehouseError otherwise, and changes nothing.
        """
        locks: list[HeldLock] = _thread.locks
        values = version._asdict() | {"version": version.number, "bytes": size, "folded": folded}
        broken = False

        def publish() -> None:
            nonlocal broken
            held = {"n": len(locks), "pids": [h.pid for h in locks], "keys": [h.key for h in locks]}
            try:
                done = write.connection.execute(_PUBLISH, values | held).rowcount == 1
                reason: object = "it is no longer held, or another writer has published"
            except (psycopg.OperationalError, errors.UniqueViolation) as error:
                done, reason, broken = False, error, True
            # A broken connection may have ended after the server published: only the server knows.
            if not done and not (broken and self.newest() == version):
                self._retake(locks, reason)
                raise _LostOnce(str(reason))

        patiently(self.place, publish, self._why_away, _LOOK_AT, self._contact)
        for lock in locks:
            lock.newest = version.number

    def change(self, statement: LiteralString, values: Sequence[str], lock: HeldLock | None) -> None:
        """Change a row. lock: a lock that must be held; the change is made on its connection.

        Raises WarehouseError, and changes nothing, if the lock was lost.
        """

        def work(connection: Connection) -> object:
            return connection.execute(statement, values)

        if lock is None:
            self.call(work)
            return
        try:
            with self._errors(passed_on=(psycopg.OperationalError,)):
                self._call_on(lock.connection, work)
        except psycopg.OperationalError as error:
            raise self.lost(error) from None

    def versions(self) -> list[Version]:
        """Return the published file, and the files that it replaced and that are not deleted yet."""
        return self.call(
            lambda connection: [Version(*row) for row in connection.execute(_VERSIONS).fetchall()]
        )

    def replaced(self) -> list[Version]:
        """Return the files that were replaced over ten minutes ago, so that nobody opens them any more."""
        return self.call(
            lambda connection: [Version(*row) for row in connection.execute(_REPLACED).fetchall()]
        )

    def forget(self, versions: list[Version]) -> None:
        """Delete the records of files that were deleted."""
        self.call(lambda connection: connection.execute(_FORGET, [[version.number for version in versions]]))

    @contextmanager
    def lock(self, name: str, patience_s: float = 0.0) -> Iterator[HeldLock]:
        """Hold the advisory lock of a name within the block.

        patience_s: seconds to wait for another holder; 0: for ever. Raises WarehouseError if that time ends,
        or if a connection pooler answers.
        """
        key = int.from_bytes(hashlib.sha256(f"culturemeter {name}".encode()).digest()[:7])
        locks: list[HeldLock] = _thread.__dict__.setdefault("locks", [])
        lock = self._take(key, name, patience_s)
        locks.append(lock)
        try:
            yield lock
        finally:
            locks.remove(lock)
            with suppress(psycopg.Error):  # the end of the connection releases it anyway
                lock.connection.execute("SELECT pg_advisory_unlock(%s)", [key])
            lock.connection.close()

    def call(self, work: Callable[[Connection], T]) -> T:
        """Return `work`'s result. `work` is called again on another connection if the first one ended."""

        def once() -> T:
            try:
                with self._session() as connection:
                    return self._call_on(connection, work)
            except psycopg.OperationalError:
                with _mutex:  # the idle connections have probably ended too
                    _idle.pop((os.getpid(), self.url), None)
                raise

        with self._errors():
            return patiently(self.place, once, self._why_away, _LOOK_AT, self._contact)

    def _take(self, key: int, name: str, patience_s: float) -> HeldLock:
        """Take a lock on a connection of its own."""

        def take() -> HeldLock:
            connection = self._connected()
            try:
                connection.execute(_SESSION)
                row = connection.execute("SELECT pg_backend_pid()").fetchone()
                if row is None or row[0] != connection.info.backend_pid:
                    raise WarehouseError(
                        f"a connection pooler answers at {self.place}, and locks do not hold there: name the "
                        f"server itself in CULTUREMETER_WAREHOUSE."
                    )
                try:
                    connection.execute(f"SET lock_timeout = {int(1000 * patience_s)}".encode())
                    connection.execute("SELECT pg_advisory_lock(%s)", [key])
                except errors.LockNotAvailable:
                    raise WarehouseError(
                        f"another process has held the lock {name!r} of {self.place} for {patience_s:.0f} s. "
                        f"Find it in pg_locks and pg_stat_activity, end it and run again."
                    ) from None
                newest = self._call_on(connection, lambda c: c.execute(_NUMBER).fetchone())
            except BaseException:
                connection.close()
                raise
            return HeldLock(connection, row[0], key, newest[0] if newest else 0)

        with self._errors():
            return patiently(self.place, take, self._why_away, _LOOK_AT, self._contact)

    def _retake(self, locks: Sequence[HeldLock], reason: object) -> None:
        """Take the locks again whose connection has ended.

        Raises WarehouseError if no connection has ended, or another writer has published since.
        """
        ended = [lock for lock in locks if not _is_alive(lock.connection)]
        if not ended:
            raise self.lost(reason)
        for lock in ended:
            retaken = self._take(lock.key, f"{lock.key:x}", _RETAKE_S)
            lock.connection.close()
            lock.connection, lock.pid = retaken.connection, retaken.pid
            if retaken.newest != lock.newest:
                raise self.lost(f"{redacted(reason, self.url)}, and another writer has published since")

    def _call_on(self, connection: Connection, work: Callable[[Connection], T]) -> T:
        try:
            return work(connection)
        except (errors.UndefinedTable, errors.InvalidSchemaName):
            self._create(connection)
            return work(connection)

    def _create(self, connection: Connection) -> None:
        with connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", [0])
            connection.execute(_TABLES)
            row = "INSERT INTO culturemeter.store (log, parts) VALUES (%s, %s) ON CONFLICT DO NOTHING"
            connection.execute(row, [uuid4().hex, self.parts])

    @contextmanager
    def _session(self) -> Iterator[Connection]:
        """Yield a connection that nobody else uses within the block; keep it for the next block."""
        with _mutex:
            idle = _idle.setdefault((os.getpid(), self.url), [])
            connection = idle.pop() if idle else None
        connection = connection or self._connected()
        try:
            yield connection
        except BaseException:
            connection.close()
            raise
        with _mutex:
            idle.append(connection)

    def _connected(self) -> Connection:
        return psycopg.connect(self.url, autocommit=True, **_CONNECTION)  # type: ignore[arg-type]

    @contextmanager
    def _errors(self, passed_on: tuple[type[Exception], ...] = ()) -> Iterator[None]:
        """Replace psycopg's errors by WarehouseError, except those of the types `passed_on`."""
        try:
            yield
        except passed_on:
            raise
        except psycopg.Error as error:
            raise WarehouseError(
                f"the database {self.place} returned an error: {redacted(error, self.url)}. {_LOOK_AT}"
            ) from None

    def _why_away(self, error: Exception) -> str | None:
        """Return why the server counts as away, or None for an error that another try would not mend."""
        text = redacted(error, self.url)
        if not isinstance(error, psycopg.OperationalError) or _FOR_GOOD.search(text):
            return None
        return text[:400]

    def lost(self, reason: object) -> WarehouseError:
        """Return the error for a lost lock."""
        return WarehouseError(
            f"a lock at {self.place} was lost during the work ({redacted(reason, self.url)}). Nothing "
            f"was published; run again to resume."
        )


def _is_alive(connection: Connection) -> bool:
    """Return whether the server still answers on a connection."""
    try:
        connection.execute("SELECT 1")
    except psycopg.Error:
        return False
    return True
