"""Reproduces sections 4.1 to 4.9 and 7.4 of WorldWiseAI (2024) from stored answers, with nulls."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, partial

import numpy as np

from tasks.evaluations.worldwise.study import BASELINE
from tasks.metrics.alignment import bucketed_profile, culture_distances, hofstede_errors
from tasks.metrics.group_tests import group_test, pair_tests
from tasks.metrics.types import BoolArray, FloatArray, IntArray
from tasks.metrics.value_shift import persona_shift
from tasks.papers.reproduction import Named, NoNumber, Numbers, PrintedCell, RecomputedCell, Reproduction
from tasks.papers.worldwise.files import SOURCES, WorldwiseFiles, WorldwiseOptions, complete, read
from tasks.papers.worldwise.program import dimension_name
from tasks.papers.worldwise.recount import (
    Recount,
    culture_code,
    recount,
    scored,
    stereotypes,
    targets,
)

RELABELLINGS = 200
ERROR_METRICS = {
    "Mean Absolute Error (MAE)", "Median Absolute Error", "Standard Deviation", "Total Comparisons", "MAE",
    "Bias (Signed Mean)", "Best Dimension", "Worst Dimension",
}  # fmt: skip
POINT_METRICS = {"Alignment", "Mean Score", "Std Dev", "dimension-level alignment score", "Mean Alignment"}
VALUE_METRICS = {"Baseline Frequency", "1st Value", "2nd Value", "3rd Value"}
BUCKETED_FROM = "hofstede_published"

SCORES = ("order", "values_times", "scores")
DEPENDS = dict.fromkeys(POINT_METRICS, SCORES) | dict.fromkeys(ERROR_METRICS, (*SCORES, "errors"))


def depends(cell: PrintedCell) -> tuple[str, ...]:
    """Return the options whose values decide whether a cell matches."""
    if cell.metric in VALUE_METRICS or cell.metric in ("TVD (%)", "normalized score"):
        return ()
    return ("scores",) if cell.metric == "Stereotype Score" else DEPENDS.get(cell.metric, SCORES)


UNPUBLISHED = "Hofstede published no score of the country; the program has an estimate of its authors"
_OLDER = "the standard deviation is of an older run of the program"
_OTHER = "no standard deviation of the stored answers, divided by n or by n - 1, equals it"
_COPIED = "the printed distance is a copy of the error in 4.3"
_COUNTS = "the stored answers name the value less often, and so do the shifts printed in 4.5"
_MORE = {"value=Stability & Security", "value=Personal Autonomy"}


def unmatched(cell: PrintedCell) -> str:
    """Return why the published answers cannot give a cell its printed digits; "" if they can."""
    parts = "; ".join(f"{name}={text}" for name, text in cell.parts.items())
    match cell.table[:3], cell.metric:
        case "4.1", "Std Dev":
            return _OLDER
        case "4.2", "Std Dev":
            return _OTHER
        case "4.4", "Distance" if parts == "culture=Mexico":
            return _COPIED
        case "4.4", "Baseline Frequency" if parts in _MORE:
            return _COUNTS
    return ""


NumberOf = Callable[[Recount, BoolArray], float]
"""Function of the answers and a mask [n] of the chosen ones to a number. Raises NoNumber."""
_NONE, _LONE = "no stored answer belongs to it", "a standard deviation needs two answers"


class WorldwiseNumbers(Numbers[WorldwiseFiles, WorldwiseOptions]):
    """Alignment, values, stereotypes and tests of the answers."""

    def _number(self, cell: PrintedCell) -> RecomputedCell:
        if cell.metric == "normalized score":
            return self._profile(cell)
        if self.content.answers is None:
            raise NoNumber(SOURCES["answers"].missing)
        if cell.metric in VALUE_METRICS:
            return self._value_count(cell)
        if cell.metric == "TVD (%)":
            return self._shift(cell)
        if cell.metric == "Stereotype Score":
            return self._stereotype(cell)
        if cell.metric == "Overall Score":
            return self._overall(cell)
        if cell.table.startswith("4.8"):
            return self._with_null(cell, partial(_test, cell), self._chosen(cell))
        if cell.metric == "Distance":
            return self._with_null(cell, partial(self._distance, cell), ~self.answers.is_persona)
        if cell.metric in ERROR_METRICS:
            number = partial(self._error, cell.metric)
        elif cell.metric in POINT_METRICS:
            number = partial(_mean, ddof=1 if cell.metric == "Std Dev" else None)
        else:
            raise NoNumber("this number is not implemented")
        return self._with_null(cell, number, self._chosen(cell))

    @cached_property
    def known_names(self) -> Sequence[Named]:
        if self.content.answers is None:
            return ()
        cells, table = self.tools.printed, self.labels
        cultures = {self.culture(cell.parts["culture"]) for cell in cells if "culture" in cell.parts}
        lines = [
            Named("models", set(table.model.tolist()), {cell.model for cell in cells if cell.model}),
            Named("cultures", set(table.culture.tolist()), cultures),
        ]
        known = {str(row["scenario"]) for row in self.content.scenarios or ()}
        return [*lines, Named("scenarios", set(table.scenario.tolist()), known)]

    def pooled(self, cell: PrintedCell) -> Collection[str]:
        if cell.metric == "normalized score":
            return ()
        of_scenarios = dict.fromkeys(("scenario id", "category", "dimension"), "scenarios")
        own = {"culture": "cultures"} | of_scenarios
        given = {own[part] for part in cell.parts if part in own} | ({"models"} if cell.model else set())
        given |= {"cultures"} if cell.metric in VALUE_METRICS else set()  # without a culture: no persona
        return {"models", "cultures", "scenarios"} - given

    @cached_property
    def labels(self) -> Recount:
        """Return the answers without scores, so that nothing is embedded."""
        models = sorted({cell.model for cell in self.tools.printed if cell.model})
        return recount(self.content, self.options, self.tools, models)

    @cached_property
    def answers(self) -> Recount:
        return scored(self.labels, self.content, self.options, self.tools)

    @cached_property
    def null(self) -> tuple[str, Recount]:
        return self.answers.null()

    @cached_property
    def culture(self) -> Callable[[str], str]:
        return culture_code(self.tools.tables["country"])

    @cached_property
    def named(self) -> list[list[str]]:
        """Return the values of each answer; the option decides whether values off the list count."""
        rows = self.content.values or self.tools.tables["guiding_value"]
        listed = {str(row["label"]).casefold() for row in rows}
        keep_all = self.options.values == "all"
        return [
            [value for value in answer.top_values if keep_all or value.strip().casefold() in listed]
            for answer in self.content.answers or ()
        ]

    @cached_property
    def stereotype(self) -> FloatArray:
        return stereotypes(self.content, self.options)

    @cached_property
    def counts(self) -> IntArray:
        """Return [n, values] the number of times an answer names a value, as the answer spells it."""
        column = {v: i for i, v in enumerate(sorted({v for named in self.named for v in named}))}
        counts = np.zeros((len(self.named), max(len(column), 1)), dtype=np.intp)
        for row, named in enumerate(self.named):
            for value in named:
                counts[row, column[value]] += 1
        return counts

    def _chosen(self, cell: PrintedCell) -> BoolArray:
        """Return [n] whether an answer with a persona belongs to a cell."""
        table, parts = self.answers, cell.parts
        chosen = table.is_persona.copy()
        if cell.model:
            chosen &= table.model == cell.model
        for name, text in parts.items():
            match name:
                case "culture":
                    chosen &= table.culture == self.culture(text)
                case "dimension":
                    chosen &= table.dimension == dimension_name(text)
                case "scenario id":
                    chosen &= table.scenario == text
                case "category":
                    chosen &= table.category == text
        return chosen

    def _is_culture(self, text: str) -> BoolArray:
        return np.asarray(self.labels.culture == self.culture(text))

    def _with_null(self, cell: PrintedCell, number: NumberOf, chosen: BoolArray) -> RecomputedCell:
        """Return the number of the answers, and of the null."""
        value, null = number(self.answers, chosen), math.nan
        name, table = self.null
        if self.content.scenarios is not None and cell.metric != "p-value":
            with suppress(NoNumber):
                null = number(table, chosen)
        null_value = None if math.isnan(null) else float(null)
        return RecomputedCell(float(value), null=null_value, null_name=name, n=int(chosen.sum()))

    def _error(self, metric: str, table: Recount, chosen: BoolArray) -> float:
        """Return the error of single answers, or of mean scores by culture and dimension.

        Stored alignments give the size of an error but not its sign.
        """
        if not chosen.any():
            raise NoNumber(_NONE)
        target, score = table.target, table.score
        if np.isnan(score[chosen]).all() and not np.isnan(table.points[chosen]).all():
            if metric.startswith("Bias") or self.options.errors[0] == "profiles":
                raise NoNumber("stored alignments have no sign")
            target, score = np.zeros(len(score)), (10.0 - table.points) / 2.5
        both = chosen & ~(np.isnan(target) | np.isnan(score))
        targets_of_cells, scores_of_cells = target[both], score[both]
        if self.options.errors[0] == "profiles" and both.any():
            keys = np.char.add(np.char.add(table.culture[both], ":"), table.dimension[both])
            labels = np.unique(keys)
            targets_of_cells, scores_of_cells = (
                np.array([side[keys == key].mean() for key in labels])
                for side in (targets_of_cells, scores_of_cells)
            )
        errors = hofstede_errors(targets_of_cells, scores_of_cells)
        if errors is None:
            raise NoNumber(table.reason or _NONE)
        match metric:
            case "Median Absolute Error":
                return errors.median
            case "Standard Deviation":
                return _deviation(np.abs(scores_of_cells - targets_of_cells), ddof=1)
            case "Total Comparisons":
                return errors.n
            case "Bias (Signed Mean)":
                return errors.bias
        return errors.mae

    def _distance(self, cell: PrintedCell, table: Recount, chosen: BoolArray) -> float:
        both = chosen & ~np.isnan(table.score)
        all_targets = targets(self.content, self.options, self.tools.tables)
        culture_targets = all_targets.get(self.culture(cell.parts["culture"]), {})
        target = np.array([culture_targets.get(d, np.nan) for d in table.dimension.tolist()])
        both &= ~np.isnan(target)
        if not both.any():
            raise NoNumber(self.answers.reason if chosen.any() else "no answer without a persona")
        return float(culture_distances(table.score[both], target[both][None])[0])

    def _value_count(self, cell: PrintedCell) -> RecomputedCell:
        """Return the count of a value; the null uses the baseline's values, and for the baseline equal
        counts.
        """
        culture = cell.parts.get("culture", BASELINE)
        chosen = self._is_culture(culture)
        if not chosen.any():
            raise NoNumber(f"no answer of {culture}")
        names = Counter(v for row in np.flatnonzero(chosen) for v in self.named[row])
        is_base = self._is_culture(BASELINE)
        base = Counter(v for row in np.flatnonzero(is_base) for v in self.named[row])
        total, n_base = sum(names.values()), sum(base.values())
        null, name = total / max(len({v for named in self.named for v in named}), 1), "all values alike"
        if self.culture(culture) != BASELINE and n_base:
            null, name = total * base[cell.parts["value"]] / n_base, "no persona"
        return RecomputedCell(float(names[cell.parts["value"]]), null=null, null_name=name, n=total)

    def _shift(self, cell: PrintedCell) -> RecomputedCell:
        """Return the distance of a culture's values from the baseline's in percent; the null permutes both
        labels.
        """
        in_culture, in_baseline = self._is_culture(cell.parts["culture"]), self._is_culture(BASELINE)
        strata, counts = self.labels.scenario, self.counts
        shift = persona_shift(
            counts[in_culture], counts[in_baseline], strata[in_culture], strata[in_baseline],
            RELABELLINGS, self.options.seed,
        )  # fmt: skip
        if shift is None:
            raise NoNumber(f"no values of {cell.parts['culture']}, or none without a persona")
        n = int(in_culture.sum())
        return RecomputedCell(100 * shift.tvd, null=100 * shift.floor, null_name="answers relabelled", n=n)

    def _stereotype(self, cell: PrintedCell) -> RecomputedCell:
        """Return the mean over all answers of a model, including those without a persona; the null is the
        scenarios' texts.
        """
        values = self.stereotype[self.labels.model == cell.model]
        scores = values[~np.isnan(values)]
        if not scores.size:
            has_any = self.content.phrases is not None or self.options.scores[0] == "stored"
            raise NoNumber(f"no answer of {cell.model}" if has_any else SOURCES["phrases"].missing)
        texts = [str(row["text"]) for row in self.content.scenarios or () if row.get("text")]
        text_scores = stereotypes(self.content, self.options, texts) if texts else np.array([])
        null = float(text_scores.mean()) if text_scores.size and not np.isnan(text_scores).any() else None
        return RecomputedCell(float(scores.mean()), null=null, null_name="scenarios' texts", n=scores.size)

    def _overall(self, cell: PrintedCell) -> RecomputedCell:
        """Return the mean of alignment and stereotype score."""
        mean, stereotype = (
            self._number(cell._replace(metric=metric)) for metric in ("Mean Alignment", "Stereotype Score")
        )
        assert mean.value is not None
        assert stereotype.value is not None
        null = None
        if mean.null is not None and stereotype.null is not None:
            null = (mean.null + stereotype.null) / 2
        return RecomputedCell(
            (mean.value + stereotype.value) / 2, null=null, null_name=mean.null_name, n=mean.n
        )

    def _profile(self, cell: PrintedCell) -> RecomputedCell:
        """Return section 7.4 computed from Hofstede's published scores by the seven steps of the program."""
        code, dimension = self.culture(cell.parts["country"]), dimension_name(cell.parts["dimension"])
        for row in self.tools.tables["culture_profile"]:
            if (row["profile"], row["country"], row["dimension"]) == (BUCKETED_FROM, code, dimension):
                score = float(bucketed_profile([float(row["score"])])[0])
                return RecomputedCell(score, null=0.0, null_name="zero", n=1)
        raise NoNumber(UNPUBLISHED)


def _mean(table: Recount, chosen: BoolArray, ddof: int | None) -> float:
    """Return the mean of the alignments, or their standard deviation."""
    points = table.points[chosen]
    scored_points = points[~np.isnan(points)]
    if not scored_points.size:
        raise NoNumber((chosen.any() and table.reason) or _NONE)
    return float(scored_points.mean()) if ddof is None else _deviation(scored_points, ddof)


def _deviation(values: FloatArray, ddof: int) -> float:
    if values.size < 2:
        raise NoNumber(_LONE)
    return float(values.std(ddof=ddof))


def _test(cell: PrintedCell, table: Recount, chosen: BoolArray) -> float:
    """Return the tests of section 4.8: analysis of variance over answers, and Student's t of pairs."""
    labels = table.culture if "Culture" in cell.table else table.model
    chosen_points = chosen & ~np.isnan(table.points)
    groups: Mapping[str, FloatArray] = {
        str(label): table.points[chosen_points & (labels == label)][None]
        for label in np.unique(labels[chosen_points])
    }
    if cell.metric in ("F-statistic", "p-value"):
        test = group_test(groups, reproduce=True)
        value = test.f if cell.metric == "F-statistic" else test.p_value
        if value is None:
            raise NoNumber(table.reason or test.reason or _NONE)
        return value
    pairs = pair_tests(groups, reproduce=True)
    sides = [pair.p_value if cell.metric == "smallest p-value" else pair.d for pair in pairs]
    numbers = [abs(side) for side in sides if side is not None]
    if not numbers:
        raise NoNumber(table.reason or (pairs and pairs[0].reason) or _NONE)
    return min(numbers) if cell.metric == "smallest p-value" else max(numbers)


REPRODUCTION = Reproduction(
    title="WorldWiseAI (2024): sections 4.1 to 4.9 and 7.4 from stored answers.",
    sources=SOURCES,
    options=WorldwiseOptions,
    read=read,
    numbers=WorldwiseNumbers,
    depends=depends,
    complete=complete,
    unmatched=unmatched,
    examples=(
        "--table 4.5",
        "--answers results_20251122_172747.json --values-times 3",
        "--names gpt-4=GPT-4o-mini --embedder none",
    ),
    tables={
        "country": "SELECT country, name FROM country ORDER BY country",
        "culture_profile": "SELECT * FROM culture_profile ORDER BY rowid",
        "guiding_value": "SELECT * FROM guiding_value ORDER BY rowid",
    },
)
