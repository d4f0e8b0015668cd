"""Reference data: the CSV files in reference/, each loaded into the table that it is named after.

The rows of a table are those of `<table>.csv` and of all files in the folder `<table>/` together, so that an
evaluation can bring rows of its own by adding a file. They replace the whole table when one of the files has
changed. The folder item_list/ has item lists instead, one per file and named after it: each is loaded when it
has changed itself, so that a list scraped later stays current until then.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import duckdb

from warehouse.home import WarehouseError
from warehouse.item_lists import known_countries, put_item_list
from warehouse.reference_csv import read_items, read_table
from warehouse.state import content_hash, read_state, write_state

__all__ = ["load_reference", "reference_folder", "reference_state"]

_FOLDER = Path(__file__).resolve().parent / "reference"
_LISTS = "item_list"
_BUILD = "build"  # not a table: how the files were made


def reference_folder() -> Path:
    """Where the files are."""
    return _FOLDER


def reference_state() -> dict[str, str]:
    """The rows of the table `state` that a database with the present reference files has."""
    return {name: content_hash(files) for name, files in _units().items()}


def load_reference(connection: duckdb.DuckDBPyConnection) -> None:
    """Load what has changed, inside the caller's transaction.

    Raises WarehouseError naming file, line and column of the first cell that is wrong, or the file that no
    table is there for.
    """
    wanted, stored, units = reference_state(), read_state(connection), _units()
    changed = [name for name in units if stored.get(name) != wanted[name]]
    for name in changed:
        files = units[name]
        if _is_list(files[0]):
            items = read_items(files[0], known_countries(connection))
            put_item_list(connection, files[0].stem, items, source=_path(files[0]))
        else:
            _load_table(connection, name.removeprefix("reference/"), files)
    write_state(connection, {name: wanted[name] for name in changed})


def _units() -> Mapping[str, Sequence[Path]]:
    """Name in the table `state` -> the files that are loaded together.

    Tables come before item lists, because items are checked against `country`.
    """
    tables: dict[str, list[Path]] = defaultdict(list)
    for file in sorted(_FOLDER.glob("*.csv")):
        tables[f"reference/{file.stem}"].append(file)
    for file in sorted(_FOLDER.glob("*/*.csv")):
        if file.parent.name not in (_LISTS, _BUILD):
            tables[f"reference/{file.parent.name}"].append(file)
    lists = {f"reference/{_path(file)}": [file] for file in sorted(_FOLDER.glob(f"{_LISTS}/*.csv"))}
    return tables | lists


def _is_list(file: Path) -> bool:
    return file.parent.name == _LISTS


def _path(file: Path) -> str:
    """As the table `source` names it."""
    return file.relative_to(_FOLDER).as_posix()


def _load_table(connection: duckdb.DuckDBPyConnection, table: str, files: Sequence[Path]) -> None:
    rows = read_table(connection, files, table)
    connection.execute(f'DELETE FROM "{table}"')
    for file, frame in rows.items():
        connection.register("incoming", frame)
        try:
            connection.execute(f'INSERT INTO "{table}" BY NAME FROM incoming')
        except duckdb.Error as error:
            raise WarehouseError(f"{file} does not fit the table {table}: {error}.") from error
        finally:
            connection.unregister("incoming")
