"""Values of answers, of models and of null models, by the harness's own scoring. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from tasks.engines.protocols import PairScores
from tasks.evaluations.contract import Completions
from tasks.evaluations.harness.library import HarnessTask, Responses
from tasks.evaluations.harness.study import (
    CONDITIONS,
    NO_QUESTION,
    OTHER_QUESTION,
    HarnessItem,
    HarnessStudy,
)
from tasks.evaluations.recipe.prompted import ConditionScores
from tasks.evaluations.recipe.study import HEADLINE
from tasks.loop.pairs import Document
from tasks.loop.prompts import Completion, Prompt
from tasks.loop.replies import EMPTY, NO_ANSWER, REFUSED, normal
from tasks.metrics.nulls import option_nulls

NO_OTHER = "no other document to exchange with"
NOT_A_SHARE = "the task's first metric is no share of right answers"
NOT_ASKED = "not asked in this condition"

Values = Mapping[str, Mapping[str, Any]]
"""Maps item -> metric -> the harness's value; the key "" holds the reason for no value."""


@dataclass(frozen=True)
class HarnessScores:
    """One model's values in one condition.

    Attributes:
        values: by item; items without an answer are left out. headline: each item's score with reasons and
            texts. n_cut: items whose context was longer than the model's.
    """

    values: Values
    headline: ConditionScores
    n_cut: int = 0


def read(study: HarnessStudy, completions: Completions, shared: Any) -> dict[str, HarnessScores]:
    """Return condition -> scores."""
    own = {condition: stored(study, condition, completions) for condition in CONDITIONS}
    own[OTHER_QUESTION] |= _exchanged(study, own[HEADLINE])
    return {condition: scored(study, condition, answers) for condition, answers in own.items()}


Answers = Mapping[str, "PairScores | list[Completion]"]


def stored(
    study: HarnessStudy, condition: str, completions: Completions
) -> dict[str, PairScores | list[Completion]]:
    """Return each item's stored responses under a condition, if complete."""
    known: dict[str, Any] = {}
    for request in study.requests():
        known |= dict(completions(request))
    by_sample: dict[str, PairScores | list[Completion]] = {}
    for item in study.items:
        sample_request = study.asked(item, condition)
        if isinstance(sample_request, Document):
            if (scores := known.get(sample_request.id)) is not None and len(scores.logprob) == len(
                sample_request.pairs
            ):
                by_sample[item.name] = scores
        elif sample_request is not None and all(prompt.id in known for prompt in sample_request):
            by_sample[item.name] = [known[prompt.id] for prompt in sample_request]
    return by_sample


def _exchanged(study: HarnessStudy, own: Answers) -> dict[str, PairScores | list[Completion]]:
    """Return for each item the model's texts about another one, in tasks with written answers."""
    return {
        item.name: own[other]
        for item in study.items
        if item.task.writes and (other := study.others.get(item.name)) in own and other is not None
    }


def scored(study: HarnessStudy, condition: str, answers: Answers) -> HarnessScores:
    """Score answers by the harness's own filters and metrics, task by task."""
    values: dict[str, Mapping[str, Any]] = {}
    for task in study.tasks.values():
        of_task = {item.doc: item for item in study.items if item.task is task}
        instances = task.without if condition == NO_QUESTION else task.instances
        responses = {
            doc: _responses(answers[item.name]) for doc, item in of_task.items() if item.name in answers
        }
        for doc, own in task.scored(responses, instances).items():
            values[of_task[doc].name] = own
    reasons = {item.name: _why_not(study, item, condition, answers) for item in study.items}
    lost = {name: _lost(answers.get(name)) for name in reasons}
    texts = [_text(item, answers.get(item.name)) for item in study.items]
    n_cut = sum(bool(own.n_cut.any()) for own in answers.values() if isinstance(own, PairScores))
    return HarnessScores(values, headline_of(study, values, reasons, lost, texts), n_cut)


def headline_of(
    study: HarnessStudy, values: Values, reasons: Mapping[str, str] | None = None,
    lost: Mapping[str, str] | None = None, texts: Sequence[str] = (),
) -> ConditionScores:  # fmt: skip
    """Return each item's score: the named metric, else the task's first one."""
    numbers, why = [], []
    for item in study.items:
        own = values.get(item.name)
        metric = study.params.metric or item.task.main
        value = None if own is None else number(own.get(metric))
        is_share = (
            value is not None and 0 <= value <= 1 and item.task.aggregations.get(metric) == (None, True)
        )
        numbers.append(cast(float, value) if is_share else np.nan)
        reason = (reasons or {}).get(item.name, "") or ("" if own is None else str(own.get("", "")))
        why.append("" if is_share else reason or NOT_A_SHARE)
    by_item = [(lost or {}).get(item.name, "") for item in study.items]
    return ConditionScores(
        np.array(numbers, dtype=np.float64),
        np.array(why, dtype=object),
        np.array(by_item, dtype=object),
        texts,
    )


def number(value: Any) -> float | None:
    """Return a metric's value as a number; None for others, such as a pair that is aggregated later."""
    if isinstance(value, bool | int | float | np.bool_ | np.integer | np.floating):
        return float(value)
    return None


NullValues = Mapping[str, Mapping[str, Sequence[Values]]]
"""Null model -> task -> the values of each of its ways (``option_nulls``); of texts there is one"""


def nulls(study: HarnessStudy) -> dict[str, dict[str, list[Values]]]:
    """Return null models' values: for options ``option_nulls``; for texts the task's commonest right answer,
    and another document's.
    """
    by_name: dict[str, dict[str, list[Values]]] = {}
    for task in study.tasks.values():
        own = [item for item in study.items if item.task is task]
        ways_of = _of_options(own) if task.chooses else _of_texts(study, own) if task.writes else {}
        for name, ways in ways_of.items():
            by_name.setdefault(name, {})[task.name] = ways
    return by_name


def _of_options(items: Sequence[HarnessItem]) -> dict[str, list[Values]]:
    options = [item.task.choices(item.doc) for item in items]
    golds = [item.task.golds[item.doc] for item in items]
    right = [
        set() if item.doc in item.task.wrong_labels else set(gold if isinstance(gold, list) else [gold])
        for item, gold in zip(items, golds, strict=True)
    ]
    lengths, texts = [list(map(len, own)) for own in options], [list(map(normal, own)) for own in options]
    values = [
        [_chosen(item, place) for place in range(len(own))] for item, own in zip(items, options, strict=True)
    ]
    return {
        name: [
            {
                item.name: _mean_of([own[place] for place in places])
                for item, own, places in zip(items, values, way, strict=True)
            }
            for way in null
        ]
        for name, null in option_nulls(lengths, right, texts, [item.cluster for item in items]).items()
    }


def _chosen(item: HarnessItem, place: int) -> Mapping[str, Any]:
    """Return the values of a model that chooses this option."""
    n = len(item.task.instances[item.doc])
    return item.task.score_given(item.doc, [(0.0 if i == place else -1e6, i == place) for i in range(n)])


def _mean_of(each: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return each metric's mean over choices; values that are not numbers are left out."""
    if why := each[0].get(""):
        return {"": why}
    numbers = {metric: [number(values.get(metric)) for values in each] for metric in each[0]}
    return {
        metric: float(np.mean(cast(list[float], own)))
        for metric, own in numbers.items()
        if all(value is not None for value in own)
    }


def _of_texts(study: HarnessStudy, items: Sequence[HarnessItem]) -> dict[str, list[Values]]:
    golds = {item.name: _first(item.task, item.doc) for item in items}
    counts = Counter(golds.values())
    commonest = min(counts, key=lambda text: (-counts[text], text))
    others = {item.name: golds[other] for item in items if (other := study.others.get(item.name))}
    return {
        "commonest": [{item.name: item.task.score_given(item.doc, [commonest]) for item in items}],
        "other_answer": [
            {
                item.name: item.task.score_given(item.doc, [others[item.name]])
                for item in items
                if item.name in others
            }
        ],
    }


def _first(task: HarnessTask, doc: int) -> str:
    gold = task.golds[doc]
    return str(gold[0]) if isinstance(gold, list) and gold else str(gold)


def _responses(answers: PairScores | list[Completion]) -> Responses:
    """Return the harness's input: (log-probability, is greedy) of each pair, or the prompt's texts."""
    if isinstance(answers, PairScores):
        return [(float(p), bool(g)) for p, g in zip(answers.logprob, answers.is_greedy, strict=True)]
    return [[completion.text for completion in answers]]


def _why_not(study: HarnessStudy, item: HarnessItem, condition: str, answers: Answers) -> str:
    if item.name in answers:
        return ""
    if condition == NO_QUESTION and not item.task.without:
        return item.task.why_not or NOT_ASKED
    if condition == OTHER_QUESTION and item.name not in study.others:
        return NO_OTHER
    return NO_ANSWER if condition == HEADLINE else NOT_ASKED


def _lost(answers: PairScores | list[Completion] | None) -> str:
    """Return why there is no answer: missing, refused, or empty, which scores as wrong."""
    if answers is None:
        return NO_ANSWER
    if isinstance(answers, PairScores):
        return ""
    if all(completion.finish_reason in ("refusal", "content_filter") for completion in answers):
        return REFUSED
    return "" if any(completion.text.strip() for completion in answers) else EMPTY


def _text(item: HarnessItem, answers: PairScores | list[Completion] | None) -> str:
    """Name the answer in words."""
    if answers is None:
        return ""
    if isinstance(answers, PairScores):
        if not item.task.chooses:
            return f"{float(answers.logprob[0]):.4g} nats"
        choices = item.task.choices(item.doc)
        place = int(np.argmax(answers.logprob[: len(choices)]))
        return choices[place] if not item.task.library.multiple_input else f"option {place + 1}"
    return " | ".join(completion.text for completion in answers)


def prompts_of(study: HarnessStudy, item: HarnessItem) -> list[Prompt]:
    """Return an item's prompts, in a task with written answers."""
    return cast(list[Prompt], study.asked(item, HEADLINE))
