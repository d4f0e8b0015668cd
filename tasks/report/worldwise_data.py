"""What the worldwise page is made from: frames of one configuration, as the warehouse has them."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

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
"""Null profiles in the order that breaks ties between them."""


@dataclass(frozen=True)
class WorldwiseData:
    """The frames of one configuration. Null values are unscored numbers.

    Attributes:
        config_hash: which configuration this is.
        leaderboard: the view leaderboard_worldwise: models by their gain, best first, null profiles last.
        values: every number: model, is_null, metric, slice_kind, slice, value, unscored_reason, n_scored,
            n_unscored, ci_low, ci_high, null_value.
        labels: names to show, in the order to show: kind (culture, value or dimension), key, label.
        scenarios: the table scenario: scenario, dimension, category, region.
        metrics, runs, unscored, sources, configurations: as in ``ReportData``.
    """

    config_hash: str
    leaderboard: pl.DataFrame
    values: pl.DataFrame
    labels: pl.DataFrame
    scenarios: pl.DataFrame
    metrics: pl.DataFrame
    runs: pl.DataFrame
    unscored: pl.DataFrame
    sources: pl.DataFrame
    configurations: pl.DataFrame
