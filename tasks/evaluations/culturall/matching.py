"""Decides without a judge whether an answer is the gold one: text, letter, number with unit, or date. Pure.

An answer is right if it equals the gold answer or one of its accepted variants. Texts are compared without
case, punctuation and the marks that a script may leave out; dates by day, month and, where both name it,
year; numbers by value and unit (``quantities``): a bare number is right only where the question names the
unit, another unit is wrong. Words around the answer make it wrong, since the prompt asks for as few words as
possible; only filler words around a number or letter are allowed. A denied answer is wrong.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from datetime import datetime
from functools import lru_cache
from itertools import pairwise

import dateparser

from tasks.evaluations.culturall.quantities import (
    Quantity,
    fold,
    is_same_quantity,
    plain_digits,
    quantity,
    takes_back,
)

LETTERS = ("A", "B", "C", "D")
"""The options of multiple choice."""

# Letters of other alphabets that look like the options' letters, on the keyboards of four of the languages.
_LOOKALIKES = str.maketrans("АВС", "ABC")
_LETTER = re.compile(r"(?<![^\W_])([A-D])(?![^\W_])")
# Alone at the end or before a mark: "A cup" and "В Москве" name no option.
_LONE = re.compile(r"(?<![^\W_])([A-D])(?=\s*(?:$|[^\w\s]))")
_MINUS = re.compile(r"(?<!\w)[-−](?=\d)")
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
# Without a year, dateparser does not know these.
_CJK_DATE = re.compile(r"(?:(\d{4})\s*[年년]\s*)?(\d{1,2})\s*[月월]\s*(\d{1,2})\s*[日号號일]")
_YEAR = {"REQUIRE_PARTS": ["day", "month", "year"]}
_DAY = {"REQUIRE_PARTS": ["day", "month"]}


def is_match(answer: str, accepted: Iterable[str], language: str, question: str = "") -> bool:
    """Return whether a free answer is accepted. accepted: gold answer, then variants; a variant that is a
    bare number equal to the gold answer has its unit. question: may name a unit, which the answer can then
    omit.
    """
    golds = list(accepted)
    first = quantity(golds[0], language, is_gold=True) if golds else None
    return any(_is_same(answer, gold, first, language, question) for gold in golds)


def chosen_letter(answer: str, question: str, language: str = "en") -> str | None:
    """Return the option that an answer to multiple choice names, by its letter or by the text of exactly one
    option. None if the answer names no option or several, or denies the one that it names.
    """
    text = unicodedata.normalize("NFKC", answer).strip().translate(_LOOKALIKES)
    text = text.upper() if len(text) < 3 else text
    letters = set(_LETTER.findall(text))
    if len(letters) == 1 and letters == set(_LONE.findall(text)):
        letter = str(letters.pop())
        return None if takes_back(answer, options(question).get(letter, ""), "", language) else letter
    flat = plain(answer)
    same = [k for k, v in options(question).items() if flat and flat in (plain(v), plain(f"{k} {v}"))]
    return same[0] if len(same) == 1 else None


def options(question: str) -> dict[str, str]:
    """Return letter -> text of the options in a question, written "A. text" or "A) text"; {} if one is
    missing.
    """
    text = unicodedata.normalize("NFKC", question).translate(_LOOKALIKES)
    marks = list(re.finditer(r"(?<![^\W_])([A-D])\s*[.):、]\s*", text))
    starts = {mark[1]: mark for mark in marks}
    if tuple(starts) != LETTERS:
        return {}
    ends = [later.start() for _, later in pairwise(starts.values())] + [len(text)]
    return {
        letter: text[mark.end() : end].strip(" \n;,/")
        for (letter, mark), end in zip(starts.items(), ends, strict=True)
    }


@lru_cache(maxsize=1 << 16)
def plain(text: str) -> str:
    """Return a text in the form for comparison: folded (``quantities.fold``), single-spaced, without
    punctuation, symbols and English articles.
    """
    text = _MINUS.sub("minus", fold(text))
    characters = (" " if unicodedata.category(c)[0] in "PSZC" else c for c in text)
    return " ".join(_ARTICLES.sub(" ", "".join(characters)).split())


def _is_same(answer: str, gold: str, first: Quantity | None, language: str, question: str) -> bool:
    """Return whether answer and variant are the same. first: the item's gold answer, if it is a quantity; it
    may have a unit that the variant lacks.
    """
    wanted = quantity(gold, language, is_gold=True)
    is_bare = wanted is not None and wanted.is_bare
    if wanted and is_bare and first and first.words and wanted.values == first.values:
        wanted = first
    elif plain(answer) == plain(gold) and (wanted is None or not wanted.words):
        return bool(plain(gold))
    if takes_back(answer, gold, question, language):
        return False
    if not is_bare and (date := _date(gold, language)):  # 1.8 is not the first of August
        other = _date(answer, language)
        if other is None or date[:2] != other[:2]:
            return False
        return None in (date[2], other[2]) or date[2] == other[2]
    value = quantity(answer, language)
    if wanted is None or value is None:
        return False
    if first and first.words and not wanted.words:
        return False  # a number such as "90k" without its unit counts only if it equals the answer exactly
    return is_same_quantity(value, wanted, question, language)


@lru_cache(maxsize=65_536)
def _date(text: str, language: str) -> tuple[int, int, int | None] | None:
    """Return (day, month, year or None) of a text that is a date and nothing else."""
    if not any(c.isdecimal() for c in text) or len(text) > 40:
        return None
    if cjk := _CJK_DATE.fullmatch(plain_digits(text).strip(" 。.")):
        return int(cjk[3]), int(cjk[2]), int(cjk[1]) if cjk[1] else None
    for settings, has_year in ((_YEAR, True), (_DAY, False)):
        day = _parsed(plain_digits(text), language, settings)
        if day is not None:
            return day.day, day.month, day.year if has_year else None
    return None


def _parsed(text: str, language: str, settings: dict[str, list[str]]) -> datetime | None:
    known = [language] if language in _languages() else ["en"]
    settings = {**settings, "PARSERS": ["absolute-time"]}
    day: datetime | None = dateparser.parse(text, languages=known, settings=settings)
    return day


@lru_cache(maxsize=1)
def _languages() -> frozenset[str]:
    from dateparser.data.languages_info import language_order

    return frozenset(language_order)
