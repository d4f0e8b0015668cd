"""Reading the published file: one DuckDB instance per process, attached again when the file was replaced.

Starting an instance and attaching the file costs 40 ms, a cursor on a running instance a millisecond. The
file is locked (shared) only during reads, so an idle process does not block an outside writer.

Queries are SQL that somebody else may have written. Once the file is attached, the instance can read no file
but the parts, load no extension, read no Python variable, and change none of these limits.
"""

import logging
import os
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any
from uuid import uuid4

import duckdb

from warehouse.literals import list_parts
from warehouse.needed import absent_files
from warehouse.outside import HeldOutside, lock_shared, patiently, unlock
from warehouse.part_kinds import KINDS, empty_part, globs_of
from warehouse.registrations import COLUMNS, INCOMING, Position, folded
from warehouse.storage import FileSign, WarehouseError, glob_escaped, refuse_moved, sign_of, without_bar
from warehouse.store import Store

# None of these takes parameters.
_ATTACH = """
ATTACH '{path}' AS culturemeter (READ_ONLY);
SET allowed_directories = ['{parts}', '{parts_as_glob}'];
SET enable_external_access = false;
SET lock_configuration = true;
"""
_CONFIG = {
    "enable_external_file_cache": False,  # parts are not kept in memory
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,
}
_log = logging.getLogger("culturemeter")
_PARTS_IN_FILE = "SELECT DISTINCT kind, part FROM part_unit_base"
_PARTS_NEEDED = "SELECT DISTINCT kind, part FROM part_unit"
_PARTS_WAITING = "SELECT DISTINCT kind, part FROM memory.main.waiting"

# Registrations since the file was written are added to those in the file. Each reader sees as many as there
# were when it began (schema/001_schema.sql, part_unit). Rows are only added, so what it sees does not change.
_MAKE_WAITING = """
CREATE TABLE memory.main.waiting AS FROM part_unit_base LIMIT 0;
COMMENT ON TABLE memory.main.waiting IS 'Registrations since the file was written. Query part_unit.';
""" + "".join(f"COMMENT ON COLUMN memory.main.waiting.{name} IS 'Column of part_unit.';" for name in COLUMNS)
_LAY_OVER = f"""
INSERT INTO memory.main.waiting BY NAME
{INCOMING}
ANTI JOIN part_unit_base USING (kind, request_hash, unit)
ANTI JOIN memory.main.waiting USING (kind, request_hash, unit)
"""
_N_WAITING = "SELECT count(*) FROM memory.main.waiting"
_SHOW_WAITING = "SET VARIABLE waiting = 'SELECT * FROM memory.main.waiting WHERE rowid < {}'"


class _Version:
    """One version of the published file. It stays readable after another file takes its name."""

    def __init__(self, path: Path, store: Store) -> None:
        self.path, self.store, self.signs, self.readers = path, store, _signs(path), 0
        # A separate in-memory database, because connect(path) returns a cached instance, with an old version
        # of the file, while anybody in this process reads that. Spills go to the system's temporary folder:
        # the default for in-memory databases is the working directory.
        spill = Path(tempfile.gettempdir()) / f"culturemeter-{uuid4().hex}"
        self.instance = duckdb.connect(":memory:", config={"temp_directory": str(spill), **_CONFIG})
        self.file = path.open("rb")
        self._has_told = False
        self._listed: tuple[object, Mapping[str, list[str]]] = None, {}
        self._in_file: set[tuple[object, ...]] | None = None
        self._mutex = threading.Lock()
        self._position: Position | None = None
        self._n_waiting = 0
        try:
            parts = store.folder / "parts"
            places = {"path": path, "parts": parts, "parts_as_glob": glob_escaped(parts)}
            without_bar(self.instance)
            self.instance.execute(_ATTACH.format(**{n: str(p).replace("'", "''") for n, p in places.items()}))
        except BaseException:
            self.close()
            raise

    def is_current(self, path: Path) -> bool:
        """Return whether `path` still has this version, and no outside program has written to it."""
        return self.path == path and self.signs == _signs(path)

    def n_waiting(self, connection: duckdb.DuckDBPyConnection) -> int | None:
        """Add the new registrations, and return the number visible to a reader that begins now.

        None if some have left the log, because a newer version of the file has them.
        """
        with self._mutex:
            if self._position is None:
                try:
                    connection.execute(_MAKE_WAITING)
                    self._position = folded(connection)
                except duckdb.CatalogException:  # another program made the file, and it has no tables yet
                    return 0
            tail = self.store.log.after(self._position)
            if not tail.is_whole and not self.is_current(self.path):
                return None
            if tail.published not in (None, self.path.name):
                return None
            if tail.registrations:
                tail.insert(connection, _LAY_OVER)
                self._n_waiting = connection.execute(_N_WAITING).fetchall()[0][0]
            self._position = tail.position
            return self._n_waiting

    def parts(self, connection: duckdb.DuckDBPyConnection) -> Mapping[str, list[str]]:
        """Return kind -> the files that its view reads: registered parts that exist, and the empty part.

        So a part that is not registered yet, or was moved to quarantine, cannot break a view; parts that are
        missing are told. If parts have to be fetched, none is listed yet (`warehouse.needed`).
        """
        if not self.store.has_all_parts:
            return absent_files(self.store.folder)
        empty = [empty_part(self.store.folder, kind) for kind in KINDS.values()]
        signs = self._n_waiting, [sign_of(file.parent) for file in empty]
        if self._listed[0] != signs:
            try:
                if self._in_file is None:
                    self._in_file = set(connection.execute(_PARTS_IN_FILE).fetchall())
                registered = self._in_file | set(connection.execute(_PARTS_WAITING).fetchall())
            except duckdb.CatalogException:  # another program made the file, and it has no tables yet
                registered = set()
            files = [
                [file for file in empty_file.parent.glob("*.parquet") if (kind, file.stem) in registered]
                for kind, empty_file in zip(KINDS, empty, strict=True)
            ]
            folder = self.store.folder
            self._tell_missing(
                connection, registered - {(f.parent.name, f.stem) for own in files for f in own}
            )
            globs = (globs_of(folder, kind, parts) for kind, parts in zip(KINDS.values(), files, strict=True))
            self._listed = signs, dict(zip(KINDS, globs, strict=True))
        return self._listed[1]

    def _tell_missing(self, connection: duckdb.DuckDBPyConnection, absent: set[tuple[Any, ...]]) -> None:
        """Log how many registered parts have no file, once; a home may have got the files of another."""
        if not absent or self._has_told:
            return
        lacking = absent & set(connection.execute(_PARTS_NEEDED).fetchall())
        if n := sum(kind in KINDS for kind, _ in lacking):
            what, whose = ("1 part is", "its") if n == 1 else (f"{n:,} parts are", "their")
            _log.warning(
                "%s: %s missing, and queries lack %s rows: run culturemeter check", self.path, what, whose
            )
            self._has_told = True

    def close(self) -> None:
        """Close the file and the instance; cursors that are still open keep the instance alive."""
        self.instance.close()
        self.file.close()


class _SharedVersion:
    """The version that the readers of this process share."""

    def __init__(self) -> None:
        self._version: _Version | None = None
        self._mutex = threading.Lock()
        self._parents: list[_Version | None] = []
        os.register_at_fork(
            before=self._before_fork, after_in_parent=self._mutex.release, after_in_child=self._in_child
        )

    def enter(self, path: Path, store: Store) -> _Version:
        """Return the version at `path`, locked, and count one more reader."""
        with self._mutex:
            version = self._version
            if version is None or not version.is_current(path):
                self._release_version()
                version = self._version = _attached(path, store)
            elif not version.readers:
                lock_shared(version.file)
            version.readers += 1
            return version

    def leave(self, version: _Version) -> None:
        """Count one reader less; the last one unlocks the file."""
        with self._mutex:
            version.readers -= 1
            if version.readers:
                return
            if version is self._version:
                unlock(version.file)
            else:
                version.close()

    def _release_version(self) -> None:
        version, self._version = self._version, None
        if version is not None and not version.readers:
            version.close()

    def _before_fork(self) -> None:
        # The threads of an instance do not exist in a child, which would wait for them for ever.
        self._mutex.acquire()
        if self._version is not None and not self._version.readers:
            self._release_version()

    def _in_child(self) -> None:
        self._parents.append(self._version)  # kept alive: a child must neither use nor close it
        self._version = None
        self._mutex.release()


_shared = _SharedVersion()


@contextmanager
def reader(store: Store) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a read-only connection to the version that is published now; it keeps that version.

    Raises WarehouseError if nothing is published or DuckDB cannot attach the file, and like `patiently`.
    """
    with store.reading():
        yield from _reader(store)


def _reader(store: Store) -> Iterator[duckdb.DuckDBPyConnection]:
    done = False
    while not done:
        path = store.published()
        if path is None:
            refuse_moved(store.home)
            raise WarehouseError(
                f"there is no warehouse at {store.place}: `culturemeter ingest` or any run makes one."
            )
        version = patiently(path, lambda p=path: _shared.enter(p, store))  # type: ignore[misc]
        try:
            connection = version.instance.cursor()
            try:
                connection.execute("USE culturemeter")
                n_waiting = version.n_waiting(connection)
                if n_waiting is not None:
                    if n_waiting:
                        connection.execute(_SHOW_WAITING.format(n_waiting))
                    list_parts(connection, version.parts(connection))
                    done = True
                    yield connection
            finally:
                connection.interrupt()  # after Ctrl-C close() would wait for a running query to end
                connection.close()
        finally:
            _shared.leave(version)


@contextmanager
def signals_as_raised() -> Iterator[list[duckdb.DuckDBPyConnection]]:
    """Raise the exception of a signal handler that ran within a query, such as that of Ctrl-C or Prefect's.

    DuckDB replaces it by a RuntimeError (DuckDB 2 without a cause), which callers would not recognise as an
    interruption, and first waits until its other threads have ended what they began: so the queries of the
    connections that callers put into the yielded list are interrupted. Python runs handlers in the main
    thread alone.
    """
    raised: list[BaseException] = []
    connections: list[duckdb.DuckDBPyConnection] = []

    def recording(handler: Callable[[int, FrameType | None], Any]) -> Callable[[int, FrameType | None], Any]:
        def handle(number: int, frame: FrameType | None) -> None:
            try:
                handler(number, frame)
            except BaseException as error:
                raised.append(error)
                for connection in connections:
                    with suppress(duckdb.Error):  # it may be closed
                        connection.interrupt()
                raise

        return handle

    numbers = (signal.SIGINT, signal.SIGTERM) if threading.current_thread() is threading.main_thread() else ()
    found = {number: handler for number in numbers if callable(handler := signal.getsignal(number))}
    set_here = {number: recording(handler) for number, handler in found.items()}
    try:
        for number, handler in set_here.items():
            signal.signal(number, handler)
        yield connections
    except RuntimeError:
        if not raised:
            raise
        raise raised[-1] from None
    finally:
        for number, handler in found.items():
            if signal.getsignal(number) is set_here[number]:
                signal.signal(number, handler)


def damaged(path: object, error: duckdb.Error) -> WarehouseError:
    """Return the error for a file that DuckDB cannot open, or that has a block with a wrong checksum."""
    return WarehouseError(
        f"{path} cannot be opened: {str(error).splitlines()[0]} If it is damaged, move it away: "
        f"`culturemeter ingest` makes a new one, and later runs use the answers in parts/ again."
    )


def is_damage(error: duckdb.Error) -> bool:
    """Return whether DuckDB read a block with a wrong checksum."""
    return "Corrupt database file" in str(error)


@contextmanager
def damage_named(place: object) -> Iterator[None]:
    """Raise ``damaged`` for a block with a wrong checksum that is read within; other errors pass."""
    try:
        yield
    except duckdb.Error as error:
        if is_damage(error):
            raise damaged(place, error) from error
        raise


def _attached(path: Path, store: Store) -> _Version:
    while True:
        try:
            version = _Version(path, store)
        except duckdb.Error as error:
            if "Could not set lock" in str(error):
                raise HeldOutside from error
            raise damaged(path, error) from error
        if version.is_current(path):
            return version
        version.close()  # the file was replaced meanwhile: either version may be attached


def _signs(path: Path) -> tuple[FileSign | None, FileSign | None]:
    """Return the signs of the file and of an outside program's write-ahead log beside it."""
    return sign_of(path), sign_of(path.with_name(f"{path.name}.wal"))
