"""Checks parts against the hash in their names before a query reads them, once per process and file.

DuckDB reads a flipped bit as data: it checks no checksum of Parquet files. So before a query a process hashes
the parts of the kinds that the query can read, and remembers each file by inode, time and size. Only the next
process sees a bit that flips later without a change of these.
"""

import re
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path

import duckdb

from warehouse.literals import execute
from warehouse.part_kinds import EMPTY_PART, KINDS, is_file_as_written
from warehouse.storage import FileSign, WarehouseError, sign_of

_VIEWS = "SELECT view_name, sql FROM duckdb_views() WHERE database_name = current_database() AND NOT internal"
_LISTED = "SELECT unnest(getvariable('parts')[?])"

_sound: dict[str, FileSign] = {}
"""Path -> sign of the file when its content matched the hash in its name."""
_reads: tuple[object, dict[str, frozenset[str]]] = None, {}
"""Version of the published file, and view -> words in its SQL."""


def check_parts_of(connection: duckdb.DuckDBPyConnection, version: object, sql: str) -> None:
    """Raise WarehouseError if a part that a query can read differs from what was written.

    version: version of the published file; its views are read again only when it changes.
    """
    for kind in sorted(kinds_read(connection, version, sql)):
        execute(connection, _LISTED, [kind])
        check_files(re.sub(r"\[([*?[])\]", r"\1", str(glob)) for (glob,) in connection.fetchall())


def check_files(paths: Iterable[str | Path]) -> None:
    """Raise WarehouseError for the first file whose content does not match the hash in its name.

    The parts without rows have no hash and are only checked to be files.
    """
    signs = {path: sign_of(path) for path in map(str, paths)}
    new = [path for path, sign in signs.items() if sign and _sound.get(path) != sign]
    if not new:
        return
    with ThreadPoolExecutor(4) as pool:
        for path, is_sound in zip(new, pool.map(_is_sound, new), strict=True):
            if not is_sound:
                raise WarehouseError(
                    f"part {path} is corrupt: its content does not match the hash in its name. Run "
                    f"`culturemeter check`: it moves the part to quarantine/, and the next run answers its "
                    f"units again."
                )
            _sound[path] = signs[path] or (0, 0, 0)


def kinds_read(connection: duckdb.DuckDBPyConnection, version: object, sql: str) -> set[str]:
    """Return the part kinds named in a query or in a view that it names; maybe more than it reads.

    A query cannot read a view without naming it: functions that take names as texts are not allowed.
    """
    global _reads
    if _reads[0] != version:
        rows = connection.execute(_VIEWS).fetchall()
        _reads = version, {str(name).lower(): _words(text) for name, text in rows if name not in KINDS}
    views = _reads[1]
    words, visited = set(_words(sql)), set[str]()
    while new := (words & views.keys()) - visited:
        visited |= new
        words |= frozenset().union(*(views[name] for name in new))
    return words & KINDS.keys()


@lru_cache(1024)  # the views of the next version of the file have nearly all the same texts
def _words(sql: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", sql.lower()))


def _is_sound(path: str) -> bool:
    file = Path(path)
    if not file.is_file():  # reading a pipe would block
        return False
    return file.stem == EMPTY_PART or is_file_as_written(file)
