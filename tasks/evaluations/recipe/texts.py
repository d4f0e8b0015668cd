"""Recipes in which a model writes a text, scored by accepted answers or by judges. Pure."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple, Self, cast

import numpy as np
from pydantic import Field

from tasks.engines.protocols import Sampling
from tasks.evaluations.contract import Completions, Detail, GenerationParams, Params
from tasks.evaluations.recipe.definition import ROOM, MetricPart, TextRecipe
from tasks.evaluations.recipe.items import Item, LoadedRecipe
from tasks.evaluations.recipe.kinds import Judged, ShortAnswer
from tasks.evaluations.recipe.normal import normalised, stands_in, steps_of
from tasks.evaluations.recipe.prompted import ConditionScores
from tasks.evaluations.recipe.study import EXCHANGED, HEADLINE, NO_OTHER, Nulls, RecipeAnswers, RecipeStudy
from tasks.judging.controls import EMPTY, GENERIC, GOLD, SHUFFLED
from tasks.judging.panel import Call, Opinions, Panel, VerdictSubject, judges_by_name, score_of
from tasks.judging.rubric import normal
from tasks.judging.verdicts import NO_JUDGE
from tasks.loop.prompts import Completion, Prompt, Prompts
from tasks.loop.replies import NO_ANSWER, no_text, whole_text
from tasks.loop.requests import Engine, Later
from tasks.loop.rows import unless_lost_alone
from tasks.loop.samples import Sample, Score, sample
from tasks.metrics.types import BoolArray, FloatArray

NOT_DRAWN = "not among the items whose null answers are judged"

NULLS_JUDGED = 100
"""Number of items whose null answers are judged too, chosen by simulation for cure."""


class Said(NamedTuple):
    """A model's text about an item. why: the reason for none, else ""."""

    text: str | None
    why: str = ""


Written = Mapping[str, Said]
"""Item -> text about it"""


def writing_knobs(max_tokens: int) -> dict[str, Any]:
    """Return the params of a model that writes."""
    of_answer = "most tokens of an answer and its thinking; an answer that is cut off is wrong"
    return {
        "max_tokens": (int, Field(max_tokens, ge=1, description=of_answer)),
        "temperature": (float, Field(0.0, ge=0, le=2, description="temperature of the candidates")),
    }


class TextStudy(RecipeStudy):
    """Items about which a model writes."""

    base = GenerationParams

    @property
    def definition(self) -> TextRecipe:
        return cast(TextRecipe, self.loaded.definition)

    @classmethod
    def knobs(cls, definition: TextRecipe) -> dict[str, Any]:
        return writing_knobs(definition.max_tokens)

    @abstractmethod
    def score(self, item: Item, text: str, condition: str, opinions: Opinions) -> tuple[float | None, str]:
        """Return the score of a text about an item, or None and the reason."""

    def target(self, item: Item) -> str | None:
        return " | ".join(self.definition.right(item.fields)) or None

    @cached_property
    def prompts(self) -> Mapping[str, Prompt]:
        """Item -> what a model is sent about it."""
        return {item.name: Prompt(self.prompt(item)) for item in self.items}

    @cached_property
    def request(self) -> Prompts:
        """The request of every item to the model."""
        params = self.params
        sampling = Sampling(temperature=params.temperature, max_tokens=params.max_tokens, seed=params.seed)
        return Prompts(
            topic=self.loaded.name, label="items", batch=params.batch, prompts=list(self.prompts.values()),
            sampling=sampling,
        )  # fmt: skip

    def ask(self, completions: Completions) -> list[Prompts]:
        """Return requests for every item, then each judge's requests for the available texts."""
        judged = self.panel.requests(self.calls(self.written(completions))) if self.panel else []
        return [self.request, *judged]

    def read_text(self, completion: Completion | None) -> Said:
        """Return a completion's text, if it is whole."""
        return Said(*whole_text(completion))

    def written(self, completions: Completions) -> dict[str, Said]:
        """Return the model's text about each item, or the reason for none."""
        stored = completions(self.request)
        return {item.name: self.read_text(stored.get(self.prompts[item.name].id)) for item in self.items}

    def read(self, completions: Completions) -> RecipeAnswers:
        written = self.written(completions)
        opinions = self.panel.read(self.calls(written), completions) if self.panel else {}
        return RecipeAnswers(self.scores(written, opinions), opinions, written)

    def scores(self, written: Written, opinions: Opinions) -> dict[str, ConditionScores]:
        """Return the scores by condition.

        A lost answer gets the worst value, so that no model gains by not answering.
        """
        own = self._scores(written, HEADLINE, opinions)
        is_lost = (own.lost != "") & (own.lost != NO_ANSWER)
        values, reasons = unless_lost_alone(
            np.where(is_lost, self.worst(), own.values), np.where(is_lost, "", own.reasons), own.lost
        )
        also = self.also(written, np.isnan(values))
        return {
            HEADLINE: replace(own, values=values, reasons=reasons, also=also),
            EXCHANGED: self._scores(self.exchanged(written), EXCHANGED, opinions),
        }

    def _scores(self, written: Written, condition: str, opinions: Opinions) -> ConditionScores:
        """Return the scores of the texts; those of lost answers are NaN."""
        said = [written[item.name] for item in self.items]
        scored = [
            (None, why) if text is None else self.score(item, text, condition, opinions)
            for item, (text, why) in zip(self.items, said, strict=True)
        ]
        values = np.array([np.nan if value is None else value for value, _ in scored])
        reasons = np.array([why if value is None else "" for value, why in scored], dtype=object)
        lost = np.array([why for _, why in said], dtype=object)
        return ConditionScores(values, reasons, lost, [text or "" for text, _ in said])

    def also(self, written: Written, unscored: BoolArray) -> dict[str, FloatArray]:
        """Return further numbers of the texts, known if the headline is."""
        return {}

    def exchanged(self, written: Written) -> dict[str, Said]:
        """Return the model's text about another item for each item, if it has texts about both."""
        swapped = {}
        for name in self.by_name:
            text, why = written[name]
            other = written[self.others[name]].text if name in self.others else None
            swapped[name] = Said(other) if None not in (text, other) else Said(None, why or NO_OTHER)
        return swapped

    def calls(self, written: Written) -> list[Call]:
        """Return the texts that judges are to judge."""
        return []

    def samples(self, completions: Completions) -> Iterator[Sample]:
        name, answers = self.definition.metric.name, self.read(completions)
        scores, stored = answers.scores[HEADLINE], completions(self.request)
        verdicts = (
            self.panel.verdict_scores(self.calls(answers.written), answers.opinions, completions)
            if self.panel
            else {}
        )
        for place, item in enumerate(self.items):
            value, why = float(scores.values[place]), scores.reasons[place] or scores.lost[place] or None
            of = {name: Score.of(value, why, answer=answers.written[item.name].text)}
            of |= verdicts.get((HEADLINE, item.name), {})
            prompt = self.prompts[item.name]
            yield sample(
                item.name, prompt, stored.get(prompt.id), target=list(self.definition.right(item.fields)),
                scores=of, metadata=self.metadata(item),
            )  # fmt: skip


class ShortAnswerStudy(TextStudy):
    """Texts that are compared with accepted answers."""

    @property
    def definition(self) -> ShortAnswer:
        return cast(ShortAnswer, self.loaded.definition)

    def read_text(self, completion: Completion | None) -> Said:
        if self.definition.cut_off == "wrong":
            return super().read_text(completion)
        reason = no_text(completion)
        return Said(None, reason or "") if reason or completion is None else Said(completion.text)

    def score(self, item: Item, text: str, condition: str, opinions: Opinions) -> tuple[float | None, str]:
        return self.credits(item, text)[0], ""

    def credits(self, item: Item, text: str) -> tuple[float, ...]:
        """Return a text's scores on an item, within their bounds: the headline, then each of ``also``."""
        own = self.loaded.score
        shares = own(self.params, item, text) if own else (self._credit(item, text),)
        parts = (self.definition.metric, *self.definition.also)
        return tuple(_within(part, share) for part, share in zip(parts, shares, strict=True))

    def _credit(self, item: Item, text: str) -> float:
        """Return the weight of the best accepted answer that a text matches, in [0, 1]; 0 if none."""
        definition = self.definition
        steps = steps_of(definition.normalise, item.fields.get(definition.language, ""))
        own, best = normalised(text, steps), 0.0
        accepted = zip(definition.right(item.fields), definition.weights_of(item.fields), strict=True)
        for plain, weight in ((normalised(each, steps), weight) for each, weight in accepted):
            is_match = stands_in(plain, own) if definition.match == "contains" else plain == own
            best = max(best, weight if is_match else 0.0)
        return best

    def also(self, written: Written, unscored: BoolArray) -> dict[str, FloatArray]:
        parts = self.definition.also
        if not parts:
            return {}
        lost = tuple(self.worst(part) for part in parts)
        texts = ((item, written[item.name].text) for item in self.items)
        rows = [lost if text is None else self.credits(item, text)[1:] for item, text in texts]
        values = np.where(unscored[:, None], np.nan, np.array(rows, dtype=np.float64))
        return {part.name: values[:, n] for n, part in enumerate(parts)}

    def nulls(self, shared: Opinions) -> dict[str, Nulls]:
        """Return scores of two nulls: the language's commonest accepted answer, and another item's answer."""
        right = {item.name: self.definition.right(item.fields) for item in self.items}
        groups: dict[str, Counter[str]] = {}
        for item in self.items:
            of_language = groups.setdefault(item.fields.get(self.definition.language, ""), Counter())
            of_language.update(dict.fromkeys(map(normal, right[item.name]), 1))
        best = {language: min(c, key=lambda text: (-c[text], text)) for language, c in groups.items()}
        parts = (self.definition.metric, *self.definition.also)
        none = (np.nan,) * len(parts)
        commonest = np.array(
            [self.credits(i, best[i.fields.get(self.definition.language, "")]) for i in self.items]
        )
        other = np.array(
            [
                self.credits(item, right[self.others[item.name]][0]) if item.name in self.others else none
                for item in self.items
            ]
        )
        return {
            part.name: {"commonest": commonest[:, n], "other_answer": other[:, n]}
            for n, part in enumerate(parts)
        }


class JudgedStudy(TextStudy):
    """Texts that judges score by a rubric."""

    @property
    def definition(self) -> Judged:
        return cast(Judged, self.loaded.definition)

    @classmethod
    def knobs(cls, definition: TextRecipe) -> dict[str, Any]:
        judged = "models that judge answers; several: their mean; empty: nothing is scored"
        drawn = "number of items whose null answers are judged too"
        return super().knobs(definition) | {
            "judges": (list[str], Field([], description=judged)),
            "judge_max_tokens": (int, Field(ROOM, ge=16, description="most tokens of a judge's answer")),
            "nulls": (int, Field(NULLS_JUDGED, ge=0, description=drawn)),
        }

    @classmethod
    def of(cls, loaded: LoadedRecipe, params: Params, engines: Mapping[str, Engine]) -> Self:
        own, rubric, knobs = super().of(loaded, params, engines), loaded.rubric, cast(Any, params)
        assert rubric is not None, "a judged evaluation is loaded with its rubric"
        judges = judges_by_name(knobs.judges, engines)
        panel = Panel(judges, "answers", knobs.batch, own.definition.judged, rubric, knobs.judge_max_tokens)
        return replace(own, panel=panel)

    @cached_property
    def drawn_items(self) -> list[Item]:
        """The items whose null answers are judged."""
        return [item for item, is_drawn in zip(self.items, self.drawn, strict=True) if is_drawn]

    def score(self, item: Item, text: str, condition: str, opinions: Opinions) -> tuple[float | None, str]:
        return self._verdict(opinions, (condition, item.name))

    def _verdict(self, opinions: Opinions, key: tuple[str, str]) -> tuple[float | None, str]:
        """Return the judges' score within the metric's bounds, or the reason for none."""
        if not opinions:
            return None, NO_JUDGE
        score, reason = score_of(opinions, key)
        return (None if score is None else self.within(score)), reason

    def exchanged(self, written: Written) -> dict[str, Said]:
        drawn = {item.name for item in self.drawn_items}
        swapped = super().exchanged(written)
        return {name: said if name in drawn else Said(None, NOT_DRAWN) for name, said in swapped.items()}

    def calls(self, written: Written) -> list[Call]:
        """Return calls for every available text, then for the drawn items with another item's text."""
        swapped = self.exchanged(written)
        own = [(HEADLINE, item, written[item.name].text) for item in self.items]
        others = [(EXCHANGED, item, swapped[item.name].text) for item in self.drawn_items]
        return [
            self._call(condition, item, text) for condition, item, text in (*own, *others) if text is not None
        ]

    @cached_property
    def checks(self) -> list[Call]:
        """Calls that check every judge on the drawn items.

        It should accept right answers, if items have any, and refuse other items' answers, a generic text and
        an empty one.
        """
        gold, drawn = self.definition.gold, self.drawn_items
        sources: dict[str, Mapping[str, str]] = {
            GENERIC: {item.name: self.definition.generic for item in drawn},
            EMPTY: {item.name: "" for item in drawn},
        }
        if gold:
            golds = {item.name: item.fields[gold] for item in self.items}
            pairs = (
                (name, self.others[name]) for name in (item.name for item in drawn) if name in self.others
            )
            swapped = {n: golds[other] for n, other in pairs if normal(golds[other]) != normal(golds[n])}
            sources |= {GOLD: {item.name: golds[item.name] for item in drawn}, SHUFFLED: swapped}
        return [
            self._call(source, item, texts[item.name])
            for source, texts in sources.items()
            for item in drawn
            if item.name in texts
        ]

    def _call(self, source: str, item: Item, text: str) -> Call:
        assert self.panel is not None
        own = [name for name in self.panel.rubric.inputs if name != self.panel.judged]
        return self.panel.call(source, item.name, text, lambda: {name: item.fields[name] for name in own})

    def nulls(self, shared: Opinions) -> dict[str, Nulls]:
        named = {GENERIC: GENERIC, EMPTY: EMPTY} | (
            {SHUFFLED: "other_answer"} if self.definition.gold else {}
        )
        verdicts = {
            name: [self._verdict(shared, (source, item))[0] for item in self.names.tolist()]
            for source, name in named.items()
        }
        scores = {
            name: np.array([np.nan if value is None else value for value in values])
            for name, values in verdicts.items()
        }
        return {self.definition.metric.name: scores}

    def later(self) -> Iterable[Later]:
        """Return the most that each judge may be sent about a model: every text, and exchanged texts of drawn
        items.
        """
        assert self.panel is not None
        longest = max(self.checks, key=lambda call: len(str(call.prompt.conversation)), default=None)
        n = len(self.items) + len(self.drawn_items)
        return self.panel.later(n, longest, self.params.max_tokens) if self.panel.judges else ()

    def details(self, answers: RecipeAnswers) -> list[Detail]:
        assert self.panel is not None
        if not answers.opinions:
            return []
        frames = self.panel.verdicts(self.calls(answers.written), answers.opinions, self._about)
        return [Detail("verdict", frame, judge) for judge, frame in frames.items()]

    def _about(self, call: Call, _: str) -> VerdictSubject:
        """Return a call's item for people, line by line, and its cluster."""
        assert self.panel is not None
        item = self.by_name[call.item]
        fields = "\n".join(f"{column}: {cell}" for column, cell in item.fields.items() if cell)
        return VerdictSubject(self.panel.rubric_id, item.name, fields, item.cluster, call.source)


def _within(part: MetricPart, share: float) -> float:
    low, high = part.bounds
    return low + (high - low) * share
