"""The warehouse file: readers never wait, and writers replace it as a whole.

DuckDB admits one writing process and then no readers, so the published file is never opened for writing. A
writer changes a private copy and renames it over the published one; a reader keeps the version that it
opened.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import duckdb
import polars as pl

from warehouse import interruption, needed
from warehouse.archive import archive
from warehouse.guard import check_query
from warehouse.literals import execute, list_parts
from warehouse.migrate import bind_views, bring_up_to_date, is_up_to_date, refuse_older, source_signs
from warehouse.part_kinds import KINDS, create_empty_parts, empty_part, has_empty_parts
from warehouse.published import damage_named, is_damage, reader, signals_as_raised
from warehouse.querying import ResultSet, to_frame, to_rows
from warehouse.registrations import Position, fold
from warehouse.storage import (
    HOME,
    WarehouseError,
    home,
    is_local,
    opened_homes,
    private_folder,
    refuse_moved,
    refuse_network,
    sign_of,
    usual_home,
    without_bar,
)
from warehouse.store import Store, store_at
from warehouse.verified import check_parts_of

_FOLD_AT = 50_000
"""Largest number of registrations in the log: a reader that has just started reads them in 0.1 s."""

_HAS_UNITS = """
SELECT 1 FROM duckdb_tables() WHERE table_name = 'part_unit_base' AND database_name = current_database()
"""

# Small blocks: most tables have few rows, and every write copies the file. Older files keep larger ones.
_WRITER_CONFIG: Mapping[str, int] = {"threads": 1, "default_block_size": 16384}

_GAPS = "SELECT 4 * free_blocks > used_blocks AND free_blocks * block_size > ? FROM pragma_database_size()"
_LEAST_GAPS = 12 << 20
"""Unused bytes above which a file is rewritten, if they are also a fifth of it."""
_REWRITE = """
ATTACH '{old}' AS old (READ_ONLY);
ATTACH '{new}' AS new (BLOCK_SIZE {block_size});
COPY FROM DATABASE old TO new;
CHECKPOINT new;
"""

_current: dict[Path, tuple[object, object]] = {}
"""Folder -> version of the published file, and signs of the sources that it was last made current with."""

_only_read: set[Path] = set()
"""Homes on a network file system that this process reads; a write is refused."""


class Warehouse:
    """A handle on one store. It holds no connection: share it among threads, send it to processes."""

    def __init__(self, where: Path | Store | None = None) -> None:
        """Use `Warehouse.open`, which also makes the file current."""
        self.store = store_at(where)

    @property
    def home(self) -> Path:
        """This machine's folder for models, engines, reports and quarantined files."""
        return self.store.home

    @property
    def path(self) -> Path:
        """The published database file on this machine. Raises WarehouseError if there is none."""
        path = self.store.published()
        if path is None:
            raise WarehouseError(f"nothing is published at {self.store.place}")
        return path

    @classmethod
    def open(cls, where: Path | Store | None = None) -> Warehouse:
        """Return the warehouse at `where` (`warehouse.store_at`), with schema, data and views made current.

        Writes only if the file differs from the sources: the migrations, a reference CSV file or a view.
        Reads the file only if a file has changed since this process last read it, so repeated calls are
        cheap. Raises WarehouseError if the file cannot be made current, and for a home on a network file
        system.
        """
        store = store_at(usual_home() if where is None else where)
        if store.home not in _only_read:
            refuse_network(store.home)
            if where is None:
                home()
        return cls._opened(store)

    @classmethod
    def _opened(cls, store: Store) -> Warehouse:
        """Return what `open` does, for readers too: a home on a network file system is read, not written."""
        warehouse, folder = cls(store), store.folder
        if "?" in str(folder):
            raise WarehouseError(
                f"{folder} has a question mark, after which DuckDB expects options. Set "
                f"CULTUREMETER_HOME to a folder without one."
            )
        if _current.get(folder) != warehouse._signs():
            refuse_moved(folder)
            is_up_to_date = warehouse._is_up_to_date()
            private_folder(folder)
            if not warehouse._has_empty_parts():
                create_empty_parts(folder)
            signs = warehouse._signs()  # taken first: the next call sees changes made during this one
            if is_up_to_date:
                _current[folder] = signs
            else:
                with signals_as_raised(), warehouse._drafted(signs[1]) as connection:
                    # CREATE VIEW reads a file of each kind. The empty part always has the declared columns.
                    list_parts(connection, needed.empty_files(folder))
                    bring_up_to_date(connection, store.root)
            if folder == warehouse.home:  # copies of a shared store may be deleted at any time
                opened_homes.add(folder)
        return warehouse

    @classmethod
    def current(cls) -> Warehouse:
        """Return the environment's warehouse; `open` makes it current once per process.

        A run calls this thousands of times.
        """
        store = store_at(usual_home())
        return cls(store) if store.folder in _current else cls.open()

    @classmethod
    def existing(cls, where: Path | Store | None = None) -> Warehouse:
        """Return the warehouse at `where`, as `open` does, but never create one: for readers.

        Raises WarehouseError if nothing is published there. No folder is made.
        """
        store = store_at(usual_home() if where is None else where)
        if store.version() is None:
            refuse_older(store.folder)
            raise WarehouseError(
                f"there is no warehouse at {store.place}: set {HOME} to the folder of yours, or make one "
                "here with `culturemeter ingest` or any run, such as `run spectral --profile smoke`"
            )
        if not is_local(store.home):
            _only_read.add(store.home)
        return cls._opened(store)

    @contextmanager
    def read(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Yield a read-only connection to the newest published version; it keeps that version.

        On a shared store the connection reads tables, and the views that need no parts; `query` fetches parts
        as well. Waits up to 30 s for an outside program that has the file open for writing, then raises
        WarehouseError, as for a damaged file.
        """
        with (
            signals_as_raised() as interrupted,
            reader(self.store) as connection,
            damage_named(self.store.place),
        ):
            interrupted.append(connection)
            yield connection

    @contextmanager
    def write(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Yield a connection inside one transaction, published as a whole if the block ends without an error.

        Writers take turns across threads, processes and machines; a writer waits up to 10 minutes. An error,
        kill -9 or power cut leaves the published file as it was. Do no model work in the block: others wait.
        Raises WarehouseError for a write inside a write, a lock that another process keeps or that was lost,
        an outside writer, a full disk or a home on a network file system.
        """
        with signals_as_raised() as interrupted, self._drafted() as connection:
            interrupted.append(connection)
            if connection.execute(_HAS_UNITS).fetchone():
                list_parts(connection, needed.empty_files(self.store.folder))
                bind_views(connection, self.store.root)
                connection.execute("RESET VARIABLE parts")
            connection.begin()
            yield connection
            interruption.check()
            connection.commit()

    @contextmanager
    def _drafted(self, current_with: object = None) -> Iterator[duckdb.DuckDBPyConnection]:
        """Yield a connection to a private copy, published as a whole if the block ends without an error.

        The block commits its own transactions. current_with: signs of the sources that it makes the file
        current with. Raises like `write`.
        """
        refuse_network(self.home)
        with self.store.draft() as draft, damage_named(self.store.place):
            current = _current.get(self.store.folder)
            if current_with is None and current is not None and current[0] == self.store.version():
                current_with = current[1]
            # One thread: writes are small, and starting DuckDB's pool costs more than it saves.
            connection = duckdb.connect(str(draft.path), config={**_WRITER_CONFIG})
            try:
                without_bar(connection)
                position = self._fold(connection)
                yield connection
                interruption.check()
                if position is not None:
                    archive(connection, self.store)
                connection.execute("CHECKPOINT")
                has_gaps = _has_gaps(connection)
            finally:
                connection.close()
            if has_gaps:
                self._rewrite(draft.path)
            draft.publish(position)
            if current_with is not None:
                _current[self.store.folder] = self.store.version(), current_with

    def locked(self, name: str) -> AbstractContextManager[None]:
        """Hold the lock of this name within the block; one process of the warehouse has it at a time.

        The lock is released when its holder is killed. If it is lost otherwise (its connection to a database
        ends), a write within the block fails and publishes nothing.
        """
        return self.store.locked(name)

    def register(self, units: pl.DataFrame) -> None:
        """Register a part as the answer to its units, at a cost that does not grow with the warehouse.

        units: what `write_part` returned. A unit that another part already answers keeps that part. Neither
        kill -9 nor a power cut after the return undoes it. Raises WarehouseError for a full disk.
        """
        interruption.check()
        waiting = self.store.log.append(units)
        if waiting // _FOLD_AT > (waiting - units.height) // _FOLD_AT:
            with self.write():
                pass

    def query(
        self,
        sql: str,
        params: Sequence[object] | Mapping[str, object] | None = None,
        variables: Mapping[str, object] | None = None,
    ) -> pl.DataFrame:
        """Return the result of a query, with its values bound from `params` (`?` or `$name`).

        sql: one SELECT in any of its forms, of the parts that `warehouse.guard` allows. variables: values
        that views read by `getvariable`. Columns of types that polars lacks (INTERVAL, UNION …) become text.
        Raises WarehouseError with DuckDB's own message, and with advice if a part cannot be read.
        """
        with self._reading(sql, variables) as connection:
            if self.store.has_all_parts:
                return to_frame(connection, sql, params)
            return needed.execute(connection, self.store, sql, params)

    def rows(
        self,
        sql: str,
        params: Sequence[object] | Mapping[str, object] | None = None,
        variables: Mapping[str, object] | None = None,
    ) -> ResultSet:
        """Return the result of `query` as Python values; plain types need no polars."""
        if not self.store.has_all_parts:
            return ResultSet.from_frame(self.query(sql, params, variables))
        with self._reading(sql, variables) as connection:
            return to_rows(connection, sql, params)

    @contextmanager
    def _reading(
        self, sql: str, variables: Mapping[str, object] | None
    ) -> Iterator[duckdb.DuckDBPyConnection]:
        """Yield a connection for a query, after checking the query and its parts; raises as `query`."""
        with self.read() as connection:
            try:
                check_query(connection, sql)
                for name, value in (variables or {}).items():
                    execute(connection, f"SET VARIABLE {name} = ?", [value])
                if self.store.has_all_parts:
                    check_parts_of(connection, self.store.version(), sql)
                yield connection
            except duckdb.Error as error:
                if is_damage(error):
                    raise  # `read` names the file
                if ".parquet" not in str(error):
                    raise WarehouseError(str(error)) from error
                raise WarehouseError(
                    f"a part under {self.store.root}/parts cannot be read: {error}. Run `culturemeter "
                    f"check`: it moves broken parts to quarantine/, and the next run makes them again."
                ) from error

    def _fold(self, connection: duckdb.DuckDBPyConnection) -> Position | None:
        """Fold the log of registrations into the file, and return the position reached.

        It is a transaction of its own, because the next one may undo some. None if the file has no table for
        registrations yet.
        """
        if connection.execute(_HAS_UNITS).fetchone() is None:
            return None
        connection.begin()
        position = fold(self.store.log, connection)
        connection.commit()
        return position

    def _rewrite(self, path: Path) -> None:
        """Rewrite a private copy to free its unused blocks, which DuckDB does not do itself."""
        source = path.with_name(f"{path.name}-old")  # after a kill the next writer deletes it by this name
        path.rename(source)
        names = {name: str(file).replace("'", "''") for name, file in (("old", source), ("new", path))}
        with duckdb.connect(":memory:", config={"threads": 1}) as connection:
            without_bar(connection)
            connection.execute("SET VARIABLE parts = ?", [needed.empty_files(self.store.folder)])
            connection.execute(_REWRITE.format(**names, block_size=_WRITER_CONFIG["default_block_size"]))
        source.unlink()

    def _is_up_to_date(self) -> bool:
        """Return whether the published file is; raises as `refuse_older` and `is_up_to_date`."""
        if self.store.version() is None:
            refuse_older(self.store.folder)
            return False
        with self.read() as connection:
            return is_up_to_date(connection)

    def _has_empty_parts(self) -> bool:
        if self.store.version() is None:
            return False
        with self.read() as connection:
            return has_empty_parts(connection, self.store.folder)

    def _signs(self) -> tuple[object, object]:
        """Return signs that change whenever the published file or one of its sources changes."""
        empty = [sign_of(empty_part(self.store.folder, kind)) for kind in KINDS.values()]
        return self.store.version(), (source_signs(), empty)


def _has_gaps(connection: duckdb.DuckDBPyConnection) -> bool:
    """Return whether deleted rows take a fifth of the open file, and more than `_LEAST_GAPS` bytes."""
    return connection.execute(_GAPS, [_LEAST_GAPS]).fetchone() == (True,)
