"""Bring registered parts and files on disk back into agreement after a kill, a crash or a bad disk."""

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from warehouse.home import WarehouseError
from warehouse.part_kinds import EMPTY_PART, KINDS, part_folder
from warehouse.parts import CorruptPart, Registration, part_path, read_part, register_parts, registration
from warehouse.storage import remove_abandoned

if TYPE_CHECKING:
    from warehouse.connection import Warehouse

__all__ = ["Adoption", "adopt_parts", "verify_parts"]

_REGISTERED = "SELECT DISTINCT part FROM part_unit WHERE kind = ?"
_ANSWERED = "SELECT request_hash, unit FROM part_unit WHERE kind = ?"
_UNITS = "SELECT kind, part, request_hash, unit, n_rows FROM part_unit ORDER BY kind, part, unit"
_UNREGISTER = "DELETE FROM part_unit WHERE kind = ? AND part = ?"


class Adoption(NamedTuple):
    """Names of the parts that `adopt_parts` registered, and of those that it moved to quarantine/."""

    adopted: list[str]
    quarantined: list[str]


def adopt_parts(warehouse: "Warehouse", kind: str) -> Adoption:
    """Register the parts on disk that `part_unit` does not name: a killed run got no further.

    Each is read in full and says itself which request and run it belongs to. Units that another part already
    answers keep it, and a part with nothing new to answer (superseded by a refresh) is left alone. Temporary
    files of dead writers are deleted. Writes to the warehouse only if there is something to adopt.
    """
    folder = part_folder(warehouse.home, kind)
    remove_abandoned(folder)
    registered = set(warehouse.query(_REGISTERED, [kind])["part"])
    answered = set(warehouse.query(_ANSWERED, [kind]).rows())
    found: list[Registration] = []
    quarantined: list[str] = []
    for name in sorted({file.stem for file in folder.glob("*.parquet")} - registered - {EMPTY_PART}):
        try:
            orphan = registration(kind, name, read_part(warehouse.home, kind, name))
        except CorruptPart:
            quarantined.append(name)
            continue
        units = {(orphan.request_hash, unit) for unit, _ in orphan.units}
        if not units <= answered:
            answered |= units
            found.append(orphan)
    if found:
        with warehouse.write() as connection:
            register_parts(connection, found)
    return Adoption([orphan.part for orphan in found], quarantined)


def verify_parts(warehouse: "Warehouse") -> pl.DataFrame:
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


def _problem(warehouse: "Warehouse", kind: str, part: str, expected: pl.DataFrame) -> str | None:
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
