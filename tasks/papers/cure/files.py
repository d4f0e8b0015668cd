"""Benchmarks as published, and results and ratings in formats of ours, from the user's folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from tasks.packs.published import Lower, PublishedRow, Row, Text, read_all, read_rows
from tasks.papers.reproduction import Files, Options, Source, tried

BENCHMARKS = ("normad", "specnorm", "casa", "culturebank")
SOURCES = {
    source.name: source
    for source in (
        Source("normad", ("*normad*.csv", "*normad*.json*", "*normad*.parquet"), "as published"),
        Source(
            "specnorm",
            ("*specnorm*.csv", "*specnorm*.json*", "*specnorm*.parquet"),
            "columns country, persona, situation, question, label, norm, cues",
            is_ours=True,
        ),
        Source("casa", ("casa_s1_*.json", "*casa*.json"), "as published: pairs of adhere and violate files"),
        Source("culturebank", ("culturebank*.csv", "*culturebank*.parquet"), "as published"),
        Source(
            "results",
            ("*results*.csv", "*results*.jsonl", "*results*.json"),
            "CSV or JSON: model, benchmark, setting (thin or thick), item, gold, label (empty: unread), and "
            "of thick answers score, the judge's, 0 to 1; a model whose name begins with null is the null",
            is_ours=True,
        ),
        Source(
            "ratings",
            ("*ratings*.csv",),
            "CSV: metric (Coverage … or Binary Correctness), item, rater (judge: the LLM), score",
            is_ours=True,
        ),
    )
}


class CureReproduced(Options):
    """How files become numbers. Lists are tried in their order, until a cell's digits are met."""

    size: list[Literal["items", "rows"]] = tried(
        ["items", "rows"],
        "size of a benchmark: items, of which a CASA pair has two and repeated ones count once, or rows",
    )
    countries: list[Literal["places", "names"]] = tried(
        ["places", "names"],
        "countries of a benchmark: places that its names mean, or names as they are written",
    )
    unread: list[Literal["wrong", "left-out"]] = tried(
        ["wrong", "left-out"], "an answer without a label that could be read"
    )
    alpha_level: list[Literal["interval", "ordinal", "nominal"]] = tried(
        ["interval", "ordinal", "nominal"], "level of Krippendorff's alpha: the paper does not say"
    )
    names: dict[str, str] = Field(
        {}, description="model in the files = model in the paper; others by equal name, or by its first word"
    )


class Result(PublishedRow):
    """A model's answer to an item."""

    model: Text
    benchmark: Annotated[Literal["normad", "specnorm", "casa", "culturebank"], Lower]
    setting: Annotated[Literal["thin", "thick"], Lower]
    item: Text
    gold: Annotated[str, Lower, Field(min_length=1)]
    label: Annotated[str, Lower] = ""
    score: Annotated[float | None, Field(ge=0, le=1)] = None


class Rating(PublishedRow):
    """What a person, or the judge, gave an answer."""

    metric: Text
    item: Text
    rater: Text
    score: Annotated[float, Field(allow_inf_nan=False)]


@dataclass(frozen=True)
class Content:
    """What the folder has; ``benchmarks``: name -> file -> rows as published."""

    benchmarks: Mapping[str, Mapping[str, Sequence[Row]]]
    results: Sequence[Result]
    ratings: Sequence[Rating]


def read(files: Files, options: CureReproduced) -> tuple[Content, Sequence[str]]:
    """All files of the folder. Raises ValueError, which names the file and what is wrong with it."""
    benchmarks = {
        name: {str(path): read_rows(path) for path in files[name]} for name in BENCHMARKS if files[name]
    }
    results, notes = read_all(files["results"], Result)
    ratings, of_ratings = read_all(files["ratings"], Rating)
    keys = [(r.model, r.benchmark, r.setting, r.item) for r in results]
    if twice := len(keys) - len(set(keys)):
        notes.append(f"results: {twice} rows have an earlier one's item: all are counted")
    return Content(benchmarks, results, ratings), [*notes, *of_ratings]
