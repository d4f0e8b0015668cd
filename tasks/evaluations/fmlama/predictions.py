"""The top predictions as rows: what SQL, error tables and the judge look at. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from tasks.evaluations.fmlama.scores import ProbeScore


def prediction_rows(scores: Sequence[ProbeScore]) -> pl.DataFrame:
    """One row a condition, template, dish and rank: candidate and outcome (correct, local or foreign)."""
    frames = [_template_rows(score, number) for score in scores for number in range(len(score.templates))]
    return pl.concat(frames) if frames else pl.DataFrame()


def _template_rows(score: ProbeScore, number: int) -> pl.DataFrame:
    probe = score.probe
    dish, _ = np.nonzero(score.predicted[number])
    column = score.ranks[number]
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
