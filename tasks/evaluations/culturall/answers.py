"""What a model answered, whether it matches, what judges are asked about it, and what they said. Pure.

Rules. An answer that the model lost (refused, empty, cut off before its end) is wrong, and so is one to
multiple choice that names no letter: the model had its chance. What could not be measured is unscored: not
asked, or without a verdict where judges were asked.
Each answer is judged once per judge. The judge's own check is the study's, not a model's: the gold answer of
each item, another item's of the same language, and an empty one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tasks.evaluations.contract import Completions
from tasks.evaluations.culturall.items import Item
from tasks.evaluations.culturall.matching import chosen_letter, is_match
from tasks.evaluations.culturall.requests import Study
from tasks.judging.controls import ACCEPTED_FROM, GOLD, SHUFFLED, shuffled
from tasks.judging.controls import EMPTY as EMPTY_TEXT
from tasks.judging.panel import Call, Key, Opinions, score_of
from tasks.judging.rubric import normal
from tasks.loop.prompts import Completion
from tasks.loop.replies import CUT_OFF, EMPTY, REFUSED, whole_text

NO_TRANSLATION = "the item has no English translation"

LOST = frozenset({REFUSED, EMPTY, CUT_OFF})
"""Why a model that was asked gave no answer: it is wrong, as where Lin et al. (2026) count all items."""

CHECKS = (GOLD, SHUFFLED, EMPTY_TEXT)
"""What a judge is checked with: the first it should accept, the others refuse."""


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


@dataclass(frozen=True)
class Answers:
    """One model's answers by condition and item, what judges were sent about them, and what each said."""

    by_key: Mapping[Key, Answer]
    calls: Sequence[Call]
    said: Opinions


def read(study: Study, completions: Completions) -> Answers:
    """Answers, matched and judged; what is missing is unscored with a reason."""
    done = completed(study, completions)
    about = calls(study, done)
    said = study.panel.read(about, completions)
    return Answers(read_answers(study, done, said), about, said)


def completed(study: Study, completions: Completions) -> dict[Key, Completion]:
    """(condition, item) -> its stored completion."""
    stored = {condition: completions(study.request(condition)) for condition in study.conditions}
    own = ((key, stored[key[0]].get(prompt.id)) for key, prompt in study.prompts.items())
    return {key: completion for key, completion in own if completion}


def read_answers(study: Study, completions: Mapping[Key, Completion], said: Opinions) -> dict[Key, Answer]:
    """Every item under every condition -> its answer, also where it lacks the translation to be asked in."""
    return {
        (condition, item.item): _answer(study, condition, item, completions, said)
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


def calls(study: Study, completions: Mapping[Key, Completion]) -> list[Call]:
    """One per answer that can be read, in the order of the study's prompts; none where nobody judges."""
    texts = {key: whole_text(completions.get(key))[0] for key in study.prompts} if study.judges else {}
    return [study.call(key[0], study.by_id[key[1]], text) for key, text in texts.items() if text is not None]


def checks(study: Study) -> list[Call]:
    """The judges' own check, where anybody judges. Only free answers are exchanged, since other items may
    have the same letter; an item gets no other's answer where all others of its language have the same."""
    if not study.judges:
        return []
    sources: dict[str, Mapping[str, str]] = {
        GOLD: {item.item: item.native.answer for item in study.items},
        SHUFFLED: _others(study),
        EMPTY_TEXT: {item.item: "" for item in study.items},
    }
    return [
        study.call(source, item, by_item[item.item])
        for source, by_item in sources.items()
        for item in study.items
        if item.item in by_item
    ]


def _answer(
    study: Study, condition: str, item: Item, completions: Mapping[Key, Completion], said: Opinions
) -> Answer:
    key = (condition, item.item)
    if key not in study.prompts:
        return Answer(None, NO_TRANSLATION)
    text, reason = whole_text(completions.get(key))
    if text is None:
        return Answer(None, reason)
    is_matched = matches(condition, item, text)
    if not study.judges:
        return Answer(text, None, is_matched)
    score, unjudged = score_of(said, key)
    return Answer(text, None, is_matched, None if score is None else score >= ACCEPTED_FROM, unjudged or None)


def _others(study: Study) -> dict[str, str]:
    """Item -> the answer of another free item of its language, which is none of those it accepts."""
    swapped: dict[str, str] = {}
    for language in sorted({item.language for item in study.items}):
        free = [item for item in study.items if item.language == language and item.form == "free"]
        families = {item.item: frozenset(map(normal, item.accepted)) for item in free}
        swapped |= shuffled({item.item: item.native.answer for item in free}, families, language)
    return swapped
