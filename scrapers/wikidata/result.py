"""A SPARQL 1.1 result in JSON, read from its file: in memory are the frame and a batch of rows. Pure."""

from __future__ import annotations

from typing import IO

import ijson
import polars as pl

BATCH = 20_000
"""Rows that are Python objects at once; each takes ten times the memory of its place in the frame."""
DEEPEST = 5
"""Of a result: itself, results, bindings, a row, a value. A deeper text is none, and slow to read."""
NOT_A_RESULT = (ValueError, KeyError, ijson.JSONError)
"""What ``read_result`` raises."""

_ROWS = ["results", "bindings", ""]


def read_result(content: IO[bytes]) -> pl.DataFrame:
    """One string column a variable, in the query's order.

    Addresses and literals come as their text, blank nodes as ``_:name``, unbound variables as null. Half a
    surrogate pair, which is no text, becomes a question mark.

    Raises:
        NOT_A_RESULT: not JSON, not a SELECT's, or not whole.
    """
    names: list[str] = []
    frames: list[pl.DataFrame] = []
    rows: list[dict[str, str]] = []
    row: dict[str, str] = {}
    value: dict[str, str] = {}
    path: list[str] = []  # of keys, down to where the reader is; "" within an array
    is_result = False
    for event, said in ijson.basic_parse(content):
        depth = len(path)
        if event == "map_key":
            path[-1] = said
        elif event == "string":
            if depth == DEEPEST:
                value[path[-1]] = said
            elif path == ["head", "vars", ""]:
                names.append(said)
        elif event in ("start_map", "start_array"):
            path.append("")
            if depth == DEEPEST:
                raise ValueError("nested deeper than a result")
            if depth == 4:
                value = {}
            elif depth == 3:
                row = {}
        elif event in ("end_map", "end_array"):
            if path[:3] == _ROWS:
                if depth == 5:
                    row[path[3]] = f"_:{value['value']}" if value["type"] == "bnode" else value["value"]
                elif depth == 4:
                    rows.append(row)
                    if names and len(rows) == BATCH:
                        frames.append(_frame(rows, names))
                        rows = []
                elif depth == 3:
                    is_result = True
            path.pop()
    if not names or not is_result:
        raise ValueError("no variables or no rows")
    return pl.concat([*frames, _frame(rows, names)])


def _frame(rows: list[dict[str, str]], names: list[str]) -> pl.DataFrame:
    columns = {name: [row.get(name) for row in rows] for name in names}
    return pl.DataFrame(columns, schema=dict.fromkeys(names, pl.String))
