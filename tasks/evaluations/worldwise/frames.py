"""The frames of the WorldWise page: the order and the names of models, cultures and slices."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import polars as pl

from tasks.report import Frames, view

BASELINE = "baseline"
"""The culture that stands for answers without a persona."""
DECISIONS = ("A", "B", "Decline")
MOST_CULTURES = 12
"""Most cultures in a figure: half have the highest alignment, half the lowest."""


@dataclass(frozen=True, kw_only=True)
class WorldwiseData(Frames):
    """The frames of one configuration. labels: names in the order to show, packs included."""

    labels: pl.DataFrame = view("worldwise_label")
    scenarios: pl.DataFrame = view("worldwise_scenario")
    cohort: pl.DataFrame = view("report_cohort")

    def slices(self, metric: str, kind: str) -> list[str]:
        """Return the slices in which models have the metric: by mean over models, unscored last."""
        own = self.values.filter(~pl.col("is_null"), metric=metric, slice_kind=kind)
        mean = own.group_by("slice").agg(pl.col("value").mean())
        return mean.sort("value", "slice", descending=[True, False], nulls_last=True)["slice"].to_list()

    @cached_property
    def cultures(self) -> list[str]:
        """Return the cultures of personas, easiest first by mean alignment over models."""
        return [c for c in self.slices("alignment", "culture") if c != BASELINE]

    @cached_property
    def shown_cultures(self) -> dict[str, str]:
        """Return the cultures that figures show, with their names."""
        half = MOST_CULTURES // 2
        cut = (
            self.cultures[:half] + self.cultures[-half:]
            if len(self.cultures) > MOST_CULTURES
            else self.cultures
        )
        return {code: self.name("culture", code) for code in cut}

    @cached_property
    def _names(self) -> dict[str, dict[str, str]]:
        kinds = ("value", "dimension")
        names = {
            kind: dict(reversed(self.labels.filter(kind=kind).select("key", "label").rows()))
            for kind in kinds
        }
        return names | {
            "culture": self.country_names | {BASELINE: "no persona"},
            "scenario": self._scenario_names(names["dimension"]),
        }

    def name(self, kind: str, key: str) -> str:
        """Return the shown name of a culture, value, dimension, scenario or category, its first."""
        return key.replace("_", " ") if kind == "category" else self._names[kind].get(key, key)

    def _scenario_names(self, texts: dict[str, str]) -> dict[str, str]:
        """Return scenario -> its identifier, dimension and category; a user's own scenarios have none."""
        return {
            s["scenario"]: f"{s['scenario']}  {texts.get(s['dimension'], s['dimension'])}, "
            + s["category"].replace("_", " ")
            for s in self.scenarios.to_dicts()
        }

    def dimensions_in_order(self, keys: Iterable[str]) -> list[str]:
        """Return dimensions in the order of the reference data, then a pack's, unknown ones last."""
        known = self.labels.filter(kind="dimension")["key"].to_list()
        return sorted(keys, key=lambda k: (known.index(k) if k in known else len(known), k))

    @cached_property
    def frequent_values(self) -> list[str]:
        """Return values by their mean share over models and cultures, most frequent first."""
        shares = self.values.filter(~pl.col("is_null"), pl.col("value").is_not_null(), metric="value_share")
        means = (
            shares.with_columns(named=pl.col("slice").str.split(":").list.last())
            .group_by("named")
            .agg(pl.col("value").mean())
        )
        return means.sort("value", "named", descending=[True, False])["named"].to_list()

    def shares(self, model: str, culture: str) -> list[float] | None:
        """Return the shares of the decisions in one culture's answers; None unless all three are scored."""
        shares = [
            self.value(model, "decision_share", "culture_decision", f"{culture}:{d}") for d in DECISIONS
        ]
        return scored if len(scored := known(shares)) == len(shares) else None

    def pooled_shares(self, model: str) -> list[float] | None:
        """Return the shares of the decisions in all answers with a persona."""
        counts = [0.0, 0.0, 0.0]
        for culture, (i, decision) in product(self.cultures, enumerate(DECISIONS)):
            row = self.find(model, "decision_share", "culture_decision", f"{culture}:{decision}")
            if row and row["value"] is not None:
                counts[i] += row["value"] * row["n_scored"]
        total = sum(counts)
        return [n / total for n in counts] if total else None


def known(values: Iterable[float | None]) -> list[float]:
    """Return the values that are scored."""
    return [value for value in values if value is not None]
