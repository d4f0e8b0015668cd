"""The published tables as Parquet files, with the comments of their columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from io import BytesIO
from pathlib import Path

import polars as pl

from deployments.publish.rule import PROMPTS, credentials, published, refuse_secrets
from deployments.show.display import to_csv
from warehouse import Warehouse

FOLDER = "data"

_TABLES = """
SELECT table_name AS name, comment FROM duckdb_tables() WHERE NOT internal
UNION ALL SELECT view_name, comment FROM duckdb_views() WHERE NOT internal
"""
_COLUMNS = """
SELECT table_name, column_name, data_type, comment FROM duckdb_columns()
WHERE NOT internal ORDER BY column_index
"""


@dataclass(frozen=True)
class Column:
    """One column. sql: its type in SQL; dtype: in the file."""

    name: str
    comment: str
    sql: str
    dtype: pl.DataType


@dataclass(frozen=True)
class Table:
    """A table or view as a file. file: its path in the site; digest: SHA-256 of the file."""

    name: str
    comment: str
    columns: tuple[Column, ...]
    n_rows: int
    file: str
    n_bytes: int
    digest: str


def write_tables(
    warehouse: Warehouse, site: Path, include_answers: bool, tell: Callable[[str], None]
) -> list[Table]:
    """Write what ``rule.published`` names and has rows to ``data/<name>.parquet``, in alphabetical order.

    Rows are in the order of all their columns, so that the same rows give the same bytes.

    Raises:
        WarehouseError: a part cannot be read, or a value is a secret of this process.
    """
    (site / FOLDER).mkdir()
    hidden = frozenset() if include_answers else PROMPTS
    return list(_written(warehouse, site, published(warehouse, include_answers), hidden, tell))


def _written(
    warehouse: Warehouse, site: Path, names: list[str], hidden: frozenset[str], tell: Callable[[str], None]
) -> Iterator[Table]:
    """hidden: columns that are left out."""
    comments = dict(warehouse.query(_TABLES).iter_rows())
    described: dict[str, list[tuple[str, str, str | None]]] = {}
    for table, *column in warehouse.query(_COLUMNS).iter_rows():
        described.setdefault(table, []).append((column[0], column[1], column[2]))
    secret = any(credentials())
    for name in names:
        tell(f"table {name}")
        frame = _plain(warehouse.query(f'FROM "{name}" ORDER BY ALL').drop(hidden, strict=False))
        if frame.is_empty():
            continue
        if secret:
            refuse_secrets(to_csv(frame), f"the table {name}")
        content = BytesIO()
        frame.write_parquet(content)
        file = f"{FOLDER}/{name}.parquet"
        (site / file).write_bytes(content.getvalue())
        columns = (
            Column(c, note or "", sql, frame.schema[c])
            for c, sql, note in described[name]
            if c in frame.schema
        )
        yield Table(
            name=name,
            comment=comments.get(name) or "",
            columns=tuple(columns),
            n_rows=frame.height,
            file=file,
            n_bytes=content.tell(),
            digest=sha256(content.getvalue()).hexdigest(),
        )


def _plain(frame: pl.DataFrame) -> pl.DataFrame:
    """Types that every reader of Parquet knows: no integers of 128 bits, no columns of nothing."""
    odd = {pl.Int128: pl.Float64, pl.Null: pl.String}
    return frame.cast(
        {name: odd[dtype.base_type()] for name, dtype in frame.schema.items() if dtype.base_type() in odd}
    )
