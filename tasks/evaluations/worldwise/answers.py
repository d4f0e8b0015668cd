"""Lists single answers: as rows of a table for SQL and the report, and as samples for people. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

from tasks.evaluations.contract import comparable
from tasks.evaluations.worldwise.read import WorldwiseAnswer, WorldwiseAnswers
from tasks.evaluations.worldwise.study import DECISIONS, N_VALUES, WorldwiseStudy
from tasks.loop.samples import Sample, Score, sample

NO_TARGET = "the answer without a persona has no target"

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


def answer_frame(study: WorldwiseStudy, answers: WorldwiseAnswers) -> pl.DataFrame:
    """Return one row per sample, in the order of the arrays; missing values of an unscored sample
    are null.
    """
    return pl.DataFrame(list(_rows(study, answers)), schema=SCHEMA, orient="row")


def _rows(study: WorldwiseStudy, answers: WorldwiseAnswers) -> Iterator[dict[str, Any]]:
    content, scored, config_hash = study.content, answers.scored, comparable(study)
    items = {sample.key: sample.prompt.id for sample in study.samples}
    for key, place in study.places():
        culture, scenario, repetition = key
        about = content.scenarios[place[1]]
        yield {
            "config_hash": config_hash,
            "culture": culture,
            "scenario": scenario,
            "repetition": repetition,
            "framework": about.framework,
            "dimension": about.dimension,
            "category": about.category,
            "item": items[key],
            **_cells(answers.readings[key], bool(scored.truncated[place])),
            "score": _number(scored.primary[place]),
            "target": _number(content.targets[place[:2]]),
            "alignment": _number(scored.alignment[place]),
            "unscored_reason": scored.reasons[place] or None,
        }


def _cells(reading: WorldwiseAnswer | str, truncated: bool) -> dict[str, Any]:
    """Return the columns of an answer that was read; no columns for a reason."""
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


def samples(study: WorldwiseStudy, answers: WorldwiseAnswers) -> Iterator[Sample]:
    """Yield every sample with the position of its answer and its alignment with the culture's target.

    ``position`` is on the scenario's own dimension, -2 to 2; ``alignment`` is 0 to 10.
    """
    content, scored = study.content, answers.scored
    prompts = {each.key: each.prompt for each in study.samples}
    for key, place in study.places():
        culture, scenario, repetition = key
        reading, reason = answers.readings[key], scored.reasons[place]
        decision = reading.decision if isinstance(reading, WorldwiseAnswer) else None
        about = content.scenarios[place[1]]
        yield sample(
            f"{culture}:{scenario}:{repetition + 1}",
            prompts[key],
            answers.completed.get(key),
            choices=DECISIONS,
            scores={
                "alignment": Score.of(float(scored.alignment[place]), reason or NO_TARGET, answer=decision),
                "position": Score.of(float(scored.primary[place]), reason, answer=decision),
            },
            metadata={
                "culture": culture,
                "scenario": scenario,
                "repetition": repetition + 1,
                "framework": about.framework,
                "dimension": about.dimension,
                "category": about.category,
                "target_position": _number(content.targets[place[:2]]),
                **_facts(reading),
            },
            roles={"embedder": [study.params.embedder]},
        )


def _facts(reading: WorldwiseAnswer | str) -> dict[str, object]:
    """Return the metadata of an answer that was read."""
    if isinstance(reading, str):
        return {"unscored": reading}
    return {
        "decision": reading.decision,
        "values": list(reading.values),
        "explanation": reading.explanation,
    }
