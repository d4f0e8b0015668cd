"""The warehouse file: readers never wait, writers replace it whole.

DuckDB admits one writing process and then no readers, so the published file is never opened for writing. A
writer changes a private copy and renames it over the published one; a reader keeps the version that it
opened.
"""

import shutil
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from uuid import uuid4

import duckdb
import polars as pl
from filelock import FileLock, Timeout

from warehouse.home import WarehouseError
from warehouse.home import home as default_home
from warehouse.kind_views import create_empty_parts, empty_parts
from warehouse.migrate import bring_up_to_date, is_up_to_date, source_signs
from warehouse.part_kinds import KINDS
from warehouse.published import HeldOutside, lock_shared, reader
from warehouse.state import FileSign, sign_of
from warehouse.storage import disk_full_error, is_disk_full, publish

__all__ = ["Warehouse"]

_FILE = "culturescope.duckdb"
_OUTSIDE_WRITER_PATIENCE_S = 30.0
_WRITE_LOCK_PATIENCE_S = 600.0
_FIRST_RETRY_S, _LONGEST_RETRY_S = 0.02, 1.0

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
            create_empty_parts(folder, KINDS.values())
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
            raise WarehouseError(f"there is no warehouse at {self.path}: create it with Warehouse.open().")
        with ExitStack() as stack:
            yield self._enter_reader(stack)

    @contextmanager
    def write(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A connection inside one transaction, published as a whole when the block ends without an error.

        Writers take turns across threads and processes (10 minutes' patience). On any error, kill -9 or power
        cut the published file is as before. Keep model work out of the block: others wait. Raises
        WarehouseError for a write inside a write, a lock that stays held, an outside writer or a full disk.
        """
        with self._turn_to_write():
            self._remove_leftovers()
            temporary = self.home / f"{_FILE}.writing-{uuid4().hex}"
            try:
                self._copy_published(temporary)
                seen = _current.get(self.home)
                was_current = seen is not None and seen[0] == sign_of(self.path)
                # One thread: writes are small, and starting DuckDB's pool costs more than it saves.
                connection = duckdb.connect(str(temporary), config={**_WRITER_CONFIG})
                try:
                    connection.begin()
                    yield connection
                    connection.commit()
                    connection.execute("CHECKPOINT")
                finally:
                    connection.close()
                publish(temporary, self.path)
                if seen is not None and was_current:
                    _current[self.home] = sign_of(self.path), seen[1]
            except BaseException as error:
                self._remove_leftovers()
                if is_disk_full(error):
                    # The copy, and at most as much again for its log until the checkpoint.
                    raise disk_full_error(self.path, 2 * self._size()) from error
                raise

    def query(self, sql: str, params: Sequence[object] | Mapping[str, object] | None = None) -> pl.DataFrame:
        """The result of a read-only `sql`, its values bound from `params` (`?` or `$name`).

        Raises WarehouseError with DuckDB's own words, and with what to do if a Parquet part cannot be read.
        """
        with self.read() as connection:
            try:
                return connection.execute(sql, params).pl()
            except duckdb.Error as error:
                if ".parquet" not in str(error):
                    raise WarehouseError(str(error)) from error
                raise WarehouseError(
                    f"a part under {self.home / 'parts'} cannot be read: {error}. Run `culturescope check`: "
                    f"it moves broken parts to quarantine/, and the next run does their work again."
                ) from error

    def _is_up_to_date(self) -> bool:
        if not self.path.exists():
            return False
        with self.read() as connection:
            return is_up_to_date(connection, self.home)

    def _signs(self) -> tuple[FileSign | None, object]:
        """Change whenever the published file does, or something that it should be current with."""
        return sign_of(self.path), (source_signs(), *map(sign_of, empty_parts(self.home, KINDS.values())))

    def _enter_reader(self, stack: ExitStack) -> duckdb.DuckDBPyConnection:
        for _ in self._while_held_outside():
            try:
                return stack.enter_context(reader(self.path))
            except HeldOutside:
                continue
            except duckdb.Error as error:
                raise WarehouseError(
                    f"{self.path} cannot be opened: {error}. If it is damaged, move it away: "
                    f"Warehouse.open() makes a new one and register_orphans() registers the parts again."
                ) from error
        raise self._held_outside()

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
        for _ in self._while_held_outside():
            with self.path.open("rb") as source:
                if not lock_shared(source):
                    continue
                log = self.path.with_name(f"{_FILE}.wal")
                if log.exists():
                    raise WarehouseError(
                        f"{log} exists: an outside program wrote to {self.path} and did not finish. Keep its "
                        f"changes with `duckdb {self.path} -c CHECKPOINT`, or drop them by deleting "
                        f"{log.name}."
                    )
                with target.open("xb") as copy:
                    shutil.copyfileobj(source, copy, 1 << 20)
                return
        raise self._held_outside()

    def _while_held_outside(self) -> Iterator[None]:
        """Yield once per attempt, pausing longer each time, until patience with the outside program ends."""
        deadline = time.monotonic() + _OUTSIDE_WRITER_PATIENCE_S
        pause = _FIRST_RETRY_S
        yield
        while time.monotonic() < deadline:
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_RETRY_S)
            yield

    def _held_outside(self) -> WarehouseError:
        return WarehouseError(
            f"another program has had {self.path} open for writing for {_OUTSIDE_WRITER_PATIENCE_S:.0f} s. "
            f"Close it there, and open it read-only instead: `duckdb -readonly {self.path}`."
        )

    def _size(self) -> int:
        return self.path.stat().st_size if self.path.exists() else 0
