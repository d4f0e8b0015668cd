"""The content of users' packs as runs used it, stored by hash, so that old numbers keep their input."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import duckdb
import polars as pl

from warehouse.connection import Warehouse
from warehouse.storage import Records, execute_with, insert, now

_KNOWN = "SELECT 1 FROM pack WHERE pack_hash = ?"
_SAVE_ROWS = "INSERT INTO pack_row BY NAME SELECT * REPLACE (content::JSON AS content) FROM incoming"
_READ = "SELECT file, content::VARCHAR FROM pack_row WHERE pack_hash = ? ORDER BY file, position"


def save_pack(
    connection: duckdb.DuckDBPyConnection,
    pack_hash: str,
    name: str,
    evaluation: str,
    about: Mapping[str, str],
    rows: Mapping[str, Records],
) -> None:
    """Store a pack's content under its hash, unless that hash is stored already.

    Args:
        about: title, version, author, licence, source; missing ones become empty.
        rows: file -> its rows, as values of JSON.
    """
    if connection.execute(_KNOWN, [pack_hash]).fetchone():
        return
    fields = {field: about.get(field, "") for field in ("title", "version", "author", "licence", "source")}
    facts = {"pack_hash": pack_hash, "pack": name, "evaluation": evaluation, **fields, "added_at": now()}
    insert(connection, "pack", [facts])
    records = [
        {
            "pack_hash": pack_hash,
            "file": file,
            "position": position,
            "content": json.dumps(row, ensure_ascii=False),
        }
        for file, content in rows.items()
        for position, row in enumerate(content)
    ]
    if records:
        execute_with(connection, pl.DataFrame(records), _SAVE_ROWS)


def read_pack(warehouse: Warehouse, pack_hash: str) -> dict[str, list[dict[str, Any]]] | None:
    """Return file -> rows of the pack stored under a hash; None if there are none."""
    rows: dict[str, list[dict[str, Any]]] = {}
    for file, content in warehouse.query(_READ, [pack_hash]).rows():
        rows.setdefault(file, []).append(json.loads(content))
    return rows or None
