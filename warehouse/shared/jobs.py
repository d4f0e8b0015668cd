"""Jobs of a shared store: rows of Postgres, behind an advisory lock, which every machine sees.

The lock lives on a connection, and what is written under it goes over that connection: where it has ended,
and another machine may hold the lock, nothing is written.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import LiteralString

from warehouse.shared.database import Database, Held

_NOTES = """
SELECT name, note, extract(epoch FROM clock_timestamp() - written_at)::float8
FROM culturescope.batch_job WHERE request_hash = %s ORDER BY name
"""
_WRITE = """
INSERT INTO culturescope.batch_job (request_hash, name, note) VALUES (%s, %s, %s)
ON CONFLICT (request_hash, name) DO UPDATE SET note = excluded.note, written_at = clock_timestamp()
"""
_DELETE = "DELETE FROM culturescope.batch_job WHERE request_hash = %s AND name = %s"
_ASKED = "SELECT DISTINCT request_hash FROM culturescope.batch_job ORDER BY 1"


@dataclass(frozen=True)
class PostgresJobs:
    """The jobs of one request. held: the lock under which changes are made, if there is one."""

    database: Database
    request_hash: str
    folder: Path
    held: Held | None = None

    @contextmanager
    def locked(self) -> Iterator["PostgresJobs"]:
        self.folder.mkdir(parents=True, exist_ok=True)
        with self.database.lock(f"batches-{self.request_hash}") as held:
            yield replace(self, held=held)

    def notes(self) -> Mapping[str, tuple[str, float]]:
        rows = self.database.call(lambda c: c.execute(_NOTES, [self.request_hash]).fetchall())
        return {name: (note, age_s) for name, note, age_s in rows}

    def write(self, name: str, text: str) -> None:
        self._change(_WRITE, name, text)

    def delete(self, name: str) -> None:
        self._change(_DELETE, name)

    def place(self, name: str) -> str:
        return (
            f"the row of culturescope.batch_job at {self.database.place} where request_hash = "
            f"'{self.request_hash}' and name = '{name}'"
        )

    def _change(self, statement: LiteralString, *values: str) -> None:
        self.database.change(statement, [self.request_hash, *values], self.held)


def requests_with_jobs(database: Database) -> list[str]:
    """The requests that jobs are noted of."""
    return [row[0] for row in database.call(lambda c: c.execute(_ASKED).fetchall())]
