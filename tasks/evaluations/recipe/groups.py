"""The recipe preference: are the target's or the other groups' items likelier in a context? Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import product
from typing import ClassVar, Literal

import numpy as np

from tasks.engines.protocols import Cloze, Message
from tasks.evaluations.contract import Completions
from tasks.evaluations.recipe.definition import PREFERENCE, Control, Flaw, Recipe, Template
from tasks.evaluations.recipe.items import Item, Member
from tasks.evaluations.recipe.prompted import ConditionScores
from tasks.evaluations.recipe.study import EXCHANGED, HEADLINE, NO_OTHER, Nulls, RecipeAnswers, RecipeStudy
from tasks.judging.panel import Opinions
from tasks.loop.candidates import CandidateRanking, StoredScores
from tasks.loop.replies import NO_ANSWER
from tasks.loop.samples import Sample, Score, question
from tasks.metrics.types import FloatArray
from tasks.packs.prompts import rendered
from tasks.packs.shape import Name, Text

NOTHING_SPELT = "the model has tokens for no item of one of the groups"


class Preference(Recipe):
    """Items of several groups; the question is whose items are likelier in contexts with a blank.

    Attributes:
        items: CSV file with a column ``item`` and the column ``group``.
        contexts: CSV file; ``prompt`` turns a row into a sentence that has ``blank`` once. Cluster
            and slices are columns of this file.
        group: column of the items. target: the group to compare with all others together. kind: column
            of both files; items are used in contexts of their own kind; "": in all.
        length: divisor of an item's log-probability: none or tokens.
    """

    recipe = PREFERENCE
    nulls = ("groups_exchanged",)
    controls: ClassVar[Mapping[str, Control]] = {
        "exchanged": Control(
            "Contexts exchanged",
            "The same number where the items stand in a context of another kind or cluster.",
        )
    }

    prompt: Template = "{{ context }}"
    contexts: Text
    group: Name
    target: Text
    kind: str = ""
    blank: Text = "[BLANK]"
    length: Literal["none", "tokens"] = "tokens"

    @property
    def asked(self) -> str:
        return self.contexts

    @property
    def columns(self) -> dict[str, Sequence[str]]:
        return {**super().columns, "kind": [self.kind]}

    @property
    def scorer(self) -> bool:
        return True

    def flaws(self, fields: Mapping[str, str]) -> Iterator[Flaw]:
        for text in (rendered(own.prompt, fields) for own in self.wordings.values()):
            if text.count(self.blank) != 1:
                what = f"{self.blank} stands {text.count(self.blank)} times in it"
                yield Flaw("", what, "write it once, in the place of the items")
            elif not text.partition(self.blank)[0].strip():
                what = f"nothing stands before {self.blank}, which most models need"
                yield Flaw("", what, "begin with a word")

    def flaws_together(
        self, items: Sequence[tuple[int, Mapping[str, str]]], members: Sequence[tuple[str, str, str]]
    ) -> Iterator[tuple[int | None, Flaw]]:
        there: dict[str, set[bool]] = {}
        for _, group, kind in members:
            there.setdefault(kind, set()).add(group == self.target)
        for kind in sorted({fields.get(self.kind, "") for _, fields in items}):
            if members and len(there.get(kind, ())) < 2:
                what = f"in kind {kind!r} one of the two groups has no items"
                yield None, Flaw(self.kind, what, "add some, or remove it")


class PreferenceStudy(RecipeStudy):
    """Contexts with a blank, and items of groups for it."""

    definition: Preference

    def ask(self, completions: Completions) -> list[CandidateRanking]:
        """Return requests for the items of each kind in contexts of that kind, and in exchanged contexts."""
        return [request for _, request in self.requests]

    def whole_reason(self) -> str:
        return "contexts that share an ending are scored together"

    @cached_property
    def requests(self) -> list[tuple[list[tuple[str, Item, str]], CandidateRanking]]:
        """The requests, each with condition, item and sentence of what it is for.

        Sentences of one request share the text after the blank, because an engine takes one for all.
        """
        groups: dict[tuple[str, str, str], list[tuple[str, Item, str]]] = {}
        for condition, item, context in self.contexts:
            before, _, after = context.partition(self.definition.blank)
            lead = " " if before.endswith(" ") else ""
            groups.setdefault((self.kind(item), lead, after), []).append((condition, item, before.rstrip()))
        requests = []
        for (kind, lead, after), places in groups.items():
            names = [member.text for member in self.members(kind)]
            sent = CandidateRanking(
                about=["preference", lead, after, names],
                topic=self.loaded.name,
                label=kind or "contexts",
                batch=self.params.batch,
                cloze=partial(_cloze, lead=lead, after=after),
                prompts=list(dict.fromkeys(sentence for *_, sentence in places)),
                candidates=names,
            )
            requests.append((places, sent))
        return requests

    @cached_property
    def contexts(self) -> list[tuple[str, Item, str]]:
        """Condition, item, and the sentence for the items: its own, or another cluster's."""
        contexts = []
        for condition in self.conditions:
            own = {item.name: self.prompt(item, condition)[0]["content"] for item in self.items}
            for item in self.items:
                contexts.append((condition, item, own[item.name]))
                if condition == HEADLINE and item.name in self.others:
                    contexts.append((EXCHANGED, item, own[self.others[item.name]]))
        return contexts

    def prompt(self, item: Item, condition: str = HEADLINE) -> list[Message]:
        return question(rendered(self.wordings[condition].prompt, item.fields))

    def kind(self, item: Item) -> str:
        """Return the kind of an item's context; "" if there are none."""
        return item.fields[self.definition.kind] if self.definition.kind else ""

    def members(self, kind: str) -> list[Member]:
        """Return the items for contexts of a kind."""
        return [member for member in self.loaded.members if member.kind == kind]

    def read(self, completions: Completions) -> RecipeAnswers:
        """Return for each condition the share of pairs in which the target's item is likelier than another
        group's.

        Ties count half.
        """
        n = len(self.items)
        values = {name: np.full(n, np.nan) for name in (*self.conditions, EXCHANGED)}
        reasons = {name: np.full(n, NO_ANSWER, dtype=object) for name in values}
        texts = {name: [""] * n for name in values}
        place = {item.name: row for row, item in enumerate(self.items)}
        reasons[EXCHANGED][[item.name not in self.others for item in self.items]] = NO_OTHER
        for request, sent in self.requests:
            stored = completions(sent)
            for condition, item, sentence in request:
                row = place[item.name]
                if isinstance(stored, str):
                    reasons[condition][row] = stored
                    continue
                scores = self._at_length(stored)[sent.prompts.index(sentence)]
                share, context = self.preferred(self.members(self.kind(item)), scores)
                values[condition][row] = np.nan if share is None else self.within(share)
                reasons[condition][row] = NOTHING_SPELT if share is None else ""
                texts[condition][row] = context
        empty = np.full(n, "", dtype=object)
        scores_of = {
            name: [ConditionScores(values[name], reasons[name], empty, texts[name])] for name in values
        }
        return RecipeAnswers(scores_of, {})

    def preferred(self, there: Sequence[Member], scores: FloatArray) -> tuple[float | None, str]:
        """Return the share of pairs, and the likeliest item of each side in words.

        Args:
            scores: NaN for items without tokens in the model's vocabulary.
        """
        is_target = np.array([member.group == self.definition.target for member in there])
        own, other = scores[is_target & ~np.isnan(scores)], scores[~is_target & ~np.isnan(scores)]
        if not own.size or not other.size:
            return None, ""
        above = np.sign(own[:, None] - other[None, :])
        texts = [member.text for member in there]
        best = [texts[int(np.nanargmax(np.where(side, scores, np.nan)))] for side in (is_target, ~is_target)]
        return float((above + 1).mean() / 2), f"{best[0]} | {best[1]}"

    def nulls(self, shared: Opinions) -> dict[str, Nulls]:
        """Return items' scores with groups exchanged at random: half of the pairs, by symmetry."""
        half = np.full(len(self.items), self.within(0.5))
        return {self.definition.metric.name: {"groups_exchanged": half}}

    def samples(self, completions: Completions) -> Iterator[Sample]:
        name, scores = self.definition.metric.name, self.read(completions).scores
        for condition, (place, item) in product(self.conditions, enumerate(self.items)):
            own = scores[condition]
            text, value, why = own.texts[place], float(own.values[place]), own.reasons[place] or None
            yield Sample(
                self.sample_id(item, condition), self.prompt(item, condition), text,
                finish_reason="stop" if text else "", scores={name: Score.of(value, why)},
                metadata=self.metadata(item),
            )  # fmt: skip

    def _at_length(self, stored: StoredScores) -> FloatArray:
        if self.definition.length == "none":
            return stored.logprob
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(stored.logprob / stored.n_tokens)


def _cloze(before: Sequence[str], lead: str, after: str) -> Cloze:
    """Return the sentences with their blank. Items are tokenised separately, alike in all sentences."""
    return Cloze(tuple(before), lead, after, "")
