"""Runs a query, which somebody else may have written, within limits, and returns its result as a frame.

A query is one SELECT in any of its forms. It may call only the table functions on a list, because others can
write (logs, profiles, checkpoints), read other files than parts, or run SQL that is hidden in a text. Types
that polars lacks become text by DuckDB's own cast.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any, NamedTuple

import duckdb
import polars as pl

from warehouse.literals import Params, execute, literal
from warehouse.storage import WarehouseError

TABLE_FUNCTIONS = frozenset(
    {
        "duckdb_columns", "duckdb_constraints", "duckdb_functions", "duckdb_keywords", "duckdb_tables",
        "duckdb_types", "duckdb_views", "generate_series", "json_each", "json_tree", "pragma_show",
        "pragma_table_info", "pragma_version", "range", "repeat", "summary", "unnest",
    }
)  # fmt: skip
"""Table functions that a query may call: the catalogue, series, and values of the query itself."""

# Functions that DuckDB lists as having side effects, but which change nothing outside the query.
_HARMLESS = frozenset(
    {"gen_random_uuid", "random", "setseed", "uuid", "uuidv4", "uuidv7", "get_current_timestamp", "error"}
)
_FUNCTIONS = """
SELECT DISTINCT lower(function_name), function_type LIKE 'table%' FROM duckdb_functions()
WHERE function_type IN ('table', 'table_macro') OR (function_type = 'scalar' AND has_side_effects)
"""

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


def check_query(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    """Raise WarehouseError unless `sql` is one SELECT that calls only functions on the list."""
    # A PIVOT is a query too: DuckDB makes a statement without text before it, which creates a type.
    statements = [statement for statement in connection.extract_statements(sql) if statement.query]
    for statement in statements:
        if statement.type != duckdb.StatementType.SELECT:
            raise WarehouseError(
                f"{statement.type.name} is not allowed: the warehouse runs only queries "
                f"(SELECT, FROM, SUMMARIZE …). `culturemeter sql … --out FILE` writes a result."
            )
    if len(statements) > 1:
        raise WarehouseError(
            f"one query at a time: these are {len(statements)}, and there is only one result"
        )
    if refused := sorted(_forbidden_calls(connection, sql)):
        raise WarehouseError(
            f"{refused[0]}() is not allowed in a query. Allowed table functions: "
            f"{', '.join(sorted(TABLE_FUNCTIONS))}."
        )


class Rows(NamedTuple):
    """The result of a query as Python values. numeric: names of the columns of numbers."""

    names: list[str]
    numeric: frozenset[str]
    rows: list[tuple[Any, ...]]

    def dicts(self) -> list[dict[str, Any]]:
        """Return each row as column -> value."""
        return [dict(zip(self.names, row, strict=True)) for row in self.rows]

    @classmethod
    def from_dicts(cls, rows: Sequence[Mapping[str, Any]]) -> Rows:
        """Return rows with the columns of the first one."""
        names = list(rows[0]) if rows else []
        columns = {name: [row[name] for row in rows if row[name] is not None] for name in names}
        numeric = {name for name, cells in columns.items() if cells and all(map(_is_number, cells))}
        return cls(names, frozenset(numeric), [tuple(row[name] for name in names) for row in rows])

    @classmethod
    def from_frame(cls, frame: pl.DataFrame) -> Rows:
        """Return the rows of a frame."""
        numeric = frozenset(name for name, kind in frame.schema.items() if kind.is_numeric())
        return cls(frame.columns, numeric, with_whole_numbers(frame).rows())


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def to_rows(connection: duckdb.DuckDBPyConnection, sql: str, params: Params) -> Rows:
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
            return Rows(names, frozenset(n for n, k in zip(names, kinds, strict=True) if k in _NUMBERS), rows)
    return Rows.from_frame(to_frame(connection, sql, params))


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
        frame = connection.pl()
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
    statements = connection.extract_statements(sql)
    texts = [statement.query for statement in statements if statement.query] or [sql]
    return re.sub(r";?(\s|--[^\n]*(\n|$)|/\*([^*]|\*(?!/))*\*/)*$", "", texts[-1])


@cache
def _refused() -> tuple[frozenset[str], frozenset[str]]:
    """Return the names of the table functions and of the functions with effects that a query may not call."""
    with duckdb.connect(":memory:", config={"threads": 1}) as connection:
        functions = connection.execute(_FUNCTIONS).fetchall()
    tables = frozenset(name for name, is_table in functions if is_table)
    return tables - TABLE_FUNCTIONS, frozenset(n for n, is_table in functions if not is_table) - _HARMLESS


def _forbidden_calls(connection: duckdb.DuckDBPyConnection, sql: str) -> Iterator[str]:
    """Yield the names of the functions that a query calls and may not call."""
    text = literal(sql) or literal(sql.replace("\0", " "))
    row = connection.execute(f"SELECT json_serialize_sql({text})").fetchone()
    tree = json.loads(row[0]) if row else {"error": True}
    if not tree["error"]:
        for is_table, name in _functions(tree["statements"]):
            if name not in TABLE_FUNCTIONS if is_table else name in _refused()[1]:
                yield name
        return
    tables, effects = _refused()
    # DuckDB has no parse tree of a PIVOT. So a name before a parenthesis counts as a call, even in a text.
    for name in tables | effects:
        if re.search(
            rf'\b{re.escape(name)}\b"?(?:\s|/\*.*?\*/|--[^\n]*\n)*\(', sql, re.IGNORECASE | re.DOTALL
        ):
            yield name


def _functions(node: Any) -> Iterator[tuple[bool, str]]:
    """Yield (whether it is a table function, name) for every call in a parse tree."""
    if isinstance(node, dict):
        if node.get("type") == "TABLE_FUNCTION":
            yield True, str(node["function"]["function_name"]).lower()
        elif node.get("class") == "FUNCTION":
            yield False, str(node["function_name"]).lower()
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from _functions(child)


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
