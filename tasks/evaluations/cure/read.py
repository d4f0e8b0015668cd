"""Reads a candidate's answer, makes the judges' calls about its explanation, and scores items by the replies.

Pure. Arrays are over a benchmark's items, in the order of the study, so no number depends on the order of
arrival.

Rules. A label is one of the benchmark's in any case; any other text is no answer. A label that the model lost
(refused, empty, cut off, unreadable) is wrong, and an explanation that it lost scores 0, since Vo and Koyejo
(2025) score all responses. If the engine returns the labels' probabilities (thin mode), the likeliest label
counts. Label and explanation are read separately, so one can be missing without the other. An explanation
that was cut off is lost and not judged; the label before it counts. An explanation to which the rubric does
not apply is not judged. For a draw of items, the same judge marks three null explanations
(``tasks.judging.null_texts``) that should score badly: another item's, a sentence that fits every item of the
benchmark, and an empty one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tasks.engines.protocols import Sampling
from tasks.evaluations.contract import Completions
from tasks.evaluations.cure.params import kind_of
from tasks.evaluations.cure.published import LABELS, BenchmarkItem
from tasks.evaluations.cure.study import FIELDS, JUDGED, WORDS, CureStudy, Key, family, situation
from tasks.judging.controls import EMPTY, NULLS, REAL, SOURCES, texts_by_source
from tasks.judging.panel import Opinions
from tasks.judging.rubric import Rubric, judge_prompt
from tasks.judging.verdicts import NO_JUDGE, UNANSWERED, Opinion
from tasks.judging.votes import Ensemble, Vote, combine
from tasks.loop.prompts import Completion, Prompt
from tasks.loop.replies import NO_ANSWER, begun_fields, is_lost, no_text, on_menu, read_fields, unreadable
from tasks.loop.rows import Reasons
from tasks.loop.written import without_reasoning
from tasks.metrics.classification import LOST
from tasks.metrics.types import FloatArray

OFF_MENU, NO_EXPLANATION = "no label of the menu", "no explanation"


@dataclass(frozen=True)
class CureAnswer:
    """One answer after reading.

    Either the label or its reason is None. In thick mode, either the explanation or its reason is None; in
    thin mode both are.
    """

    label: str | None
    label_reason: str | None
    explanation: str | None = None
    explanation_reason: str | None = None

    def is_right(self, item: BenchmarkItem) -> bool | None:
        """Return whether the label is the gold one; a lost label is not. None if the item was not sent."""
        if self.label is None:
            return False if is_lost(self.label_reason) else None
        return self.label == item.label


Readings = Mapping[Key, CureAnswer]
"""Every sample of the study -> its answer"""


def read_answers(study: CureStudy, completions: Mapping[Key, Completion]) -> dict[Key, CureAnswer]:
    """Return every sample's answer; samples without a completion are unscored."""
    return {key: read_answer(key[0], key[1], completions.get(key)) for key in study.prompts}


def read_answer(benchmark: str, mode: str, completion: Completion | None) -> CureAnswer:
    """Return the answer in any text; never raises."""
    is_thick = mode == "thick"
    reason = no_text(completion)
    if completion is None or reason:
        return CureAnswer(None, reason, None, reason if is_thick else None)
    fields = read_fields(completion.text, FIELDS[mode])
    label, label_reason = _label(fields, completion, LABELS[kind_of(benchmark)])
    if not is_thick:
        return CureAnswer(label, label_reason)
    explanation = fields.get("explanation") if fields else None
    if isinstance(explanation, str) and explanation.strip():
        return CureAnswer(label, label_reason, " ".join(explanation.split()))
    why = unreadable(completion) if fields is None else NO_EXPLANATION
    return CureAnswer(label, label_reason, None, why)


def _label(
    fields: Mapping[str, object] | None, completion: Completion, labels: Sequence[str]
) -> tuple[str | None, str | None]:
    """Return the label, or the reason why there is none."""
    likely = completion.option_logprobs or {}
    known = [label for label in labels if label in likely]
    if known:
        return max(known, key=lambda label: likely[label]), None  # ties: the first in the menu
    # Without fields: the label of an object that was cut off after it, or a text of the label alone.
    written = fields if fields is not None else begun_fields(completion.text, ("label",))
    label = on_menu(written["label"] if "label" in written else without_reasoning(completion.text), labels)
    if label is None and fields is None and not written:
        return None, unreadable(completion)
    return label, None if label else OFF_MENU


CallKey = tuple[str, str, str, int]
"""(benchmark, item, source, sample)"""

ENSEMBLE_TEMPERATURE = 0.7
"""Temperature of a judge with several votes; a single vote is greedy."""


@dataclass(frozen=True)
class ExplanationJudgeCall:
    """One explanation to be judged, in one phrasing of its rubric."""

    item: BenchmarkItem
    source: str
    sample: int
    text: str
    rubric: Rubric
    sampling: Sampling

    @property
    def key(self) -> CallKey:
        """Return the key of the call among those about one model."""
        return self.item.benchmark, self.item.item, self.source, self.sample

    @property
    def keys(self) -> tuple[str]:
        """Return the keys of the verdicts in the reply."""
        return (JUDGED,)

    @property
    def label(self) -> str:
        """Return the name of the vote in SQL and the progress, "" if there is only one."""
        return f"vote {self.sample + 1}" if self.sampling.temperature else "verdicts"

    @cached_property
    def prompt(self) -> Prompt:
        """Return the judge's prompt, which quotes the whole explanation as data."""
        inputs = _inputs(self.item, self.text)
        chosen = {name: inputs[name] for name in self.rubric.inputs}
        return judge_prompt(self.rubric, chosen, [JUDGED])


@dataclass(frozen=True)
class Reply:
    """One judge's verdict on one call; the judge is named by its engine."""

    judge: str
    call: ExplanationJudgeCall
    opinion: Opinion


def judge_calls(study: CureStudy, readings: Readings) -> list[ExplanationJudgeCall]:
    """Return each judge's calls about one model's explanations and the nulls; none without thick mode.
    Specificity gets ``judge_samples`` votes: vote s has seed s, and votes alternate the rubric's phrasings.
    """
    if "thick" not in study.modes:
        return []
    texts = {benchmark: explanations(study, benchmark, readings) for benchmark in study.benchmarks}
    return [call for benchmark, by_source in texts.items() for call in _votes(study, benchmark, by_source)]


def replies(study: CureStudy, calls: Sequence[ExplanationJudgeCall], opinions: Opinions) -> list[Reply]:
    """Return every judge's verdict on every call."""
    return [
        Reply(engine.name, call, opinions[judge][call.key])
        for judge, engine in study.judges.items()
        for call in calls
    ]


def is_answered(study: CureStudy, benchmark: str, readings: Readings) -> bool:
    """Return whether all explanations of a benchmark exist; until then the shuffled ones can change."""
    answers = (readings[benchmark, "thick", item] for item in study.names(benchmark))
    return all(answer.explanation_reason != NO_ANSWER for answer in answers)


def explanations(study: CureStudy, benchmark: str, readings: Readings) -> dict[str, dict[str, str]]:
    """Return source -> item -> the explanation to judge.

    Items without an explanation, and items to which the rubric does not apply, are left out. Only drawn items
    have null explanations.
    """
    families = {item.item: family(item) for item in study.items(benchmark) if not item.not_judged}
    answers = {item: readings[benchmark, "thick", item].explanation for item in families}
    real = {item: text for item, text in answers.items() if text is not None}
    texts = texts_by_source(real, families, WORDS[kind_of(benchmark)]["generic"], benchmark)
    drawn = study.chosen.with_nulls[benchmark]
    return {
        source: of if source == REAL else {item: text for item, text in of.items() if item in drawn}
        for source, of in texts.items()
    }


def most_calls(study: CureStudy) -> tuple[list[ExplanationJudgeCall], int]:
    """Return a call for each vote on each item, without the text to judge, and the most calls of each judge,
    null explanations included.
    """
    calls: list[ExplanationJudgeCall] = []
    n_nulls = 0
    for benchmark in study.benchmarks if "thick" in study.modes else ():
        empty = {item.item: "" for item in study.items(benchmark) if not item.not_judged}
        votes = list(_votes(study, benchmark, {EMPTY: empty}))
        calls += votes
        n_nulls += len(NULLS) * sum(c.item.item in study.chosen.with_nulls[benchmark] for c in votes)
    return calls, len(calls) + n_nulls


def _votes(
    study: CureStudy, benchmark: str, of_source: Mapping[str, Mapping[str, str]]
) -> Iterator[ExplanationJudgeCall]:
    """Yield a call for each vote on each of these texts: source -> item -> text."""
    rubrics, n, limit = study.rubrics[benchmark], study.votes(benchmark), study.params.judge_max_tokens
    temperature = ENSEMBLE_TEMPERATURE if n > 1 else 0.0
    for source, texts in of_source.items():
        for item in study.items(benchmark):
            for sample in range(n if item.item in texts else 0):
                sampling = Sampling(temperature=temperature, max_tokens=limit, seed=sample)
                rubric = rubrics[sample % len(rubrics)]
                yield ExplanationJudgeCall(item, source, sample, texts[item.item], rubric, sampling)


def _inputs(item: BenchmarkItem, text: str) -> dict[str, object]:
    """Return the inputs of each benchmark's rubric."""
    texts = item.extra
    match kind_of(item.benchmark):
        case "casa":
            symbol = list(item.cues) or texts.get("rule", item.gold)
            fields = {"country": texts.get("country_name", ""), "query": situation(item)}
            return {JUDGED: text, **fields, "symbol": symbol, "meaning": item.gold}
        case "culturebank":
            scene = f"{situation(item)} {texts.get('question', '')}".strip()
            further: dict[str, object] = {"persona": texts.get("persona", ""), "situation": scene}
        case "specnorm":
            further = {"subgroup": list(item.cues)}
        case _:
            further = {}
    return {"norm": item.gold, JUDGED: text, **further}


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
        verdicts: [items] the commonest verdict; None where unscored or tied.
        reasons: [items] why unscored. lost: [items] why there is no explanation of an item that was sent.
        by_judge: judge -> [items] the mean of its own votes, NaN where unscored.
        questions: [items] the judges' prompts, "" for none. Items with equal prompts share votes, since these
            are sent once.
    """

    scores: FloatArray
    disagreement: FloatArray
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
