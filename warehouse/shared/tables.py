"""Tables of a shared store in Postgres: its registrations, the jobs of batches, and the leases of units.

A lock of jobs belongs to a connection, and changes under it are made on that connection. So if the connection
has ended, and another machine may hold the lock, nothing is written. Leases are timed by the clock of
Postgres, because the clocks of machines differ. While Postgres is down nobody can renew a lease, so for the
length of a lease after its start none runs out.
"""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import LiteralString

import polars as pl

from warehouse.registrations import COLUMNS, Position, Tail
from warehouse.shared.database import Connection, Database, HeldLock, Version

_REGISTER = f"""
INSERT INTO culturemeter.registration ({", ".join(COLUMNS)})
SELECT kind, request_hash, unit, part, run_id, n_rows, clock_timestamp() AT TIME ZONE 'UTC'
FROM unnest(%s::text[], %s::text[], %s::text[], %s::text[], %s::text[], %s::bigint[])
    WITH ORDINALITY AS u ({", ".join(COLUMNS[:-1])}, place)
ORDER BY place
"""
_WAITING = """
SELECT coalesce((SELECT max(id) FROM culturemeter.registration), 0)
    - coalesce((SELECT folded FROM culturemeter.published ORDER BY version DESC LIMIT 1), 0)
"""
_AFTER = f"""
SELECT s.log, p.version, p.sha256, r.id, {", ".join(f"r.{name}" for name in COLUMNS[:-1])},
    (extract(epoch FROM r.written_at) * 1000000)::bigint
FROM culturemeter.store AS s
LEFT JOIN LATERAL (SELECT * FROM culturemeter.published ORDER BY version DESC LIMIT 1) AS p ON true
LEFT JOIN culturemeter.registration AS r ON r.id > CASE WHEN s.log = %s THEN %s::bigint ELSE 0 END
ORDER BY r.id
"""


class PostgresLog:
    """The registrations of a shared store; all are kept."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def append(self, units: pl.DataFrame) -> int:
        """Add registrations in one transaction; return about how many are not folded yet.

        A lock puts the transactions of all writers, and so their ids, in one order: a reader that has seen an
        id has seen all ids below it.
        """
        columns = [units[name].to_list() for name in COLUMNS[:-1]]

        def add(connection: Connection) -> int:
            with connection.pipeline(), connection.transaction():
                connection.execute("SELECT pg_advisory_xact_lock(%s)", [1])
                connection.execute(_REGISTER, columns)
                waiting = connection.execute(_WAITING)
            return int(waiting.fetchall()[0][0])

        return self.database.call(add)

    def after(self, position: Position) -> Tail:
        """Return the registrations after `position`, and the published file as of the same time."""
        rows = self.database.call(lambda c: c.execute(_AFTER, [*position]).fetchall())
        log, number, sha256 = rows[0][:3]
        registrations = [row[3:] for row in rows if row[3] is not None]
        start = position.id if position.log == log else 0
        end = Position(log, registrations[-1][0] if registrations else start)
        published = None if number is None else Version(number, sha256).name
        return Tail(registrations, end, True, published)


_NOTES = """
SELECT name, note, extract(epoch FROM clock_timestamp() - written_at)::float8
FROM culturemeter.batch_job WHERE request_hash = %s ORDER BY name
"""
_WRITE = """
INSERT INTO culturemeter.batch_job (request_hash, name, note) VALUES (%s, %s, %s)
ON CONFLICT (request_hash, name) DO UPDATE SET note = excluded.note, written_at = clock_timestamp()
"""
_DELETE = "DELETE FROM culturemeter.batch_job WHERE request_hash = %s AND name = %s"
_REQUESTS = "SELECT DISTINCT request_hash FROM culturemeter.batch_job ORDER BY 1"


@dataclass(frozen=True)
class PostgresJobs:
    """The jobs of one request. lock: the lock under which changes are made, if there is one."""

    database: Database
    request_hash: str
    folder: Path
    lock: HeldLock | None = None

    @contextmanager
    def locked(self) -> Iterator["PostgresJobs"]:
        self.folder.mkdir(parents=True, exist_ok=True)
        with self.database.lock(f"batches-{self.request_hash}") as lock:
            yield replace(self, lock=lock)

    def notes(self) -> Mapping[str, tuple[str, float]]:
        rows = self.database.call(lambda c: c.execute(_NOTES, [self.request_hash]).fetchall())
        return {name: (note, age_s) for name, note, age_s in rows}

    def write(self, name: str, text: str) -> None:
        self._change(_WRITE, name, text)

    def delete(self, name: str) -> None:
        self._change(_DELETE, name)

    def place(self, name: str) -> str:
        return (
            f"the row of culturemeter.batch_job at {self.database.place} where request_hash = "
            f"'{self.request_hash}' and name = '{name}'"
        )

    def _change(self, statement: LiteralString, *values: str) -> None:
        self.database.change(statement, [self.request_hash, *values], self.lock)


def requests_with_jobs(database: Database) -> list[str]:
    """Return the request_hash of every request with jobs."""
    return [row[0] for row in database.call(lambda c: c.execute(_REQUESTS).fetchall())]


_TAKE = """
INSERT INTO culturemeter.lease AS l (request_hash, unit, holder, until)
SELECT request_hash, unit, %(holder)s, clock_timestamp() + %(seconds)s * interval '1 second'
FROM unnest(%(requests)s::text[], %(units)s::text[]) AS u (request_hash, unit)
ORDER BY request_hash, unit
ON CONFLICT (request_hash, unit) DO UPDATE SET holder = excluded.holder, until = excluded.until
WHERE l.holder = excluded.holder OR (
    l.until < clock_timestamp()
    AND pg_postmaster_start_time() < clock_timestamp() - %(seconds)s * interval '1 second'
)
RETURNING request_hash, unit
"""
_RENEW = """
UPDATE culturemeter.lease SET until = clock_timestamp() + %s * interval '1 second' WHERE holder = %s
"""
_RELEASE = """
DELETE FROM culturemeter.lease WHERE holder = %s AND (request_hash, unit) IN (
    SELECT request_hash, unit FROM unnest(%s::text[], %s::text[]) AS u (request_hash, unit)
)
"""
_REMOVE_ENDED = "DELETE FROM culturemeter.lease WHERE until < clock_timestamp() - interval '1 day'"
_HELD = """
SELECT unit FROM culturemeter.lease WHERE request_hash = %s AND (
    until >= clock_timestamp()
    OR pg_postmaster_start_time() >= clock_timestamp() - %s * interval '1 second'
)
"""


@dataclass(frozen=True)
class PostgresLeases:
    """The leases of a shared store; ``warehouse.store.Leases`` documents the methods."""

    database: Database

    def take(self, units: Collection[tuple[str, str]], holder: str, seconds: float) -> set[tuple[str, str]]:
        requests, names = _columns(units)
        values = {"holder": holder, "seconds": seconds, "requests": requests, "units": names}
        rows = self.database.call(lambda connection: connection.execute(_TAKE, values).fetchall())
        return {(request, unit) for request, unit in rows}

    def renew(self, holder: str, seconds: float) -> None:
        self.database.call(lambda connection: connection.execute(_RENEW, [seconds, holder]))

    def held(self, request_hash: str, seconds: float) -> set[str]:
        values = [request_hash, seconds]
        return {unit for (unit,) in self.database.call(lambda c: c.execute(_HELD, values).fetchall())}

    def release(self, units: Collection[tuple[str, str]], holder: str) -> None:
        values = [holder, *_columns(units)]
        self.database.call(lambda connection: connection.execute(_RELEASE, values))

    def remove_ended(self) -> None:
        self.database.call(lambda connection: connection.execute(_REMOVE_ENDED))


def _columns(units: Collection[tuple[str, str]]) -> tuple[list[str], list[str]]:
    return [request for request, _ in units], [unit for _, unit in units]
