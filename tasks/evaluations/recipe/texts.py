"""Recipes in which a model writes a text, which accepted answers or judges score. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

import numpy as np

from tasks.engines.protocols import Message, Sampling
from tasks.evaluations.contract import Completions
from tasks.evaluations.recipe.definition import Judged, ShortAnswer
from tasks.evaluations.recipe.items import Item
from tasks.evaluations.recipe.normal import normalised, stands_in, steps_of
from tasks.evaluations.recipe.prompted import ConditionScores
from tasks.evaluations.recipe.study import HEADLINE, RecipeStudy
from tasks.judging.controls import EMPTY, GENERIC, GOLD, SHUFFLED
from tasks.judging.panel import Call, Opinions, score_of
from tasks.judging.rubric import normal
from tasks.judging.verdicts import NO_JUDGE
from tasks.loop.prompts import Prompt, Prompts
from tasks.loop.replies import NO_ANSWER, whole_text
from tasks.loop.rows import unless_lost_alone
from tasks.metrics.types import FloatArray
from tasks.packs.prompts import rendered

EXCHANGED = "exchanged"
NO_OTHER = "no other item to exchange with"
NOT_DRAWN = "not among the items whose null answers are judged"

Written = Mapping[str, tuple[str | None, str]]
"""Item -> (text, "") or (None, why there is none)"""


def conversation(study: RecipeStudy, fields: Mapping[str, str]) -> list[Message]:
    """The definition's prompts filled with an item's cells."""
    messages: list[Message] = []
    if study.definition.system:
        messages.append({"role": "system", "content": rendered(study.definition.system, fields)})
    return [*messages, {"role": "user", "content": rendered(study.definition.prompt, fields)}]


def request(study: RecipeStudy) -> Prompts:
    """Every item, to the model."""
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
    """Every item; then each judge about the texts that are there."""
    asked = [request(study)]
    if study.panel:
        asked += study.panel.requests(calls(study, texts(study, completions)))
    return asked


def read(study: RecipeStudy, completions: Completions, shared: Any) -> dict[str, ConditionScores]:
    """Condition -> what the answers come to."""
    return scores(study, texts(study, completions), opinions(study, completions))


def texts(study: RecipeStudy, completions: Completions) -> Written:
    """Return the model's text about each item, or the reason why there is nothing to read."""
    asked = request(study)
    stored, prompts = completions(asked), study.kept["prompts"]
    return {item.name: whole_text(stored.get(prompts[item.name].id)) for item in study.items}


def opinions(study: RecipeStudy, completions: Completions) -> Opinions:
    """Return the judges' opinions of a model's texts and of exchanged ones."""
    if not study.panel:
        return {}
    return study.panel.read(calls(study, texts(study, completions)), completions)


def calls(study: RecipeStudy, written: Written) -> list[Call]:
    """Every text that is there; then on the drawn items the text about another item."""
    own = [_call(study, HEADLINE, item, text) for item, text in _of(study, written)]
    swapped = _exchanged(study, written)
    drawn = [item for item, is_drawn in zip(study.items, study.drawn, strict=True) if is_drawn]
    return own + [
        _call(study, EXCHANGED, item, text) for item in drawn if (text := swapped.get(item.name)) is not None
    ]


def scores(study: RecipeStudy, written: Written, said: Opinions) -> dict[str, ConditionScores]:
    """Condition -> scores. A lost answer scores the worst value: nobody may gain by not answering."""
    swapped = _exchanged(study, written)
    definition = study.definition

    def of(condition: str) -> Callable[[Item, str], tuple[float | None, str]]:
        if isinstance(definition, ShortAnswer):
            return lambda item, text: (credit(study, item, text), "")
        return lambda item, text: _verdict(study, said, (condition, item.name))

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


def credit(study: RecipeStudy, item: Item, text: str) -> float:
    """Return a text's credit against an item's accepted answers: the best that it matches, in [0, 1]."""
    definition = cast(ShortAnswer, study.definition)
    steps = steps_of(definition.normalise, item.fields.get(definition.language, ""))
    own, best = normalised(text, steps), 0.0
    for accepted, weight in zip(study.loaded.accepted(item), study.loaded.weights(item), strict=True):
        plain = normalised(accepted, steps)
        is_match = stands_in(plain, own) if definition.match == "contains" else plain == own
        best = max(best, weight if is_match else 0.0)
    low, high = definition.metric.bounds
    return low + (high - low) * best


def nulls(study: RecipeStudy, said: Opinions) -> dict[str, FloatArray]:
    """Null model -> what it scores on each item."""
    if isinstance(study.definition, ShortAnswer):
        return _short_nulls(study)
    named = {GENERIC: GENERIC, EMPTY: EMPTY} | ({SHUFFLED: "other_answer"} if _has_gold(study) else {})
    return {
        name: np.array(
            [np.nan if (v := _verdict(study, said, (source, n))[0]) is None else v for n in study.names]
        )
        for source, name in named.items()
    }


def _short_nulls(study: RecipeStudy) -> dict[str, FloatArray]:
    """The commonest accepted answer of the language for all of its items, and another item's answer."""
    definition = cast(ShortAnswer, study.definition)
    first = {item.name: study.loaded.accepted(item)[0] for item in study.items}
    groups: dict[str, Counter[str]] = {}
    for item in study.items:
        of_language = groups.setdefault(item.fields.get(definition.language, ""), Counter())
        of_language.update(dict.fromkeys(map(normal, study.loaded.accepted(item)), 1))
    best = {language: min(c, key=lambda text: (-c[text], text)) for language, c in groups.items()}
    commonest = [credit(study, i, best[i.fields.get(definition.language, "")]) for i in study.items]
    other = [
        credit(study, item, first[name]) if (name := study.others.get(item.name)) in first else np.nan
        for item in study.items
    ]
    return {"commonest": np.array(commonest), "other_answer": np.array(other)}


def checks(study: RecipeStudy) -> list[Call]:
    """Texts that every judge is checked with: right answers, where items have any, which it should accept;
    those of other items, a generic one and none, which it should refuse. Of the drawn items."""
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
    """Item -> the model's text about another item, where it has one about both."""
    found = {}
    for item in study.items:
        other = study.others.get(item.name)
        if other is None or written[item.name][0] is None:
            continue
        if (text := written[other][0]) is not None:
            found[item.name] = text
    return found


def _call(study: RecipeStudy, source: str, item: Item, text: str) -> Call:
    panel = study.panel
    assert panel is not None
    own = [name for name in panel.rubric.inputs if name != panel.judged]
    return panel.call(source, item.name, text, lambda: {name: item.fields[name] for name in own})


def _verdict(study: RecipeStudy, said: Opinions, key: tuple[str, str]) -> tuple[float | None, str]:
    """The judges' score within the metric's bounds; or why there is none."""
    if not said:
        return None, NO_JUDGE
    score, reason = score_of(said, key)
    low, high = study.definition.metric.bounds
    return (None if score is None else low + (high - low) * score), reason


def worst(study: RecipeStudy) -> float:
    """The worst value of the metric: what a lost answer scores."""
    low, high = study.definition.metric.bounds
    return high if study.definition.metric.direction == "lower" else low


def _scores(
    study: RecipeStudy, written: Written, of: Callable[[Item, str], tuple[float | None, str]], is_own: bool
) -> ConditionScores:
    values, reasons, lost, shown = [], [], [], []
    for item in study.items:
        text, why = written[item.name]
        value, reason = (None, why) if text is None else of(item, text)
        if text is None and is_own and why != NO_ANSWER:
            value, reason = worst(study), ""
        values.append(np.nan if value is None else value)
        reasons.append(reason if value is None else "")
        lost.append(why)
        shown.append(text or "")
    own, why_not = np.array(values), np.array(reasons, dtype=object)
    why_no_text = np.array(lost, dtype=object)
    if is_own:
        own, why_not = unless_lost_alone(own, why_not, why_no_text)
    return ConditionScores(own, why_not, why_no_text, shown)


def answer_of(item: Item, study: RecipeStudy) -> list[str]:
    """Return the right answer, for people."""
    if isinstance(study.definition, ShortAnswer):
        return list(study.loaded.accepted(item))
    gold = cast(Judged, study.definition).gold
    return [item.fields[gold]] if gold else []
