"""Makes a database current: applies migrations once and in order, loads changed reference files, makes views.

The database is a private draft, which is published once, when all is done (`Warehouse.open`). So each
migration commits by itself: DuckDB refuses to alter a table that the same transaction has updated.
A migration drops a view that is no longer needed.
"""

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path

import duckdb

from warehouse import view_files
from warehouse.recipes import restore_metrics
from warehouse.reference import load_reference, reference_folder, reference_state
from warehouse.storage import HOME, WarehouseError, folder_signs, now, transaction
from warehouse.view_files import create_views, views_hash

_SCHEMA = Path(__file__).resolve().parent / "schema"
_BEFORE = "001_core.sql"
"""Name of the first migration before version 0.2.0, whose files became one."""
_TOO_OLD = (
    "{file} is older than version 0.2.0, which cannot open it. To keep its answers, run `export` with the "
    "code that made it (run.code_version); then set CULTUREMETER_HOME to a new folder."
)

_OWN_TABLES = "SELECT table_name FROM duckdb_tables() WHERE database_name = current_database()"
_OWN_VIEWS = "SELECT view_name FROM duckdb_views() WHERE database_name = current_database()"


def is_up_to_date(connection: duckdb.DuckDBPyConnection) -> bool:
    """Return whether schema, reference data and views are this code's; raises as `apply_migrations` does.

    A home that was moved counts as up to date: readers name the parts themselves (`list_parts`), and need not
    write. Its views name the new place from the next write on (`bind_views`).
    """
    if _pending(connection, _SCHEMA):
        return False
    return ({"views": views_hash()} | reference_state()).items() <= _state(connection).items()


def source_signs() -> object:
    """Return a value that changes whenever a migration, a view or a reference file changes."""
    return folder_signs([_SCHEMA, view_files.FOLDER, reference_folder()])


def bring_up_to_date(connection: duckdb.DuckDBPyConnection, root: str) -> None:
    """Make a private database current, outside any transaction. root: folder or address that has parts/.

    Raises WarehouseError naming the file with the fault.
    """
    apply_migrations(connection, _SCHEMA)
    with transaction(connection):
        stored, views = _state(connection), views_hash()
        current = load_reference(connection, stored) | {"views": views}
        restore_metrics(connection)
        if views != stored.get("views"):
            create_views(connection, root)
            current["home"] = root
        _note(connection, {name: value for name, value in current.items() if stored.get(name) != value})
    bind_views(connection, root)


def bind_views(connection: duckdb.DuckDBPyConnection, root: str) -> None:
    """Make the views name the parts of this home, for other programs, if the file comes from elsewhere."""
    stored = _state(connection)
    if stored.get("home") != root and stored.get("views") == views_hash():
        with transaction(connection):
            create_views(connection, root, of_parts=True)
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


def _version(file: Path) -> int:
    number = file.name.split("_")[0]
    if not number.isdigit():
        raise WarehouseError(f"{file} is not a migration: give it a name such as 002_add_verdict.sql.")
    return int(number)


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
