"""Single answers as rows: what SQL and the report look at. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import polars as pl

from tasks.evaluations.worldwise.answers import Answer
from tasks.evaluations.worldwise.questions import N_VALUES
from tasks.evaluations.worldwise.requests import Key, Study
from tasks.evaluations.worldwise.scores import Readings, Scored

SCHEMA = pl.Schema(
    {
        "condition": pl.String(),
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


def answer_frame(study: Study, readings: Readings, found: Scored, items: Mapping[Key, str]) -> pl.DataFrame:
    """One row a cell, in the order of the study; what an unscored one lacks is null.

    Args:
        items: cell -> what identifies its conversation (``response.item``).
    """
    rows = list(_rows(study, readings, found, items))
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def _rows(
    study: Study, readings: Readings, found: Scored, items: Mapping[Key, str]
) -> Iterator[dict[str, Any]]:
    m = study.materials
    condition, targets = study.config_hash(), m.targets
    for c, culture in enumerate(m.cultures):
        for s, scenario in enumerate(m.scenarios):
            for r in range(study.params.repetitions):
                key = (culture.culture, scenario.scenario, r)
                yield {
                    "condition": condition,
                    "culture": culture.culture,
                    "scenario": scenario.scenario,
                    "repetition": r,
                    "framework": scenario.framework,
                    "dimension": scenario.dimension,
                    "category": scenario.category,
                    "item": items[key],
                    **_read(readings[key], bool(found.truncated[c, s, r])),
                    "score": _number(found.primary[c, s, r]),
                    "target": _number(targets[c, s]),
                    "alignment": _number(found.alignment[c, s, r]),
                    "unscored_reason": found.reasons[c, s, r] or None,
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
