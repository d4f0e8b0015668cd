"""Jobs of a shared store: rows of Postgres under an advisory lock that all machines share.

The lock belongs to a connection, and changes under it are made on that connection. So if the connection has
ended, and another machine may hold the lock, nothing is written.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import LiteralString

from warehouse.shared.database import Database, HeldLock

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
