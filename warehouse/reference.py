"""Reference data: the CSV files in reference/, each loaded into the table that it is named after.

The rows of a table are those of `<table>.csv` and of all files in the folder `<table>/` together, so that an
evaluation can bring rows of its own by adding a file. They replace the whole table when one of the files has
changed. The folder item_list/ has item lists instead, one per file and named after it: each is loaded when it
has changed itself, so that a list scraped later stays current until then. Every version of a list stays,
under the hash of its items; one is current.

Whatever is wrong with a file is a WarehouseError that names file, line and column.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import duckdb
import polars as pl

from warehouse.storage import WarehouseError, columns_of, content_hash, execute_with, now

_FOLDER = Path(__file__).resolve().parent / "reference"
_LISTS = "item_list"
_BUILD = "build"  # not a table: how the files were made

_ITEM_COLUMNS = ["item", "aliases", "countries"]
_OPTIONAL_ITEM_COLUMNS = ("ingredients", "code")

_TABLE_COLUMNS = """
SELECT column_name, data_type, is_nullable
FROM duckdb_columns()
WHERE table_name = ? AND database_name = current_database()
ORDER BY column_index
"""
_PRIMARY_KEY = """
SELECT unnest(constraint_column_names)
FROM duckdb_constraints()
WHERE table_name = ? AND constraint_type = 'PRIMARY KEY' AND database_name = current_database()
"""
_PARSERS: dict[str, Callable[[str], object]] = {
    "INTEGER": int,
    "BIGINT": int,
    "DOUBLE": float,
    "BOOLEAN": {"true": True, "false": False}.__getitem__,
}

_PUT_ITEM_LIST = """
INSERT INTO item_list (list_hash, item_list, n_items, source, loaded_at, is_current)
VALUES ($list_hash, $item_list, $n_items, $source, $loaded_at, true)
ON CONFLICT (list_hash) DO UPDATE SET source = excluded.source, loaded_at = excluded.loaded_at
"""
_MAKE_CURRENT = "UPDATE item_list SET is_current = (list_hash = $list_hash) WHERE item_list = $item_list"
_PUT_ITEMS = "INSERT INTO item BY NAME SELECT $list_hash AS list_hash, * FROM incoming ORDER BY position"

Lines = list[tuple[int, list[str]]]
"""Line number and cells of each row."""


@dataclass(frozen=True)
class ReferenceItem:
    """One entry of an item list. Only `item` is scored; see the comments on the table `item`."""

    item: str
    aliases: tuple[str, ...] = ()
    countries: tuple[str, ...] = ()
    ingredients: tuple[str, ...] = ()
    code: str | None = None


def reference_folder() -> Path:
    """Return the folder of the files."""
    return _FOLDER


def reference_state() -> dict[str, str]:
    """The rows of the table `state` that a database with the present reference files has."""
    return {name: content_hash(files) for name, files in _units().items()}


def load_reference(connection: duckdb.DuckDBPyConnection, stored: Mapping[str, str]) -> dict[str, str]:
    """Load what is not as `stored` has it, inside the caller's transaction; returns all of the new state."""
    wanted = reference_state()
    for name, files in _units().items():
        if stored.get(name) == wanted[name]:
            continue
        if files[0].parent.name == _LISTS:
            _load_list(connection, files[0])
        else:
            _load_table(connection, name.removeprefix("reference/"), files)
    return wanted


def list_hash(items: Sequence[str]) -> str:
    """Identity of a list in any order: 16 hex digits of the SHA-256 of its sorted items, one a line."""
    return sha256("\n".join(sorted(items)).encode()).hexdigest()[:16]


def put_item_list(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    rows: Sequence[ReferenceItem],
    source: str,
    where: Callable[[int], str],
) -> str:
    """Make `rows` the current version of the list `name` and return its list_hash; old versions stay.

    source: for item_list.source. Raises WarehouseError, placed by where(index of the row), for an empty or
    repeated item or an unknown country.
    """
    _check_items(connection, rows, where)
    identity = list_hash([row.item for row in rows])
    schema = columns_of(connection, "item", without=["list_hash", "position"])
    columns = {name: [getattr(row, name) for row in rows] for name in schema}
    frame = pl.DataFrame(columns, schema=schema).with_row_index("position")
    facts = {"list_hash": identity, "item_list": name, "n_items": len(rows), "source": source}
    connection.execute(_PUT_ITEM_LIST, facts | {"loaded_at": now()})
    connection.execute(_MAKE_CURRENT, {"list_hash": identity, "item_list": name})
    # The hash is of the items' texts alone: their aliases and countries may be corrected under the same one.
    connection.execute("DELETE FROM item WHERE list_hash = ?", [identity])
    execute_with(connection, frame, _PUT_ITEMS, {"list_hash": identity})
    return identity


def _units() -> Mapping[str, Sequence[Path]]:
    """Name in the table `state` -> the files that are loaded together.

    Tables come before item lists, because items are checked against `country`.
    """
    tables: dict[str, list[Path]] = defaultdict(list)
    for file in [*sorted(_FOLDER.glob("*.csv")), *sorted(_FOLDER.glob("*/*.csv"))]:
        table = file.stem if file.parent == _FOLDER else file.parent.name
        if table not in (_LISTS, _BUILD):
            tables[f"reference/{table}"].append(file)
    lists = {f"reference/{_LISTS}/{file.name}": [file] for file in sorted(_FOLDER.glob(f"{_LISTS}/*.csv"))}
    return tables | lists


def _load_list(connection: duckdb.DuckDBPyConnection, file: Path) -> None:
    """The columns item, aliases, countries and perhaps ingredients or code; cells are split at `|`."""
    header, lines = _read_csv(file)
    if header[:3] != _ITEM_COLUMNS or not set(header[3:]) <= set(_OPTIONAL_ITEM_COLUMNS):
        raise WarehouseError(
            f"{file}, line 1: columns are {header}, expected {_ITEM_COLUMNS} and perhaps "
            f"{' or '.join(_OPTIONAL_ITEM_COLUMNS)}. Correct the header."
        )
    _check_lengths(file, header, lines)
    if not lines:
        raise WarehouseError(f"{file} has no items. Restore the file.")
    items = [_as_item(dict(zip(header, row, strict=True))) for _, row in lines]
    source = f"{_LISTS}/{file.name}"
    put_item_list(connection, file.stem, items, source, lambda row: f"{file}, line {lines[row][0]}")


def _as_item(cells: dict[str, str]) -> ReferenceItem:
    texts = {name: cell.split("|") if cell else [] for name, cell in cells.items()}
    lists = {name: tuple(texts.get(name, ())) for name in ("aliases", "countries", "ingredients")}
    return ReferenceItem(cells["item"], **lists, code=cells.get("code") or None)


def _load_table(connection: duckdb.DuckDBPyConnection, table: str, files: Sequence[Path]) -> None:
    """All rows of a table: columns, types, required cells and key are those of the table."""
    columns = connection.execute(_TABLE_COLUMNS, [table]).fetchall()
    if not columns:
        raise WarehouseError(
            f"{files[0]}: there is no table {table!r}. Correct the name, or create the table in a new file "
            f"of warehouse/schema."
        )
    key = [name for (name,) in connection.execute(_PRIMARY_KEY, [table]).fetchall()]
    seen: dict[tuple[str, ...], str] = {}
    rows = {file: _checked_rows(file, columns, key, seen) for file in files}
    connection.execute(f'DELETE FROM "{table}"')
    for file, frame in rows.items():
        try:
            execute_with(connection, frame, f'INSERT INTO "{table}" BY NAME FROM incoming')
        except duckdb.Error as error:
            raise WarehouseError(f"{file} does not fit the table {table}: {error}.") from error


def _checked_rows(
    file: Path, columns: Sequence[tuple[str, str, bool]], key: Sequence[str], seen: dict[tuple[str, ...], str]
) -> pl.DataFrame:
    """Strings for DuckDB to cast, empty cells null.

    columns: name, type, nullable. seen: key -> where it is, of the files before; this file's are added.
    """
    header, lines = _read_csv(file)
    expected = [name for name, _, _ in columns]
    if header != expected:
        raise WarehouseError(
            f"{file}, line 1: columns are {header}, expected {expected}. Correct the header."
        )
    _check_lengths(file, header, lines)
    for line, row in lines:
        for cell, (name, kind, nullable) in zip(row, columns, strict=True):
            if not cell and not nullable:
                raise WarehouseError(f"{file}, line {line}, column {name}: the cell is empty. Fill it in.")
            _check_type(cell, kind, f"{file}, line {line}, column {name}")
        identity, here = tuple(row[expected.index(name)] for name in key), f"{file}, line {line}"
        if identity and seen.setdefault(identity, here) != here:
            raise WarehouseError(
                f"{here}, column {', '.join(key)}: {identity} is on {seen[identity]} already. Remove one."
            )
    cells = [[cell or None for cell in row] for _, row in lines]
    return pl.DataFrame(cells, schema=dict.fromkeys(header, pl.String), orient="row")


def _check_type(cell: str, kind: str, where: str) -> None:
    if cell and kind in _PARSERS:
        try:
            _PARSERS[kind](cell)
        except (ValueError, KeyError) as error:
            expected = "true or false" if kind == "BOOLEAN" else f"a number of type {kind}"
            raise WarehouseError(f"{where}: {cell!r} is not {expected}. Correct the cell.") from error


def _read_csv(file: Path) -> tuple[list[str], Lines]:
    """The header, and the rows below it."""
    with file.open(encoding="utf-8", newline="") as text:
        reader = csv.reader(text, strict=True)
        try:
            header = next(reader, [])
            lines = [(reader.line_num, row) for row in reader]
        except (csv.Error, UnicodeDecodeError) as error:
            raise WarehouseError(
                f"{file}, line {reader.line_num}: not a CSV file in UTF-8: {error}."
            ) from error
    return header, lines


def _check_lengths(file: Path, header: list[str], lines: Lines) -> None:
    for line, row in lines:
        if len(row) != len(header):
            raise WarehouseError(
                f"{file}, line {line}: {len(row)} cells under {len(header)} columns. A cell with a comma "
                f"needs quotes."
            )


def _check_items(
    connection: duckdb.DuckDBPyConnection, rows: Sequence[ReferenceItem], where: Callable[[int], str]
) -> None:
    countries = {code for (code,) in connection.execute("SELECT country FROM country").fetchall()}
    seen: dict[str, int] = {}
    for index, row in enumerate(rows):
        if not row.item or row.item != row.item.strip():
            raise WarehouseError(
                f"{where(index)}, column item: {row.item!r} is empty or has outer spaces, which would be "
                f"scored."
            )
        first = seen.setdefault(row.item, index)
        if first != index:
            raise WarehouseError(
                f"{where(index)}, column item: {row.item!r} repeats {where(first)}. Remove one."
            )
        unknown = sorted(set(row.countries) - countries)
        if unknown:
            raise WarehouseError(
                f"{where(index)}, column countries: {unknown} of {row.item!r} are not in the table country. "
                f"Correct the codes, or add the countries to country.csv."
            )
