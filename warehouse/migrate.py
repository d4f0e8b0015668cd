"""Makes a database current: applies migrations once and in order, loads changed reference files, makes views.

The database is a private draft, which is published once, when all is done (`Warehouse.open`). So each
migration commits by itself: DuckDB refuses to alter a table that the same transaction has updated.

A view is made after those that it reads, so the order of files and views is free. A migration drops a view
that is no longer needed.
"""

import hashlib
import re
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from graphlib import TopologicalSorter
from itertools import zip_longest
from pathlib import Path

import duckdb

from warehouse.part_kinds import KINDS, kind_view, unit_rows_view
from warehouse.recipes import restore_metrics
from warehouse.reference import load_reference, reference_folder, reference_state
from warehouse.storage import HOME, WarehouseError, folder_signs, glob_escaped, now, transaction

_FOLDER = Path(__file__).resolve().parent
_SCHEMA, _VIEWS = _FOLDER / "schema", _FOLDER / "views"
_SHARED = _VIEWS / "columns.toml"
_PARTS = "{parts}"  # in a view's text: the folder of parts
_DOUBTS = "{doubts}"  # in a view's text: the rows of all views <evaluation>_doubt
_VIEW = re.compile(r"^(?:--.*\n)*CREATE OR REPLACE (?:VIEW|MACRO) \"?(\w+)", re.MULTILINE)
_READS = re.compile(r"(?:\b(?:FROM|JOIN)\s+\"?|\b(?=\w+\())(\w+)")
"""Names after FROM and JOIN, and of functions."""
_NO_CODE = re.compile(r"--.*|'(?:[^']|'')*'")
_BEFORE = "001_core.sql"
"""Name of the first migration before version 0.2.0, whose files became one."""
_TOO_OLD = (
    "{file} is older than version 0.2.0, which cannot open it. To keep its answers, run `export` with the "
    "code that made it (run.code_version); then set CULTUREMETER_HOME to a new folder."
)

_UNCOMMENTED = """
SELECT table_name, column_name FROM duckdb_columns() AS c JOIN duckdb_views() AS v ON v.view_oid = c.table_oid
WHERE v.database_name = current_database() AND c.comment IS NULL AND list_contains(?, column_name)
"""
_OWN_TABLES = "SELECT table_name FROM duckdb_tables() WHERE database_name = current_database()"
_OWN_VIEWS = "SELECT view_name FROM duckdb_views() WHERE database_name = current_database()"


def is_up_to_date(connection: duckdb.DuckDBPyConnection) -> bool:
    """Return whether schema, reference data and views are this code's; raises as `apply_migrations` does.

    A home that was moved counts as up to date: readers name the parts themselves (`list_parts`), and need not
    write. Its views name the new place from the next write on (`bind_views`).
    """
    if _pending(connection, _SCHEMA):
        return False
    return ({"views": _views_hash()} | reference_state()).items() <= _state(connection).items()


def source_signs() -> object:
    """Return a value that changes whenever a migration, a view or a reference file changes."""
    return folder_signs([_SCHEMA, _VIEWS, reference_folder()])


def bring_up_to_date(connection: duckdb.DuckDBPyConnection, root: str) -> None:
    """Make a private database current, outside any transaction. root: folder or address that has parts/.

    Raises WarehouseError naming the file with the fault.
    """
    apply_migrations(connection, _SCHEMA)
    with transaction(connection):
        stored, views = _state(connection), _views_hash()
        current = load_reference(connection, stored) | {"views": views}
        restore_metrics(connection)
        if views != stored.get("views"):
            _create_views(connection, f"{root}/parts", _views())
            current["home"] = root
        _note(connection, {name: value for name, value in current.items() if stored.get(name) != value})
    bind_views(connection, root)


def bind_views(connection: duckdb.DuckDBPyConnection, root: str) -> None:
    """Make the views name the parts of this home, for other programs, if the file comes from elsewhere."""
    stored = _state(connection)
    if stored.get("home") != root and stored.get("views") == _views_hash():
        with transaction(connection):
            _create_views(connection, f"{root}/parts", [view for view in _views() if _PARTS in view[1]])
            _note(connection, {"home": root})


def _note(connection: duckdb.DuckDBPyConnection, state: Mapping[str, str]) -> None:
    for name, value in state.items():
        connection.execute("INSERT OR REPLACE INTO state VALUES (?, ?)", [name, value])


def apply_migrations(connection: duckdb.DuckDBPyConnection, folder: Path) -> None:
    """Apply the files of `folder` (NNN_name.sql) that the table `migration` does not have, in order.

    Each is a transaction of its own. Raises WarehouseError if the database is older than the first file, if
    an applied file has changed or is gone, or if one fails.
    """
    for file in _pending(connection, folder):
        try:
            with transaction(connection):
                connection.execute(file.read_text(encoding="utf-8"))
                row = [_version(file), file.name, _sha256(file), now()]
                connection.execute("INSERT INTO migration VALUES (?, ?, ?, ?)", row)
        except duckdb.Error as error:
            raise WarehouseError(
                f"migration {file} failed: {error}. The warehouse is as before; correct the file."
            ) from error


def refuse_older(folder: Path) -> None:
    """Raise WarehouseError if a database in `folder` was made before version 0.2.0, whatever its name."""
    for file in sorted(folder.glob("*.duckdb")):
        with suppress(duckdb.Error), duckdb.connect(str(file), read_only=True) as connection:
            if _is_too_old(_applied(connection)):
                raise WarehouseError(_TOO_OLD.format(file=file))


def refuse_other_schema(connection: duckdb.DuckDBPyConnection, place: str) -> None:
    """Raise WarehouseError, in one line, unless a database has exactly the tables of this code.

    place: name of the database, for the message. A view in place of a table is refused too: it could read
    any file when it is read.
    """
    try:
        pending = _pending(connection, _SCHEMA)
    except WarehouseError as error:
        raise WarehouseError(f"{place} has another schema: {error}") from error
    views = {name for (name,) in connection.execute(_OWN_VIEWS).fetchall()}
    tables = {name for (name,) in connection.execute(_OWN_TABLES).fetchall()}
    expected = _tables()
    if pending or not expected <= tables or views & expected:
        raise WarehouseError(
            f"{place} has an older schema than this version: open it once with this version "
            f"(`culturemeter check` with {HOME} set to it), then try again."
        )


@cache
def _tables() -> frozenset[str]:
    """Return the names of the tables that this code's schema makes."""
    with duckdb.connect() as fresh:
        apply_migrations(fresh, _SCHEMA)
        return frozenset(name for (name,) in fresh.execute(_OWN_TABLES).fetchall())


def _is_too_old(applied: Mapping[int, tuple[str, str]]) -> bool:
    return any(name == _BEFORE for name, _ in applied.values())


def _pending(connection: duckdb.DuckDBPyConnection, folder: Path) -> list[Path]:
    """Return the migration files still to apply, in order, after checking those already applied."""
    files = {_version(file): file for file in sorted(folder.glob("*.sql"))}
    applied = _applied(connection)
    if _is_too_old(applied):
        raise WarehouseError(_TOO_OLD.format(file="the warehouse"))
    for version, (name, sha256) in applied.items():
        if version not in files:
            raise WarehouseError(
                f"the database has migration {name}, which {folder} lacks: newer code wrote it. "
                f"Update the checkout, or set CULTUREMETER_HOME to another folder."
            )
        if _sha256(files[version]) != sha256:
            raise WarehouseError(
                f"{files[version]} was changed after it had been applied to the database. Restore it (git "
                f"checkout) and put the change into a new file, {max(files) + 1:03d}_<name>.sql."
            )
    return [file for version, file in files.items() if version not in applied]


def _applied(connection: duckdb.DuckDBPyConnection) -> dict[int, tuple[str, str]]:
    """Return version -> (name, sha256) of the migrations applied to the database; empty for a new one."""
    table = connection.execute(
        "SELECT 1 FROM duckdb_tables() WHERE table_name = 'migration' AND database_name = current_database()"
    ).fetchone()
    if table is None:
        return {}
    rows = connection.execute("SELECT version, name, sha256 FROM migration ORDER BY version").fetchall()
    return {version: (name, sha256) for version, name, sha256 in rows}


def _state(connection: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """Return the table `state`, name -> value, as of the last time the database was made current."""
    return dict(connection.execute("SELECT name, value FROM state").fetchall())


def _create_views(connection: duckdb.DuckDBPyConnection, parts: str, views: list[tuple[str, str]]) -> None:
    """Create or replace `views`. parts: absolute path or address of the parts that they read."""
    for source, sql in views:
        try:
            # A view's text takes no parameters.
            connection.execute(sql.replace(_PARTS, glob_escaped(parts).replace("'", "''")))
        except duckdb.Error as error:
            raise WarehouseError(f"view {source} cannot be created: {error}. Correct the file.") from error
    shared = tomllib.loads(_SHARED.read_text(encoding="utf-8"))
    for view, column in connection.execute(_UNCOMMENTED, [[*shared]]).fetchall():
        connection.execute(f"COMMENT ON COLUMN {view}.{column} IS '{shared[column]}'")


def _views_hash() -> str:
    texts = [*(sql for _, sql in _views()), _SHARED.read_text(encoding="utf-8")]
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def _views() -> list[tuple[str, str]]:
    """Return (name and source file, SQL) of every view, each after those that it reads.

    Each evaluation has a file; the others have the views that evaluations share.
    """
    views = {name: (f"{name} of kinds/", kind_view(kind)) for name, kind in KINDS.items()}
    views["unit_rows"] = ("unit_rows of kinds/", unit_rows_view(KINDS.values()))
    doubts = []
    for file in sorted(_VIEWS.glob("*.sql")):
        text = file.read_text(encoding="utf-8")
        found = list(_VIEW.finditer(text))
        for view, after in zip_longest(found, found[1:]):
            views[view[1]] = (f"{view[1]} of {file}", text[view.start() : after and after.start()])
        doubts += [f"FROM {file.stem}_doubt"] if f"{file.stem}_doubt" in views else []
    all_doubts = "\nUNION ALL\n".join(doubts)
    views = {name: (source, sql.replace(_DOUBTS, all_doubts)) for name, (source, sql) in views.items()}
    reads = {}
    for name, (_, sql) in views.items():
        words = set(_READS.findall(_NO_CODE.sub("", sql)))
        reads[name] = [other for other in views if other in words and other != name]
    return [views[name] for name in TopologicalSorter(reads).static_order()]


def _version(file: Path) -> int:
    number = file.name.split("_")[0]
    if not number.isdigit():
        raise WarehouseError(f"{file} is not a migration: give it a name such as 002_add_verdict.sql.")
    return int(number)


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
