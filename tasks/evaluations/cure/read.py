"""Reads a candidate's answer, makes the judges' calls about its explanation, and reads their replies. Pure.

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

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from tasks.engines.protocols import Sampling
from tasks.evaluations.cure.benchmarks import LABELS, BenchmarkItem
from tasks.evaluations.cure.params import kind_of
from tasks.evaluations.cure.study import JUDGED, WORDS, CureStudy, Key, family, situation
from tasks.judging.controls import EMPTY, NULLS, REAL, texts_by_source
from tasks.judging.panel import Opinions
from tasks.judging.rubric import Rubric, judge_prompt
from tasks.judging.verdicts import Opinion
from tasks.loop.prompts import Completion, Prompt
from tasks.loop.replies import (
    NO_ANSWER,
    begun_fields,
    is_lost,
    no_text,
    on_menu,
    read_fields,
    unreadable,
)
from tasks.loop.written import without_reasoning

OFF_MENU, NO_EXPLANATION = "no label of the menu", "no explanation"

FIELDS = {"thin": ("label",), "thick": ("label", "explanation")}
"""Mode -> the fields of an answer."""


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
    return {key: read(key[0], key[1], completions.get(key)) for key in study.prompts}


def read(benchmark: str, mode: str, completion: Completion | None) -> CureAnswer:
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
