"""Versions of item lists: each stays under the hash of its items, and one of each list is current."""

from collections.abc import Sequence
from datetime import UTC, datetime
from hashlib import sha256

import duckdb
import polars as pl

from warehouse.reference_csv import Item

__all__ = ["known_countries", "list_hash", "put_item_list"]

_TEXTS = pl.List(pl.String())
_ITEM_SCHEMA = pl.Schema(
    {
        "item": pl.String(),
        "aliases": _TEXTS,
        "countries": _TEXTS,
        "ingredients": _TEXTS,
        "code": pl.String(),
    }
)
_PUT_ITEM_LIST = """
INSERT INTO item_list (list_hash, item_list, n_items, source, loaded_at, is_current)
VALUES ($list_hash, $item_list, $n_items, $source, $loaded_at, true)
ON CONFLICT (list_hash) DO UPDATE SET source = excluded.source, loaded_at = excluded.loaded_at
"""
_MAKE_CURRENT = "UPDATE item_list SET is_current = (list_hash = $list_hash) WHERE item_list = $item_list"
_PUT_ITEMS = """
INSERT INTO item (list_hash, position, item, aliases, countries, ingredients, code)
SELECT $list_hash, position, item, aliases, countries, ingredients, code FROM incoming ORDER BY position
"""


def list_hash(items: Sequence[str]) -> str:
    """Identity of a list in any order: 16 hex digits of the SHA-256 of its sorted items, one a line."""
    return sha256("\n".join(sorted(items)).encode()).hexdigest()[:16]


def put_item_list(connection: duckdb.DuckDBPyConnection, name: str, rows: Sequence[Item], source: str) -> str:
    """Make checked `rows` the current version of the list `name`, and return its list_hash.

    Old versions stay. source: for item_list.source.
    """
    identity = list_hash([row.item for row in rows])
    cells = {column: [getattr(row, column) for row in rows] for column in _ITEM_SCHEMA}
    frame = pl.DataFrame(cells, schema=_ITEM_SCHEMA).with_row_index("position")
    facts = {"list_hash": identity, "item_list": name, "n_items": len(rows), "source": source}
    connection.execute(_PUT_ITEM_LIST, facts | {"loaded_at": datetime.now(UTC).replace(tzinfo=None)})
    connection.execute(_MAKE_CURRENT, {"list_hash": identity, "item_list": name})
    # The hash covers the items' texts alone: their aliases and countries may be corrected under the same
    # hash.
    connection.execute("DELETE FROM item WHERE list_hash = ?", [identity])
    connection.register("incoming", frame)
    connection.execute(_PUT_ITEMS, {"list_hash": identity})
    connection.unregister("incoming")
    return identity


def known_countries(connection: duckdb.DuckDBPyConnection) -> frozenset[str]:
    """The codes of the table `country`, which items may name."""
    return frozenset(code for (code,) in connection.execute("SELECT country FROM country").fetchall())
