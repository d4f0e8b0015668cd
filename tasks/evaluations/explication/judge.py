"""What judges are asked about conversations and their null ones, and what they said. Pure.

A judge reads the transcript as quoted data: nothing in it can give orders or pose as a verdict. Quality is
asked of every conversation that came to its end, of its twin with another's recommendation, if it has one,
and of null ones; failures (the penalties) and instructions of real ones only. What a limit or the simulated
user cut short is not judged.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from tasks.engines.protocols import Sampling
from tasks.evaluations.contract import Completions
from tasks.evaluations.explication.study import FIXED, GENERIC, SHUFFLED, Key, Study
from tasks.evaluations.explication.task import RECOMMENDATION, RECOMMENDER, cut_short
from tasks.judging.controls import shuffled
from tasks.judging.panel import AllOpinions
from tasks.judging.rubric import Rubric, judge_prompt
from tasks.judging.verdicts import NO_JUDGE, UNANSWERED
from tasks.loop.dialogue import Stage, Talk, Turn, transcript
from tasks.loop.prompts import Prompt

QUALITY = ("cultural_depth", "constraint_awareness", "personalisation", "interaction")
FAILURES = {
    "asked_for_dishes": "interaction",
    "ignored_cues": "cultural_depth",
    "contradicted": "constraint_awareness",
}
"""Failure -> the grade that it costs: at most PENALISED is left of it."""
INSTRUCTIONS = ("format", "behaviour", "focus")
KEYS = {"quality": QUALITY, "failures": tuple(FAILURES), "instructions": INSTRUCTIONS}
TOP = {"quality": 10, "failures": 1, "instructions": 5}
"""What a verdict of value 1 stands for; one of value 0 is 1, of failures 0."""

PENALISED = 4.0
"""The top of the worst band of grades."""

UNFINISHED = "the conversation was not finished"
NO_TWIN = "no recommendation to another persona of another cuisine"


@dataclass(frozen=True)
class JudgeCall:
    """One conversation to be judged by one rubric.

    Attributes:
        label: the name of the rubric. persona: whom it is held against.
    """

    conversation: Key
    label: str
    persona: str
    lines: tuple[str, ...]
    study: Study

    @property
    def key(self) -> tuple[Key, str]:
        """What identifies the call among those about one model."""
        return self.conversation, self.label

    @property
    def text(self) -> str:
        """The transcript."""
        return json.dumps(list(self.lines), ensure_ascii=False)

    @property
    def rubric(self) -> Rubric:
        """By which it is judged."""
        return self.study.rubrics[self.label]

    @property
    def keys(self) -> tuple[str, ...]:
        """What it has a verdict for."""
        return KEYS[self.label]

    @property
    def sampling(self) -> Sampling:
        """Greedy."""
        return Sampling(max_tokens=self.study.params.judge_max_tokens)

    @cached_property
    def prompt(self) -> Prompt:
        """What a judge is sent."""
        task = self.study.tasks[self.conversation.task]
        inputs: dict[str, object] = {"task": task.described, "conversation": list(self.lines)}
        if "persona" in self.rubric.inputs:
            inputs["persona"] = self.study.described[self.persona, task.name]
        return judge_prompt(self.rubric, inputs, self.keys, with_probabilities=False)


@dataclass(frozen=True)
class Grades:
    """What judges said of one conversation, on the scales of the paper, penalties applied.

    Attributes:
        values: dimension or failure -> mean over judges; NaN where unscored.
        by_judge: judge -> the same of its own.
        reason: why something is unscored; "" where nothing is.
    """

    values: Mapping[str, float]
    by_judge: Mapping[str, Mapping[str, float]]
    reason: str = ""

    @property
    def apr(self) -> float:
        """Appropriateness: the mean of cultural depth, constraint awareness and personalisation, 1 to 10."""
        return apr(self.values)


def apr(values: Mapping[str, float]) -> float:
    """Mean of the three; NaN where one is missing."""
    return float(np.mean([values.get(name, np.nan) for name in QUALITY[:3]]))


def heard(study: Study, completions: Completions) -> Stage:
    """The conversations with all that is stored of them; those of earlier rounds are kept."""
    own = study.of(completions.candidate)
    own.stage.hear(completions)
    return own.stage


def calls_about(study: Study, completions: Completions) -> list[JudgeCall]:
    """What judges are asked; a call that was made before is kept, and with it its prompt."""
    if not study.judges:
        return []
    own = study.of(completions.candidate)
    calls = (real_calls if completions.candidate else null_calls)(study, own.stage)
    return [own.calls.setdefault(call.key, call) for call in calls]


def real_calls(study: Study, stage: Stage) -> Iterator[JudgeCall]:
    """Of one model's conversations that came to their end; shuffled ones once all of their group are over."""
    groups: dict[tuple[str, str, int], list[Key]] = defaultdict(list)
    for key in study.real():
        groups[key.task, key.condition, key.repetition].append(key)
        talk = stage.talks[key]
        if _is_judged(talk):
            for rubric in KEYS:
                yield _call(study, key, rubric, key.persona, talk.turns)
    for keys in groups.values():
        if all(stage.talks[key].ended_by is not None for key in keys):
            yield from _shuffled(study, stage, keys)
    for key in study.real():
        silent = study.silent(key)
        if key.repetition == silent.repetition and _is_judged(stage.talks[silent]):
            yield _call(study, silent, "quality", key.persona, stage.talks[silent].turns)


def null_calls(study: Study, stage: Stage) -> Iterator[JudgeCall]:
    """Of the study's null recommenders: the generic recipe at once, and after a fixed list of questions."""
    for task in study.tasks.values():
        generic = Turn(RECOMMENDER, task.generic.recommendation.strip(), "")
        for persona in study.personas:
            key = Key(GENERIC, task.name, persona, "", 0)
            yield _call(study, key, "quality", persona, [generic])
            talk = stage.talks[key._replace(source=FIXED)]
            if _is_judged(talk):
                yield _call(study, key._replace(source=FIXED), "quality", persona, talk.turns)


def grades(study: Study, calls: Sequence[JudgeCall], said: AllOpinions) -> dict[Key, Grades]:
    """Conversation -> its grades. Where a judge has not answered, the mean of the others is none."""
    values: dict[Key, dict[str, dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
    reasons: dict[Key, list[str]] = defaultdict(list)
    for call, (judge, engine) in product(calls, study.judges.items()):
        own = values[call.conversation][engine.name]
        for opinion in said[judge][call.key]:
            name, value = opinion.verdict.key, opinion.verdict.value
            own[name] = np.nan if value is None else scaled(call.label, value)
            if value is None:
                reasons[call.conversation].append(opinion.verdict.unscored_reason or UNANSWERED)
    graded: dict[Key, Grades] = {}
    for key, by_judge in values.items():
        own_grades = {judge: _penalised(of_judge) for judge, of_judge in by_judge.items()}
        names = sorted(set().union(*(set(own) for own in own_grades.values())))
        means = {name: float(np.mean([own[name] for own in own_grades.values()])) for name in names}
        graded[key] = Grades(means, own_grades, min(reasons[key], default=""))
    return graded


def unjudged(study: Study, talk: Talk | None) -> str:
    """Why a conversation has no grades at all."""
    if talk is not None and talk.ended_by is None:
        return UNFINISHED
    return UNANSWERED if study.judges else NO_JUDGE


def _is_judged(talk: Talk) -> bool:
    """Whether a conversation is over and came to its end: what a limit ended is not graded."""
    return talk.ended_by is not None and cut_short(talk) is None


def _call(study: Study, key: Key, rubric: str, persona: str, turns: Sequence[Turn]) -> JudgeCall:
    return JudgeCall(key, rubric, persona, tuple(transcript(turns)), study)


def _shuffled(study: Study, stage: Stage, keys: Sequence[Key]) -> Iterator[JudgeCall]:
    """Each conversation with the last turn of another persona's, of another cuisine, in place of its own."""
    last = {
        key.persona: stage.talks[key].turns[-1].text
        for key in keys
        if stage.talks[key].ended_by == RECOMMENDATION
    }
    families = {name: frozenset((persona.cuisine,)) for name, persona in study.personas.items()}
    scope = ":".join([keys[0].task, keys[0].condition, str(keys[0].repetition)])
    for persona, text in shuffled(last, families, scope).items():
        key = keys[0]._replace(persona=persona)
        turns = [*stage.talks[key].turns[:-1], Turn(RECOMMENDER, text, text)]
        yield _call(study, key._replace(source=SHUFFLED), "quality", persona, turns)


def scaled(rubric: str, value: float) -> float:
    """A verdict's value in [0, 1] on the scale of its rubric."""
    return value if rubric == "failures" else 1 + (TOP[rubric] - 1) * value


def _penalised(own: Mapping[str, float]) -> dict[str, float]:
    """Grades with the penalties of the failures found; a failure that was not judged costs nothing."""
    kept = dict(own)
    for failure, dimension in FAILURES.items():
        if own.get(failure) == 1 and dimension in own:
            kept[dimension] = min(own[dimension], PENALISED)
    return kept
