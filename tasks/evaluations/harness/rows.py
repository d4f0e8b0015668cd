"""Makes rows of ``metric_value`` from documents' values, and the catalogue of their metrics. Pure.

Slices: overall, task if there are several, the chosen fields, and (reason) for missing answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from tasks.evaluations.harness import examples
from tasks.evaluations.harness.read import HarnessScores, NullValues, Values, headline_of, number
from tasks.evaluations.harness.study import NO_QUESTION, OTHER_QUESTION, HarnessStudy
from tasks.evaluations.recipe.prompted import ConditionScores
from tasks.evaluations.recipe.study import HEADLINE
from tasks.identity import NULL
from tasks.loop import positions
from tasks.loop.rows import OVERALL, Metric, Slice, count_rows, mean_of, mean_row, scored, unscored
from tasks.metrics.intervals import SHARE, UNBOUNDED
from tasks.metrics.nulls import best_way
from tasks.metrics.types import BoolArray

SCORE = "score"
CONTROLS = {
    NO_QUESTION: ("Without the question", "Prompts with the question left out, where that can be done."),
    OTHER_QUESTION: (
        "Other question",
        "Options after another document's prompt; of texts, the model's text about another document.",
    ),
}
SHARES = frozenset({"acc", "acc_norm", "acc_bytes", "acc_mutual_info", "exact_match", "f1", "em"})
"""Metrics of the harness that lie in [0, 1]."""
_OWN = {SCORE, "coverage", "unanswered", "truncated", "examples_evaluated", positions.UNMIXED}
"""Reserved names; a metric of the harness with one of them is left out."""
NOT_SCORED = "nothing was answered, or the task's scoring fails"


def model_rows(study: HarnessStudy, answers: Mapping[str, HarnessScores], nulls: NullModels) -> list[Metric]:
    """Return all rows of one model. answers: condition -> scores."""
    own = answers[HEADLINE]
    rows: list[Metric] = []
    for where, chosen in study.slices():
        rows += _headline_rows(study, answers, nulls, where, chosen)
        rows += _metric_rows(study, own.values, where, chosen)
    rows += positions.unmixed_rows(study.slices(), study.orders)
    shown = [examples.source(item.task.library) for item in study.items]
    if any(shown):
        share = np.mean([place == examples.EVALUATED for place in shown])
        rows.append(scored("examples_evaluated", OVERALL, float(share), (len(study.items), 0)))
    rows.append(scored("truncated", OVERALL, own.n_cut / len(study.items), (len(study.items), 0)))
    return [*rows, *count_rows(own.headline.lost)]


class NullModels:
    """Null models' values, each way of a model chosen where it is best: in one task and one slice."""

    def __init__(self, study: HarnessStudy, nulls: NullValues) -> None:
        self._study, self._values = study, nulls
        self._of_task = {
            task: np.array([item.task.name == task for item in study.items]) for task in study.tasks
        }
        self._scores = {
            name: {
                task: np.array([headline_of(study, values).values for values in ways]).T
                for task, ways in by_task.items()
            }
            for name, by_task in nulls.items()
        }

    def rows(self) -> dict[str, list[Metric]]:
        """Return the headline and the harness's metrics of every null model in every slice."""
        study = self._study
        return {
            f"{NULL}{name.replace('_', '-')}": [
                row
                for where, chosen in study.slices()
                for values in [self._best(name, chosen)]
                for row in (
                    headline_of(study, values).row(SCORE, where, chosen, study.clusters[chosen], SHARE),
                    *_metric_rows(study, values, where, chosen),
                )
            ]
            for name in self._values
        }

    def mean(self, chosen: BoolArray) -> float | None:
        """Return the mean over chosen documents of the best null model of each task there."""
        best = np.full(len(self._study.items), np.nan)
        for task, is_own in self._of_task.items():
            here = chosen & is_own
            own = (
                best_way(by_task[task][here], mean_of) for by_task in self._scores.values() if task in by_task
            )
            known = [(mean, values) for values in own if (mean := mean_of(values)) is not None]
            if known:
                best[here] = max(known, key=lambda pair: pair[0])[1]
        return mean_of(best[chosen])

    def _best(self, name: str, chosen: BoolArray) -> Values:
        """Return a null model's values, in each task by the way that is best on the chosen documents."""
        values: dict[str, Mapping[str, Any]] = {}
        for task, ways in self._values[name].items():
            here, scores = chosen & self._of_task[task], self._scores[name][task]
            means = [mean_of(own[here]) or 0.0 for own in scores.T]
            values |= ways[int(np.argmax(means))]
        return values


def _headline_rows(
    study: HarnessStudy,
    answers: Mapping[str, HarnessScores],
    nulls: NullModels,
    where: Slice,
    chosen: BoolArray,
) -> Iterator[Metric]:
    """Yield the headline, and each control with its difference from the headline."""
    clusters, names = study.clusters[chosen], study.names[chosen] if where == OVERALL else None
    own: ConditionScores = answers[HEADLINE].headline
    yield own.row(SCORE, where, chosen, clusters, SHARE, nulls.mean(chosen), names)
    for control in CONTROLS:
        of = answers[control].headline
        if np.isnan(of.values[chosen]).all():
            continue
        yield of.row(f"{SCORE}_{control}", where, chosen, clusters, SHARE)
        yield own.gain(of, f"{control}_gain", where, chosen, clusters, (-1.0, 1.0))


def _metric_rows(study: HarnessStudy, values: Values, where: Slice, chosen: BoolArray) -> Iterator[Metric]:
    """Yield the harness's own metrics: means have an interval, its other aggregations have none."""
    items = [item for item, is_chosen in zip(study.items, chosen, strict=True) if is_chosen]
    for metric in _metrics(study):
        own = [item for item in items if metric in item.task.aggregations]
        ways = {item.task.aggregations[metric][0] for item in own}
        of_tasks = {item.task.name for item in own}
        raw = [values.get(item.name, {}).get(metric) for item in own]
        if not any(value is not None for value in raw):
            continue
        if ways == {None}:
            numbers = np.array([np.nan if (n := number(value)) is None else n for value in raw])
            clusters = np.array([item.cluster for item in own])
            yield mean_row(metric, where, numbers, NOT_SCORED, clusters, bounds_of(metric))
        elif len(of_tasks) == 1:
            yield _aggregated(metric, where, next(iter(ways)), raw)


def _aggregated(metric: str, where: Slice, aggregate: Callable[[Any], Any] | None, raw: list[Any]) -> Metric:
    known = [value for value in raw if value is not None]
    try:
        value = number(aggregate(known)) if aggregate is not None else None
    except Exception as error:  # a task's own code
        return unscored(metric, where, f"the task's aggregation fails: {type(error).__name__}", len(raw))
    if value is None or not np.isfinite(value):
        return unscored(metric, where, "the task's aggregation gives no number", len(raw))
    return scored(metric, where, value, (len(known), len(raw) - len(known)))


def _metrics(study: HarnessStudy) -> list[str]:
    """Return the harness's metrics of all tasks."""
    return sorted({metric for task in study.tasks.values() for metric in task.aggregations} - _OWN)


def bounds_of(metric: str) -> tuple[float, float]:
    """Return the range of a metric of the harness."""
    is_share = metric in SHARES or metric.startswith(("acc_", "exact_match_"))
    return SHARE if is_share else UNBOUNDED


def catalogue() -> list[dict[str, Any]]:
    """Return the rows of the table metric that every run has, the headline first."""
    about = "Mean over documents of the task's first metric (--metric names another), from 0 to 1."
    rows = [_row(SCORE, "Score", about, null="the best null model of each task and slice", is_headline=True)]
    for control, (label, words) in CONTROLS.items():
        rows.append(_row(f"{SCORE}_{control}", label, words, direction="none"))
        gain = f"Gain of the score over: {words}"
        rows.append(_row(f"{control}_gain", f"Gain over: {label.lower()}", gain, null="0", low=-1.0))
    rows.append(_row("coverage", "Answered", "Share of documents that have an answer."))
    without = "Share of documents without an answer, by reason."
    rows.append(_row("unanswered", "Not answered", without, direction="lower"))
    shots = (
        "Share of documents whose few-shot examples are other evaluated documents, since their task has no "
        "split for examples. The document itself is never among them. Others have a split of their own."
    )
    rows.append(_row("examples_evaluated", "Examples evaluated", shots, direction="none"))
    rows.append(_row(positions.UNMIXED, positions.LABEL, positions.ABOUT, "chance", direction="none"))
    cut = "Share of documents whose context was cut on the left because it was longer than the model's."
    rows.append(_row("truncated", "Cut", cut, direction="lower"))
    return rows


def catalogue_of(study: HarnessStudy) -> list[dict[str, Any]]:
    """Return rows of the table metric for the harness's metrics that a study's tasks have."""
    rows = []
    for metric in _metrics(study):
        better = {
            task.aggregations[metric][1] for task in study.tasks.values() if metric in task.aggregations
        }
        low, high = bounds_of(metric)
        rows.append(
            _row(
                metric, metric, f"{metric} as lm-evaluation-harness computes it.",
                direction="higher" if better == {True} else "lower" if better == {False} else "none",
                low=low if np.isfinite(low) else None, high=high if np.isfinite(high) else None,
                source="lm-evaluation-harness",
            )
        )  # fmt: skip
    return rows


def _row(
    metric: str, label: str, about: str, null: str = "none", direction: str = "higher",
    low: float | None = 0.0, high: float | None = 1.0, source: str = "Culturemeter",
    is_headline: bool = False,
) -> dict[str, Any]:  # fmt: skip
    return {
        "metric": metric, "label": label, "is_headline": is_headline, "unit": "score", "range_low": low,
        "range_high": high, "direction": direction, "description": about, "null_baseline": null,
        "unscored_when": NOT_SCORED, "source": source,
    }  # fmt: skip
