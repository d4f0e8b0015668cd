"""The recipe preference: are the target's or the other groups' items likelier in a context? Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, cast

import numpy as np

from tasks.engines.protocols import Cloze
from tasks.evaluations.contract import Completions
from tasks.evaluations.recipe.definition import Preference
from tasks.evaluations.recipe.items import Item, Member
from tasks.evaluations.recipe.prompted import ConditionScores
from tasks.evaluations.recipe.study import HEADLINE, RecipeStudy
from tasks.evaluations.recipe.texts import EXCHANGED, NO_OTHER
from tasks.loop.candidates import CandidateRanking, StoredScores
from tasks.loop.replies import NO_ANSWER
from tasks.metrics.types import FloatArray
from tasks.packs.prompts import rendered

NOTHING_SPELT = "the model has tokens for no item of one of the groups"


def ask(study: RecipeStudy, completions: Completions) -> list[CandidateRanking]:
    """Return requests for the items of each kind in contexts of that kind, and in the exchanged contexts."""
    return [request for _, request in requests(study)]


def requests(study: RecipeStudy) -> Iterator[tuple[list[tuple[str, Item]], CandidateRanking]]:
    """Return the requests, each with the conditions and items that it is for, in the order of its sentences.

    Sentences of one request share the text after the blank, because an engine takes one for all.
    """
    groups: dict[tuple[str, str, str], list[tuple[str, Item, str]]] = {}
    for condition, item, context in contexts(study):
        before, _, after = context.partition(_definition(study).blank)
        lead = " " if before.endswith(" ") else ""
        groups.setdefault((_kind(study, item), lead, after), []).append((condition, item, before))
    for (kind, lead, after), places in groups.items():
        names = [member.text for member in members(study, kind)]
        sentences = list(dict.fromkeys(before.rstrip() for *_, before in places))
        sent = CandidateRanking(
            about=["preference", lead, after, names],
            topic=study.loaded.name,
            label=kind or "contexts",
            batch=cast(Any, study.params).batch,
            cloze=partial(_cloze, lead=lead, after=after),
            prompts=sentences,
            candidates=names,
        )
        yield [(condition, item) for condition, item, _ in places], sent


def contexts(study: RecipeStudy) -> Iterator[tuple[str, Item, str]]:
    """Yield condition, item, and the sentence for the items: its own, or another cluster's."""
    by_name = study.keep("by name", lambda: {item.name: item for item in study.items})
    prompt = _definition(study).prompt
    for item in study.items:
        yield HEADLINE, item, rendered(prompt, item.fields)
        if item.name in study.others:
            yield EXCHANGED, item, rendered(prompt, by_name[study.others[item.name]].fields)


def members(study: RecipeStudy, kind: str) -> list[Member]:
    """Return the items for contexts of a kind."""
    return [member for member in study.loaded.members if member.kind == kind]


def read(study: RecipeStudy, completions: Completions, shared: Any) -> dict[str, ConditionScores]:
    """Return for each condition the share of pairs in which the target's item is likelier than another
    group's.

    Ties count half.
    """
    values = {name: np.full(len(study.items), np.nan) for name in (HEADLINE, EXCHANGED)}
    reasons = {name: np.full(len(study.items), NO_ANSWER, dtype=object) for name in values}
    texts = {name: [""] * len(study.items) for name in values}
    place = {item.name: row for row, item in enumerate(study.items)}
    reasons[EXCHANGED][[item.name not in study.others for item in study.items]] = NO_OTHER
    for request, sent in requests(study):
        stored = completions(sent)
        for condition, item in request:
            row = place[item.name]
            if isinstance(stored, str):
                reasons[condition][row] = stored
                continue
            sentence = _sentence(study, condition, item)
            scores = _at_length(study, stored)[sent.prompts.index(sentence)]
            share, context = preferred(study, members(study, _kind(study, item)), scores)
            low, high = study.definition.metric.bounds
            values[condition][row] = np.nan if share is None else low + (high - low) * share
            reasons[condition][row] = NOTHING_SPELT if share is None else ""
            texts[condition][row] = context
    empty = np.full(len(study.items), "", dtype=object)
    return {name: ConditionScores(values[name], reasons[name], empty, texts[name]) for name in values}


def preferred(study: RecipeStudy, there: Sequence[Member], scores: FloatArray) -> tuple[float | None, str]:
    """Return the share of pairs, and the likeliest item of each side in words.

    Args:
        scores: NaN for items without tokens in the model's vocabulary.
    """
    is_target = np.array([member.group == _definition(study).target for member in there])
    own, other = scores[is_target & ~np.isnan(scores)], scores[~is_target & ~np.isnan(scores)]
    if not own.size or not other.size:
        return None, ""
    above = np.sign(own[:, None] - other[None, :])
    texts = [member.text for member in there]
    best = [texts[int(np.nanargmax(np.where(side, scores, np.nan)))] for side in (is_target, ~is_target)]
    return float((above + 1).mean() / 2), f"{best[0]} | {best[1]}"


def nulls(study: RecipeStudy) -> dict[str, FloatArray]:
    """Return items' scores with groups exchanged at random: half of the pairs, by symmetry."""
    low, high = study.definition.metric.bounds
    return {"groups_exchanged": np.full(len(study.items), (low + high) / 2)}


def _definition(study: RecipeStudy) -> Preference:
    return cast(Preference, study.definition)


def _kind(study: RecipeStudy, item: Item) -> str:
    column = _definition(study).kind
    return item.fields[column] if column else ""


def _sentence(study: RecipeStudy, condition: str, item: Item) -> str:
    by_name = study.computed["by name"]
    source = item if condition == HEADLINE else by_name[study.others[item.name]]
    context = rendered(_definition(study).prompt, source.fields)
    return str(context.partition(_definition(study).blank)[0]).rstrip()


def _at_length(study: RecipeStudy, stored: StoredScores) -> FloatArray:
    if _definition(study).length == "none":
        return stored.logprob
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(stored.logprob / stored.n_tokens)


def _cloze(before: Sequence[str], lead: str, after: str) -> Cloze:
    """Return the sentences with their blank. Items are tokenised separately, alike in all sentences."""
    return Cloze(tuple(before), lead, after, "")
