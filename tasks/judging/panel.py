"""Judges who read the same texts by one rubric: what they are sent, and what they said. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

import polars as pl

from tasks.engines.protocols import Sampling
from tasks.generation.budget import at_most
from tasks.generation.prompts import Completion, Prompt, Prompts
from tasks.judging.prompts import UNANSWERED, Opinion, judge_prompt, opinions
from tasks.judging.rubric import Rubric
from tasks.judging.samples import score_name, verdict_score
from tasks.judging.untrusted import shorten
from tasks.judging.verdict_rows import verdict_frame, verdict_row
from tasks.requests import Engine, Later
from tasks.samples import Score

Key = tuple[str, str]
"""(source of the text, item)"""

Opinions = Mapping[str, Mapping[Key, Opinion]]
"""Judge, by its name in the params -> what it said of each call"""


@dataclass(frozen=True)
class Call:
    """One text to be judged. source: whose it is, or in what condition; unique with the item."""

    source: str
    item: str
    text: str
    prompt: Prompt

    @property
    def key(self) -> Key:
        """What identifies the call among those about one model."""
        return self.source, self.item


@dataclass(frozen=True)
class Panel:
    """The judges of a study.

    Attributes:
        judges: the name that the params give a judge -> its engine; none: nobody judges.
        judged: the rubric's input that is the judged text, and the key that it has a verdict for.
        topic: what SQL and the progress show of the requests.
        max_tokens: of a judge's answer.
    """

    judges: Mapping[str, Engine]
    rubric: Rubric
    judged: str
    topic: str
    batch: int
    max_tokens: int
    _calls: dict[tuple[str, str, str], Call] = field(default_factory=dict, repr=False, compare=False)

    def call(self, source: str, item: str, text: str, inputs: Callable[[], Mapping[str, object]]) -> Call:
        """One text to be judged. Kept, and with it its prompt: it is looked at in every round.

        Args:
            inputs: the rubric's other inputs.
        """
        key = (source, item, text)
        if key not in self._calls:
            filled = {**inputs(), self.judged: text}
            self._calls[key] = Call(source, item, text, judge_prompt(self.rubric, filled, [self.judged]))
        return self._calls[key]

    def request(self, judge: str, calls: Iterable[Call]) -> Prompts:
        """What one judge, by its name in the params, is sent."""
        return Prompts(
            role="judge",
            engine=judge,
            topic=self.topic,
            label="verdicts",
            batch=self.batch,
            prompts=[call.prompt for call in calls],
            sampling=Sampling(max_tokens=self.max_tokens),
        )

    def requests(self, calls: Sequence[Call]) -> list[Prompts]:
        """What every judge is sent; none if there is nothing to judge."""
        return [self.request(judge, calls) for judge in self.judges] if calls else []

    def read(
        self, calls: Sequence[Call], completions: Callable[[Prompts], Mapping[str, Completion]]
    ) -> dict[str, dict[Key, Opinion]]:
        """What every judge said of each call; a call without a completion is unscored with the reason."""
        said: dict[str, dict[Key, Opinion]] = {}
        for judge in self.judges:
            stored = completions(self.request(judge, calls)) if calls else {}
            said[judge] = {
                call.key: opinions(stored.get(call.prompt.id), [self.judged], self.rubric)[0]
                for call in calls
            }
        return said

    def verdict_scores(
        self,
        calls: Sequence[Call],
        said: Opinions,
        completions: Callable[[Prompts], Mapping[str, Completion]],
    ) -> dict[Key, dict[str, Score]]:
        """Of each call the judges' verdicts by name, as scores of the samples that people read."""
        scores: dict[Key, dict[str, Score]] = {call.key: {} for call in calls}
        for judge, of_judge in said.items():
            stored, engine = completions(self.request(judge, calls)), self.judges[judge]
            for call in calls:
                score = verdict_score(engine, of_judge[call.key], call.prompt, stored.get(call.prompt.id))
                scores[call.key][score_name(self.rubric.name, engine)] = score
        return scores

    def later(self, n: int, longest: Call | None, tokens: int, is_shared: bool = False) -> list[Later]:
        """What each judge may be sent at most, for the plan.

        Args:
            n: texts. longest: a call with the longest inputs. tokens: of a text to be judged, at most.
        """
        if longest is None or not n:
            return []
        most = at_most(
            longest.prompt.conversation, longest.prompt.schema, Sampling(max_tokens=self.max_tokens)
        )
        each = most.prompt_tokens + tokens + most.completion_tokens
        return [Later("judge", judge, n, each, is_shared) for judge in self.judges]

    def verdicts(
        self, calls: Sequence[Call], said: Opinions, about: Callable[[Call], tuple[str, str]]
    ) -> dict[str, pl.DataFrame]:
        """Of each judge, by its engine's name, a row for each call that it answered, readable or not.

        Args:
            about: of a call its item as people should see it, and what results are grouped by.
        """
        rubric, shown = f"{self.rubric.name} {self.rubric.hash()}", {call.key: about(call) for call in calls}
        return {
            self.judges[judge].name: verdict_frame(
                verdict_row(
                    self.judges[judge], rubric, of_judge[call.key], item=call.item,
                    item_text=shown[call.key][0], group_name=shown[call.key][1], judged=call.source,
                    text=shorten(call.text, self.rubric.max_chars),
                )
                for call in calls
                if of_judge[call.key].is_answered
            )
            for judge, of_judge in said.items()
        }  # fmt: skip


def score_of(said: Opinions, key: Key) -> tuple[float | None, str]:
    """The mean of the judges' scores of a call, or why there is none; a judge that failed does not count."""
    known = [by_key[key] for by_key in said.values() if key in by_key]
    scores = [opinion.score for opinion in known if opinion.score is not None]
    if scores:
        return fmean(scores), ""
    return None, next((o.verdict.unscored_reason or UNANSWERED for o in known), UNANSWERED)
