"""Recipes in which a model writes a text, scored by accepted answers or by judges. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

import numpy as np

from tasks.engines.protocols import Message, Sampling
from tasks.evaluations.contract import Completions
from tasks.evaluations.recipe.definition import Judged, MetricPart, ShortAnswer
from tasks.evaluations.recipe.items import Item
from tasks.evaluations.recipe.normal import normalised, stands_in, steps_of
from tasks.evaluations.recipe.prompted import ConditionScores
from tasks.evaluations.recipe.study import HEADLINE, RecipeStudy
from tasks.judging.controls import EMPTY, GENERIC, GOLD, SHUFFLED
from tasks.judging.panel import Call, Opinions, score_of
from tasks.judging.rubric import normal
from tasks.judging.verdicts import NO_JUDGE
from tasks.loop.prompts import Completion, Prompt, Prompts
from tasks.loop.replies import NO_ANSWER, no_text, whole_text
from tasks.loop.rows import unless_lost_alone
from tasks.metrics.types import BoolArray, FloatArray
from tasks.packs.prompts import rendered

EXCHANGED = "exchanged"
NO_OTHER = "no other item to exchange with"
NOT_DRAWN = "not among the items whose null answers are judged"

Written = Mapping[str, tuple[str | None, str]]
"""Maps an item to (text, "") or (None, reason for no text)"""


def conversation(study: RecipeStudy, fields: Mapping[str, str]) -> list[Message]:
    """Return the definition's prompts, filled with an item's cells."""
    messages: list[Message] = []
    if study.definition.system:
        messages.append({"role": "system", "content": rendered(study.definition.system, fields)})
    return [*messages, {"role": "user", "content": rendered(study.definition.prompt, fields)}]


def request(study: RecipeStudy) -> Prompts:
    """Return the request of every item to the model."""
    params = cast(Any, study.params)
    prompts = study.keep(
        "prompts", lambda: {i.name: Prompt(conversation(study, i.fields)) for i in study.items}
    )
    sampling = Sampling(temperature=params.temperature, max_tokens=params.max_tokens, seed=params.seed)
    return Prompts(
        topic=study.loaded.name, label="items", batch=params.batch, prompts=list(prompts.values()),
        sampling=sampling,
    )  # fmt: skip


def ask(study: RecipeStudy, completions: Completions) -> list[Prompts]:
    """Return requests for every item, then each judge's requests for the available texts."""
    requests = [request(study)]
    if study.panel:
        requests += study.panel.requests(calls(study, texts(study, completions)))
    return requests


def read(study: RecipeStudy, completions: Completions, shared: Any) -> dict[str, ConditionScores]:
    """Return the scores of the answers by condition."""
    return scores(study, texts(study, completions), opinions(study, completions))


def texts(study: RecipeStudy, completions: Completions) -> Written:
    """Return the model's text about each item, or the reason for none."""
    the_request = request(study)
    stored, prompts = completions(the_request), study.computed["prompts"]
    as_it_stands = isinstance(study.definition, ShortAnswer) and study.definition.cut_off == "scored"
    read = _any_text if as_it_stands else whole_text
    return {item.name: read(stored.get(prompts[item.name].id)) for item in study.items}


def _any_text(completion: Completion | None) -> tuple[str | None, str]:
    """Return (the unchanged text, ""), or (None, the reason for none)."""
    reason = no_text(completion)
    return (None, reason or "") if reason or completion is None else (completion.text, "")


def opinions(study: RecipeStudy, completions: Completions) -> Opinions:
    """Return the judges' opinions of a model's texts and of exchanged ones."""
    if not study.panel:
        return {}
    return study.panel.read(calls(study, texts(study, completions)), completions)


def calls(study: RecipeStudy, written: Written) -> list[Call]:
    """Return calls for every available text, then for the drawn items with another item's text."""
    own = [_call(study, HEADLINE, item, text) for item, text in _of(study, written)]
    swapped = _exchanged(study, written)
    drawn = [item for item, is_drawn in zip(study.items, study.drawn, strict=True) if is_drawn]
    return own + [
        _call(study, EXCHANGED, item, text) for item in drawn if (text := swapped.get(item.name)) is not None
    ]


def scores(study: RecipeStudy, written: Written, opinions: Opinions) -> dict[str, ConditionScores]:
    """Return the scores by condition.

    A lost answer gets the worst value, so that no model gains by not answering.
    """
    swapped = _exchanged(study, written)
    definition = study.definition

    def of(condition: str) -> Callable[[Item, str], tuple[float | None, str]]:
        if isinstance(definition, ShortAnswer):
            return lambda item, text: (credits(study, item, text)[0], "")
        return lambda item, text: _verdict(study, opinions, (condition, item.name))

    drawn = dict(zip(study.names.tolist(), study.drawn.tolist(), strict=True))
    exchanged: dict[str, tuple[str | None, str]] = {}
    for item in study.items:
        text = swapped.get(item.name)
        if isinstance(definition, Judged) and not drawn[item.name]:
            exchanged[item.name] = None, NOT_DRAWN
        else:
            exchanged[item.name] = (
                (text, "") if text is not None else (None, written[item.name][1] or NO_OTHER)
            )
    return {
        HEADLINE: _scores(study, written, of(HEADLINE), is_own=True),
        EXCHANGED: _scores(study, exchanged, of(EXCHANGED), is_own=False),
    }


def credits(study: RecipeStudy, item: Item, text: str) -> tuple[float, ...]:
    """Return a text's scores on an item, within their bounds: the headline, then each of ``also``."""
    definition = cast(ShortAnswer, study.definition)
    score = study.loaded.score
    shares = score(study.params, item, text) if score else (_credit(study, item, text),)
    parts = (definition.metric, *definition.also)
    return tuple(_within(part, share) for part, share in zip(parts, shares, strict=True))


def _credit(study: RecipeStudy, item: Item, text: str) -> float:
    """Return the weight of the best accepted answer that a text matches, in [0, 1]; 0 if it matches none."""
    definition = cast(ShortAnswer, study.definition)
    steps = steps_of(definition.normalise, item.fields.get(definition.language, ""))
    own, best = normalised(text, steps), 0.0
    for accepted, weight in zip(study.loaded.accepted(item), study.loaded.weights(item), strict=True):
        plain = normalised(accepted, steps)
        is_match = stands_in(plain, own) if definition.match == "contains" else plain == own
        best = max(best, weight if is_match else 0.0)
    return best


def _within(part: MetricPart, share: float) -> float:
    low, high = part.bounds
    return low + (high - low) * share


def nulls(study: RecipeStudy, opinions: Opinions) -> dict[str, FloatArray]:
    """Return the null models' scores on each item."""
    if isinstance(study.definition, ShortAnswer):
        return _short_nulls(study)
    named = {GENERIC: GENERIC, EMPTY: EMPTY} | ({SHUFFLED: "other_answer"} if _has_gold(study) else {})
    return {
        name: np.array(
            [np.nan if (v := _verdict(study, opinions, (source, n))[0]) is None else v for n in study.names]
        )
        for source, name in named.items()
    }


def _short_nulls(study: RecipeStudy, place: int = 0) -> dict[str, FloatArray]:
    """Return scores of two nulls: the language's commonest accepted answer, and another item's answer.

    place: index of the number in ``credits``.
    """
    definition = cast(ShortAnswer, study.definition)
    first = {item.name: study.loaded.accepted(item)[0] for item in study.items}
    groups: dict[str, Counter[str]] = {}
    for item in study.items:
        of_language = groups.setdefault(item.fields.get(definition.language, ""), Counter())
        of_language.update(dict.fromkeys(map(normal, study.loaded.accepted(item)), 1))
    best = {language: min(c, key=lambda text: (-c[text], text)) for language, c in groups.items()}
    commonest = [credits(study, i, best[i.fields.get(definition.language, "")])[place] for i in study.items]
    other = [
        credits(study, item, first[name])[place] if (name := study.others.get(item.name)) in first else np.nan
        for item in study.items
    ]
    return {"commonest": np.array(commonest), "other_answer": np.array(other)}


def also_nulls(study: RecipeStudy) -> dict[str, dict[str, FloatArray]]:
    """Return null models' scores for further numbers of a short answer: number -> null model -> scores."""
    if not isinstance(study.definition, ShortAnswer):
        return {}
    return {part.name: _short_nulls(study, n) for n, part in enumerate(study.definition.also, 1)}


def checks(study: RecipeStudy) -> list[Call]:
    """Return calls that check every judge on the drawn items.

    It should accept right answers, if items have any, and refuse other items' answers, a generic text and an
    empty one.
    """
    if not study.panel:
        return []
    definition = cast(Judged, study.definition)
    drawn = [item for item, is_drawn in zip(study.items, study.drawn, strict=True) if is_drawn]
    golds = {item.name: item.fields[definition.gold] for item in study.items} if _has_gold(study) else {}
    sources: dict[str, Mapping[str, str]] = {
        GENERIC: {item.name: definition.generic for item in drawn},
        EMPTY: {item.name: "" for item in drawn},
    }
    if golds:
        swapped = {
            item.name: golds[other]
            for item in drawn
            if (other := study.others.get(item.name)) in golds
            and normal(golds[other]) != normal(golds[item.name])
        }
        sources |= {GOLD: {item.name: golds[item.name] for item in drawn}, SHUFFLED: swapped}
    return [
        _call(study, source, item, by_item[item.name])
        for source, by_item in sources.items()
        for item in drawn
        if item.name in by_item
    ]


def _has_gold(study: RecipeStudy) -> bool:
    return isinstance(study.definition, Judged) and bool(study.definition.gold)


def _of(study: RecipeStudy, written: Written) -> Iterator[tuple[Item, str]]:
    for item in study.items:
        text = written[item.name][0]
        if text is not None:
            yield item, text


def _exchanged(study: RecipeStudy, written: Written) -> dict[str, str]:
    """Return the model's text about another item for each item, if it has texts about both."""
    judged = {}
    for item in study.items:
        other = study.others.get(item.name)
        if other is None or written[item.name][0] is None:
            continue
        if (text := written[other][0]) is not None:
            judged[item.name] = text
    return judged


def _call(study: RecipeStudy, source: str, item: Item, text: str) -> Call:
    panel = study.panel
    assert panel is not None
    own = [name for name in panel.rubric.inputs if name != panel.judged]
    return panel.call(source, item.name, text, lambda: {name: item.fields[name] for name in own})


def _verdict(study: RecipeStudy, opinions: Opinions, key: tuple[str, str]) -> tuple[float | None, str]:
    """Return the judges' score within the metric's bounds, or the reason for none."""
    if not opinions:
        return None, NO_JUDGE
    score, reason = score_of(opinions, key)
    low, high = study.definition.metric.bounds
    return (None if score is None else low + (high - low) * score), reason


def worst(study: RecipeStudy, part: MetricPart | None = None) -> float:
    """Return a metric's worst value, which a lost answer gets; by default the headline's."""
    part = part or study.definition.metric
    return part.bounds[1] if part.direction == "lower" else part.bounds[0]


def _scores(
    study: RecipeStudy, written: Written, of: Callable[[Item, str], tuple[float | None, str]], is_own: bool
) -> ConditionScores:
    values, reasons, lost, excerpts = [], [], [], []
    for item in study.items:
        text, why = written[item.name]
        value, reason = (None, why) if text is None else of(item, text)
        if text is None and is_own and why != NO_ANSWER:
            value, reason = worst(study), ""
        values.append(np.nan if value is None else value)
        reasons.append(reason if value is None else "")
        lost.append(why)
        excerpts.append(text or "")
    own, why_not = np.array(values), np.array(reasons, dtype=object)
    why_no_text = np.array(lost, dtype=object)
    if is_own:
        own, why_not = unless_lost_alone(own, why_not, why_no_text)
    also = _also(study, written, np.isnan(own)) if is_own else {}
    return ConditionScores(own, why_not, why_no_text, excerpts, also)


def _also(study: RecipeStudy, written: Written, unscored: BoolArray) -> dict[str, FloatArray]:
    """Return further numbers of a short answer, known if the headline is."""
    if not isinstance(study.definition, ShortAnswer) or not study.definition.also:
        return {}
    parts = study.definition.also
    lost = tuple(worst(study, part) for part in parts)
    texts = ((item, written[item.name][0]) for item in study.items)
    rows = [lost if text is None else credits(study, item, text)[1:] for item, text in texts]
    values = np.where(unscored[:, None], np.nan, np.array(rows, dtype=np.float64))
    return {part.name: values[:, n] for n, part in enumerate(parts)}


def answer_of(item: Item, study: RecipeStudy) -> list[str]:
    """Return the right answer, for people."""
    if isinstance(study.definition, ShortAnswer):
        return list(study.loaded.accepted(item))
    gold = cast(Judged, study.definition).gold
    return [item.fields[gold]] if gold else []
