"""Is the warehouse sound: integrity checks, and parts that a kill, a crash or a bad disk left behind."""

from pathlib import Path
from typing import NamedTuple

import polars as pl

from warehouse.connection import Warehouse
from warehouse.home import WarehouseError
from warehouse.part_kinds import EMPTY_PART, KINDS, part_folder
from warehouse.parts import CorruptPart, Registration, part_path, read_part, register_parts, registration
from warehouse.storage import remove_abandoned

__all__ = ["Orphans", "register_orphans", "run_checks", "verify_parts"]

_CHECKS = Path(__file__).resolve().parent / "checks"
_REGISTERED = "SELECT DISTINCT part FROM part_unit WHERE kind = ?"
_NEW = """
SELECT DISTINCT part
FROM orphan
ANTI JOIN (SELECT request_hash, unit FROM part_unit WHERE kind = $kind) AS answered USING (request_hash, unit)
"""
_UNITS = "SELECT kind, part, request_hash, unit, n_rows FROM part_unit ORDER BY kind, part, unit"
_UNREGISTER = "DELETE FROM part_unit WHERE kind = ? AND part = ?"


class Orphans(NamedTuple):
    """Names of the parts that `register_orphans` registered, and of those that it moved to quarantine/."""

    registered: list[str]
    quarantined: list[str]


def register_orphans(warehouse: Warehouse, kind: str) -> Orphans:
    """Register the parts on disk that `part_unit` does not name: a killed run got no further.

    Each is read in full and says itself which request and run it belongs to; all are registered in one
    transaction. Units that another part already answers keep it, and a part with nothing new to answer
    (superseded by a refresh) is left alone. Temporary files of dead writers are deleted. Writes to the
    warehouse only if there is something to register.
    """
    folder = part_folder(warehouse.home, kind)
    remove_abandoned(folder)
    registered = set(warehouse.query(_REGISTERED, [kind])["part"])
    orphans: list[Registration] = []
    quarantined: list[str] = []
    for name in sorted({file.stem for file in folder.glob("*.parquet")} - registered - {EMPTY_PART}):
        try:
            orphans.append(registration(kind, name, read_part(warehouse.home, kind, name)))
        except CorruptPart:
            quarantined.append(name)
    orphans = _with_something_new(warehouse, kind, orphans)
    if orphans:
        with warehouse.write() as connection:
            register_parts(connection, orphans)
    return Orphans([orphan.part for orphan in orphans], quarantined)


def verify_parts(warehouse: Warehouse) -> pl.DataFrame:
    """Unregister the parts that are missing or corrupt, so that the next run does them again.

    Reads every registered part; corrupt files go to quarantine/. Returns kind, part, n_units (that are now to
    be done again) and problem, one row for each bad part.
    """
    bad: list[tuple[str, str, int, str]] = []
    units = warehouse.query(_UNITS)
    for (kind, part), expected in units.group_by("kind", "part", maintain_order=True):
        problem = _problem(warehouse, str(kind), str(part), expected)
        if problem:
            bad.append((str(kind), str(part), expected.height, problem))
    if bad:
        with warehouse.write() as connection:
            connection.executemany(_UNREGISTER, [(kind, part) for kind, part, _, _ in bad])
    schema = {"kind": pl.String, "part": pl.String, "n_units": pl.Int64, "problem": pl.String}
    return pl.DataFrame(bad, schema=schema, orient="row")


def run_checks(warehouse: Warehouse) -> pl.DataFrame:
    """The rows that must not exist, counted: each file of checks/ is a query that returns some.

    One row per check: check (its file's name), n_violations, and example, the first row as text or null. The
    warehouse is sound if every n_violations is 0. Raises as `Warehouse.query`.
    """
    results: list[tuple[str, int, str | None]] = []
    for file in sorted(_CHECKS.glob("*.sql")):
        violations = warehouse.query(file.read_text(encoding="utf-8"))
        example = str(violations.row(0, named=True)) if violations.height else None
        results.append((file.stem, violations.height, example))
    schema = {"check": pl.String, "n_violations": pl.Int64, "example": pl.String}
    return pl.DataFrame(results, schema=schema, orient="row")


def _with_something_new(warehouse: Warehouse, kind: str, orphans: list[Registration]) -> list[Registration]:
    """Those that answer a unit which neither a registered part nor an orphan before them answers."""
    rows = [(each.part, each.request_hash, unit) for each in orphans for unit, _ in each.units]
    schema = {"part": pl.String, "request_hash": pl.String, "unit": pl.String}
    first = pl.DataFrame(rows, schema=schema, orient="row").unique(
        ["request_hash", "unit"], keep="first", maintain_order=True
    )
    if first.is_empty():
        return []
    with warehouse.read() as connection:
        connection.register("orphan", first)
        new = {part for (part,) in connection.execute(_NEW, {"kind": kind}).fetchall()}
        connection.unregister("orphan")
    return [orphan for orphan in orphans if orphan.part in new]


def _problem(warehouse: Warehouse, kind: str, part: str, expected: pl.DataFrame) -> str | None:
    """What is wrong with a registered part, or None. expected: its rows of `part_unit`."""
    if kind not in KINDS:
        return f"no part kind {kind!r} is declared"
    if not part_path(warehouse.home, kind, part).exists():
        return "the file is missing"
    try:
        held = registration(kind, part, read_part(warehouse.home, kind, part))
    except WarehouseError as error:
        return str(error)
    rows = {(held.request_hash, unit, n_rows) for unit, n_rows in held.units}
    lacking = set(expected.select("request_hash", "unit", "n_rows").rows()) - rows
    return f"it lacks what is registered of it, such as {sorted(lacking)[0]}" if lacking else None
