"""Runs a query, and returns its result as a frame or as Python values.

Types that polars lacks become text by DuckDB's own cast. `warehouse.guard` says which queries may run.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import duckdb
import polars as pl

from warehouse.literals import Params, execute
from warehouse.storage import fetched

_POLARS_TYPES = frozenset(
    {
        "boolean", "tinyint", "smallint", "integer", "bigint", "hugeint", "utinyint", "usmallint", "uinteger",
        "ubigint", "float", "double", "decimal", "varchar", "json", "uuid", "enum", "sqlnull",
    }
)  # fmt: skip
"""Types that polars has, alone and within lists and structs."""
_TIMES = frozenset(
    {
        "date", "time", "timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns",
        "timestamp with time zone",
    }
)  # fmt: skip
"""Types that polars has except for the value infinity."""
_NUMBERS = _POLARS_TYPES - {"boolean", "varchar", "json", "uuid", "enum"}
_PLAIN = _POLARS_TYPES | _TIMES - {"timestamp with time zone"}
"""Types whose Python values from DuckDB equal those from polars."""
_FIRST, _LAST = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)
"""First and last time that Python can represent; DuckDB also has infinity."""


class ResultSet(NamedTuple):
    """The result of a query as Python values. numeric: names of the columns of numbers."""

    names: list[str]
    numeric: frozenset[str]
    rows: list[tuple[Any, ...]]

    def dicts(self) -> list[dict[str, Any]]:
        """Return each row as column -> value."""
        return [dict(zip(self.names, row, strict=True)) for row in self.rows]

    @classmethod
    def from_dicts(cls, rows: Sequence[Mapping[str, Any]]) -> ResultSet:
        """Return rows with the columns of all, as they first come; a missing cell is None."""
        names = list(dict.fromkeys(name for row in rows for name in row))
        columns = {name: [row[name] for row in rows if row.get(name) is not None] for name in names}
        numeric = {name for name, cells in columns.items() if cells and all(map(_is_number, cells))}
        return cls(names, frozenset(numeric), [tuple(row.get(name) for name in names) for row in rows])

    @classmethod
    def from_frame(cls, frame: pl.DataFrame) -> ResultSet:
        """Return the rows of a frame."""
        numeric = frozenset(name for name, kind in frame.schema.items() if kind.is_numeric())
        return cls(frame.columns, numeric, with_whole_numbers(frame).rows())


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def to_rows(connection: duckdb.DuckDBPyConnection, sql: str, params: Params) -> ResultSet:
    """Return the rows of a query, equal to those of `to_frame`. Raises what DuckDB raises.

    Only uncommon types need polars, whose import takes as long as the rest of a small query.
    """
    execute(connection, sql, params)
    description = connection.description or []
    kinds = [column_type.id for _, column_type, *_ in description]
    names = [str(name) for name, *_ in description]
    is_plain = all(kind in _PLAIN for kind in kinds) and len({name.lower() for name in names}) == len(names)
    if is_plain:
        rows = connection.fetchall()
        times = [place for place, kind in enumerate(kinds) if kind in _TIMES]
        if not any(_is_odd_time(row[place]) for row in rows for place in times):
            return ResultSet(
                names, frozenset(n for n, k in zip(names, kinds, strict=True) if k in _NUMBERS), rows
            )
    return ResultSet.from_frame(to_frame(connection, sql, params))


def _is_odd_time(value: object) -> bool:
    """Return whether a time may exceed Python's range: DuckDB returns a text, or the first or last time."""
    return isinstance(value, str) or getattr(value, "year", None) in (_FIRST.year, _LAST.year)


def to_frame(connection: duckdb.DuckDBPyConnection, sql: str, params: Params) -> pl.DataFrame:
    """Return a query's rows; columns of types that polars lacks become text. Raises what DuckDB raises."""
    execute(connection, sql, params)
    description = connection.description or []
    odd = {
        place
        for place, (_, column_type, *_) in enumerate(description)
        if not (column_type.id in _TIMES or _is_in_polars(column_type))
    }
    if not odd:
        frame = fetched(connection)
        odd = {place for place, column in enumerate(frame.iter_columns()) if not _has_python_times(column)}
        if not odd:
            return frame
    names = ['"{}"'.format(str(column[0]).replace('"', '""')) for column in description]
    columns = [
        f"CAST(#{place + 1} AS VARCHAR) AS {name}" if place in odd else f"#{place + 1} AS {name}"
        for place, name in enumerate(names)
    ]
    return to_frame(connection, f"SELECT {', '.join(columns)} FROM (\n{_bare(connection, sql)}\n)", params)


def with_whole_numbers(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the frame with integers for DuckDB's HUGEINT: a decimal in Python has only 38 digits."""
    import polars as pl

    def whole(dtype: Any) -> Any:
        match dtype:
            case pl.Decimal() if dtype.scale == 0:
                return pl.Int128()
            case pl.List():
                return pl.List(whole(dtype.inner))
            case pl.Array():
                return pl.Array(whole(dtype.inner), dtype.shape[0])
            case pl.Struct():
                return pl.Struct({field.name: whole(field.dtype) for field in dtype.fields})
        return dtype

    wanted = {name: whole(dtype) for name, dtype in frame.schema.items()}
    return frame.cast({name: dtype for name, dtype in wanted.items() if dtype != frame.schema[name]})


def _is_in_polars(column_type: Any) -> bool:
    """Return whether polars has a DuckDB type with all its values."""
    if column_type.id in ("list", "array", "struct", "map"):
        return all(_is_in_polars(child) for name, child in column_type.children if name != "size")
    return column_type.id in _POLARS_TYPES


def _bare(connection: duckdb.DuckDBPyConnection, sql: str) -> str:
    """Return the query without a final semicolon and comments."""
    texts = [statement.query for statement in connection.extract_statements(sql)]
    return re.sub(r";?(\s|--[^\n]*(\n|$)|/\*([^*]|\*(?!/))*\*/)*$", "", texts[-1])


def _has_python_times(column: pl.Series) -> bool:
    """Return whether Python can represent every time in a column."""
    if not (column.dtype.is_temporal() and column.dtype not in (pl.Time, pl.Duration)):
        return True
    if column.dtype == pl.Date:
        low, high = _FIRST.timestamp() // 86_400, _LAST.timestamp() // 86_400
    else:
        unit = {"ms": 10**3, "us": 10**6, "ns": 10**9}[column.dtype.time_unit]  # type: ignore[attr-defined]
        low, high = _FIRST.timestamp() * unit, _LAST.timestamp() * unit
    values = column.to_physical().drop_nulls()
    return bool(values.is_between(low, high).all())
