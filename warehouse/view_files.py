"""The views of the warehouse, read from their files: one for each evaluation; others have what these share.

A view is made after those that it reads, so the order of files and views is free.
"""

import hashlib
import re
import tomllib
from graphlib import TopologicalSorter
from itertools import zip_longest
from pathlib import Path

import duckdb

from warehouse.part_kinds import KINDS, kind_view, unit_rows_view
from warehouse.storage import WarehouseError, glob_escaped

FOLDER = Path(__file__).resolve().parent / "views"
_SHARED = "columns.toml"
_PARTS = "{parts}"  # in a view's text: the folder of parts
_DOUBTS = "{doubts}"  # in a view's text: the rows of all views <evaluation>_doubt
_VIEW = re.compile(r"^(?:--.*\n)*CREATE OR REPLACE (?:VIEW|MACRO) \"?(\w+)", re.MULTILINE)
_READS = re.compile(r"(?:\b(?:FROM|JOIN)\s+\"?|\b(?=\w+\())(\w+)")
"""Names after FROM and JOIN, and of functions."""
_NO_CODE = re.compile(r"--.*|'(?:[^']|'')*'")
_UNCOMMENTED = """
SELECT table_name, column_name FROM duckdb_columns() AS c JOIN duckdb_views() AS v ON v.view_oid = c.table_oid
WHERE v.database_name = current_database() AND c.comment IS NULL AND list_contains(?, column_name)
"""


def views() -> dict[str, tuple[str, str]]:
    """Return name of each view -> (name and source file, SQL), in the order of the files."""
    found = {name: (f"{name} of kinds/", kind_view(kind)) for name, kind in KINDS.items()}
    found["unit_rows"] = ("unit_rows of kinds/", unit_rows_view(KINDS.values()))
    doubts = []
    for file in sorted(FOLDER.glob("*.sql")):
        text = file.read_text(encoding="utf-8")
        begins = list(_VIEW.finditer(text))
        for view, after in zip_longest(begins, begins[1:]):
            found[view[1]] = (f"{view[1]} of {file}", text[view.start() : after and after.start()])
        doubts += [f"FROM {file.stem}_doubt"] if f"{file.stem}_doubt" in found else []
    all_doubts = "\nUNION ALL\n".join(doubts)
    return {name: (source, sql.replace(_DOUBTS, all_doubts)) for name, (source, sql) in found.items()}


def views_hash() -> str:
    """Return the SHA-256 of all views and of the comments on their shared columns."""
    texts = [*(sql for _, sql in views().values()), _comments()]
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def create_views(connection: duckdb.DuckDBPyConnection, root: str, *, of_parts: bool = False) -> None:
    """Create or replace the views of a home, whose folder or address is ``root``.

    Args:
        of_parts: create only those that read parts.
    """
    found = views()
    reads = {}
    for name, (_, sql) in found.items():
        words = set(_READS.findall(_NO_CODE.sub("", sql)))
        reads[name] = [other for other in found if other in words and other != name]
    # A view's text takes no parameters.
    parts = glob_escaped(f"{root}/parts").replace("'", "''")
    for source, sql in (found[name] for name in TopologicalSorter(reads).static_order()):
        if of_parts and _PARTS not in sql:
            continue
        try:
            connection.execute(sql.replace(_PARTS, parts))
        except duckdb.Error as error:
            raise WarehouseError(f"view {source} cannot be created: {error}. Correct the file.") from error
    shared = tomllib.loads(_comments())
    for view, column in connection.execute(_UNCOMMENTED, [[*shared]]).fetchall():
        connection.execute(f"COMMENT ON COLUMN {view}.{column} IS '{shared[column]}'")


def _comments() -> str:
    return (FOLDER / _SHARED).read_text(encoding="utf-8")
