"""How far scores lie from the published targets, and which culture the model resembles unasked. Pure.

The null of all of these is the profile that is zero everywhere, on the same answers.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tasks.evaluations.worldwise.groups import Group, knobs_of, main_reason, mean_interval, persona_groups
from tasks.evaluations.worldwise.requests import Study
from tasks.evaluations.worldwise.scores import Placed
from tasks.metric_rows import Interval, Metric, scored, unscored
from tasks.metrics.alignment import ACCURACY_BANDS, HofstedeErrors, culture_distances, hofstede_errors
from tasks.metrics.types import FloatArray

LONE = "a standard deviation needs two scored answers"
BAND_ENDS = (0.0, 0.5, 1.0, 1.5, np.inf)


def hofstede_rows(study: Study, placed: Placed) -> Iterator[Metric]:
    """Errors of the scores on primary dimensions of answers with a persona."""
    for group in persona_groups(study, ("overall", "culture", "dimension", "culture_dimension")):
        kind = group.where[0]
        metrics = ["hofstede_mae", "hofstede_bias"]
        if kind != "culture_dimension":
            metrics += ["hofstede_median_error", "hofstede_error_sd"]
        if kind == "overall":
            metrics += [f"accuracy_{band}" for band in ACCURACY_BANDS]
        yield from _group_rows(study, placed, group, metrics)


def baseline_rows(study: Study, placed: Placed) -> Iterator[Metric]:
    """RMS distance of the answers without a persona to each culture (WorldWiseAI 2024: baseline bias)."""
    score = placed.primary[0]
    known = ~np.isnan(score)
    targets = study.content.targets[1:, np.nonzero(known)[0]]
    n, n_known = score.size, int(known.sum())
    reason = main_reason(placed.reasons[0])
    for c, culture in enumerate(study.content.cultures[1:]):
        where = ("culture", culture.culture)
        if not n_known:
            yield unscored("baseline_distance", where, reason, n)
            continue
        target = targets[c : c + 1]
        value = float(culture_distances(score[known], target)[0])
        null = float(culture_distances(np.zeros(n_known), target)[0])
        interval = mean_interval((score[known] - target[0]) ** 2, np.nonzero(known)[0], knobs_of(study))
        ends = (float(np.sqrt(interval[0])), float(np.sqrt(interval[1]))) if interval else None
        yield scored("baseline_distance", where, value, (n_known, n - n_known), ends, null)


def _group_rows(study: Study, placed: Placed, group: Group, metrics: list[str]) -> Iterator[Metric]:
    score = group.of(placed.primary)
    target = np.broadcast_to(group.of(study.content.targets)[:, :, None], score.shape)
    known = ~np.isnan(score)
    n, n_known = score.size, int(known.sum())
    own = hofstede_errors(target[known], score[known])
    nothing = hofstede_errors(target[known], np.zeros(n_known))
    if own is None or nothing is None:
        reason = main_reason(group.of(placed.reasons))
        yield from (unscored(metric, group.where, reason, n) for metric in metrics)
        return
    values, nulls = _numbers(own), _numbers(nothing)
    error = score[known] - target[known]
    scenarios = group.labels(score.shape[2])[known]
    for metric in metrics:
        value = values[metric]
        if value is None:
            yield unscored(metric, group.where, LONE, n, nulls[metric])
            continue
        each = _of_each_answer(metric, error)
        interval: Interval = None if each is None else mean_interval(each, scenarios, knobs_of(study))
        yield scored(metric, group.where, value, (n_known, n - n_known), interval, nulls[metric])


def _numbers(errors: HofstedeErrors) -> dict[str, float | None]:
    bands = {f"accuracy_{band}": errors.bands[band] / errors.n for band in ACCURACY_BANDS}
    return {
        "hofstede_mae": errors.mae,
        "hofstede_bias": errors.bias,
        "hofstede_median_error": errors.median,
        "hofstede_error_sd": errors.sd,
        **bands,
    }


def _of_each_answer(metric: str, error: FloatArray) -> FloatArray | None:
    """What the metric is a mean of; None for one that is no mean and has no interval."""
    match metric:
        case "hofstede_mae":
            return np.abs(error)
        case "hofstede_bias":
            return error
        case "hofstede_median_error" | "hofstede_error_sd":
            return None
    band = ACCURACY_BANDS.index(metric.removeprefix("accuracy_"))
    size = np.abs(error)
    return ((size >= BAND_ENDS[band]) & (size < BAND_ENDS[band + 1])).astype(np.float64)
