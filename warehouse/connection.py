"""The warehouse file: readers never wait, writers replace it whole.

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
from warehouse.literals import execute, list_parts
from warehouse.migrate import bring_up_to_date, is_up_to_date, source_signs
from warehouse.part_kinds import KINDS, create_empty_parts, empty_part, has_empty_parts
from warehouse.published import damaged, is_damage, reader, signals_as_raised
from warehouse.querying import Rows, check_query, to_frame, to_rows
from warehouse.registrations import Position, fold
from warehouse.storage import HOME, WarehouseError, private_folder, sign_of, usual_home, without_bar
from warehouse.store import Store, store_at
from warehouse.verified import check_parts_of

_FOLD_AT = 50_000
"""Most registrations that wait: a reader that has just started reads them in a tenth of a second."""

_HAS_UNITS = """
SELECT 1 FROM duckdb_tables() WHERE table_name = 'part_unit_base' AND database_name = current_database()
"""

# Small blocks: most tables have few rows, and every write copies the file. Older files keep larger ones.
_WRITER_CONFIG: Mapping[str, int] = {"threads": 1, "default_block_size": 16384}

_GAPS = "SELECT 4 * free_blocks > used_blocks AND free_blocks * block_size > ? FROM pragma_database_size()"
_LEAST_GAPS = 12 << 20
"""Bytes that a file holds for nothing before it is written anew."""
_REWRITE = """
ATTACH '{old}' AS old (READ_ONLY);
ATTACH '{new}' AS new (BLOCK_SIZE {block_size});
COPY FROM DATABASE old TO new;
CHECKPOINT new;
"""

_current: dict[Path, tuple[object, object]] = {}
"""Folder -> version of the published file, and signs of what it was seen to be current with."""


class Warehouse:
    """A handle on one store. It holds no connection: share it among threads, send it to processes."""

    def __init__(self, where: Path | Store | None = None) -> None:
        """Use `Warehouse.open`, which also makes the file current."""
        self.store = store_at(where)

    @property
    def home(self) -> Path:
        """This machine's folder: models, engines, reports, what was set aside."""
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
        """The warehouse at `where` (`warehouse.store_at`), its schema, data and views made current.

        Writes only if something differs from what the file has: the migrations, a reference CSV file, a view
        or the place of the parts. Looks into the file only if a file has changed since this process last
        did, so that it may be called again and again. Raises WarehouseError if it cannot be made current.
        """
        warehouse = cls(where)
        store, folder = warehouse.store, warehouse.store.folder
        if "?" in str(folder):
            raise WarehouseError(
                f"{folder} has a question mark, which DuckDB takes for the start of options. Set "
                f"CULTURESCOPE_HOME to a folder without one."
            )
        if _current.get(folder) != warehouse._signs():
            private_folder(folder)
            if not warehouse._has_empty_parts():
                create_empty_parts(folder)
            signs = warehouse._signs()  # before looking: what changes meanwhile is looked at the next time
            if warehouse._is_up_to_date():
                _current[folder] = signs
            else:
                with warehouse.write(current_with=signs[1]) as connection:
                    # A view is bound to some file when it is made: to one that is as declared, whatever
                    # state the parts are in.
                    list_parts(connection, needed.empty_ones(folder))
                    bring_up_to_date(connection, store.root)
        return warehouse

    @classmethod
    def current(cls) -> Warehouse:
        """Return the environment's warehouse as this process has made it current, with `open` where it has
        not: a run opens it once and looks at it thousands of times.
        """
        warehouse = cls()
        return warehouse if warehouse.store.folder in _current else cls.open()

    @classmethod
    def existing(cls, where: Path | Store | None = None) -> Warehouse:
        """Return the warehouse at `where`, as `open` does, if there is one: for who reads, and makes none.

        Raises WarehouseError if nothing is published there; no folder is made.
        """
        store = store_at(usual_home() if where is None else where)
        if store.version() is None:
            raise WarehouseError(
                f"there is no warehouse at {store.place}: set {HOME} to the folder of yours, or make one "
                "here with `culturescope ingest` or any run, such as `run spectral --profile smoke`"
            )
        return cls.open(where)

    @contextmanager
    def read(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A read-only connection to the newest published version, which it keeps until the block ends.

        On a shared store it reads tables, and the views that need no parts; `query` fetches parts as well.
        Waits up to 30 s for an outside program that has the file open for writing, then raises
        WarehouseError.
        """
        with signals_as_raised(), reader(self.store) as connection:
            yield connection

    @contextmanager
    def write(self, *, current_with: object = None) -> Iterator[duckdb.DuckDBPyConnection]:
        """A connection inside one transaction, published as a whole when the block ends without an error.

        Writers take turns across threads, processes and machines (10 minutes' patience). On any error, kill
        -9 or power cut the published file is as before. Keep model work out of the block: others wait.
        current_with: signs of the sources that the block makes the file current with.
        Raises WarehouseError for a write inside a write, a lock that stays held or was lost, an outside
        writer or a full disk.
        """
        with signals_as_raised(), self.store.draft() as draft:
            try:
                seen = _current.get(self.store.folder)
                if current_with is None and seen is not None and seen[0] == self.store.version():
                    current_with = seen[1]
                # One thread: writes are small, and starting DuckDB's pool costs more than it saves.
                connection = duckdb.connect(str(draft.path), config={**_WRITER_CONFIG})
                try:
                    without_bar(connection)
                    position = self._fold(connection)
                    connection.begin()
                    yield connection
                    interruption.check()
                    connection.commit()
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
            except duckdb.Error as error:
                if is_damage(error):
                    raise damaged(self.store.place, error) from error
                raise

    def locked(self, name: str) -> AbstractContextManager[None]:
        """Hold a lock of this name, which one process of all that use the warehouse has at a time.

        It goes when its holder is killed. Where it can be lost otherwise (a connection to a database that
        ends), a write within the block fails, and nothing of it is published.
        """
        return self.store.locked(name)

    def register(self, units: pl.DataFrame) -> None:
        """Register a part as the answer to its units, at a cost that does not grow with the warehouse.

        units: what `write_part` returned. A unit that another part already answers keeps it. Once this has
        returned, neither kill -9 nor a power cut undoes it. Raises WarehouseError for a full disk.
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
        """The result of a read-only `sql`, its values bound from `params` (`?` or `$name`).

        variables: what views ask for by `getvariable`. It is one SELECT in any of its forms, and calls table
        functions of a list only (`warehouse.querying`); columns of types that polars does not hold (INTERVAL,
        UNION …) are text. Raises WarehouseError with DuckDB's own words, and what to do if a part cannot be
        read.
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
    ) -> Rows:
        """Return the result of `query` as values of Python; of plain types it needs no polars."""
        if not self.store.has_all_parts:
            return Rows.of_frame(self.query(sql, params, variables))
        with self._reading(sql, variables) as connection:
            return to_rows(connection, sql, params)

    @contextmanager
    def _reading(
        self, sql: str, variables: Mapping[str, object] | None
    ) -> Iterator[duckdb.DuckDBPyConnection]:
        """A connection for a query that is allowed, and whose parts are as written; raises as `query`."""
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
                    raise damaged(self.store.place, error) from error
                if ".parquet" not in str(error):
                    raise WarehouseError(str(error)) from error
                raise WarehouseError(
                    f"a part under {self.store.root}/parts cannot be read: {error}. Run `culturescope "
                    f"check`: it moves broken parts to quarantine/, and the next run does their work again."
                ) from error

    def _fold(self, connection: duckdb.DuckDBPyConnection) -> Position | None:
        """Take in the registrations that wait, in a transaction of its own: what comes next may undo some.

        None if the file has no table for them yet.
        """
        if connection.execute(_HAS_UNITS).fetchone() is None:
            return None
        connection.begin()
        position = fold(self.store.log, connection)
        connection.commit()
        return position

    def _rewrite(self, path: Path) -> None:
        """Write a private copy anew: DuckDB does not give room back that it uses no more."""
        old = path.with_name(f"{path.name}-old")  # by its name, whoever writes next deletes it after a kill
        path.rename(old)
        names = {name: str(file).replace("'", "''") for name, file in (("old", old), ("new", path))}
        with duckdb.connect(":memory:", config={"threads": 1}) as connection:
            without_bar(connection)
            connection.execute("SET VARIABLE parts = ?", [needed.empty_ones(self.store.folder)])
            connection.execute(_REWRITE.format(**names, block_size=_WRITER_CONFIG["default_block_size"]))
        old.unlink()

    def _is_up_to_date(self) -> bool:
        if self.store.version() is None:
            return False
        with self.read() as connection:
            return is_up_to_date(connection, self.store.root)

    def _has_empty_parts(self) -> bool:
        if self.store.version() is None:
            return False
        with self.read() as connection:
            return has_empty_parts(connection, self.store.folder)

    def _signs(self) -> tuple[object, object]:
        """Change whenever the published file does, or something that it should be current with."""
        empty = [sign_of(empty_part(self.store.folder, kind)) for kind in KINDS.values()]
        return self.store.version(), (source_signs(), empty)


def _has_gaps(connection: duckdb.DuckDBPyConnection) -> bool:
    """Whether a fifth of the file that the connection is on is room of rows that were deleted."""
    return connection.execute(_GAPS, [_LEAST_GAPS]).fetchone() == (True,)
