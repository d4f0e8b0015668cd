"""The content of users' packs when runs used them, by hash: old numbers keep their input."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import duckdb
import polars as pl

from warehouse.connection import Warehouse
from warehouse.storage import execute_with, now

Rows = Sequence[Mapping[str, Any]]

_KNOWN = "SELECT 1 FROM pack WHERE pack_hash = ?"
_SAVE = "INSERT INTO pack BY NAME FROM incoming"
_SAVE_ROWS = "INSERT INTO pack_row BY NAME SELECT * REPLACE (content::JSON AS content) FROM incoming"
_READ = "SELECT file, content::VARCHAR FROM pack_row WHERE pack_hash = ? ORDER BY file, position"


def save_pack(
    connection: duckdb.DuckDBPyConnection,
    pack_hash: str,
    name: str,
    evaluation: str,
    about: Mapping[str, str],
    rows: Mapping[str, Rows],
) -> None:
    """Store a pack's content under its hash; what is there stays as it is.

    Args:
        about: title, version, author, licence, source; what is left out is empty.
        rows: by file, as JSON has them.
    """
    if connection.execute(_KNOWN, [pack_hash]).fetchone():
        return
    fields = {field: about.get(field, "") for field in ("title", "version", "author", "licence", "source")}
    facts = {"pack_hash": pack_hash, "pack": name, "evaluation": evaluation, **fields, "added_at": now()}
    execute_with(connection, pl.DataFrame([facts]), _SAVE)
    content = [
        {
            "pack_hash": pack_hash,
            "file": file,
            "position": position,
            "content": json.dumps(row, ensure_ascii=False),
        }
        for file, some in rows.items()
        for position, row in enumerate(some)
    ]
    if content:
        execute_with(connection, pl.DataFrame(content), _SAVE_ROWS)


def read_pack(warehouse: Warehouse, pack_hash: str) -> dict[str, list[dict[str, Any]]] | None:
    """The rows that are stored under a hash, by file; None: none are."""
    rows: dict[str, list[dict[str, Any]]] = {}
    for file, content in warehouse.query(_READ, [pack_hash]).rows():
        rows.setdefault(file, []).append(json.loads(content))
    return rows or None
