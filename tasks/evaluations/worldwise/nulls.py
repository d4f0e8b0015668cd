"""What is aligned without knowing anything of the culture: five profiles beside each model. Pure.

``zero``, ``global_mean`` and ``scenario_text`` depend on no model and are runs of their own. ``shuffled`` is
the model's own answers against the targets of the other cultures: the mean over all rotations of the
personas, each a derangement, which is what random derangements have in expectation, without chance.
``unprompted`` is the model's own answer without a persona, to the same scenario in the same repetition.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tasks.evaluations.worldwise.requests import Study
from tasks.evaluations.worldwise.scores import NO_VECTOR, Placed, Space, aligned
from tasks.loop.rows import mean_of
from tasks.metrics.alignment import global_mean_profile, shuffled_alignments
from tasks.metrics.types import FloatArray

NULLS = ("zero", "global_mean", "scenario_text", "shuffled", "unprompted")
"""In the order that settles which of equals is the best."""

MISSING = {
    "scenario_text": NO_VECTOR,
    "shuffled": "shuffling personas needs two cultures",
    "unprompted": "no scored answer without a persona to compare with",
}
"""Why a null has no alignment where the model has one; the others are never missing."""

MODELS = {"null:zero": "zero", "null:global-mean": "global_mean", "null:scenario-text": "scenario_text"}
"""Names of the nulls that are runs of their own."""


def null_models(study: Study, space: Space) -> dict[str, Placed]:
    """The nulls that depend on no model, as if they were models, with one repetition."""
    return {model: _placed(study, _profile(study, space, null)) for model, null in MODELS.items()}


def null_alignments(study: Study, space: Space, placed: Placed) -> dict[str, FloatArray]:
    """null -> [C, S, R] its alignment where the model has one; NaN elsewhere."""
    shape, known = placed.primary.shape, ~np.isnan(placed.alignment)
    profiles = {null: np.broadcast_to(_profile(study, space, null), shape) for null in MODELS.values()}
    profiles["unprompted"] = np.broadcast_to(placed.primary[:1], shape)
    alignments = {null: aligned(study, primary) for null, primary in profiles.items()}
    alignments["shuffled"] = _shuffled(study, placed)
    return {null: np.where(known, alignments[null], np.nan) for null in NULLS}


def best_null(nulls: Mapping[str, FloatArray]) -> str | None:
    """The null with the highest mean alignment; None where none has any."""
    means = {null: mean for null in NULLS if (mean := mean_of(nulls[null])) is not None}
    return max(means, key=lambda null: means[null]) if means else None


def _profile(study: Study, space: Space, null: str) -> FloatArray:
    """[C, S, 1] the score that the null gives each scenario, whatever the culture."""
    cultures, scenarios, _ = study.shape
    match null:
        case "zero":
            score = np.zeros(scenarios)
        case "global_mean":
            score = global_mean_profile(study.content.targets[1:])
        case _:
            score = space.scenario_scores[np.arange(scenarios), study.content.primary]
    return np.tile(score[None, :, None], (cultures, 1, 1))


def _placed(study: Study, primary: FloatArray) -> Placed:
    reasons = np.full(primary.shape, "", dtype=object)
    reasons[np.isnan(primary)] = NO_VECTOR
    return Placed(primary, aligned(study, primary), reasons)


def _shuffled(study: Study, placed: Placed) -> FloatArray:
    means = np.full(placed.primary.shape, np.nan)
    targets = study.content.targets[1:]
    n = len(targets)
    if n < 2:
        return means
    culture, scenario, repetition = np.nonzero(~np.isnan(placed.alignment))
    if culture.size:
        rotations = (np.arange(n) + np.arange(1, n)[:, None]) % n
        scores = placed.primary[culture, scenario, repetition]
        of_each = shuffled_alignments(targets, culture - 1, scenario, scores, rotations)
        means[culture, scenario, repetition] = of_each.mean(axis=0)
    return means
