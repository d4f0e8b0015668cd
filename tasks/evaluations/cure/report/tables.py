"""The CURE page's tables: what metrics tell, thin against thick over models, who judged, what was lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean
from typing import Any

import polars as pl

from tasks.evaluations.cure.report.data import BENCHMARKS, METRICS, MODES, Data
from tasks.metrics.comparison import paired_test
from tasks.metrics.two_ways import spread
from tasks.report import Row, gain_sign, value_of
from tasks.report.cells import Badge

Pair = tuple[float, float]
"""(thin, thick)"""


@dataclass(frozen=True)
class Separation:
    """One metric. judged: the models that have a gain; separated: those whose whole interval lies above 0.

    validated: whether its judges were held against people; None if nobody judged.
    """

    metric: str
    judged: list[str]
    separated: list[str]
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


def badge(line: Row) -> Badge:
    """What the explanations of a row of the leaderboard may be trusted for."""
    if line["is_null"]:
        return "plain", "null model"
    if line["tells_real_from_shuffled"] is None:
        return "plain", "explanations not scored"
    if line["tells_real_from_shuffled"]:
        return "good", "explanations distinguished from shuffled ones"
    return "warn", "explanations not distinguished from shuffled ones"


def separations(data: Data) -> list[Separation]:
    """Every metric, in the order of tables."""
    checks = []
    for benchmark in data.benchmarks:
        rows = {model: data.explained(model, "explanation_gain", benchmark) for model in data.models}
        validated = data.leaderboard.filter(benchmark=benchmark)["validated"].drop_nulls()
        checks.append(
            Separation(
                METRICS[benchmark],
                [model for model, row in rows.items() if value_of(row) is not None],
                [model for model, row in rows.items() if gain_sign(row) > 0],
                bool(validated.all()) if validated.len() else None,
            )
        )
    return checks


def over_majority(data: Data) -> tuple[int, int]:
    """How many (model, benchmark, mode) lie certainly above the commonest label's exact match, and of all."""
    own = data.values.filter(~pl.col("is_null"), metric="exact_match", slice_kind="benchmark_mode")
    return own.filter(pl.col("ci_low") > pl.col("null_value")).height, own.height


def mode_pairs(data: Data) -> list[ModePair]:
    """F1 micro and macro of every benchmark over models, then of each model's mean over benchmarks."""
    lines = []
    for metric in ("f1_micro", "f1_macro"):
        scores = {b: _both_modes(data, metric, b) for b in data.benchmarks}
        for benchmark, pairs in scores.items():
            lines.append(_mode_pair(BENCHMARKS[benchmark], metric, list(pairs.values())))
        if len(scores) > 1:
            everywhere = [m for m in data.models if all(m in pairs for pairs in scores.values())]
            means = [_mean_pair([pairs[m] for pairs in scores.values()]) for m in everywhere]
            lines.append(_mode_pair("mean of all", metric, means))
    return lines


def judge_lines(data: Data) -> list[JudgeLine]:
    """Every judge and metric; a judge that was validated under several engines has its newest numbers."""
    lines = []
    order = list(METRICS.values())
    for row in data.verdicts.iter_rows(named=True):
        own = data.validation.filter(judge=row["judge"], rubric=row["rubric"]).sort("created_at")
        agreement = {each["metric"]: each for each in own.iter_rows(named=True)}
        lines.append(JudgeLine(row["judge"], row["metric"], row["rubric"], row, agreement))
    return sorted(lines, key=lambda line: (line.judge, order.index(line.metric)))


def metric_pairs(data: Data) -> list[tuple[str, str, list[Row | None]]]:
    """Each two metrics with their correlation in every model."""
    names = [METRICS[benchmark] for benchmark in data.benchmarks]
    pairs = [
        (a, b, [data.find(m, "metric_correlation", "metric_pair", f"{a}:{b}") for m in data.models])
        for a, b in combinations(names, 2)
    ]
    return [pair for pair in pairs if any(pair[2])]


def lost_answers(data: Data) -> dict[str, list[tuple[str, str, str, int]]]:
    """model -> (benchmark, mode or "judged", reason, how many), most frequent first."""
    rows = data.values.filter(pl.col("value") > 0, metric="unscored_answers").sort(
        "model", -pl.col("value"), "slice"
    )
    lost: dict[str, list[tuple[str, str, str, int]]] = {}
    for row in rows.iter_rows(named=True):
        benchmark, mode, reason = row["slice"].split(":", 2)
        line = (BENCHMARKS.get(benchmark, benchmark), mode, reason, int(row["value"]))
        lost.setdefault(row["model"], []).append(line)
    return lost


def _both_modes(data: Data, metric: str, benchmark: str) -> dict[str, Pair]:
    """model -> (thin, thick), of the models that have both."""
    both = {}
    for model in data.models:
        thin, thick = (value_of(data.label_score(model, metric, benchmark, mode)) for mode in MODES)
        if thin is not None and thick is not None:
            both[model] = (thin, thick)
    return both


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
