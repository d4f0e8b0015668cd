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
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, LiteralString, NamedTuple, TypeVar
from uuid import uuid4

import psycopg
from psycopg import conninfo, errors

from warehouse.shared.patience import met, patiently
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
_EVERY = "SELECT version, sha256 FROM culturescope.published"
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
_FOR_GOOD = re.compile(
    "authentication|password|does not exist|pg_hba|permission denied|read-only|Name or service not known"
)

_NUMBER = "SELECT coalesce(max(version), 0) FROM culturescope.published"
_LOOK_AT = "Look at CULTURESCOPE_WAREHOUSE, PGPASSWORD and the server."
_HOLD_AGAIN_S = 60.0

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


@dataclass
class Held:
    """A lock that this thread holds, and the connection that it lives on.

    seen: number of the newest published file when the thread came to hold it, or published last.
    """

    connection: Connection
    pid: int
    key: int
    seen: int = 0


class _LostOnce(psycopg.OperationalError):
    """Locks were lost, and are held again: try once more."""


class Database:
    """One database. It holds no connection: idle ones are kept by process.

    place: its address without the password.
    """

    def __init__(self, url: str, parts: str, home: Path | None = None) -> None:
        """Raises WarehouseError for an invalid Postgres URL.

        parts: where the objects are. home: where it is noted that the server has answered.
        """
        self.url, self.parts = url, parts
        try:
            fields = conninfo.conninfo_to_dict(url)
        except psycopg.Error as error:
            raise WarehouseError(
                f"CULTURESCOPE_WAREHOUSE is not a valid Postgres URL: {redacted(error, url)}. Write it as "
                f"postgresql://user@host/database; the password may be in PGPASSWORD."
            ) from None
        port = f":{fields['port']}" if fields.get("port") else ""
        user = f"{fields['user']}@" if fields.get("user") else ""
        self.place = f"postgresql://{user}{fields.get('host') or ''}{port}/{fields.get('dbname') or ''}"
        self._sign = home and met(home, self.place)

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

        Locks that were lost with their connection, as when the server starts anew, are taken again where
        nobody has published since the thread came to hold them: what it read is still so. Raises
        WarehouseError otherwise, and nothing has changed.
        """
        held: list[Held] = _mine.held
        values = version._asdict() | {"version": version.number, "bytes": size, "folded": folded}
        broken = False

        def publish() -> None:
            nonlocal broken
            now = {"n": len(held), "pids": [h.pid for h in held], "keys": [h.key for h in held]}
            try:
                done = write.connection.execute(_PUBLISH, values | now).rowcount == 1
                why: object = "it is not held any more, or another writer has published"
            except (psycopg.OperationalError, errors.UniqueViolation) as error:
                done, why, broken = False, error, True
            # Whether the server came to do it before the connection ended, only the server knows.
            if not done and not (broken and self.newest() == version):
                self._hold_again(held, why)
                raise _LostOnce(str(why))

        patiently(self.place, publish, self._why_away, _LOOK_AT, self._sign)
        for each in held:
            each.seen = version.number

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
            raise self.lost(error) from None

    def every(self) -> list[Version]:
        """The files that are published, and those that they replaced and that are not deleted yet."""
        return self.call(lambda connection: [Version(*row) for row in connection.execute(_EVERY).fetchall()])

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
        held = self._held(key, name, patience_s)
        mine.append(held)
        try:
            yield held
        finally:
            mine.remove(held)
            with suppress(psycopg.Error):  # it is gone with the connection anyway
                held.connection.execute("SELECT pg_advisory_unlock(%s)", [key])
            held.connection.close()

    def call(self, work: Callable[[Connection], T]) -> T:
        """Return `work`'s result. `work` may be called twice: again, on another connection, if the first
        ended.
        """

        def once() -> T:
            try:
                with self._session() as connection:
                    return self._done(connection, work)
            except psycopg.OperationalError:
                with _mutex:  # what ended one connection has ended the others
                    _idle.pop((os.getpid(), self.url), None)
                raise

        with self._errors():
            return patiently(self.place, once, self._why_away, _LOOK_AT, self._sign)

    def _held(self, key: int, name: str, patience_s: float) -> Held:
        """Take a lock on a connection of its own."""

        def take() -> Held:
            connection = self._connected()
            try:
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
                newest = self._done(connection, lambda c: c.execute(_NUMBER).fetchone())
            except BaseException:
                connection.close()
                raise
            return Held(connection, row[0], key, newest[0] if newest else 0)

        with self._errors():
            return patiently(self.place, take, self._why_away, _LOOK_AT, self._sign)

    def _hold_again(self, held: Sequence[Held], why: object) -> None:
        """Take those locks again whose connection has ended. Raises WarehouseError where that is no use."""
        ended = [each for each in held if not _lives(each.connection)]
        if not ended:
            raise self.lost(why)
        for each in ended:
            again = self._held(each.key, f"{each.key:x}", _HOLD_AGAIN_S)
            each.connection.close()
            each.connection, each.pid = again.connection, again.pid
            if again.seen != each.seen:
                raise self.lost(f"{redacted(why, self.url)}, and another writer has published since")

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
                f"the database {self.place} does not answer as it should: {redacted(error, self.url)}. "
                f"{_LOOK_AT}"
            ) from None

    def _why_away(self, error: Exception) -> str | None:
        """Why a server is taken to be away, in words; None for what no later try would mend."""
        text = redacted(error, self.url)
        if not isinstance(error, psycopg.OperationalError) or _FOR_GOOD.search(text):
            return None
        return text[:400]

    def lost(self, why: object) -> WarehouseError:
        """The error for a lock that was lost."""
        return WarehouseError(
            f"a lock at {self.place} was lost while its holder worked ({redacted(why, self.url)}). Nothing "
            f"was published; run again to resume."
        )


def _lives(connection: Connection) -> bool:
    """Whether the server still knows a connection."""
    try:
        connection.execute("SELECT 1")
    except psycopg.Error:
        return False
    return True
