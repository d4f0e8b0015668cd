"""Reference data: the CSV files in reference/, each loaded into the table that it is named after.

A table has the rows of `<table>.csv` and of all files in the folder `<table>/`, so that an evaluation can add
rows of its own in a new file. When one of the files has changed, they replace the whole table. The folder
item_list/ has one item list per file instead. A list is loaded when its own file has changed, so a list
scraped later stays current until then. Every version of a list stays, under the hash of its items; one is
current.

A fault in a file raises a WarehouseError that names file, line and column.
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
_BUILD = "build"  # not a table: the scripts that made the files

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
"""Rows of a file, as (line number, cells)."""


@dataclass(frozen=True)
class ReferenceItem:
    """An entry of an item list. Only `item` is scored. Comments on the table `item` explain the fields."""

    item: str
    aliases: tuple[str, ...] = ()
    countries: tuple[str, ...] = ()
    ingredients: tuple[str, ...] = ()
    code: str | None = None


def reference_folder() -> Path:
    """Return the folder of the reference files."""
    return _FOLDER


def reference_state() -> dict[str, str]:
    """Return the rows of the table `state` that a database with the present reference files has."""
    return {name: content_hash(files) for name, files in _units().items()}


def load_reference(connection: duckdb.DuckDBPyConnection, stored: Mapping[str, str]) -> dict[str, str]:
    """Load the files that differ from `stored`, inside the caller's transaction, and return the new state."""
    present = reference_state()
    for name, files in _units().items():
        if stored.get(name) == present[name]:
            continue
        if files[0].parent.name == _LISTS:
            _load_list(connection, files[0])
        else:
            _load_table(connection, name.removeprefix("reference/"), files)
    return present


def list_hash(items: Sequence[str]) -> str:
    """Return a list's identity, whatever its order: 16 hex digits of the SHA-256 of its sorted lines."""
    return sha256("\n".join(sorted(items)).encode()).hexdigest()[:16]


def put_item_list(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    rows: Sequence[ReferenceItem],
    source: str,
    place_of: Callable[[int], str],
) -> str:
    """Make `rows` the current version of the list `name` and return its list_hash; old versions stay.

    source: text for item_list.source. where: index of a row -> its place, for errors. Raises WarehouseError
    for an empty or repeated item or an unknown country.
    """
    import pyarrow as pa  # most commands need none of it

    _check_items(connection, rows, place_of)
    identity = list_hash([row.item for row in rows])
    schema = columns_of(connection, "item", excluded=["list_hash", "position"])
    columns = {name: [getattr(row, name) for row in rows] for name in schema}
    frame = pl.DataFrame(pa.table(columns)).cast(schema).with_row_index("position")
    facts = {"list_hash": identity, "item_list": name, "n_items": len(rows), "source": source}
    connection.execute(_PUT_ITEM_LIST, facts | {"loaded_at": now()})
    connection.execute(_MAKE_CURRENT, {"list_hash": identity, "item_list": name})
    # The hash covers the items' texts alone: aliases and countries may be corrected without a new version.
    connection.execute("DELETE FROM item WHERE list_hash = ?", [identity])
    execute_with(connection, frame, _PUT_ITEMS, {"list_hash": identity})
    return identity


def _units() -> Mapping[str, Sequence[Path]]:
    """Return name in the table `state` -> the files that are loaded together.

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
    """Load a list with the columns item, aliases, countries and optionally ingredients or code.

    Cells with several values are split at `|`.
    """
    header, lines = _read_csv(file)
    if header[:3] != _ITEM_COLUMNS or not set(header[3:]) <= set(_OPTIONAL_ITEM_COLUMNS):
        raise WarehouseError(
            f"{file}, line 1: columns are {header}, expected {_ITEM_COLUMNS} and optionally "
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
    """Replace the rows of a table, which sets the columns, types, required cells and key of the files."""
    columns = connection.execute(_TABLE_COLUMNS, [table]).fetchall()
    if not columns:
        raise WarehouseError(
            f"{files[0]}: unknown table {table!r}. Correct the name, or create the table in a new file "
            f"of warehouse/schema."
        )
    key = [name for (name,) in connection.execute(_PRIMARY_KEY, [table]).fetchall()]
    places: dict[tuple[str, ...], str] = {}
    rows = {file: _checked_rows(file, columns, key, places) for file in files}
    connection.execute(f'DELETE FROM "{table}"')
    for file, frame in rows.items():
        try:
            execute_with(connection, frame, f'INSERT INTO "{table}" BY NAME FROM incoming')
        except duckdb.Error as error:
            raise WarehouseError(f"{file} does not fit the table {table}: {error}.") from error


def _checked_rows(
    file: Path,
    columns: Sequence[tuple[str, str, bool]],
    key: Sequence[str],
    places: dict[tuple[str, ...], str],
) -> pl.DataFrame:
    """Return a file's cells as strings for DuckDB to cast, with null for empty cells.

    columns: name, type, nullable. places: key -> file and line, from earlier files; this file's are added.
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
        identity, place = tuple(row[expected.index(name)] for name in key), f"{file}, line {line}"
        if identity and places.setdefault(identity, place) != place:
            raise WarehouseError(
                f"{place}, column {', '.join(key)}: {identity} is on {places[identity]} already. Remove one."
            )
    cells = {name: [row[place] or None for _, row in lines] for place, name in enumerate(header)}
    return pl.DataFrame(cells, schema=dict.fromkeys(header, pl.String))


def _check_type(cell: str, kind: str, place: str) -> None:
    if cell and kind in _PARSERS:
        try:
            _PARSERS[kind](cell)
        except (ValueError, KeyError) as error:
            expected = "true or false" if kind == "BOOLEAN" else f"a number of type {kind}"
            raise WarehouseError(f"{place}: {cell!r} is not {expected}. Correct the cell.") from error


def _read_csv(file: Path) -> tuple[list[str], Lines]:
    """Return the header and the rows below it."""
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
                f"{file}, line {line}: {len(row)} cells for {len(header)} columns. A cell with a comma "
                f"needs quotes."
            )


def _check_items(
    connection: duckdb.DuckDBPyConnection, rows: Sequence[ReferenceItem], place_of: Callable[[int], str]
) -> None:
    countries = {code for (code,) in connection.execute("SELECT country FROM country").fetchall()}
    first_rows: dict[str, int] = {}
    for index, row in enumerate(rows):
        if not row.item or row.item != row.item.strip():
            raise WarehouseError(
                f"{place_of(index)}, column item: {row.item!r} is empty, or has spaces around it, which "
                f"would be scored."
            )
        first = first_rows.setdefault(row.item, index)
        if first != index:
            raise WarehouseError(
                f"{place_of(index)}, column item: {row.item!r} repeats {place_of(first)}. Remove one."
            )
        unknown = sorted(set(row.countries) - countries)
        if unknown:
            raise WarehouseError(
                f"{place_of(index)}, column countries: unknown country {unknown[0]!r} of {row.item!r}. "
                f"Correct the code, or add the country to country.csv."
            )
