"""What judges are sent about answers, and what they said. Pure.

Each answer is judged once per judge. The judge's own check is the study's, not a model's: the gold answer of
each item, another item's of the same language, and an empty one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

from tasks.engines.protocols import Sampling
from tasks.evaluations.culturall.items import Item
from tasks.evaluations.culturall.requests import Key, Study, texts
from tasks.generation.prompts import Completion, Prompt, Prompts
from tasks.judging.null_texts import EMPTY, SHUFFLED, shuffled
from tasks.judging.prompts import Opinion, judge_prompt, opinions
from tasks.judging.rubric import Rubric, normal

GOLD = "gold"
CHECKS = (GOLD, SHUFFLED, EMPTY)
"""What a judge is checked with: the first it should accept, the others refuse."""

_JUDGED = "prediction"


@dataclass(frozen=True)
class Call:
    """One prediction to be judged. ``source`` is a condition, or one of ``CHECKS``."""

    item: Item
    source: str
    text: str
    rubric: Rubric

    @property
    def key(self) -> Key:
        """What identifies it among those about one model, or among the study's own."""
        return self.source, self.item.item

    @cached_property
    def prompt(self) -> Prompt:
        """What the judge is sent; the prediction stands in it as data."""
        shown = texts("english" if self.source == "english" else "native", self.item)
        inputs = {
            "scenario": shown.scenario,
            "question": shown.question,
            "gold": shown.gold,
            "accepted": list(self.item.accepted),
            "explanation": shown.explanation,
            "prediction": self.text,
        }
        return judge_prompt(self.rubric, inputs, [_JUDGED])


def calls(study: Study, answers: Mapping[Key, str]) -> list[Call]:
    """One per answer that can be read, in the order of the study's samples."""
    by_id = {item.item: item for item in study.items}
    return [
        Call(by_id[item], condition, answers[condition, item], study.rubric)
        for condition, item in study.prompts
        if (condition, item) in answers
    ]


def checks(study: Study) -> list[Call]:
    """The judge's own check: every item's gold answer, another's of its language, and none.

    An item gets no other's answer where all others of the language have the same, as letters of multiple choice
    may: only free answers are exchanged.
    """
    sources: dict[str, Mapping[str, str]] = {
        GOLD: {item.item: item.answer for item in study.items},
        SHUFFLED: _others(study),
        EMPTY: {item.item: "" for item in study.items},
    }
    return [
        Call(item, source, by_item[item.item], study.rubric)
        for source, by_item in sources.items()
        for item in study.items
        if item.item in by_item
    ]


def requests(study: Study, judge: str, about: Iterable[Call]) -> Prompts:
    """What one judge, by its name in the params, is sent."""
    return Prompts(
        role="judge",
        engine=judge,
        topic="answers",
        label="verdicts",
        batch=study.params.batch,
        prompts=[call.prompt for call in about],
        sampling=Sampling(max_tokens=study.params.judge_max_tokens),
    )


def read_opinions(about: Iterable[Call], completions: Mapping[str, Completion]) -> Mapping[Key, Opinion]:
    """What the judge said of each call; a call without a completion is unscored with the reason."""
    return MappingProxyType(
        {call.key: opinions(completions.get(call.prompt.id), [_JUDGED], call.rubric)[0] for call in about}
    )


def _others(study: Study) -> dict[str, str]:
    """Item -> the answer of another free item of its language, which is none of those it accepts."""
    swapped: dict[str, str] = {}
    for language in sorted({item.language for item in study.items}):
        free = [item for item in study.items if item.language == language and item.form == "free"]
        families = {item.item: frozenset(map(normal, item.accepted)) for item in free}
        swapped |= shuffled({item.item: item.answer for item in free}, families, language)
    return swapped
