"""Is an answer the gold one? Decided without a judge: text, letter, number with unit, or date. Pure.

An answer is right if it equals the gold answer or one of its accepted variants. Texts are compared without
case, punctuation and the marks that a script may leave out; numbers by their value, with digits of any script
and either way of grouping; dates by day, month and, where both name it, year. Words around the answer make it
wrong, but for those around a number or a letter: the prompt asks for as few words as possible.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from datetime import datetime
from functools import lru_cache
from itertools import pairwise

import dateparser

LETTERS = ("A", "B", "C", "D")
"""The options of multiple choice."""

# Letters of other alphabets that look like the options' and stand on the keyboards of four of the languages.
_LOOKALIKES = str.maketrans("АВС", "ABC")
_LETTER = re.compile(r"(?<![^\W_])([A-D])(?![^\W_])")
# Alone at the end or before a mark: "A cup" and "В Москве" name no option.
_LONE = re.compile(r"(?<![^\W_])([A-D])(?=\s*(?:$|[^\w\s]))")
_NUMBER = re.compile(r"[-−]?\d+(?:[.,٫٬'’\u00a0\u202f ]\d+)*")
_MINUS = re.compile(r"(?<!\w)[-−](?=\d)")
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
# Short vowels and the lengthening stroke, which Arabic writes or leaves out; Mn of other scripts are letters.
_ARABIC_MARKS = re.compile(r"[\u064b-\u0652\u0640]")
_ARABIC_LETTERS = str.maketrans("أإآى", "اااي")
# Without a year, dateparser does not know these.
_CJK_DATE = re.compile(r"(?:(\d{4})\s*[年년]\s*)?(\d{1,2})\s*[月월]\s*(\d{1,2})\s*[日号號일]")
_YEAR = {"REQUIRE_PARTS": ["day", "month", "year"]}
_DAY = {"REQUIRE_PARTS": ["day", "month"]}


def is_match(answer: str, accepted: Iterable[str], language: str) -> bool:
    """Whether a free answer is one of those accepted: gold answer and variants, in their language."""
    return any(_is_same(answer, gold, language) for gold in accepted)


def chosen_letter(answer: str, question: str) -> str | None:
    """The option that an answer to multiple choice names: a letter, or the text of one option alone.

    None if it names none, or several.
    """
    text = unicodedata.normalize("NFKC", answer).strip().translate(_LOOKALIKES)
    text = text.upper() if len(text) < 3 else text
    letters = set(_LETTER.findall(text))
    if len(letters) == 1 and letters == set(_LONE.findall(text)):
        return str(letters.pop())
    said = plain(answer)
    same = [k for k, v in options(question).items() if said and said in (plain(v), plain(f"{k} {v}"))]
    return same[0] if len(same) == 1 else None


def options(question: str) -> dict[str, str]:
    """Letter -> text of the options that stand in a question, as "A. text" or "A) text"; {} if one lacks."""
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


def plain(text: str) -> str:
    """The form in which texts are compared: NFKC, case folded, digits of any script as 0-9, words apart by
    one space, without punctuation, symbols, English articles and Arabic's optional marks."""
    text = _ARABIC_MARKS.sub("", unicodedata.normalize("NFKC", text)).translate(_ARABIC_LETTERS).casefold()
    text = _MINUS.sub("minus", text)
    kept = (_digit(c) if c.isdecimal() else " " if unicodedata.category(c)[0] in "PSZC" else c for c in text)
    return " ".join(_ARTICLES.sub(" ", "".join(kept)).split())


def numbers(text: str) -> list[frozenset[float]]:
    """The numbers in a text, in order, each as the values that it may have: "1.000" is 1 or 1000."""
    ascii_digits = "".join(_digit(c) if c.isdecimal() else c for c in unicodedata.normalize("NFKC", text))
    return [_values(number) for number in _NUMBER.findall(ascii_digits)]


def _is_same(answer: str, gold: str, language: str) -> bool:
    if plain(answer) == plain(gold):
        return bool(plain(gold))
    if date := _date(gold, language):
        other = _date(answer, language)
        if other is None or date[:2] != other[:2]:
            return False
        return None in (date[2], other[2]) or date[2] == other[2]
    return _is_same_number(answer, gold)


def _is_same_number(answer: str, gold: str) -> bool:
    """One number each of equal value, with the same unit, or one without."""
    said, right = numbers(answer), numbers(gold)
    if len(said) != 1 or len(right) != 1 or said[0].isdisjoint(right[0]):
        return False
    unit, wanted = _without_numbers(answer), _without_numbers(gold)
    return not unit or not wanted or unit == wanted


def _without_numbers(text: str) -> str:
    return plain(re.sub(r"[\d.,٫٬'’−-]", " ", plain_digits(text)))


def plain_digits(text: str) -> str:
    """Digits of any script as 0-9; all else as it stands."""
    return "".join(_digit(c) if c.isdecimal() else c for c in text)


def _values(number: str) -> frozenset[float]:
    number = number.replace("−", "-").replace("٫", ".").replace("٬", ",")
    digits = re.sub(r"['’\u00a0\u202f ]", "", number)
    values = {float(re.sub("[.,]", "", digits))} if _is_grouped(number) else set()
    head, mark, tail = re.match(r"(.*?)(?:([.,])([^.,]*))?$", digits).groups()  # type: ignore[union-attr]
    if not mark:
        values.add(float(digits))
    elif mark not in head:
        values.add(float(f"{re.sub('[.,]', '', head)}.{tail}"))
    return frozenset(values)


def _is_grouped(number: str) -> bool:
    """Thousands apart by one mark, as in 1,000,000, or as in India: 10,00,000."""
    return (
        re.fullmatch(r"-?\d{1,3}(?:([.,'’\u00a0\u202f ])\d{2,3})(?:\1\d{2,3})*", number) is not None
        and len(re.split(r"\D", number)[-1]) == 3
    )


@lru_cache(maxsize=65_536)
def _date(text: str, language: str) -> tuple[int, int, int | None] | None:
    """(day, month, year or None) of a text that is a date and nothing else."""
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


def _digit(character: str) -> str:
    return str(unicodedata.decimal(character))
