"""The warehouse file: readers never wait, writers replace it whole.

DuckDB admits one writing process and then no readers, so the published file is never opened for writing. A
writer changes a private copy and renames it over the published one; a reader keeps the version that it
opened.
"""

import shutil
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

import duckdb
import polars as pl
from filelock import FileLock, Timeout

from warehouse.migrate import bring_up_to_date, is_up_to_date, source_signs
from warehouse.part_kinds import KINDS, create_empty_parts, empty_part
from warehouse.published import damaged, is_damage, lock_shared, patiently, reader
from warehouse.registrations import Position, Registrations
from warehouse.storage import FileSign, WarehouseError, publish, room_for, sign_of
from warehouse.storage import home as default_home

_FILE = "culturescope.duckdb"
_WRITE_LOCK_PATIENCE_S = 600.0

_FOLD_AT = 50_000
"""So many registrations wait at most: a reader that has just started reads them in a tenth of a second."""

_HAS_UNITS = """
SELECT 1 FROM duckdb_tables() WHERE table_name = 'part_unit_base' AND database_name = current_database()
"""

# Small blocks: most tables have few rows, and every write copies the file. Older files keep larger ones.
_WRITER_CONFIG: Mapping[str, int] = {"threads": 1, "default_block_size": 16384}

_writing = threading.local()  # .paths: the files that this thread is writing

_current: dict[Path, tuple[FileSign | None, object]] = {}
"""Home -> sign of the published file, and signs of what it was seen to be current with."""


class Warehouse:
    """A handle on one home folder. It holds no connection: share it among threads, send it to processes."""

    def __init__(self, home: Path) -> None:
        """Use `Warehouse.open`, which also makes the file current."""
        self.home = home
        self.path = home / _FILE

    @classmethod
    def open(cls, home: Path | None = None) -> "Warehouse":
        """The warehouse in `home` (default: `warehouse.home()`), its schema, data and views made current.

        Writes only if something differs from what the file has: the migrations, a reference CSV file, a view
        or the folder that it is in. Looks into the file only if a file has changed since this process last
        did, so that it may be called again and again. Raises WarehouseError if it cannot be made current.
        """
        folder = default_home() if home is None else home.expanduser().resolve()
        if "?" in str(folder):
            raise WarehouseError(
                f"{folder} has a question mark, which DuckDB takes for the start of options. Set "
                f"CULTURESCOPE_HOME to a folder without one."
            )
        warehouse = cls(folder)
        if _current.get(folder) != warehouse._signs():
            folder.mkdir(parents=True, exist_ok=True)
            create_empty_parts(folder)
            signs = warehouse._signs()  # before looking: what changes meanwhile is looked at the next time
            if warehouse._is_up_to_date():
                _current[folder] = signs
            else:
                with warehouse.write() as connection:
                    bring_up_to_date(connection, folder)
        return warehouse

    @contextmanager
    def read(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A read-only connection to the newest published version, which it keeps until the block ends.

        Waits up to 30 s for an outside program that has the file open for writing, then raises
        WarehouseError.
        """
        if not self.path.exists():
            raise WarehouseError(
                f"there is no warehouse at {self.path}: `culturescope ingest` makes one, and so does any run."
            )
        with reader(self.path) as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A connection inside one transaction, published as a whole when the block ends without an error.

        Writers take turns across threads and processes (10 minutes' patience). On any error, kill -9 or power
        cut the published file is as before. Keep model work out of the block: others wait. Raises
        WarehouseError for a write inside a write, a lock that stays held, an outside writer or a full disk.
        """
        with self._turn_to_write():
            self._remove_leftovers()  # of writers that were killed
            temporary = self.home / f"{_FILE}.writing-{uuid4().hex}"
            size = self.path.stat().st_size if self.path.exists() else 0
            # The copy, and at most as much again for its log until the checkpoint.
            with room_for(self.path, 2 * size):
                try:
                    patiently(self.path, lambda: self._copy_published(temporary))
                    seen = _current.get(self.home)
                    was_current = seen is not None and seen[0] == sign_of(self.path)
                    # One thread: writes are small, and starting DuckDB's pool costs more than it saves.
                    connection = duckdb.connect(str(temporary), config={**_WRITER_CONFIG})
                    try:
                        connection.execute("SET enable_progress_bar = false")
                        folded = self._fold(connection)
                        connection.begin()
                        yield connection
                        connection.commit()
                        connection.execute("CHECKPOINT")
                    finally:
                        connection.close()
                    publish(temporary, self.path)
                    if folded:
                        with suppress(WarehouseError):  # what stays in the log is known to be in the file
                            Registrations(self.home).forget(folded)
                    if seen is not None and was_current:
                        _current[self.home] = sign_of(self.path), seen[1]
                except duckdb.Error as error:
                    if is_damage(error):
                        raise damaged(self.path, error) from error
                    raise
                finally:
                    self._remove_leftovers()

    def register(self, units: pl.DataFrame) -> None:
        """Register a part as the answer to its units, at a cost that does not grow with the warehouse.

        units: what `write_part` returned. A unit that another part already answers keeps it. Once this has
        returned, neither kill -9 nor a power cut undoes it. Raises WarehouseError for a full disk.
        """
        waiting = Registrations(self.home).append(units)
        if waiting // _FOLD_AT > (waiting - units.height) // _FOLD_AT:
            with self.write():
                pass

    def query(self, sql: str, params: Sequence[object] | Mapping[str, object] | None = None) -> pl.DataFrame:
        """The result of a read-only `sql`, its values bound from `params` (`?` or `$name`).

        It is one SELECT in any of its forms. Raises WarehouseError with DuckDB's own words, and what to do
        if a part cannot be read.
        """
        with self.read() as connection:
            try:
                # A PIVOT is a query too; the type that DuckDB makes for it first has no text.
                statements = [each for each in connection.extract_statements(sql) if each.query]
                for statement in statements:
                    if statement.type != duckdb.StatementType.SELECT:
                        raise WarehouseError(
                            f"{statement.type.name} is not allowed: the warehouse answers queries only "
                            f"(SELECT, FROM, SUMMARIZE …). `culturescope sql … --out FILE` writes a result."
                        )
                if len(statements) > 1:
                    raise WarehouseError(
                        f"one query at a time: these are {len(statements)}, and only one result can be shown"
                    )
                return connection.execute(sql, params).pl()
            except duckdb.Error as error:
                if is_damage(error):
                    raise damaged(self.path, error) from error
                if ".parquet" not in str(error):
                    raise WarehouseError(str(error)) from error
                raise WarehouseError(
                    f"a part under {self.home / 'parts'} cannot be read: {error}. Run `culturescope check`: "
                    f"it moves broken parts to quarantine/, and the next run does their work again."
                ) from error

    def _fold(self, connection: duckdb.DuckDBPyConnection) -> Position | None:
        """Take in the registrations that wait, in a transaction of its own: what comes next may undo some.

        None if the file has no table for them yet.
        """
        if connection.execute(_HAS_UNITS).fetchone() is None:
            return None
        connection.begin()
        position = Registrations(self.home).fold(connection)
        connection.commit()
        return position

    def _is_up_to_date(self) -> bool:
        if not self.path.exists():
            return False
        with self.read() as connection:
            return is_up_to_date(connection, self.home)

    def _signs(self) -> tuple[FileSign | None, object]:
        """Change whenever the published file does, or something that it should be current with."""
        empty = [sign_of(empty_part(self.home, kind)) for kind in KINDS.values()]
        return sign_of(self.path), (source_signs(), empty)

    @contextmanager
    def _turn_to_write(self) -> Iterator[None]:
        """Hold the inter-process write lock. The kernel releases it when a writer is killed."""
        mine: set[Path] = _writing.__dict__.setdefault("paths", set())
        if self.path in mine:
            raise WarehouseError(
                f"write() inside write() on {self.path}: it would wait for itself. Use the outer connection."
            )
        lock = FileLock(self.home / f"{_FILE}.lock", timeout=_WRITE_LOCK_PATIENCE_S, poll_interval=0.01)
        try:
            lock.acquire()
        except Timeout as error:
            raise WarehouseError(
                f"another process has been writing to {self.path} for {_WRITE_LOCK_PATIENCE_S:.0f} s. See "
                f"who holds {lock.lock_file} (fuser {lock.lock_file}), end it and run again."
            ) from error
        mine.add(self.path)
        try:
            yield
        finally:
            mine.remove(self.path)
            lock.release()

    def _remove_leftovers(self) -> None:
        """Delete private copies: whoever holds the write lock is the only live writer."""
        for leftover in self.home.glob(f"{_FILE}.writing-*"):
            if leftover.is_dir():
                shutil.rmtree(leftover)
            else:
                leftover.unlink()

    def _copy_published(self, target: Path) -> None:
        """Copy the published file, if there is one yet, while no outside program can change it."""
        if not self.path.exists():
            return
        with self.path.open("rb") as source:
            lock_shared(source)
            log = self.path.with_name(f"{_FILE}.wal")
            if log.exists():
                raise WarehouseError(
                    f"{log} exists: an outside program wrote to {self.path} and did not finish. Keep its "
                    f"changes with `duckdb {self.path} -c CHECKPOINT`, or drop them by deleting {log.name}."
                )
            with target.open("xb") as copy:
                shutil.copyfileobj(source, copy, 1 << 20)
