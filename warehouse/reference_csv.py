"""Read the reference CSV files, naming file, line and column of whatever is wrong with them."""

import csv
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import polars as pl

from warehouse.home import WarehouseError

__all__ = ["Item", "check_items", "read_items", "read_table"]

_ITEM_COLUMNS = ("item", "aliases", "countries")
_OPTIONAL_ITEM_COLUMNS = ("ingredients", "code")

_TABLE_COLUMNS = """
SELECT column_name, data_type, is_nullable
FROM duckdb_columns()
WHERE table_name = ? AND database_name = current_database()
ORDER BY column_index
"""
_PRIMARY_KEY = """
SELECT constraint_column_names
FROM duckdb_constraints()
WHERE table_name = ? AND constraint_type = 'PRIMARY KEY' AND database_name = current_database()
"""
_PARSERS: dict[str, Callable[[str], object]] = {
    "INTEGER": int,
    "BIGINT": int,
    "DOUBLE": float,
    "BOOLEAN": {"true": True, "false": False}.__getitem__,
}


@dataclass(frozen=True)
class Item:
    """One entry of an item list. Only `item` is scored; see the comments on the table `item`."""

    item: str
    aliases: tuple[str, ...] = ()
    countries: tuple[str, ...] = ()
    ingredients: tuple[str, ...] = ()
    code: str | None = None


def read_table(
    connection: duckdb.DuckDBPyConnection, files: Sequence[Path], table: str
) -> dict[Path, pl.DataFrame]:
    """Each file as a frame of strings, empty cells null, for DuckDB to cast into `table`.

    Columns, types, required cells and the key, which no two rows of all files share, are those of the table.
    Raises WarehouseError naming file, line and column.
    """
    columns = connection.execute(_TABLE_COLUMNS, [table]).fetchall()
    if not columns:
        raise WarehouseError(
            f"{files[0]}: there is no table {table!r}. Correct the name, or create the table in a new file "
            f"of warehouse/schema."
        )
    keys = connection.execute(_PRIMARY_KEY, [table]).fetchall()
    seen: dict[tuple[str, ...], str] = {}
    return {file: _checked_rows(file, columns, keys[0][0] if keys else [], seen) for file in files}


def read_items(file: Path, countries: Collection[str]) -> list[Item]:
    """The items of a list file: item, aliases, countries and perhaps ingredients or code; cells split at `|`.

    Raises WarehouseError naming file, line and column.
    """
    header, lines = _read_csv(file)
    extra = header[len(_ITEM_COLUMNS) :]
    if tuple(header[: len(_ITEM_COLUMNS)]) != _ITEM_COLUMNS or not set(extra) <= set(_OPTIONAL_ITEM_COLUMNS):
        raise WarehouseError(
            f"{file}, line 1: columns are {header}, expected {list(_ITEM_COLUMNS)} and perhaps "
            f"{' or '.join(_OPTIONAL_ITEM_COLUMNS)}. Correct the header."
        )
    _check_lengths(file, header, lines)
    rows = [_as_item(dict(zip(header, row, strict=True))) for _, row in lines]
    if not rows:
        raise WarehouseError(f"{file} has no items. Restore the file.")
    check_items(rows, countries, lambda row: f"{file}, line {lines[row][0]}")
    return rows


def check_items(rows: Sequence[Item], countries: Collection[str], where: Callable[[int], str]) -> None:
    """Raise WarehouseError, placed by where(index), for an empty or repeated item or an unknown country."""
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
        unknown = sorted(set(row.countries) - set(countries))
        if unknown:
            raise WarehouseError(
                f"{where(index)}, column countries: {unknown} of {row.item!r} are not in the table country. "
                f"Correct the codes, or add the countries to country.csv."
            )


def _checked_rows(
    file: Path,
    columns: Sequence[tuple[str, str, bool]],
    key: Sequence[str],
    seen: dict[tuple[str, ...], str],
) -> pl.DataFrame:
    """columns: name, type, nullable. seen: key -> where it is, of the files before; this file's are added."""
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
        if key:
            identity, here = tuple(row[expected.index(name)] for name in key), f"{file}, line {line}"
            first = seen.setdefault(identity, here)
            if first != here:
                raise WarehouseError(
                    f"{here}, column {', '.join(key)}: {identity} is on {first} already. Remove one."
                )
    cells = [[cell or None for cell in row] for _, row in lines]
    return pl.DataFrame(cells, schema=dict.fromkeys(header, pl.String), orient="row")


def _as_item(cells: dict[str, str]) -> Item:
    return Item(
        item=cells["item"],
        aliases=_split(cells["aliases"]),
        countries=_split(cells["countries"]),
        ingredients=_split(cells.get("ingredients", "")),
        code=cells.get("code") or None,
    )


def _split(cell: str) -> tuple[str, ...]:
    return tuple(cell.split("|")) if cell else ()


def _check_type(cell: str, kind: str, where: str) -> None:
    parser = _PARSERS.get(kind)
    if parser is None or not cell:
        return
    try:
        parser(cell)
    except (ValueError, KeyError) as error:
        expected = "true or false" if kind == "BOOLEAN" else f"a number of type {kind}"
        raise WarehouseError(f"{where}: {cell!r} is not {expected}. Correct the cell.") from error


def _read_csv(file: Path) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """Header and (line number, cells) of each row."""
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


def _check_lengths(file: Path, header: list[str], lines: list[tuple[int, list[str]]]) -> None:
    for line, row in lines:
        if len(row) != len(header):
            raise WarehouseError(
                f"{file}, line {line}: {len(row)} cells under {len(header)} columns. A cell with a comma "
                f"needs quotes."
            )
