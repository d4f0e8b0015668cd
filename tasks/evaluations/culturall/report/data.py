"""What the CulturALL page is made from: frames, and the order of models and slices."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import polars as pl

from tasks.report import Frames, Row, view

KINDS = {"topic": "Topic", "language": "Language", "region": "Region"}
"""How items are counted, in the order of figure 4 of Lin et al. 2026."""

LANGUAGES = {
    "ar": "Arabic", "be": "Belarusian", "bn": "Bengali", "en": "English", "es": "Spanish", "ja": "Japanese",
    "kk": "Kazakh", "km": "Khmer", "ko": "Korean", "ms": "Malay", "ru": "Russian", "sr": "Serbian",
    "vi": "Vietnamese", "zh": "Chinese",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Data(Frames):
    """The frames of one configuration.

    Attributes:
        leaderboard: the view leaderboard_culturall: models by accuracy, null models last.
        judges: the view culturall_judge: each judge's own check, over all languages, then in each.
        languages: the view culturall_by_language, of which the page says where an interval is.
        solved: the view culturall_solved: items by language and how many models solve them.
        examples: the view culturall_example: one item and what every model answers.
    """

    leaderboard: pl.DataFrame = field(metadata=view("leaderboard_culturall"))
    judges: pl.DataFrame = field(metadata=view("culturall_judge"))
    languages: pl.DataFrame = field(metadata=view("culturall_by_language"))
    solved: pl.DataFrame = field(metadata=view("culturall_solved"))
    examples: pl.DataFrame = field(metadata=view("culturall_example"))

    @cached_property
    def models(self) -> list[str]:
        """The models that are no null models, in the order of the leaderboard."""
        return self.leaderboard.filter(~pl.col("is_null"))["model"].to_list()

    @cached_property
    def n_items(self) -> dict[str, dict[str, int]]:
        """Kind of slice -> slice -> its items: most first, then by the name that is shown."""
        rows = self.values.filter(pl.col("slice_kind").is_in(list(KINDS)), metric="accuracy", is_null=False)
        counts = rows.with_columns(n=pl.col("n_scored") + pl.col("n_unscored"))
        slices = counts.select("slice_kind", "slice", "n").unique().rows()
        by_kind: dict[str, dict[str, int]] = {kind: {} for kind in KINDS}
        for kind, name, n in sorted(slices, key=lambda row: (-row[2], self.label(*row[:2]))):
            by_kind[kind][name] = n
        return by_kind

    def by_name(self, kind: str) -> list[str]:
        """The slices of a kind, by the name that is shown."""
        return sorted(self.n_items[kind], key=lambda name: self.label(kind, name))

    @cached_property
    def spread(self) -> list[dict[str, Any]]:
        """Language, items, regions and why there is no interval, by the name that is shown."""
        rows = self.languages.unique("language").select("language", "n_regions", "no_interval_reason")
        counts = self.n_items["language"]
        named = sorted(rows.to_dicts(), key=lambda row: self.label("language", row["language"]))
        return [row | {"n_items": counts.get(row["language"])} for row in named]

    @cached_property
    def settings(self) -> list[dict[str, Any]]:
        """Differences between settings of one model: model, other, metric and the number."""
        return self.values.filter(slice_kind="model_pair").sort("metric", "model", "slice").to_dicts()

    @cached_property
    def has_levels(self) -> bool:
        """Whether difficulty is known: enough models answered."""
        return not self.values.filter(slice_kind="difficulty")["value"].is_null().all()

    @cached_property
    def claimed(self) -> str:
        """The metric that claims rest on: accuracy by match where a judge fails its own check."""
        return "accuracy_matched" if True in self.leaderboard["judge_flagged"] else "accuracy"

    @cached_property
    def best(self) -> Row | None:
        """The row of the model that solves most; None where nothing is scored."""
        rows = (self.find(model, self.claimed) for model in self.models)
        return max(
            (row for row in rows if row and row["value"] is not None),
            key=lambda row: row["value"],
            default=None,
        )

    def is_above_null(self, model: str, kind: str = "overall", name: str = "all") -> bool:
        """Whether the whole interval lies above what guessing scores."""
        row = self.find(model, self.claimed, kind, name)
        return row is not None and row["ci_low"] is not None and row["ci_low"] > (row["null_value"] or 0.0)

    def label(self, kind: str, name: str) -> str:
        """A slice as people call it."""
        names = {"language": LANGUAGES, "region": self.country_names}
        return names.get(kind, {}).get(name, name)

    def asked(self, condition: str) -> bool:
        """Whether a condition was asked."""
        return self.has("accuracy" if condition == "native" else f"accuracy_{condition}")

    def has(self, metric: str) -> bool:
        """Whether there are rows of a metric."""
        return not self.values.filter(pl.col("metric") == metric, ~pl.col("is_null")).is_empty()

    def accuracy(self, model: str, condition: str, **where: Any) -> Row | None:
        """Overall accuracy under a condition."""
        return self.find(model, "accuracy" if condition == "native" else f"accuracy_{condition}", **where)
