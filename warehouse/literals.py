"""Values written into SQL as literals, and statements run with them.

DuckDB's client imports pandas, if installed, at the first value that it binds. That takes half a second, too
long for a command that prints a few rows. So plain values are passed to EXECUTE as literals.
"""

from collections.abc import Mapping, Sequence

import duckdb

Params = Sequence[object] | Mapping[str, object] | None


def literal(value: object) -> str | None:
    """Return a value as a SQL literal of the type that it would be bound with; None if it has to be bound.

    Values with a literal: None, bool, int of 64 bits, text without a zero character, and non-empty lists of
    these.
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
    """Set the variable `parts`, which views read: kind -> files, at least one for each kind."""
    entries = (f"{literal(kind)}: {literal(list(paths))}" for kind, paths in files.items())
    connection.execute(f"SET VARIABLE parts = MAP {{{', '.join(entries)}}}")


def execute(connection: duckdb.DuckDBPyConnection, sql: str, params: Params = None) -> None:
    """Run one statement with its values bound from `params` (`?` or `$name`); fetch from the connection.

    Raises what DuckDB raises.
    """
    values = [literal(value) for value in (params.values() if isinstance(params, Mapping) else params or ())]
    present = [text for text in values if text is not None]
    if present and len(present) == len(values):
        try:
            connection.execute(f"PREPARE bound AS {sql}")
        except duckdb.Error:
            pass  # its message would quote PREPARE: the call below raises it without
        else:
            names = (
                [f'"{name}" := ' for name in params] if isinstance(params, Mapping) else [""] * len(present)
            )
            texts = (name + text for name, text in zip(names, present, strict=True))
            connection.execute(f"EXECUTE bound({', '.join(texts)})")
            return
    connection.execute(sql, params)
