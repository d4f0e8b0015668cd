"""Returns questions about countries with a model's most probable items, in the form that people read.

Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from tasks.evaluations.contract import Completions
from tasks.evaluations.spectral.read import QuestionAnswers, distribution, membership
from tasks.evaluations.spectral.sampling import answers_of
from tasks.evaluations.spectral.study import SpectralQuestion, SpectralStudy
from tasks.loop.samples import Sample, Score, listed, question
from tasks.metrics import nulls
from tasks.metrics.types import FloatArray

TOP = 10
NOT_LISTED = "the list has nothing for the country"
NOT_NAMED = "names no item of the list"


def samples(
    study: SpectralStudy,
    completions: Completions,
    load: Callable[[SpectralStudy, Completions, SpectralQuestion], QuestionAnswers | str],
) -> Iterator[Sample]:
    """Yield every question about every country; one matrix of probabilities is in memory at a time.
    Probabilities are over the list's items; ``reference_mass`` is the share on the country's listed items.

    Args:
        load: returns the stored answers to a question, or the reason why there are none.
    """
    if study.is_sampled:
        yield from _written(study, completions)
        return
    for list_question in study.questions:
        items = study.lists[list_question.item_list]
        member, answers = membership(study, items), load(study, completions, list_question)
        missing = answers if isinstance(answers, str) else ""
        h = mass = None
        if not isinstance(answers, str) and np.isfinite(answers.logprobs.max(axis=1)).all():
            h = distribution(answers, items, study.params.normalisation)
            values, scored = nulls.reference_mass(h, member)
            mass = np.full(len(h), np.nan)
            mass[scored] = values
        for row, (code, name) in enumerate(study.countries.items()):
            top = [] if h is None else _top(items.items, h[row])
            reference = [items.items[i] for i in np.flatnonzero(member[row])]
            value = None if mass is None else float(mass[row])
            yield Sample(
                f"{list_question.question}:{code}",
                question(list_question.prompt(name)),
                listed(top, "probability among the items of the list"),
                target=reference,
                finish_reason="stop" if top else "",
                scores={
                    "reference_mass": Score.of(
                        value, missing or NOT_LISTED, answer=top[0][0] if top else None
                    )
                },
                metadata={
                    "domain": list_question.domain,
                    "question": list_question.question,
                    "country": code,
                    "item_list": items.name,
                    "n_items": len(items.items),
                    "top": [{"item": item, "probability": p} for item, p in top],
                },
            )
    for code, other in study.others.items():
        for sample in samples(other, completions, load):
            yield replace(sample, id=f"{code}/{sample.id}", metadata={**sample.metadata, "language": code})


def _written(study: SpectralStudy, completions: Completions) -> Iterator[Sample]:
    """Yield every written answer with the item that it names."""
    for asked in study.questions:
        items = study.lists[asked.item_list]
        for code, answers in answers_of(study, asked, completions).items():
            reference = [item for item, own in zip(items.items, items.countries, strict=True) if code in own]
            for number, (answer, place) in enumerate(answers):
                named = None if place is None else items.items[place]
                is_own = None if place is None or not reference else float(code in items.countries[place])
                missing = NOT_NAMED if answer and place is None else NOT_LISTED if answer else "no answer"
                yield Sample(
                    f"{asked.question}:{code}:{number}",
                    question(asked.prompt(study.countries[code])),
                    answer.text if answer else "",
                    target=reference,
                    finish_reason=answer.finish_reason if answer else "",
                    scores={"reference_mass": Score.of(is_own, missing, answer=named)},
                    metadata={
                        "domain": asked.domain,
                        "question": asked.question,
                        "country": code,
                        "item_list": items.name,
                        "item": named,
                    },
                )


def _top(items: Sequence[str], probabilities: FloatArray) -> list[tuple[str, float]]:
    """Return the most probable items with their probabilities; ties keep the order of the list."""
    best = np.argsort(-probabilities, kind="stable")[:TOP]
    return [(items[place], float(probabilities[place])) for place in best]
