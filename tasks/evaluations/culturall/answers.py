"""What a model answered, read: its text, whether it matches, and what the judges made of it. Pure.

An answer is unscored where there is none: not asked, refused by the server, empty, or cut off before its end.
An answer to multiple choice that names no letter is wrong, not unscored: the model had its chance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from tasks.evaluations.culturall.items import Item
from tasks.evaluations.culturall.matching import chosen_letter, is_match
from tasks.evaluations.culturall.requests import Key, Study, texts
from tasks.generation.prompts import Completion
from tasks.judging.prompts import UNANSWERED, Opinion

NO_ANSWER = "not asked or not answered"
REFUSED, EMPTY, CUT_OFF = "refused", "empty answer", "cut off at max_tokens"
NO_TRANSLATION = "the item has no English translation"

Opinions = Mapping[str, Mapping[Key, Opinion]]
"""Judge, by its name in the params -> (condition, item) -> what it said"""


@dataclass(frozen=True)
class Answer:
    """One answer. Either text or reason is None.

    Attributes:
        matched: whether it equals the gold answer; None where there is no text.
        judged: whether the judges take it as right: the mean of their scores is 0.5 or more; None where
            there is no text, no judge, or no verdict.
        unjudged: why it has no verdict although judges were asked and it has a text; None else.
    """

    text: str | None
    reason: str | None
    matched: bool | None = None
    judged: bool | None = None
    unjudged: str | None = None


def read_text(completion: Completion | None) -> tuple[str | None, str | None]:
    """(text, None), or (None, why there is none); never raises."""
    if completion is None:
        return None, NO_ANSWER
    if completion.finish_reason in ("refusal", "content_filter"):
        return None, REFUSED
    text = " ".join(completion.text.split())
    if completion.finish_reason == "length":
        return None, CUT_OFF
    return (text, None) if text else (None, EMPTY)


def read_answers(study: Study, completions: Mapping[Key, Completion], said: Opinions) -> dict[Key, Answer]:
    """Every sample of the study -> its answer; what an item is not asked for lack of a translation as well."""
    return {
        (condition, item.item): _read(study, condition, item, completions, said)
        for condition in study.conditions
        for item in study.items
    }


def matches(condition: str, item: Item, text: str) -> bool:
    """Whether a text is the item's answer, decided without a judge; see ``matching``."""
    shown = texts(condition, item)
    if item.form == "choice":
        return chosen_letter(text, shown.question) == item.answer
    language = "en" if condition == "english" else item.language
    return is_match(text, dict.fromkeys([shown.gold, *item.accepted]), language)


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
        return fmean(scores) >= 0.5, None
    reasons = [opinion.verdict.unscored_reason for opinion in opinions if opinion]
    return None, next(iter(reasons), UNANSWERED if opinions else None)
