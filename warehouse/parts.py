"""Parquet parts: written whole under the hash of their content, registered as answers, checked when read."""

from __future__ import annotations

import errno
from collections.abc import Callable, Collection, Sequence
from hashlib import sha256
from io import BytesIO
from pathlib import Path

import duckdb
import polars as pl

from warehouse import interruption
from warehouse.part_kinds import PartKind, has_hash, is_as_written, is_part_name, part_kind
from warehouse.storage import WarehouseError, execute_with, now
from warehouse.store import Store, store_at

_ROW_GROUP = 32_768  # rows; small enough that one request is read out of a part of many

_REPLACE = """
DELETE FROM part_unit_base
WHERE (kind, request_hash, unit) IN (SELECT (kind, request_hash, unit) FROM incoming)
"""
_REGISTER = """
INSERT INTO part_unit_base BY NAME SELECT *, $written_at AS written_at FROM incoming
ANTI JOIN part_unit_base USING (kind, request_hash, unit)
"""
_NOT_SUPERSEDED = "DELETE FROM superseded_part WHERE (kind, part) IN (SELECT (kind, part) FROM incoming)"


class CorruptPart(WarehouseError):  # noqa: N818 - "raise CorruptPart" says it all
    """A part cannot be read, or is not what was written. It has been moved to quarantine/."""


def write_part(where: Path | Store, kind: str, name: str, frame: pl.DataFrame) -> pl.DataFrame:
    """Write `frame` as a part of `kind`, whole or not at all; returns what it answers, for `register_parts`.

    where: a store, or a home folder, as for `Warehouse.open`. frame: the kind's columns (warehouse/kinds)
    without `part`, in any order, at least one row. It is brought to the declared order and types, and NULL
    where a nullable column is not there. name: letters, digits, dots, hyphens and underscores; a hash of what
    was asked and of the units. A hyphen and 32 hex digits of the file's SHA-256 are added to it, so that no
    part overwrites another and each can be checked. Register it afterwards: until then no view shows it.
    Raises WarehouseError for a frame that is not of the kind, or a full disk.
    """
    if not is_part_name(name):
        raise WarehouseError(
            f"{name!r} is no name for a part: use letters, digits, dots, hyphens and underscores."
        )
    declared = part_kind(kind)
    frame = frame.with_columns(pl.lit(name).alias("part"))
    complete = _conform(frame, declared, declared.nullable, f"part {kind}/{name}")
    content = BytesIO()
    # Polars writes dictionary encoding wherever values repeat.
    complete.write_parquet(content, compression="zstd", row_group_size=_ROW_GROUP)
    part = f"{name}-{sha256(content.getbuffer()).hexdigest()[:32]}"
    interruption.check()
    store_at(where).put_part(kind, part, content.getbuffer())
    return units_of(kind, part, complete)


def read_part(
    where: Path | Store,
    kind: str,
    name: str,
    columns: Sequence[str] | None = None,
    rows_where: pl.Expr | None = None,
    *,
    anew: bool = False,
) -> pl.DataFrame:
    """Rows of a part, which is first checked against the hash in its name; one of older code, by its content.

    where: a store, or a home folder. columns, rows_where: which columns and rows; default: all. anew: as it
    is kept, not as this machine remembers it. Raises CorruptPart, after moving the file to quarantine/, if it
    cannot be read or is not as it was written; WarehouseError if there is no such part.
    """
    store, declared = store_at(where), part_kind(kind)

    def read() -> pl.DataFrame:
        rows = _checked(store.part(kind, name, anew=anew), name, declared).with_columns(part=pl.lit(name))
        rows = rows if rows_where is None else rows.filter(rows_where)
        return rows.select(list(columns or declared.columns)).collect()

    return _read_or_set_aside(store, kind, name, read)


def read_orphan(store: Store, kind: str, name: str) -> pl.DataFrame:
    """Rows of a part that is not registered, held to all that ``write_part`` holds a frame to.

    Whoever gave it its name may have made its content: a hash says only that they belong to each other.
    Raises as ``read_part``.
    """
    declared = part_kind(kind)

    def read() -> pl.DataFrame:
        rows = _checked(store.part(kind, name, anew=True), name, declared).with_columns(part=pl.lit(name))
        return _conform(rows.collect(), declared, declared.nullable, f"part {kind}/{name}")

    return _read_or_set_aside(store, kind, name, read)


def _read_or_set_aside(store: Store, kind: str, name: str, read: Callable[[], pl.DataFrame]) -> pl.DataFrame:
    path = f"{store.root}/parts/{kind}/{name}.parquet"
    try:
        return read()
    except (KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except FileNotFoundError as error:
        raise WarehouseError(
            f"there is no part {path}. If it is registered, run `culturescope check`: the next "
            f"run then does its work again."
        ) from error
    except BaseException as error:  # on some damage Polars panics, with what is no Exception
        if isinstance(error, OSError) and error.errno not in (None, errno.EIO):
            raise  # too many open files and the like: nothing is wrong with the part
        raise CorruptPart(
            f"part {path} is corrupt: {error}. It was moved to {store.set_part_aside(kind, name)}. Run "
            f"`culturescope check` to unregister it; the next run then does its work again."
        ) from error


def units_of(kind: str, part: str, frame: pl.DataFrame) -> pl.DataFrame:
    """Return the units that a part with these rows answers: rows of `part_unit` to be."""
    by = ["request_hash", "run_id", pl.col(part_kind(kind).unit).alias("unit")]
    units = frame.group_by(by, maintain_order=True).agg(pl.len().cast(pl.Int64).alias("n_rows"))
    return units.with_columns(kind=pl.lit(kind), part=pl.lit(part))


def register_parts(
    connection: duckdb.DuckDBPyConnection, parts: Sequence[pl.DataFrame], *, replace: bool = False
) -> None:
    """Register parts as the answers to their units, inside the caller's transaction (`Warehouse.write`).

    parts: of each, what `write_part` returned. A unit that another part already answers keeps it, unless
    `replace` (a refresh). Among `parts`, the first that answers a unit has it, or with `replace` the last.
    All are one statement: one each would take a hundred times as long.
    """
    if not parts:
        return
    units = pl.concat(parts, how="diagonal").unique(
        ["kind", "request_hash", "unit"], keep="last" if replace else "first", maintain_order=True
    )
    if replace:
        execute_with(connection, units, _REPLACE)
    execute_with(connection, units, _REGISTER, {"written_at": now()})
    execute_with(connection, units, _NOT_SUPERSEDED)


def _checked(content: bytes, name: str, declared: PartKind) -> pl.LazyFrame:
    """The rows of a sound part under the present names. Raises one of many errors if it is not sound."""
    if not has_hash(name):
        frame = pl.read_parquet(BytesIO(content), hive_partitioning=False)
        return _conform(frame, declared, declared.added, f"part {declared.name}/{name}").lazy()
    if not is_as_written(name, content):
        raise WarehouseError("its content is not what was written")
    return _completed(pl.scan_parquet(BytesIO(content), hive_partitioning=False), declared, declared.nullable)


def _completed(rows: pl.LazyFrame, declared: PartKind, optional: Collection[str]) -> pl.LazyFrame:
    """Old names become the present ones; of the `optional` columns, those that are not there become NULL."""
    names = rows.collect_schema().names()
    old = {o: new for o, new in declared.renamed.items() if o in names and new not in names}
    missing = set(optional).difference(names, old.values())
    return rows.rename(old).with_columns(pl.lit(None, declared.columns[n]).alias(n) for n in missing)


def _conform(frame: pl.DataFrame, declared: PartKind, optional: Collection[str], what: str) -> pl.DataFrame:
    """`frame` with exactly the declared columns, types and guarantees, or a WarehouseError naming `what`."""
    frame = _completed(frame.lazy(), declared, optional).collect()
    if set(frame.columns) != set(declared.columns):
        raise WarehouseError(f"{what}: columns are {frame.columns}, expected {list(declared.columns)}")
    if not frame.height:
        raise WarehouseError(f"{what}: it has no rows")
    try:
        frame = frame.select(list(declared.columns)).cast(declared.columns)  # type: ignore[arg-type]
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
    if frame["run_id"].n_unique() != 1 and not declared.moved:
        raise WarehouseError(f"{what}, column run_id: it must be the same in all rows of a part")
    repeated = frame.select("request_hash", *declared.key).is_duplicated()
    if repeated.any():
        first = frame.filter(repeated).row(0, named=True)
        raise WarehouseError(f"{what}: rows repeat at {[first[name] for name in declared.key]}")
    return frame
