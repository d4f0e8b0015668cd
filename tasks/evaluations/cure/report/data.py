"""What the CURE page is made from: frames, and the order of models, benchmarks and countries."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

import polars as pl

from tasks.evaluations.cure.params import MODES
from tasks.evaluations.cure.rubrics import metric_of
from tasks.report import Frames, Row, view

BENCHMARKS = {"normad": "NormAd", "casa": "CASA", "culturebank": "CultureBank", "specnorm": "SpecNorm"}
"""In the order of every table."""


def title_of(benchmark: str) -> str:
    """What people call a benchmark: of a pack's the one that it is made like, and its own name."""
    kind, _, own = benchmark.partition("-")
    return f"{BENCHMARKS.get(kind, kind)} {own}".strip()


def metric_title(benchmark: str, beside: Iterable[str]) -> str:
    """What people call a benchmark's metric: with the benchmark, where others beside it have it too."""
    metric = metric_of(benchmark)
    is_shared = sum(metric_of(other) == metric for other in beside) > 1
    return f"{metric} ({title_of(benchmark)})" if is_shared else metric


NULLS = {"shuffled": "another item’s", "generic": "a generic one", "empty": "an empty one"}
"""Explanations that know nothing of the item."""

MOST_COUNTRIES = 12
"""The figure shows no more: those with the most labels."""

_BOTH = ("evaluation", "config_hash")


@dataclass(frozen=True, kw_only=True)
class Data(Frames):
    """The frames of one configuration.

    Attributes:
        leaderboard: the view leaderboard_cure: by benchmark, in it models, null models last.
        differences: the view cure_thin_vs_thick.
        verdicts: who judged what: judge, rubric, metric, n_verdicts, n_unscored, n_graded.
        validation: the view report_validation: how those judges agree with people.
    """

    leaderboard: pl.DataFrame = field(metadata=view("leaderboard_cure"))
    differences: pl.DataFrame = field(metadata=view("cure_thin_vs_thick"))
    verdicts: pl.DataFrame = field(metadata=view("report_judge", _BOTH))
    validation: pl.DataFrame = field(metadata=view("report_validation", _BOTH))

    @cached_property
    def models(self) -> list[str]:
        """The models that are no null models: highest mean exact match first."""
        own = self.leaderboard.filter(~pl.col("is_null"))
        mean = own.group_by("model").agg(mean=pl.mean_horizontal("thin_em", "thick_em").mean())
        return mean.sort("mean", "model", descending=[True, False], nulls_last=True)["model"].to_list()

    @cached_property
    def benchmarks(self) -> list[str]:
        """Those that were asked."""
        asked = set(self.leaderboard["benchmark"])
        return [*(b for b in BENCHMARKS if b in asked), *sorted(asked - set(BENCHMARKS))]

    @cached_property
    def modes(self) -> list[str]:
        """Those that were asked."""
        own = self.values.filter(slice_kind="benchmark_mode")["slice"].str.split(":").list.last()
        asked = set(own)
        return [mode for mode in MODES if mode in asked]

    @cached_property
    def is_judged(self) -> bool:
        """Whether any explanation has a score."""
        return not self.leaderboard["value"].is_null().all()

    @cached_property
    def asked_countries(self) -> dict[str, str]:
        """Code -> name: easiest first, by the share of right labels of all models together; unscored last."""
        ranked = self._by_country.sort("right", "country", descending=[True, False], nulls_last=True)
        return {code: self.country_names.get(code, code) for code in ranked["country"]}

    @cached_property
    def shown_countries(self) -> dict[str, str]:
        """Those with the most labels, in the same order: extremes of countries with one item are chance."""
        ranked = self._by_country.sort("n", "country", descending=[True, False])
        most = set(ranked["country"].head(MOST_COUNTRIES))
        return {code: name for code, name in self.asked_countries.items() if code in most}

    @cached_property
    def _by_country(self) -> pl.DataFrame:
        """country, n (labels that could be read), right (share of them)."""
        own = self.values.filter(
            ~pl.col("is_null"), metric="exact_match", slice_kind="benchmark_mode_country"
        ).with_columns(country=pl.col("slice").str.split(":").list.last())
        n = pl.col("n_scored").sum()
        right = (pl.col("value") * pl.col("n_scored")).sum() / pl.when(n > 0).then(n)
        return own.group_by("country").agg(n=n, right=right)

    def label_score(self, model: str, metric: str, benchmark: str, mode: str) -> Row | None:
        """A score of labels in one mode."""
        return self.find(model, metric, "benchmark_mode", f"{benchmark}:{mode}")

    def explained(self, model: str, metric: str, benchmark: str) -> Row | None:
        """A score of explanations."""
        return self.find(model, metric, "benchmark", benchmark)

    def in_slice(self, model: str, benchmark: str, what: str, kind: str, name: str) -> Row | None:
        """Exact match in a mode, or the explanations' metric, of one cue or specificity."""
        if what in MODES:
            return self.find(model, "exact_match", f"benchmark_mode_{kind}", f"{benchmark}:{what}:{name}")
        return self.find(model, metric_of(benchmark), f"benchmark_{kind}", f"{benchmark}:{name}")

    def in_country(self, model: str, benchmark: str, what: str, country: str) -> Row | None:
        """Exact match in a mode, or the explanations' metric, in one country."""
        return self.in_slice(model, benchmark, what, "country", country)
