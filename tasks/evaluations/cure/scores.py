"""Scores each item from one model's answers and the judges' replies. Pure. Arrays are over a benchmark's
items, in the order of the study, so no number depends on the order of arrival.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tasks.evaluations.contract import Completions
from tasks.evaluations.cure.read import (
    ExplanationJudgeCall,
    Readings,
    Reply,
    explanations,
    judge_calls,
    read_answers,
    replies,
)
from tasks.evaluations.cure.study import CureStudy
from tasks.judging.controls import REAL, SOURCES
from tasks.judging.panel import Opinions
from tasks.judging.verdicts import NO_JUDGE, UNANSWERED
from tasks.judging.votes import Ensemble, Vote, combine
from tasks.loop.replies import is_lost
from tasks.loop.rows import Reasons
from tasks.metrics.classification import LOST
from tasks.metrics.types import FloatArray

NO_PARTNER = "no other item to take an explanation from"
NOT_JUDGED = "not judged"
NOT_DRAWN = "null explanations are judged on a draw of items that leaves this one out"


@dataclass(frozen=True)
class Labelled:
    """A model's labels on one benchmark in one mode, by item; a missing label is None with a reason."""

    labels: tuple[str | None, ...]
    reasons: Reasons

    @property
    def answers(self) -> list[str | None]:
        """Return [items] the label, LOST if it was lost, None if the item was not sent."""
        pairs = zip(self.labels, self.reasons, strict=True)
        return [LOST if is_lost(reason) else label for label, reason in pairs]

    def hits(self, golds: Sequence[str]) -> FloatArray:
        """Return [items] 1 if the label is right, 0 if wrong or lost, NaN if the item was not sent."""
        pairs = zip(self.answers, golds, strict=True)
        return np.array([np.nan if label is None else float(label == gold) for label, gold in pairs])


@dataclass(frozen=True)
class Explained:
    """Explanations of one source for one benchmark.

    Attributes:
        scores: [items] mean of the judges, NaN where unscored. A real explanation that was lost is 0.
        disagreement: [items] standard deviation of the votes, NaN for fewer than two.
        words: [items] length of the explanation, NaN where there is none.
        verdicts: [items] the commonest verdict; None where unscored or tied.
        reasons: [items] why unscored. lost: [items] why there is no explanation of an item that was sent.
        by_judge: judge -> [items] the mean of its own votes, NaN where unscored.
        questions: [items] the judges' prompts, "" for none. Items with equal prompts share votes, since these
            are sent once.
    """

    scores: FloatArray
    disagreement: FloatArray
    words: FloatArray
    verdicts: tuple[str | None, ...]
    reasons: Reasons
    lost: Reasons
    by_judge: Mapping[str, FloatArray]
    questions: tuple[str, ...]

    @property
    def missing(self) -> Reasons:
        """Return [items] why an explanation is unscored or was lost."""
        return np.where(self.reasons == "", self.lost, self.reasons)


@dataclass(frozen=True)
class CureScores:
    """One model's answers in numbers.

    Attributes:
        labelled: (benchmark, mode) -> its labels, for all parts of the study.
        judged: (benchmark, source) -> its explanations and the nulls; empty if thick is not asked.
    """

    labelled: Mapping[tuple[str, ...], Labelled]
    judged: Mapping[tuple[str, str], Explained]


@dataclass(frozen=True)
class CureAnswers:
    """One model's answers, the judges' prompts and replies, and the scores of both."""

    readings: Readings
    calls: Sequence[ExplanationJudgeCall]
    opinions: Opinions
    scored: CureScores


def answers_of(study: CureStudy, completions: Completions) -> CureAnswers:
    """Return labels, explanations and the judges' replies; missing ones are unscored, with a reason."""
    readings = read_answers(study, study.completed(completions))
    calls = judge_calls(study, readings)
    opinions = study.panel.read(calls, completions)
    return CureAnswers(
        readings, calls, opinions, score_model(study, readings, replies(study, calls, opinions))
    )


def score_model(study: CureStudy, readings: Readings, replies: Iterable[Reply]) -> CureScores:
    """Return one model's labels, and the scores of its explanations and nulls by all judges together."""
    votes: dict[tuple[str, str, str], list[Reply]] = defaultdict(list)
    for reply in replies:
        votes[reply.call.key[:3]].append(reply)
    labelled, judged = {}, {}
    for part in study.parts:
        answers = [readings[*part, item] for item in study.names(part[0])]
        reasons = np.array([answer.label_reason or "" for answer in answers], dtype=object)
        labelled[part] = Labelled(tuple(answer.label for answer in answers), reasons)
    for benchmark in study.benchmarks if "thick" in study.modes else ():
        texts = explanations(study, benchmark, readings)
        for source in SOURCES:
            judged[benchmark, source] = _explained(study, benchmark, source, texts[source], readings, votes)
    return CureScores(labelled, judged)


def _explained(
    study: CureStudy,
    benchmark: str,
    source: str,
    texts: Mapping[str, str],
    readings: Readings,
    votes: Mapping[tuple[str, str, str], Sequence[Reply]],
) -> Explained:
    names, unfit = study.names(benchmark), [item.not_judged for item in study.items(benchmark)]
    no_text = [readings[benchmark, "thick", item].explanation_reason or "" for item in names]
    of_item = [votes.get((benchmark, item, source), ()) for item in names]
    ensembles = [_combined(replies) for replies in of_item]
    # A lost explanation scores 0, as in Vo and Koyejo (2025), whose judge scores all responses. If no
    # explanation of the model has a verdict, its score is unknown.
    fits = np.array(unfit) == ""
    lost = np.where(
        fits & (source == REAL) & [is_lost(why) for why in no_text], np.array(no_text, object), ""
    )
    scores = _means(ensembles)
    if study.judges and (not np.isnan(scores).all() or not (fits & (lost == "")).any()):
        scores[lost != ""] = 0.0
    reasons = []
    for item, bad, why, own in zip(names, unfit, no_text, of_item, strict=True):
        is_left_out = source != REAL and not bad and item not in study.chosen.with_nulls[benchmark]
        missing = NOT_DRAWN if is_left_out else bad or why or NO_PARTNER
        reasons.append(_reason(study, own) if item in texts else missing)
    return Explained(
        scores=scores,
        disagreement=np.array([np.nan if e is None or e.sd is None else e.sd for e in ensembles]),
        words=np.array([len(texts[i].split()) if i in texts else np.nan for i in names], dtype=np.float64),
        verdicts=tuple(None if e is None else e.verdict for e in ensembles),
        reasons=np.where(np.isnan(scores), np.array(reasons, dtype=object), ""),
        lost=lost,
        by_judge={
            engine.name: _means([_combined([r for r in each if r.judge == engine.name]) for each in of_item])
            for engine in study.judges.values()
        },
        questions=tuple(replies[0].call.prompt.id if replies else "" for replies in of_item),
    )


def _combined(replies: Sequence[Reply]) -> Ensemble | None:
    """Return the combined votes.

    None without votes, or if some vote cannot be read: the mean of the others could be higher.
    """
    if not replies or any(reply.opinion.score is None for reply in replies):
        return None
    return combine(
        [Vote(r.judge, r.call.rubric.name, r.opinion.verdict.verdict, r.opinion.score) for r in replies]
    )


def _means(ensembles: Sequence[Ensemble | None]) -> FloatArray:
    return np.array([np.nan if e is None or e.mean is None else e.mean for e in ensembles])


def _reason(study: CureStudy, replies: Sequence[Reply]) -> str:
    """Return why an explanation has no score: there are no judges, or no vote could be read."""
    if not study.judges:
        return NO_JUDGE
    if not all(reply.opinion.is_answered for reply in replies):
        return UNANSWERED
    return min((r.opinion.verdict.unscored_reason or NOT_JUDGED for r in replies), default=NOT_JUDGED)
