"""From what one model answered to its rows of ``metric_value``. Pure.

Slices: ("culture", "IN"), ("dimension", "indulgence"), ("culture_dimension", "IN:indulgence"), ("scenario",
id), ("category", name), ("culture_value", "IN:family_harmony"), ("culture_decision", "IN:A"),
("culture_pair", "IN:JP"), ("null", name of a null), ("model_pair", the other model), ("reason", why
unscored). Every row that a scored slice would have is there for an unscored one too, with the reason.
"""

from __future__ import annotations

from tasks.evaluations.worldwise.alignment_rows import alignment_rows, baseline_rows, hofstede_rows
from tasks.evaluations.worldwise.comparison_rows import cross_model_rows, culture_rows
from tasks.evaluations.worldwise.nulls import null_models
from tasks.evaluations.worldwise.profile_rows import (
    count_rows,
    projection_rows,
    recognition_rows,
    stereotype_rows,
)
from tasks.evaluations.worldwise.requests import Study
from tasks.evaluations.worldwise.scores import Placed, Scored, Space
from tasks.evaluations.worldwise.value_rows import value_rows
from tasks.loop.rows import Metric

__all__ = ["cross_model_rows", "model_rows", "null_models", "null_rows"]


def model_rows(study: Study, space: Space, answers: Scored) -> list[Metric]:
    """All rows of one model but those of ``cross_model_rows``."""
    return [
        *null_rows(study, space, answers),
        *projection_rows(study, space, answers),
        *value_rows(study, answers),
        *recognition_rows(study, answers),
        *stereotype_rows(study, answers),
        *count_rows(study, answers),
        *culture_rows(study, answers),
    ]


def null_rows(study: Study, space: Space, placed: Placed) -> list[Metric]:
    """The rows that a null has as well: alignment, errors against the targets, distance to each culture."""
    return [
        *alignment_rows(study, space, placed),
        *hofstede_rows(study, placed),
        *baseline_rows(study, placed),
    ]
