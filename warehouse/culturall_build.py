"""Tables of a CulturALL build: each stage stores its rows in one transaction."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from warehouse.connection import Warehouse
from warehouse.storage import Records, columns_of, execute_with, insert, now

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
        insert(connection, table, _timed(rows, time), key)


def _timed(rows: Records, column: str) -> Records:
    return [{column: now(), **row} for row in rows]


def replace_checks(warehouse: Warehouse, rows: Records) -> None:
    """Replace the results of the checks for all drafts: near-duplicates depend on the other drafts."""
    with warehouse.write() as connection:
        connection.execute("DELETE FROM culturall_check")
        insert(connection, "culturall_check", _timed(rows, "checked_at"))


def save_reviews(warehouse: Warehouse, decisions: Records, revisions: Records) -> None:
    """Store decisions, and revised texts as drafts of their own; delete the revisions of earlier decisions.

    decisions: rows of culturall_review. revisions: rows of culturall_draft with the origin revision.
    """
    with warehouse.write() as connection:
        decided = pl.DataFrame(decisions, schema=columns_of(connection, "culturall_review"))
        execute_with(connection, decided, _FORGET_REVISIONS)
        execute_with(connection, decided, _DECIDE)
        insert(connection, "culturall_draft", revisions, "draft")


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
        insert(connection, "culturall_release", [{**release, "number": int(newest) + 1}])
        insert(connection, "culturall_release_item", items)
        return int(newest) + 1
