"""How a candidate's answer is read, what a judge is asked about its explanation, and what it said. Pure.

Rules. A label is one of the benchmark's, whatever its case; any other is no answer. A label that the model
lost (refused, empty, cut off, unreadable) is wrong, and an explanation that it lost scores 0, since Vo and
Koyejo (2025) score all responses. Where the engine gives the labels' probabilities (thin mode) the likeliest
is taken. Label and explanation are read each on their own: one that is missing does not take the other with
it. An explanation that was cut off is lost: no judge sees half of one; the label before it counts. An
explanation to which the rubric does not apply is not judged. Of a draw of items the same judge
marks three null explanations (``tasks.judging.controls``) that should score badly: another item's, a
sentence that fits every item of the benchmark, and none at all.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from tasks.engines.protocols import Sampling
from tasks.evaluations.contract import Completions
from tasks.evaluations.cure.benchmarks.common import BenchmarkItem
from tasks.evaluations.cure.materials import LABELS, family
from tasks.evaluations.cure.params import kind_of
from tasks.evaluations.cure.requests import JUDGED, WORDS, Key, Sample, Study, situation
from tasks.judging.controls import EMPTY, NULLS, REAL, texts_by_source
from tasks.judging.panel import Opinions
from tasks.judging.rubric import Rubric, judge_prompt, normal
from tasks.judging.verdicts import Opinion
from tasks.loop.prompts import Completion, Prompt
from tasks.loop.replies import NO_ANSWER, is_lost, json_fields, no_text, unreadable

OFF_MENU, NO_EXPLANATION = "no label of the menu", "no explanation"

_FIRST_LABEL = re.compile(r'\{\s*"label"\s*:\s*("(?:[^"\\]|\\.)*")\s*[,}]')


@dataclass(frozen=True)
class Answer:
    """One answer, read. Of label and its reason one is None; so of explanation and its reason in thick mode,
    and both are None in thin mode."""

    label: str | None
    label_reason: str | None
    explanation: str | None = None
    explanation_reason: str | None = None

    def is_right(self, item: BenchmarkItem) -> bool | None:
        """Whether the label is the gold one; a lost one is not. None where the item was not asked."""
        if self.label is None:
            return False if is_lost(self.label_reason) else None
        return self.label == item.label


Readings = Mapping[Key, Answer]
"""Every sample of the study -> its answer"""


def completed(study: Study, completions: Completions) -> dict[Key, Completion]:
    """Sample -> its stored completion."""
    stored: dict[Key, Completion] = {}
    for part in study.parts():
        by_id = completions(study.request(*part))
        stored |= {s.key: by_id[s.prompt.id] for s in study.samples(*part) if s.prompt.id in by_id}
    return stored


def read_answers(study: Study, completions: Mapping[Key, Completion]) -> dict[Key, Answer]:
    """Every sample's answer; samples without a completion are unscored."""
    return {sample.key: read(sample, completions.get(sample.key)) for sample in study.all_samples()}


def read(sample: Sample, completion: Completion | None) -> Answer:
    """One answer, whatever the text; never raises."""
    is_thick = sample.mode == "thick"
    reason = no_text(completion)
    if completion is None or reason:
        return Answer(None, reason, None, reason if is_thick else None)
    labels = LABELS[kind_of(sample.item.benchmark)]
    fields = json_fields(completion.text)
    label, label_reason = _label(fields, completion, labels)
    if not is_thick:
        return Answer(label, label_reason)
    explanation = fields.get("explanation") if fields else None
    if isinstance(explanation, str) and explanation.strip():
        return Answer(label, label_reason, " ".join(explanation.split()))
    return Answer(label, label_reason, None, unreadable(completion) if fields is None else NO_EXPLANATION)


def _label(
    fields: Mapping[str, object] | None, completion: Completion, labels: Sequence[str]
) -> tuple[str | None, str | None]:
    """The label, or why there is none."""
    likely = completion.option_logprobs or {}
    known = [label for label in labels if label in likely]
    if known:
        return max(known, key=lambda label: likely[label]), None  # ties: the first on the menu
    said = fields.get("label") if fields else _first_label(completion.text)
    if said is None:
        return None, unreadable(completion) if fields is None else OFF_MENU
    menu = {normal(label): label for label in labels}
    label = menu.get(normal(said)) if isinstance(said, str) else None
    return label, None if label else OFF_MENU


def _first_label(text: str) -> object:
    """The label of an object that was cut off after it."""
    match = _FIRST_LABEL.search(text)
    try:
        return json.loads(match[1]) if match else None
    except ValueError:
        return None


CallKey = tuple[str, str, str, int]
"""(benchmark, item, source, sample)"""

ENSEMBLE_TEMPERATURE = 0.7
"""Of a judge that is asked several times; else it is greedy."""


@dataclass(frozen=True)
class JudgeCall:
    """One explanation to be judged, in one phrasing of its rubric."""

    item: BenchmarkItem
    source: str
    sample: int
    text: str
    rubric: Rubric
    sampling: Sampling

    @property
    def key(self) -> CallKey:
        """What identifies the call among those about one model."""
        return self.item.benchmark, self.item.item, self.source, self.sample

    @property
    def keys(self) -> tuple[str]:
        """What it has a verdict for."""
        return (JUDGED,)

    @property
    def label(self) -> str:
        """By which SQL and the progress tell votes apart, where there are several."""
        return f"vote {self.sample + 1}" if self.sampling.temperature else "verdicts"

    @cached_property
    def prompt(self) -> Prompt:
        """What the judge is sent; the explanation stands in it as data, in full."""
        return judge_prompt(self.rubric, _inputs(self.item, self.text), [JUDGED])


@dataclass(frozen=True)
class Reply:
    """What one judge, by its engine's name, said of one call."""

    judge: str
    call: JudgeCall
    opinion: Opinion


def judge_calls(study: Study, readings: Readings) -> list[JudgeCall]:
    """What to ask each judge about one model's explanations, and about the nulls; none if thick is not asked.

    Specificity is asked ``judge_samples`` times: sample s has seed s, and the rubric's phrasings in turn.
    """
    if "thick" not in study.modes:
        return []
    return [
        call
        for benchmark in study.benchmarks
        for call in _votes(study, benchmark, explanations(study, benchmark, readings))
    ]


def replies(study: Study, calls: Sequence[JudgeCall], said: Opinions) -> list[Reply]:
    """Every judge's opinion of every call."""
    return [
        Reply(engine.name, call, said[judge][call.key])
        for judge, engine in study.judges.items()
        for call in calls
    ]


def is_answered(study: Study, benchmark: str, readings: Readings) -> bool:
    """Whether all explanations of a benchmark are there: else a shuffled one could become another's."""
    answers = (readings[sample.key] for sample in study.samples(benchmark, "thick"))
    return all(answer.explanation_reason != NO_ANSWER for answer in answers)


def explanations(study: Study, benchmark: str, readings: Readings) -> dict[str, dict[str, str]]:
    """Source -> item -> the explanation to be judged; items that have none are left out, and those that the
    rubric does not apply to. Null explanations are of the drawn items alone."""
    items = judged_items(study, benchmark)
    answers = {item.item: readings[benchmark, "thick", item.item].explanation for item in items}
    real = {item: text for item, text in answers.items() if text is not None}
    families = {item.item: family(item) for item in items}
    texts = texts_by_source(real, families, WORDS[kind_of(benchmark)]["generic"], benchmark)
    drawn = study.chosen.with_nulls[benchmark]
    return {
        source: of if source == REAL else {item: text for item, text in of.items() if item in drawn}
        for source, of in texts.items()
    }


def judged_items(study: Study, benchmark: str) -> list[BenchmarkItem]:
    """The items whose explanations the benchmark's rubric applies to."""
    return [item for item in study.items(benchmark) if not item.not_judged]


def most_calls(study: Study) -> tuple[list[JudgeCall], int]:
    """A call for each vote on each item, without the text to be judged; and how many each judge is asked at
    most, null explanations too."""
    if "thick" not in study.modes:
        return [], 0
    calls: list[JudgeCall] = []
    n_nulls = 0
    for benchmark in study.benchmarks:
        votes = _votes(study, benchmark, {EMPTY: {item.item: "" for item in judged_items(study, benchmark)}})
        drawn = study.chosen.with_nulls[benchmark]
        calls += (each := list(votes))
        n_nulls += len(NULLS) * sum(call.item.item in drawn for call in each)
    return calls, len(calls) + n_nulls


def _votes(study: Study, benchmark: str, of_source: Mapping[str, Mapping[str, str]]) -> Iterator[JudgeCall]:
    """A call for each vote on each of these texts: source -> item -> text."""
    rubrics = study.rubrics[benchmark]
    n = study.params.judge_samples if len(rubrics) > 1 else 1
    for source, texts in of_source.items():
        for item in study.items(benchmark):
            if item.item in texts:
                for sample in range(n):
                    sampling = Sampling(
                        temperature=ENSEMBLE_TEMPERATURE if n > 1 else 0.0,
                        max_tokens=study.params.judge_max_tokens,
                        seed=sample,
                    )
                    rubric = rubrics[sample % len(rubrics)]
                    yield JudgeCall(item, source, sample, texts[item.item], rubric, sampling)


def _inputs(item: BenchmarkItem, text: str) -> dict[str, object]:
    """What each benchmark's rubric is filled with."""
    given: dict[str, object] = {"norm": item.gold, JUDGED: text}
    match kind_of(item.benchmark):
        case "casa":
            rule = item.extra.get("rule", item.gold)
            del given["norm"]
            given |= {
                "country": item.extra.get("country_name", ""),
                "query": situation(item),
                "symbol": list(item.cues) or rule,
                "meaning": item.gold,
            }
        case "culturebank":
            shown = f"{situation(item)} {item.extra.get('question', '')}".strip()
            given |= {"persona": item.extra.get("persona", ""), "situation": shown}
        case "specnorm":
            given["subgroup"] = list(item.cues)
    return given
