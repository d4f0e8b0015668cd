"""Log of the registrations since the published file was last written, in SQLite beside that file.

A registration is one short transaction here, whose cost does not grow with the warehouse; writing it to the
published file would mean copying that file. Each writer of the file first folds the log into it and records
the position reached; readers add the rest of the log to the file (`warehouse.published`). Folded rows are
then deleted, so the log stays small. Of several registrations of a unit the first one counts. SQLite does not
notice a flipped bit in a row, so each row has a checksum, and the ids must be consecutive.

SQLite's write-ahead log lets readers and one writer work side by side, and survives kill -9 and power cuts.
It needs a disk of this machine: a network file system has no shared memory.
"""

from __future__ import annotations

import json
import logging
import shutil
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, Protocol, TypeVar
from uuid import uuid4

import duckdb
import polars as pl

from warehouse.outside import WriterLock, until_whole
from warehouse.storage import WarehouseError, is_local, now, room_for, sign_of, written_whole

_log = logging.getLogger("culturemeter")

T = TypeVar("T")

_FILE = "registrations.sqlite"
_PATIENCE_S = 600.0  # wait for other processes, each of which needs milliseconds
_NEEDED = 1 << 20  # bytes, for the error of a full disk

_SCHEMA = """
CREATE TABLE registration (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    request_hash TEXT NOT NULL,
    unit TEXT NOT NULL,
    part TEXT NOT NULL,
    run_id TEXT NOT NULL,
    n_rows INTEGER NOT NULL,
    written_at INTEGER NOT NULL,  -- microseconds since 1970, UTC
    checksum TEXT NOT NULL  -- of the other columns but id, which are consecutive
);
CREATE TABLE log (name TEXT NOT NULL, forgotten INTEGER NOT NULL);
"""
COLUMNS = ("kind", "request_hash", "unit", "part", "run_id", "n_rows", "written_at")
"""Columns of part_unit."""

_APPEND = f"INSERT INTO registration ({', '.join(COLUMNS)}, checksum) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_WAITING = "SELECT max(0, (SELECT seq FROM sqlite_sequence) - forgotten) FROM log"
_AFTER = f"SELECT id, {', '.join(COLUMNS)}, checksum FROM registration WHERE id > ? ORDER BY id"
_LAST = "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'registration'), 0)"
_FORGET = (
    "UPDATE log SET forgotten = max(forgotten, :id) WHERE name = :log",
    "DELETE FROM registration WHERE id <= :id AND :log = (SELECT name FROM log)",
)
_DAMAGE = (
    sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_ERROR, None
)  # fmt: skip
"""SQLite's codes for a damaged log. ERROR means missing tables: no statement here is wrong. None is that of
Python's own error where a text is no UTF-8.
"""
_NO_ROOM_TO_READ = (
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_FULL,
)
"""SQLite's codes where even a reader cannot make its own files: a read-only folder or a full disk."""


_FOLDED = "SELECT value FROM state WHERE name = 'registrations'"
_TYPES = dict.fromkeys(COLUMNS, "VARCHAR") | dict.fromkeys(("id", "n_rows", "written_at"), "BIGINT")
INCOMING = f"""
FROM (
    SELECT row.* EXCLUDE (id) REPLACE (make_timestamp(row.written_at) AS written_at)
    FROM (SELECT unnest(from_json($rows::JSON, '[{json.dumps(_TYPES)}]')) AS row)
    QUALIFY row_number() OVER (PARTITION BY row.kind, row.request_hash, row.unit ORDER BY row.id) = 1
    ORDER BY row.id
) AS incoming
"""
"""The rows of ``Tail.insert`` in its statement."""
_FOLD = f"""
INSERT INTO part_unit_base BY NAME {INCOMING} ANTI JOIN part_unit_base USING (kind, request_hash, unit)
"""
_NOTE = "INSERT OR REPLACE INTO state VALUES ('registrations', $log || ' ' || $id)"


class Position(NamedTuple):
    """Position in a log: its name, and the id of the last registration read. A new log has a new name."""

    log: str = ""
    id: int = 0


class Tail(NamedTuple):
    """Registrations of a log after a position.

    registrations: id and COLUMNS, in the order of registration. position: position of the last one.
    is_whole: whether no registration after the requested position is deleted yet.
    published: name of the file that was published when the log was read, or None if the log has no such name.
    """

    registrations: Sequence[tuple[object, ...]]
    position: Position
    is_whole: bool
    published: str | None = None

    def insert(self, connection: duckdb.DuckDBPyConnection, statement: str) -> None:
        """Run an INSERT from ``INCOMING``: the columns of part_unit, in the order of registration, each once.

        The rows travel as JSON. As a data frame they would have DuckDB import PyArrow and pandas, which takes
        longer than any other step of a command that reads.
        """
        rows = [dict(zip(("id", *COLUMNS), row, strict=True)) for row in self.registrations]
        connection.execute(statement, {"rows": json.dumps(rows)})


class Log(Protocol):
    """The registrations since the published file was last written, in any kind of store."""

    def append(self, units: pl.DataFrame) -> int:
        """Add registrations durably, all or none; return about how many are not folded yet."""

    def after(self, position: Position) -> Tail:
        """Return the registrations after `position`, or all if the position is of another log."""


class _Damaged(sqlite3.DatabaseError):
    """SQLite reads the log, but not what was written."""


class Registrations:
    """The log of one home folder. It holds no connection: one is opened for each call.

    The process that meets a damaged log moves it to quarantine/ and begins a new one. Nothing is lost: the
    columns of a part name the units that it answers, and the next run registers unregistered parts.
    """

    def __init__(self, home: Path) -> None:
        self.home, self.path = home, home / _FILE

    def append(self, units: pl.DataFrame) -> int:
        """Add registrations, all or none, and return how many are not folded yet.

        units: kind, request_hash, unit, part, run_id and n_rows, as `write_part` returns them. Raises
        WarehouseError if the disk is full or the folder is read-only.
        """
        written_at = pl.Series([now()], dtype=pl.Datetime("us")).to_physical()[0]
        values = [(*row, written_at) for row in units.select(COLUMNS[:-1]).rows()]
        rows = [(*row, _checksum(row)) for row in values]

        def add(connection: sqlite3.Connection) -> int:
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(_APPEND, rows)
            waiting = int(connection.execute(_WAITING).fetchone()[0])
            connection.execute("COMMIT")
            return waiting

        with room_for(self.path, _NEEDED):
            if not self.path.exists():
                self._create()
        return self._call(add)

    def after(self, position: Position) -> Tail:
        """Return the registrations after `position`, or all if the position is of another log."""

        def read(connection: sqlite3.Connection) -> tuple[list[tuple[Any, ...]], Position, bool]:
            connection.execute("BEGIN")  # reads both tables as of one time
            log, forgotten = connection.execute("SELECT name, forgotten FROM log").fetchone()
            start = position.id if position.log == log else 0
            rows = _read(connection, start, forgotten)
            return rows, Position(log, rows[-1][0]) if rows else position, forgotten <= start

        rows, last, is_whole = self._call(read, reads=True) if self.path.exists() else ([], position, True)
        return Tail(rows, last, is_whole)

    def forget(self, position: Position) -> None:
        """Delete the registrations up to `position`, which the published file has."""

        def delete(connection: sqlite3.Connection) -> None:
            connection.execute("BEGIN IMMEDIATE")
            for statement in _FORGET:
                connection.execute(statement, position._asdict())
            connection.execute("COMMIT")

        if self.path.exists():
            self._call(delete)

    def _call(self, work: Callable[[sqlite3.Connection], T], *, reads: bool = False) -> T:
        """Return `work`'s result. If the log is damaged, `work` is called again on a new log."""
        try:
            with room_for(self.path, _NEEDED):
                try:
                    return self._call_once(work, reads=reads)
                except sqlite3.DatabaseError as error:
                    if _code(error) not in _DAMAGE and not isinstance(error, _Damaged):
                        raise
                self._set_aside()
                return self._call_once(work, reads=reads)
        except sqlite3.DatabaseError as error:
            raise WarehouseError(
                f"{self.path} cannot be used: {error}. Set CULTUREMETER_HOME to a folder that you may "
                f"write to, on a disk of this machine."
            ) from error

    def _call_once(self, work: Callable[[sqlite3.Connection], T], *, reads: bool = False) -> T:
        if not reads or is_local(self.home):
            try:
                with closing(_connected(self.path, "mode=rw")) as connection:
                    return _result(work, connection)
            except sqlite3.DatabaseError as error:
                if not reads or _code(error) not in _NO_ROOM_TO_READ:
                    raise
        # SQLite makes files beside a log even to read it. Nobody writes to a folder where that fails.
        log = self._beside("-wal")
        if not log.exists() or not log.stat().st_size:
            with closing(_connected(self.path, "immutable=1")) as connection:
                return _result(work, connection)
        with TemporaryDirectory(prefix="culturemeter-") as folder:
            copy = Path(folder) / _FILE
            for suffix in ("", "-wal"):
                if self._beside(suffix).exists():
                    shutil.copyfile(self._beside(suffix), copy.with_name(f"{_FILE}{suffix}"))
            with closing(_connected(copy, "mode=rw")) as connection:
                return _result(work, connection)

    def _create(self) -> None:
        """Make an empty log, whole or not at all, unless another process has just made one."""
        with WriterLock(self._beside(".lock"), timeout=_PATIENCE_S):
            if self.path.exists():
                return
            for name in ("-wal", "-shm"):  # files of a deleted log, which SQLite would take for the new one's
                self._beside(name).unlink(missing_ok=True)
            with (
                written_whole(self.path, needed=0) as temporary,
                closing(sqlite3.connect(temporary)) as connection,
            ):
                connection.executescript(_SCHEMA)
                connection.execute("INSERT INTO log VALUES (?, 0)", [uuid4().hex])
                connection.commit()
                connection.execute("PRAGMA journal_mode = WAL")

    def _set_aside(self) -> None:
        """Move a damaged log to quarantine/ and begin a new one, unless another process has just done so."""
        with WriterLock(self._beside(".lock"), timeout=_PATIENCE_S):
            try:
                self._call_once(_check)
                return
            except sqlite3.DatabaseError as error:
                folder = self.home / "quarantine"
                folder.mkdir(exist_ok=True)
                moved = folder / f"{_FILE}-{uuid4().hex[:8]}"
                for suffix in ("", "-wal", "-shm"):
                    if self._beside(suffix).exists():
                        self._beside(suffix).rename(f"{moved}{suffix}")
                _log.warning(
                    "%s is damaged (%s) and was moved to %s: the next run registers its parts again.",
                    self.path, error, moved,
                )  # fmt: skip
        self._create()

    def copy_to(self, folder: Path) -> None:
        """Copy the log as it is now into `folder`, without a write or a lock here; its owner may be at work.

        Raises WarehouseError if it changes all the time.
        """
        files = [self._beside(suffix) for suffix in ("", "-wal")]

        def copied() -> bool:
            signs = [sign_of(file) for file in files]
            for file, sign in zip(files, signs, strict=True):
                (folder / file.name).unlink(missing_ok=True)
                if sign is not None:
                    with suppress(FileNotFoundError):  # its owner has ended: the signs differ
                        shutil.copyfile(file, folder / file.name)
            return signs == [sign_of(file) for file in files]

        until_whole(self.path, copied)

    def _beside(self, suffix: str) -> Path:
        return self.path.with_name(f"{_FILE}{suffix}")


def fold(log: Log, connection: duckdb.DuckDBPyConnection) -> Position:
    """Fold a log's new registrations into the file, inside the caller's transaction; return the position."""
    tail = log.after(folded(connection))
    fold_in(tail, connection)
    return tail.position


def fold_in(tail: Tail, connection: duckdb.DuckDBPyConnection) -> None:
    """Add the registrations of `tail`, which begins where the file ends, inside the caller's transaction."""
    if tail.position != folded(connection):
        tail.insert(connection, _FOLD)
        connection.execute(_NOTE, tail.position._asdict())


def folded(connection: duckdb.DuckDBPyConnection) -> Position:
    """Return the position up to which the connection's file has the log."""
    row = connection.execute(_FOLDED).fetchone()
    log, _, number = (row[0] if row else " 0").partition(" ")
    return Position(log, int(number))


def _connected(log: Path, mode: str) -> sqlite3.Connection:
    uri = f"{log.as_uri()}?{mode}"
    return sqlite3.connect(uri, uri=True, timeout=_PATIENCE_S, isolation_level=None)


def _result(work: Callable[[sqlite3.Connection], T], connection: sqlite3.Connection) -> T:
    """Return `work`'s result; raises _Damaged where a log has other values than were written."""
    try:
        return work(connection)
    except (TypeError, ValueError) as error:  # no row, no number, or words of SQLite that are no UTF-8
        raise _Damaged(str(error)) from error


def _check(connection: sqlite3.Connection) -> None:
    """Raise an error of SQLite unless the whole log can be read."""
    ((forgotten,),) = connection.execute("SELECT forgotten FROM log").fetchall()
    _read(connection, 0, forgotten)


def _read(connection: sqlite3.Connection, start: int, forgotten: int) -> list[tuple[Any, ...]]:
    """Return id and COLUMNS of the registrations after `start`. Raises _Damaged if a row changed or is gone.

    forgotten: id of the last registration that was deleted because the published file has it.
    """
    rows = connection.execute(_AFTER, [start]).fetchall()
    ((last,),) = connection.execute(_LAST).fetchall()
    if [row[0] for row in rows] != list(range(max(start, forgotten) + 1, last + 1)):
        raise _Damaged("registrations are missing")
    if any(_checksum(row[1:-1]) != row[-1] for row in rows):
        raise _Damaged("a registration differs from what was written")
    return [row[:-1] for row in rows]


def _checksum(row: Sequence[object]) -> str:
    return sha256(json.dumps(row).encode()).hexdigest()[:16]


def _code(error: sqlite3.DatabaseError) -> int | None:
    """Return SQLite's primary error code, or None for errors of Python's module."""
    code = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF
