"""The Postgres side of a shared store: which file is published, the registrations, and the locks.

A lock is a session-level advisory lock on a connection of its own, so that it goes with its holder, however
that ends. What is published is written on the connection that holds the write lock, in one statement that
looks whether this and every other lock of the thread are still held, and whether nobody else has published
meanwhile. So a lock that was lost makes the write fail, and a connection pooler, on which locks are worth
nothing, is refused.
"""

import hashlib
import os
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, LiteralString, NamedTuple, TypeVar
from uuid import uuid4

import psycopg
from psycopg import conninfo, errors

from warehouse.shared.secrets import redacted
from warehouse.storage import WarehouseError

T = TypeVar("T")
Connection = psycopg.Connection[Any]

_TABLES = Path(__file__).with_name("tables.sql").read_bytes()
_NEWEST = """
SELECT s.parts, p.version, p.sha256 FROM culturescope.store AS s
LEFT JOIN LATERAL (SELECT * FROM culturescope.published ORDER BY version DESC LIMIT 1) AS p ON true
"""
_PUBLISH = """
INSERT INTO culturescope.published (version, sha256, bytes, folded)
SELECT %(version)s, %(sha256)s, %(bytes)s, greatest(%(folded)s, coalesce(max(folded), 0))
FROM culturescope.published
HAVING coalesce(max(version), 0) = %(version)s - 1 AND %(n)s = (
    SELECT count(*) FROM pg_locks AS l
    JOIN unnest(%(pids)s::int[], %(keys)s::bigint[]) AS h (pid, key)
        ON l.pid = h.pid AND (l.classid::bigint << 32 | l.objid::bigint) = h.key
    WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
        AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
)
"""
_OLD = """
SELECT version, sha256 FROM culturescope.published WHERE version < (
    SELECT max(version) FROM culturescope.published
    WHERE published_at < clock_timestamp() - interval '10 minutes'
)
"""
_FORGET = "DELETE FROM culturescope.published WHERE version = ANY(%s)"
_SESSION = """
SELECT set_config(name, '0', false) FROM pg_settings
WHERE name IN ('idle_session_timeout', 'statement_timeout', 'lock_timeout')
UNION ALL SELECT set_config('tcp_keepalives_idle', '10', false)
UNION ALL SELECT set_config('tcp_keepalives_interval', '5', false)
UNION ALL SELECT set_config('tcp_keepalives_count', '3', false)
"""
_CONNECTION = {
    "application_name": "culturescope", "connect_timeout": 10,
    "keepalives": 1, "keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3,
}  # fmt: skip
"""A peer that is gone without a word is noticed within half a minute, on both sides."""
_PAUSES_S = (0.0, 0.2, 1.0, 3.0)
"""Before each try of what may be tried again: a server that starts anew is there after seconds."""
_FOR_GOOD = re.compile("authentication|password|does not exist|pg_hba|could not translate")

_idle: dict[tuple[int, str], list[Connection]] = {}
_mutex = threading.Lock()
_mine = threading.local()  # .held: the locks of this thread


class Version(NamedTuple):
    """A published file."""

    number: int
    sha256: str

    @property
    def name(self) -> str:
        return f"{self.number:08d}-{self.sha256}.duckdb"


class Held(NamedTuple):
    """A lock that this thread holds, and the connection that it lives on."""

    connection: Connection
    pid: int
    key: int


class Database:
    """One database. It holds no connection: idle ones are kept by process.

    place: its address without the password.
    """

    def __init__(self, url: str, parts: str) -> None:
        """parts: where the objects are. Raises WarehouseError for an invalid Postgres URL."""
        self.url, self.parts = url, parts
        try:
            given = conninfo.conninfo_to_dict(url)
        except psycopg.Error as error:
            raise WarehouseError(
                f"CULTURESCOPE_WAREHOUSE is not a valid Postgres URL: {redacted(error, url)}. Write it as "
                f"postgresql://user@host/database; the password may be in PGPASSWORD."
            ) from None
        port = f":{given['port']}" if given.get("port") else ""
        user = f"{given['user']}@" if given.get("user") else ""
        self.place = f"postgresql://{user}{given.get('host') or ''}{port}/{given.get('dbname') or ''}"

    def newest(self) -> Version | None:
        """The published file. Raises WarehouseError if this database goes with another place of parts."""
        parts, number, sha256 = self.call(lambda connection: connection.execute(_NEWEST).fetchall())[0]
        if parts != self.parts:
            raise WarehouseError(
                f"the parts of {self.place} are at {parts}, and CULTURESCOPE_PARTS is {self.parts}: set it "
                f"to the first, or name another database."
            )
        return None if number is None else Version(number, sha256)

    def publish(self, write: Held, version: Version, size: int, folded: int) -> None:
        """Make a file the newest one, if nobody else has published since and all locks are still held.

        Raises WarehouseError otherwise, and nothing has changed.
        """
        held: list[Held] = _mine.held
        values = version._asdict() | {"version": version.number, "bytes": size, "folded": folded}
        values |= {"n": len(held), "pids": [h.pid for h in held], "keys": [h.key for h in held]}
        try:
            done = write.connection.execute(_PUBLISH, values).rowcount == 1
        except (psycopg.OperationalError, errors.UniqueViolation) as error:
            # Whether the server came to do it before the connection ended, only the server knows.
            with suppress(WarehouseError):
                if self.newest() == version:
                    return
            raise self._lost(error) from None
        if not done:
            raise self._lost("it is not held any more, or another writer has published")

    def change(self, statement: LiteralString, values: Sequence[str], held: Held | None) -> None:
        """Change a row. held: a lock without which it must not be changed, on whose connection it is done.

        Raises WarehouseError, and nothing has changed, if the lock was lost.
        """

        def work(connection: Connection) -> object:
            return connection.execute(statement, values)

        if held is None:
            self.call(work)
            return
        try:
            with self._errors(without=(psycopg.OperationalError,)):
                self._done(held.connection, work)
        except psycopg.OperationalError as error:
            raise self._lost(error) from None

    def old(self) -> list[Version]:
        """The files that nobody opens any more: they were replaced ten minutes ago."""
        return self.call(lambda connection: [Version(*row) for row in connection.execute(_OLD).fetchall()])

    def forget(self, old: list[Version]) -> None:
        """Forget files that were deleted."""
        self.call(lambda connection: connection.execute(_FORGET, [[each.number for each in old]]))

    @contextmanager
    def lock(self, name: str, patience_s: float = 0.0) -> Iterator[Held]:
        """Hold the advisory lock of a name. patience_s: for others who hold it; 0: for ever.

        Raises WarehouseError if they do not let go in time, or a connection pooler is in between.
        """
        key = int.from_bytes(hashlib.sha256(f"culturescope {name}".encode()).digest()[:7])
        mine: list[Held] = _mine.__dict__.setdefault("held", [])
        with self._errors():
            connection = self._connected()
        try:
            with self._errors():
                connection.execute(_SESSION)
                row = connection.execute("SELECT pg_backend_pid()").fetchone()
                if row is None or row[0] != connection.info.backend_pid:
                    raise WarehouseError(
                        f"a connection pooler answers at {self.place}, on which locks are lost: name the "
                        f"server itself in CULTURESCOPE_WAREHOUSE."
                    )
                try:
                    connection.execute(f"SET lock_timeout = {int(1000 * patience_s)}".encode())
                    connection.execute("SELECT pg_advisory_lock(%s)", [key])
                except errors.LockNotAvailable:
                    raise WarehouseError(
                        f"another process has held the lock {name!r} of {self.place} for {patience_s:.0f} s. "
                        f"See who (pg_locks and pg_stat_activity), end it and run again."
                    ) from None
            held = Held(connection, row[0], key)
            mine.append(held)
            try:
                yield held
            finally:
                mine.remove(held)
                with suppress(psycopg.Error):  # it is gone with the connection anyway
                    connection.execute("SELECT pg_advisory_unlock(%s)", [key])
        finally:
            connection.close()

    def call(self, work: Callable[[Connection], T]) -> T:
        """Return `work`'s result. `work` may be called twice: again, on another connection, if the first
        ended.
        """
        for pause in _PAUSES_S:
            time.sleep(pause)
            try:
                with self._errors(without=(psycopg.OperationalError,)), self._session() as connection:
                    return self._done(connection, work)
            except psycopg.OperationalError as error:
                last = error
                with _mutex:  # what ended one connection has ended the others
                    _idle.pop((os.getpid(), self.url), None)
                if _FOR_GOOD.search(str(error)):
                    break
        with self._errors():
            raise last

    def _done(self, connection: Connection, work: Callable[[Connection], T]) -> T:
        try:
            return work(connection)
        except (errors.UndefinedTable, errors.InvalidSchemaName):
            self._create(connection)
            return work(connection)

    def _create(self, connection: Connection) -> None:
        with connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", [0])
            connection.execute(_TABLES)
            row = "INSERT INTO culturescope.store (log, parts) VALUES (%s, %s) ON CONFLICT DO NOTHING"
            connection.execute(row, [uuid4().hex, self.parts])

    @contextmanager
    def _session(self) -> Iterator[Connection]:
        """A connection that is nobody else's until the block ends; it is kept for the next one."""
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
    def _errors(self, without: tuple[type[Exception], ...] = ()) -> Iterator[None]:
        try:
            yield
        except without:
            raise
        except psycopg.Error as error:
            raise WarehouseError(
                f"the database {self.place} does not answer as it should: {redacted(error, self.url)}. Look "
                f"at CULTURESCOPE_WAREHOUSE, PGPASSWORD and the server."
            ) from None

    def _lost(self, why: object) -> WarehouseError:
        return WarehouseError(
            f"a lock at {self.place} was lost while its holder worked ({redacted(why, self.url)}). Nothing "
            f"was published; run again to resume."
        )
