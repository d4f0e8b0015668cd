"""Basics of all modules: home folder, error, files written whole, rows checked against a table's columns."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import sqlite3
import time
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import lru_cache
from itertools import chain, count
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import duckdb
import polars as pl

Records = Sequence[Mapping[str, Any]]
"""Rows to store, as column -> cell."""

HOME = "CULTUREMETER_HOME"
"""Variable with the path of the warehouse's folder."""

CACHE_GB = "CULTUREMETER_CACHE_GB"
"""Variable with the limit, in gigabytes, of a machine's copies from a shared store."""

_CHECKOUT = Path(__file__).resolve().parent.parent

# A file-size limit and a quota stop a write just like a full disk.
_DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_SQLITE_FULL = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE)

# Writing a part takes seconds. Unlike a process id, a file's age means the same in every container.
_ABANDONED_AFTER_S = 3600.0

# DuckDB 2 warns of a copy that cannot be avoided for values that are bound.
warnings.filterwarnings("ignore", "Arrow output on a DB-API result")

FileSign = tuple[int, int, int]
"""Inode, time of the last change in ns, and size of a file; they change with its content."""


class WarehouseError(RuntimeError):
    """A fault of the warehouse; the message names the fault, its place and what to do next."""


class CacheSize(NamedTuple):
    """Size of this machine's copies from a shared store. limit: bytes above which they are trimmed."""

    n_files: int
    bytes: int
    limit: int

    def __str__(self) -> str:
        size, limit = self.bytes / 1e9, self.limit / 1e9
        return f"{self.n_files:,} files, {size:.1f} of at most {limit:g} GB ({CACHE_GB})"


opened_homes: set[Path] = set()
"""Homes that this process has opened. One that is gone was moved or deleted meanwhile."""


def refuse_moved(home: Path) -> None:
    """Raise WarehouseError if this process has opened a home that is not there any more.

    A new one in its place would get the rest of a run, and would stand in the way of the old one.
    """
    if home in opened_homes and not (home / "parts").is_dir():
        raise WarehouseError(
            f"{home} is gone: the warehouse was moved or deleted while this process worked on it. Move it "
            f"back, or set {HOME} to its new place, and run again: its answers are used."
        )


def refuse_network(home: Path) -> None:
    """Raise WarehouseError if a home is on a network file system, or on one that is not known as local.

    Whoever only reads need not call it: readers need neither locks nor shared memory.
    """
    if not is_local(home):
        kind = ascii(file_system(home))[1:-1]
        raise WarehouseError(
            f"{home} is on a network file system, or one that is not known as a disk of this machine "
            f"({kind}), which would damage a home: set {HOME} to a folder on a local disk and bring results "
            "together with `culturemeter merge`, or use a shared store (docs/cluster.md)"
        )


def home() -> Path:
    """Return the warehouse's folder, and make it if missing: $CULTUREMETER_HOME, else `.culturemeter`.

    `.culturemeter` is in the checkout, or in the working directory if the packages are installed without one.
    Raises WarehouseError if it cannot be made, or is on a network file system.
    """
    folder = usual_home()
    refuse_moved(folder)
    refuse_network(folder)
    try:
        private_folder(folder)
    except OSError as error:
        raise WarehouseError(
            f"cannot create the warehouse folder {folder}: {error.strerror}. Set CULTUREMETER_HOME to a "
            f"folder that you may write to."
        ) from error
    return folder


def private_folder(folder: Path) -> None:
    """Make a folder, or change an empty one, so that only its owner can read it.

    A folder with content stays as it is: its owner may have opened it to others.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if next(folder.iterdir(), None) is None:
        with suppress(PermissionError):  # another user owns it
            folder.chmod(0o700)


def usual_home() -> Path:
    """Return the path of ``home`` without making it.

    Raises WarehouseError for a path that cannot be resolved: a link to itself, or ~ of an unknown user.
    """
    default = (_CHECKOUT if (_CHECKOUT / "pyproject.toml").exists() else Path.cwd()) / ".culturemeter"
    folder = os.environ.get(HOME) or str(default)
    try:
        return Path(folder).expanduser().resolve()
    except (RuntimeError, ValueError) as error:
        raise WarehouseError(f"{HOME}={folder} is not a folder: {error}") from error


def resolved_home() -> Path | None:
    """Return the home; None if it cannot be resolved, which commands report and imported modules ignore."""
    try:
        return usual_home()
    except WarehouseError:
        return None


def now() -> datetime:
    """Return the current time in UTC, without a zone, as tables store it."""
    return datetime.now(UTC).replace(tzinfo=None)


def content_hash(files: Iterable[Path]) -> str:
    """Return the SHA-256 of the files' names and contents, in their order."""
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{file.name}\n".encode())
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


def sign_of(file: Path | str) -> FileSign | None:
    """Return the sign of a file, or None if there is no file or only a link to itself."""
    try:
        stat = os.stat(file)
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ELOOP):
            raise
        return None
    return stat.st_ino, stat.st_mtime_ns, stat.st_size


def folder_signs(folders: Iterable[Path]) -> frozenset[tuple[str, FileSign | None]]:
    """Return path and sign of every file under the folders; a hundred files take half a millisecond."""
    paths = (
        os.path.join(folder, name) for top in folders for folder, _, names in os.walk(top) for name in names
    )
    return frozenset((path, sign_of(path)) for path in paths)


def glob_escaped(path: Path | str) -> str:
    """Return `path` as a glob that matches this path alone."""
    return "".join(f"[{character}]" if character in "*?[" else character for character in str(path))


def remove_abandoned(folder: Path) -> None:
    """Delete the temporary files in `folder` that are over an hour old: their writers were killed."""
    oldest = time.time() - _ABANDONED_AFTER_S
    for temporary in folder.glob(".*.tmp"):
        with suppress(FileNotFoundError):  # its writer has just renamed it
            if temporary.stat().st_mtime < oldest:
                temporary.unlink()


def publish(temporary: Path, target: Path) -> None:
    """Rename `temporary` over `target` (same folder) so that a power cut leaves the old file or the new one.

    The data must be on disk before the name points to it, and the folder's own data, which has the name, too.
    """
    _fsync(temporary)
    temporary.replace(target)
    _fsync(target.parent)


@contextmanager
def written_whole(target: Path, needed: int) -> Iterator[Path]:
    """Yield a temporary path to write to; the file becomes `target` at the end, or is deleted after an error.

    needed: estimated bytes of the file. Raises WarehouseError if the disk is full.
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
    """Replace the error of a write to `target` on a full disk by one that says what to do.

    needed: estimated bytes of the write.
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
            f"move the warehouse to a larger disk with CULTUREMETER_HOME, and run again."
        ) from error


def is_disk_full(error: BaseException) -> bool:
    """Return whether `error` (an OSError, or DuckDB's or polars' wrapping of one) means a full disk."""
    if isinstance(error, WarehouseError):
        return False  # its message already says what to do
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno in _DISK_FULL
    if isinstance(error, sqlite3.Error):
        return getattr(error, "sqlite_errorcode", None) in _SQLITE_FULL
    # DuckDB and polars pass on only the operating system's message.
    return any(os.strerror(code) in str(error) for code in _DISK_FULL)


def without_bar(connection: duckdb.DuckDBPyConnection) -> None:
    """Turn off the progress bar of a connection, which would appear on standard output among the data.

    In a notebook without ipywidgets DuckDB draws no bar, and raises an error if it is turned off.
    """
    if connection.execute("SELECT current_setting('enable_progress_bar')").fetchone() != (False,):
        connection.execute("SET enable_progress_bar = false")


@contextmanager
def transaction(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Commit what the block writes, as a whole; an error in the block undoes it."""
    connection.begin()
    try:
        yield
    except BaseException:
        with suppress(duckdb.Error):  # DuckDB has ended the transaction itself
            connection.rollback()
        raise
    connection.commit()


def fetched(connection: duckdb.DuckDBPyConnection) -> pl.DataFrame:
    """Return the rows of the query that ran last; columns of one name are name, name_1 and so on.

    DuckDB 2 has no ``.pl()`` on connections.
    """
    table = connection.to_arrow_table()
    assert table is not None
    names: list[str] = []
    for name in table.column_names:
        others = (f"{name}_{n}" for n in count(1))
        names.append(next(other for other in chain([name], others) if other not in names))
    frame = pl.from_arrow(table.rename_columns(names))
    assert isinstance(frame, pl.DataFrame)
    return frame


def execute_with(
    connection: duckdb.DuckDBPyConnection,
    incoming: pl.DataFrame,
    sql: str,
    values: Mapping[str, object] | None = None,
) -> pl.DataFrame:
    """Return the result of `sql`, which reads the rows as the table `incoming`."""
    connection.execute("")  # ends a result of which rows are left, as DuckDB 2 asks for
    connection.register("incoming", incoming)
    try:
        return fetched(connection.execute(sql, values))
    finally:
        with suppress(duckdb.TransactionException):  # DuckDB 2, if `sql` ended the transaction
            connection.unregister("incoming")


def columns_of(
    connection: duckdb.DuckDBPyConnection, table: str, excluded: Collection[str] = ()
) -> pl.Schema:
    """Return name and type of a table's columns, in order, without those in `excluded`."""
    schema = fetched(connection.execute(f'FROM "{table}" LIMIT 0')).schema
    return pl.Schema({name: kind for name, kind in schema.items() if name not in excluded})


def insert(connection: duckdb.DuckDBPyConnection, table: str, rows: Records, key: str = "") -> None:
    """Add rows to a table; columns that they lack are NULL.

    key: columns, separated by commas, by which a row that is stored already stays as it is.
    """
    frame = pl.DataFrame(rows, schema=columns_of(connection, table))
    new = f' ANTI JOIN "{table}" USING ({key})' if key else ""
    execute_with(connection, frame, f'INSERT INTO "{table}" BY NAME SELECT * FROM incoming{new}')


def as_table(frame: pl.DataFrame, schema: pl.Schema, name: str) -> pl.DataFrame:
    """Return `frame` with the table's order and types.

    Raises WarehouseError, which begins with `name`, if the columns differ.
    """
    if set(frame.columns) != set(schema):
        raise WarehouseError(f"{name}: columns are {frame.columns}, expected {list(schema)}.")
    return frame.select(list(schema)).cast(schema)


def as_numbers(frame: pl.DataFrame, schema: pl.Schema, name: str) -> pl.DataFrame:
    """Return `as_table`'s table for rows of numbers, which may be unscored.

    Raises WarehouseError too for a NaN, and for a row with both a value and a reason, or neither.
    """
    frame = as_table(frame, schema, name)
    unclear = pl.col("value").is_null() != pl.col("unscored_reason").is_not_null()
    is_nan = pl.any_horizontal(pl.selectors.float().is_nan().fill_null(False))
    wrong = frame.filter(unclear | is_nan)
    if wrong.height:
        raise WarehouseError(
            f"{name}: {wrong.height} rows, first {wrong.row(0, named=True)}. A row has a value, or a null "
            f"with an unscored_reason; NaN is neither."
        )
    return frame


def _fsync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class StoreAway(WarehouseError):  # noqa: N818 - "raise StoreAway" says it all
    """A server of the store did not answer until patience ran out. Nothing is lost."""


LOCAL = frozenset({
    "apfs", "aufs", "bcachefs", "btrfs", "cramfs", "devtmpfs", "ecryptfs", "erofs", "exfat", "ext2", "ext3",
    "ext4", "f2fs", "hfs", "iso9660", "jfs", "lxfs", "msdos", "nilfs2", "ntfs", "ntfs3", "overlay", "ramfs",
    "reiserfs", "rootfs", "squashfs", "tmpfs", "udf", "ufs", "vfat", "wslfs", "xfs", "zfs",
    "fuseblk", "fuse.bindfs", "fuse.cryfs", "fuse.encfs", "fuse.fuse-overlayfs", "fuse.gocryptfs",
    "fuse.squashfuse",
})  # fmt: skip
"""File systems of one machine: disks (``fuseblk`` too), memory, layers of containers, encryption."""


@lru_cache(maxsize=64)
def file_system(folder: Path) -> str:
    """Return the kind of file system that a folder, existing or not, is on; "" if nothing tells it."""
    import psutil  # most commands that only read need none of it

    folder = folder.resolve()
    try:
        mounts = psutil.disk_partitions(all=True)
    except OSError:  # no /proc here
        return ""
    over = [mount for mount in mounts if folder.is_relative_to(mount.mountpoint)]
    # Of several mounts at one place, the last one is seen.
    return max(reversed(over), key=lambda mount: len(mount.mountpoint)).fstype.lower() if over else ""


def is_local(folder: Path) -> bool:
    """Return whether a folder is on a file system of this machine alone."""
    return file_system(folder) in LOCAL | {""}
