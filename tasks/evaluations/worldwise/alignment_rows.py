"""Alignment with the target cultures, what of it a null does not have, and errors of scores. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from tasks.evaluations.worldwise.groups import Group, mean_row, persona_groups, sample_names
from tasks.evaluations.worldwise.nulls import MISSING, NULLS, best_null, null_alignments
from tasks.evaluations.worldwise.requests import Study
from tasks.evaluations.worldwise.scores import Placed, Reasons, Space
from tasks.loop.rows import Metric, main_reason, mean_of, scored, unscored
from tasks.metrics.alignment import ACCURACY_BANDS, HofstedeErrors, culture_distances, hofstede_errors
from tasks.metrics.intervals import SHARE, UNBOUNDED, mean_interval
from tasks.metrics.types import FloatArray

LONE = "a standard deviation needs two scored answers"
POINTS, GAIN, ERROR, BIAS = (0.0, 10.0), (-10.0, 10.0), (0.0, 4.0), (-4.0, 4.0)
"""What alignment, its differences, and errors on the scale from -2 to 2 can be."""
BAND_ENDS = (0.0, 0.5, 1.0, 1.5, np.inf)


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
    items = sample_names(study)
    for group in persona_groups(study, kinds):
        null_value = mean_of(group.of(null))
        yield mean_row("alignment", group, placed.alignment, placed.reasons, null_value, POINTS, items)


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
    reasons, items = _pair_reasons(placed, missing), sample_names(study)
    for group in persona_groups(study, ("overall", "culture", "dimension", "category")):
        yield mean_row("alignment_gain", group, placed.alignment - null, reasons, 0.0, GAIN, items)


def _null_rows(study: Study, placed: Placed, nulls: Mapping[str, FloatArray]) -> Iterator[Metric]:
    """Each null's own alignment on the answers that both have, and the gain over it."""
    (overall,) = persona_groups(study, ("overall",))
    for null in NULLS:
        group = Group(("null", null), overall.cultures, overall.scenarios)
        reasons = _pair_reasons(placed, MISSING.get(null, ""))
        yield mean_row("alignment", group, nulls[null], reasons, None, POINTS)
        gain = placed.alignment - nulls[null]
        yield mean_row("alignment_gain", group, gain, reasons, 0.0, GAIN)


def _pair_reasons(placed: Placed, missing: str) -> Reasons:
    """Why a pair of model and null has no value: the model's reason, else the null's."""
    return np.where(placed.reasons == "", missing, placed.reasons)


def hofstede_rows(study: Study, placed: Placed) -> Iterator[Metric]:
    """Errors of the scores on primary dimensions of answers with a persona; the null is zero everywhere."""
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
        interval = mean_interval((score[known] - target[0]) ** 2, np.nonzero(known)[0], (0.0, ERROR[1] ** 2))
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
        each, bounds = _of_each_answer(metric, error)
        interval = None if each is None else mean_interval(each, scenarios, bounds)
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


def _of_each_answer(metric: str, error: FloatArray) -> tuple[FloatArray | None, tuple[float, float]]:
    """What the metric is a mean of, with its bounds; None for one that is no mean and has no interval."""
    size = np.abs(error)
    match metric:
        case "hofstede_mae":
            return size, ERROR
        case "hofstede_bias":
            return error, BIAS
        case "hofstede_median_error" | "hofstede_error_sd":
            return None, UNBOUNDED
    band = ACCURACY_BANDS.index(metric.removeprefix("accuracy_"))
    return ((size >= BAND_ENDS[band]) & (size < BAND_ENDS[band + 1])).astype(np.float64), SHARE
