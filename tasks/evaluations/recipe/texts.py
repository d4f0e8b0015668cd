"""Recipes in which a model writes a text: conditions, repetitions and turns, however it is scored. Pure."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple, Self, cast

import numpy as np
from pydantic import Field

from tasks.engines.protocols import Message, Sampling
from tasks.evaluations.contract import Completions, GenerationParams, Params
from tasks.evaluations.recipe.definition import MOST_REPETITIONS, TextRecipe
from tasks.evaluations.recipe.items import Item, LoadedRecipe
from tasks.evaluations.recipe.prompted import ConditionScores, to_candidates
from tasks.evaluations.recipe.study import EXCHANGED, HEADLINE, NO_OTHER, RecipeAnswers, RecipeStudy
from tasks.judging.panel import USUAL_TEXT, Call, Opinions
from tasks.loop.budget import at_most
from tasks.loop.prompts import Completion, Prompt, Prompts
from tasks.loop.replies import NO_ANSWER, whole_text
from tasks.loop.requests import Engine, Later
from tasks.loop.rows import unless_lost_alone
from tasks.loop.samples import Sample, Score, sample
from tasks.metrics.types import BoolArray, FloatArray
from tasks.packs.prompts import rendered


class Said(NamedTuple):
    """A model's text about an item. why: the reason for none, else "". first: its text of the turn before."""

    text: str | None
    why: str = ""
    first: str = ""

    @property
    def turns(self) -> tuple[str, ...]:
        """The texts, the scored one last."""
        return (self.first or self.text or "", self.text or "")


class Asked(NamedTuple):
    """The place of an answer: a condition's prompt about an item, in a repetition from 1."""

    condition: str
    repetition: int
    item: str


Written = Mapping[Asked, Said]


class Talks(NamedTuple):
    """A model's answers to all items.

    second: prompts of second turns. stored: prompt id -> completion, of both turns. written: the last texts.
    """

    second: Mapping[Asked, Prompt]
    stored: Mapping[str, Completion]
    written: Written


def writing_knobs(max_tokens: int, temperature: float = 0.0) -> dict[str, Any]:
    """Return the params of a model that writes."""
    of_answer = "most tokens of an answer and its thinking; an answer that is cut off is wrong"
    return {
        "max_tokens": (int, Field(max_tokens, ge=1, description=of_answer)),
        "temperature": (float, Field(temperature, ge=0, le=2, description="temperature of the candidates")),
    }


class TextStudy(RecipeStudy):
    """Items about which a model writes."""

    base = GenerationParams

    definition: TextRecipe

    @classmethod
    def knobs(cls, definition: TextRecipe) -> dict[str, Any]:
        often = "answers to each item, whose scores are averaged; more than 1 need a temperature above 0"
        many = Field(definition.repetitions, ge=1, le=MOST_REPETITIONS, description=often)
        return writing_knobs(definition.max_tokens, definition.temperature) | {"repetitions": (int, many)}

    @classmethod
    def of(cls, loaded: LoadedRecipe, params: Params, engines: Mapping[str, Engine]) -> Self:
        own = super().of(loaded, params, engines)
        if own.params.repetitions > 1 and not own.params.temperature:
            what = f"--repetitions {own.params.repetitions}: at temperature 0 all answers to an item are one"
            raise ValueError(f"{what}: add --temperature 0.7, or take --repetitions 1")
        return own

    @abstractmethod
    def score(self, item: Item, said: Said, source: str, opinions: Opinions) -> tuple[float | None, str]:
        """Return the score of a text about an item, or None and the reason.

        Args:
            source: that of the text among those that were judged.
        """

    def target(self, item: Item) -> str | None:
        return " | ".join(self.definition.right(item.fields)) or None

    @cached_property
    def rounds(self) -> list[tuple[str, int]]:
        """Every condition and repetition from 1."""
        return [(each, n) for each in self.conditions for n in range(1, self.params.repetitions + 1)]

    @cached_property
    def prompts(self) -> Mapping[Asked, Prompt]:
        """The first prompts, by the place of their answers."""
        return {
            Asked(*each, item.name): Prompt(self.conversation(item.fields, each[0]), sample=_draw(each[1]))
            for each in self.rounds
            for item in self.items
        }

    def request(self, label: str, prompts: Iterable[Prompt]) -> Prompts:
        """Return a request to the model."""
        return to_candidates(self.params, self.loaded.name, label, prompts)

    @cached_property
    def first_requests(self) -> list[Prompts]:
        """The requests for the first answers, one for each condition."""
        return [
            self.request(each or "items", (p for asked, p in self.prompts.items() if asked.condition == each))
            for each in self.conditions
        ]

    def ask(self, completions: Completions) -> list[Prompts]:
        """Return requests for every item, the second turns, then each judge's for the available texts."""
        requests = list(self.first_requests)
        if not self.panel and not any(wording.then for wording in self.wordings.values()):
            return requests
        talks = self.talks(completions)
        if talks.second:
            requests.append(self.second_request(talks.second))
        return requests + (self.panel.requests(self.calls(talks.written)) if self.panel else [])

    def read_text(self, completion: Completion | None) -> Said:
        """Return a completion's text, if it is whole."""
        return Said(*whole_text(completion))

    def completed(
        self, prompts: Mapping[Asked, Prompt], stored: Mapping[str, Completion]
    ) -> dict[Asked, Said]:
        """Return the texts of prompts, or the reasons for none."""
        return {asked: self.read_text(stored.get(prompt.id)) for asked, prompt in prompts.items()}

    def second_prompts(self, first: Written) -> dict[Asked, Prompt]:
        """Return what a model is sent after its first answers; it sees them as its own turns."""
        then = {condition: wording.then for condition, wording in self.wordings.items() if wording.then}
        prompts = {}
        for asked, said in first.items():
            if asked.condition in then and said.text is not None:
                follow = rendered(then[asked.condition], self.by_name[asked.item].fields)
                turns: list[Message] = [
                    {"role": "assistant", "content": said.text},
                    {"role": "user", "content": follow},
                ]
                talk = [*self.prompts[asked].conversation, *turns]
                prompts[asked] = Prompt(talk, sample=_draw(asked.repetition))
        return prompts

    def second_request(self, prompts: Mapping[Asked, Prompt]) -> Prompts:
        """Return the request for the second answers."""
        return self.request("second turn", prompts.values())

    def talks(self, completions: Completions) -> Talks:
        """Return what the model was sent and wrote about each item."""
        stored: dict[str, Completion] = {}
        own: Mapping[str, Completion]
        for own in map(completions, self.first_requests):
            stored |= own
        written = self.completed(self.prompts, stored)
        if second := self.second_prompts(written):
            stored |= (own := completions(self.second_request(second)))
            then = self.completed(second, stored)
            written |= {asked: said._replace(first=written[asked].text or "") for asked, said in then.items()}
        return Talks(second, stored, written)

    def read(self, completions: Completions) -> RecipeAnswers:
        return self._scored(self.talks(completions).written, completions)

    def _scored(self, written: Written, completions: Completions) -> RecipeAnswers:
        """Return the scores of the texts; completions: for the judges' verdicts."""
        opinions = self.panel.read(self.calls(written), completions) if self.panel else {}
        scores: dict[str, list[ConditionScores]] = {}
        for condition, n in self.rounds:
            scores.setdefault(condition, []).append(self._own_scores(written, (condition, n), opinions))
        swapped = self.exchanged(written)
        for n in range(1, self.params.repetitions + 1):
            scores.setdefault(EXCHANGED, []).append(self._scores(swapped, (EXCHANGED, n), opinions))
        return RecipeAnswers(scores, opinions, written)

    def _own_scores(self, written: Written, of: tuple[str, int], opinions: Opinions) -> ConditionScores:
        """Return the scores of one round.

        A lost answer gets the worst value, so that no model gains by not answering.
        """
        own = self._scores(written, of, opinions)
        is_lost = (own.lost != "") & (own.lost != NO_ANSWER)
        values, reasons = unless_lost_alone(
            np.where(is_lost, self.worst(), own.values), np.where(is_lost, "", own.reasons), own.lost
        )
        also = self.also(written, of, np.isnan(values)) if of[0] == HEADLINE else {}
        return replace(own, values=values, reasons=reasons, also=also)

    def _scores(self, written: Written, of: tuple[str, int], opinions: Opinions) -> ConditionScores:
        """Return the scores of one round's texts; those of lost answers are NaN."""
        said = [written[Asked(*of, item.name)] for item in self.items]
        scored = [
            (None, each.why) if each.text is None else self.score(item, each, source_of(*of), opinions)
            for item, each in zip(self.items, said, strict=True)
        ]
        values = np.array([np.nan if value is None else value for value, _ in scored])
        reasons = np.array([why if value is None else "" for value, why in scored], dtype=object)
        lost = np.array([each.why for each in said], dtype=object)
        has_turns = bool(self.wordings.get(of[0], self.wordings[HEADLINE]).then)
        earlier = [each.first for each in said] if has_turns and of[0] != EXCHANGED else ()
        return ConditionScores(values, reasons, lost, [each.text or "" for each in said], earlier=earlier)

    def also(self, written: Written, of: tuple[str, int], unscored: BoolArray) -> dict[str, FloatArray]:
        """Return further numbers of one round's texts, known if the headline is."""
        return {}

    def exchanged(self, written: Written) -> dict[Asked, Said]:
        """Return the model's text about another item for each item, if it has texts about both."""
        swapped = {}
        for (condition, n, name), own in written.items():
            if condition != HEADLINE:
                continue
            other = written[Asked(condition, n, self.others[name])] if name in self.others else Said(None)
            is_there = own.text is not None and other.text is not None
            swapped[Asked(EXCHANGED, n, name)] = other if is_there else Said(None, own.why or NO_OTHER)
        return swapped

    def calls(self, written: Written) -> list[Call]:
        """Return the texts that judges are to judge."""
        return []

    def later(self) -> Iterable[Later]:
        """Return the most that the second turns may send."""
        n = len(self.items) * self.params.repetitions
        talks = [
            [*self.conversation(item.fields, condition), {"role": "user", "content": wording.then}]
            for condition, wording in self.wordings.items()
            if wording.then
            for item in self.items
        ]
        if not talks:
            return []
        n_conditions = sum(bool(wording.then) for wording in self.wordings.values())
        sent = max(at_most(cast(Any, talk), None, Sampling()).prompt_tokens for talk in talks)
        most, all_turns = self.params.max_tokens, n * n_conditions
        usual = (all_turns, sent + min(most, USUAL_TEXT), min(most, USUAL_TEXT))
        return [Later("candidate", "", all_turns, sent + 2 * most, usual=usual)]

    def samples(self, completions: Completions) -> Iterator[Sample]:
        name, talks = self.definition.metric.name, self.talks(completions)
        answers, prompts = self._scored(talks.written, completions), {**self.prompts, **talks.second}
        verdicts = (
            self.panel.verdict_scores(self.calls(answers.written), answers.opinions, completions)
            if self.panel
            else {}
        )
        for condition, n in self.rounds:
            scores = answers.repeated[condition][n - 1]
            for place, item in enumerate(self.items):
                asked = Asked(condition, n, item.name)
                value, why = float(scores.values[place]), scores.reasons[place] or scores.lost[place] or None
                of = {name: Score.of(value, why, answer=answers.written[asked].text)}
                of |= verdicts.get((source_of(condition, n), item.name), {})
                prompt = prompts[asked]
                yield sample(
                    self.sample_id(item, condition, n), prompt, talks.stored.get(prompt.id),
                    target=list(self.definition.right(item.fields)), scores=of, metadata=self.metadata(item),
                )  # fmt: skip


def _draw(repetition: int) -> str:
    """Return the name of an independent draw; the first has that of a study without repetitions."""
    return "" if repetition == 1 else str(repetition)


def source_of(condition: str, repetition: int) -> str:
    """Return the name of a text's source among those that are judged; "" is the headline's first."""
    return " ".join(filter(None, (condition, _draw(repetition))))
