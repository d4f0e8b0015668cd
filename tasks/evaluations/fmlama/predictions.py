"""The top predictions: as rows, which SQL and error tables look at, and as the judge sees them. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from tasks.evaluations.fmlama.judge import JudgedDish
from tasks.evaluations.fmlama.requests import Probe
from tasks.evaluations.fmlama.scores import FloatArray, ProbeScore, top_columns


def judged_dishes(probe: Probe, table: FloatArray) -> list[JudgedDish]:
    """Every dish of a probe with its top predictions.

    Args:
        table: [dishes, candidates] scores under one wording, NaN for a candidate that cannot be spelled.
    """
    columns = np.split(top_columns(probe, table), np.cumsum(probe.n_relevant)[:-1])
    return [
        JudgedDish(dish.url, name, dish.group, dish.ingredients, tuple(probe.candidates[c] for c in top))
        for dish, name, top in zip(probe.dishes, probe.names, columns, strict=True)
    ]


def prediction_rows(scores: Sequence[ProbeScore]) -> pl.DataFrame:
    """One row per condition, template, dish and rank: candidate and outcome (correct, local or foreign)."""
    frames = [_template_rows(score, number) for score in scores for number in range(len(score.templates))]
    return pl.concat(frames) if frames else pl.DataFrame()


def _template_rows(score: ProbeScore, number: int) -> pl.DataFrame:
    probe = score.probe
    dish, column = probe.dish_of_top, score.top[number]
    first = np.searchsorted(dish, dish)
    outcome = np.where(score.expected.local[dish, column], "local", "foreign")
    outcome = np.where(probe.relevant[dish, column], "correct", outcome)
    return pl.DataFrame(
        {
            "condition": [probe.condition.slug] * len(dish),
            "template": [score.templates[number].template] * len(dish),
            "dish": [probe.dishes[i].url for i in dish],
            "dish_name": [probe.names[i] for i in dish],
            "origin": [probe.dishes[i].group for i in dish],
            "rank": np.arange(len(dish)) - first + 1,
            "candidate": [probe.candidates[i] for i in column],
            "outcome": outcome.tolist(),
        }
    )
