"""From one model's answers and the judges' opinions to numbers, one for each item. Pure.

All arrays are over a benchmark's items, in the order of the study. So no number can depend on the order in
which answers came.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tasks.evaluations.cure.answers import Readings
from tasks.evaluations.cure.judged import REAL, SHUFFLED, SOURCES, Opinion, explanations
from tasks.evaluations.cure.requests import Study
from tasks.judging.ensemble import Ensemble, Vote, combine
from tasks.metrics.length_adjustment import adjust_for_length
from tasks.metrics.types import FloatArray

NO_JUDGE = "no judge was named"
NO_PARTNER = "no other item to take an explanation from"
NOT_JUDGED = "not judged"

LENGTH_NORMALISED = "culturebank"
"""The benchmark whose metric (coherence) is compared at equal length of explanations."""

Reasons = NDArray[np.object_]
"""[items] texts, "" where scored"""


@dataclass(frozen=True)
class Labelled:
    """One benchmark in one mode: [items] the label, or None and why there is none."""

    labels: tuple[str | None, ...]
    reasons: Reasons


@dataclass(frozen=True)
class Judged:
    """Explanations of one source for one benchmark.

    Attributes:
        scores: [items] mean of the judges, NaN where unscored; at equal length after ``equal_lengths``.
        raw: [items] the same before.
        disagreement: [items] standard deviation of the votes, NaN for fewer than two.
        words: [items] length of the explanation, NaN where there is none.
        verdicts: [items] the commonest verdict; None where unscored or tied.
        reasons: [items] why unscored.
    """

    scores: FloatArray
    raw: FloatArray
    disagreement: FloatArray
    words: FloatArray
    verdicts: tuple[str | None, ...]
    reasons: Reasons


@dataclass(frozen=True)
class Scored:
    """What one model answered.

    Attributes:
        labelled: (benchmark, mode) -> its labels, for all parts of the study.
        judged: (benchmark, source) -> its explanations and the nulls; empty if thick is not asked.
        slope: of coherence on length, which ``equal_lengths`` took out; None before, or where lengths do
            not vary.
    """

    labelled: Mapping[tuple[str, str], Labelled]
    judged: Mapping[tuple[str, str], Judged]
    slope: float | None = None


def score_model(study: Study, readings: Readings, opinions: Iterable[Opinion]) -> Scored:
    """One model's labels, and its explanations' and nulls' scores by all judges together."""
    votes: dict[tuple[str, str, str], list[Opinion]] = defaultdict(list)
    for opinion in opinions:
        benchmark, item, source, _ = opinion.call.key
        votes[benchmark, item, source].append(opinion)
    judged = {}
    if "thick" in study.modes:
        for benchmark in study.benchmarks:
            texts = explanations(study, benchmark, readings)
            for source in SOURCES:
                judged[benchmark, source] = _judged(study, benchmark, source, texts, readings, votes)
    labelled = {part: _labelled(study, part, readings) for part in study.parts()}
    return Scored(labelled, judged)


def equal_lengths(cohort: Mapping[str, Scored]) -> dict[str, Scored]:
    """All models with coherence as it would be at equal length: at the mean of log(1 + words) over all of
    their explanations, by the slope within models.

    Within one model alone this moves no mean. Shuffled explanations are adjusted by the same slope, the two
    constant nulls are not: a text of no length says nothing of what a longer one would get.
    """
    key = (LENGTH_NORMALISED, REAL)
    known = {
        model: np.flatnonzero(~np.isnan(scored.judged[key].raw))
        for model, scored in cohort.items()
        if key in scored.judged
    }
    if not any(rows.size for rows in known.values()):
        return dict(cohort)
    models = sorted(known)
    lengths = np.concatenate([cohort[model].judged[key].words[known[model]] for model in models])
    marks = np.concatenate([cohort[model].judged[key].raw[known[model]] for model in models])
    of_model = np.concatenate([np.full(known[model].size, model) for model in models])
    slope = adjust_for_length(marks, lengths, groups=of_model).slope
    reference = float(np.log1p(lengths).mean())
    return {model: _at_length(scored, slope, reference) for model, scored in cohort.items()}


def _at_length(scored: Scored, slope: float | None, reference: float) -> Scored:
    judged = dict(scored.judged)
    for source in (REAL, SHUFFLED):
        found = judged[LENGTH_NORMALISED, source]
        moved = found.raw - (slope or 0.0) * (np.log1p(found.words) - reference)
        judged[LENGTH_NORMALISED, source] = replace(found, scores=moved)
    return replace(scored, judged=judged, slope=slope)


def _labelled(study: Study, part: tuple[str, str], readings: Readings) -> Labelled:
    answers = [readings[cell.key] for cell in study.cells(*part)]
    reasons = np.array([answer.label_reason or "" for answer in answers], dtype=object)
    return Labelled(tuple(answer.label for answer in answers), reasons)


def _judged(
    study: Study,
    benchmark: str,
    source: str,
    texts: Mapping[str, Mapping[str, str]],
    readings: Readings,
    votes: Mapping[tuple[str, str, str], Sequence[Opinion]],
) -> Judged:
    items = [item.item for item in study.items(benchmark)]
    found: list[Ensemble | None] = []
    reasons: list[str] = []
    for item in items:
        opinions = votes.get((benchmark, item, source), ())
        ensemble = combine([_vote(opinion) for opinion in opinions]) if opinions else None
        found.append(ensemble)
        scored = ensemble is not None and ensemble.mean is not None
        missing = readings[benchmark, "thick", item].explanation_reason or NO_PARTNER
        reasons.append("" if scored else _reason(study, opinions, missing, item in texts[source]))
    words = [len(texts[source][item].split()) if item in texts[source] else np.nan for item in items]
    scores = np.array([np.nan if e is None or e.mean is None else e.mean for e in found])
    return Judged(
        scores=scores,
        raw=scores,
        disagreement=np.array([np.nan if e is None or e.sd is None else e.sd for e in found]),
        words=np.array(words, dtype=np.float64),
        verdicts=tuple(None if e is None else e.verdict for e in found),
        reasons=np.array(reasons, dtype=object),
    )


def _reason(study: Study, opinions: Sequence[Opinion], missing: str, has_text: bool) -> str:
    """Why an explanation has no score: there is none, nobody judges, or no vote could be read."""
    if not has_text:
        return missing
    if not study.judges:
        return NO_JUDGE
    faults = sorted({opinion.verdict.unscored_reason or NOT_JUDGED for opinion in opinions})
    return faults[0] if faults else NOT_JUDGED


def _vote(opinion: Opinion) -> Vote:
    return Vote(opinion.judge, opinion.call.rubric.name, opinion.verdict.verdict, opinion.score)
