"""Parquet parts: written whole, registered as answers, and set aside when they cannot be read."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import polars as pl

from warehouse.home import WarehouseError
from warehouse.part_kinds import PartKind, part_folder, part_kind
from warehouse.storage import written_whole

__all__ = [
    "CorruptPart",
    "Registration",
    "part_path",
    "quarantine",
    "read_part",
    "register_parts",
    "registration",
    "write_part",
]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")

_UNITS = pl.Schema(
    {
        "kind": pl.String(),
        "request_hash": pl.String(),
        "unit": pl.String(),
        "part": pl.String(),
        "run_id": pl.String(),
        "n_rows": pl.Int64(),
    }
)
_REGISTER = """
INSERT INTO part_unit BY NAME SELECT *, $written_at AS written_at FROM incoming
ON CONFLICT (kind, request_hash, unit) DO UPDATE
SET part = excluded.part, run_id = excluded.run_id, n_rows = excluded.n_rows, written_at = excluded.written_at
WHERE part_unit.part = excluded.part OR $replace
"""


class CorruptPart(WarehouseError):  # noqa: N818 - "raise CorruptPart" says it all
    """A part cannot be read, or is not what its kind declares. It has been moved to quarantine/."""


@dataclass(frozen=True)
class Registration:
    """What one part answers: the rows of `part_unit` to be. units: (unit, number of rows)."""

    kind: str
    part: str
    request_hash: str
    run_id: str
    units: tuple[tuple[str, int], ...]


def write_part(home: Path, kind: str, name: str, frame: pl.DataFrame) -> Path:
    """Write `frame` as the part `name` of `kind`, whole or not at all, and return its path.

    frame: the kind's columns (warehouse/kinds) without `part`, in any order, at least one row. It is brought
    to the declared order and types, and NULL where a nullable column is not there. name: letters, digits,
    dots, hyphens and underscores; a hash of what was asked and of the units, since a part of the same name is
    replaced. Register it afterwards: until then no view shows it. Raises WarehouseError for a frame that is
    not of the kind, or a full disk.
    """
    if not _NAME.fullmatch(name):
        raise WarehouseError(
            f"{name!r} is no name for a part: use letters, digits, dots, hyphens and underscores."
        )
    declared = part_kind(kind)
    frame = frame.with_columns(pl.lit(name).alias("part"))
    complete = _conform(frame, declared, declared.nullable, f"part {kind}/{name}")
    target = part_path(home, kind, name)
    with written_whole(target, int(complete.estimated_size())) as temporary:
        # Polars writes dictionary encoding wherever values repeat.
        complete.write_parquet(temporary, compression="zstd")
    return target


def read_part(home: Path, kind: str, name: str) -> pl.DataFrame:
    """All rows of a part, with the kind's columns, fully checked.

    Raises CorruptPart, after moving the file to quarantine/, if it cannot be read or is not of the kind;
    WarehouseError if there is no such part.
    """
    path = part_path(home, kind, name)
    try:
        frame = pl.read_parquet(path, glob=False, hive_partitioning=False)
        declared = part_kind(kind)
        complete = _conform(frame, declared, declared.added, f"part {kind}/{name}")
        if complete["part"][0] != name:
            raise WarehouseError(f"part {kind}/{name}: its column part says {complete['part'][0]!r}")
        return complete
    except FileNotFoundError as error:
        raise WarehouseError(
            f"there is no part {path}. If it is registered, run `culturescope check`: the next "
            f"run then does its work again."
        ) from error
    except (pl.exceptions.PolarsError, WarehouseError) as error:
        moved = quarantine(home, kind, name)
        raise CorruptPart(
            f"part {path} is corrupt: {error}. It was moved to {moved}. Run "
            f"`culturescope check` to unregister it; the next run then does its work again."
        ) from error


def registration(kind: str, name: str, frame: pl.DataFrame) -> Registration:
    """What the part `name` with these rows (as written or as read) answers."""
    declared = part_kind(kind)
    counts = declared.under_present_names(frame).group_by(declared.unit, maintain_order=True).len()
    return Registration(
        kind,
        name,
        frame["request_hash"][0],
        frame["run_id"][0],
        tuple((str(unit), n) for unit, n in counts.rows()),
    )


def register_parts(
    connection: duckdb.DuckDBPyConnection, registrations: Sequence[Registration], *, replace: bool = False
) -> None:
    """Register parts as the answers to their units, inside the caller's transaction (`Warehouse.write`).

    A unit that another part already answers keeps it, unless `replace` (a refresh); one that the same part
    answers is brought up to date. Among `registrations`, the first that answers a unit has it, or with
    `replace` the last. All are one statement: one each would take a hundred times as long.
    """
    rows = [
        (each.kind, each.request_hash, unit, each.part, each.run_id, n_rows)
        for each in registrations
        for unit, n_rows in each.units
    ]
    units = pl.DataFrame(rows, schema=_UNITS, orient="row").unique(
        ["kind", "request_hash", "unit"], keep="last" if replace else "first", maintain_order=True
    )
    written_at = datetime.now(UTC).replace(tzinfo=None)
    connection.register("incoming", units)
    connection.execute(_REGISTER, {"written_at": written_at, "replace": replace})
    connection.unregister("incoming")


def part_path(home: Path, kind: str, name: str) -> Path:
    """Where the part is, or would be."""
    return part_folder(home, kind) / f"{name}.parquet"


def quarantine(home: Path, kind: str, name: str) -> Path:
    """Move a part to quarantine/<kind>/, over an older one of its name, and return where it is now."""
    target = home / "quarantine" / kind / f"{name}.parquet"
    target.parent.mkdir(parents=True, exist_ok=True)
    return part_path(home, kind, name).replace(target)


def _conform(frame: pl.DataFrame, declared: PartKind, optional: Collection[str], what: str) -> pl.DataFrame:
    """`frame` with exactly the declared columns, types and guarantees, or a WarehouseError naming `what`.

    Old names become the present ones; of the `optional` columns, those that are not there become NULL.
    """
    frame = declared.under_present_names(frame)
    frame = frame.with_columns(
        pl.lit(None, declared.columns[name]).alias(name) for name in set(optional).difference(frame.columns)
    )
    if set(frame.columns) != set(declared.columns):
        raise WarehouseError(f"{what}: columns are {frame.columns}, expected {list(declared.columns)}")
    if not frame.height:
        raise WarehouseError(f"{what}: it has no rows")
    try:
        frame = frame.select(list(declared.columns)).cast(declared.schema)
    except pl.exceptions.PolarsError as error:
        raise WarehouseError(f"{what}: it cannot be cast to {dict(declared.columns)}: {error}") from error
    for name in frame.columns:
        column = frame[name]
        if (column.null_count() and name not in declared.nullable) or (
            column.dtype.is_float() and column.is_nan().any()
        ):
            raise WarehouseError(
                f"{what}, column {name}: it has empty or NaN values; leave unscored rows out"
            )
    for name in ("request_hash", "run_id"):
        if frame[name].n_unique() != 1:
            raise WarehouseError(f"{what}, column {name}: it must be the same in all rows of a part")
    repeated = frame.select(declared.key).is_duplicated()
    if repeated.any():
        first = frame.filter(repeated).row(0, named=True)
        raise WarehouseError(f"{what}: rows repeat at {[first[name] for name in declared.key]}")
    return frame
