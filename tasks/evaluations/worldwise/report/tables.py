"""Makes the tables of the WorldWise page."""

from __future__ import annotations

from typing import Any

import polars as pl

from tasks.evaluations.worldwise.report.data import BASELINE, NULLS, WorldwiseData
from tasks.report import Badge, Row, gain_sign, value_of

TOP_VALUES = 3
TOP_PAIRS = 10


def lines(data: WorldwiseData) -> list[dict[str, Any]]:
    """Return the leaderboard: models, then null models. board: row of the view; gain: the number, with sign 1
    if certainly above 0, -1 if certainly below, else 0; best_null: the null that it is measured from, in
    words.
    """
    rows = []
    for row in data.leaderboard.iter_rows(named=True):
        gain = data.find(row["model"], "alignment_gain")
        best = NULLS.get(row["best_null"], row["best_null"] or "–")
        line = {"model": row["model"], "is_null": row["is_null"], "board": row, "best_null": best}
        rows.append(line | {"gain": gain, "sign": gain_sign(gain), "badge": _badge(row, gain)})
    return rows


def _badge(row: Row, gain: Row | None) -> Badge:
    """Return the trust badge of a model's gain."""
    if row["is_null"]:
        return "plain", "null model"
    if row["alignment_gain"] is None:
        return "warn", "not scored"
    by_sign: dict[int, Badge] = {
        1: ("good", "beats its best null"),
        0: ("warn", "not shown to beat its best null"),
        -1: ("warn", "worse than its best null"),
    }
    if gain is None or gain["ci_low"] is None:
        return "plain", "no interval"
    return by_sign[gain_sign(gain)]


def closest(data: WorldwiseData, model: str) -> list[tuple[str, Row]]:
    """Return cultures by their distance from the model's unprompted answers, closest first."""
    rows = [(c, data.find(model, "baseline_distance", "culture", c)) for c in data.cultures]
    scored = [(c, row) for c, row in rows if row is not None and row["value"] is not None]
    return sorted(scored, key=lambda pair: (pair[1]["value"], pair[0]))


def top_values(data: WorldwiseData) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """Return (model, culture) -> the values named most often, with their share and the share without a
    persona.
    """
    culture, value = (pl.col("slice").str.split(":").list.get(i) for i in (0, 1))
    shares = data.values.filter(pl.col("value").is_not_null(), metric="value_share")
    split = shares.with_columns(culture=culture, key=value).sort("value", "key", descending=[True, False])
    top = split.group_by("model", "culture", maintain_order=True).head(TOP_VALUES)
    values: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in top.iter_rows(named=True):
        values.setdefault((row["model"], row["culture"]), []).append(row)
    return values


def top_pairs(data: WorldwiseData, model: str) -> list[str]:
    """Return the slices of the pairs of cultures that differ most."""
    own = data.values.filter(pl.col("value").is_not_null(), model=model, metric="culture_difference")
    order = own.sort(pl.col("value").abs(), "slice", descending=[True, False])
    return order["slice"].head(TOP_PAIRS).to_list()


def model_pairs(data: WorldwiseData) -> list[tuple[str, str]]:
    """Return each pair of models once."""
    pairs = [(a, b) for i, a in enumerate(data.models) for b in data.models[i + 1 :]]
    return [(a, b) for a, b in pairs if data.find(a, "model_difference", "model_pair", b)]


def projections(data: WorldwiseData) -> tuple[list[str], list[str]]:
    """Return dimensions and cultures that have a projection; answers without a persona come first."""
    names = data.values.filter(~pl.col("is_null"), metric="projection")["slice"].unique()
    split = [name.split(":", 1) for name in names.sort()]
    known = {culture for culture, _ in split}
    cultures = [c for c in (BASELINE, *data.cultures) if c in known]
    return data.dimensions_in_order({dimension for _, dimension in split}), cultures


def lost_answers(data: WorldwiseData) -> list[dict[str, Any]]:
    """Return counts of unscored answers by model and reason, most frequent first."""
    rows = data.values.filter(pl.col("value") > 0, metric="unscored_answers")
    return rows.sort("model", -pl.col("value"), "slice").to_dicts()


def largest_gain(own: list[dict[str, Any]]) -> float:
    """Return the end of the leaderboard's small axes, on both sides of 0."""
    gains = [line["gain"] for line in own if value_of(line["gain"]) is not None]
    ends: list[float] = [abs(gain[end] or 0.0) for gain in gains for end in ("value", "ci_low", "ci_high")]
    return max([0.01, *ends])
