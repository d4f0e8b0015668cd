"""Collects the data of the WorldWise page: frames, and the order of models, cultures and slices."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

import polars as pl

from tasks.report import Frames, view

BASELINE = "baseline"
"""The culture that stands for answers without a persona."""

DECISIONS = ("A", "B", "Decline")

NULLS = {
    "zero": "all-zero profile",
    "global_mean": "mean of all targets",
    "scenario_text": "scenario text as the answer",
    "shuffled": "own answers, personas exchanged",
    "unprompted": "own answers without a persona",
}
"""Null models in the order that breaks ties between them."""

MOST_CULTURES = 12
"""Most cultures in a figure: half have the highest alignment, half the lowest."""

Shares = tuple[float, float, float]
"""Shares of A, B and Decline, 0 to 1; they add up to 1."""


@dataclass(frozen=True, kw_only=True)
class WorldwiseData(Frames):
    """The frames of one configuration.

    Attributes:
        leaderboard: the view leaderboard_worldwise: models by their gain, best first, null models last.
        labels: names in the order to show, packs included: kind (value or dimension), key, label.
        scenarios: scenario, dimension, category, region, packs included.
        cohort: cohort, model: the models that numbers over several models are computed with.
    """

    leaderboard: pl.DataFrame = field(metadata=view("leaderboard_worldwise"))
    labels: pl.DataFrame = field(metadata=view("worldwise_label"))
    scenarios: pl.DataFrame = field(metadata=view("worldwise_scenario"))
    cohort: pl.DataFrame = field(
        default_factory=pl.DataFrame, metadata=view("report_cohort", ("evaluation", "config_hash"))
    )

    @cached_property
    def models(self) -> list[str]:
        """Return the models without nulls, in the order of the leaderboard."""
        return self.leaderboard.filter(~pl.col("is_null"))["model"].to_list()

    def slices(self, metric: str, kind: str) -> list[str]:
        """Return the slices in which models have the metric: highest mean over models first, unscored slices
        last.
        """
        own = self.values.filter(~pl.col("is_null"), metric=metric, slice_kind=kind)
        mean = own.group_by("slice").agg(pl.col("value").mean())
        order = mean.sort("value", "slice", descending=[True, False], nulls_last=True)
        return order["slice"].to_list()

    @cached_property
    def cultures(self) -> list[str]:
        """Return the cultures of personas, easiest first by mean alignment over models."""
        return [c for c in self.slices("alignment", "culture") if c != BASELINE]

    @cached_property
    def shown_cultures(self) -> dict[str, str]:
        """Return the cultures that figures show, with their names."""
        half = MOST_CULTURES // 2
        cut = len(self.cultures) > MOST_CULTURES
        cultures = self.cultures[:half] + self.cultures[-half:] if cut else self.cultures
        return {code: self.names["culture"].get(code, code) for code in cultures}

    @cached_property
    def names(self) -> dict[str, dict[str, str]]:
        """Return culture, value or dimension -> key -> name to show; a key keeps its first name."""
        names = {
            kind: dict(reversed(self.labels.filter(kind=kind).select("key", "label").rows()))
            for kind in ("value", "dimension")
        }
        return names | {"culture": self.country_names | {BASELINE: "no persona"}}

    def dimensions_in_order(self, keys: Iterable[str]) -> list[str]:
        """Return dimensions in the order of the reference data, then a pack's, unknown ones last."""
        known = self.labels.filter(kind="dimension")["key"].to_list()
        return sorted(keys, key=lambda k: (known.index(k) if k in known else len(known), k))

    @cached_property
    def frequent_values(self) -> list[str]:
        """Return values by their mean share over models and cultures, most frequent first."""
        shares = self.values.filter(~pl.col("is_null"), pl.col("value").is_not_null(), metric="value_share")
        named = shares.with_columns(named=pl.col("slice").str.split(":").list.last())
        means = named.group_by("named").agg(pl.col("value").mean())
        return means.sort("value", "named", descending=[True, False])["named"].to_list()

    @cached_property
    def scenario_names(self) -> dict[str, str]:
        """Return scenario -> its identifier, dimension and category; empty for scenarios of the user's own
        file.
        """
        texts = self.names["dimension"]
        return {
            s["scenario"]: f"{s['scenario']}  {texts.get(s['dimension'], s['dimension'])}, "
            f"{s['category'].replace('_', ' ')}"
            for s in self.scenarios.iter_rows(named=True)
        }

    def shares(self, model: str, culture: str) -> Shares | None:
        """Return the shares of the decisions in one culture's answers; None unless all three are scored."""
        a, b, decline = (
            self.value(model, "decision_share", "culture_decision", f"{culture}:{d}") for d in DECISIONS
        )
        return None if a is None or b is None or decline is None else (a, b, decline)

    def pooled_shares(self, model: str) -> Shares | None:
        """Return the shares of the decisions in all answers with a persona."""
        counts = [0.0, 0.0, 0.0]
        for culture in self.cultures:
            for i, decision in enumerate(DECISIONS):
                row = self.find(model, "decision_share", "culture_decision", f"{culture}:{decision}")
                if row and row["value"] is not None:
                    counts[i] += row["value"] * row["n_scored"]
        total = sum(counts)
        return (counts[0] / total, counts[1] / total, counts[2] / total) if total else None
