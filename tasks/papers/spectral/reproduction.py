"""Reproduces tables 1, 4 and figures 2, 5, 6 of Measuring Meta-Cultural Competency (2025) from files in this
project's formats.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import polars as pl
from pydantic import Field
from rapidfuzz.fuzz import ratio

from tasks.data import TableError
from tasks.data import table as read_table
from tasks.metrics.agreement import er_sr_correlation
from tasks.metrics.classification import f1_per_class, lower_median, macro_f1
from tasks.metrics.spectral import (
    effective_rank,
    eigenvalues,
    er_sr_category,
    softmax,
    spectral_gap_ratio,
)
from tasks.metrics.types import CATEGORIES, FloatArray
from tasks.packs.published import PublishedRow, Text, read_all, read_each
from tasks.papers.reproduction import (
    Files,
    Named,
    Numbers,
    Options,
    PrintedCell,
    RecomputedCell,
    Reproduction,
    SourceFiles,
    by_name,
    model_names,
    renamed_field,
    tried_field,
)

SOURCES = by_name(
    SourceFiles(
        "rankings",
        ("*rankings*.csv", "*survey*.csv"),
        "CSV: participant, domain (as in Table 1), rank (1: the most common across countries)",
        is_ours=True,
    ),
    SourceFiles("items", ("*items*.csv",), "CSV: domain, item", is_ours=True),
    SourceFiles(
        "probabilities",
        ("probabilities/*/*.csv", "probabilities/*/*.parquet"),
        "one file per model and question, probabilities/MODEL/QUESTION.csv: the column country, then one "
        "column per item, with probabilities or natural-log probabilities (none above 0)",
        is_ours=True,
    ),
    SourceFiles(
        "spectra",
        ("*spectra*.csv", "*er_sr*.csv"),
        "CSV: model, question, er, sr; for models without probabilities",
        is_ours=True,
    ),
)
NO_FILE = "no published file has it"
FIGURE_2, SPECTRA = "Figure 2", "Figures 5 and 6"
QUESTIONS = 27
"""Number of the paper's questions: three for each domain of table 1."""
SAME_NAME = 85.0
"""Least similarity of two names of a domain, in [0, 100] (``rapidfuzz.fuzz.ratio``)."""


class SpectralReproduced(Options):
    """Choices that the paper leaves open.

    Values of a list are tried in order until a cell's digits are met.
    """

    ddof: list[Literal[0, 1]] = tried_field(
        [1, 0], "standard deviations in Table 1: divided by n - 1, or by n"
    )
    correlation: list[Literal["pearson", "spearman"]] = tried_field(
        ["pearson", "spearman"], "correlation of ER and SR in Table 4, which the paper does not name"
    )
    names: dict[str, str] = renamed_field()
    seed: int = Field(0, ge=0, description="seed of the shuffled items behind the null of Table 4")


class RankedDomain(PublishedRow):
    """A participant's rank for a domain."""

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
class SpectralFiles:
    """Contents of the folder. probabilities: model -> question -> countries x items."""

    rankings: Sequence[RankedDomain]
    items: Sequence[ListedItem]
    spectra: Sequence[Spectrum]
    probabilities: Mapping[str, Mapping[str, FloatArray]]


def read(files: Files, options: SpectralReproduced) -> tuple[SpectralFiles, Sequence[str]]:
    """Read all files of the folder. Raises ValueError, which names the file and its fault."""
    rankings, notes = read_all(files["rankings"], RankedDomain)
    items, item_notes = read_all(files["items"], ListedItem)
    spectra, spectrum_notes = read_all(files["spectra"], Spectrum)
    probabilities: dict[str, dict[str, FloatArray]] = {}
    for path, matrix in read_each(files["probabilities"], _matrix, notes).items():
        probabilities.setdefault(path.parent.name, {})[path.stem] = matrix
    return SpectralFiles(rankings, items, spectra, probabilities), [*notes, *item_notes, *spectrum_notes]


class SpectralNumbers(Numbers[SpectralFiles, SpectralReproduced]):
    """People's rankings, sizes of lists, and spectra of probabilities."""

    def _number(self, cell: PrintedCell) -> RecomputedCell:
        match cell.metric:
            case "Avg Score" | "Std Dev":
                return self._ranked(cell)
            case "# Items":
                return self._counted(cell.parts["domain"])
            case "Correlation":
                return self._correlation(self.label_of.get(cell.model, ""))
        return RecomputedCell(reason=NO_FILE)

    def further(self) -> Iterator[tuple[PrintedCell, RecomputedCell]]:
        """Yield effective rank and spectral gap ratio by model and question, then categories and F1; the null
        shuffles items by country.
        """
        yield from self._scored()
        for model, tables in self.content.probabilities.items():
            for question, table in tables.items():
                values, shuffled = _spectrum(table), _spectrum(self._shuffled(table))
                for metric, value, null in zip(("ER", "SR"), values, shuffled, strict=True):
                    cell = PrintedCell(SPECTRA, model, {"question": question}, metric)
                    yield cell, RecomputedCell(value, null=null, null_name="items shuffled", n=len(table))

    def _scored(self) -> Iterator[tuple[PrintedCell, RecomputedCell]]:
        """Yield figure 2: macro-F1 and each category's F1 of models against people (table 1). High and low
        are relative to the medians over all questions and models of the files (section 3.3). The null is the
        mean over guesses of a single category for all questions. A question of no domain has a reason.
        """
        spectra = {}
        for model, questions in self._spectra().items():
            for question, spectrum in questions.items():
                if self._human(question):
                    spectra[model, question] = spectrum
                else:
                    cell = PrintedCell(FIGURE_2, model, {"question": question}, "as people")
                    yield cell, RecomputedCell(reason=f"{question!r} is named like no domain of table 1")
        if not spectra:
            return
        er, sr = lower_median(list(spectra.values()))
        for model in dict.fromkeys(model for model, _ in spectra):
            categories = {
                q: er_sr_category(e > er, s > sr) for (m, q), (e, s) in spectra.items() if m == model
            }
            human = [self._human(question) for question in categories]
            values = list(categories.values())
            guesses = [macro_f1(human, [category] * len(human)) for category in CATEGORIES]
            numbers = {"macro-F1": macro_f1(human, values)}
            numbers |= {f"F1 {name}": f1 for name, f1 in f1_per_class(human, values).items() if name in human}
            n = len(categories)
            reason = "" if n == QUESTIONS else f"over {n} questions, of which the paper has {QUESTIONS}"
            for metric, value in numbers.items():
                null = float(np.mean(guesses)) if metric == "macro-F1" else None
                cell = PrintedCell(FIGURE_2, model, {}, metric)
                yield cell, RecomputedCell(value, reason, null, "one category for all", n)
            for question, category in categories.items():
                cell = PrintedCell(FIGURE_2, model, {"question": question, "category": category}, "as people")
                yield cell, RecomputedCell(float(category == self._human(question)), n=1)

    def _spectra(self) -> dict[str, dict[str, tuple[float, float]]]:
        """Return model -> question -> ER and SR, computed from probabilities or taken from a file."""
        spectra = {
            model: {question: _spectrum(table) for question, table in tables.items()}
            for model, tables in self.content.probabilities.items()
        }
        for row in self.content.spectra:
            if row.model not in self.content.probabilities:
                spectra.setdefault(row.model, {})[row.question] = (row.er, row.sr)
        return spectra

    def _human(self, question: str) -> str:
        """Return people's category of a question's domain; "" if its name begins like no domain."""
        domains = {
            _words(str(row[column])): str(row["human_category"])
            for row in self.tools.tables.get("domain", ())
            for column in ("domain", "label")
        }
        name = _words(question)
        likeness = {words: ratio(" ".join(name[: len(words)]), " ".join(words)) for words in domains}
        nearest = max(likeness, key=lambda words: (likeness[words], len(words)), default=())
        return domains[nearest] if nearest and likeness[nearest] >= SAME_NAME else ""

    @cached_property
    def known_names(self) -> Sequence[Named]:
        printed = {cell.parts["domain"].casefold() for cell in self.tools.printed if "domain" in cell.parts}
        ranked, listed = (
            {row.domain.casefold() for row in rows} for rows in (self.content.rankings, self.content.items)
        )
        models = {cell.model for cell in self.tools.printed if cell.model}
        labels = {*self.content.probabilities, *(row.model for row in self.content.spectra)}
        found = model_names(labels, models, self.options.names).values()
        return [
            Named("ranked domains", ranked, printed), Named("domains with items", listed, printed),
            Named("models", set(found), models),
        ]  # fmt: skip

    @cached_property
    def label_of(self) -> dict[str, str]:
        """Return model in the paper -> its label in the files."""
        models = {cell.model for cell in self.tools.printed if cell.model}
        labels = {*self.content.probabilities, *(row.model for row in self.content.spectra)}
        return {name: label for label, name in model_names(labels, models, self.options.names).items()}

    def _ranked(self, cell: PrintedCell) -> RecomputedCell:
        """Return the mean rank of a domain, or its standard deviation; the null is random ranks."""
        if not self.content.rankings:
            return RecomputedCell(reason=SOURCES["rankings"].missing)
        domain, ddof = cell.parts["domain"].casefold(), self.options.ddof[0]
        ranks = np.array([row.rank for row in self.content.rankings if row.domain.casefold() == domain])
        all_ranks = np.array([row.rank for row in self.content.rankings])
        if not ranks.size:
            return RecomputedCell(reason=f"no ranking of {cell.parts['domain']}")
        if cell.metric == "Avg Score":
            value, null = ranks.mean(), all_ranks.mean()
        elif ranks.size > ddof:
            value, null = ranks.std(ddof=ddof), all_ranks.std(ddof=ddof)
        else:
            return RecomputedCell(reason="a standard deviation needs two participants")
        return RecomputedCell(float(value), null=float(null), null_name="random", n=ranks.size)

    def _counted(self, domain: str) -> RecomputedCell:
        if not self.content.items:
            return RecomputedCell(reason=SOURCES["items"].missing)
        n = len({row.item for row in self.content.items if row.domain.casefold() == domain.casefold()})
        return RecomputedCell(float(n), n=n) if n else RecomputedCell(reason=f"no item of {domain}")

    def _correlation(self, label: str) -> RecomputedCell:
        """Return the correlation over a model's questions.

        The null shuffles each country's probabilities over items, so that countries agree only by chance.
        """
        tables = self.content.probabilities.get(label, {}).values()
        spectra = [_spectrum(table) for table in tables] or [
            (row.er, row.sr) for row in self.content.spectra if row.model == label
        ]
        if not spectra:
            missing = [SOURCES[name].missing for name in ("probabilities", "spectra")]
            return RecomputedCell(reason=f"{' and '.join(missing)} of that model")
        method = self.options.correlation[0]
        er, sr = np.array(spectra).T
        result = er_sr_correlation(er, sr, method)
        if result.value is None:
            return RecomputedCell(reason=result.reason or "")
        er, sr = np.array([_spectrum(self._shuffled(table)) for table in tables]).reshape(-1, 2).T
        null = er_sr_correlation(er, sr, method).value if tables else None
        return RecomputedCell(result.value, null=null, null_name="items shuffled", n=len(spectra))

    def _shuffled(self, table: FloatArray) -> FloatArray:
        generator = np.random.Generator(np.random.PCG64(self.options.seed))
        shuffled: FloatArray = generator.permuted(table, axis=1)
        return shuffled


def _words(text: str) -> tuple[str, ...]:
    """Return the words of a name without digits, signs, "the" and an s at their end."""
    words = re.findall(r"[^\W\d_]+", text.casefold())
    return tuple(word.removesuffix("s") for word in words if word != "the")


def _spectrum(table: FloatArray) -> tuple[float, float]:
    values = eigenvalues(table)
    return effective_rank(values), spectral_gap_ratio(values)


def _matrix(path: Path) -> FloatArray:
    """Return countries x items as probabilities. Raises TableError."""
    try:
        frame = pl.DataFrame([dict(row.cells) for row in read_table(path)], infer_schema_length=None)
        table = frame.drop("country").cast(pl.Float64).to_numpy()
    except pl.exceptions.PolarsError as error:
        message = str(error).splitlines()[0]
        raise TableError(f"{path}: not countries by items: {message}") from error
    if table.shape[0] < 2 or table.shape[1] < 1 or frame["country"].is_duplicated().any():
        raise TableError(f"{path}: at least two countries, each once, and one item are needed")
    if not np.isnan(table).any() and (table <= 0).all():
        return softmax(table, names=frame["country"].to_list())
    if not ((table >= 0) & np.isfinite(table)).all() or not table.any(axis=1).all():
        raise TableError(
            f"{path}: neither probabilities nor log-probabilities: a cell is empty, some cells are below 0 "
            "and others above, or a country has no cell above 0"
        )
    return table


REPRODUCTION = Reproduction(
    title="Measuring Meta-Cultural Competency (2025): people's rankings, ER and SR, categories.",
    sources=SOURCES,
    options=SpectralReproduced,
    read=read,
    numbers=SpectralNumbers,
    examples=("--table 4", "--table 'Figure 2'", "--correlation spearman --ddof 0"),
    further=(FIGURE_2, SPECTRA),
    tables={"domain": "SELECT domain, label, human_category FROM domain ORDER BY domain"},
)
