"""From one model's answers and the judges' replies to numbers, one for each item. Pure.

All arrays are over a benchmark's items, in the order of the study. So no number can depend on the order in
which answers came.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tasks.evaluations.cure.answers import Readings, Reply, explanations
from tasks.evaluations.cure.params import kind_of
from tasks.evaluations.cure.requests import Study
from tasks.judging.controls import REAL, SHUFFLED, SOURCES
from tasks.judging.verdicts import NO_JUDGE, UNANSWERED, Ensemble, Vote, combine
from tasks.loop.replies import is_lost
from tasks.loop.rows import Reasons, mean_of
from tasks.metrics.length_adjustment import adjust_for_length
from tasks.metrics.types import FloatArray, IntArray

NO_PARTNER = "no other item to take an explanation from"
NOT_JUDGED = "not judged"
NOT_DRAWN = "null explanations are judged on a draw of items, which this one is not of"

LENGTH_NORMALISED = "culturebank"
"""The published benchmark whose metric (coherence) is compared at equal length of explanations."""


def is_at_equal_length(benchmark: str) -> bool:
    """Whether explanations of a benchmark are compared at equal length: also of a pack's made like that."""
    return kind_of(benchmark) == LENGTH_NORMALISED


@dataclass(frozen=True)
class Labelled:
    """One benchmark in one mode: [items] the label, or None and why there is none."""

    labels: tuple[str | None, ...]
    reasons: Reasons


@dataclass(frozen=True)
class Judged:
    """Explanations of one source for one benchmark.

    Attributes:
        scores: [items] mean of the judges, NaN where unscored; at equal length after ``equal_lengths``. A
            real explanation that was lost is 0.
        raw: [items] the same before.
        disagreement: [items] standard deviation of the votes, NaN for fewer than two.
        words: [items] length of the explanation, NaN where there is none.
        verdicts: [items] the commonest verdict; None where unscored or tied.
        reasons: [items] why unscored. lost: [items] why there is no explanation of an item that was asked.
        by_judge: judge -> [items] the mean of its own votes, NaN where unscored.
        questions: [items] what the judges were asked; "" where nothing. Items of one question share its
            votes, since equal prompts are sent once.
    """

    scores: FloatArray
    raw: FloatArray
    disagreement: FloatArray
    words: FloatArray
    verdicts: tuple[str | None, ...]
    reasons: Reasons
    lost: Reasons
    by_judge: Mapping[str, FloatArray]
    questions: tuple[str, ...]


@dataclass(frozen=True)
class Scored:
    """What one model answered.

    Attributes:
        labelled: (benchmark, mode) -> its labels, for all parts of the study.
        judged: (benchmark, source) -> its explanations and the nulls; empty if thick is not asked.
        slopes: benchmark -> the slope of coherence on length that ``equal_lengths`` took out; None where
            lengths do not vary. Empty before.
        left_out: coherence on each of the ``kept`` items of ``equal_lengths``; None where it has none.
    """

    labelled: Mapping[tuple[str, str], Labelled]
    judged: Mapping[tuple[str, str], Judged]
    slopes: Mapping[str, float | None] = field(default_factory=dict)
    left_out: Sequence[float | None] = ()


def score_model(study: Study, readings: Readings, replies: Iterable[Reply]) -> Scored:
    """One model's labels, and its explanations' and nulls' scores by all judges together."""
    votes: dict[tuple[str, str, str], list[Reply]] = defaultdict(list)
    for reply in replies:
        benchmark, item, source, _ = reply.call.key
        votes[benchmark, item, source].append(reply)
    judged = {}
    if "thick" in study.modes:
        for benchmark in study.benchmarks:
            texts = explanations(study, benchmark, readings)
            for source in SOURCES:
                judged[benchmark, source] = _judged(study, benchmark, source, texts, readings, votes)
    labelled = {part: _labelled(study, part, readings) for part in study.parts()}
    return Scored(labelled, judged)


def equal_lengths(
    models: Mapping[str, Scored], against: Mapping[str, Scored], kept: Sequence[Mapping[str, IntArray]] = ()
) -> dict[str, Scored]:
    """Models with coherence as it would be at equal length: at the mean of log(1 + words) over all
    explanations of a benchmark by the models ``against``, by the slope within each of them.

    A model that is not among those changes neither. Within one model alone this moves no mean. Shuffled
    explanations are adjusted by the same slope, the two constant nulls and lost explanations are not: a text
    of no length says nothing of what a longer one would get.

    Args:
        kept: benchmark -> positions of items; coherence is taken anew on each of them, slope and length too.
    """
    asked = {b for scored in against.values() for b, _ in scored.judged if is_at_equal_length(b)}
    judged = {
        b: [against[m].judged[b, REAL] for m in sorted(against) if (b, REAL) in against[m].judged]
        for b in asked
    }
    lines = {b: line for b in sorted(asked) if (line := _line(judged[b])) is not None}
    if not lines:
        return dict(models)
    left = [{b: (places, _line(judged[b], places)) for b, places in group.items()} for group in kept]
    return {model: _at_length(scored, lines, left) for model, scored in models.items()}


Line = tuple[float | None, float]
"""Slope of coherence on log(1 + words), None where lengths do not vary; and the mean of these."""


def _line(judged: Sequence[Judged], places: IntArray | None = None) -> Line | None:
    """Of the explanations of some items, default all; None without any."""
    chosen = [np.arange(real.raw.size) if places is None else places for real in judged]
    pairs = zip(chosen, judged, strict=True)
    known = [rows[~np.isnan(real.raw[rows] + real.words[rows])] for rows, real in pairs]
    if not any(rows.size for rows in known):
        return None
    lengths = np.concatenate([real.words[rows] for rows, real in zip(known, judged, strict=True)])
    marks = np.concatenate([real.raw[rows] for rows, real in zip(known, judged, strict=True)])
    of_model = np.repeat(np.arange(len(known)), [rows.size for rows in known])
    return adjust_for_length(marks, lengths, groups=of_model).slope, float(np.log1p(lengths).mean())


def _at_length(
    scored: Scored, lines: Mapping[str, Line], left: Sequence[Mapping[str, tuple[IntArray, Line | None]]]
) -> Scored:
    judged = dict(scored.judged)
    for benchmark, line in lines.items():
        for source in (REAL, SHUFFLED):
            before = judged[benchmark, source]
            judged[benchmark, source] = replace(before, scores=_moved(before, line))
    left_out = []
    for group in left:
        parts = [_moved(scored.judged[b, REAL], line)[places] for b, (places, line) in group.items() if line]
        left_out.append(mean_of(np.concatenate(parts)) if parts else None)
    slopes = {benchmark: slope for benchmark, (slope, _) in lines.items()}
    return replace(scored, judged=judged, slopes=slopes, left_out=left_out)


def _moved(judged: Judged, line: Line) -> FloatArray:
    longer = np.where(np.isnan(judged.words), 0.0, np.log1p(judged.words) - line[1])
    return judged.raw - (line[0] or 0.0) * longer


def _labelled(study: Study, part: tuple[str, str], readings: Readings) -> Labelled:
    answers = [readings[sample.key] for sample in study.samples(*part)]
    reasons = np.array([answer.label_reason or "" for answer in answers], dtype=object)
    return Labelled(tuple(answer.label for answer in answers), reasons)


def _judged(
    study: Study,
    benchmark: str,
    source: str,
    texts: Mapping[str, Mapping[str, str]],
    readings: Readings,
    votes: Mapping[tuple[str, str, str], Sequence[Reply]],
) -> Judged:
    items = [item.item for item in study.items(benchmark)]
    drawn, why = study.chosen.with_nulls[benchmark], {i.item: i.not_judged for i in study.items(benchmark)}
    of_item = [votes.get((benchmark, item, source), ()) for item in items]
    ensembles = [_combined(replies) for replies in of_item]
    reasons: list[str] = []
    for item, replies, ensemble in zip(items, of_item, ensembles, strict=True):
        scored = ensemble is not None and ensemble.mean is not None
        missing = why[item] or readings[benchmark, "thick", item].explanation_reason or NO_PARTNER
        if source != REAL and not why[item] and item not in drawn:
            missing = NOT_DRAWN
        reasons.append("" if scored else _reason(study, replies, missing, item in texts[source]))
    words = [len(texts[source][item].split()) if item in texts[source] else np.nan for item in items]
    scores, lost = _means(ensembles), _lost(study, benchmark, source, readings)
    # Nothing says what judges make of this model where none of its explanations has a verdict.
    is_to_judge = [not why[item] and not lost[place] for place, item in enumerate(items)]
    if study.judges and (not np.isnan(scores).all() or not any(is_to_judge)):
        scores[lost != ""] = 0.0
    return Judged(
        scores=scores,
        raw=scores,
        disagreement=np.array([np.nan if e is None or e.sd is None else e.sd for e in ensembles]),
        words=np.array(words, dtype=np.float64),
        verdicts=tuple(None if e is None else e.verdict for e in ensembles),
        reasons=np.where(np.isnan(scores), np.array(reasons, dtype=object), ""),
        lost=lost,
        by_judge={
            engine.name: _means(
                [_combined([r for r in replies if r.judge == engine.name]) for replies in of_item]
            )
            for engine in study.judges.values()
        },
        questions=tuple(replies[0].call.prompt.id if replies else "" for replies in of_item),
    )


def _lost(study: Study, benchmark: str, source: str, readings: Readings) -> Reasons:
    """[items] why an explanation was lost, which the rubric says NO to: as Vo and Koyejo (2025), whose judge
    scores all responses. "" where there is one, where none was wanted, and of nulls."""
    whys = [
        readings[benchmark, "thick", item.item].explanation_reason or "" if not item.not_judged else ""
        for item in study.items(benchmark)
    ]
    return np.array([why if source == REAL and is_lost(why) else "" for why in whys], dtype=object)


def _combined(replies: Sequence[Reply]) -> Ensemble | None:
    """The votes together; None where there are none, or a judge failed before it gave all of its own: the
    mean of the others would not be comparable."""
    if not replies or not all(reply.opinion.is_answered for reply in replies):
        return None
    return combine([_vote(reply) for reply in replies])


def _means(ensembles: Sequence[Ensemble | None]) -> FloatArray:
    return np.array([np.nan if e is None or e.mean is None else e.mean for e in ensembles])


def _reason(study: Study, replies: Sequence[Reply], missing: str, has_text: bool) -> str:
    """Why an explanation has no score: there is none, nobody judges, or no vote could be read."""
    if not has_text:
        return missing
    if not study.judges:
        return NO_JUDGE
    if not all(reply.opinion.is_answered for reply in replies):
        return UNANSWERED
    faults = sorted({reply.opinion.verdict.unscored_reason or NOT_JUDGED for reply in replies})
    return faults[0] if faults else NOT_JUDGED


def _vote(reply: Reply) -> Vote:
    opinion = reply.opinion
    return Vote(reply.judge, reply.call.rubric.name, opinion.verdict.verdict, opinion.score)
