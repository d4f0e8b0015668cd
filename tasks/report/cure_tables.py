"""The cure page's tables: what metrics tell, thin against thick over models, who judged, what was lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean
from typing import Any

import polars as pl

from tasks.metrics.comparison import paired_test
from tasks.metrics.two_ways import spread
from tasks.report.cure_cells import Find, benchmarks_of, models_of
from tasks.report.cure_data import BENCHMARKS, METRICS, MODES, CureData
from tasks.report.worldwise_cells import Row, told, value_of

Pair = tuple[float, float]
"""(thin, thick)"""


@dataclass(frozen=True)
class Telling:
    """One metric. judged: the models that have a gain; told: those whose whole interval lies above 0.

    validated: whether its judges were held against people; None if nobody judged.
    """

    metric: str
    judged: list[str]
    told: list[str]
    validated: bool | None


@dataclass(frozen=True)
class OverModels:
    """One mode's scores: None of no model, the spread None of fewer than two (``tasks.metrics.two_ways``)."""

    mean: float | None
    iqr: float | None
    variance: float | None


@dataclass(frozen=True)
class ModePair:
    """One label score of a benchmark (or the mean of all) over models that have it in both modes.

    p: Wilcoxon's signed-rank test of thick against thin, the models being the pairs; None for too few.
    """

    label: str
    metric: str
    thin: OverModels
    thick: OverModels
    difference: float | None
    p: float | None
    n: int


@dataclass(frozen=True)
class JudgeLine:
    """One judge on one metric, with its rows of judge_validation by metric; none: never validated."""

    judge: str
    metric: str
    rubric: str
    counts: Mapping[str, Any]
    agreement: Mapping[str, Row]

    @property
    def validated(self) -> bool:
        """Whether a number says how it agrees with people; how people agree with each other says nothing."""
        return any(
            row["value"] is not None and not metric.startswith("krippendorff_alpha")
            for metric, row in self.agreement.items()
        )


def tellings(data: CureData, find: Find) -> list[Telling]:
    """Every metric, in the order of tables."""
    found = []
    for benchmark in benchmarks_of(data):
        rows = {model: find(model, "explanation_gain", benchmark, "benchmark") for model in models_of(data)}
        validated = data.leaderboard.filter(benchmark=benchmark)["validated"].drop_nulls()
        found.append(
            Telling(
                METRICS[benchmark],
                [model for model, row in rows.items() if value_of(row) is not None],
                [model for model, row in rows.items() if told(row) > 0],
                bool(validated.all()) if validated.len() else None,
            )
        )
    return found


def over_majority(data: CureData) -> tuple[int, int]:
    """How many (model, benchmark, mode) lie certainly above the commonest label's exact match, and of all."""
    own = data.values.filter(~pl.col("is_null"), metric="exact_match", slice_kind="benchmark_mode")
    return own.filter(pl.col("ci_low") > pl.col("null_value")).height, own.height


def mode_pairs(data: CureData, find: Find) -> list[ModePair]:
    """F1 micro and macro of every benchmark over models, then of each model's mean over benchmarks."""
    found = []
    for metric in ("f1_micro", "f1_macro"):
        scores = {b: _both_modes(data, find, metric, b) for b in benchmarks_of(data)}
        for benchmark, pairs in scores.items():
            found.append(_mode_pair(BENCHMARKS[benchmark], metric, list(pairs.values())))
        if len(scores) > 1:
            everywhere = [m for m in models_of(data) if all(m in pairs for pairs in scores.values())]
            means = [_mean_pair([pairs[m] for pairs in scores.values()]) for m in everywhere]
            found.append(_mode_pair("mean of all", metric, means))
    return found


def judge_lines(data: CureData) -> list[JudgeLine]:
    """Every judge and metric; a judge that was validated under several engines has its newest numbers."""
    found = []
    order = list(METRICS.values())
    for row in data.verdicts.iter_rows(named=True):
        own = data.validation.filter(judge=row["judge"], rubric=row["rubric"]).sort("created_at")
        agreement = {each["metric"]: each for each in own.iter_rows(named=True)}
        found.append(JudgeLine(row["judge"], row["metric"], row["rubric"], row, agreement))
    return sorted(found, key=lambda line: (line.judge, order.index(line.metric)))


def metric_pairs(data: CureData, find: Find) -> list[tuple[str, str, list[Row | None]]]:
    """Each two metrics with their correlation in every model."""
    names = [METRICS[benchmark] for benchmark in benchmarks_of(data)]
    pairs = [
        (a, b, [find(m, "metric_correlation", f"{a}:{b}", "metric_pair") for m in models_of(data)])
        for a, b in combinations(names, 2)
    ]
    return [pair for pair in pairs if any(pair[2])]


def lost_answers(data: CureData) -> dict[str, list[tuple[str, str, str, int]]]:
    """model -> (benchmark, mode or "judged", reason, how many), most frequent first."""
    rows = data.values.filter(pl.col("value") > 0, metric="unscored_answers").sort(
        "model", -pl.col("value"), "slice"
    )
    found: dict[str, list[tuple[str, str, str, int]]] = {}
    for row in rows.iter_rows(named=True):
        benchmark, mode, reason = row["slice"].split(":", 2)
        line = (BENCHMARKS.get(benchmark, benchmark), mode, reason, int(row["value"]))
        found.setdefault(row["model"], []).append(line)
    return found


def _both_modes(data: CureData, find: Find, metric: str, benchmark: str) -> dict[str, Pair]:
    """model -> (thin, thick), of the models that have both."""
    found = {}
    for model in models_of(data):
        thin, thick = (value_of(find(model, metric, f"{benchmark}:{mode}")) for mode in MODES)
        if thin is not None and thick is not None:
            found[model] = (thin, thick)
    return found


def _mean_pair(pairs: Sequence[Pair]) -> Pair:
    return fmean(thin for thin, _ in pairs), fmean(thick for _, thick in pairs)


def _mode_pair(label: str, metric: str, pairs: Sequence[Pair]) -> ModePair:
    thin, thick = [first for first, _ in pairs], [second for _, second in pairs]
    if not pairs:
        return ModePair(label, metric, _over_models(thin), _over_models(thick), None, None, 0)
    test = paired_test(thick, thin)
    return ModePair(
        label, metric, _over_models(thin), _over_models(thick), test.mean_difference, test.p_value, test.n
    )


def _over_models(values: Sequence[float]) -> OverModels:
    width = spread(values)
    mean = fmean(values) if values else None
    return OverModels(mean, *((width.iqr, width.variance) if width else (None, None)))
