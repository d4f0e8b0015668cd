"""Makes the rows of ``metric_value`` that models and nulls share: alignment with targets, and errors. Pure.

Slices here and in ``model_rows``: ("culture", "IN"), ("dimension", "indulgence"), ("culture_dimension",
"IN:indulgence"), ("scenario", id), ("category", name), ("culture_value", "IN:family_harmony"),
("culture_decision", "IN:A"), ("culture_pair", "IN:JP"), ("null", name of a null), ("model_pair", the other
model), ("reason", why unscored). An unscored slice gets every row that a scored one has, with the reason.
Intervals are clustered by scenario.

Each model has five null models. ``zero``, ``global_mean`` and ``scenario_text`` depend on no model
and are runs of their own. ``shuffled`` is the model's own answers against the targets of the other cultures:
the mean over all rotations of the personas. Each rotation is a derangement, so the mean equals the
expectation over random derangements. ``unprompted`` is the model's own answer without a persona, to the same
scenario in the same repetition.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from tasks.evaluations.worldwise.read import NO_VECTOR, Placed, Space, aligned, lost_answers
from tasks.evaluations.worldwise.study import WorldwiseStudy
from tasks.loop import rows as metric_rows
from tasks.loop.rows import OVERALL, Metric, Reasons, Slice, main_reason, mean_of, scored, unscored
from tasks.metrics.alignment import (
    ACCURACY_BANDS,
    HofstedeErrors,
    culture_distances,
    global_mean_profile,
    hofstede_errors,
    shuffled_alignments,
)
from tasks.metrics.intervals import SHARE, UNBOUNDED, mean_interval
from tasks.metrics.types import FloatArray, IntArray


class CultureGroup(NamedTuple):
    """A choice of cultures (rows of the arrays; 0: the baseline) crossed with a choice of scenarios."""

    where: Slice
    cultures: IntArray
    scenarios: IntArray

    def of(self, table: np.ndarray) -> np.ndarray:
        """Return the group's part of an array [cultures, scenarios, ...]."""
        part: np.ndarray = table[np.ix_(self.cultures, self.scenarios)]
        return part

    def labels(self, repetitions: int) -> IntArray:
        """Return [cultures, scenarios, repetitions] the scenario of each sample."""
        shape = (len(self.cultures), len(self.scenarios), repetitions)
        return np.broadcast_to(self.scenarios[None, :, None], shape)


def persona_groups(study: WorldwiseStudy, kinds: Sequence[str]) -> Iterator[CultureGroup]:
    """Yield groups of answers with a persona. kinds: overall, culture, dimension, culture_dimension,
    scenario, category.
    """
    m = study.content
    personas, everything = np.arange(1, len(m.cultures)), np.arange(len(m.scenarios))
    dimensions = _members([s.dimension for s in m.scenarios])
    for kind in kinds:
        match kind:
            case "overall":
                yield CultureGroup(OVERALL, personas, everything)
            case "culture":
                for c in personas:
                    yield CultureGroup(("culture", m.cultures[c].culture), np.array([c]), everything)
            case "dimension":
                for dimension, members in dimensions.items():
                    yield CultureGroup(("dimension", dimension), personas, members)
            case "culture_dimension":
                for c in personas:
                    for dimension, members in dimensions.items():
                        name = f"{m.cultures[c].culture}:{dimension}"
                        yield CultureGroup(("culture_dimension", name), np.array([c]), members)
            case "scenario":
                for s in everything:
                    yield CultureGroup(("scenario", m.scenarios[s].scenario), personas, np.array([s]))
            case "category":
                for category, members in _members([s.category for s in m.scenarios]).items():
                    yield CultureGroup(("category", category), personas, members)
            case _:
                raise ValueError(f"unknown kind of group {kind!r}")


def sample_names(study: WorldwiseStudy) -> np.ndarray:
    """Return [C, S, R] a name for every sample."""
    names = [":".join(map(str, key)) for key, _ in study.places()]
    return np.array(names).reshape(study.shape)


def culture_groups(study: WorldwiseStudy) -> Iterator[CultureGroup]:
    """Yield each culture's answers, those of the baseline first."""
    everything = np.arange(len(study.content.scenarios))
    for c, culture in enumerate(study.content.cultures):
        yield CultureGroup(("culture", culture.culture), np.array([c]), everything)


def mean_row(
    metric: str,
    group: CultureGroup,
    values: FloatArray,
    reasons: Reasons,
    null: float | None = None,
    bounds: tuple[float, float] = UNBOUNDED,
    items: np.ndarray | None = None,
) -> Metric:
    """Return the mean of a group's known samples of ``values`` [C, S, R], with its interval. items: [C, S, R]
    names of the samples, for a headline.
    """
    part = group.of(values)
    labels = group.labels(part.shape[2])
    names = None
    if items is not None and group.where == OVERALL:
        names = group.of(items)[..., : part.shape[2]]  # a null has one answer per scenario, a model several
    return metric_rows.mean_row(metric, group.where, part, group.of(reasons), labels, bounds, null, names)


def _members(labels: Sequence[str]) -> dict[str, IntArray]:
    """Return label -> its positions, labels in code-point order."""
    table = np.array(labels)
    return {str(label): np.flatnonzero(table == label) for label in np.unique(table)}


NULLS = ("zero", "global_mean", "scenario_text", "shuffled", "unprompted")
"""Names of the nulls; if several are equally good, the first counts as the best."""

MISSING = {
    "scenario_text": NO_VECTOR,
    "shuffled": "shuffling personas needs two cultures",
    "unprompted": "no scored answer without a persona to compare with",
}
"""Reasons why a null has no alignment where the model has one; the other nulls are never missing."""

MODELS = {"null:zero": "zero", "null:global-mean": "global_mean", "null:scenario-text": "scenario_text"}
"""Names of the nulls that are stored as runs."""


def null_models(study: WorldwiseStudy, space: Space) -> dict[str, Placed]:
    """Return the model-independent nulls as scored models with one repetition."""
    return {model: _placed(study, _profile(study, space, null)) for model, null in MODELS.items()}


def null_alignments(study: WorldwiseStudy, space: Space, placed: Placed) -> dict[str, FloatArray]:
    """Return null -> [C, S, R] its alignment where the model has one; NaN elsewhere.

    A lost answer, which might have been any, never lowers a null: in ``unprompted`` it stands where the
    targets are nearest on average, in ``shuffled`` where the other cultures' are.
    """
    shape, known = placed.primary.shape, ~np.isnan(placed.alignment)
    profiles = {null: np.broadcast_to(_profile(study, space, null), shape) for null in MODELS.values()}
    nearest = np.median(study.content.targets[1:], axis=0)[:, None]
    unprompted = np.where(lost_answers(study, placed.reasons[0]), nearest, placed.primary[0])
    profiles["unprompted"] = np.broadcast_to(unprompted, shape)
    alignments = {null: aligned(study, primary) for null, primary in profiles.items()}
    alignments["shuffled"] = _shuffled(study, placed)
    return {null: np.where(known, alignments[null], np.nan) for null in NULLS}


def best_null(nulls: Mapping[str, FloatArray]) -> str | None:
    """Return the null with the highest mean alignment; None if no null has one."""
    means = {null: mean for null in NULLS if (mean := mean_of(nulls[null])) is not None}
    return max(means, key=lambda null: means[null]) if means else None


def _profile(study: WorldwiseStudy, space: Space, null: str) -> FloatArray:
    """Return [C, S, 1] the score that the null gives each scenario for every culture."""
    cultures, scenarios, _ = study.shape
    match null:
        case "zero":
            score = np.zeros(scenarios)
        case "global_mean":
            score = global_mean_profile(study.content.targets[1:])
        case _:
            score = space.scenario_scores[np.arange(scenarios), study.content.primary]
    return np.tile(score[None, :, None], (cultures, 1, 1))


def _placed(study: WorldwiseStudy, primary: FloatArray) -> Placed:
    reasons = np.full(primary.shape, "", dtype=object)
    reasons[np.isnan(primary)] = NO_VECTOR
    return Placed(primary, aligned(study, primary), reasons)


def _shuffled(study: WorldwiseStudy, placed: Placed) -> FloatArray:
    means = np.full(placed.primary.shape, np.nan)
    targets = study.content.targets[1:]
    n = len(targets)
    if n < 2:
        return means
    nearest = np.array([np.median(np.delete(targets, c, axis=0), axis=0) for c in range(n)])
    scores = np.where(np.isnan(placed.primary[1:]), nearest[:, :, None], placed.primary[1:])
    culture, scenario, repetition = np.nonzero(~np.isnan(placed.alignment[1:]))
    if culture.size:
        rotations = (np.arange(n) + np.arange(1, n)[:, None]) % n
        of_each = shuffled_alignments(
            targets, culture, scenario, scores[culture, scenario, repetition], rotations
        )
        means[culture + 1, scenario, repetition] = of_each.mean(axis=0)
    return means


LONE = "a standard deviation needs two scored answers"
POINTS, GAIN, ERROR, BIAS = (0.0, 10.0), (-10.0, 10.0), (0.0, 4.0), (-4.0, 4.0)
"""Bounds of alignment, of its differences, and of errors on the scale from -2 to 2."""
BAND_ENDS = (0.0, 0.5, 1.0, 1.5, np.inf)


def null_rows(study: WorldwiseStudy, space: Space, placed: Placed) -> list[Metric]:
    """Return the rows that models and nulls share: alignment, errors against targets, distance to each
    culture.
    """
    return [
        *alignment_rows(study, space, placed),
        *hofstede_rows(study, placed),
        *baseline_rows(study, placed),
    ]


def alignment_rows(study: WorldwiseStudy, space: Space, placed: Placed) -> list[Metric]:
    """Return alignment, alignment_sd and alignment_gain of one model or null over answers with a persona."""
    nulls = null_alignments(study, space, placed)
    best = best_null(nulls)
    nowhere = np.full(placed.alignment.shape, np.nan)
    against = nulls[best] if best else nowhere
    rows = list(_mean_rows(study, placed, against))
    rows += _sd_rows(study, placed)
    rows += _gain_rows(study, placed, against, MISSING.get(best or "", ""))
    rows += _null_rows(study, placed, nulls)
    return rows


def _mean_rows(study: WorldwiseStudy, placed: Placed, null: FloatArray) -> Iterator[Metric]:
    kinds = ("overall", "culture", "dimension", "culture_dimension", "scenario", "category")
    items = sample_names(study)
    for group in persona_groups(study, kinds):
        null_value = mean_of(group.of(null))
        yield mean_row("alignment", group, placed.alignment, placed.reasons, null_value, POINTS, items)


def _sd_rows(study: WorldwiseStudy, placed: Placed) -> Iterator[Metric]:
    """Yield the standard deviation (ddof 1) over answers."""
    for group in persona_groups(study, ("overall", "culture", "dimension", "scenario", "category")):
        values = group.of(placed.alignment)
        known = values[~np.isnan(values)]
        if known.size < 2:
            reason = LONE if known.size else main_reason(group.of(placed.reasons))
            yield unscored("alignment_sd", group.where, reason, values.size)
        else:
            counts = (known.size, values.size - known.size)
            yield scored("alignment_sd", group.where, float(known.std(ddof=1)), counts)


def _gain_rows(study: WorldwiseStudy, placed: Placed, null: FloatArray, missing: str) -> Iterator[Metric]:
    """Yield the mean over answers of the model's alignment less the best null's."""
    reasons, items = _pair_reasons(placed, missing), sample_names(study)
    for group in persona_groups(study, ("overall", "culture", "dimension", "category")):
        yield mean_row("alignment_gain", group, placed.alignment - null, reasons, 0.0, GAIN, items)


def _null_rows(study: WorldwiseStudy, placed: Placed, nulls: Mapping[str, FloatArray]) -> Iterator[Metric]:
    """Yield each null's alignment on the answers that both have, and the gain over it."""
    (overall,) = persona_groups(study, ("overall",))
    for null in NULLS:
        group = CultureGroup(("null", null), overall.cultures, overall.scenarios)
        reasons = _pair_reasons(placed, MISSING.get(null, ""))
        yield mean_row("alignment", group, nulls[null], reasons, None, POINTS)
        gain = placed.alignment - nulls[null]
        yield mean_row("alignment_gain", group, gain, reasons, 0.0, GAIN)


def _pair_reasons(placed: Placed, missing: str) -> Reasons:
    """Return why a pair of model and null has no value: the model's reason, else the null's."""
    return np.where(placed.reasons == "", missing, placed.reasons)


def hofstede_rows(study: WorldwiseStudy, placed: Placed) -> Iterator[Metric]:
    """Yield errors of primary-dimension scores of answers with a persona; the null is a score of zero."""
    for group in persona_groups(study, ("overall", "culture", "dimension", "culture_dimension")):
        kind = group.where[0]
        metrics = ["hofstede_mae", "hofstede_bias"]
        if kind != "culture_dimension":
            metrics += ["hofstede_median_error", "hofstede_error_sd"]
        if kind == "overall":
            metrics += [f"accuracy_{band}" for band in ACCURACY_BANDS]
        yield from _group_rows(study, placed, group, metrics)


def baseline_rows(study: WorldwiseStudy, placed: Placed) -> Iterator[Metric]:
    """Yield the RMS distance from answers without a persona to each culture (WorldWiseAI 2024: baseline
    bias).
    """
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


def _group_rows(
    study: WorldwiseStudy, placed: Placed, group: CultureGroup, metrics: list[str]
) -> Iterator[Metric]:
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
    """Return the values whose mean is the metric, with its bounds; None for a metric without an interval that
    is not a mean.
    """
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
