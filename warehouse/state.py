"""The table `state`: what the database was last brought up to date with."""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

import duckdb

__all__ = ["content_hash", "read_state", "write_state"]


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
