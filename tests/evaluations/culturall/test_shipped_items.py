"""Every shipped item takes its own answers in their plain forms, and no other option's."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tasks.evaluations.culturall.items import CulturallItem, load_items
from tasks.evaluations.culturall.matching.choices import LETTERS, options
from tasks.evaluations.culturall.read import matches
from tasks.packs.published import read_rows

LANGUAGES = ("ar", "be", "bn", "en", "es", "ja", "kk", "km", "ko", "ms", "ru", "sr", "vi", "zh")
LOOKALIKES = {"A": "А", "B": "В", "C": "С"}
"""Cyrillic letters that look like an option's."""


@cache
def rows() -> list[dict[str, str]]:
    folder = Path("warehouse/reference/culturall_item")
    return [row for path in sorted(folder.glob("*.csv")) for row in read_rows(path)]


@cache
def shipped() -> tuple[CulturallItem, ...]:
    return load_items(rows(), "culturall_item").items


def of(language: str, form: str) -> list[CulturallItem]:
    return [item for item in shipped() if (item.language, item.form) == (language, form)]


def plain_forms(letter: str, text: str) -> Iterator[str]:
    """Yield the ways of naming an option."""
    other = LOOKALIKES.get(letter, letter)
    wide = chr(ord(letter) + 0xFEE0)
    yield from (letter, letter.lower(), f"({letter})", f"({letter.lower()})", f"{letter.lower()}.", other)
    yield from (f"**{letter}**", wide, f"{letter}.", f"{letter})", f"{letter}. {text}", f"{letter}) {text}")
    yield from (f"{other}. {text}", f"{letter}: {text}", text, f"{text}.", f'"{text}"', text.upper())


def both_questions(item: CulturallItem) -> list[dict[str, str]]:
    assert item.english
    return [options(item.native.question), options(item.english.question)]


@pytest.mark.parametrize("language", LANGUAGES)
def test_options_name_themselves_and_no_other(language: str) -> None:
    for item in of(language, "choice"):
        for texts in both_questions(item):
            assert tuple(texts) == LETTERS
            wrong = [
                (item.item, form)
                for letter, text in texts.items()
                for form in plain_forms(letter, text)
                if matches(item, form) != (letter == item.native.answer)
            ]
            assert not wrong


NOT = {
    "ar": "ليس {}", "be": "не {}", "bn": "{} নয়", "en": "not {}", "es": "no es {}", "ja": "{}ではない",
    "kk": "{} емес", "km": "មិនមែន {}", "ko": "{}가 아닙니다", "ms": "bukan {}", "ru": "не {}",
    "sr": "није {}", "vi": "không phải {}", "zh": "不是{}",
}  # fmt: skip
OR = {
    "ar": "{} أو {}", "be": "{} або {}", "bn": "{} অথবা {}", "en": "{} or {}", "es": "{} o {}", "ja": "{}か{}",
    "kk": "{} немесе {}", "km": "{} ឬ {}", "ko": "{} 또는 {}", "ms": "{} atau {}", "ru": "{} или {}",
    "sr": "{} или {}", "vi": "{} hoặc {}", "zh": "{}或{}",
}  # fmt: skip
ANSWER_IS = {
    "ar": "الإجابة هي {}", "be": "Правільны адказ: {}", "bn": "সঠিক উত্তর হলো {}", "en": "The answer is {}.",
    "es": "La respuesta es la {}.", "ja": "答えは{}です", "kk": "Дұрыс жауап: {}", "km": "ចម្លើយគឺ {}",
    "ko": "정답은 {}입니다", "ms": "Jawapannya {}", "ru": "Правильный ответ — {}", "sr": "Odgovor je {}",
    "vi": "Đáp án là {}", "zh": "答案是{}",
}  # fmt: skip


@pytest.mark.parametrize("language", LANGUAGES)
def test_letters_are_taken_in_a_frame_and_neither_denied_nor_among_others(language: str) -> None:
    for item in of(language, "choice"):
        gold, other = item.native.answer, "B" if item.native.answer == "A" else "A"
        listed = "\n".join(f"{letter}. {text}" for letter, text in options(item.native.question).items())
        assert matches(item, ANSWER_IS[language].format(gold)), item.item
        for wrong in (
            ANSWER_IS[language].format(other),
            NOT[language].format(gold),
            OR[language].format(gold, other),
            OR[language].format(other, gold),
            f"{gold}, {other}",
            listed,
            item.native.question,
            "?",
        ):
            assert not matches(item, wrong), (item.item, wrong)


@pytest.mark.parametrize("language", LANGUAGES)
def test_accepted_answers_are_taken_in_plain_forms(language: str) -> None:
    for item in (*of(language, "free"), *of(language, "choice")):
        for text in (*item.accepted, *item.accepted_in_english):
            for form in (f"{text}.", f'"{text}"', text.upper(), f"**{text}**"):
                assert matches(item, form), (item.item, form)


@pytest.mark.parametrize("language", LANGUAGES)
def test_accepted_answers_are_neither_denied_nor_among_others(language: str) -> None:
    for item in of(language, "free"):
        gold = item.native.answer
        for wrong in (
            NOT[language].format(gold),
            OR[language].format(gold, "42"),
            OR[language].format("42", gold),
        ):
            assert not matches(item, wrong), (item.item, wrong)
        assert not matches(item, item.native.question)


@pytest.mark.parametrize("language", LANGUAGES)
def test_other_numbers_years_and_currencies_are_wrong(language: str) -> None:
    """Each change of a digit, a year or a currency in an accepted answer makes it another answer."""
    for item in of(language, "free"):
        gold = item.native.answer
        digits = [at for at, c in enumerate(gold) if c.isdecimal()]
        for at in digits:
            changed = (
                gold[:at] + chr(ord(gold[at]) + (1 if gold[at] not in "9৯٩៩９" else -1)) + gold[at + 1 :]
            )
            assert not matches(item, changed), (item.item, changed)
        if digits:
            for more in (f"{gold} %", f"{gold} USD/EUR", f"{gold} tonnes", f"−{gold}"):
                assert not matches(item, more), (item.item, more)


def test_every_item_has_variants_in_english_about_as_many_as_in_its_own_language() -> None:
    free = [item for item in shipped() if item.form == "free"]
    assert all(item.english_variants for item in free)
    own, english = (
        sum(len(texts) for texts in of_items) / len(free)
        for of_items in ([i.variants for i in free], [i.english_variants for i in free])
    )
    assert abs(own - english) < 0.5


AGE_OF_LAW = re.compile(
    r"\b(?:ages?|aged|of|from|under|over|above|at|is|older than) (1[2-9]|2[01]|6[05]|70)\b"
)
AGE_OF_PERSON = re.compile(r"\b(?:is|aged|turned) (\d\d)\b(?! [A-Z%]|,\d)|\b(\d\d)-year-old")


def test_nobody_has_exactly_the_age_at_which_a_law_begins() -> None:
    """Laws say "from fifteen" and "older than fifteen", and translations mix them up."""
    found, seen = [], 0
    for row in rows():
        law = set(AGE_OF_LAW.findall(f"{row['fact']} {row['explanation_en']}"))
        people = {a or b for a, b in AGE_OF_PERSON.findall(row["scenario_en"])}
        seen += bool(law and people)
        if law & people:
            found.append(row["item"])
    assert seen
    assert not found
