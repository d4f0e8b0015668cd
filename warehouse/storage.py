"""Basics of all modules: home and error, files complete or absent, rows held to the columns of a table."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import sqlite3
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

import duckdb
import polars as pl

HOME = "CULTURESCOPE_HOME"
"""The warehouse's folder."""

CACHE_GB = "CULTURESCOPE_CACHE_GB"
"""Variable with the gigabytes that a machine may keep of a store that is elsewhere."""

_CHECKOUT = Path(__file__).resolve().parent.parent

# A file-size limit and a quota stop a write exactly as a full disk does.
_DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_SQLITE_FULL = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE)

# Writing a part takes seconds. Age, unlike a process id, means the same in every container on the disk.
_ABANDONED_AFTER_S = 3600.0

FileSign = tuple[int, int, int]
"""Inode, time of the last change in ns, and size: another content has another sign."""


class WarehouseError(RuntimeError):
    """Something is wrong with the warehouse; the message says what, where and what to do next."""


class CacheSize(NamedTuple):
    """This machine's copies from a remote store. limit: bytes that it is trimmed to."""

    n_files: int
    bytes: int
    limit: int

    def __str__(self) -> str:
        size, limit = self.bytes / 1e9, self.limit / 1e9
        return f"{self.n_files:,} files, {size:.1f} of at most {limit:g} GB ({CACHE_GB})"


def home() -> Path:
    """The warehouse's folder, made if missing: $CULTURESCOPE_HOME, else `.culturescope` in the checkout.

    Where the packages are installed there is no checkout: it is in the working directory then.
    """
    folder = usual_home()
    try:
        private_folder(folder)
    except OSError as error:
        raise WarehouseError(
            f"cannot create the warehouse folder {folder}: {error.strerror}. Set CULTURESCOPE_HOME to a "
            f"folder that you may write to."
        ) from error
    return folder


def private_folder(folder: Path) -> None:
    """Make a folder, or take an empty one, that nobody but its owner can look into.

    One that holds something stays as it is: its owner may have opened it to others.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if next(folder.iterdir(), None) is None:
        with suppress(PermissionError):  # it is somebody else's
            folder.chmod(0o700)


def usual_home() -> Path:
    """Return the path of ``home``; nothing is made.

    Raises WarehouseError for a name that leads nowhere: a link to itself, or ~ of a user that there is not.
    """
    usual = (_CHECKOUT if (_CHECKOUT / "pyproject.toml").exists() else Path.cwd()) / ".culturescope"
    named = os.environ.get(HOME) or str(usual)
    try:
        return Path(named).expanduser().resolve()
    except (RuntimeError, ValueError) as error:
        raise WarehouseError(f"{HOME}={named} is no folder: {error}") from error


def now() -> datetime:
    """The time as tables have it: UTC, without a zone."""
    return datetime.now(UTC).replace(tzinfo=None)


def content_hash(files: Iterable[Path]) -> str:
    """SHA-256 of the files' names and contents, in the order given."""
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{file.name}\n".encode())
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


def sign_of(file: Path | str) -> FileSign | None:
    """The sign of one file, or None if there is none; a link to itself is none."""
    try:
        stat = os.stat(file)
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ELOOP):
            raise
        return None
    return stat.st_ino, stat.st_mtime_ns, stat.st_size


def folder_signs(folders: Iterable[Path]) -> frozenset[tuple[str, FileSign | None]]:
    """Path and sign of every file under the folders: half a millisecond for a hundred."""
    places = (
        os.path.join(here, name) for top in folders for here, _, names in os.walk(top) for name in names
    )
    return frozenset((place, sign_of(place)) for place in places)


def glob_escaped(path: Path | str) -> str:
    """`path` as a glob that matches itself alone."""
    return "".join(f"[{character}]" if character in "*?[" else character for character in str(path))


def remove_abandoned(folder: Path) -> None:
    """Delete the temporary files in `folder` that are an hour old: their writers were killed."""
    oldest = time.time() - _ABANDONED_AFTER_S
    for temporary in folder.glob(".*.tmp"):
        with suppress(FileNotFoundError):  # its writer has just given it its name
            if temporary.stat().st_mtime < oldest:
                temporary.unlink()


def publish(temporary: Path, target: Path) -> None:
    """Rename `temporary` over `target` (same folder) so that a power cut leaves the old file or the new one.

    The data must be on disk before the name points to it, and the name itself lives in the folder's data.
    """
    _fsync(temporary)
    temporary.replace(target)
    _fsync(target.parent)


@contextmanager
def written_whole(target: Path, needed: int) -> Iterator[Path]:
    """A temporary path to write to within the block; it then becomes `target`, or goes if there is an error.

    needed: bytes that the file takes, estimated. Raises WarehouseError if the disk is full.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.{uuid4().hex}.tmp")
    with room_for(target, needed):
        try:
            yield temporary
            publish(temporary, target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


@contextmanager
def room_for(target: Path, needed: int) -> Iterator[None]:
    """Turns the error of a write to `target` that had no room into one that says what to do.

    needed: bytes that it takes, estimated.
    """
    try:
        yield
    except BaseException as error:
        if not is_disk_full(error):
            raise
        free = shutil.disk_usage(target.parent).free
        raise WarehouseError(
            f"no room to write {target}: about {needed / 1e6:.1f} MB are needed, {free / 1e6:.1f} MB are "
            f"free (a quota or a file-size limit may allow less). Nothing was changed. Free some space, or "
            f"move the warehouse to a larger disk with CULTURESCOPE_HOME, and run again."
        ) from error


def is_disk_full(error: BaseException) -> bool:
    """Whether `error` (an OSError, or DuckDB's or Polars' wrapping of one) means that there was no room."""
    if isinstance(error, WarehouseError):
        return False  # said already
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno in _DISK_FULL
    if isinstance(error, sqlite3.Error):
        return getattr(error, "sqlite_errorcode", None) in _SQLITE_FULL
    # DuckDB and Polars pass on the operating system's words only.
    return any(os.strerror(code) in str(error) for code in _DISK_FULL)


def without_bar(connection: duckdb.DuckDBPyConnection) -> None:
    """Have a connection draw no bar of a slow query: it would go to standard output, among the data.

    In a notebook without ipywidgets DuckDB draws none, and raises an error where it is told so.
    """
    if connection.execute("SELECT current_setting('enable_progress_bar')").fetchone() != (False,):
        connection.execute("SET enable_progress_bar = false")


def execute_with(
    connection: duckdb.DuckDBPyConnection,
    incoming: pl.DataFrame,
    sql: str,
    values: Mapping[str, object] | None = None,
) -> pl.DataFrame:
    """The result of `sql`, to which the rows are the table `incoming`."""
    connection.register("incoming", incoming)
    try:
        return connection.execute(sql, values).pl()
    finally:
        connection.unregister("incoming")


def columns_of(connection: duckdb.DuckDBPyConnection, table: str, without: Collection[str] = ()) -> pl.Schema:
    """Name and type of a table's columns, in order, without those named."""
    schema = connection.execute(f'FROM "{table}" LIMIT 0').pl().schema
    return pl.Schema({name: kind for name, kind in schema.items() if name not in without})


def as_table(frame: pl.DataFrame, schema: pl.Schema, what: str) -> pl.DataFrame:
    """`frame` in the table's order and types. Raises WarehouseError, naming `what`, for other columns."""
    if set(frame.columns) != set(schema):
        raise WarehouseError(f"{what}: columns are {frame.columns}, expected {list(schema)}.")
    return frame.select(list(schema)).cast(schema)


def as_numbers(frame: pl.DataFrame, schema: pl.Schema, what: str) -> pl.DataFrame:
    """Return `as_table`'s table for rows of numbers that may be unscored (value, unscored_reason and an
    interval).

    Raises WarehouseError too, with the first row that has a NaN, or a value and a reason, or neither.
    """
    frame = as_table(frame, schema, what)
    unclear = pl.col("value").is_null() != pl.col("unscored_reason").is_not_null()
    is_nan = pl.any_horizontal(pl.selectors.float().is_nan().fill_null(False))
    wrong = frame.filter(unclear | is_nan)
    if wrong.height:
        raise WarehouseError(
            f"{what}: {wrong.height} rows, first {wrong.row(0, named=True)}. A row has a value, or a null "
            f"with an unscored_reason; NaN is neither."
        )
    return frame


def _fsync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
