"""Reads predictions that a paper published, in place of candidate scores. Pure.

Zhou et al. (2025) publish Llama3's top-l predictions of each dish, where l is the number of reference
ingredients: all that mean word similarity and MES need. Average precision needs the whole ranking.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from tasks.engines.protocols import RAW, Ability, Sampling
from tasks.engines.published import ABSENT, AMBIGUOUS
from tasks.evaluations.contract import Completions
from tasks.evaluations.fmlama.judge import JudgedDish
from tasks.evaluations.fmlama.read import (
    Cosines,
    Expected,
    ProbeScore,
    ScoreTables,
    TopColumns,
    judged_dishes,
    score_probe,
    score_top,
    stored_scores,
)
from tasks.evaluations.fmlama.study import Condition, FmlamaStudy, Probe, Template
from tasks.loop.prompts import Completion, Prompt, Prompts
from tasks.parsing import parse_json

KIND = "published"
CONDITION = Condition("en", "en", False)
"""The condition of the published predictions."""
WORDING = Template("published", "en", 0, False, "[X] [Y]")
"""Stands for the wording, which the file does not name."""
ELSEWHERE = "the published predictions are of English sentences without the country"
UNANSWERED = "no predictions of this dish are stored"
REASONS = {
    ABSENT: "the file has no predictions of this dish",
    AMBIGUOUS: "the file has two different lists of predictions of this dish",
}
NOT_TOP = "the file has fewer or more predictions of this dish than the dish has ingredients"
NO_CANDIDATE = "a published prediction is not among the candidates"


class PublishedPredictions(Prompts):
    """The request for the predictions of some dishes; a prompt is the URL of a dish."""

    ability: ClassVar[Ability] = "published"


def is_published(completions: Completions) -> bool:
    """Return whether a model's answers are published predictions."""
    return completions.candidate is not None and completions.candidate.kind == KIND


def published_requests(study: FmlamaStudy) -> list[PublishedPredictions]:
    """Return the request for the predictions of every dish; none without the condition of the file."""
    return [
        PublishedPredictions(
            topic=probe.condition.slug,
            label=KIND,
            batch=study.params.dishes_per_part,
            prompts=[_prompt(dish.url) for dish in probe.dishes],
            sampling=Sampling(),
        )
        for probe in study.probes
        if probe.condition == CONDITION
    ]


def score_published(
    study: FmlamaStudy, completions: Completions, expected: Mapping[str, Expected], cosines: Cosines
) -> list[ProbeScore]:
    """Score every condition; that of the file has no average precision, the others have no answers."""
    scores = []
    for probe in study.probes:
        own = expected[probe.condition.slug]
        top = published_top(study, completions, probe)
        if isinstance(top, str):
            scores.append(score_probe(probe, own, _without_answers(top), cosines, study.params.pooling))
        else:
            scores.append(score_top(probe, own, WORDING, top, cosines))
    return scores


def _without_answers(reason: str) -> ScoreTables:
    return lambda probe, template: reason


def published_top(study: FmlamaStudy, completions: Completions, probe: Probe) -> TopColumns | str:
    """Return the columns of each dish's predictions, or why the file has none under this condition."""
    if probe.condition != CONDITION:
        return ELSEWHERE
    (request,) = published_requests(study)
    stored = completions(request)
    column = {candidate: i for i, candidate in enumerate(probe.candidates)}
    return [
        _columns(stored.get(_prompt(dish.url).id), column, n)
        for dish, n in zip(probe.dishes, probe.n_relevant.tolist(), strict=True)
    ]


def published_dishes(study: FmlamaStudy, completions: Completions) -> list[JudgedDish] | str:
    """Return the judged dishes with their published predictions, none where they are not l, or why no
    dish has any.
    """
    probe = study.judged_probe
    top = published_top(study, completions, probe)
    if isinstance(top, str):
        return top
    named = [() if isinstance(each, str) else tuple(probe.candidates[i] for i in each) for each in top]
    return [
        JudgedDish(dish.url, name, dish.group, dish.ingredients, predicted)
        for dish, name, predicted in zip(probe.dishes, probe.names, named, strict=True)
    ]


def predicted_dishes(study: FmlamaStudy, completions: Completions) -> list[JudgedDish] | str:
    """Return the model's predictions for the judged dishes, or the reason why they are unknown."""
    if is_published(completions):
        return published_dishes(study, completions)
    probe = study.judged_probe
    tables = stored_scores(study, completions, probe, probe.templates[0])
    return tables if isinstance(tables, str) else judged_dishes(probe, tables[study.params.pooling])


def _prompt(url: str) -> Prompt:
    return Prompt([{"role": RAW, "content": url}])


def _columns(completion: Completion | None, column: Mapping[str, int], n: int) -> list[int] | str:
    """Return the columns of a dish's predictions, or why they are not its top n."""
    if completion is None:
        return UNANSWERED
    if completion.finish_reason in REASONS:
        return REASONS[completion.finish_reason]
    predicted = list(dict.fromkeys(parse_json(completion.text)))
    if len(predicted) != n:
        return NOT_TOP
    if not column.keys() >= set(predicted):
        return NO_CANDIDATE
    return [column[name] for name in predicted]
