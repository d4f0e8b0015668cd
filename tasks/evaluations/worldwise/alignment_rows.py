"""Alignment with the target cultures, and what of it a null does not have. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from tasks.evaluations.worldwise.groups import (
    Group,
    knobs_of,
    main_reason,
    mean_of,
    mean_row,
    persona_groups,
)
from tasks.evaluations.worldwise.nulls import MISSING, NULLS, best_null, null_alignments
from tasks.evaluations.worldwise.projections import Space
from tasks.evaluations.worldwise.requests import Study
from tasks.evaluations.worldwise.scores import Placed, Reasons
from tasks.metric_rows import Metric, scored, unscored
from tasks.metrics.types import FloatArray

LONE = "a standard deviation needs two scored answers"


def alignment_rows(study: Study, space: Space, placed: Placed) -> list[Metric]:
    """alignment, alignment_sd and alignment_gain of one model, or of a null, over answers with a persona."""
    nulls = null_alignments(study, space, placed)
    best = best_null(nulls)
    nowhere = np.full(placed.alignment.shape, np.nan)
    against = nulls[best] if best else nowhere
    rows = list(_mean_rows(study, placed, against))
    rows += _sd_rows(study, placed)
    rows += _gain_rows(study, placed, against, MISSING.get(best or "", ""))
    rows += _null_rows(study, placed, nulls)
    return rows


def _mean_rows(study: Study, placed: Placed, null: FloatArray) -> Iterator[Metric]:
    kinds = ("overall", "culture", "dimension", "culture_dimension", "scenario", "category")
    for group in persona_groups(study, kinds):
        null_value = mean_of(group.of(null))
        yield mean_row("alignment", group, placed.alignment, placed.reasons, knobs_of(study), null_value)


def _sd_rows(study: Study, placed: Placed) -> Iterator[Metric]:
    """Standard deviation (ddof 1) over answers."""
    for group in persona_groups(study, ("overall", "culture", "dimension", "scenario", "category")):
        values = group.of(placed.alignment)
        known = values[~np.isnan(values)]
        if known.size < 2:
            reason = LONE if known.size else main_reason(group.of(placed.reasons))
            yield unscored("alignment_sd", group.where, reason, values.size)
        else:
            counts = (known.size, values.size - known.size)
            yield scored("alignment_sd", group.where, float(known.std(ddof=1)), counts)


def _gain_rows(study: Study, placed: Placed, null: FloatArray, missing: str) -> Iterator[Metric]:
    """Answer by answer, alignment less that of the best null."""
    reasons = _pair_reasons(placed, missing)
    for group in persona_groups(study, ("overall", "culture", "dimension", "category")):
        yield mean_row("alignment_gain", group, placed.alignment - null, reasons, knobs_of(study), 0.0)


def _null_rows(study: Study, placed: Placed, nulls: Mapping[str, FloatArray]) -> Iterator[Metric]:
    """Each null's own alignment on the answers that both have, and the gain over it."""
    (overall,) = persona_groups(study, ("overall",))
    for null in NULLS:
        group = Group(("null", null), overall.cultures, overall.scenarios)
        reasons = _pair_reasons(placed, MISSING.get(null, ""))
        yield mean_row("alignment", group, nulls[null], reasons, knobs_of(study))
        gain = placed.alignment - nulls[null]
        yield mean_row("alignment_gain", group, gain, reasons, knobs_of(study), 0.0)


def _pair_reasons(placed: Placed, missing: str) -> Reasons:
    """Why a pair of model and null has no value: the model's reason, else the null's."""
    return np.where(placed.reasons == "", missing, placed.reasons)
