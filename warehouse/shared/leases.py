"""Leases of units in Postgres, timed by its clock, because the clocks of machines differ.

While Postgres is down nobody can renew a lease, so for the length of a lease after its start none runs out.
"""

from collections.abc import Collection
from dataclasses import dataclass

from warehouse.shared.database import Database

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
