"""Parameters of the ingest flow: the form in the Prefect UI and the options of the CLI."""

from __future__ import annotations

from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, model_validator

SourceName = Literal[
    "wikipedia-currencies",
    "wikipedia-religions",
    "wikidata",
    "timeanddate",
    "tasteatlas",
    "worldcuisines",
    "wvs",
    "fmlama",
]
NAMES: tuple[str, ...] = get_args(SourceName)


class IngestParams(BaseModel):
    """Sources to refresh, and limits below which their results are refused."""

    model_config = ConfigDict(extra="forbid")

    sources: list[SourceName] = Field(
        ["wikipedia-currencies", "wikipedia-religions", "wikidata"],
        min_length=1,
        description="sources to refresh",
    )
    files: list[str] = Field(
        [],
        description="files for the chosen source to read (worldcuisines, wvs, fmlama), or the URL of "
        "an export",
    )
    languages: list[str] = Field(
        ["en", "zh", "ar", "ko", "ru", "he"], min_length=1, description="wikidata: languages of labels"
    )
    endpoint: str = Field("https://query.wikidata.org/sparql", description="wikidata: the SPARQL endpoint")
    contact: str | None = Field(
        None, description="your e-mail address or a page about you, for the sources' operators; empty: the "
        "environment variable CULTUREMETER_CONTACT",
    )  # fmt: skip
    minimum: int | None = Field(
        None, ge=1, description="refuse a result with fewer items; empty: the source's own minimum"
    )
    max_shrinkage: float = Field(
        0.2, ge=0, le=1, description="refuse a list that lost a larger share since the last refresh"
    )

    @model_validator(mode="after")
    def _files_have_one_reader(self) -> IngestParams:
        if self.files and len(self.sources) > 1:
            raise ValueError("files belong to one source: name only that source")
        return self
