"""Results of live sources: item lists and dish sets, replaced as a whole, and a record of each attempt."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Literal

import polars as pl

from warehouse.connection import Warehouse
from warehouse.reference import ReferenceItem, put_item_list
from warehouse.storage import WarehouseError, as_table, columns_of, execute_with, insert, now

SHIPPED_DISHES = "shipped"
"""Name of the dish set that views/fmlama.sql makes from the item list `dishes`."""

_REQUIRED = ("url", "language", "name", "origin", "ingredients", "materials")
_PUT_DISHES = "INSERT INTO dish BY NAME SELECT $name AS dish_set, * FROM incoming"
_PUT_SET = "INSERT OR REPLACE INTO dish_set BY NAME FROM incoming"


@dataclass(frozen=True)
class Ingest:
    """An attempt to refresh data from a live source. Comments on the table `ingest` explain the fields."""

    source: str
    started_at: datetime
    status: Literal["replaced", "unchanged", "refused", "failed"]
    url: str
    n_pages: int = 0
    bytes: int = 0
    sha256: str | None = None
    n_kept: int | None = None
    dropped: Mapping[str, int] | None = None
    message: str | None = None


def replace_item_list(warehouse: Warehouse, name: str, rows: Sequence[ReferenceItem], source: str) -> str:
    """Make `rows` the current version of the item list `name` and return its list_hash; old versions stay.

    source: where the list was fetched and when, for item_list.source. Raises WarehouseError, and changes
    nothing, for an empty list, an empty or repeated item, or a country that the table `country` lacks.
    """
    if not rows:
        raise WarehouseError(
            f"refused to replace the item list {name!r} by an empty one from {source}: the source has "
            f"probably changed or failed. Look at its answer; the present list stays."
        )
    with warehouse.write() as connection:
        table = f"item list {name!r} from {source}"
        return put_item_list(connection, name, rows, source, lambda row: f"{table}, row {row}")


def replace_dish_set(
    warehouse: Warehouse, name: str, rows: pl.DataFrame, source: str, dropped: Mapping[str, int]
) -> None:
    """Make `rows` the whole content of the dish set `name`, in one transaction.

    rows: url, language, name, origin, origin_name, ingredients, materials, image (the comments on the table
    `dish`), one row per dish and language. Raises WarehouseError, and changes nothing, for no rows, a
    repeated (url, language), an empty text where one is required, or a dish without an ingredient.
    """
    if name == SHIPPED_DISHES:
        raise WarehouseError(
            f"the dish set {name!r} is made from warehouse/reference/item_list/dishes.csv: choose another "
            f"name"
        )
    with warehouse.write() as connection:
        schema = columns_of(connection, "dish", excluded=["dish_set"])
        frame = _checked(rows, schema, f"dish set {name!r} from {source}")
        facts = {
            "dish_set": name,
            "source": source,
            "n_dishes": frame["url"].n_unique(),
            "n_rows": frame.height,
            "dropped": json.dumps(dict(dropped), sort_keys=True),
            "loaded_at": now(),
        }
        connection.execute("DELETE FROM dish WHERE dish_set = ?", [name])
        execute_with(connection, frame, _PUT_DISHES, {"name": name})
        execute_with(connection, pl.DataFrame([facts]), _PUT_SET)


def save_ingest(warehouse: Warehouse, ingest: Ingest) -> None:
    """Store the record of one attempt, successful or not."""
    values = asdict(ingest) | {
        "started_at": ingest.started_at.astimezone(UTC).replace(tzinfo=None),
        "finished_at": now(),
        "dropped": json.dumps(dict(ingest.dropped or {}), sort_keys=True),
    }
    with warehouse.write() as connection:
        insert(connection, "ingest", [values])


def _checked(rows: pl.DataFrame, schema: pl.Schema, name: str) -> pl.DataFrame:
    """Return `rows` with the table's columns, in a fixed order.

    name: name of the dish set, for errors. Raises WarehouseError with the first bad row.
    """
    frame = as_table(rows, schema, name).sort("url", "language")
    if frame.is_empty():
        raise WarehouseError(f"{name} has no dishes. The present set stays.")
    text = pl.any_horizontal(pl.col("url", "language", "name", "origin").str.strip_chars() == "")
    blank = pl.element().is_null() | (pl.element().str.strip_chars() == "")
    lacking = (pl.col("ingredients").list.len() == 0) | pl.col("ingredients").list.eval(blank).list.any()
    empty = pl.any_horizontal(pl.col(_REQUIRED).is_null()) | text | lacking
    bad = frame.filter(empty.fill_null(True))
    if bad.height:
        raise WarehouseError(
            f"{name}: {bad.height} rows lack a name, an origin or an ingredient, first {bad.row(0)}."
        )
    repeated = frame.filter(frame.select("url", "language").is_duplicated())
    if repeated.height:
        raise WarehouseError(f"{name} repeats {repeated.row(0)[:2]}. Remove one.")
    return frame
