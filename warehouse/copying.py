"""Copies a whole warehouse from one store to another: parts first, then the database file, all verified.

After a kill the same call resumes: it does not write a part again that the target has, and it publishes
nothing until every part is there and sound. It reads every part back and checks the hash in its name, and
checks every table by its number of rows and a hash of them.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import polars as pl

from warehouse import needed
from warehouse.connection import Warehouse
from warehouse.literals import list_parts
from warehouse.local_store import LocalStore
from warehouse.migrate import bring_up_to_date
from warehouse.part_kinds import KINDS, create_empty_parts, is_as_written
from warehouse.published import damage_named, reader
from warehouse.recovery import register_orphans
from warehouse.registrations import fold
from warehouse.storage import WarehouseError, private_folder
from warehouse.store import Store

_AT_ONCE = 8
"""Number of parts that are copied at the same time."""
_TABLES = """
SELECT table_name FROM duckdb_tables()
WHERE database_name = current_database() AND NOT internal AND table_name <> 'superseded_part'
ORDER BY table_name
"""
_ROWS = 'SELECT count(*), bit_xor(hash(t))::VARCHAR FROM "{table}" AS t {where}'
_PLACES = "WHERE name NOT IN ('home', 'registrations')"
"""Condition that leaves out the rows of `state` that describe the store itself: they differ."""
_PARTS = "SELECT DISTINCT kind, part FROM part_unit_base ORDER BY kind, part"
_FORGET = ("DELETE FROM superseded_part", "DELETE FROM state WHERE name = 'registrations'")

Report = Callable[[int, int], None]
"""Callback for progress, called with the number of copied parts and their total."""


def copy(source: Warehouse, target: Store, report: Report = lambda n, total: None) -> pl.DataFrame:
    """Make `target` a copy of `source` as it is now, and return what was verified.

    target: a store where nothing is published, or only the rows of a new warehouse. A complete copy is
    verified again.

    Returns:
        what (a table, or a kind of parts), n (rows or parts), n_target; the two numbers are equal.

    Raises:
        WarehouseError: `target` has another warehouse or lies within `source`; a part of `source` is damaged;
            `target` did not receive what was sent.
    """
    _refuse_overlap(source.store, target)
    with damage_named(source.store.place):
        if isinstance(source.store, LocalStore) and os.access(source.store.root, os.W_OK):
            for kind in KINDS:  # a damaged log is set aside, and its registrations are those of the parts
                register_orphans(source, kind)
        return _copied(source, target, report)


def _copied(source: Warehouse, target: Store, report: Report) -> pl.DataFrame:
    """Return what ``copy`` returns; raises DuckDB's errors for damaged blocks."""
    with _snapshot(source.store, target) as file:
        parts = _parts(file)
        is_done = _is_copy(file, target)
        if not is_done:
            _refuse_others(target)
        _copy_parts(source.store, target, parts, report)
        if not is_done:
            _copy_jobs(source.store, target)
            with target.draft() as draft:
                _refuse_others(target)  # somebody may have begun a warehouse there meanwhile
                shutil.copyfile(file, draft.path)
                draft.publish(None)
        return _verified(file, target, parts)


@contextmanager
def _snapshot(source: Store, target: Store) -> Iterator[Path]:
    """Yield a copy of the source's file with all registrations and with the views of the target."""
    private_folder(target.folder)
    create_empty_parts(target.folder)
    with TemporaryDirectory(prefix="culturemeter-copy-") as folder:
        file = Path(folder) / "copy.duckdb"
        with source.draft() as draft:
            if not draft.path.exists():
                raise WarehouseError(f"there is no warehouse at {source.place}.")
            shutil.copyfile(draft.path, file)
            with duckdb.connect(str(file)) as connection:
                fold(source.log, connection)
        with duckdb.connect(str(file)) as connection:
            for statement in _FORGET:
                connection.execute(statement)
            _make_current(connection, target)
            connection.execute("CHECKPOINT")
        yield file


def _make_current(connection: duckdb.DuckDBPyConnection, target: Store) -> None:
    list_parts(connection, needed.empty_files(target.folder))
    bring_up_to_date(connection, target.root)


def _parts(file: Path) -> list[tuple[str, str]]:
    """Return (kind, part) of every registered part."""
    with duckdb.connect(str(file), read_only=True) as connection:
        return connection.execute(_PARTS).fetchall()


def _copy_parts(source: Store, target: Store, parts: list[tuple[str, str]], report: Report) -> None:
    """Write the parts that the target lacks, then read every part back."""
    present = {kind: target.part_sizes(kind).keys() for kind in {kind for kind, _ in parts}}

    def copy_part(kind: str, part: str) -> None:
        if part not in present[kind]:
            try:
                content = source.part(kind, part, anew=True)
            except FileNotFoundError:
                content = b""
            if not is_as_written(part, content):
                raise WarehouseError(
                    f"part {kind}/{part} of {source.place} is damaged or missing. Run `culturemeter check` "
                    f"there, then the run that the part belongs to, then copy again."
                )
            target.put_part(kind, part, memoryview(content), remember=False)
        if not is_as_written(part, target.part(kind, part, anew=True)):
            target.set_part_aside(kind, part)
            raise WarehouseError(f"part {kind}/{part} arrived at {target.place} damaged: copy again.")

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        calls = [pool.submit(copy_part, kind, part) for kind, part in parts]
        try:
            for n, call in enumerate(calls, 1):
                call.result()
                report(n, len(parts))
        finally:
            pool.shutdown(cancel_futures=True)


def _copy_jobs(source: Store, target: Store) -> None:
    """Copy the notes of jobs at servers, so that both stores await their answers."""
    for request_hash in source.job_requests():
        with target.jobs(request_hash).locked() as jobs:
            for name, (text, _) in source.jobs(request_hash).notes().items():
                jobs.write(name, text)


def _is_copy(file: Path, target: Store) -> bool:
    """Return whether the target's tables equal those of `file`."""
    if target.version() is None:
        return False
    with duckdb.connect(str(file), read_only=True) as copied, reader(target) as connection:
        return _tables(copied) == _tables(connection)


def _refuse_overlap(source: Store, target: Store) -> None:
    """Raise WarehouseError if the target contains the source, lies within it, or is a file."""
    if not (isinstance(source, LocalStore) and isinstance(target, LocalStore)):
        return
    source_home, target_home = source.home.resolve(), target.home.resolve()
    if source_home in (target_home, *target_home.parents) or target_home in source_home.parents:
        raise WarehouseError(
            f"{target_home} and {source_home} are the same folder or lie within each other: name another "
            f"place for the copy."
        )
    if target_home.exists() and not target_home.is_dir():
        raise WarehouseError(f"{target_home} is a file: name a folder that is empty or not there yet.")


def _refuse_others(target: Store) -> None:
    """Raise WarehouseError if the target has more rows than a new warehouse."""
    if target.version() is None:
        return
    with duckdb.connect() as fresh, reader(target) as connection:
        _make_current(fresh, target)
        fresh_tables, tables = _tables(fresh), _tables(connection)
    added = {name: n for name, (n, _) in tables.items() if n != fresh_tables[name][0]}
    if added:
        rows = ", ".join(f"{n} rows of {name}" for name, n in list(added.items())[:3])
        raise WarehouseError(
            f"there is a warehouse at {target.place} already ({rows}), which a copy would replace: name an "
            f"empty place."
        )


def _tables(connection: duckdb.DuckDBPyConnection) -> dict[str, tuple[int, str]]:
    """Return table -> its number of rows and a hash of them."""
    names = [name for (name,) in connection.execute(_TABLES).fetchall()]
    rows = {}
    for name in names:
        row = connection.execute(
            _ROWS.format(table=name, where=_PLACES if name == "state" else "")
        ).fetchone()
        rows[name] = row or (0, "")
    return rows


def _verified(file: Path, target: Store, parts: list[tuple[str, str]]) -> pl.DataFrame:
    with duckdb.connect(str(file), read_only=True) as connection:
        source_tables = _tables(connection)
    with reader(target) as connection:
        target_tables = _tables(connection)
    if differing := [name for name in source_tables if source_tables[name] != target_tables.get(name)]:
        raise WarehouseError(
            f"the table {differing[0]} at {target.place} differs from the source's: copy again."
        )
    rows = [(name, n, target_tables[name][0]) for name, (n, _) in source_tables.items() if n]
    for kind in sorted({kind for kind, _ in parts}):
        names = {part for of_kind, part in parts if of_kind == kind}
        rows.append((f"parts of {kind}", len(names), len(names & target.part_sizes(kind).keys())))
    verified = pl.DataFrame(rows, ["what", "n", "n_target"], orient="row")
    for name, n, n_target in verified.rows():
        if n != n_target:
            raise WarehouseError(f"{name} at {target.place}: {n_target} instead of {n}; copy again.")
    return verified
