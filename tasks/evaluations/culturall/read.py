"""Matches a model's answers, makes the judges' prompts about them, and lists them for people. Pure.

Rules. An answer that the model lost (refused, empty, cut off before its end) is wrong, and so is one in
which it says not to know. A prompt that was not sent, an answer whose judges gave no verdict and, without
judges, one that matching does not read (``NOT_READ``) are unscored. Each answer is judged once per judge. The
check of a judge belongs to the study, not to a model. It has each item's gold answer, another item's answer
in the same language, and an empty answer.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from tasks.evaluations.contract import Completions, comparable
from tasks.evaluations.culturall.items import CulturallItem
from tasks.evaluations.culturall.matching import is_right
from tasks.evaluations.culturall.matching.choices import chosen_letter, options
from tasks.evaluations.culturall.matching.texts import knows_nothing
from tasks.evaluations.culturall.study import CulturallStudy
from tasks.judging.controls import ACCEPTED_FROM, GOLD, SHUFFLED, shuffled
from tasks.judging.controls import EMPTY as EMPTY_TEXT
from tasks.judging.panel import Call, Key, Opinions, VerdictSubject, score_of
from tasks.judging.rubric import normal
from tasks.loop.prompts import Completion
from tasks.loop.replies import CUT_OFF, EMPTY, REFUSED, whole_text
from tasks.loop.samples import Sample, Score, sample

NO_TRANSLATION = "the item has no English translation"

LOST = frozenset({REFUSED, EMPTY, CUT_OFF})
"""Reasons why a model that was prompted gave no answer.

It counts as wrong, since Lin et al. (2026) count all items.
"""

NOT_READ = "not read by the matcher"
"""Reason why an answer is unscored by match: it is no short answer in a plain form (``matching``)."""

CHECKS = (GOLD, SHUFFLED, EMPTY_TEXT)
"""The texts that a judge is checked with: it should accept the first and refuse the others."""

_ABOUT = ("item", "language", "region", "topic", "form")
_TEXTS = ("config_hash", "condition", *_ABOUT, "scenario", "question", "gold", "answer")
SCHEMA = pl.Schema(
    {name: pl.String() for name in _TEXTS}
    | dict.fromkeys(("matched", "judged", "correct"), pl.Boolean())
    | dict.fromkeys(("passages", "unscored_reason", "status"), pl.String())
)
"""Columns of the part kind culturall_answer."""


@dataclass(frozen=True)
class CulturallAnswer:
    """One answer. Either text or reason is None.

    Attributes:
        matched: whether it equals the gold answer; None where there is no text or matching does not read it.
        judged: whether the judges accept it, by the mean of their scores; None if it has no text, no judge,
            or no verdict.
        unjudged: why a text that was sent to judges has no verdict; None otherwise.
    """

    text: str | None
    reason: str | None
    matched: bool | None = None
    judged: bool | None = None
    unjudged: str | None = None

    def counts(self, is_judged: bool) -> bool | None:
        """Return whether the answer is right, by judges or by match; None if that could not be measured."""
        if self.reason in LOST:
            return False
        return self.judged if is_judged else self.matched

    def unscored(self, is_judged: bool) -> str | None:
        """Return why there is no answer, or no verdict on it."""
        unread = NOT_READ if self.text is not None and self.matched is None else None
        return self.reason or (self.unjudged if is_judged else unread)


@dataclass(frozen=True)
class CulturallAnswers:
    """One model's answers by condition and item, the judges' prompts about them, and the judges' replies."""

    by_key: Mapping[Key, CulturallAnswer]
    calls: Sequence[Call]
    opinions: Opinions


def read(study: CulturallStudy, completions: Completions) -> CulturallAnswers:
    """Return answers, matched and judged; a missing answer is unscored, with a reason."""
    done = study.completed(completions)
    about = calls(study, done)
    opinions = study.panel.read(about, completions)
    return CulturallAnswers(read_answers(study, done, opinions), about, opinions)


def read_answers(
    study: CulturallStudy, completions: Mapping[Key, Completion], opinions: Opinions
) -> dict[Key, CulturallAnswer]:
    """Return every item under every condition -> its answer, with a reason if the translation is missing."""
    return {
        (condition, item.item): _answer(study, condition, item, completions, opinions)
        for condition in study.conditions
        for item in study.items
    }


def matches(item: CulturallItem, text: str) -> bool | None:
    """Return whether a text matches the item's answer, decided without a judge; None if matching does not
    read it; see ``matching``.

    An answer may be in the item's language or in English under every condition, so that no condition is read
    more mildly.
    """
    if item.form == "free":
        accepted, questions = {item.language: item.accepted}, {item.language: item.native.question}
        if item.english and item.language != "en":
            accepted |= {"en": item.accepted_in_english}
            questions |= {"en": item.english.question}
        return is_right(text, accepted, questions, item.region)
    english = options(item.english.question) if item.english else {}
    further = {letter: [form] for letter, form in english.items()}
    further.setdefault(item.native.answer, []).extend([*item.accepted[1:], *item.accepted_in_english[1:]])
    if knows_nothing(text, (item.language, "en")):
        return False
    letter = chosen_letter(text, item.native.question, item.language, further)
    return None if letter is None else letter == item.native.answer


def calls(study: CulturallStudy, completions: Mapping[Key, Completion]) -> list[Call]:
    """Return one call per readable answer, in the order of the study's prompts; none without judges."""
    texts = {key: whole_text(completions.get(key))[0] for key in study.prompts} if study.judges else {}
    return [study.call(*key, text) for key, text in texts.items() if text is not None]


def checks(study: CulturallStudy) -> list[Call]:
    """Return the calls of the judges' check; none without judges.

    Only free answers are exchanged, since other items may have the same letter. An item gets no exchanged
    answer if all others of its language have the same one.
    """
    if not study.judges:
        return []
    swapped: dict[str, str] = {}
    for language in sorted({item.language for item in study.items}):
        free = [item for item in study.items if item.language == language and item.form == "free"]
        families = {item.item: frozenset(map(normal, item.accepted)) for item in free}
        swapped |= shuffled({item.item: item.native.answer for item in free}, families, language)
    sources = {
        GOLD: {item.item: item.native.answer for item in study.items},
        SHUFFLED: {item.item: swapped[item.item] for item in study.items if item.item in swapped},
        EMPTY_TEXT: {item.item: "" for item in study.items},
    }
    return [study.call(source, name, text) for source, of in sources.items() for name, text in of.items()]


def _answer(
    study: CulturallStudy,
    condition: str,
    item: CulturallItem,
    completions: Mapping[Key, Completion],
    opinions: Opinions,
) -> CulturallAnswer:
    key = (condition, item.item)
    if key not in study.prompts:
        return CulturallAnswer(None, NO_TRANSLATION)
    text, reason = whole_text(completions.get(key))
    if text is None:
        return CulturallAnswer(None, reason)
    is_matched = matches(item, text)
    if not study.judges:
        return CulturallAnswer(text, None, is_matched)
    score, unjudged = score_of(opinions, key)
    is_right = None if score is None else score >= ACCEPTED_FROM
    return CulturallAnswer(text, None, is_matched, is_right, unjudged or None)


def answer_frame(study: CulturallStudy, answers: Mapping[Key, CulturallAnswer]) -> pl.DataFrame:
    """Return one row per sample, in the order of the study; missing values of an unscored sample are null."""
    config_hash = {"config_hash": comparable(study)}
    rows = [config_hash | _row(study, *each) for each in answers.items()]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def _row(study: CulturallStudy, key: Key, answer: CulturallAnswer) -> dict[str, Any]:
    condition, item = key[0], study.by_id[key[1]]
    texts = item.texts(condition)
    quoted = [p._asdict() for p in study.passages.get(item.item, ())] if condition == "retrieval" else []
    return {
        "condition": condition,
        **{name: getattr(item, name) for name in _ABOUT},
        "scenario": texts.scenario,
        "question": texts.question,
        "gold": texts.answer,
        "answer": answer.text,
        "matched": answer.matched,
        "judged": answer.judged,
        "correct": answer.counts(bool(study.judges)),
        "passages": json.dumps(quoted, ensure_ascii=False) if quoted else None,
        "unscored_reason": answer.unscored(bool(study.judges)),
        "status": item.status,
    }


def about(study: CulturallStudy, call: Call, key: str) -> VerdictSubject:
    """Return an item in the lines that the judge saw, and its region."""
    item = study.by_id[call.item]
    texts = item.texts(call.source)
    lines = {"Situation": texts.scenario, "Question": texts.question, "Right answer": texts.answer}
    text = "\n".join(f"{name}: {text}" for name, text in lines.items())
    return VerdictSubject(study.panel.rubric_id, item.item, text, item.region, call.source)


def samples(study: CulturallStudy, completions: Completions) -> Iterator[Sample]:
    """Yield every item under every condition; ``correct`` is the value that the leaderboard counts."""
    done, answers = study.completed(completions), read(study, completions)
    verdicts = study.panel.verdict_scores(answers.calls, answers.opinions, completions)
    for key, prompt in study.prompts.items():
        condition, item, answer = key[0], study.by_id[key[1]], answers.by_key[key]
        scores = {"correct": _score(answer, bool(study.judges))}
        if study.judges:
            scores["matched"] = _score(answer, False)
        yield sample(
            ":".join(key),
            prompt,
            done.get(key),
            target=list(item.accepted_by(condition)),
            scores=scores | verdicts.get(key, {}),
            metadata={name: getattr(item, name) for name in (*_ABOUT[1:], "status")}
            | {"condition": condition, "item": item.item},
            roles={"judge": [engine.name for engine in study.judges.values()]} if study.judges else {},
        )


def _score(answer: CulturallAnswer, is_judged: bool) -> Score:
    return Score.of(answer.counts(is_judged), answer.unscored(is_judged), answer=answer.text)
