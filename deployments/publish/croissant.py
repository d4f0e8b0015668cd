"""Croissant 1.0 metadata of the published tables (Akhtar et al. 2024, docs.mlcommons.org/croissant)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import polars as pl

from deployments.publish.data import Table

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
class About:
    """What a site says of itself. Of licence, creator and address None is: nothing is said.

    Attributes:
        licence: of the numbers: an SPDX identifier or an address.
        creator: who publishes it.
        cite: how to cite it; None: title, creator and date.
        url: where it will be.
    """

    title: str
    licence: str | None = None
    creator: str | None = None
    cite: str | None = None
    url: str | None = None

    def citation(self, date: datetime | None) -> str:
        """How to cite it. date: of the newest run."""
        said = (self.creator, f"{date:%Y}" if date else None, self.title, self.url)
        return self.cite or ". ".join(filter(None, said)) + ". Measured with Culturescope."

    def licence_url(self) -> str | None:
        """The address of the licence; that of an SPDX identifier is SPDX's."""
        if self.licence is None or self.licence.startswith(("http://", "https://")):
            return self.licence
        return f"https://spdx.org/licenses/{self.licence}.html"


def croissant(tables: Sequence[Table], about: About, version: str, date: datetime | None) -> str:
    """The JSON-LD text. version: of Culturescope; date: when the newest run ended."""
    said = {
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
        "history and every number that they rest on, with what was scored and unscored, intervals and null "
        "models.",
        "citeAs": about.citation(date),
        "version": version,
        **{name: value for name, value in said.items() if value},
        "distribution": [_file(table) for table in tables],
        "recordSet": [_records(table) for table in tables],
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _file(table: Table) -> dict[str, Any]:
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


def _records(table: Table) -> dict[str, Any]:
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
    """Of a column, or of what is in its lists; what has parts of its own counts as text."""
    if isinstance(dtype, pl.List):
        return _type(dtype.inner)  # type: ignore[arg-type]
    if dtype.is_integer():
        return "sc:Integer"
    if dtype.is_numeric():
        return "sc:Float"
    known = {pl.Boolean: "sc:Boolean", pl.Date: "sc:Date", pl.Datetime: "sc:DateTime"}
    return known.get(dtype.base_type(), "sc:Text")
