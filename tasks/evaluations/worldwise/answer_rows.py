"""Single answers as rows: what SQL and the report look at. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

from tasks.evaluations.contract import comparable
from tasks.evaluations.worldwise.answers import Answer
from tasks.evaluations.worldwise.requests import N_VALUES, Study
from tasks.evaluations.worldwise.scores import Readings, Scored

SCHEMA = pl.Schema(
    {
        "config_hash": pl.String(),
        "culture": pl.String(),
        "scenario": pl.String(),
        "repetition": pl.Int32(),
        "framework": pl.String(),
        "dimension": pl.String(),
        "category": pl.String(),
        "item": pl.String(),
        "decision": pl.String(),
        **{f"value_{i + 1}": pl.String() for i in range(N_VALUES)},
        "explanation": pl.String(),
        "score": pl.Float64(),
        "target": pl.Float64(),
        "alignment": pl.Float64(),
        "words": pl.Int32(),
        "truncated": pl.Boolean(),
        "unscored_reason": pl.String(),
    }
)


def answer_frame(study: Study, readings: Readings, scored: Scored) -> pl.DataFrame:
    """One row per sample, in the order of the arrays; what an unscored one lacks is null."""
    return pl.DataFrame(list(_rows(study, readings, scored)), schema=SCHEMA, orient="row")


def _rows(study: Study, readings: Readings, scored: Scored) -> Iterator[dict[str, Any]]:
    m = study.content
    config_hash, targets = comparable(study), m.targets
    items = {sample.key: sample.prompt.id for sample in study.samples}
    for c, culture in enumerate(m.cultures):
        for s, scenario in enumerate(m.scenarios):
            for r in range(study.params.repetitions):
                key = (culture.culture, scenario.scenario, r)
                yield {
                    "config_hash": config_hash,
                    "culture": culture.culture,
                    "scenario": scenario.scenario,
                    "repetition": r,
                    "framework": scenario.framework,
                    "dimension": scenario.dimension,
                    "category": scenario.category,
                    "item": items[key],
                    **_read(readings[key], bool(scored.truncated[c, s, r])),
                    "score": _number(scored.primary[c, s, r]),
                    "target": _number(targets[c, s]),
                    "alignment": _number(scored.alignment[c, s, r]),
                    "unscored_reason": scored.reasons[c, s, r] or None,
                }


def _read(reading: Answer | str, truncated: bool) -> dict[str, Any]:
    """What was answered; nothing for a reason."""
    if isinstance(reading, str):
        return {}
    values = {f"value_{i + 1}": value for i, value in enumerate(reading.values)}
    return {
        "decision": reading.decision,
        **values,
        "explanation": reading.explanation,
        "words": len(reading.explanation.split()),
        "truncated": truncated,
    }


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
