"""A whole warehouse from one store to another: parts first, then the database file, all of it verified.

Killed anywhere, the same call goes on: parts that are there already are not written again, and until all are
there and sound nothing is published. Every part is read back and held against the hash in its name, every
table against its count and a hash of its rows.
"""

from __future__ import annotations

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
from warehouse.part_kinds import create_empty_parts, has_hash, is_as_written
from warehouse.published import reader
from warehouse.registrations import fold
from warehouse.storage import WarehouseError, private_folder
from warehouse.store import Store

_AT_ONCE = 8
"""Parts under way at the same time."""
_TABLES = """
SELECT table_name FROM duckdb_tables()
WHERE database_name = current_database() AND NOT internal AND table_name <> 'superseded_part'
ORDER BY table_name
"""
_ROWS = 'SELECT count(*), bit_xor(hash(t))::VARCHAR FROM "{table}" AS t {where}'
_PLACES = "WHERE name NOT IN ('home', 'registrations')"
"""Condition that leaves out the rows of `state` on the store itself, which differ."""
_PARTS = "SELECT DISTINCT kind, part FROM part_unit_base ORDER BY kind, part"
_FORGET = ("DELETE FROM superseded_part", "DELETE FROM state WHERE name = 'registrations'")

Report = Callable[[int, int], None]
"""Told how many parts are copied, of how many."""


def copy(source: Warehouse, target: Store, report: Report = lambda n, total: None) -> pl.DataFrame:
    """Make `target` a copy of `source`, as it is now, and return what was verified.

    target: a store where nothing is published, or nothing but what every new warehouse has; one that is a
    whole copy already is verified again.

    Returns:
        what (a table, or a kind of parts), n (rows or parts), n_target; they are equal.

    Raises:
        WarehouseError: there is another warehouse at `target`, or it lies within `source`; a part of `source`
            is damaged, or has no hash in its name yet; what came to `target` is not what was sent.
    """
    _refuse_overlap(source.store, target)
    with _snapshot(source.store, target) as file:
        parts = _parts(file)
        is_done = _is_copy(file, target)
        if not is_done:
            _refuse_others(target)
        _copy_parts(source.store, target, parts, report)
        if not is_done:
            _copy_jobs(source.store, target)
            with target.draft() as draft:
                _refuse_others(target)  # somebody may have begun one meanwhile
                shutil.copyfile(file, draft.path)
                draft.publish(None)
        return _verified(file, target, parts)


@contextmanager
def _snapshot(source: Store, target: Store) -> Iterator[Path]:
    """A copy of the source's file, with what was registered since and the views of the target."""
    private_folder(target.folder)
    create_empty_parts(target.folder)
    with TemporaryDirectory(prefix="culturescope-copy-") as folder:
        file = Path(folder) / "copy.duckdb"
        with source.draft() as draft:
            if not draft.path.exists():
                raise WarehouseError(f"there is no warehouse at {source.place}.")
            shutil.copyfile(draft.path, file)
            with duckdb.connect(str(file)) as connection:
                fold(source.log, connection)
        with duckdb.connect(str(file)) as connection:
            connection.begin()
            for statement in _FORGET:
                connection.execute(statement)
            _make_current(connection, target)
            connection.commit()
            connection.execute("CHECKPOINT")
        yield file


def _make_current(connection: duckdb.DuckDBPyConnection, target: Store) -> None:
    list_parts(connection, needed.empty_ones(target.folder))
    bring_up_to_date(connection, target.root)


def _parts(file: Path) -> list[tuple[str, str]]:
    """(kind, part) of all that is registered."""
    with duckdb.connect(str(file), read_only=True) as connection:
        parts = connection.execute(_PARTS).fetchall()
    if unhashed := [part for _, part in parts if not has_hash(part)]:
        raise WarehouseError(
            f"{len(unhashed)} parts have no hash in their names yet, such as {unhashed[0]}: run "
            f"`culturescope check` on the warehouse that is copied, which writes them anew."
        )
    return parts


def _copy_parts(source: Store, target: Store, parts: list[tuple[str, str]], report: Report) -> None:
    """Write those that are missing; read all back."""
    there = {kind: target.part_sizes(kind).keys() for kind in {kind for kind, _ in parts}}

    def one(kind: str, part: str) -> None:
        if part not in there[kind]:
            try:
                content = source.part(kind, part, anew=True)
            except FileNotFoundError:
                content = b""
            if not is_as_written(part, content):
                raise WarehouseError(
                    f"part {kind}/{part} of {source.place} is damaged or gone. Run `culturescope check` "
                    f"there, and the run that answers it anew; then copy again."
                )
            target.put_part(kind, part, memoryview(content), remember=False)
        if not is_as_written(part, target.part(kind, part, anew=True)):
            target.set_part_aside(kind, part)
            raise WarehouseError(f"part {kind}/{part} did not come to {target.place} whole: copy again.")

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        calls = [pool.submit(one, *each) for each in parts]
        try:
            for n, call in enumerate(calls, 1):
                call.result()
                report(n, len(parts))
        finally:
            pool.shutdown(cancel_futures=True)


def _copy_jobs(source: Store, target: Store) -> None:
    """Copy the notes of jobs at servers, so that either store awaits them."""
    for request_hash in source.job_requests():
        with target.jobs(request_hash).locked() as jobs:
            for name, (text, _) in source.jobs(request_hash).notes().items():
                jobs.write(name, text)


def _is_copy(file: Path, target: Store) -> bool:
    """Whether the target's tables are those of `file` already."""
    if target.version() is None:
        return False
    with duckdb.connect(str(file), read_only=True) as ours, reader(target) as theirs:
        return _tables(ours) == _tables(theirs)


def _refuse_overlap(source: Store, target: Store) -> None:
    """Raise WarehouseError for a folder within the source's, or around it, and for one that is a file."""
    if not (isinstance(source, LocalStore) and isinstance(target, LocalStore)):
        return
    ours, theirs = source.home.resolve(), target.home.resolve()
    if ours in (theirs, *theirs.parents) or theirs in ours.parents:
        raise WarehouseError(
            f"{theirs} and {ours} are the same folder or lie within each other: name another place for the "
            f"copy."
        )
    if theirs.exists() and not theirs.is_dir():
        raise WarehouseError(f"{theirs} is a file: name a folder that is empty or not there yet.")


def _refuse_others(target: Store) -> None:
    """Raise WarehouseError if there are rows in the target that not every new warehouse has."""
    if target.version() is None:
        return
    with duckdb.connect() as new, reader(target) as connection:
        _make_current(new, target)
        new_tables, there = _tables(new), _tables(connection)
    own = {name: n for name, (n, _) in there.items() if n != new_tables[name][0]}
    if own:
        rows = ", ".join(f"{n} rows of {name}" for name, n in list(own.items())[:3])
        raise WarehouseError(
            f"there is a warehouse at {target.place} already ({rows}), and a copy would replace it: name an "
            f"empty place."
        )


def _tables(connection: duckdb.DuckDBPyConnection) -> dict[str, tuple[int, str]]:
    """Table -> how many rows it has, and a hash of them."""
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
        ours = _tables(connection)
    with reader(target) as connection:
        theirs = _tables(connection)
    if wrong := [name for name in ours if ours[name] != theirs.get(name)]:
        raise WarehouseError(f"the table {wrong[0]} at {target.place} differs from what was sent.")
    rows = [(name, n, theirs[name][0]) for name, (n, _) in ours.items() if n]
    for kind in sorted({kind for kind, _ in parts}):
        names = {part for of_kind, part in parts if of_kind == kind}
        rows.append((f"parts of {kind}", len(names), len(names & target.part_sizes(kind).keys())))
    verified = pl.DataFrame(rows, ["what", "n", "n_target"], orient="row")
    if lost := verified.filter(pl.col("n") != pl.col("n_target")).rows():
        raise WarehouseError(
            f"{lost[0][0]} at {target.place}: {lost[0][2]} instead of {lost[0][1]}; copy again."
        )
    return verified
