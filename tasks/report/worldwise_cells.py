"""The numbers of the worldwise page, looked up: by model and slice, in the order in which they are shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import polars as pl

from tasks.report.worldwise_data import BASELINE, WorldwiseData

Row = Mapping[str, Any]
Find = Callable[..., Row | None]
"""(model, metric, slice_kind = overall, slice = all) -> row of ``WorldwiseData.values``"""

MOST_CULTURES = 12
"""Figures show no more: half of them those with the highest, half those with the lowest alignment."""


def finder(data: WorldwiseData) -> Find:
    """A look-up of one number; None where the configuration has none."""
    rows = {
        (row["model"], row["metric"], row["slice_kind"], row["slice"]): row
        for row in data.values.iter_rows(named=True)
    }

    def find(model: str, metric: str, kind: str = "overall", where: str = "all") -> Row | None:
        return rows.get((model, metric, kind, where))

    return find


def value_of(row: Row | None) -> float | None:
    """The number of a row, None where there is no row or it is unscored."""
    return None if row is None else row["value"]


def models_of(data: WorldwiseData) -> list[str]:
    """The models that are no null profiles, as the leaderboard has them."""
    return data.leaderboard.filter(~pl.col("is_null"))["model"].to_list()


def slices(data: WorldwiseData, metric: str, kind: str) -> list[str]:
    """The slices in which models have the metric: highest mean over models first, unscored ones last."""
    own = data.values.filter(~pl.col("is_null"), metric=metric, slice_kind=kind)
    mean = own.group_by("slice").agg(pl.col("value").mean())
    order = mean.sort("value", "slice", descending=[True, False], nulls_last=True)
    return order["slice"].to_list()


def all_cultures(data: WorldwiseData) -> list[str]:
    """Cultures that a persona was given of, easiest first: by mean alignment over models."""
    return [c for c in slices(data, "alignment", "culture") if c != BASELINE]


def shown_cultures(data: WorldwiseData) -> dict[str, str]:
    """Those that figures show, with their names."""
    ranked, half, texts = all_cultures(data), MOST_CULTURES // 2, labels(data, "culture")
    shown = ranked if len(ranked) <= MOST_CULTURES else ranked[:half] + ranked[-half:]
    return {code: texts.get(code, code) for code in shown}


def labels(data: WorldwiseData, kind: str) -> dict[str, str]:
    """key -> name to show, of cultures, values or dimensions."""
    named = data.labels.filter(kind=kind).select("key", "label").rows()
    return dict(reversed(named)) | ({BASELINE: "no persona"} if kind == "culture" else {})


def in_reference_order(data: WorldwiseData, kind: str, keys: list[str]) -> list[str]:
    """Keys in the order of the reference data, unknown ones last."""
    known = data.labels.filter(kind=kind)["key"].to_list()
    return sorted(keys, key=lambda k: (known.index(k) if k in known else len(known), k))


def told(row: Row | None) -> int:
    """1 if a gain's whole interval lies above 0, -1 if below, else 0; 0 without an interval."""
    if row is None or row["ci_low"] is None:
        return 0
    return int(row["ci_low"] > 0) - int(row["ci_high"] < 0)
