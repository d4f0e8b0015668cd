"""Finds the parts that a query needs, for stores that have to fetch them first (`Store.has_all_parts`).

DuckDB's planner names them. While a kind's files are not listed, planning a query that reads the kind fails
with an error that names it, whatever views are in between. The plan then has the filters of every scan of
parts: if all scans are limited to certain requests or runs, only the parts of those are needed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

from warehouse.literals import Params, list_parts
from warehouse.part_kinds import KINDS, empty_part, globs_of, is_part_name
from warehouse.querying import to_frame
from warehouse.storage import glob_escaped
from warehouse.store import Store
from warehouse.verified import check_files

_NOT_LISTED = "_needed.parquet"  # no part has this name, nor does a file
_NAMED = re.compile(rf"parts/([a-z][a-z0-9_]*)/{re.escape(_NOT_LISTED)}")
_VALUE = r"'[\w.:-]+'"
_FILTER = re.compile(
    rf"(?:optional: )?\(?(request_hash|run_id)(?: ?= ?({_VALUE})| IN \(({_VALUE}(?:, {_VALUE})*)\))\)?"
)
"""Pattern of a condition that narrows a scan. DuckDB doubles quotes, so a value never looks like a filter."""

_PARTS = """
SELECT DISTINCT kind, part FROM part_unit
WHERE kind IN (SELECT unnest($kinds::VARCHAR[]))
    AND ($requests::VARCHAR[] IS NULL OR request_hash IN (SELECT unnest($requests::VARCHAR[])))
    AND ($runs::VARCHAR[] IS NULL OR run_id IN (SELECT unnest($runs::VARCHAR[])))
"""


def absent_files(folder: Path) -> dict[str, list[str]]:
    """Return kind -> a file that does not exist: the list of `parts` before `execute`."""
    return {
        name: [glob_escaped(empty_part(folder, kind).with_name(_NOT_LISTED))] for name, kind in KINDS.items()
    }


def empty_files(folder: Path) -> dict[str, list[str]]:
    """Return kind -> its part without rows."""
    return {name: [glob_escaped(empty_part(folder, kind))] for name, kind in KINDS.items()}


def execute(connection: duckdb.DuckDBPyConnection, store: Store, sql: str, params: Params) -> pl.DataFrame:
    """Fetch the parts that a query reads, and return its rows. Raises what DuckDB raises."""
    files: dict[str, list[Path]] = {}
    plan = _plan(connection, store, files, sql, params)
    _list_files(connection, store, files, *_narrowed(plan, len(files)))
    while True:
        try:
            return to_frame(connection, sql, params)
        except duckdb.IOException as error:  # from a query without a plan of its own, such as a PIVOT
            kind = _kind_not_listed(error)
            if kind is None or kind in files:
                raise
            files[kind] = []
            _list_files(connection, store, files, None, None)


def _plan(
    connection: duckdb.DuckDBPyConnection,
    store: Store,
    files: dict[str, list[Path]],
    sql: str,
    params: Params,
) -> Any:
    """Return the plan, and add the kinds that it reads to `files`; None if DuckDB makes no plan."""
    while True:
        try:
            rows = connection.execute(f"EXPLAIN (FORMAT json) {sql}", params).fetchall()
            return json.loads(rows[0][1]) if rows else None
        except duckdb.Error as error:
            kind = _kind_not_listed(error)
            if kind is None or kind in files:
                return None
            files[kind] = []
            _set_parts(connection, store, files)


def _narrowed(plan: Any, n_kinds: int) -> tuple[list[str] | None, list[str] | None]:
    """Return the requests and the runs that all scans of parts are limited to; None for no limit."""
    scans = [_filters(node) for node in _nodes(plan) if "READ_PARQUET" in str(node.get("name"))]
    if len(scans) < max(n_kinds, 1):
        return None, None
    requests, runs = (
        [scan[column] for scan in scans if column in scan] for column in ("request_hash", "run_id")
    )
    return (
        sorted(set().union(*requests)) if len(requests) == len(scans) else None,
        sorted(set().union(*runs)) if len(runs) == len(scans) else None,
    )


def _filters(scan: Mapping[str, Any]) -> dict[str, set[str]]:
    filters = scan.get("extra_info", {}).get("Filters", [])
    matches = [_FILTER.fullmatch(text) for text in ([filters] if isinstance(filters, str) else filters)]
    return {m[1]: set(re.findall(r"[\w.:-]+", m[2] or m[3])) for m in matches if m}


def _nodes(plan: Any) -> Iterator[Mapping[str, Any]]:
    for node in plan or []:
        yield node
        yield from _nodes(node.get("children"))


def _list_files(
    connection: duckdb.DuckDBPyConnection,
    store: Store,
    files: dict[str, list[Path]],
    requests: list[str] | None,
    runs: list[str] | None,
) -> None:
    """Fetch the registered parts of the kinds in `files`, and list them."""
    if not files:
        return
    values = {"kinds": list(files), "requests": requests, "runs": runs}
    parts = connection.execute(_PARTS, values).fetchall()
    store.fetch(parts)
    for kind in files:
        folder = empty_part(store.folder, KINDS[kind]).parent
        present = {file.stem for file in folder.glob("*.parquet")} if len(parts) > 100 else None
        names = [part for of_kind, part in parts if of_kind == kind and is_part_name(part)]
        paths = [folder / f"{name}.parquet" for name in names]
        paths = [p for p in paths if (p.stem in present if present is not None else p.exists())]
        check_files(paths)
        files[kind] = paths
    _set_parts(connection, store, files)


def _set_parts(
    connection: duckdb.DuckDBPyConnection, store: Store, files: Mapping[str, Sequence[Path]]
) -> None:
    listed = absent_files(store.folder)
    for kind, paths in files.items():
        listed[kind] = globs_of(store.folder, KINDS[kind], paths)
    list_parts(connection, listed)


def _kind_not_listed(error: duckdb.Error) -> str | None:
    match = _NAMED.search(str(error))
    return match[1] if match else None
