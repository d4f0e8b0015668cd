"""What a model answered, whether it matches, what judges are asked about it, and what they said. Pure.

Rules. An answer that the model lost (refused, empty, cut off before its end) is wrong, and so is one to
multiple choice that names no letter: the model had its chance. What could not be measured is unscored: not
asked, or without a verdict where judges were asked.
Each answer is judged once per judge. The judge's own check is the study's, not a model's: the gold answer of
each item, another item's of the same language, and an empty one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from tasks.engines.protocols import Sampling
from tasks.evaluations.contract import Completions
from tasks.evaluations.culturall.items import Item
from tasks.evaluations.culturall.matching import chosen_letter, is_match
from tasks.evaluations.culturall.requests import JUDGED, Call, Key, Study
from tasks.generation.prompts import Completion, Prompts
from tasks.generation.replies import CUT_OFF, EMPTY, REFUSED, no_text
from tasks.judging.judge_check import ACCEPTED_FROM
from tasks.judging.null_texts import EMPTY as EMPTY_TEXT
from tasks.judging.null_texts import SHUFFLED, shuffled
from tasks.judging.prompts import UNANSWERED, Opinion, opinions
from tasks.judging.rubric import normal

NO_TRANSLATION = "the item has no English translation"

LOST = frozenset({REFUSED, EMPTY, CUT_OFF})
"""Why a model that was asked gave no answer: it is wrong, as where Lin et al. (2026) count all items."""

GOLD = "gold"
CHECKS = (GOLD, SHUFFLED, EMPTY_TEXT)
"""What a judge is checked with: the first it should accept, the others refuse."""

Opinions = Mapping[str, Mapping[Key, Opinion]]
"""Judge, by its name in the params -> (condition or check, item) -> what it said"""


@dataclass(frozen=True)
class Answer:
    """One answer. Either text or reason is None.

    Attributes:
        matched: whether it equals the gold answer; None where there is no text.
        judged: whether the judges take it as right, by the mean of their scores; None where there is no
            text, no judge, or no verdict.
        unjudged: why it has no verdict although judges were asked and it has a text; None else.
    """

    text: str | None
    reason: str | None
    matched: bool | None = None
    judged: bool | None = None
    unjudged: str | None = None

    def counts(self, is_judged: bool) -> bool | None:
        """Whether it is right, by judges or by match; None where that could not be measured."""
        if self.reason in LOST:
            return False
        return self.judged if is_judged else self.matched


def read_text(completion: Completion | None) -> tuple[str | None, str | None]:
    """(text, None), or (None, why there is none); never raises."""
    reason = no_text(completion)
    if completion is None or reason:
        return None, reason
    return (
        (None, CUT_OFF) if completion.finish_reason == "length" else (" ".join(completion.text.split()), None)
    )


def completed(study: Study, completions: Completions) -> dict[Key, Completion]:
    """(condition, item) -> its stored completion."""
    stored = {condition: completions(study.request(condition)) for condition in study.conditions}
    own = ((key, stored[key[0]].get(prompt.id)) for key, prompt in study.prompts.items())
    return {key: completion for key, completion in own if completion}


def answer_texts(completions: Mapping[Key, Completion]) -> dict[Key, str]:
    """(condition, item) -> the text of its answer, where it has one."""
    read = ((key, read_text(completion)[0]) for key, completion in completions.items())
    return {key: text for key, text in read if text is not None}


def read_answers(study: Study, completions: Mapping[Key, Completion], said: Opinions) -> dict[Key, Answer]:
    """Every item under every condition -> its answer, also where it lacks the translation to be asked in."""
    return {
        (condition, item.item): _read(study, condition, item, completions, said)
        for condition in study.conditions
        for item in study.items
    }


def matches(condition: str, item: Item, text: str) -> bool:
    """Whether a text is the item's answer, decided without a judge; see ``matching``."""
    shown = item.texts(condition)
    if item.form == "choice":
        language = "en" if condition == "english" else item.language
        return chosen_letter(text, shown.question, language) == item.native.answer
    asked = f"{shown.question} {item.native.question}"
    if condition == "english" and is_match(text, [shown.answer], "en", asked):
        return True
    return is_match(text, item.accepted, item.language, asked)


def calls(study: Study, texts: Mapping[Key, str]) -> list[Call]:
    """One per answer that can be read, in the order of the study's prompts."""
    return [study.call(*key, texts[key]) for key in study.prompts if key in texts]


def checks(study: Study) -> list[Call]:
    """The judge's own check. Only free answers are exchanged, since other items may have the same letter; an
    item gets no other's answer where all others of its language have the same."""
    sources: dict[str, Mapping[str, str]] = {
        GOLD: {item.item: item.native.answer for item in study.items},
        SHUFFLED: _others(study),
        EMPTY_TEXT: {item.item: "" for item in study.items},
    }
    return [
        study.call(source, item.item, by_item[item.item])
        for source, by_item in sources.items()
        for item in study.items
        if item.item in by_item
    ]


def judge_request(study: Study, judge: str, about: Iterable[Call]) -> Prompts:
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


def read_opinions(about: Iterable[Call], completions: Mapping[str, Completion]) -> dict[Key, Opinion]:
    """What the judge said of each call; a call without a completion is unscored with the reason."""
    return {call.key: opinions(completions.get(call.prompt.id), [JUDGED], call.rubric)[0] for call in about}


def _read(
    study: Study, condition: str, item: Item, completions: Mapping[Key, Completion], said: Opinions
) -> Answer:
    key = (condition, item.item)
    if key not in study.prompts:
        return Answer(None, NO_TRANSLATION)
    text, reason = read_text(completions.get(key))
    if text is None:
        return Answer(None, reason)
    judged, unjudged = _verdict([by_key.get(key) for by_key in said.values()])
    return Answer(text, None, matches(condition, item, text), judged, unjudged)


def _verdict(opinions: Sequence[Opinion | None]) -> tuple[bool | None, str | None]:
    """The judges' verdict together, or why there is none; a judge that failed does not count."""
    scores = [opinion.score for opinion in opinions if opinion and opinion.score is not None]
    if scores:
        return fmean(scores) >= ACCEPTED_FROM, None
    reasons = [opinion.verdict.unscored_reason for opinion in opinions if opinion]
    return None, next(iter(reasons), UNANSWERED if opinions else None)


def _others(study: Study) -> dict[str, str]:
    """Item -> the answer of another free item of its language, which is none of those it accepts."""
    swapped: dict[str, str] = {}
    for language in sorted({item.language for item in study.items}):
        free = [item for item in study.items if item.language == language and item.form == "free"]
        families = {item.item: frozenset(map(normal, item.accepted)) for item in free}
        swapped |= shuffled({item.item: item.native.answer for item in free}, families, language)
    return swapped
