"""Collects the CURE page's frames, orders models, benchmarks and countries, and makes the tables."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from statistics import fmean
from typing import Any

import numpy as np
import polars as pl

from tasks.evaluations.cure.benchmarks.cues import KINDS
from tasks.evaluations.cure.params import METRICS, MODES, metric_of
from tasks.metrics.comparison import paired_test, spread
from tasks.metrics.types import FloatArray
from tasks.report import Badge, Frames, Row, value_of, view

BENCHMARKS = {"normad": "NormAd", "casa": "CASA", "culturebank": "CultureBank", "specnorm": "SpecNorm"}
"""Titles of the benchmarks, in the order of every table."""


def title_of(benchmark: str) -> str:
    """Return a benchmark's title; a pack's title is that of its published model and its own name."""
    kind, _, own = benchmark.partition("-")
    return f"{BENCHMARKS.get(kind, kind)} {own}".strip()


def metric_title(benchmark: str, beside: Iterable[str]) -> str:
    """Return the title of a benchmark's metric, with the benchmark if others share the metric."""
    metric = metric_of(benchmark)
    is_shared = sum(metric_of(other) == metric for other in beside) > 1
    return f"{metric} ({title_of(benchmark)})" if is_shared else metric


NULLS = {"shuffled": "another item’s", "generic": "a generic one", "empty": "an empty one"}
"""Sources of null explanations."""

MOST_COUNTRIES = 12
"""Most countries in the figure; it shows those with the most labels."""

_BOTH = ("evaluation", "config_hash")


@dataclass(frozen=True, kw_only=True)
class CureData(Frames):
    """The frames of one configuration.

    Attributes:
        leaderboard: the view leaderboard_cure, by benchmark and then model, null models last.
        differences: the view cure_thin_vs_thick.
        verdicts: counts of verdicts: judge, rubric, metric, n_verdicts, n_unscored, n_graded.
        validation: the view report_validation: how those judges agree with people.
    """

    leaderboard: pl.DataFrame = field(metadata=view("leaderboard_cure"))
    differences: pl.DataFrame = field(metadata=view("cure_thin_vs_thick"))
    verdicts: pl.DataFrame = field(metadata=view("report_judge", _BOTH))
    validation: pl.DataFrame = field(metadata=view("report_validation", _BOTH))

    @cached_property
    def models(self) -> list[str]:
        """Return the models without nulls, highest mean exact match first."""
        own = self.leaderboard.filter(~pl.col("is_null"))
        mean = own.group_by("model").agg(mean=pl.mean_horizontal("thin_em", "thick_em").mean())
        return mean.sort("mean", "model", descending=[True, False], nulls_last=True)["model"].to_list()

    @cached_property
    def benchmarks(self) -> list[str]:
        """Return the benchmarks of the run."""
        benchmarks = set(self.leaderboard["benchmark"])
        return [*(b for b in BENCHMARKS if b in benchmarks), *sorted(benchmarks - set(BENCHMARKS))]

    @cached_property
    def modes(self) -> list[str]:
        """Return the modes of the run."""
        own = self.values.filter(slice_kind="benchmark_mode")["slice"].str.split(":").list.last()
        benchmarks = set(own)
        return [mode for mode in MODES if mode in benchmarks]

    @cached_property
    def is_judged(self) -> bool:
        """Return whether any explanation has a score."""
        return not self.leaderboard["value"].is_null().all()

    @cached_property
    def all_countries(self) -> dict[str, str]:
        """Return code -> name, easiest first by all models' share of right labels, unscored last."""
        ranked = self._by_country.sort("right", "country", descending=[True, False], nulls_last=True)
        return {code: self.country_names.get(code, code) for code in ranked["country"]}

    @cached_property
    def shown_countries(self) -> dict[str, str]:
        """Return the countries with the most labels, in the same order; countries with few items are extreme
        by chance.
        """
        ranked = self._by_country.sort("n", "country", descending=[True, False])
        most = set(ranked["country"].head(MOST_COUNTRIES))
        return {code: name for code, name in self.all_countries.items() if code in most}

    @cached_property
    def _by_country(self) -> pl.DataFrame:
        """Return country, n (labels that could be read), right (share of these that are right)."""
        own = self.values.filter(
            ~pl.col("is_null"), metric="exact_match", slice_kind="benchmark_mode_country"
        ).with_columns(country=pl.col("slice").str.split(":").list.last())
        n = pl.col("n_scored").sum()
        right = (pl.col("value") * pl.col("n_scored")).sum() / pl.when(n > 0).then(n)
        return own.group_by("country").agg(n=n, right=right)

    def label_score(self, model: str, metric: str, benchmark: str, mode: str) -> Row | None:
        """Return a score of labels in one mode."""
        return self.find(model, metric, "benchmark_mode", f"{benchmark}:{mode}")

    def explained(self, model: str, metric: str, benchmark: str) -> Row | None:
        """Return a score of explanations."""
        return self.find(model, metric, "benchmark", benchmark)

    def in_slice(self, model: str, benchmark: str, what: str, kind: str, name: str) -> Row | None:
        """Return exact match in a mode, or the explanations' metric, of one cue or specificity."""
        if what in MODES:
            return self.find(model, "exact_match", f"benchmark_mode_{kind}", f"{benchmark}:{what}:{name}")
        return self.find(model, metric_of(benchmark), f"benchmark_{kind}", f"{benchmark}:{name}")

    def in_country(self, model: str, benchmark: str, what: str, country: str) -> Row | None:
        """Return exact match in a mode, or the explanations' metric, in one country."""
        return self.in_slice(model, benchmark, what, "country", country)


def badge(line: Row, score: Row | None) -> Badge:
    """Return the trust badge of a row's explanations. score: the number that the badge is next to."""
    if line["is_null"]:
        return "plain", "null model"
    if value_of(score) is None:
        return "plain", "explanations not scored"
    if line["tells_real_from_shuffled"] is None:
        return "plain", "too few explanations for a test against another item’s"
    if line["tells_real_from_shuffled"]:
        return "good", "explanations beat another item’s"
    return "warn", "explanations not shown to beat another item’s"


def separations(data: CureData) -> list[dict[str, Any]]:
    """Return every benchmark's metric, in the order of tables.

    scored: models with the metric; judged: models with a gain; known: models with enough explanations for the
        sign-flip test; separated: models that the test distinguishes from shuffled explanations; validated:
        whether its judges were compared with people (None: no judge).
    """
    checks = []
    for benchmark in data.benchmarks:
        rows = {model: data.explained(model, "explanation_gain", benchmark) for model in data.models}
        scores = {model: data.explained(model, metric_of(benchmark), benchmark) for model in data.models}
        validated = data.leaderboard.filter(benchmark=benchmark)["validated"].drop_nulls()
        checks.append(
            {
                "metric": metric_title(benchmark, data.benchmarks),
                "scored": [model for model, row in scores.items() if value_of(row) is not None],
                "known": [model for model in rows if beats_shuffled(data, model, benchmark) is not None],
                "judged": [model for model, row in rows.items() if value_of(row) is not None],
                "separated": [model for model in rows if beats_shuffled(data, model, benchmark) == 1],
                "validated": bool(validated.all()) if validated.len() else None,
            }
        )
    return checks


def beats_shuffled(data: CureData, model: str, benchmark: str) -> float | None:
    """Return 1 if a model's explanations are distinguished from shuffled ones, else 0; None if they are too
    few.
    """
    return value_of(data.explained(model, "tells_real_from_shuffled", benchmark))


def over_majority(data: CureData) -> tuple[int, int]:
    """Return the number of (model, benchmark, mode) certainly above the commonest label's exact match, and of
    all.
    """
    own = data.values.filter(~pl.col("is_null"), metric="exact_match", slice_kind="benchmark_mode")
    return own.filter(pl.col("ci_low") > pl.col("null_value")).height, own.height


def mode_pairs(data: CureData) -> list[dict[str, Any]]:
    """Return F1 micro and macro over models: of every benchmark, then of each model's mean over benchmarks.
    Only the n models with the score in both modes count. thin, thick: mean, iqr and variance; difference: of
    the means; p: Wilcoxon's signed-rank test over paired models, None for too few.
    """
    rows = []
    for metric in ("f1_micro", "f1_macro"):
        scores = {title_of(b): _both_modes(data, metric, b) for b in data.benchmarks}
        if len(scores) > 1:
            everywhere = [m for m in data.models if all(m in pairs for pairs in scores.values())]
            scores["mean of all"] = {
                m: [fmean(x) for x in zip(*(of[m] for of in scores.values()), strict=True)]
                for m in everywhere
            }
        for label, pairs in scores.items():
            thin, thick = np.array(list(pairs.values())).reshape(-1, 2).T
            spreads = {"thin": _over_models(thin), "thick": _over_models(thick)}
            test = paired_test(thick, thin) if pairs else None
            numbers = (test.n, test.mean_difference, test.p_value) if test else (0, None, None)
            rows.append(
                {"label": label, "metric": metric}
                | spreads
                | dict(zip(("n", "difference", "p"), numbers, strict=True))
            )
    return rows


def judge_lines(data: CureData) -> list[dict[str, Any]]:
    """Return a line for every judge and metric: judge, metric, rubric, counts of verdicts, its agreement with
    people as rows of judge_validation by metric (none: never validated), and whether one of these rows is
    about the judge. Judges are distinguished by engine, so two with one name get two lines. A judge that was
    validated twice has its newest numbers.
    """
    lines = []
    order = list(METRICS.values())
    for row in data.verdicts.iter_rows(named=True):
        own = data.validation.filter(judge_hash=row["judge_hash"], rubric=row["rubric"]).sort("created_at")
        agreement = {each["metric"]: each for each in own.iter_rows(named=True)}
        # Agreement among people is not agreement with the judge.
        validated = any(
            each["value"] is not None and not metric.startswith("krippendorff_alpha")
            for metric, each in agreement.items()
        )
        lines.append(row | {"agreement": agreement, "validated": validated})
    return sorted(lines, key=lambda line: (line["judge"], order.index(line["metric"])))


def metric_pairs(data: CureData) -> list[tuple[str, str, list[Row | None]]]:
    """Return every pair of metrics that is correlated in any model, with its correlation in every model."""
    names = dict.fromkeys(metric_of(benchmark) for benchmark in data.benchmarks)
    pairs = [
        (a, b, [data.find(m, "metric_correlation", "metric_pair", f"{a}:{b}") for m in data.models])
        for a, b in combinations(names, 2)
    ]
    return [pair for pair in pairs if any(value_of(row) is not None for row in pair[2])]


def cue_rows(data: CureData) -> list[tuple[str, str, str]]:
    """Return (benchmark, "cue" or "specificity", name) of every slice of SpecNorm's items, in order."""
    own = data.values.filter(pl.col("slice_kind").str.contains("^benchmark(_mode)?_(cue|specificity)$"))
    present = {
        (name.split(":")[0], kind.rpartition("_")[2], name.rpartition(":")[2])
        for name, kind in own.select("slice", "slice_kind").iter_rows()
    }
    order = (*KINDS, "low", "medium", "high")
    return sorted(present, key=lambda row: (row[0], row[1], order.index(row[2])))


def lost_answers(data: CureData) -> dict[str, list[tuple[str, str, str, int]]]:
    """Return model -> (benchmark, mode or "judged", reason, count), most frequent first."""
    rows = data.values.filter(pl.col("value") > 0, metric="unscored_answers").sort(
        "model", -pl.col("value"), "slice"
    )
    lost: dict[str, list[tuple[str, str, str, int]]] = {}
    for row in rows.iter_rows(named=True):
        benchmark, mode, reason = row["slice"].split(":", 2)
        line = (title_of(benchmark), mode, reason, int(row["value"]))
        lost.setdefault(row["model"], []).append(line)
    return lost


def _both_modes(data: CureData, metric: str, benchmark: str) -> dict[str, Any]:
    """Return model -> (thin, thick), for the models that have both."""
    both = {}
    for model in data.models:
        pair = [value_of(data.label_score(model, metric, benchmark, mode)) for mode in MODES]
        if None not in pair:
            both[model] = pair
    return both


def _over_models(values: FloatArray) -> dict[str, float | None]:
    """Return one mode's mean (None without models) and spread (None for fewer than two models)."""
    width = spread(values.tolist())
    return {
        "mean": fmean(values) if values.size else None,
        "iqr": width.iqr if width else None,
        "variance": width.variance if width else None,
    }
