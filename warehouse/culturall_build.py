"""CulturALL under construction: what each stage stores, in one transaction each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from warehouse.connection import Warehouse
from warehouse.storage import columns_of, execute_with, now

Rows = Sequence[Mapping[str, object]]

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
"""Table -> its key, and when a row was made."""


def add(warehouse: Warehouse, table: str, rows: Rows) -> None:
    """Store rows of a table of the build; one that is there stays as it is.

    Columns left out are NULL, and the time is now.
    """
    if not rows:
        return
    key, time = _KEYS[table]
    with warehouse.write() as connection:
        incoming = pl.DataFrame(_timed(rows, time), schema=columns_of(connection, table))
        execute_with(connection, incoming, _ADD.format(table=table, key=key))


def _timed(rows: Rows, column: str) -> Rows:
    return [{column: now(), **row} for row in rows]


def replace_checks(warehouse: Warehouse, rows: Rows) -> None:
    """Make these all that the checks say of any draft: near-duplicates depend on the others."""
    with warehouse.write() as connection:
        incoming = pl.DataFrame(_timed(rows, "checked_at"), schema=columns_of(connection, "culturall_check"))
        connection.execute("DELETE FROM culturall_check")
        execute_with(connection, incoming, "INSERT INTO culturall_check BY NAME FROM incoming")


def save_reviews(warehouse: Warehouse, decisions: Rows, revisions: Rows) -> None:
    """Store decisions, and the revised texts as drafts of their own; those of an earlier decision go.

    decisions: rows of culturall_review. revisions: rows of culturall_draft with the origin revision.
    """
    with warehouse.write() as connection:
        decided = pl.DataFrame(decisions, schema=columns_of(connection, "culturall_review"))
        execute_with(connection, decided, _FORGET_REVISIONS)
        execute_with(connection, decided, _DECIDE)
        revised = pl.DataFrame(revisions, schema=columns_of(connection, "culturall_draft"))
        execute_with(connection, revised, _ADD.format(table="culturall_draft", key="draft"))


def save_release(warehouse: Warehouse, release: Mapping[str, object], items: Rows) -> int:
    """Store a version with its items, if there is none of that content yet; returns its number."""
    with warehouse.write() as connection:
        known = connection.execute(
            "SELECT number FROM culturall_release WHERE version = ?", [release["version"]]
        ).fetchone()
        if known:
            return int(known[0])
        (last,) = connection.execute("SELECT coalesce(max(number), 0) FROM culturall_release").fetchone() or (
            0,
        )
        row = pl.DataFrame([{**release, "number": int(last) + 1}])
        execute_with(connection, row, "INSERT INTO culturall_release BY NAME FROM incoming")
        incoming = pl.DataFrame(items, schema=columns_of(connection, "culturall_release_item"))
        execute_with(connection, incoming, "INSERT INTO culturall_release_item BY NAME FROM incoming")
        return int(last) + 1
