"""What a database was last brought up to date with (table `state`), and cheap signs of unchanged files."""

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import duckdb

__all__ = ["FileSign", "content_hash", "folder_signs", "read_state", "sign_of", "write_state"]

FileSign = tuple[int, int, int]
"""Inode, time of the last change in ns, and size: another content has another sign."""


def content_hash(files: Iterable[Path]) -> str:
    """SHA-256 of the files' names and contents, in the order given."""
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{file.name}\n".encode())
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


def read_state(connection: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """All of the table, name -> value."""
    return dict(connection.execute("SELECT name, value FROM state").fetchall())


def write_state(connection: duckdb.DuckDBPyConnection, values: Mapping[str, str]) -> None:
    """Set these names; others stay."""
    for name, value in values.items():
        connection.execute("INSERT OR REPLACE INTO state VALUES (?, ?)", [name, value])


def sign_of(file: Path) -> FileSign | None:
    """The sign of one file, or None if there is none."""
    try:
        return _sign(os.stat(file))
    except FileNotFoundError:
        return None


def folder_signs(folders: Iterable[Path]) -> frozenset[tuple[str, FileSign]]:
    """Path and sign of every file under the folders: 0.3 ms for a hundred."""
    return frozenset(pair for folder in folders for pair in _walk(os.fspath(folder)))


def _walk(folder: str) -> Iterator[tuple[str, FileSign]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                yield from _walk(entry.path)
            else:
                yield entry.path, _sign(entry.stat())


def _sign(stat: os.stat_result) -> FileSign:
    return stat.st_ino, stat.st_mtime_ns, stat.st_size
