"""Single answers as rows: what SQL and the report look at. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

from tasks.evaluations.cure.answers import Readings
from tasks.evaluations.cure.judged import REAL
from tasks.evaluations.cure.requests import Study
from tasks.evaluations.cure.scores import Scored

SCHEMA = pl.Schema(
    {
        "condition": pl.String(),
        "benchmark": pl.String(),
        "mode": pl.String(),
        "item": pl.String(),
        "country": pl.String(),
        "label": pl.String(),
        "gold_label": pl.String(),
        "correct": pl.Boolean(),
        "explanation": pl.String(),
        "score": pl.Float64(),
        "verdict": pl.String(),
        "disagreement": pl.Float64(),
        "unscored_reason": pl.String(),
    }
)


def answer_frame(study: Study, readings: Readings, found: Scored) -> pl.DataFrame:
    """One row a cell, in the order of the study; what an unscored one lacks is null.

    ``score`` is the judges' mean, not yet at equal length. ``unscored_reason`` is the label's, else the
    explanation's.
    """
    return pl.DataFrame(list(_rows(study, readings, found)), schema=SCHEMA, orient="row")


def _rows(study: Study, readings: Readings, found: Scored) -> Iterator[dict[str, Any]]:
    condition = study.config_hash()
    for benchmark, mode in study.parts():
        for place, item in enumerate(study.items(benchmark)):
            answer = readings[benchmark, mode, item.item]
            judged = _judgement(found, benchmark, place) if mode == "thick" else {}
            yield {
                "condition": condition,
                "benchmark": benchmark,
                "mode": mode,
                "item": item.item,
                "country": item.country,
                "label": answer.label,
                "gold_label": item.label,
                "correct": None if answer.label is None else answer.label == item.label,
                "explanation": answer.explanation,
                **judged,
                "unscored_reason": answer.label_reason or judged.get("unscored_reason"),
            }


def _judgement(found: Scored, benchmark: str, place: int) -> dict[str, Any]:
    """What the judges said of an explanation."""
    judged = found.judged[benchmark, REAL]
    return {
        "score": _number(judged.raw[place]),
        "verdict": judged.verdicts[place],
        "disagreement": _number(judged.disagreement[place]),
        "unscored_reason": judged.reasons[place] or None,
    }


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
