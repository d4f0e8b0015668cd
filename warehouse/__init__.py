"""The warehouse: a DuckDB file that is only ever replaced, Parquet parts, reference data and views.

    with Warehouse.open().write() as connection:
        save_run(connection, run)
    Warehouse.open().query("SELECT * FROM leaderboard_spectral")

Nothing outside this package imports duckdb.
"""

from warehouse.claims import claimed
from warehouse.connection import Warehouse
from warehouse.ingest import Ingest, replace_dish_set, replace_item_list, save_ingest
from warehouse.packs import read_pack, save_pack
from warehouse.part_kinds import KINDS, part_path
from warehouse.parts import CorruptPart, read_part, register_parts, write_part
from warehouse.recipes import save_items, save_recipe
from warehouse.recovery import compact_parts, register_orphans, run_checks, verify_parts
from warehouse.reference import ReferenceItem, list_hash
from warehouse.runs import (
    Run,
    finish_run,
    freeze_cohort,
    missing_units,
    read_answers,
    read_points,
    read_requests,
    save_metrics,
    save_ranking,
    save_run,
    save_run_requests,
    save_validation,
)
from warehouse.storage import StoreAway, WarehouseError, home, now

__all__ = [
    "KINDS",
    "CorruptPart",
    "Ingest",
    "ReferenceItem",
    "Run",
    "StoreAway",
    "Warehouse",
    "WarehouseError",
    "claimed",
    "compact_parts",
    "finish_run",
    "freeze_cohort",
    "home",
    "list_hash",
    "missing_units",
    "now",
    "part_path",
    "read_answers",
    "read_pack",
    "read_part",
    "read_points",
    "read_requests",
    "register_orphans",
    "register_parts",
    "replace_dish_set",
    "replace_item_list",
    "run_checks",
    "save_ingest",
    "save_items",
    "save_metrics",
    "save_pack",
    "save_ranking",
    "save_recipe",
    "save_run",
    "save_run_requests",
    "save_validation",
    "verify_parts",
    "write_part",
]
