"""The warehouse: a DuckDB file that is only ever replaced, Parquet parts, reference data and views.

    with Warehouse.open().write() as connection:
        save_run(connection, run)
    Warehouse.open().query("SELECT * FROM leaderboard_spectral")

Nothing outside this package imports duckdb.
"""

from warehouse.connection import Warehouse
from warehouse.home import WarehouseError, home
from warehouse.ingest import SHIPPED_DISHES, Ingest, replace_dish_set, replace_item_list, save_ingest
from warehouse.item_lists import list_hash
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
from warehouse.recovery import Orphans, register_orphans, run_checks, verify_parts
from warehouse.reference_csv import Item
from warehouse.runs import (
    Run,
    finish_run,
    freeze_cohort,
    missing_units,
    read_answers,
    save_metrics,
    save_run,
    save_run_requests,
)

__all__ = [
    "KINDS",
    "SHIPPED_DISHES",
    "CorruptPart",
    "Ingest",
    "Item",
    "Orphans",
    "PartKind",
    "Registration",
    "Run",
    "Warehouse",
    "WarehouseError",
    "finish_run",
    "freeze_cohort",
    "home",
    "list_hash",
    "missing_units",
    "part_path",
    "read_answers",
    "read_part",
    "register_orphans",
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
