"""Tables of a CulturALL build: each stage stores its rows in one transaction."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from warehouse.connection import Warehouse
from warehouse.storage import Records, columns_of, execute_with, now

_ADD = 'INSERT INTO "{table}" BY NAME SELECT * FROM incoming ANTI JOIN "{table}" USING ({key})'
_FORGET_REVISIONS = """
DELETE FROM culturall_draft
WHERE origin = 'revision' AND parent IN (SELECT draft FROM incoming)
    AND draft NOT IN (SELECT draft FROM culturall_release_item)
"""
_DECIDE = "INSERT OR REPLACE INTO culturall_review BY NAME SELECT * FROM incoming"

_KEYS = {
    "culturall_topic": ("entry", "made_at"),
    "culturall_draft": ("draft", "made_at"),
    "culturall_measure": ("draft, engine_hash, judges", "measured_at"),
    "culturall_label": ("draft", "labelled_at"),
}
"""Table -> its key, and its column with the time at which a row was made."""


def add(warehouse: Warehouse, table: str, rows: Records) -> None:
    """Add rows to a table of the build; a row whose key is stored already stays as it is.

    Columns that are left out become NULL, and the time becomes now.
    """
    if not rows:
        return
    key, time = _KEYS[table]
    with warehouse.write() as connection:
        incoming = pl.DataFrame(_timed(rows, time), schema=columns_of(connection, table))
        execute_with(connection, incoming, _ADD.format(table=table, key=key))


def _timed(rows: Records, column: str) -> Records:
    return [{column: now(), **row} for row in rows]


def replace_checks(warehouse: Warehouse, rows: Records) -> None:
    """Replace the results of the checks for all drafts: near-duplicates depend on the other drafts."""
    with warehouse.write() as connection:
        incoming = pl.DataFrame(_timed(rows, "checked_at"), schema=columns_of(connection, "culturall_check"))
        connection.execute("DELETE FROM culturall_check")
        execute_with(connection, incoming, "INSERT INTO culturall_check BY NAME FROM incoming")


def save_reviews(warehouse: Warehouse, decisions: Records, revisions: Records) -> None:
    """Store decisions, and revised texts as drafts of their own; delete the revisions of earlier decisions.

    decisions: rows of culturall_review. revisions: rows of culturall_draft with the origin revision.
    """
    with warehouse.write() as connection:
        decided = pl.DataFrame(decisions, schema=columns_of(connection, "culturall_review"))
        execute_with(connection, decided, _FORGET_REVISIONS)
        execute_with(connection, decided, _DECIDE)
        revised = pl.DataFrame(revisions, schema=columns_of(connection, "culturall_draft"))
        execute_with(connection, revised, _ADD.format(table="culturall_draft", key="draft"))


def save_release(warehouse: Warehouse, release: Mapping[str, object], items: Records) -> int:
    """Return the number of a release; store it with its items if no release has that content yet."""
    with warehouse.write() as connection:
        stored = connection.execute(
            "SELECT number FROM culturall_release WHERE version = ?", [release["version"]]
        ).fetchone()
        if stored:
            return int(stored[0])
        (newest,) = connection.execute(
            "SELECT coalesce(max(number), 0) FROM culturall_release"
        ).fetchone() or (0,)
        row = pl.DataFrame([{**release, "number": int(newest) + 1}])
        execute_with(connection, row, "INSERT INTO culturall_release BY NAME FROM incoming")
        incoming = pl.DataFrame(items, schema=columns_of(connection, "culturall_release_item"))
        execute_with(connection, incoming, "INSERT INTO culturall_release_item BY NAME FROM incoming")
        return int(newest) + 1
