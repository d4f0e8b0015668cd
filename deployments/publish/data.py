"""Write the published tables as Parquet files, with column comments and Croissant metadata."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import polars as pl

from deployments.publish.rule import PROMPTS, credentials, published, refuse_secrets, without_folders
from deployments.show.display import to_csv
from warehouse import Warehouse

FOLDER = "data"
OPTIONS = "params"
"""Column with a run's options as JSON; some of them name the user's files."""

_TABLES = """
SELECT table_name AS name, comment FROM duckdb_tables() WHERE NOT internal
UNION ALL SELECT view_name, comment FROM duckdb_views() WHERE NOT internal
"""
_COLUMNS = """
SELECT table_name, column_name, data_type, comment FROM duckdb_columns()
WHERE NOT internal ORDER BY column_index
"""


@dataclass(frozen=True)
class PublishedColumn:
    """One column. sql: its type in SQL; dtype: its type in the file."""

    name: str
    comment: str
    sql: str
    dtype: pl.DataType


@dataclass(frozen=True)
class PublishedTable:
    """A table or view as a file. file: its path in the site; digest: SHA-256 of the file."""

    name: str
    comment: str
    columns: tuple[PublishedColumn, ...]
    n_rows: int
    file: str
    n_bytes: int
    digest: str


def write_tables(
    warehouse: Warehouse, site: Path, include_answers: bool, progress: Callable[[str], None]
) -> list[PublishedTable]:
    """Write the non-empty tables of ``rule.published`` to ``data/<name>.parquet``, in alphabetical order.

    Rows are sorted by all columns, so that equal rows give equal bytes.

    Raises:
        WarehouseError: a part cannot be read, or a value is a secret of this process.
    """
    (site / FOLDER).mkdir()
    hidden = frozenset() if include_answers else PROMPTS
    return list(_written(warehouse, site, published(warehouse, include_answers), hidden, progress))


def _written(
    warehouse: Warehouse,
    site: Path,
    names: list[str],
    hidden: frozenset[str],
    progress: Callable[[str], None],
) -> Iterator[PublishedTable]:
    """Write each table and yield its description; ``hidden`` columns are left out."""
    comments = dict(warehouse.query(_TABLES).iter_rows())
    described: dict[str, list[tuple[str, str, str | None]]] = {}
    for table, *column in warehouse.query(_COLUMNS).iter_rows():
        described.setdefault(table, []).append((column[0], column[1], column[2]))
    secret = any(credentials())
    for name in names:
        progress(f"table {name}")
        frame = _with_common_types(warehouse.query(f'FROM "{name}" ORDER BY ALL').drop(hidden, strict=False))
        if OPTIONS in frame.columns:
            cells = [None if cell is None else without_folders(cell) for cell in frame[OPTIONS]]
            frame = frame.with_columns(pl.Series(OPTIONS, cells, pl.String))
        if frame.is_empty():
            continue
        if secret:
            refuse_secrets(to_csv(frame), f"the table {name}")
        content = BytesIO()
        frame.write_parquet(content)
        file = f"{FOLDER}/{name}.parquet"
        (site / file).write_bytes(content.getvalue())
        columns = (
            PublishedColumn(c, note or "", sql, frame.schema[c])
            for c, sql, note in described[name]
            if c in frame.schema
        )
        yield PublishedTable(
            name=name,
            comment=comments.get(name) or "",
            columns=tuple(columns),
            n_rows=frame.height,
            file=file,
            n_bytes=content.tell(),
            digest=sha256(content.getvalue()).hexdigest(),
        )


def _with_common_types(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a frame with types that every Parquet reader knows: no 128-bit integers, no null type."""
    odd = {pl.Int128: pl.Float64, pl.Null: pl.String}
    return frame.cast(
        {name: odd[dtype.base_type()] for name, dtype in frame.schema.items() if dtype.base_type() in odd}
    )


_CONTEXT: Final = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    **{name: f"cr:{name}" for name in (
        "citeAs", "column", "equivalentProperty", "extract", "field", "fileProperty", "fileObject", "fileSet",
        "format", "includes", "isLiveDataset", "jsonPath", "key", "md5", "parentField", "path", "recordSet",
        "references", "regex", "repeated", "replace", "samplingRate", "separator", "source", "subField",
        "transform",
    )},
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "rai": "http://mlcommons.org/croissant/RAI/",
    "sc": "https://schema.org/",
}  # fmt: skip


@dataclass(frozen=True)
class SiteAbout:
    """A site's description of itself; a licence, creator or URL of None is not stated.

    Attributes:
        licence: licence of the numbers, an SPDX identifier or a URL.
        creator: the publisher.
        cite: the citation; None makes it from creator, date, title and URL.
        url: where the site will be.
    """

    title: str
    licence: str | None = None
    creator: str | None = None
    cite: str | None = None
    url: str | None = None

    def citation(self, date: datetime | None) -> str:
        """Return the citation. date: the newest run's."""
        parts = (self.creator, f"{date:%Y}" if date else None, self.title, self.url)
        return self.cite or ". ".join(filter(None, parts)) + ". Measured with Culturemeter."

    def licence_url(self) -> str | None:
        """Return the licence's URL; an SPDX identifier has a page at spdx.org."""
        if self.licence is None or self.licence.startswith(("http://", "https://")):
            return self.licence
        return f"https://spdx.org/licenses/{self.licence}.html"


def croissant(tables: Sequence[PublishedTable], about: SiteAbout, version: str, date: datetime | None) -> str:
    """Return the JSON-LD text. version: Culturemeter's; date: when the newest run ended."""
    optional = {
        "license": about.licence_url(),
        "creator": {"@type": "Organization", "name": about.creator} if about.creator else None,
        "url": about.url,
        "datePublished": date and f"{date:%Y-%m-%d}",
    }
    content = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": about.title,
        "description": "How well language models know and handle the world's cultures: leaderboards, their "
        "history and every number behind them, with counts of scored and unscored answers, intervals and "
        "null models.",
        "citeAs": about.citation(date),
        "version": version,
        **{name: value for name, value in optional.items() if value},
        "distribution": [_file(table) for table in tables],
        "recordSet": [_records(table) for table in tables],
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _file(table: PublishedTable) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": table.file,
        "name": table.file,
        "description": table.comment,
        "contentUrl": table.file,
        "contentSize": f"{table.n_bytes} B",
        "encodingFormat": "application/x-parquet",
        "sha256": table.digest,
    }


def _records(table: PublishedTable) -> dict[str, Any]:
    fields = []
    for column in table.columns:
        is_list = isinstance(column.dtype, pl.List)
        field = {
            "@type": "cr:Field",
            "@id": f"{table.name}/{column.name}",
            "name": column.name,
            "description": column.comment,
            "dataType": _type(column.dtype),
            "source": {"fileObject": {"@id": table.file}, "extract": {"column": column.name}},
        }
        fields.append(field | ({"repeated": True} if is_list else {}))
    return {
        "@type": "cr:RecordSet",
        "@id": table.name,
        "name": table.name,
        "description": table.comment,
        "field": fields,
    }


def _type(dtype: pl.DataType) -> str:
    """Return the type of a column, or of its lists' elements; nested types count as text."""
    if isinstance(dtype, pl.List):
        return _type(dtype.inner)  # type: ignore[arg-type]
    if dtype.is_integer():
        return "sc:Integer"
    if dtype.is_numeric():
        return "sc:Float"
    known = {pl.Boolean: "sc:Boolean", pl.Date: "sc:Date", pl.Datetime: "sc:DateTime"}
    return known.get(dtype.base_type(), "sc:Text")
