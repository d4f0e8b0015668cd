"""Items with a model's answers, one by one, as people read them. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from tasks.evaluations.contract import Completions
from tasks.evaluations.recipe import groups, options, texts
from tasks.evaluations.recipe.definition import LETTERS, Choice, Texts
from tasks.evaluations.recipe.study import HEADLINE, Study
from tasks.loop.items import OptionLogprobs
from tasks.loop.prompts import Completion
from tasks.loop.samples import Sample, Score, listed, question, sample


def samples(study: Study, completions: Completions) -> Iterator[Sample]:
    """Every item as it is; controls and null models are left to SQL (``item_answer``, ``verdict``)."""
    if isinstance(study.definition, Texts):
        return _written(study, completions)
    return (
        _chosen(study, completions)
        if isinstance(study.definition, Choice)
        else _preferred(study, completions)
    )


def _written(study: Study, completions: Completions) -> Iterator[Sample]:
    name = study.definition.metric.name
    written, said = texts.texts(study, completions), texts.opinions(study, completions)
    scores = texts.scores(study, written, said)[HEADLINE]
    stored, prompts = completions(texts.request(study)), study.kept["prompts"]
    verdicts = (
        study.panel.verdict_scores(texts.calls(study, written), said, completions) if study.panel else {}
    )
    for place, item in enumerate(study.items):
        value, why = float(scores.values[place]), scores.reasons[place] or scores.lost[place] or None
        of = {name: Score.of(value, why, answer=written[item.name][0])}
        of |= verdicts.get((HEADLINE, item.name), {})
        yield sample(
            item.name, prompts[item.name], stored.get(prompts[item.name].id),
            target=texts.answer_of(item, study), scores=of, metadata=_metadata(study, place),
        )  # fmt: skip


def _chosen(study: Study, completions: Completions) -> Iterator[Sample]:
    name = study.definition.metric.name
    stored = options.stored(study, HEADLINE, completions)
    scores = options.read(study, completions, None)[HEADLINE]
    for place, item in enumerate(study.items):
        answered, right = stored.get(item.name), study.loaded.right(item)
        choices = study.loaded.options(item)
        value, why = float(scores.values[place]), scores.reasons[place] or scores.lost[place] or None
        of = {name: Score.of(value, why, answer=scores.texts[place] or None)}
        shown = options.conversation_of(study, HEADLINE, item)
        output, reason = "", ""
        if isinstance(answered, OptionLogprobs):
            ranked = sorted(
                zip(choices, options.at_length(study, item, answered).tolist(), strict=True),
                key=lambda p: -p[1],
            )
            output, reason = listed(ranked, "log-probability"), "stop"
        elif isinstance(answered, Completion):
            output, reason = answered.text, answered.finish_reason
        yield Sample(
            item.name, shown, output, target=f"{LETTERS[right]}. {choices[right]}", choices=choices,
            finish_reason=reason, scores=of, metadata=_metadata(study, place),
        )  # fmt: skip


def _preferred(study: Study, completions: Completions) -> Iterator[Sample]:
    name = study.definition.metric.name
    scores = groups.read(study, completions, None)[HEADLINE]
    shown = {item.name: text for condition, item, text in groups.contexts(study) if condition == HEADLINE}
    for place, item in enumerate(study.items):
        value, why = float(scores.values[place]), scores.reasons[place] or None
        reason = "stop" if scores.texts[place] else ""
        yield Sample(
            item.name, question(shown[item.name]), scores.texts[place], finish_reason=reason,
            scores={name: Score.of(value, why)}, metadata=_metadata(study, place),
        )  # fmt: skip


def _metadata(study: Study, place: int) -> dict[str, str]:
    item = study.items[place]
    named = {column: item.fields[column] for column in study.definition.slices}
    return {"cluster": item.cluster, **named}
