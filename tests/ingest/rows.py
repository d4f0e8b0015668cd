"""Rows of the warehouse that several tests read."""

from __future__ import annotations

from typing import Any

from warehouse import Warehouse


def attempts(warehouse: Warehouse) -> list[dict[str, Any]]:
    """Return the rows of the table ``ingest``, oldest first."""
    return warehouse.query("SELECT * FROM ingest ORDER BY started_at, source").to_dicts()


def items(warehouse: Warehouse, item_list: str) -> list[dict[str, Any]]:
    """Return the current items of a list."""
    query = "SELECT item, aliases, countries, ingredients, code FROM current_item WHERE item_list = ?"
    return warehouse.query(f"{query} ORDER BY position", [item_list]).to_dicts()


def dishes(warehouse: Warehouse, dish_set: str) -> list[dict[str, Any]]:
    """Return the rows of a loaded dish set."""
    query = "SELECT * FROM dish WHERE dish_set = ? ORDER BY url, language"
    return warehouse.query(query, [dish_set]).to_dicts()
