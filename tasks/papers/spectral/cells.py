"""Tables 1 and 4 of Measuring Meta-Cultural Competency (2025), which publishes no files: formats are ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import polars as pl
from pydantic import Field

from tasks.metrics.agreement import er_sr_correlation
from tasks.metrics.spectral import effective_rank, eigenvalues, softmax, spectral_gap_ratio
from tasks.metrics.types import FloatArray
from tasks.packs.published import BenchmarkError, PublishedRow, Text, read_all, read_parquet
from tasks.papers.reproduction import Files, Options, Printed, Recomputed, Source, Tools, model_names, tried

SOURCES = {
    source.name: source
    for source in (
        Source(
            "rankings",
            ("*rankings*.csv", "*survey*.csv"),
            "CSV: participant, domain (as in Table 1), rank (1: the most common across countries)",
            is_ours=True,
        ),
        Source("items", ("*items*.csv",), "CSV: domain, item", is_ours=True),
        Source(
            "probabilities",
            ("probabilities/*/*.csv", "probabilities/*/*.parquet"),
            "a file a question in a folder a model, probabilities/MODEL/QUESTION.csv: the column country, "
            "then one column an item, with probabilities or natural-log probabilities (none above 0)",
            is_ours=True,
        ),
        Source(
            "spectra",
            ("*spectra*.csv", "*er_sr*.csv"),
            "CSV: model, question, er, sr; for models without probabilities",
            is_ours=True,
        ),
    )
}
NO_FILE = "no published file holds it"


class SpectralReproduced(Options):
    """How files become numbers. Lists are tried in their order, until a cell's digits are met."""

    ddof: list[Literal[0, 1]] = tried(
        [1, 0], "of the standard deviations in Table 1: divided by n - 1, or by n"
    )
    correlation: list[Literal["pearson", "spearman"]] = tried(
        ["pearson", "spearman"], "which correlation of ER and SR Table 4 has: the paper does not say"
    )
    names: dict[str, str] = Field(
        {}, description="model in the files = model in the paper; others by equal name, or by its first word"
    )
    seed: int = Field(0, ge=0, description="of the shuffled items behind the null of Table 4")


class RankedDomain(PublishedRow):
    """A participant's rank of a domain."""

    participant: Text
    domain: Text
    rank: Annotated[float, Field(gt=0, allow_inf_nan=False)]


class ListedItem(PublishedRow):
    """An item of a domain's list."""

    domain: Text
    item: Text


class Spectrum(PublishedRow):
    """ER and SR of a model's answers to a question; SR may be infinite."""

    model: Text
    question: Text
    er: Annotated[float, Field(ge=1, allow_inf_nan=False)]
    sr: Annotated[float, Field(ge=1)]


@dataclass(frozen=True)
class Content:
    """What the folder has; ``probabilities``: model -> question -> countries x items."""

    rankings: Sequence[RankedDomain]
    items: Sequence[ListedItem]
    spectra: Sequence[Spectrum]
    probabilities: Mapping[str, Mapping[str, FloatArray]]


def read(files: Files, options: SpectralReproduced) -> tuple[Content, Sequence[str]]:
    """All files of the folder. Raises ValueError, which names the file and what is wrong with it."""
    rankings, notes = read_all(files["rankings"], RankedDomain)
    items, of_items = read_all(files["items"], ListedItem)
    spectra, of_spectra = read_all(files["spectra"], Spectrum)
    probabilities: dict[str, dict[str, FloatArray]] = {}
    for path in files["probabilities"]:
        probabilities.setdefault(path.parent.name, {})[path.stem] = _matrix(path)
    return Content(rankings, items, spectra, probabilities), [*notes, *of_items, *of_spectra]


def cells(
    content: Content, options: SpectralReproduced, tools: Tools, printed: Sequence[Printed]
) -> list[Recomputed]:
    """A number for each printed cell; options that are tried have one value."""
    models = {cell.model for cell in tools.printed if cell.model}
    labels = {*content.probabilities, *(row.model for row in content.spectra)}
    label_of = {name: label for label, name in model_names(labels, models, options.names).items()}
    return [_cell(cell, content, options, label_of) for cell in printed]


def further(content: Content, options: SpectralReproduced, tools: Tools) -> list[tuple[Printed, Recomputed]]:
    """Effective rank and spectral gap ratio of every model and question; null: items shuffled by country."""
    return [
        (
            Printed("Figures 5 and 6", model, {"question": question}, metric, "", None, "score"),
            Recomputed(own[i], null=shuffled[i], null_name="items shuffled", n=len(table)),
        )
        for model, tables in content.probabilities.items()
        for question, table in tables.items()
        for own, shuffled in [(_spectrum(table), _spectrum(_shuffled(table, options.seed)))]
        for i, metric in enumerate(("ER", "SR"))
    ]


def _cell(
    cell: Printed, content: Content, options: SpectralReproduced, label_of: Mapping[str, str]
) -> Recomputed:
    match cell.metric:
        case "Avg Score" | "Std Dev":
            return _ranked(cell, content, options)
        case "# Items":
            return _counted(cell.parts["domain"], content)
        case "Correlation":
            return _correlation(label_of.get(cell.model), content, options)
    return Recomputed(reason=NO_FILE)


def _ranked(cell: Printed, content: Content, options: SpectralReproduced) -> Recomputed:
    """Mean rank of a domain, or its standard deviation; null: ranks dealt out at random."""
    if not content.rankings:
        return Recomputed(reason=SOURCES["rankings"].missing)
    domain = cell.parts["domain"].casefold()
    ranks = np.array([row.rank for row in content.rankings if row.domain.casefold() == domain])
    every = np.array([row.rank for row in content.rankings])
    if not ranks.size:
        return Recomputed(reason=f"no ranking of {cell.parts['domain']}")
    if cell.metric == "Avg Score":
        return Recomputed(float(ranks.mean()), null=float(every.mean()), null_name="random", n=ranks.size)
    ddof = options.ddof[0]
    if ranks.size <= ddof:
        return Recomputed(reason="a standard deviation needs two participants")
    return Recomputed(
        float(ranks.std(ddof=ddof)), null=float(every.std(ddof=ddof)), null_name="random", n=ranks.size
    )


def _counted(domain: str, content: Content) -> Recomputed:
    if not content.items:
        return Recomputed(reason=SOURCES["items"].missing)
    n = len({row.item for row in content.items if row.domain.casefold() == domain.casefold()})
    return Recomputed(float(n), n=n) if n else Recomputed(reason=f"no item of {domain}")


def _correlation(label: str | None, content: Content, options: SpectralReproduced) -> Recomputed:
    """Over a model's questions; null: the same where each country's probabilities are dealt out to items at
    random, so that what countries share is chance."""
    method, tables = options.correlation[0], content.probabilities.get(label or "", {})
    if tables:
        spectra = [_spectrum(table) for table in tables.values()]
        chance = [_spectrum(_shuffled(table, options.seed)) for table in tables.values()]
    else:
        spectra, chance = [(row.er, row.sr) for row in content.spectra if row.model == label], []
    if not spectra:
        wanted = [SOURCES[name].missing for name in ("probabilities", "spectra")]
        return Recomputed(reason=f"{' and '.join(wanted)} of that model")
    (er, sr), (chance_er, chance_sr) = np.array(spectra).T, np.array(chance).reshape(-1, 2).T
    own = er_sr_correlation(er, sr, method)
    null = er_sr_correlation(chance_er, chance_sr, method) if chance else None
    if own.value is None:
        return Recomputed(reason=own.reason or "")
    shuffled = null.value if null else None
    return Recomputed(
        own.value, null=shuffled, null_name="items shuffled" * (shuffled is not None), n=len(spectra)
    )


def _spectrum(table: FloatArray) -> tuple[float, float]:
    values = eigenvalues(table)
    return effective_rank(values), spectral_gap_ratio(values)


def _shuffled(table: FloatArray, seed: int) -> FloatArray:
    shuffled: FloatArray = np.random.Generator(np.random.PCG64(seed)).permuted(table, axis=1)
    return shuffled


def _matrix(path: Path) -> FloatArray:
    """Countries x items as probabilities. Raises BenchmarkError."""
    try:
        frame = read_parquet(path) if path.suffix == ".parquet" else pl.read_csv(path, infer_schema=False)
        table = frame.drop("country").cast(pl.Float64).to_numpy()
    except (OSError, pl.exceptions.PolarsError) as error:
        first = str(error).splitlines()[0]
        raise BenchmarkError(f"{path}: not countries by items: {first}") from error
    if table.shape[0] < 2 or table.shape[1] < 1 or frame["country"].is_duplicated().any():
        raise BenchmarkError(f"{path}: two countries are needed, each once, and an item")
    if not np.isnan(table).any() and (table <= 0).all():
        return softmax(table, names=frame["country"].to_list())
    if not ((table >= 0) & np.isfinite(table)).all() or not table.any(axis=1).all():
        raise BenchmarkError(
            f"{path}: neither probabilities nor log-probabilities: a cell is below 0 among others above it, "
            "empty, or a country has none above 0"
        )
    return table
