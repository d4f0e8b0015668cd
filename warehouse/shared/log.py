"""The registrations of a shared store: a table of Postgres to which rows are only added."""

import polars as pl

from warehouse.registrations import COLUMNS, Position, Tail
from warehouse.shared.database import Connection, Database, Version

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
