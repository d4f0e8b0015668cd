"""Reads one model's conversations: calls to judges, their verdicts, and counts. Pure. A judge reads the
transcript as quoted data, so nothing in it can give orders or pose as a verdict. Quality is judged for every
finished conversation, its twin with another persona's recommendation (if any), and the nulls. Failures (the
penalties) and instructions are judged for real conversations only. A conversation that a limit or the
simulated user cut short is not judged.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from tasks.engines.protocols import Sampling
from tasks.evaluations.contract import Completions
from tasks.evaluations.explication.materials import FAREWELL, RECOMMENDATION, RECOMMENDER, cut_short
from tasks.evaluations.explication.measures import (
    COUNTS,
    NO_FACTS,
    NOT_RECOMMENDED,
    OF_FACTS,
    UNFINISHED,
    Measures,
    measure,
)
from tasks.evaluations.explication.study import (
    FIXED,
    GENERIC,
    OVERALL,
    SHUFFLED,
    SILENT,
    ConversationKey,
    ExplicationStudy,
)  # fmt: skip
from tasks.judging.controls import shuffled
from tasks.judging.panel import AllOpinions
from tasks.judging.rubric import Rubric, judge_prompt
from tasks.judging.verdicts import NO_JUDGE, UNANSWERED
from tasks.loop.dialogue import Dialogues, Talk, Turn, transcript
from tasks.loop.prompts import Prompt
from tasks.loop.rows import Reasons
from tasks.metrics.intervals import SHARE
from tasks.metrics.types import FloatArray

QUALITY = ("cultural_depth", "constraint_awareness", "personalisation", "interaction")
FAILURES = {
    "asked_for_dishes": "interaction",
    "ignored_cues": "cultural_depth",
    "contradicted": "constraint_awareness",
}
"""Failure -> the grade that it reduces, to at most PENALISED."""
INSTRUCTIONS = ("format", "behaviour", "focus")
KEYS = {"quality": QUALITY, "failures": tuple(FAILURES), "instructions": INSTRUCTIONS}
MEANS = {"apr": QUALITY[:3], "instruction_following": INSTRUCTIONS}
"""Grade -> the grades that it averages; apr is appropriateness."""
TOP = {"quality": 10, "failures": 1, "instructions": 5}
"""Grade for a verdict of value 1; a verdict of value 0 gives grade 1, or 0 for failures."""
TEN, FIVE = (1.0, 10.0), (1.0, 5.0)
GRADES: Mapping[str, tuple[float, float]] = {
    "apr": TEN, "interaction": TEN, "instruction_following": FIVE, **dict.fromkeys(QUALITY[:3], TEN),
    **dict.fromkeys(INSTRUCTIONS, FIVE), **dict.fromkeys(FAILURES, SHARE),
    OVERALL["quality"]: TEN, OVERALL["instructions"]: FIVE,
}  # fmt: skip
"""Metric of judges -> its range."""
PENALISED = 4.0
"""Highest grade of the worst band."""

NO_TWIN = "there is no recommendation to a persona of another cuisine"


def keys_of(rubric: Rubric) -> tuple[str, ...]:
    """Return the keys that a judge scores by a rubric; a judge who reasons also gives an overall score."""
    overall = OVERALL.get(rubric.name, "") if rubric.style == "reasoned" else ""
    return (*KEYS[rubric.name], overall) if overall else KEYS[rubric.name]


def grades_of(study: ExplicationStudy) -> list[str]:
    """Return the metrics of ``GRADES`` that a study has; overall scores only if judges give them."""
    return [name for name in GRADES if study.params.judge_style == "reasoned" or name not in OVERALL.values()]


@dataclass(frozen=True)
class ConversationJudgeCall:
    """One conversation to be judged by one rubric.

    Attributes:
        label: the name of the rubric. text: the transcript. keys: the keys that get a verdict.
    """

    conversation: ConversationKey
    label: str
    text: str
    rubric: Rubric
    keys: tuple[str, ...]
    sampling: Sampling
    prompt: Prompt

    @property
    def key(self) -> tuple[ConversationKey, str]:
        """Return the call's identity among those about one model."""
        return self.conversation, self.label


def judge_call(
    study: ExplicationStudy, key: ConversationKey, label: str, lines: Sequence[str]
) -> ConversationJudgeCall:
    """Return the judges' call about a conversation, with one turn per line."""
    task, rubric, sampling = study.tasks[key.task], study.rubrics[label], study.params.judge_max_tokens
    inputs: dict[str, object] = {"task": task.described, "conversation": lines}
    if "persona" in rubric.inputs:  # null conversations may have no turns
        inputs["persona"] = study.described[key.persona, task.name]
    used, keys = {name: inputs[name] for name in rubric.inputs}, keys_of(rubric)
    prompt = judge_prompt(rubric, used, keys, with_probabilities=False)
    text = json.dumps(lines, ensure_ascii=False)
    return ConversationJudgeCall(key, label, text, rubric, keys, Sampling(max_tokens=sampling), prompt)


@dataclass(frozen=True)
class Grades:
    """Judges' grades of one conversation, on the paper's scales, with penalties; see ``grade_of``.

    Attributes:
        values: grade or failure -> mean over judges; NaN where unscored.
        by_judge: judge -> its own.
        reason: why some grade is unscored; "" if none is.
    """

    values: Mapping[str, float]
    by_judge: Mapping[str, Mapping[str, float]]
    reason: str = ""


@dataclass(frozen=True)
class ExplicationAnswers:
    """One model's conversations, finished or not, with the judges' prompts and verdicts about them."""

    stage: Dialogues
    calls: Sequence[ConversationJudgeCall]
    opinions: AllOpinions
    grades: Mapping[ConversationKey, Grades]


def read(study: ExplicationStudy, completions: Completions, shared: Any = None) -> ExplicationAnswers:
    """Return conversations and verdicts; missing ones are unscored, with a reason."""
    stage, calls = heard(study, completions)
    opinions = study.panel.read_all(calls, completions)
    return ExplicationAnswers(stage, calls, opinions, grades(study, calls, opinions))


def heard(study: ExplicationStudy, completions: Completions) -> tuple[Dialogues, list[ConversationJudgeCall]]:
    """Return the conversations with all stored turns, and the judges' calls.

    Both are kept between rounds, and calls keep their prompts.
    """
    own = study.progress_of(completions.candidate)
    own.stage.read(completions)
    if not study.judges:
        return own.stage, []
    texts = (_real_texts if completions.candidate else _null_texts)(study, own.stage)
    calls = []
    for key, label, turns in texts:
        if (key, label) not in own.calls:
            own.calls[key, label] = judge_call(study, key, label, transcript(turns))
        calls.append(own.calls[key, label])
    return own.stage, calls


JudgedText = tuple[ConversationKey, str, Sequence[Turn]]
"""(conversation, name of the rubric, turns)"""


def _real_texts(study: ExplicationStudy, stage: Dialogues) -> Iterator[JudgedText]:
    """Yield one model's finished conversations; shuffled ones only when all of their group are over."""
    groups: dict[tuple[str, str, int], list[ConversationKey]] = defaultdict(list)
    for key in study.real():
        groups[key.task, key.condition, key.repetition].append(key)
        if _is_complete(stage.talks[key]):
            yield from ((key, label, stage.talks[key].turns) for label in KEYS)
    for keys in groups.values():
        if all(stage.talks[key].ended_by is not None for key in keys):
            yield from _shuffled(study, stage, keys)
    for key in dict.fromkeys(map(study.silent, study.real())):
        if _is_complete(stage.talks[key]):
            yield key, "quality", stage.talks[key].turns


def _null_texts(study: ExplicationStudy, stage: Dialogues) -> Iterator[JudgedText]:
    """Yield the null recommenders' conversations: the generic recipe at once, and after a fixed list of
    questions.
    """
    for task, persona in product(study.tasks.values(), study.personas):
        generic, fixed = (ConversationKey(source, task.name, persona, "", 0) for source in (GENERIC, FIXED))
        yield generic, "quality", [Turn(RECOMMENDER, task.generic.recommendation.strip(), "")]
        if _is_complete(stage.talks[fixed]):
            yield fixed, "quality", stage.talks[fixed].turns


def _shuffled(
    study: ExplicationStudy, stage: Dialogues, keys: Sequence[ConversationKey]
) -> Iterator[JudgedText]:
    """Yield each conversation with its last turn replaced by that of a persona of another cuisine."""
    last = {
        key.persona: stage.talks[key].turns[-1].text
        for key in keys
        if stage.talks[key].ended_by == RECOMMENDATION
    }
    cuisines = {name: frozenset((persona.cuisine,)) for name, persona in study.personas.items()}
    scope = ":".join([keys[0].task, keys[0].condition, str(keys[0].repetition)])
    for persona, text in shuffled(last, cuisines, scope).items():
        key = keys[0]._replace(persona=persona)
        turns = [*stage.talks[key].turns[:-1], Turn(RECOMMENDER, text, text)]
        yield key._replace(source=SHUFFLED), "quality", turns


def _is_complete(talk: Talk) -> bool:
    """Return whether a conversation is over and not ended by a limit."""
    return talk.ended_by is not None and cut_short(talk) is None


def grades(
    study: ExplicationStudy, calls: Sequence[ConversationJudgeCall], opinions: AllOpinions
) -> dict[ConversationKey, Grades]:
    """Return conversation -> its grades. If one judge has not answered, there is no mean of the others."""
    values: dict[ConversationKey, dict[str, dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
    reasons: dict[ConversationKey, list[str]] = defaultdict(list)
    for call, (judge, engine) in product(calls, study.judges.items()):
        own = values[call.conversation][engine.name]
        for opinion in opinions[judge][call.key]:
            name = opinion.verdict.key
            # A failure is present or absent; a reasoned grade keeps its number.
            value = opinion.verdict.value if name in FAILURES else opinion.score
            own[name] = np.nan if value is None else scaled(call.label, value)
            if value is None:
                reasons[call.conversation].append(opinion.verdict.unscored_reason or UNANSWERED)
    graded: dict[ConversationKey, Grades] = {}
    for key, by_judge in values.items():
        penalised = {judge: _penalised(own) for judge, own in by_judge.items()}
        names = sorted(set().union(*penalised.values()))
        means = {name: float(np.mean([own[name] for own in penalised.values()])) for name in names}
        graded[key] = Grades(means, penalised, min(reasons[key], default=""))
    return graded


def scaled(rubric: str, value: float) -> float:
    """Return a verdict's value in [0, 1] on the scale of its rubric."""
    return value if rubric == "failures" else 1 + (TOP[rubric] - 1) * value


def _penalised(own: Mapping[str, float]) -> dict[str, float]:
    """Return grades after the penalties of failures. If the verdict on a failure is lost, a grade that it
    would reduce is unknown; one within the worst band stays.
    """
    left = dict(own)
    for failure, dimension in FAILURES.items():
        verdict = own.get(failure, 0.0)  # conversations of nulls have no failures
        if dimension in own and own[dimension] > PENALISED and verdict != 0:
            left[dimension] = PENALISED if verdict == 1 else np.nan
    return left


def grade_of(own: Grades | None, name: str, judge: str = "") -> float:
    """Return one grade, or the mean of its parts; NaN if unscored. judge: name of one judge; "": all."""
    if own is None:
        return np.nan
    values = own.by_judge.get(judge, {}) if judge else own.values
    return float(np.mean([values.get(part, np.nan) for part in MEANS.get(name, (name,))]))


@dataclass(frozen=True)
class Conversations:
    """One model's real conversations, in the order of the study, which all arrays share.

    Attributes:
        keys, talks: n conversations.
        measures: None for an unfinished conversation.
        grades: grades of each conversation, nulls included, by key; empty without judges.
    """

    study: ExplicationStudy
    keys: tuple[ConversationKey, ...]
    talks: tuple[Talk, ...]
    measures: tuple[Measures | None, ...]
    grades: Mapping[ConversationKey, Grades]

    @cached_property
    def personas(self) -> np.ndarray:
        """Return [n] the personas, which are resampled."""
        return np.array([key.persona for key in self.keys])

    @cached_property
    def names(self) -> np.ndarray:
        """Return [n] names of the conversations, the same for all models."""
        return np.array([key.label for key in self.keys])

    def places(self, **of: object) -> np.ndarray:
        """Return the positions of the conversations whose keys have these fields."""
        return np.flatnonzero([all(getattr(k, n) == v for n, v in of.items()) for k in self.keys])

    def graded(self, dimension: str, source: str = "real") -> tuple[FloatArray, Reasons]:
        """Return [n] grades of a dimension and reasons for missing ones. source: grades of the null twins
        instead.
        """
        values = np.array([self.grade(key._replace(source=source), dimension) for key in self.keys])
        reasons = np.full(len(self.keys), "", dtype=object)
        for place in np.flatnonzero(np.isnan(values)):
            talk, own = self.talks[place], self.grades.get(self.keys[place]._replace(source=source))
            if own is not None:
                reasons[place] = own.reason or UNFINISHED
            elif source == SHUFFLED and self.study.judges and talk.ended_by is not None:
                reasons[place] = cut_short(talk) or NO_TWIN
            else:
                why = UNANSWERED if self.study.judges else NO_JUDGE
                if talk.ended_by == FAREWELL:
                    why = NOT_RECOMMENDED
                reasons[place] = cut_short(talk) or (UNFINISHED if talk.ended_by is None else why)
        return values, reasons

    def grade(self, key: ConversationKey, dimension: str) -> float:
        """Return one grade; NaN if unscored."""
        return grade_of(self.grades.get(key), dimension)

    def counting_left(self, values: FloatArray, reasons: Reasons) -> tuple[FloatArray, Reasons]:
        """Return grades and reasons with the worst grade for conversations that the user left."""
        left = np.array([talk.ended_by == FAREWELL for talk in self.talks], dtype=bool)
        return np.where(left, TEN[0], values), np.where(left, "", reasons)

    def counted(self, name: str) -> tuple[FloatArray, Reasons]:
        """Return [n] a count of each conversation, finished or not, and reasons for missing ones."""
        count, _, missing = COUNTS[name]
        values, reasons = self.measured(count, missing)
        for place in np.flatnonzero(np.isnan(values)) if name in OF_FACTS else ():
            persona, measures = self.study.personas[self.keys[place].persona], self.measures[place]
            if measures is not None and not (persona.dishes if name == "user_dishes" else persona.facts):
                reasons[place] = NO_FACTS
        return values, reasons

    def measured(self, of: Callable[[Measures], float | None], missing: str) -> tuple[FloatArray, Reasons]:
        """Return [n] a measure of each conversation, and reasons for missing ones."""
        values, reasons = np.full(len(self.keys), np.nan), np.full(len(self.keys), "", dtype=object)
        for place, measures in enumerate(self.measures):
            value = None if measures is None else of(measures)
            if value is None:
                reasons[place] = UNFINISHED if measures is None else measures.cut_short or missing
            else:
                values[place] = value
        return values, reasons

    def null_grades(
        self, shared: Mapping[ConversationKey, Grades], source: str, dimension: str
    ) -> FloatArray:
        """Return [n] the grade of each real conversation's null, NaN without one.

        Args:
            shared: grades of the study's null recommenders; shuffled and silent ones are the model's.
        """
        if source in (SHUFFLED, SILENT):
            return np.array([self.grade(key._replace(source=source), dimension) for key in self.keys])
        own = (shared.get(k._replace(source=source, condition="", repetition=0)) for k in self.keys)
        return np.array([grade_of(each, dimension) for each in own])


def conversations(
    study: ExplicationStudy, stage: Dialogues, grades: Mapping[ConversationKey, Grades]
) -> Conversations:
    """Return every real conversation, counted if it is over. A conversation that the user left without a
    recommendation has no grades, since there is no recommendation to judge; one that the recommender ended by
    writing nothing has the worst. Another metric is the share with a recommendation.
    """
    keys = tuple(study.real())
    left = {key for key in keys if stage.talks[key].ended_by == FAREWELL}
    grades = {key: own for key, own in grades.items() if key not in left}
    for key in keys:
        talk = stage.talks[key]
        if key in grades and talk.ended_by != RECOMMENDATION and _is_complete(talk):
            grades[key] = _without_recommendation(grades[key])
    talks = tuple(stage.talks[key] for key in keys)
    measures = tuple(
        None
        if talk.ended_by is None
        else measure(
            study.personas[key.persona], study.tasks[key.task], talk.turns, study.dishes, cut_short(talk)
        )
        for key, talk in zip(keys, talks, strict=True)
    )
    return Conversations(study, keys, talks, measures, grades)


def _without_recommendation(own: Grades) -> Grades:
    """Return the grades of a conversation that ended because the recommender wrote nothing: those of the
    recommendation are the worst, as the rubric has it, whatever a judge says; an unscored one stays unscored.
    """

    def worst(values: Mapping[str, float]) -> dict[str, float]:
        return {
            name: min(value, TEN[0]) if name in MEANS["apr"] and not np.isnan(value) else value
            for name, value in values.items()
        }

    by_judge = {judge: worst(values) for judge, values in own.by_judge.items()}
    return Grades(worst(own.values), by_judge, own.reason)


def effects(of: Conversations, values: FloatArray) -> tuple[FloatArray, Sequence[str]]:
    """Return treatment less control for every task, persona and repetition (NaN if one is missing), and its
    persona.
    """
    of_pair: dict[tuple[str, str, int], dict[str, float]] = defaultdict(dict)
    for key, value in zip(of.keys, values, strict=True):
        of_pair[key.task, key.persona, key.repetition][key.condition] = value
    pairs = {pair: own for pair, own in of_pair.items() if len(own) == 2}
    return np.array([own["treatment"] - own["control"] for own in pairs.values()]), [p for _, p, _ in pairs]
