"""The worldwise page's tables: which models are told from knowing nothing, and what stands beside what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from tasks.report.worldwise_cells import Find, Row, all_cultures, told
from tasks.report.worldwise_data import BASELINE, NULLS, WorldwiseData

TOP_VALUES = 3
TOP_PAIRS = 10
MOST_SLICES = 8


@dataclass(frozen=True)
class Line:
    """One model of the leaderboard. told: 1 its gain is certainly above 0, -1 below, 0 neither."""

    model: str
    is_null: bool
    board: dict[str, Any]
    told: int

    @property
    def best_null(self) -> str:
        """The null profile that the gain is measured from, in words."""
        return NULLS.get(self.board["best_null"], self.board["best_null"] or "–")


def lines(data: WorldwiseData, find: Find) -> list[Line]:
    """The leaderboard: models, then null profiles."""
    return [
        Line(row["model"], row["is_null"], row, told(find(row["model"], "alignment_gain")))
        for row in data.leaderboard.iter_rows(named=True)
    ]


def closest(data: WorldwiseData, find: Find, model: str) -> list[tuple[str, Row]]:
    """Cultures by the distance of the model's unprompted answers, closest first."""
    found = [(c, find(model, "baseline_distance", "culture", c)) for c in all_cultures(data)]
    scored = [(c, row) for c, row in found if row is not None and row["value"] is not None]
    return sorted(scored, key=lambda pair: (pair[1]["value"], pair[0]))


def top_values(data: WorldwiseData) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """(model, culture) -> the values named most often, with their share and the share without a persona."""
    culture, value = (pl.col("slice").str.split(":").list.get(i) for i in (0, 1))
    shares = data.values.filter(pl.col("value").is_not_null(), metric="value_share")
    split = shares.with_columns(culture=culture, key=value).sort("value", "key", descending=[True, False])
    groups = split.group_by("model", "culture", maintain_order=True).head(TOP_VALUES)
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in groups.iter_rows(named=True):
        found.setdefault((row["model"], row["culture"]), []).append(row)
    return found


def top_pairs(data: WorldwiseData, model: str) -> list[str]:
    """The pairs of cultures that differ most, as slices."""
    own = data.values.filter(pl.col("value").is_not_null(), model=model, metric="culture_difference")
    order = own.sort(pl.col("value").abs(), "slice", descending=[True, False])
    return order["slice"].head(TOP_PAIRS).to_list()


def model_pairs(models: list[str], find: Find) -> list[tuple[str, str]]:
    """Each pair of models once."""
    pairs = [(a, b) for i, a in enumerate(models) for b in models[i + 1 :]]
    return [(a, b) for a, b in pairs if find(a, "model_difference", "model_pair", b)]


def projections(data: WorldwiseData) -> tuple[list[str], list[str]]:
    """Dimensions and cultures that have a projection; answers without a persona come first."""
    names = data.values.filter(~pl.col("is_null"), metric="projection")["slice"].unique()
    split = [name.split(":", 1) for name in names.sort()]
    cultures = [c for c in (BASELINE, *all_cultures(data)) if c in {culture for culture, _ in split}]
    return list(dict.fromkeys(dimension for _, dimension in split)), cultures


def lost_answers(data: WorldwiseData) -> list[dict[str, Any]]:
    """Answers that were not scored, by model and reason, most frequent first."""
    rows = data.values.filter(pl.col("value") > 0, metric="unscored_answers")
    return rows.sort("model", -pl.col("value"), "slice").to_dicts()


def shortened(unscored: pl.DataFrame) -> pl.DataFrame:
    """The table of unscored numbers; a long list of slices is cut, with how many more there are."""

    def cut(text: str) -> str:
        parts = text.split(", ")
        more = len(parts) - MOST_SLICES
        return text if more <= 0 else f"{', '.join(parts[:MOST_SLICES])} and {more} more"

    return unscored.with_columns(slice=pl.col("slice").map_elements(cut, return_dtype=pl.String))
