"""Admits a query that somebody else may have written, or raises what is not allowed in it.

A query is one SELECT in any of its forms. DuckDB parses it, and the whole parse tree is compared with lists
of what is allowed: forms, functions, table functions and views of the catalogue. Others can write (logs,
profiles, checkpoints), read other files than parts, or run SQL that is hidden in a text. A query without a
parse tree is refused, and so is a form that a later DuckDB adds, until it is listed here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import duckdb

from warehouse.literals import literal
from warehouse.storage import WarehouseError

TABLE_FUNCTIONS = frozenset(
    {
        "duckdb_columns", "duckdb_constraints", "duckdb_functions", "duckdb_keywords", "duckdb_tables",
        "duckdb_types", "duckdb_views", "generate_series", "json_each", "json_tree", "pragma_show",
        "pragma_table_info", "pragma_version", "range", "repeat", "summary", "unnest",
    }
)  # fmt: skip
"""Table functions that a query may call: the catalogue, series, and values of the query itself."""

_MACROS = frozenset({"least_rho"})
"""Functions of the warehouse itself (views/)."""
_CATALOGUE = frozenset(
    {"duckdb_columns", "duckdb_constraints", "duckdb_tables", "duckdb_types", "duckdb_views"}
)
"""Views of DuckDB's catalogue that a query may read, beside information_schema."""
_SHOWN = frozenset({"tables", "__show_tables_expanded"})
"""Lists that SHOW may print."""
_EXPRESSIONS = frozenset(
    {
        "BETWEEN", "CASE", "CAST", "COLLATE", "COLUMN_REF", "COMPARISON", "CONJUNCTION", "CONSTANT",
        "DEFAULT", "FUNCTION", "LAMBDA", "LAMBDA_REF", "OPERATOR", "PARAMETER", "POSITIONAL_REFERENCE",
        "STAR", "SUBQUERY", "TYPE", "WINDOW",
    }
)  # fmt: skip
_NODES = frozenset(
    {
        "BASE_TABLE", "CTE_NODE", "DISTINCT_MODIFIER", "EMPTY", "EXPRESSION_LIST", "JOIN", "LIMIT_MODIFIER",
        "LIMIT_PERCENT_MODIFIER", "ORDER_MODIFIER", "PIVOT", "RECURSIVE_CTE_NODE", "SELECT_NODE",
        "SET_OPERATION_NODE", "SHOW_REF", "SUBQUERY", "TABLE_FUNCTION", "ORDER_DEFAULT", "ASCENDING",
        "DESCENDING",
    }
)  # fmt: skip
_SUFFIXES = ("_TYPE_INFO",)
"""Ends of the names of nodes that describe a type."""

_INTERNAL = """
SELECT lower(view_name) FROM duckdb_views() WHERE internal
UNION SELECT lower(table_name) FROM duckdb_tables() WHERE internal
"""
_PLACES = frozenset({"culturemeter", "main"})
"""Names of the database and its schema, which may stand before that of a table."""
_PIVOT = " A PIVOT has to list its values: PIVOT t ON column IN ('a', 'b') USING count(*)."


def check_query(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    """Raise WarehouseError unless `sql` is one SELECT of allowed parts; duckdb.Error for wrong syntax."""
    if "\0" in sql:
        raise WarehouseError("a query must not have a zero character")
    _check_statements(connection, sql)
    try:
        tree = _tree(connection, sql)
    except RecursionError:
        raise WarehouseError("the query is nested too deeply to be checked: write it with WITH") from None
    if tree["error"]:
        advice = _PIVOT if "pivot" in sql.lower() else ""
        raise WarehouseError(f"this form of query is not allowed: {tree['error_message']}{advice}")
    if refused := next(_refused(tree["statements"]), None):
        raise WarehouseError(
            f"{refused} is not allowed in a query. Allowed table functions: "
            f"{', '.join(sorted(TABLE_FUNCTIONS))}."
        )


def _check_statements(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    """Raise WarehouseError for several statements, and for one that has a name and is no SELECT."""
    statements = [statement for statement in connection.extract_statements(sql) if statement.query.strip()]
    for statement in statements:
        if statement.type != duckdb.StatementType.SELECT and statement.type.name != "MULTI":
            raise WarehouseError(
                f"{statement.type.name} is not allowed: the warehouse runs only queries "
                f"(SELECT, FROM, SUMMARIZE …). `culturemeter sql … --out FILE` writes a result."
            )
    if len(statements) > 1:
        raise WarehouseError(
            f"one query at a time: these are {len(statements)}, and there is only one result"
        )


def _tree(connection: duckdb.DuckDBPyConnection, sql: str) -> Any:
    """Return DuckDB's parse tree of a query: error and error_message, or statements."""
    row = connection.execute(f"SELECT json_serialize_sql({literal(sql)})").fetchone()
    return json.loads(row[0]) if row else {"error": True, "error_message": "it has no parse tree"}


@cache
def functions() -> frozenset[str]:
    """Return the names of the scalar, aggregate and window functions that a query may call."""
    lines = (Path(__file__).parent / "functions.txt").read_text(encoding="utf-8").splitlines()
    return _MACROS.union(*(line.split() for line in lines if not line.startswith("#")))


@cache
def _internal() -> frozenset[str]:
    """Return the names of DuckDB's own views and tables."""
    with duckdb.connect(":memory:", config={"threads": 1}) as connection:
        return frozenset(name for (name,) in connection.execute(_INTERNAL).fetchall())


def _refused(statements: Any) -> Iterator[str]:
    """Yield, in words, what is in a parse tree and on no list."""
    nodes = [statements]
    while nodes:
        node = nodes.pop()
        if isinstance(node, list):
            nodes.extend(node)
        elif isinstance(node, dict):
            yield from _refused_node(node)
            called = node["function"] if node.get("type") == "TABLE_FUNCTION" else {}
            nodes.extend(value for name, value in node.items() if name != "function" or not called)
            nodes.extend(called.values())  # its arguments: the function itself has been compared


def _refused_node(node: Mapping[str, Any]) -> Iterator[str]:
    kind, expression = node.get("type"), node.get("class")
    if expression is not None:
        if expression not in _EXPRESSIONS:
            yield f"the expression {expression}"
        if "function_name" in node and not _may_call(name := _names(node, "function_name")[-1]):
            yield f"{name}()"
    elif isinstance(kind, str):
        if kind not in _NODES and not kind.endswith(_SUFFIXES):
            yield f"the form {kind}"
        if kind == "BASE_TABLE" and not _may_read(names := _names(node, "table_name")):
            yield f"the table {'.'.join(names)}"
        if kind == "SHOW_REF" and node["table_name"]:
            names = _names(node, "table_name")
            is_list = node["table_name"].startswith(('"', "__"))
            if names[-1] not in _SHOWN and (is_list or not _may_read(names)):
                yield f"SHOW {names[-1].upper()}"
        if kind == "TABLE_FUNCTION":
            name = _names(node["function"], "function_name")[-1]
            if name not in TABLE_FUNCTIONS:
                yield f"{name}()"


def _names(node: Mapping[str, Any], key: str) -> list[str]:
    """Return catalogue, schema and name of a table or function, those that the query has, in lower case."""
    parts = [node.get(of) for of in ("catalog_name", "catalog", "schema_name", "schema", key)]
    path = node.get("qualified_name", {}).get("path", [])  # DuckDB 2 has both, and they are equal
    if path and path[-1] != node[key]:
        return ["?", *map(str, path), str(node[key])]
    return [str(part).strip('"').lower() for part in path or parts if part]


def _may_call(name: str) -> bool:
    """Return whether a query may call a function; an operator has no letter in its name."""
    return name in functions() or not any(sign.isalnum() for sign in name)


def _may_read(names: list[str]) -> bool:
    """Return whether a query may read a table: not of another database, not a file, not a view of settings.

    A name that is nowhere passes, because DuckDB's message has the name that was meant.
    """
    *places, name = names
    if "information_schema" in places:
        return True
    return (
        _PLACES.issuperset(places)
        and (name in _CATALOGUE or name not in _internal())
        and not any(sign in name for sign in "./\\:*?")
    )
