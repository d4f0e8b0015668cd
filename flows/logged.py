"""A log that was read to its end, as the study and the answers of its run; nothing is stored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tasks.evaluations.imported import rows
from tasks.evaluations.imported.study import (
    ImportedAnswer,
    ImportedItem,
    ImportedParams,
    ImportedStudy,
    option_hash,
)
from tasks.exchange import Log, LoggedMetric, LoggedSample, LogHeader
from tasks.exchange.records import field_of

MOST_ITEMS = 2_000_000
"""Most samples of one model and task."""
FEWER = 1e-6
"""Difference between a log's own number and the mean of its samples that is rounding."""


@dataclass(frozen=True)
class Choices:
    """Options of an import.

    Attributes:
        cluster: field whose values are the clusters; "": the items. by: fields for slices.
        metric: the headline; "": the log's first. models: model of a log -> the name by which the user knows
            it; the key "" stands for any. occasion: of logs without a date.
    """

    cluster: str = ""
    by: tuple[str, ...] = ()
    metric: str = ""
    models: Mapping[str, str] = field(default_factory=dict)
    occasion: str = ""


@dataclass(frozen=True)
class LoggedRun:
    """A log that was read to its end: its study, the answers by item, and the metrics that they have."""

    log: Log
    study: ImportedStudy
    answers: Mapping[str, ImportedAnswer]
    metrics: tuple[str, ...]


def read(log: Log, choices: Choices) -> LoggedRun:
    """Read a log to its end.

    Raises:
        ValueError: it has no sample or no number, or a field is missing.
    """
    assert log.samples is not None
    header, names = log.header, Names()
    items: dict[str, ImportedItem] = {}
    values: dict[str, dict[str, float]] = {}
    counts: dict[tuple[str, str], int] = {}  # of repeated answers
    why: dict[str, tuple[str, str, str]] = {}
    paths = [path for path in (choices.cluster, *choices.by) if path]
    missing, fields = Counter[str](), dict[str, Any]()
    for sample in log.samples():
        name, is_new = names.of(sample)
        if len(items) > MOST_ITEMS:
            raise ValueError(f"it has more than {MOST_ITEMS:,} samples: split it")
        own = values.setdefault(name, {})
        for metric, value in sample.scores.items():
            if metric in own:
                n = counts[name, metric] = counts.get((name, metric), 1) + 1
                value = own[metric] + (value - own[metric]) / n
            own[metric] = value
        if is_new:
            for path in paths:
                missing[path] += field_of(sample.fields, path) is None
            fields = fields or dict(sample.fields)
            items[name] = _item(name, sample, choices)
            why[name] = sample.lost, sample.unscored, sample.answer or ""
    if not items:
        raise ValueError("it has no sample")
    for path in paths:
        if missing[path] == len(items):
            there = ", ".join(sorted(map(str, fields))[:20]) or "none"
            raise ValueError(f"its samples have no field {path!r}; they have: {there}")
    first = _headline(header, values, choices.metric)
    numbers = [own[first.name] for own in values.values() if first.name in own]
    answers = {
        name: ImportedAnswer(
            values[name], lost, unscored if first.name not in values[name] else "", answer[:LONGEST]
        )
        for name, (lost, unscored, answer) in why.items()
    }
    names_of = tuple(rows.metrics_of(answers.values()))
    params = _params(header, first, _scale(first, numbers), choices)
    return LoggedRun(log, ImportedStudy(params, tuple(sorted(items.values()))), answers, names_of)


LONGEST = 4000
"""Most letters of an answer in the table of answers; the whole output is in the sample."""


class Names:
    """Names samples' items: by content, and documents that are there twice with a number."""

    def __init__(self) -> None:
        self._first: dict[str, str] = {}
        self._others: dict[str, dict[str, int]] = {}

    def of(self, sample: LoggedSample) -> tuple[str, bool]:
        """Return the name of a sample's item, and whether it is the item's first sample."""
        if (first := self._first.get(sample.item)) is None:
            self._first[sample.item] = sample.id
            return sample.item, True
        if first == sample.id:
            return sample.item, False
        others = self._others.setdefault(sample.item, {})
        is_new = sample.id not in others
        return f"{sample.item}-{others.setdefault(sample.id, len(others) + 2)}", is_new


def _item(name: str, sample: LoggedSample, choices: Choices) -> ImportedItem:
    cluster = field_of(sample.fields, choices.cluster) if choices.cluster else None
    right = -1 if sample.right is None or not sample.choices else sample.right
    return ImportedItem(
        name,
        cluster or name,
        tuple(field_of(sample.fields, path) or "" for path in choices.by),
        (sample.target[0] if len(sample.target) == 1 else "")[:LONGEST],
        right,
        tuple(map(len, sample.choices)),
        tuple(sample.also),
        tuple(map(option_hash, sample.choices)),
    )


def _headline(header: LogHeader, values: Mapping[str, Mapping[str, float]], wanted: str) -> LoggedMetric:
    """Return the metric that is the headline: the named one, else the log's first that its samples have."""
    there = {metric for own in values.values() for metric in own}
    known = {metric.name: metric for metric in header.metrics} | {
        name: LoggedMetric(name) for name in sorted(there - {metric.name for metric in header.metrics})
    }
    if wanted and wanted not in there:
        raise ValueError(
            f"--metric: its samples have no {wanted!r}; they have: {', '.join(sorted(there)[:20])}"
        )
    name = wanted or next((name for name in known if name in there), "")
    if not name:
        raise ValueError("its samples have no number")
    return known[name]


def _scale(metric: LoggedMetric, numbers: Sequence[float]) -> str:
    """Return the kind of the headline's values: as known of the metric, else as they are."""
    is_share = all(0 <= value <= 1 for value in numbers)
    if metric.bounds == (0.0, 1.0) and is_share:
        is_hit = metric.is_hit if metric.is_hit is not None else all(value in (0, 1) for value in numbers)
        return "hit" if is_hit else "share"
    if metric.bounds is None and is_share:
        return "hit" if all(value in (0, 1) for value in numbers) else "share"
    return "any"


def _params(header: LogHeader, metric: LoggedMetric, scale: str, choices: Choices) -> ImportedParams:
    return ImportedParams.model_validate(
        {
            "models": [header.model.name],
            "occasion": header.date or choices.occasion,
            "profile": header.task,
            "harness": header.harness,
            "task": header.task,
            "version": header.version,
            "task_settings": dict(header.settings),
            "metric": metric.name,
            "direction": "lower" if metric.lower_is_better else "higher",
            "scale": scale,
            "cluster": choices.cluster,
            "by": list(choices.by),
            "harness_version": header.harness_version,
        }
    )


def note(log_read: LoggedRun) -> str:
    """Return a line on a log: how much of it there is, its number, and what does not fit."""
    header, metric = log_read.log.header, log_read.study.params.metric
    values = [a.values[metric] for a in log_read.answers.values() if metric in a.values]
    mean, n = sum(values) / len(values), len(log_read.study.items)
    parts = [f"{n:,} samples", f"{metric} {mean:.4g}"]
    lost: dict[str, int] = {}
    for answer in log_read.answers.values():
        if answer.lost:
            lost[answer.lost] = lost.get(answer.lost, 0) + 1
    parts += [f"{count:,} {reason}" for reason, count in sorted(lost.items())]
    if header.n is not None and header.n > n:
        parts.append(f"the log counts {header.n:,} samples, and holds only these")
    own = header.aggregates.get(metric)
    if own is not None and abs(own.value - mean) > FEWER and (header.n is None or header.n <= n):
        parts.append(f"the log's own number is {own.value:.4g}")
    if why := rows.why_no_null(log_read.study):
        parts.append(f"no null: {why}")
    return ", ".join(parts)
