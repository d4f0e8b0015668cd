"""The warehouse: a DuckDB file that is only ever replaced, Parquet parts, reference data and views.

    with Warehouse.open().write() as connection:
        save_run(connection, run)
    Warehouse.open().query("SELECT * FROM leaderboard_spectral")

Nothing outside this package imports duckdb.
"""

from warehouse.checks import run_checks
from warehouse.connection import Warehouse
from warehouse.dishes import SHIPPED_DISHES, Ingest, replace_dish_set, save_ingest
from warehouse.home import WarehouseError, home
from warehouse.part_kinds import KINDS, PartKind
from warehouse.parts import (
    CorruptPart,
    Registration,
    part_path,
    read_part,
    register_parts,
    registration,
    write_part,
)
from warehouse.recovery import Adoption, adopt_parts, verify_parts
from warehouse.reference import list_hash, replace_item_list
from warehouse.reference_csv import Item
from warehouse.runs import (
    Run,
    finish_run,
    missing_units,
    read_answers,
    save_metrics,
    save_run,
    save_run_requests,
)

__all__ = [
    "KINDS",
    "SHIPPED_DISHES",
    "Adoption",
    "CorruptPart",
    "Ingest",
    "Item",
    "PartKind",
    "Registration",
    "Run",
    "Warehouse",
    "WarehouseError",
    "adopt_parts",
    "finish_run",
    "home",
    "list_hash",
    "missing_units",
    "part_path",
    "read_answers",
    "read_part",
    "register_parts",
    "registration",
    "replace_dish_set",
    "replace_item_list",
    "run_checks",
    "save_ingest",
    "save_metrics",
    "save_run",
    "save_run_requests",
    "verify_parts",
    "write_part",
]
