"""Reproduces the cells of FmLAMA's tables (Zhou et al. 2025) from its files, with chance as null. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from math import sqrt
from typing import Any

import numpy as np

from tasks.metrics.agreement import pearson
from tasks.metrics.comparison import coefficient_of_variation
from tasks.metrics.types import FloatArray
from tasks.papers.fmlama import rankings
from tasks.papers.fmlama.files import SOURCES, FmlamaFiles, FmlamaReproduced, Ranking, complete, read
from tasks.papers.fmlama.rankings import ALL, DishTable, baseline, orders, origin_groups, random_baseline
from tasks.papers.reproduction import (
    Named,
    NoNumber,
    Numbers,
    PrintedCell,
    RecomputedCell,
    Reproduction,
    agreement,
)

LANGUAGES = {"9": "ar", "10": "zh", "11": "he", "12": "ko", "13": "ru"}
"""Number of a table -> language of its dishes and templates; all other tables are English."""
BERT_TABLE = "8"
TEMPLATES = 5
"""Templates of each prompt language (section 4.2), over which a model's numbers are means."""
MEANS = ("Avg.", "Average")
DUMB = "Dumb Base"
NO_VECTORS = "no word vectors (--word-vectors)"
NO_BERT = "no vectors of BERT (--bert-vectors)"
NO_FILE = "no published file has it"

Pair = tuple[float, float]
"""Pair of a number and its null; NaN if missing."""


DISH_OPTIONS = ("dishes", "england")
FILE_OPTIONS, RANKING_OPTIONS = ("files", *DISH_OPTIONS), (*DISH_OPTIONS, "denominator", "rounding")
BASELINE_OPTIONS = (*FILE_OPTIONS, "baseline", "ties")


def depends(cell: PrintedCell) -> tuple[str, ...]:
    """Return the options whose values decide whether a cell matches."""
    match cell.metric:
        case "Count" | "Count (%)" | "Dishes":
            return FILE_OPTIONS
        case "MES":
            return ("mes", "england")
        case "Rank":
            return ("template",)
        case "mWS" | "mWS sd" | "Corr.":
            return DISH_OPTIONS
        case "Correlation":
            return (*FILE_OPTIONS, *RANKING_OPTIONS)
    options = BASELINE_OPTIONS if cell.model == DUMB else RANKING_OPTIONS
    return (*options, "cv") if cell.metric.startswith("Coefficient") else options


@dataclass(frozen=True)
class FmlamaNumbers(Numbers[FmlamaFiles, FmlamaReproduced]):
    """Counts, precisions, similarities and marks. leading: ingredients that precede equally common ones."""

    leading: tuple[str, ...] = ()

    def _number(self, cell: PrintedCell) -> RecomputedCell:
        if cell.model == DUMB and self.options.ties[0] == "fitted" and not self.leading:
            return self._fitted(cell)
        number = cell.table.removeprefix("Table ").split("(")[0]
        language, origin = LANGUAGES.get(number, "en"), cell.parts.get("origin", ALL)
        match cell.metric:
            case "Count" | "Count (%)" | "Dishes":
                return self._count(cell, language, cell.parts.get("group", origin))
            case "Rank":
                return self._rank(cell)
            case "MES":
                return self._marks(origin, cell.parts.get("evaluator", ""))
            case "mAP (%)" | "mWS" if cell.model in MEANS:
                return self._mean_of_models(cell)
            case "mAP (%)" | "mAP (%) sd" | "mWS" | "mWS sd":
                return self._model_number(cell, language, origin, number)
            case "Coefficient of Variation (CV)":
                return self._variation(cell, language)
            case "Correlation" | "Corr.":
                return self._correlation(cell, language)
        raise NoNumber(NO_FILE)

    @cached_property
    def known_names(self) -> Sequence[Named]:
        cells, names = self.tools.printed, self.options.names
        models = {cell.model for cell in cells} - {*MEANS, DUMB, ""}
        found = {name for ranking in self.content.rankings for name in rankings.labels(ranking.model, names)}
        judged = {cell.parts["origin"] for cell in cells if cell.metric == "MES" and "origin" in cell.parts}
        marked = {self.groups.get(name, name) for name in (*self.content.marks, *self.content.predictions)}
        languages = {ranking.language for ranking in self.content.rankings}
        return [
            Named("models", found, models),
            Named("languages of rankings", languages, {"en", *LANGUAGES.values()}),
            Named("languages of dishes", self.content.dishes, {"en", *LANGUAGES.values()}),
            Named("origins with marks", marked, judged - {ALL, ALL.capitalize()}),
        ]

    def pooled(self, cell: PrintedCell) -> Collection[str]:
        is_all = cell.metric == "MES" and cell.parts.get("origin", ALL).casefold() == ALL.casefold()
        return ("origins with marks",) if is_all else ()

    @cached_property
    def columns(self) -> dict[str, list[str]]:
        """Return table -> the models of its columns."""
        columns: dict[str, dict[str, None]] = {}
        for cell in self.tools.printed:
            if cell.model not in (*MEANS, DUMB, ""):
                columns.setdefault(cell.table, {})[cell.model] = None
        return {table: list(models) for table, models in columns.items()}

    @cached_property
    def groups(self) -> dict[str, str]:
        return origin_groups(self.tools.tables["origin_group"], self.options.england[0])

    @cached_property
    def origins(self) -> list[str]:
        """Return the paper's groups."""
        return list(dict.fromkeys(self.groups.values()))

    def _memo(self, key: tuple[Any, ...], compute: Callable[[], Any]) -> Any:
        memo = self.content.memo
        if key not in memo:
            memo[key] = compute()
        return memo[key]

    def _dishes(self, language: str) -> DishTable:
        """Return the table of a language's dishes."""
        o = self.options
        files = o.files[0] if o.files else "1"
        if language not in self.content.dishes:
            is_aligned = language in self.content.aligned
            raise NoNumber(
                f"no full file of {language}: its files have aligned dishes"
                if is_aligned
                else f"no full file of {language} ({' or '.join(SOURCES['dishes'].patterns[:2])})"
            )
        if (dishes := self.content.chosen(language, files)) is None:
            raise NoNumber(f"no file {files} of dishes in {language}")
        if self.leading:  # not cached, since there are hundreds of orders
            return DishTable.from_dishes(dishes, self.groups, o, self.leading)
        key = ("dishes", language, files, o.england[0], o.dishes[0], o.ties[0])
        table: DishTable = self._memo(key, lambda: DishTable.from_dishes(dishes, self.groups, o))
        if not len(table.group):
            raise NoNumber(f"no dish of the 14 groups in {language}")
        return table

    def further(self) -> Iterator[tuple[PrintedCell, RecomputedCell]]:
        """Yield lower bounds of people's scores: direct matches among the predictions that they marked."""
        groups: dict[str, list[float]] = {}
        for origin, dishes in self.content.predictions.items():
            shares = [dish.direct for dish in dishes]
            for group in (self.groups.get(origin, origin), "All"):
                groups.setdefault(group, []).extend(shares)
        for group, shares in groups.items():
            cell = PrintedCell(
                "Table 3", "Llama3", {"origin": group, "evaluator": "direct matches alone"}, "MES"
            )
            yield cell._replace(unit="percent"), RecomputedCell(100 * float(np.mean(shares)), n=len(shares))

    def _fitted(self, cell: PrintedCell) -> RecomputedCell:
        """Return the baseline's number under the first order of equally common ingredients that gives the
        printed digits, else under the order of the file.
        """
        numbers = (
            replace(self, leading=order)._number(cell)
            for order in orders(self._dishes("en"), self.options.top)
        )
        default = next(numbers)
        return next((n for n in chain([default], numbers) if agreement(cell, n.value) == "equal"), default)

    def _count(self, cell: PrintedCell, language: str, origin: str) -> RecomputedCell:
        table = self._dishes(language)
        n, total = int(table.members(origin).sum()), len(table.group)
        if origin == "Mean":
            n = int(np.isin(table.group, self.origins).sum())
            return RecomputedCell(n / len(self.origins), n=n)
        return RecomputedCell(100 * n / total if cell.metric == "Count (%)" else float(n), n=total)

    def _model_number(self, cell: PrintedCell, language: str, origin: str, number: str) -> RecomputedCell:
        """Return a column's number for an origin: the mean or the standard deviation over templates."""
        metric, is_sd = cell.metric.removesuffix(" sd"), cell.metric.endswith(" sd")
        values, chance, n = self._templates(cell.model, language, origin, metric, number == BERT_TABLE)
        is_short = cell.model != DUMB and values.size < TEMPLATES
        fewer = f"over {values.size} of the paper's {TEMPLATES} templates" * is_short
        if not is_sd:
            name = "ten at random" if cell.model == DUMB else "random order"
            return RecomputedCell(float(values.mean()), fewer, float(chance.mean()), name, n)
        if values.size < 2:
            raise NoNumber("a standard deviation needs two templates")
        return RecomputedCell(float(values.std(ddof=1)), fewer, n=n)

    def _templates(
        self, model: str, language: str, origin: str, metric: str, is_bert: bool = False
    ) -> tuple[FloatArray, FloatArray, int]:
        """Return [templates] the model's means, [templates] those of chance, and the number of dishes."""
        if model == DUMB:
            return self._baseline_means(language, origin)
        chosen = rankings.rankings_of(self.content, model, language, self.options.names)
        if not chosen:
            raise NoNumber(f"{SOURCES['rankings'].missing} of that model in {language}")
        means, n = [], 0
        for ranking in chosen:
            dish_values = self._dish_values(ranking, metric, is_bert)
            groups = np.array([self.groups.get(dish.origin, "") for dish in ranking.dishes])
            members = (groups == origin) if origin != ALL else np.ones(len(groups), dtype=np.bool_)
            if origin == ALL and self.options.dishes[0] == "groups":
                members = groups != ""
            members = members & ~np.isnan(dish_values[0])
            if not members.any():
                raise NoNumber(f"no dish of {origin}")
            n = int(members.sum())
            means.append([float(side[members].mean()) for side in dish_values])
        values, chance = np.array(means).T
        if metric == "mAP (%)":
            values, chance = 100 * values, 100 * chance
            values = values.round(2) if self.options.rounding[0] == "templates" else values
        return values, chance, n

    def _baseline_means(self, language: str, origin: str) -> tuple[FloatArray, FloatArray, int]:
        """Return the baseline's mean, in the form of ``_templates``."""
        in_file_order, o = replace(self, leading=()), self.options
        table = in_file_order._dishes(language)
        key = (
            language,
            o.files[0] if o.files else "1",
            o.england[0],
            o.dishes[0],
            o.baseline[0],
            o.top,
        )
        chance = self._memo(("chance", *key, o.seed), lambda: random_baseline(table, o))
        values = self._memo(
            ("own", *key, o.ties[0], self.leading), lambda: baseline(self._dishes(language), o)
        )
        members = table.members(origin)
        if not members.any():
            raise NoNumber(f"no dish of {origin}")
        means = (100 * side[members].mean(keepdims=True) for side in (values, chance))
        return next(means), next(means), int(members.sum())

    def _dish_values(self, ranking: Ranking, metric: str, is_bert: bool) -> tuple[FloatArray, FloatArray]:
        """Return [dishes] the metric and its chance level under one template."""
        o = self.options
        place = (ranking.model, ranking.language, ranking.template)
        pair: tuple[FloatArray, FloatArray]
        if metric == "mAP (%)":
            rule = o.denominator[0]
            pair = self._memo(("map", *place, rule), lambda: rankings.precisions(ranking, rule))
            return pair
        source = o.bert_vectors if is_bert else o.word_vectors
        if source is None:
            raise NoNumber(NO_BERT if is_bert else NO_VECTORS)
        path = source.replace("{language}", ranking.language)
        pair = self._memo(
            ("mws", *place, path),
            lambda: rankings.similarities(ranking, lambda words: self.tools.embed(path, words)),
        )
        return pair

    def _mean_of_models(self, cell: PrintedCell) -> RecomputedCell:
        """Return the column of means over models' numbers, each rounded as printed."""
        digits = len(cell.printed.partition(".")[2])
        numbers = [self._number(cell._replace(model=model)) for model in self.columns.get(cell.table, [])]
        if not numbers:
            raise NoNumber(NO_FILE)
        values = [round(number.value, digits) for number in numbers if number.value is not None]
        nulls = [number.null for number in numbers if number.null is not None]
        return RecomputedCell(
            float(np.mean(values)), null=float(np.mean(nulls)), null_name=numbers[0].null_name, n=numbers[0].n
        )

    def _origin_means(self, model: str, language: str, metric: str, is_bert: bool = False) -> dict[str, Pair]:
        """Return origin or ALL -> mean over templates, and that of chance."""
        pairs: dict[str, Pair] = {}
        for origin in (*self.origins, ALL):
            values, chance, _ = self._templates(model, language, origin, metric, is_bert)
            pairs[origin] = (float(values.mean()), float(chance.mean()))
        return pairs

    def _variation(self, cell: PrintedCell, language: str) -> RecomputedCell:
        """Return the variation in percent of the origins' mAP; ALL counts as an origin unless the options
        exclude it.
        """
        pairs = self._origin_means(cell.model, language, "mAP (%)")
        with_all = [pair for o, pair in pairs.items() if o != ALL or self.options.cv[0] == "with-all"]
        value, chance = (coefficient_of_variation([pair[side] for pair in with_all]) for side in (0, 1))
        if value is None or chance is None:
            raise NoNumber("no origin has a mAP above 0")
        if self.options.cv[0] == "population":
            n = len(with_all)
            value, chance = value * sqrt((n - 1) / n), chance * sqrt((n - 1) / n)
        return RecomputedCell(100 * value, null=100 * chance, null_name="random order", n=len(with_all))

    def _correlation(self, cell: PrintedCell, language: str) -> RecomputedCell:
        """Return a correlation over origins: a metric with the number of dishes (table 2), or two kinds of
        mWS.
        """
        if cell.metric == "Correlation":
            metric = {"mAP": "mAP (%)"}.get(cell.parts.get("metric", ""), "mWS")
            pairs, table = self._origin_means(cell.model, language, metric), self._dishes(language)
            other_pairs: dict[str, Pair] = {o: (float(table.members(o).sum()),) * 2 for o in self.origins}
        else:
            pairs = self._origin_means(cell.model, language, "mWS")
            other_pairs = self._origin_means(cell.model, language, "mWS", is_bert=True)
        value, chance = (
            pearson(
                *(
                    np.array([side_pairs[o][side] for o in self.origins])
                    for side_pairs in (pairs, other_pairs)
                )
            )
            for side in (0, 1)
        )
        if value is None:
            raise NoNumber("a number does not vary over the origins")
        return RecomputedCell(value, null=chance, null_name="random order", n=len(self.origins))

    def _rank(self, cell: PrintedCell) -> RecomputedCell:
        """Return the rank of an ingredient among the candidates, from 0; the null is the middle."""
        chosen = rankings.rankings_of(self.content, cell.model, "en", self.options.names)
        if not chosen:
            raise NoNumber(f"{SOURCES['rankings'].missing} of that model in en")
        name, dish = cell.parts["involved object (ingredients)"], cell.parts["subject (dish)"].casefold()
        for ranking in chosen:
            if ranking.template.rpartition("_")[2] != self.options.template[0]:
                continue
            for ranked in ranking.dishes:
                if ranked.subj_name.casefold() == dish and name in ranked.places:
                    rank, n = float(ranked.places[name]), ranked.n_candidates
                    return RecomputedCell(rank, null=(n - 1) / 2, null_name="random order", n=n)
        raise NoNumber("no ranking of that dish and ingredient")

    def _marks(self, origin: str, evaluator: str) -> RecomputedCell:
        """Return the mean of S in percent; the null counts ingredients in the reference, without a judge."""
        if evaluator == "Human":
            raise NoNumber("no published file has people's marks")
        if not self.content.marks:
            raise NoNumber(SOURCES["marks"].missing)
        dishes = [
            dish
            for name, origin_dishes in self.content.marks.items()
            for dish in origin_dishes
            if origin.casefold() == ALL.casefold() or self.groups.get(name, name) == origin
        ]
        if not dishes:
            raise NoNumber(f"no file of marks of {origin}")
        score, direct = np.mean([rankings.mark_score(dish, self.options.mes[0]) for dish in dishes], axis=0)
        return RecomputedCell(
            100 * float(score), null=100 * float(direct), null_name="direct matches", n=len(dishes)
        )


REPRODUCTION = Reproduction(
    title="FmLAMA (Zhou et al. 2025): counts, baseline, mAP, mWS and MES of its tables.",
    sources=SOURCES,
    options=FmlamaReproduced,
    read=read,
    numbers=FmlamaNumbers,
    examples=(
        "--table '1(a)' --baseline hits,top-ten",
        "--england apart --files pooled",
        "--word-vectors cc.{language}.300.bin",
    ),
    tables={"origin_group": "SELECT * FROM origin_group ORDER BY rowid"},
    complete=complete,
    depends=depends,
)
