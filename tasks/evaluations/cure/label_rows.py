"""How well labels match the gold ones, per benchmark, mode and country, and what guessing reaches. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from tasks.evaluations.cure.mean_rows import by_country, knobs_of, main_reason, mean_interval
from tasks.evaluations.cure.requests import Study
from tasks.evaluations.cure.scores import Labelled, Reasons, Scored
from tasks.metric_rows import Metric, Slice, scored, unscored
from tasks.metrics.label_scores import (
    LabelIntervals,
    label_intervals,
    label_scores,
    majority_baseline,
    random_baseline,
)
from tasks.metrics.types import IntArray

SCORES = ("exact_match", "f1_micro", "f1_macro")
NO_INTERVALS = LabelIntervals(None, None, None)


def label_rows(study: Study, answers: Scored) -> Iterator[Metric]:
    """exact_match, f1_micro, f1_macro, exact_match_prior, answered and unscored_answers of one model."""
    for part, labelled in answers.labelled.items():
        yield from _part_rows(study, part, labelled)
        yield from _count_rows(study, part, labelled.reasons)


def majority_rows(study: Study) -> Iterator[Metric]:
    """What always giving the benchmark's commonest label scores."""
    for benchmark, mode in study.parts():
        items = study.items(benchmark)
        reasons = np.full(len(items), "", dtype=object)
        labelled = Labelled((_majority(study, benchmark),) * len(items), reasons)
        yield from _part_rows(study, (benchmark, mode), labelled)


def prior_rows(study: Study) -> Iterator[Metric]:
    """What labels drawn at random, as often as they are right, are expected to score."""
    for benchmark, mode in study.parts():
        gold = _gold(study, benchmark)
        expected = random_baseline(gold)
        where, majority = ("benchmark_mode", f"{benchmark}:{mode}"), majority_baseline(gold)
        for metric in SCORES:
            value, null = getattr(expected, metric), getattr(majority, metric)
            yield scored(metric, where, value, (len(gold), 0), None, null)
        yield _prior_row(study, (benchmark, mode))
        share = {label: count / len(gold) for label, count in Counter(gold).items()}
        for country, places in by_country(study, benchmark).items():
            there = [gold[place] for place in places]
            value = float(np.mean([share[label] for label in there]))
            null = there.count(_majority(study, benchmark)) / len(there)
            name = ("benchmark_mode_country", f"{benchmark}:{mode}:{country}")
            yield scored("exact_match", name, value, (len(there), 0), None, null)


def _part_rows(study: Study, part: tuple[str, str], labelled: Labelled) -> Iterator[Metric]:
    """A benchmark in a mode, and each country of it."""
    benchmark, mode = part
    everything = np.arange(len(labelled.labels))
    name = f"{benchmark}:{mode}"
    yield from _score_rows(study, benchmark, labelled, everything, ("benchmark_mode", name), SCORES)
    yield _prior_row(study, part)
    for country, places in by_country(study, benchmark).items():
        where = ("benchmark_mode_country", f"{name}:{country}")
        yield from _score_rows(study, benchmark, labelled, places, where, SCORES[:1])


def _score_rows(
    study: Study,
    benchmark: str,
    labelled: Labelled,
    places: IntArray,
    where: Slice,
    metrics: Sequence[str],
) -> Iterator[Metric]:
    """Scores of the items at some places; beside them those of the majority label on the same items."""
    every = _gold(study, benchmark)
    pairs = [(every[place], labelled.labels[place]) for place in places]
    answered = [(truth, label) for truth, label in pairs if label is not None]
    gold = [truth for truth, _ in answered or pairs]
    null = label_scores(gold, [_majority(study, benchmark)] * len(gold))
    labels = [label for _, label in answered]
    scores = label_scores(gold, labels) if answered else None
    intervals = (label_intervals(gold, labels, *knobs_of(study)) if scores else None) or NO_INTERVALS
    for metric in metrics:
        beside = getattr(null, metric)
        if scores is None:
            reason = main_reason(labelled.reasons[places])
            yield unscored(metric, where, reason, len(pairs), beside)
        else:
            counts = (len(answered), len(pairs) - len(answered))
            value, interval = getattr(scores, metric), getattr(intervals, metric)
            yield scored(metric, where, value, counts, interval, beside)


def _prior_row(study: Study, part: tuple[str, str]) -> Metric:
    gold = _gold(study, part[0])
    value = random_baseline(gold).exact_match
    return scored("exact_match_prior", ("benchmark_mode", ":".join(part)), value, (len(gold), 0))


def _count_rows(study: Study, part: tuple[str, str], reasons: Reasons) -> Iterator[Metric]:
    """How many labels could be read, and why others could not."""
    name, n = ":".join(part), reasons.size
    known = (reasons == "").astype(np.float64)
    interval = mean_interval(known, knobs_of(study))
    yield scored("answered", ("benchmark_mode", name), float(known.mean()), (n, 0), interval)
    yield from reason_rows(name, reasons)


def reason_rows(name: str, reasons: Reasons) -> Iterator[Metric]:
    """How many items are unscored for each reason."""
    for reason, count in sorted(Counter(reasons[reasons != ""].tolist()).items()):
        where = ("benchmark_reason", f"{name}:{reason}")
        yield scored("unscored_answers", where, count, (reasons.size, 0))


def _gold(study: Study, benchmark: str) -> list[str]:
    return [item.label for item in study.items(benchmark)]


def _majority(study: Study, benchmark: str) -> str:
    """The commonest label; ties: the first by name."""
    counts = Counter(_gold(study, benchmark))
    return min(counts, key=lambda label: (-counts[label], label))
