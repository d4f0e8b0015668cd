"""Makes rows of ``metric_value`` from scores of items, and their catalogue. Pure.

Slices: overall, those of the definition, ("judge", name) and ("reason", why there is no answer).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tasks.evaluations.recipe.definition import BEST, MetricPart
from tasks.evaluations.recipe.items import LoadedRecipe
from tasks.evaluations.recipe.prompted import Bounds, ConditionScores
from tasks.evaluations.recipe.study import HEADLINE, Nulls, RecipeAnswers, RecipeStudy
from tasks.judging.controls import EMPTY, GENERIC, GOLD, NOT_CHECKED, SHUFFLED, check_row
from tasks.judging.panel import Opinions
from tasks.loop.rows import OVERALL, Metric, Reasons, Slice, count_rows, mean_of, mean_row, scored, unscored
from tasks.metrics.comparison import holm_or_reason, mean_difference
from tasks.metrics.intervals import SHARE
from tasks.metrics.nulls import best_way
from tasks.metrics.types import BoolArray, FloatArray

NULL = "null:"
_NO_PAIR = "one of the two is unscored on every item"
NO_TEST = "too few clusters with both answers, or nothing varies"


def model_rows(study: RecipeStudy, answers: RecipeAnswers, nulls: Mapping[str, Nulls]) -> list[Metric]:
    """Return all rows of one model.

    Args:
        nulls: number -> null model -> scores, for the headline and each of
            ``also``.
    """
    return [
        row
        for where, chosen in study.slices()
        for row in _slice_rows(study, answers.scores, nulls, where, chosen)
    ] + [
        *_tests(study, answers.scores),
        *count_rows(np.concatenate([each.lost for c in study.conditions for each in answers.repeated[c]])),
        *_left_out(study),
        *study.further_rows(),
    ]


def null_rows(study: RecipeStudy, nulls: Mapping[str, Nulls]) -> dict[str, list[Metric]]:
    """Return every null model's headline in every slice, and its values of ``also``.

    nulls: number -> null model -> scores.
    """
    rows: dict[str, list[Metric]] = {}
    for part in (study.definition.metric, *study.definition.also):
        for name, values in nulls.get(part.name, {}).items():
            rows.setdefault(null_model(name), []).extend(
                averaged(study, part.name, where, own, NOT_CHECKED, chosen, part.bounds)
                for where, chosen in study.slices()
                for own in [_best_choice(study, part, values, chosen)]
            )
    return rows


def null_model(name: str) -> str:
    """Return the name of a null model's rows."""
    return f"{NULL}{name.replace('_', '-')}"


def null_of(study: RecipeStudy, part: MetricPart, nulls: Nulls, chosen: BoolArray) -> float | None:
    """Return a number's null on the chosen items; None if it could not be measured.

    The best null model is the best on these items: another may be best on others.
    """
    if isinstance(part.null, float):
        return part.null
    if part.null != BEST:
        return _mean(study, _best_choice(study, part, nulls[part.null], chosen), chosen)
    own = (_best_choice(study, part, values, chosen) for values in nulls.values())
    means = [mean for values in own if (mean := _mean(study, values, chosen)) is not None]
    return (min if part.direction == "lower" else max)(means, default=None)


def _best_choice(study: RecipeStudy, part: MetricPart, values: FloatArray, chosen: BoolArray) -> FloatArray:
    """Return [items] a null model's scores with the choice that is best on the chosen items."""
    return best_way(values, lambda own: _mean(study, own, chosen), -1 if part.direction == "lower" else 1)


def averaged(
    study: RecipeStudy,
    metric: str,
    where: Slice,
    values: FloatArray,
    reasons: Reasons | str,
    chosen: BoolArray,
    bounds: Bounds,
    null: float | None = None,
    with_points: bool = False,
) -> Metric:
    """Return the row of the mean over the chosen items, or over their clusters (``Recipe.average``).

    Args:
        values, reasons: [items]; NaN is unscored. with_points: whether the row is an overall headline.
    """
    values, reasons = values[chosen], reasons if isinstance(reasons, str) else reasons[chosen]
    clusters, names = study.clusters[chosen], study.names[chosen]
    known = ~np.isnan(values)
    if study.definition.average == "items" or not known.any():
        return mean_row(
            metric, where, values, reasons, clusters, bounds, null, names if with_points else None
        )
    means, own = cluster_means(values, clusters)
    row = mean_row(metric, where, means, "", own, bounds, null, own if with_points else None)
    return row._replace(n_scored=int(known.sum()), n_unscored=int((~known).sum()))


def cluster_means(values: FloatArray, clusters: NDArray[np.str_]) -> tuple[FloatArray, NDArray[np.str_]]:
    """Return [clusters] the mean of each cluster's values that are not NaN, and the clusters' names.

    Clusters without a value are left out.
    """
    known = ~np.isnan(values)
    names, of = np.unique(clusters[known], return_inverse=True)
    return np.bincount(of, values[known]) / np.bincount(of), names


def _mean(study: RecipeStudy, values: FloatArray, chosen: BoolArray) -> float | None:
    if study.definition.average == "clusters":
        return mean_of(cluster_means(values[chosen], study.clusters[chosen])[0])
    return mean_of(values[chosen])


def check_rows(study: RecipeStudy, checked: Opinions) -> list[Metric]:
    """Return each judge's check: shares of right texts that it accepts and of null texts that it refuses."""
    rows: list[Metric] = []
    clusters = dict(zip(study.names.tolist(), study.clusters.tolist(), strict=True))
    for judge, check in checked.items():
        assert study.panel is not None
        where = ("judge", study.panel.judges[judge].name)
        for source in (GOLD, SHUFFLED, GENERIC, EMPTY):
            of = {item: opinion for (kind, item), opinion in check.items() if kind == source}
            if of:
                rows.append(check_row(source, where, list(of.values()), [clusters[item] for item in of]))
    return rows


def _slice_rows(
    study: RecipeStudy,
    answers: Mapping[str, ConditionScores],
    nulls: Mapping[str, Nulls],
    where: Slice,
    chosen: BoolArray,
) -> Iterator[Metric]:
    """Yield the headline, ``also``, and each control and condition with its difference from it, by item."""
    metric, own = study.definition.metric, answers[HEADLINE]
    null = null_of(study, metric, nulls[metric.name], chosen)
    is_overall = where == OVERALL
    yield averaged(
        study, metric.name, where, own.values, own.reasons, chosen, metric.bounds, null, is_overall
    )
    for part in study.definition.also:
        values = own.also[part.name]
        of = chosen & ~(np.isnan(values) & (own.reasons == ""))  # the items that it is a number of
        if of.any():
            its_null = null_of(study, part, nulls.get(part.name, {}), of)
            yield averaged(study, part.name, where, values, own.reasons, of, part.bounds, its_null)
    width, sign = metric.bounds[1] - metric.bounds[0], -1 if metric.direction == "lower" else 1
    for name in (*study.definition.controls, *study.conditions[1:]):
        other, is_control, value = answers[name], name in study.definition.controls, f"{metric.name}_{name}"
        its_null = None if is_control else null
        yield averaged(study, value, where, other.values, other.reasons, chosen, metric.bounds, its_null)
        gains = sign * (own.values - other.values) if is_control else other.values - own.values
        reasons = np.where(own.reasons == "", other.reasons, own.reasons)
        difference = f"{name}_{'gain' if is_control else 'difference'}"
        yield averaged(study, difference, where, gains, reasons, chosen, (-width, width), 0.0)


def _tests(study: RecipeStudy, answers: Mapping[str, ConditionScores]) -> Iterator[Metric]:
    """Yield each difference's p, adjusted by Holm for the differences that the definition asks about.

    A single difference is no family: its interval says it.
    """
    others, own = study.conditions[1:], answers[HEADLINE].values
    if len(others) < 2:
        return
    counts, p_values = [], list[float | None]()
    for condition in others:
        values = answers[condition].values - own
        known = ~np.isnan(values)
        points, clusters = values[known], study.clusters[known]
        if study.definition.average == "clusters" and points.size:
            points, clusters = cluster_means(points, clusters)
        test = mean_difference(points, np.zeros(points.size), clusters) if points.size else None
        counts.append((int(known.sum()), int((~known).sum())))
        p_values.append(test.p_value if test else None)
    outcomes = holm_or_reason(p_values, [0.0] * len(others), [study.definition.cluster] * len(others))
    for condition, (p, _), (n, n_lost) in zip(others, outcomes, counts, strict=True):
        name = f"{condition}_p_holm"
        if p is None:
            yield unscored(name, OVERALL, NO_TEST, n + n_lost)
        else:
            yield scored(name, OVERALL, p, (n, n_lost))


def _left_out(study: RecipeStudy) -> Iterator[Metric]:
    """Yield the shares of the data that are not asked, by reason; each is a share of its own unit.

    The overall share is that of the unit that an item is made of.
    """
    for unit, counts in study.loaded.left_out_by_unit().items():
        out = sum(counts.values())
        n = study.loaded.used.get(unit, 0) + out
        if unit == next(iter(study.loaded.used)):
            yield scored("left_out", OVERALL, out / n, (n, 0))
        for reason, count in sorted(counts.items()):
            yield scored("left_out", ("reason", f"{unit}: {reason}"), count / n, (n, 0))


class CatalogueRow(NamedTuple):
    """A row of the table metric, but for the evaluation."""

    metric: str
    label: str
    is_headline: bool
    unit: str
    range_low: float | None
    range_high: float | None
    direction: str
    description: str
    null_baseline: str
    unscored_when: str
    source: str


def catalogue(loaded: LoadedRecipe) -> list[CatalogueRow]:
    """Return the meaning of every number of an evaluation, the headline first."""
    definition, metric = loaded.definition, loaded.definition.metric
    low, high = metric.bounds
    label = metric.label or metric.name.replace("_", " ").capitalize()
    about = metric.description or f"Mean score of the answers over items, from {low:g} to {high:g}."
    null = f"{metric.null:g}" if isinstance(metric.null, float) else metric.null
    meaning = (metric.unit, low, high, metric.direction, about, null, definition.unscored_when)
    rows = [CatalogueRow(metric.name, label, True, *meaning, metric.source), *map(_further, definition.also)]
    more = f"How much {'lower' if metric.direction == 'lower' else 'higher'} {label} is"
    for control, of in definition.controls.items():
        rows += [
            _ours(
                f"{metric.name}_{control}", of.label, metric.unit, low, high, "none", of.description, "none",
                "it was not asked, or there is no other item",
            ),
            _ours(
                f"{control}_gain", f"Gain over: {of.label.lower()}", metric.unit, low - high, high - low,
                "higher", f"{more} than the same with this in its place: {of.description}", "0", _NO_PAIR,
            ),
        ]  # fmt: skip
    (first, *others), n = definition.wordings, len(definition.wordings) - 1
    for name in others:
        of_condition = (metric.unit, low, high, metric.direction, f"The same number in the condition {name}.")
        why, minus = definition.unscored_when, f"{name} minus {first}"
        rows.append(_ours(f"{metric.name}_{name}", f"{label}: {name}", *of_condition, null, why))
        about = f"{label} in the condition {name} minus that in {first}, item by item."
        bounds = low - high, high - low
        rows.append(_ours(f"{name}_difference", minus, metric.unit, *bounds, "none", about, "0", _NO_PAIR))
        if n > 1:
            about = f"p of the difference of {name} from {first}, adjusted by Holm for {n} differences."
            of_test = ("p-value", *SHARE, "none", about, "none", NO_TEST)
            rows.append(_ours(f"{name}_p_holm", f"{minus}: p", *of_test))
    there = definition.shares_of([item.fields for item in loaded.items])
    rows += [_share(*words) for words in (*_COUNTS, *there)]
    if not loaded.items:  # users bring them
        about = "Share of the data that is not asked, by unit and reason."
        rows.append(_share("left_out", "Left out", "none", about))
    return rows


def _ours(metric: str, label: str, *meaning: Any) -> CatalogueRow:
    """Return the row of a number that every recipe has; meaning: unit to unscored_when."""
    return CatalogueRow._make((metric, label, False, *meaning, "Culturemeter's recipes"))


def _further(part: MetricPart) -> CatalogueRow:
    """Return the catalogue's row of one of the further metrics, ``also``."""
    null = f"{part.null:g}" if isinstance(part.null, float) else part.null
    return CatalogueRow(
        part.name, part.label or part.name.replace("_", " ").capitalize(), False, part.unit, *part.bounds,
        part.direction, part.description, null, "nothing was answered", part.source,
    )  # fmt: skip


_COUNTS = (
    ("coverage", "Answered", "higher", "Share of items that have an answer."),
    ("unanswered", "Not answered", "lower", "Share of items without an answer, by reason."),
)


def _share(name: str, label: str, direction: str, about: str) -> CatalogueRow:
    return _ours(name, label, "fraction", *SHARE, direction, about, "none", "no judge answered")
