"""Makes rows of ``metric_value`` from scores of items, and their catalogue. Pure.

Slices: overall, those of the definition, ("judge", name) and ("reason", why there is no answer).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from tasks.evaluations.recipe.definition import BEST, CONTROLS, Judged, MetricPart, controls
from tasks.evaluations.recipe.items import LoadedRecipe
from tasks.evaluations.recipe.prompted import ConditionScores
from tasks.evaluations.recipe.study import HEADLINE, RecipeStudy
from tasks.judging.controls import EMPTY, GENERIC, GOLD, NOT_CHECKED, SHUFFLED, check_row
from tasks.judging.panel import Opinions
from tasks.loop.rows import OVERALL, Metric, count_rows, mean_of, mean_row, scored
from tasks.metrics.intervals import SHARE
from tasks.metrics.types import BoolArray, FloatArray

NULL = "null:"

Nulls = Mapping[str, FloatArray]
"""Maps a null model's name, without ``null:``, to its scores on each item; NaN if unscored"""


def model_rows(
    study: RecipeStudy, answers: Mapping[str, ConditionScores], beside: Mapping[str, FloatArray]
) -> list[Metric]:
    """Return all rows of one model.

    Args:
        answers: condition -> scores. beside: number -> [items] scores without knowledge (``null_of``), for
            the headline and each of ``also``.
    """
    return [
        row for where, chosen in study.slices() for row in _slice_rows(study, answers, beside, where, chosen)
    ] + [*count_rows(answers[HEADLINE].lost), *_left_out(study)]


def null_rows(study: RecipeStudy, nulls: Mapping[str, Nulls]) -> dict[str, list[Metric]]:
    """Return every null model's headline in every slice, and its values of ``also``.

    nulls: number -> null model -> scores.
    """
    rows: dict[str, list[Metric]] = {}
    for part in (study.definition.metric, *study.definition.also):
        for name, values in nulls.get(part.name, {}).items():
            rows.setdefault(f"{NULL}{name.replace('_', '-')}", []).extend(
                mean_row(part.name, where, values[chosen], NOT_CHECKED, study.clusters[chosen], part.bounds)
                for where, chosen in study.slices()
            )
    return rows


def null_of(
    study: RecipeStudy, part: MetricPart, nulls: Nulls, chance: FloatArray | None = None
) -> FloatArray:
    """Return [items]: a number's null on each item; NaN if it could not be measured. chance: for a choice."""
    null = part.null
    if isinstance(null, float):
        return np.full(len(study.items), null)
    if null == "chance":
        assert chance is not None, "only a choice has a chance"
        return chance
    if null != BEST:
        return nulls[null]
    sign = -1 if part.direction == "lower" else 1
    means = {n: sign * float(np.nanmean(v)) for n, v in sorted(nulls.items()) if not np.isnan(v).all()}
    return nulls[max(means, key=lambda name: means[name])] if means else np.full(len(study.items), np.nan)


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
    beside: Mapping[str, FloatArray],
    where: tuple[str, str],
    chosen: BoolArray,
) -> Iterator[Metric]:
    """Return the headline, ``also``, and each control with its difference from the headline, item by item."""
    metric, own = study.definition.metric, answers[HEADLINE]
    clusters, null = study.clusters[chosen], mean_of(beside[metric.name][chosen])
    names = study.names[chosen] if where == OVERALL else None
    yield own.row(metric.name, where, chosen, clusters, metric.bounds, null, names)
    for part in study.definition.also:
        values = own.also[part.name]
        of = chosen & ~(np.isnan(values) & (own.reasons == ""))  # the items that it is a number of
        if of.any():
            null = mean_of(beside[part.name][of])
            yield mean_row(
                part.name, where, values[of], own.reasons[of], study.clusters[of], part.bounds, null
            )
    width, sign = metric.bounds[1] - metric.bounds[0], -1 if metric.direction == "lower" else 1
    for control in controls(study.definition):
        of, gains = answers[control], (-width, width)
        yield of.row(f"{metric.name}_{control}", where, chosen, clusters, metric.bounds)
        yield own.gain(of, f"{control}_gain", where, chosen, clusters, gains, sign=sign)


def _left_out(study: RecipeStudy) -> Iterator[Metric]:
    """Yield the shares of unusable items in the data: all, and by reason."""
    if counts := study.loaded.left_out:
        n = len(study.loaded.items) + sum(counts.values())
        yield scored("left_out", OVERALL, sum(counts.values()) / n, (n, 0))
        for reason, count in sorted(counts.items()):
            yield scored("left_out", ("reason", reason), count / n, (n, 0))


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
    unscored = (
        "nobody judged, or every judge failed" if isinstance(definition, Judged) else "nothing was answered"
    )
    rows = [
        CatalogueRow(
            metric.name, label, True, metric.unit, low, high, metric.direction, about, null, unscored,
            metric.source,
        )
    ]  # fmt: skip
    ours = "Culturemeter's recipes"
    rows += [_further(part) for part in definition.also]
    more = f"How much {'lower' if metric.direction == 'lower' else 'higher'} {label} is"
    for control in controls(definition):
        of = CONTROLS[definition.recipe, control]
        rows.append(
            CatalogueRow(
                f"{metric.name}_{control}", of.label, False, metric.unit, low, high, "none", of.description,
                "none", "it was not asked, or there is no other item", ours,
            )
        )  # fmt: skip
        rows.append(
            CatalogueRow(
                f"{control}_gain", f"Gain over: {of.label.lower()}", False, metric.unit, low - high,
                high - low, "higher", f"{more} than the same with this in its place: {of.description}", "0",
                "one of the two is unscored on every item", ours,
            )
        )  # fmt: skip
    rows += [_share(*words, ours) for words in _COUNTS]
    if not loaded.items:  # users bring them
        about = "Share of the data's items that cannot be asked, by reason."
        rows.append(_share("left_out", "Left out", "none", about, ours))
    if isinstance(definition, Judged):
        rows += [_share(*words, ours) for words in _CHECKS]
    return rows


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
_SHARES = "Share of {} texts that a judge scores {}."
_CHECKS = (
    ("judge_gold_accepted", "Right accepted", "higher", _SHARES.format("right", "0.5 or more")),
    ("judge_shuffled_refused", "Others' refused", "higher", _SHARES.format("others'", "below 0.5")),
    ("judge_generic_refused", "Generic refused", "higher", _SHARES.format("generic", "below 0.5")),
    ("judge_empty_refused", "Empty refused", "higher", _SHARES.format("empty", "below 0.5")),
    ("self_preference_warning", "Own family", "none", "1 if a judge is of the candidate's family, else 0."),
)


def _share(name: str, label: str, direction: str, about: str, source: str) -> CatalogueRow:
    return CatalogueRow(
        name, label, False, "fraction", *SHARE, direction, about, "none", "no judge answered", source
    )
