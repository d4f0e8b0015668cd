"""The recipe judged: texts that judges score by a rubric. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Self, cast

import numpy as np
from pydantic import Field

from tasks.evaluations.contract import Detail, Params
from tasks.evaluations.recipe.definition import JUDGED, MAX_TOKENS, WRITER, Flaw, TextRecipe
from tasks.evaluations.recipe.items import Item, LoadedRecipe
from tasks.evaluations.recipe.study import Nulls, RecipeAnswers
from tasks.evaluations.recipe.texts import Asked, Said, TextStudy, Written, source_of
from tasks.judging.controls import EMPTY, GENERIC, GOLD, SHUFFLED
from tasks.judging.panel import Call, Opinions, Panel, VerdictSubject, judges_by_name, score_of
from tasks.judging.rubric import normal
from tasks.judging.verdicts import NO_JUDGE
from tasks.loop.requests import Engine, Later
from tasks.packs.shape import Name, Text

NOT_DRAWN = "not among the items whose null answers are judged"

NULL_TEXTS = {GENERIC: "generic", EMPTY: "empty", SHUFFLED: "other_answer"}
"""Source of null texts -> the null model that writes them; the last one needs right answers."""

NULLS_JUDGED = 100
"""Number of items whose null answers are judged too, chosen by simulation for cure."""


_SHARES = "Share of {} texts that a judge scores {}."


class Judged(TextRecipe):
    """Texts that judges score by a rubric.

    Attributes:
        rubric: TOML file; its inputs are columns of the items, and ``judged``.
        judged: the input that is the model's text.
        gold: column with a right answer for checking judges; "": none. within: column; answers are exchanged
            within its values; "": among all items. generic: a text that fits no item in particular.
    """

    recipe = JUDGED
    nulls = ("generic", "empty")
    unscored_when = "nobody judged, or every judge failed"
    shares = (
        ("judge_gold_accepted", "Right accepted", "higher", _SHARES.format("right", "0.5 or more")),
        ("judge_shuffled_refused", "Others' refused", "higher", _SHARES.format("others'", "below 0.5")),
        ("judge_generic_refused", "Generic refused", "higher", _SHARES.format("generic", "below 0.5")),
        ("judge_empty_refused", "Empty refused", "higher", _SHARES.format("empty", "below 0.5")),
        (
            "self_preference_warning", "Own family", "none",
            "1 if a judge is of the candidate's family, else 0.",
        ),
    )  # fmt: skip
    is_judged = True

    rubric: Text
    judged: Name = "answer"
    gold: str = ""
    within: str = ""
    generic: Text = "That depends on the situation and on the people involved; opinions differ."

    @property
    def columns(self) -> dict[str, Sequence[str]]:
        return {**super().columns, "gold": [self.gold], "within": [self.within]}

    @property
    def null_models(self) -> tuple[str, ...]:
        return (*self.nulls, *(("other_answer",) if self.gold else ()))

    @property
    def usual_profiles(self) -> dict[str, dict[str, Any]]:
        return {name: {**values, "judges": [WRITER]} for name, values in super().usual_profiles.items()}

    def right(self, fields: Mapping[str, str]) -> tuple[str, ...]:
        return (fields[self.gold],) if self.gold else ()

    def flaws(self, fields: Mapping[str, str]) -> Iterator[Flaw]:
        if self.gold and not fields[self.gold]:
            yield Flaw(self.gold, "the cell is empty", "write a right answer")


class JudgedStudy(TextStudy):
    """Texts that judges score by a rubric."""

    definition: Judged

    @classmethod
    def knobs(cls, definition: TextRecipe) -> dict[str, Any]:
        judged = "models that judge answers; several: their mean; empty: nothing is scored"
        drawn = "number of items whose null answers are judged too"
        return super().knobs(definition) | {
            "judges": (list[str], Field([], description=judged)),
            "judge_max_tokens": (
                int,
                Field(MAX_TOKENS, ge=16, description="most tokens of a judge's answer"),
            ),
            "nulls": (int, Field(NULLS_JUDGED, ge=0, description=drawn)),
        }

    @classmethod
    def of(cls, loaded: LoadedRecipe, params: Params, engines: Mapping[str, Engine]) -> Self:
        own, rubric, knobs = super().of(loaded, params, engines), loaded.rubric, cast(Any, params)
        assert rubric is not None, "a judged evaluation is loaded with its rubric"
        judges = judges_by_name(knobs.judges, engines)
        panel = Panel(judges, "answers", knobs.batch, own.definition.judged, rubric, knobs.judge_max_tokens)
        return replace(own, panel=panel)

    def whole_reason(self) -> str:
        assert self.panel is not None
        return super().whole_reason() or ("" if self.panel.judges else "without a judge nothing is scored")

    @cached_property
    def drawn_items(self) -> list[Item]:
        """The items whose null answers are judged."""
        return [item for item, is_drawn in zip(self.items, self.drawn, strict=True) if is_drawn]

    def score(self, item: Item, said: Said, source: str, opinions: Opinions) -> tuple[float | None, str]:
        return self._verdict(opinions, (source, item.name))

    def _verdict(self, opinions: Opinions, key: tuple[str, str]) -> tuple[float | None, str]:
        """Return the judges' score within the metric's bounds, or the reason for none."""
        if not opinions:
            return None, NO_JUDGE
        score, reason = score_of(opinions, key)
        return (None if score is None else self.within(score)), reason

    def exchanged(self, written: Written) -> dict[Asked, Said]:
        drawn = {item.name for item in self.drawn_items}
        swapped = super().exchanged(written).items()
        return {asked: said if asked.item in drawn else Said(None, NOT_DRAWN) for asked, said in swapped}

    def calls(self, written: Written) -> list[Call]:
        """Return calls for every available text, then for the drawn items with another item's text."""
        return [
            self._call(source_of(asked.condition, asked.repetition), self.by_name[asked.item], said.text)
            for asked, said in (*written.items(), *self.exchanged(written).items())
            if said.text is not None
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
        named = ((source, name) for source, name in NULL_TEXTS.items() if name in self.definition.null_models)
        scores = {
            name: np.array([self._verdict(shared, (source, i))[0] for i in self.names.tolist()], np.float64)
            for source, name in named
        }
        return {self.definition.metric.name: scores}

    def later(self) -> Iterable[Later]:
        """Return the most that each judge may be sent about a model: every text, and exchanged texts of drawn
        items.
        """
        assert self.panel is not None
        longest = max(self.checks, key=lambda call: len(str(call.prompt.conversation)), default=None)
        n = self.params.repetitions * (len(self.items) * len(self.conditions) + len(self.drawn_items))
        judged = self.panel.later(n, longest, self.params.max_tokens) if self.panel.judges else ()
        return [*super().later(), *judged]

    def details(self, answers: RecipeAnswers) -> list[Detail]:
        return self._verdicts(self.calls(answers.written), answers.opinions)

    def null_details(self, shared: Opinions) -> dict[str, list[Detail]]:
        return {
            name: self._verdicts([call for call in self.checks if call.source == source], shared)
            for source, name in NULL_TEXTS.items()
        }

    def _verdicts(self, calls: Sequence[Call], opinions: Opinions) -> list[Detail]:
        assert self.panel is not None
        frames = self.panel.verdicts(calls, opinions, self._about)
        return [Detail("verdict", frame, judge) for judge, frame in frames.items()]

    def _about(self, call: Call, _: str) -> VerdictSubject:
        """Return a call's item for people, line by line, and its cluster."""
        assert self.panel is not None
        item = self.by_name[call.item]
        fields = "\n".join(f"{column}: {cell}" for column, cell in item.fields.items() if cell)
        return VerdictSubject(self.panel.rubric_id, item.name, fields, item.cluster, call.source)
