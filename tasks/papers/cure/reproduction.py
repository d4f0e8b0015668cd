"""Reproduces CURE's tables 1 and 2 and the numbers in its text (Vo and Koyejo 2025). Benchmarks are read in
their published formats; results and ratings have this project's formats.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from scrapers.countries import CountryCodes
from tasks.evaluations.cure.published import LOADERS, LoadedBenchmark
from tasks.metrics.agreement import cohen_kappa, fleiss_kappa, krippendorff_alpha, pearson
from tasks.metrics.classification import LOST, label_scores, random_baseline
from tasks.metrics.types import FloatArray
from tasks.packs.published import Lower, PublishedRow, Row, Text, read_all, read_each, read_rows
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
)  # fmt: skip

SOURCES = by_name(
    SourceFiles(
        "normad",
        ("*normad*.csv", "*normad*.json*", "*normad*.parquet"),
        "as published: dataset akhilayerukola/NormAd of the Hugging Face hub",
    ),
    SourceFiles(
        "specnorm",
        ("*specnorm*.csv", "*specnorm*.json*", "*specnorm*.parquet"),
        "columns country, persona, situation, question, label, norm, cues",
        is_ours=True,
    ),
    SourceFiles(
        "casa",
        ("casa_s1_*.json", "s1_*_data/*.json", "*casa*.json"),
        "as published: pairs of adhere and violate files",
    ),
    SourceFiles(
        "culturebank",
        ("culturebank*.csv", "*culturebank*.parquet"),
        "as published: culturebank_reddit.csv and culturebank_tiktok.csv of the dataset SALT-NLP/CultureBank "
        "of the Hugging Face hub",
    ),
    SourceFiles(
        "results",
        ("*results*.csv", "*results*.jsonl", "*results*.json"),
        "CSV or JSON: model, benchmark, setting (thin or thick), item, gold, label (empty: unreadable), and "
        "for thick answers the judge's score, 0 to 1; a model whose name begins with null is the null",
        is_ours=True,
    ),
    SourceFiles(
        "ratings",
        ("*ratings*.csv",),
        "CSV: metric (Coverage … or Binary Correctness), item, rater (judge: the LLM), score",
        is_ours=True,
    ),
)
JUDGED = {"Coverage": "normad", "Specificity": "specnorm", "Connotation": "casa", "Coherence": "culturebank"}
"""Metric -> its benchmark."""
AGREEMENT = ("Krippendorff's alpha", "kappa of people", "Pearson r", "kappa of judge and people")
JUDGE, NULL = "judge", "null"
MODELS = (
    "GPT-4o", "GPT-4.1", "Claude Sonnet 3.7", "Claude Sonnet 4", "Claude Opus 4", "LLaMA 3.1-70B Turbo",
    "LLaMA 4 Scout-17B", "Qwen 2.5-72B Turbo", "Qwen 3-235B A22B", "DeepSeek V3",
)  # fmt: skip
"""The paper's models, as its section Experiments names them."""
NO_NAMES = "the text names a range of several models, not each model's number"
NO_FILE = "no published file has it"


class CureReproduced(Options):
    """Choices that the paper leaves open.

    Values of a list are tried in order until a cell's digits are met.
    """

    size: list[Literal["items", "rows"]] = tried_field(
        ["items", "rows"],
        "size of a benchmark: number of items (a CASA pair has two, repeated ones count once), or of rows",
    )
    countries: list[Literal["places", "names"]] = tried_field(
        ["places", "names"],
        "countries of a benchmark: countries that its names stand for, or names as written",
    )
    unread: list[Literal["wrong", "left-out"]] = tried_field(
        ["wrong", "left-out"], "rule for an answer without a readable label"
    )
    alpha_level: list[Literal["interval", "ordinal", "nominal"]] = tried_field(
        ["interval", "ordinal", "nominal"], "level of Krippendorff's alpha: the paper does not say"
    )
    names: dict[str, str] = renamed_field()


class Result(PublishedRow):
    """A model's answer to an item."""

    model: Text
    benchmark: Annotated[Literal["normad", "specnorm", "casa", "culturebank"], Lower]
    setting: Annotated[Literal["thin", "thick"], Lower]
    item: Text
    gold: Annotated[str, Lower, Field(min_length=1)]
    label: Annotated[str, Lower] = ""
    score: Annotated[float | None, Field(ge=0, le=1)] = None


class PublishedMark(PublishedRow):
    """A mark of a person, or of the judge, for an answer."""

    metric: Text
    item: Text
    rater: Text
    score: Annotated[float, Field(allow_inf_nan=False)]


@dataclass(frozen=True)
class CureFiles:
    """Contents of the folder. benchmarks: name -> file -> published rows."""

    benchmarks: Mapping[str, Mapping[str, Sequence[Row]]]
    results: Sequence[Result]
    ratings: Sequence[PublishedMark]


def read(files: Files, options: CureReproduced) -> tuple[CureFiles, Sequence[str]]:
    """Read all files of the folder. Raises ValueError, which names the file and its fault."""
    notes: list[str] = []
    benchmarks = {
        name: {str(path): rows for path, rows in read_each(files[name], read_rows, notes).items()}
        for name in LOADERS
        if files[name]
    }
    results, result_notes = read_all(files["results"], Result)
    notes += result_notes
    ratings, rating_notes = read_all(files["ratings"], PublishedMark)
    keys = [(r.model, r.benchmark, r.setting, r.item) for r in results]
    if n_repeated := len(keys) - len(set(keys)):
        notes.append(f"results: {n_repeated} rows repeat an earlier row's item: all are counted")
    return CureFiles(benchmarks, results, ratings), [*notes, *rating_notes]


class CureNumbers(Numbers[CureFiles, CureReproduced]):
    """Sizes, cues, F1 and judged scores."""

    @cached_property
    def known_names(self) -> Sequence[Named]:
        own = [r for r in self.content.results if not r.model.startswith(NULL)]
        models = model_names([r.model for r in own], MODELS, self.options.names)
        rated = {r.metric.capitalize() for r in self.content.ratings}
        return [
            Named("models", set(models.values()), MODELS),
            Named("benchmarks", {r.benchmark for r in own}, set(LOADERS)),
            Named("rated metrics", rated, {*JUDGED, "Binary correctness"}),
        ]

    def pooled(self, cell: PrintedCell) -> Collection[str]:
        if cell.metric == "mean F1-Macro":
            return ("models", "benchmarks")
        return ("models",) if cell.metric in JUDGED and "models" in cell.parts else ()

    def _number(self, cell: PrintedCell) -> RecomputedCell:
        match cell.metric:
            case "Size" | "Countries":
                return self._benchmark(cell.parts["dataset"].casefold(), cell.metric)
            case "Count" | "%":
                return self._cue(cell.parts["cue"], cell.metric)
            case "mean F1-Macro":
                return self._mean_f1(cell.parts["setting"])
        if cell.metric in JUDGED and " of " in cell.parts.get("models", ""):
            return RecomputedCell(reason=NO_NAMES)
        if cell.metric in JUDGED:
            return (
                self._over_models(cell) if "models" in cell.parts else self._judged(cell.model, cell.metric)
            )
        if cell.metric in AGREEMENT and "length" not in cell.parts:
            return self._over_metrics(cell) if "metrics" in cell.parts else self._agreement(cell)
        return RecomputedCell(reason=NO_FILE)

    def further(self) -> Iterator[tuple[PrintedCell, RecomputedCell]]:
        """Yield F1 of every model, benchmark and setting, and the judged score: the paper's figures
        2 to 4.
        """
        for (model, benchmark, setting), group in self.groups.items():
            parts = {"benchmark": benchmark, "setting": setting}
            for metric, figure in (("F1-Micro", "Figure 2"), ("F1-Macro", "Figure 3")):
                yield PrintedCell(figure, model, parts, metric), self._f1(group, metric)
            for metric, judged_benchmark in JUDGED.items():
                if (judged_benchmark, setting) == (benchmark, "thick"):
                    yield PrintedCell("Figure 4", model, {}, metric), self._judged(model, metric)

    @cached_property
    def loaded(self) -> dict[str, LoadedBenchmark]:
        rows = self.tools.tables["country"]
        codes = CountryCodes({str(row["name"]): str(row["country"]) for row in rows})
        return {name: LOADERS[name](files, codes) for name, files in self.content.benchmarks.items()}

    @cached_property
    def groups(self) -> dict[tuple[str, str, str], list[Result]]:
        """(model in the paper, benchmark, setting) -> results."""
        results = self.content.results
        models = [cell.model for cell in self.tools.printed if cell.model]
        name_of = model_names([r.model for r in results], models, self.options.names)
        groups: dict[tuple[str, str, str], list[Result]] = {}
        for result in results:
            groups.setdefault((name_of[result.model], result.benchmark, result.setting), []).append(result)
        return groups

    def _f1(self, group: Sequence[Result], metric: str) -> RecomputedCell:
        """Return the F1 of a model's labels; the null is shuffled gold labels."""
        readable = [r for r in group if r.label or self.options.unread[0] == "wrong"]
        if not readable:
            return RecomputedCell(reason="no label could be read")
        gold = [r.gold for r in readable]
        scores, null = label_scores(gold, [r.label or LOST for r in readable]), random_baseline(gold)
        field = "f1_macro" if metric == "F1-Macro" else "f1_micro"
        return RecomputedCell(
            getattr(scores, field), null=getattr(null, field), null_name="random labels", n=len(readable)
        )

    def _judged(self, model: str, metric: str) -> RecomputedCell:
        """Return the mean of the judge's scores of a model; the null is the model named null."""
        if not self.content.results:
            return RecomputedCell(reason=SOURCES["results"].missing)
        scores = self._scores(metric).get(model)
        if scores is None:
            return RecomputedCell(reason=f"no judged answer of {model} to {JUDGED[metric]}")
        nulls = {m: float(s.mean()) for m, s in self._scores(metric).items() if m.startswith(NULL)}
        name = max(nulls, key=lambda m: nulls[m]) if nulls else ""
        return RecomputedCell(float(scores.mean()), null=nulls.get(name), null_name=name, n=scores.size)

    def _scores(self, metric: str) -> dict[str, FloatArray]:
        """Return model -> the judge's scores of its thick answers to the metric's benchmark."""
        scores = {
            model: np.array([r.score for r in group if r.score is not None], dtype=np.float64)
            for (model, benchmark, setting), group in self.groups.items()
            if (benchmark, setting) == (JUDGED[metric], "thick")
        }
        return {model: values for model, values in scores.items() if values.size}

    def _over_models(self, cell: PrintedCell) -> RecomputedCell:
        """Return the lowest or highest mean of any model."""
        models = [model for model in self._scores(cell.metric) if not model.startswith(NULL)]
        numbers = [
            number for model in models if (number := self._judged(model, cell.metric)).value is not None
        ]
        if not numbers:
            missing = SOURCES["results"].missing if not self.content.results else "no judged answer"
            return RecomputedCell(reason=missing)
        pick = min if cell.parts["models"] == "lowest" else max
        return pick(numbers, key=lambda number: number.value or 0.0)

    def _mean_f1(self, setting: str) -> RecomputedCell:
        """Return the mean over models and benchmarks."""
        if not self.content.results:
            return RecomputedCell(reason=SOURCES["results"].missing)
        numbers = [
            self._f1(group, "F1-Macro")
            for (model, _, group_setting), group in self.groups.items()
            if group_setting == setting and not model.startswith(NULL)
        ]
        values, nulls = (
            [getattr(number, side) for number in numbers if number.value is not None]
            for side in ("value", "null")
        )
        if not values:
            return RecomputedCell(reason=f"no {setting} answer")
        return RecomputedCell(
            float(np.mean(values)), null=float(np.mean(nulls)), null_name="random labels", n=len(values)
        )

    def _benchmark(self, name: str, metric: str) -> RecomputedCell:
        loaded = self.loaded.get(name)
        if loaded is None:
            return RecomputedCell(reason=SOURCES[name].missing)
        n_rows = sum(len(rows) for rows in self.content.benchmarks[name].values())
        if metric == "Size":
            return RecomputedCell(
                float(len(loaded.items) if self.options.size[0] == "items" else n_rows), n=n_rows
            )
        places = {i.country for i in loaded.items if i.country}
        names = {i.extra.get("country_name", i.country) for i in loaded.items}
        chosen = places if self.options.countries[0] == "places" else names - {None}
        return RecomputedCell(float(len(chosen)), n=len(loaded.items))

    def _cue(self, cue: str, metric: str) -> RecomputedCell:
        """Return the number of SpecNorm's items with a kind of cue, or their share in percent."""
        loaded = self.loaded.get("specnorm")
        if loaded is None:
            return RecomputedCell(reason=SOURCES["specnorm"].missing)
        kinds = Counter(kind for item in loaded.items for kind in {c.split(":")[0] for c in item.cues})
        n = kinds[cue.casefold()]
        return RecomputedCell(100 * n / len(loaded.items) if metric == "%" else float(n), n=len(loaded.items))

    def _over_metrics(self, cell: PrintedCell) -> RecomputedCell:
        """Return the lowest or highest agreement of the four judged metrics."""
        numbers = [self._agreement(cell._replace(parts={"metric": metric})) for metric in JUDGED]
        with_value = [number for number in numbers if number.value is not None]
        if len(with_value) < len(JUDGED):
            return next(number for number in numbers if number.value is None)
        pick = min if cell.parts["metrics"] == "lowest" else max
        return pick(with_value, key=lambda number: number.value or 0.0)

    def _agreement(self, cell: PrintedCell) -> RecomputedCell:
        """Return the agreement of people with each other, or of their mean or majority with the judge. The
        null is 0.
        """
        if not self.content.ratings:
            return RecomputedCell(reason=SOURCES["ratings"].missing)
        metric = cell.parts["metric"].casefold()
        rated = [r for r in self.content.ratings if r.metric.casefold() == metric]
        raters = sorted({r.rater for r in rated if r.rater.casefold() != JUDGE})
        items = sorted({r.item for r in rated})
        if not raters:
            return RecomputedCell(reason=f"no rating of {cell.parts['metric']} by people")
        scores = {(r.item, r.rater if r.rater in raters else JUDGE): r.score for r in rated}
        people = np.array([[scores.get((item, rater), np.nan) for rater in raters] for item in items])
        judge = np.array([scores.get((item, JUDGE), np.nan) for item in items])
        value = self._coefficient(cell.metric, people, judge)
        if value is None:
            return RecomputedCell(reason=f"too few ratings of {cell.parts['metric']}")
        return RecomputedCell(value, null=0.0, null_name="ratings at random", n=len(items))

    def _coefficient(self, metric: str, people: FloatArray, judge: FloatArray) -> float | None:
        if metric == "Krippendorff's alpha":
            return krippendorff_alpha(people, self.options.alpha_level[0])
        if metric == "kappa of people":
            complete = people[~np.isnan(people).any(axis=1)]
            values = np.unique(complete)
            return (
                fleiss_kappa((complete[:, :, None] == values).sum(axis=1))
                if complete.shape[1] > 1 and complete.size
                else None
            )
        both = ~(np.isnan(people).all(axis=1) | np.isnan(judge))
        if not both.any():
            return None
        mean = np.nanmean(people[both], axis=1)
        if metric == "Pearson r":
            return pearson(mean, judge[both])
        votes = (mean > 0.5).astype(int).tolist(), (judge[both] > 0.5).astype(int).tolist()
        return cohen_kappa(*votes, classes=(0, 1))


REPRODUCTION = Reproduction(
    title="CURE (Vo and Koyejo 2025): sizes of benchmarks and cues (Tables 1 and 2), F1 and judged scores.",
    sources=SOURCES,
    options=CureReproduced,
    read=read,
    numbers=CureNumbers,
    examples=("--table 1", "--unread left-out"),
    further=("Figure 4",),
    tables={"country": "SELECT country, name FROM country ORDER BY country"},
)
