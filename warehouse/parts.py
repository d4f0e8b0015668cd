"""Parquet parts: written whole under the hash of their content, registered as answers, checked when read."""

from __future__ import annotations

import errno
from collections.abc import Callable, Sequence
from hashlib import sha256
from io import BytesIO
from pathlib import Path

import duckdb
import polars as pl

from warehouse import interruption
from warehouse.part_kinds import PartKind, is_as_written, is_part_stem, part_kind
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
    """A part cannot be read, or differs from what was written. It has been moved to quarantine/."""


def write_part(location: Path | Store, kind: str, name: str, frame: pl.DataFrame) -> pl.DataFrame:
    """Write `frame` as a part of `kind`, whole or not at all; return its units, for `register_parts`.

    location: a store, or a home folder, as for `Warehouse.open`. frame: the kind's columns (warehouse/kinds)
    without `part`, in any order, at least one row; it is cast to the declared order and types, and missing
    nullable columns become NULL. name: letters, digits, dots, hyphens and underscores, such as a hash of the
    request and its units. A hyphen and 32 hex digits of the file's SHA-256 are added to it, so that no part
    overwrites another and each can be checked. Register the part afterwards: no view shows it before.
    Raises WarehouseError for a frame that does not fit the kind, or a full disk.
    """
    if not is_part_stem(name):
        raise WarehouseError(
            f"{name!r} is not a valid part name: use letters, digits, dots, hyphens and underscores."
        )
    declared = part_kind(kind)
    frame = frame.with_columns(pl.lit(name).alias("part"))
    complete = _conform(frame, declared, f"part {kind}/{name}")
    content = BytesIO()
    # Polars writes dictionary encoding wherever values repeat.
    complete.write_parquet(content, compression="zstd", row_group_size=_ROW_GROUP)
    part = f"{name}-{sha256(content.getbuffer()).hexdigest()[:32]}"
    interruption.check()
    store_at(location).put_part(kind, part, content.getbuffer())
    return units_of(kind, part, complete)


def read_part(
    location: Path | Store,
    kind: str,
    name: str,
    columns: Sequence[str] | None = None,
    condition: pl.Expr | None = None,
    *,
    anew: bool = False,
) -> pl.DataFrame:
    """Return the rows of a part after checking it against the hash in its name.

    location: a store, or a home folder. columns: default all. condition: rows to return; default all. anew:
    read the stored file, not this machine's copy. Raises CorruptPart, after moving the file to quarantine/,
    if it cannot be read or differs from what was written; WarehouseError if there is no such part.
    """
    store, declared = store_at(location), part_kind(kind)

    def read() -> pl.DataFrame:
        rows = _checked(store.part(kind, name, anew=anew), name, declared).with_columns(part=pl.lit(name))
        rows = rows if condition is None else rows.filter(condition)
        return rows.select(list(columns or declared.columns)).collect()

    return _read_or_set_aside(store, kind, name, read)


def read_orphan(store: Store, kind: str, name: str) -> pl.DataFrame:
    """Return the rows of an unregistered part after all the checks that ``write_part`` makes on a frame.

    Anybody can write a part and name it after its hash: the hash proves only that name and content belong
    together. Raises like ``read_part``.
    """

    def read() -> pl.DataFrame:
        return _conforming(kind, name, store.part(kind, name, anew=True))

    return _read_or_set_aside(store, kind, name, read)


def read_content(kind: str, name: str, content: bytes) -> pl.DataFrame:
    """Return the rows of a part of another store after the checks of ``read_orphan``; raises CorruptPart."""
    try:
        return _conforming(kind, name, content)
    except (KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except BaseException as error:  # polars' panics on damage are not Exceptions
        raise CorruptPart(str(error)) from error


def _conforming(kind: str, name: str, content: bytes) -> pl.DataFrame:
    declared = part_kind(kind)
    rows = _checked(content, name, declared).with_columns(part=pl.lit(name))
    return _conform(rows.collect(), declared, f"part {kind}/{name}")


def _read_or_set_aside(store: Store, kind: str, name: str, read: Callable[[], pl.DataFrame]) -> pl.DataFrame:
    path = f"{store.root}/parts/{kind}/{name}.parquet"
    try:
        return read()
    except (KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except FileNotFoundError as error:
        raise WarehouseError(
            f"there is no part {path}. If it is registered, run `culturemeter check`: the next "
            f"run then answers its units again."
        ) from error
    except BaseException as error:  # polars' panics on damage are not Exceptions
        if isinstance(error, OSError) and error.errno not in (None, errno.EIO):
            raise  # such as too many open files: the part itself may be sound
        raise CorruptPart(
            f"part {path} is corrupt: {error}. It was moved to {store.set_part_aside(kind, name)}. Run "
            f"`culturemeter check` to unregister it; the next run then answers its units again."
        ) from error


def units_of(kind: str, part: str, frame: pl.DataFrame) -> pl.DataFrame:
    """Return the units that a part with these rows answers, as rows for the view `part_unit`."""
    keys = ["request_hash", "run_id", pl.col(part_kind(kind).unit).alias("unit")]
    units = frame.group_by(keys, maintain_order=True).agg(pl.len().cast(pl.Int64).alias("n_rows"))
    return units.with_columns(kind=pl.lit(kind), part=pl.lit(part))


def register_parts(
    connection: duckdb.DuckDBPyConnection, parts: Sequence[pl.DataFrame], *, replace: bool = False
) -> None:
    """Register parts as the answers to their units, inside the caller's transaction (`Warehouse.write`).

    parts: what `write_part` returned for each part. A unit that another part already answers keeps that part,
    unless `replace` (a refresh). If several of `parts` answer a unit, the first one counts, with `replace`
    the last. One statement registers all: one each would take a hundred times as long.
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
    """Return the rows of a sound part with all columns. Any error means a damaged part."""
    if not is_as_written(name, content):
        raise WarehouseError("its content does not match the hash in its name")
    return _completed(pl.scan_parquet(BytesIO(content), hive_partitioning=False), declared)


def _completed(rows: pl.LazyFrame, declared: PartKind) -> pl.LazyFrame:
    """Return `rows` with NULL in the nullable columns that are missing."""
    missing = declared.nullable.difference(rows.collect_schema().names())
    return rows.with_columns(pl.lit(None, declared.columns[name]).alias(name) for name in missing)


def _conform(frame: pl.DataFrame, declared: PartKind, name: str) -> pl.DataFrame:
    """Return `frame` with exactly the declared columns and types.

    name: name of the part, for errors. Raises WarehouseError if the columns, the types, an empty cell or a
    repeated key does not fit.
    """
    frame = _completed(frame.lazy(), declared).collect()
    if set(frame.columns) != set(declared.columns):
        raise WarehouseError(f"{name}: columns are {frame.columns}, expected {list(declared.columns)}")
    if not frame.height:
        raise WarehouseError(f"{name} has no rows")
    try:
        frame = frame.select(list(declared.columns)).cast(declared.columns)  # type: ignore[arg-type]
    except pl.exceptions.PolarsError as error:
        raise WarehouseError(f"{name} cannot be cast to {dict(declared.columns)}: {error}") from error
    for column_name in frame.columns:
        column = frame[column_name]
        if (column.null_count() and column_name not in declared.nullable) or (
            column.dtype.is_float() and column.is_nan().any()
        ):
            raise WarehouseError(
                f"{name}, column {column_name}: empty or NaN values; leave unscored rows out"
            )
    if frame["run_id"].n_unique() != 1 and not declared.moved:
        raise WarehouseError(f"{name}, column run_id: all rows of a part must have the same run")
    repeated = frame.select("request_hash", *declared.key).is_duplicated()
    if repeated.any():
        example = frame.filter(repeated).row(0, named=True)
        raise WarehouseError(f"{name}: rows repeat at {[example[key] for key in declared.key]}")
    return frame
