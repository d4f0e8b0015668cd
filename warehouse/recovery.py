"""Maintenance of a warehouse: checks, parts left by a kill or damaged by a disk, merging of small parts."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

import polars as pl

from warehouse.connection import Warehouse
from warehouse.part_kinds import KINDS
from warehouse.parts import CorruptPart, read_orphan, read_part, register_parts, units_of, write_part
from warehouse.storage import WarehouseError, execute_with, fetched, now
from warehouse.store import Store

_CHECKS = Path(__file__).with_name("checks.sql")

_MANY = 32
"""Least number of small parts of one run and kind that are merged."""
_SMALL, _LARGEST = 1 << 20, 8 << 20
"""Bytes below which a part is small, and approximate largest size of a merged part.

A part is hashed as a whole whenever a row of it is read, so it must not be large.
"""
SUPERSEDED_STAY = timedelta(days=1)

_KNOWN = """
SELECT part FROM part_unit WHERE kind = $kind UNION SELECT part FROM superseded_part WHERE kind = $kind
"""
_NEW = """
SELECT DISTINCT part
FROM incoming
ANTI JOIN (SELECT request_hash, unit FROM part_unit WHERE kind = $kind) AS answered USING (request_hash, unit)
"""
_SUPERSEDE = "INSERT OR REPLACE INTO superseded_part SELECT kind, part, $superseded_at FROM incoming"
_OLD = "FROM superseded_part ANTI JOIN part_unit USING (kind, part) WHERE superseded_at < ?"
_FORGET = "DELETE FROM superseded_part WHERE (kind, part) IN (SELECT (kind, part) FROM incoming)"
_UNITS = "SELECT kind, part, request_hash, unit, n_rows FROM part_unit ORDER BY kind, part, unit"
_UNREGISTER = "DELETE FROM part_unit_base WHERE (kind, part) IN (SELECT (kind, part) FROM incoming)"
# This includes null models, which nobody runs by name: a run of their configuration computes them again.
_REOPEN = """
UPDATE run_base SET status = 'failed' WHERE status = 'finished' AND (config_hash, coalesce(occasion, '')) IN (
    SELECT (config_hash, coalesce(occasion, '')) FROM run JOIN part_unit USING (run_id)
    WHERE kind = 'metric_row' AND (kind, part) IN (SELECT (kind, part) FROM incoming)
)
"""
_RECONSIDER = "DELETE FROM superseded_part WHERE kind IN (SELECT kind FROM incoming)"
_FINISHED = """
SELECT DISTINCT kind, run_id, part FROM part_unit JOIN run USING (run_id)
WHERE status = 'finished' ORDER BY ALL
"""
_UNITS_OF = "SELECT part, request_hash, unit FROM part_unit WHERE kind = ? AND part IN (SELECT unnest(?))"
_MOVE = """
UPDATE part_unit_base AS u SET part = $into, written_at = $written_at FROM incoming AS i
WHERE u.kind = $kind AND u.part = i.part AND u.request_hash = i.request_hash AND u.unit = i.unit
"""


class Orphans(NamedTuple):
    """Names of the parts that `register_orphans` registered and of those that it moved to quarantine/."""

    registered: list[str]
    quarantined: list[str]


def register_orphans(warehouse: Warehouse, kind: str) -> Orphans:
    """Register the stored parts that `part_unit` does not name, which a killed run left behind.

    Each part is checked; its columns name the request and run that it belongs to. One transaction registers
    all. Units that another part already answers keep that part. A part without new units is marked as
    superseded, and so is every part of a kind whose rows the database file still has. Temporary files of dead
    writers are deleted. Writes to the warehouse only if it has found an orphan.
    """
    store = warehouse.store
    store.remove_abandoned(kind)
    store.send_unsent()
    present = store.part_sizes(
        kind
    ).keys()  # listed before `known`: a part written meanwhile is not an orphan
    known = set(warehouse.query(_KNOWN, {"kind": kind})["part"])
    orphans: dict[str, pl.DataFrame] = {}
    quarantined: list[str] = []
    for name in sorted(present - known):
        try:
            orphans[name] = units_of(kind, name, read_orphan(store, kind, name))
        except CorruptPart:
            quarantined.append(name)
    if not orphans:
        return Orphans([], quarantined)
    with warehouse.write() as connection:
        units_of_orphans = pl.concat(orphans.values()).unique(
            ["request_hash", "unit"], keep="first", maintain_order=True
        )
        new = set(execute_with(connection, units_of_orphans, _NEW, {"kind": kind})["part"])
        if KINDS[kind].moved:
            new = set()  # the database file still has their rows
        register_parts(connection, [units for name, units in orphans.items() if name in new])
        superseded = _part_rows(kind, orphans.keys() - new)
        execute_with(connection, superseded, _SUPERSEDE, {"superseded_at": now()})
    return Orphans(sorted(new), quarantined)


def verify_parts(warehouse: Warehouse) -> pl.DataFrame:
    """Unregister missing and corrupt parts, so that the next run answers their units again.

    Reads every part, registered or not; corrupt files go to quarantine/. Returns kind, part, n_units (units
    to answer again: 0 for an unregistered part) and problem, one row for each bad part.
    """
    bad: list[tuple[str, str, int, str]] = []
    present: dict[object, Mapping[str, int]] = {}
    units = warehouse.query(_UNITS)
    for (kind, part), expected in units.group_by("kind", "part", maintain_order=True):
        if kind in KINDS and kind not in present:
            present[kind] = warehouse.store.part_sizes(kind)
        problem = _problem(warehouse.store, str(kind), str(part), present.get(kind, {}), expected)
        if problem:
            bad.append((str(kind), str(part), expected.height, problem))
    registered = set(units.select("kind", "part").iter_rows())
    bad += [
        (kind, part, 0, problem)
        for kind in KINDS
        for part in sorted(warehouse.store.part_sizes(kind).keys())
        if (kind, part) not in registered and (problem := _damage(warehouse.store, kind, part))
    ]
    schema = {"kind": pl.String, "part": pl.String, "n_units": pl.Int64, "problem": pl.String}
    problems = pl.DataFrame(bad, schema=schema, orient="row")
    _unregister(warehouse, problems)
    return problems


def compact_parts(warehouse: Warehouse) -> list[str]:
    """Merge small parts of each finished run and kind if there are many, so that readers open fewer files.

    Registered rows are copied into parts of about 8 MB at most, and their registrations move to these in one
    transaction. The old files stay for a day, for programs that opened the database before. Corrupt parts go
    to quarantine/ and are unregistered. Returns the names of the corrupt parts.
    """
    corrupt: list[str] = []
    present: dict[object, Mapping[str, int]] = {}
    finished = warehouse.query(_FINISHED).filter(pl.col("kind").is_in(list(KINDS)))
    for (kind, run_id), parts in finished.group_by("kind", "run_id", maintain_order=True):
        if parts.height < _MANY:
            continue
        if kind not in present:
            present[kind] = warehouse.store.part_sizes(str(kind))
        sized = parts.with_columns(
            pl.Series("size", [present[kind].get(name) for name in parts["part"]], pl.Int64)
        ).filter(pl.col("size") < _SMALL)
        batches = sized.with_columns(batch=pl.col("size").cum_sum() // _LARGEST)
        for _, batch in batches.group_by("batch", maintain_order=True):
            if batch.height >= _MANY:
                corrupt += _merge(warehouse, str(kind), str(run_id), batch["part"].to_list())
    delete_superseded(warehouse)
    return corrupt


def run_checks(warehouse: Warehouse) -> pl.DataFrame:
    """Return the number of violations of each check; a query of checks.sql selects what must not exist.

    One row per check: check (its name), n_violations, and example, the first violation as text or
    null. The warehouse is sound if every n_violations is 0. Raises like `Warehouse.query`.
    """
    results: list[tuple[str, int, str | None]] = []
    for name, sql in re.findall(r"^-- (\w+): ([^;]+)", _CHECKS.read_text(encoding="utf-8"), re.MULTILINE):
        violations = warehouse.query(f"-- {sql}")
        example = str(violations.row(0, named=True)) if violations.height else None
        results.append((name, violations.height, example))
    schema = {"check": pl.String, "n_violations": pl.Int64, "example": pl.String}
    return pl.DataFrame(results, schema=schema, orient="row")


def _merge(warehouse: Warehouse, kind: str, run_id: str, names: list[str]) -> list[str]:
    """Merge parts of one kind and run into one; return the names of corrupt parts."""
    frames: list[pl.DataFrame] = []
    corrupt: list[str] = []
    for name in names:
        try:
            frames.append(read_part(warehouse.store, kind, name))
        except CorruptPart:
            corrupt.append(name)
    _unregister(warehouse, _part_rows(kind, corrupt))
    if not frames:
        return corrupt
    units = warehouse.query(_UNITS_OF, [kind, names])
    keys = ["part", "request_hash", KINDS[kind].unit]
    rows = pl.concat(frames).join(units, left_on=keys, right_on=["part", "request_hash", "unit"], how="semi")
    rows = rows.sort(keys[1:], maintain_order=True)
    merged = write_part(warehouse.store, kind, f"run-{run_id}", rows)["part"][0]
    with warehouse.write() as connection:
        # Units that another part answers by now stay with that part.
        execute_with(connection, units, _MOVE, {"kind": kind, "into": merged, "written_at": now()})
        execute_with(connection, _part_rows(kind, names), _SUPERSEDE, {"superseded_at": now()})
        execute_with(connection, _part_rows(kind, [merged]), _FORGET)
    return corrupt


def _unregister(warehouse: Warehouse, parts: pl.DataFrame) -> None:
    """Unregister parts, and make superseded parts of these kinds orphans again: they may have the answers.

    Runs whose numbers are lost are marked as failed; running them again computes the numbers from the stored
    answers.
    """
    if parts.height:
        with warehouse.write() as connection:
            execute_with(connection, parts, _REOPEN)
            execute_with(connection, parts, _UNREGISTER)
            execute_with(connection, parts, _RECONSIDER)


def delete_superseded(warehouse: Warehouse) -> None:
    """Delete the parts that were superseded at least a day ago."""
    if warehouse.query(_OLD, [now() - SUPERSEDED_STAY]).is_empty():
        return
    with warehouse.write() as connection:
        superseded = fetched(connection.execute(_OLD, [now() - SUPERSEDED_STAY]))
        for kind, part in superseded.select("kind", "part").rows():
            warehouse.store.delete_part(kind, part)
        execute_with(connection, superseded, _FORGET)


def _damage(store: Store, kind: str, part: str) -> str | None:
    """Return the fault of a part's file, or None; a corrupt file is moved to quarantine/."""
    try:
        read_part(store, kind, part, ["request_hash"], anew=True)
    except CorruptPart as error:
        return str(error)
    return None


def _part_rows(kind: str, parts: Iterable[str]) -> pl.DataFrame:
    """Return rows of kind and part for these parts."""
    return pl.DataFrame({"part": list(parts)}, schema={"part": pl.String}).with_columns(kind=pl.lit(kind))


def _problem(
    store: Store, kind: str, part: str, present: Container[str], expected: pl.DataFrame
) -> str | None:
    """Return the fault of a registered part, or None.

    present: names of the stored parts. expected: rows of `part_unit` for the part.
    """
    if kind not in KINDS:
        return f"unknown part kind {kind!r}"
    if part not in present:
        return "the file is missing"
    try:
        rows = read_part(store, kind, part, ["request_hash", "run_id", KINDS[kind].unit], anew=True)
    except WarehouseError as error:
        return str(error)
    answered = units_of(kind, part, rows).select("request_hash", "unit", "n_rows")
    lacking = set(expected.select("request_hash", "unit", "n_rows").rows()) - set(answered.rows())
    return f"it lacks registered units, such as {sorted(lacking)[0]}" if lacking else None
