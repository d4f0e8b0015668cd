"""Values written into SQL as literals, and statements run with them.

DuckDB's client looks for pandas at the first value that it binds, and imports it: half a second, for which a
command that prints a few rows has no use. So plain values are bound by EXECUTE, which takes them as literals.
"""

from collections.abc import Mapping, Sequence

import duckdb

Params = Sequence[object] | Mapping[str, object] | None


def literal(value: object) -> str | None:
    """Return a value as a SQL literal of the type that binding it has; None: of a type that is only bound.

    Plain are None, bool, int of 64 bits, text without a zero character, and lists and mappings of these.
    """
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).lower()
        case int() if -(2**63) < value < 2**63:
            return str(value)
        case str() if type(value) is str and "\0" not in value:
            return "'{}'".format(value.replace("'", "''"))
        case list() | tuple():
            parts = [literal(part) for part in value]
            return None if None in parts or not parts else f"[{', '.join(map(str, parts))}]"
        case _:
            return None


def list_parts(connection: duckdb.DuckDBPyConnection, files: Mapping[str, Sequence[str]]) -> None:
    """Set the variable by which views find their parts: kind -> files, at least one of each."""
    entries = (f"{literal(kind)}: {literal(list(paths))}" for kind, paths in files.items())
    connection.execute(f"SET VARIABLE parts = MAP {{{', '.join(entries)}}}")


def execute(connection: duckdb.DuckDBPyConnection, sql: str, params: Params = None) -> None:
    """Run one statement with its values bound from `params` (`?` or `$name`); its result is the connection's.

    Raises what DuckDB raises.
    """
    values = [literal(value) for value in (params.values() if isinstance(params, Mapping) else params or ())]
    present = [text for text in values if text is not None]
    if present and len(present) == len(values):
        try:
            connection.execute(f"PREPARE bound AS {sql}")
        except duckdb.Error:
            pass  # its words would quote PREPARE: what follows raises them without
        else:
            names = (
                [f'"{name}" := ' for name in params] if isinstance(params, Mapping) else [""] * len(present)
            )
            texts = (name + text for name, text in zip(names, present, strict=True))
            connection.execute(f"EXECUTE bound({', '.join(texts)})")
            return
    connection.execute(sql, params)
