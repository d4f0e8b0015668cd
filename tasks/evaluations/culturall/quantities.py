"""Reads numbers with their units from short answers in one of 14 languages. Pure.

A number is written in digits of any script, in Chinese numerals, as a fraction, or as a word where there are
no digits. A text with exactly one number is a quantity. Its other words are kept: units by their name in any
language and ending, others unchanged. Filler words ("about", "the answer is") are left out. Units and filler
words are in quantities.toml.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import takewhile
from math import isclose
from pathlib import Path

NUMBER = re.compile(
    r"(?:(?<![\w.,])[-−])?(?:\d{1,3}(?:[ \u00a0\u202f]\d{3})+(?!\d)(?:[.,]\d+)?|\d+(?:[.,٫٬'’]\d+)*)"
)
_GROUPED = re.compile(r"-?\d{1,3}(?:([.,'’\u00a0\u202f ])\d{2,3})(?:\1\d{2,3})*")
# Short vowels and the lengthening stroke, which Arabic writes or leaves out; Mn of other scripts are letters.
_ARABIC_MARKS = re.compile(r"[\u064b-\u0652\u0640]")
_ARABIC_LETTERS = str.maketrans("أإآى", "اااي")
_FRACTION = re.compile(r"(\d+) (\d)/(\d)(?!\d)")
_CHINESE = re.compile(r"(?<!\d)[〇零一二三四五六七八九十百千两兩]+")
_TENS = {"十": 10, "百": 100, "千": 1000}

_DECIMAL_POINT = frozenset({"bn", "en", "ja", "km", "ko", "ms", "zh"})
"""Languages that write 1.5 and 1,000; in the others a comma before three digits may be either."""
_EITHER = frozenset({"ar", "es"})
"""Languages whose countries differ in this."""
_ARTICLE = re.compile(r"^(?:[بوكف]?ال|لل)(?=\w{3})")
# Scripts without spaces between words, and Hangul, whose particles are written on to the word.
_UNSPACED = "\u0e00-\u0eff\u1100-\u11ff\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\uac00-\ud7af"
_RUNS = re.compile(rf"[{_UNSPACED}]+|[^{_UNSPACED}]+")


@dataclass(frozen=True)
class Quantity:
    """A number, with every value that its marks allow, and the words around it.

    Attributes:
        words: units as ":day", other words folded, without filler words.
        is_bare: whether it is digits or one word alone, without a unit or a scale such as "thousand".
    """

    values: frozenset[float]
    words: tuple[str, ...]
    is_bare: bool


def numbers(text: str) -> list[frozenset[float]]:
    """Return the numbers in a text, in order, each with its possible values: "1.000" is 1 or 1000."""
    return [_values(match[0]) for match in NUMBER.finditer(fold(text))]


def plain_digits(text: str) -> str:
    """Return the text with digits of any script as 0-9, otherwise unchanged."""
    return "".join(str(unicodedata.decimal(c)) if c.isdecimal() else c for c in text)


@lru_cache(maxsize=1 << 16)
def fold(text: str) -> str:
    """Return the text in the form in which words are compared:

    NFKC, case folded, digits of any script as 0-9, without Arabic's optional marks.
    """
    same = _ARABIC_MARKS.sub("", unicodedata.normalize("NFKC", text)).translate(_ARABIC_LETTERS)
    return plain_digits(same.casefold())


def with_digits(text: str, language: str) -> str:
    """Return the folded text with fractions ("1½", "1 1/2") as decimals and Chinese numerals in digits."""
    folded = fold("".join(map(_decimal_fraction, text)))
    folded = _FRACTION.sub(lambda m: f"{int(m[1]) + int(m[2]) / max(int(m[3]), 1):.6g}", folded)
    folded = re.sub(r"(?<![\d.])\.(?=\d)", "0.", folded)
    return _CHINESE.sub(lambda m: _chinese(m[0]), folded) if language in ("ja", "zh") else folded


def _decimal_fraction(character: str) -> str:
    """Return "½" as ".5", which follows "1" in "1½"; any other character unchanged."""
    if unicodedata.category(character) != "No" or "⁄" not in unicodedata.normalize("NFKC", character):
        return character
    return f"{unicodedata.numeric(character):.6g}".removeprefix("0")


def _chinese(numeral: str) -> str:
    """Return "三百二十" as "320"; digits in a row are read one by one: "二〇二五" gives "2025"."""
    if not set(numeral) & set(_TENS):
        return "".join(str(_digit(c)) for c in numeral)
    total = digit = 0
    for character in numeral:
        if character in _TENS:
            total, digit = total + (digit or 1) * _TENS[character], 0
        else:
            digit = _digit(character)
    return str(total + digit)


def _digit(character: str) -> int:
    return 2 if character in "两兩" else int(unicodedata.numeric(character))


def readings(number: str, language: str, is_gold: bool) -> frozenset[float]:
    """Return the values that a number may have in a language; for a gold answer only the likelier one."""
    values, mark = _values(number), re.search(r"[.,]", number)
    if len(values) < 2 or mark is None:
        return values
    small, large = min(values), max(values)
    if language in _DECIMAL_POINT:
        return frozenset({small if mark[0] == "." else large})
    if language not in _EITHER and (mark[0] == "." or is_gold):
        return frozenset({large if mark[0] == "." else small})
    return frozenset({large}) if is_gold else values


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
    """Return whether one mark separates thousands, as in 1,000,000, or in the Indian way, 10,00,000."""
    return _GROUPED.fullmatch(number) is not None and len(re.split(r"\D", number)[-1]) == 3


def quantity(text: str, language: str, is_gold: bool = False) -> Quantity | None:
    """Return the only number of a text with its words; None if the text has no number or several. is_gold:
    take the likelier value if the marks allow two: 1.000 in Spanish is a thousand.
    """
    folded = with_digits(text, language)
    numbers = list(_numbers(folded, language, is_gold))
    if not numbers:
        return _in_words(folded, language)
    if len(numbers) > 1:
        return None
    values, start, end = numbers[0]
    if not values:
        return None
    words = _claims(f"{folded[:start]} {folded[end:]}", language)
    return Quantity(values, words, not words and not any(map(str.isalpha, folded[start:end])))


def is_same_quantity(answer: Quantity, wanted: Quantity, question: str, language: str) -> bool:
    """Return whether an answer has the wanted value in the wanted unit. A bare number is enough if the
    question names the unit. An answer may repeat words of the question, but no other unit, even if the
    question names that unit.
    """
    if not any(isclose(one, other, rel_tol=1e-9) for one in answer.values for other in wanted.values):
        return False
    named = _claims(with_digits(question, language), language)
    if not answer.words:
        return not wanted.words or any(_is_named(word, named, question) for word in wanted.words)
    if not all(_is_in(word, answer.words) for word in wanted.words):
        return False
    further = [word for word in answer.words if not _is_in(word, wanted.words)]
    if wanted.words and any(word.startswith(":") for word in further):
        return False
    return all(_is_named(word, named, question) for word in further)


def takes_back(answer: str, gold: str, question: str, language: str) -> bool:
    """Return whether an answer denies its value, or makes it a bound that is in neither gold nor question. A
    denial in the question does not excuse a denial in the answer.
    """
    answer_text, right, question_text = (_flat(text, language) for text in (answer, gold, question))
    denials = (phrase for phrase in _phrases("negations", language) if _has(answer_text, phrase))
    bounds = (phrase for phrase in _phrases("bounds", language) if _has(answer_text, phrase))
    return any(not _has(right, phrase) for phrase in denials) or any(
        not _has(right, phrase) and not _has(question_text, phrase) for phrase in bounds
    )


def _numbers(folded: str, language: str, is_gold: bool) -> Iterator[tuple[frozenset[float], int, int]]:
    """Return values, start and end of each number; a number in parts ("3 million 200 thousand") is one."""
    open_: tuple[frozenset[float], int, int, float] | None = None
    for match in NUMBER.finditer(folded):
        scale, end = _scale(folded, match.end(), language)
        values = frozenset(v * scale for v in readings(match[0], language, is_gold))
        if open_ and scale < open_[3] and not folded[open_[2] : match.start()].strip():
            sums = frozenset(one + other for one in open_[0] for other in values)
            open_ = (sums, open_[1], end, scale)
            continue
        if open_:
            yield open_[:3]
        open_ = (values, match.start(), end, scale)
    if open_:
        yield open_[:3]


def _scale(folded: str, start: int, language: str) -> tuple[float, int]:
    """Return the factor of a number that ends here, and the end of its unit's word."""
    rest = folded[start:]
    word = "".join(takewhile(lambda c: unicodedata.category(c)[0] in "LM", rest.lstrip(" ")))
    for run in _RUNS.findall(word)[:1]:
        for form, name in _forms("scales", True).items():
            is_here = run.startswith(form) if re.match(rf"[{_UNSPACED}]", run) else run == form
            if is_here:
                return float(name), start + rest.index(form) + len(form)
        for form, name in _endings("scales"):
            if run.startswith(form):
                return float(name), start + rest.index(run) + len(run)
    return 1.0, start


def _in_words(folded: str, language: str) -> Quantity | None:
    """Return the quantity of a text whose number is one word, such as "seven days"."""
    words = _split(folded, language)
    places = [n for n, word in enumerate(words) if word in _number_words(language)]
    if len(places) != 1:
        return None
    value = _number_words(language)[words[places[0]]]
    rest = " ".join(words[: places[0]] + words[places[0] + 1 :])
    claims = _claims(rest, language)
    return Quantity(frozenset({float(value)}), claims, not claims)


def _claims(folded: str, language: str) -> tuple[str, ...]:
    """Return the distinct words of a folded text without fillers: units as ":day", others unchanged."""
    words, units, fillers = _split(folded, language), _forms("units", False), _fillers(language)
    symbols: list[str] = []
    at = 0
    while at < len(words):
        phrases = (" ".join(words[at : at + n]) for n in (3, 2, 1))
        phrase = next((p for p in phrases if p in units or p in fillers), words[at])
        unit = units.get(phrase) or (None if phrase in fillers else _unit(phrase))
        if unit:
            symbols.append(f":{unit}")
        elif phrase not in fillers:
            symbols.append(phrase)
        at += phrase.count(" ") + 1
    return tuple(dict.fromkeys(symbols))


def _unit(word: str) -> str | None:
    return next((unit for form, unit in _endings("units") if word.startswith(form)), None)


def _split(folded: str, language: str) -> list[str]:
    """Return the words of a folded text, including symbols of units.

    A run without spaces is cut at words of the table, the longest first; the text between two cuts is one
    word.
    """
    apart = "".join(
        c if unicodedata.category(c)[0] in "LMN" else f" {c} " if _is_symbol(c) else " " for c in folded
    )
    words: list[str] = []
    for run in (run for chunk in apart.split() for run in _RUNS.findall(chunk)):
        words += _cut(run, language) if re.match(rf"[{_UNSPACED}]", run) else [_bare(run)]
    return words


def _is_symbol(character: str) -> bool:
    return unicodedata.category(character) == "Sc" or character in "%°/"


def _bare(word: str) -> str:
    """Return the word without the Arabic article and a preposition before it."""
    return _ARTICLE.sub("", word) if len(word) > 4 else word


def _cut(run: str, language: str) -> list[str]:
    known, parts, unknown, at = _vocabulary(language), [], "", 0
    while at < len(run):
        longest = next((n for n in range(min(8, len(run) - at), 0, -1) if run[at : at + n] in known), 0)
        if longest:
            parts += [unknown] if unknown else []
            parts, unknown = [*parts, run[at : at + longest]], ""
        else:
            unknown += run[at]
        at += longest or 1
    return [*parts, unknown] if unknown else parts


def _is_in(word: str, words: Iterable[str]) -> bool:
    return any(_is_alike(word, other) for other in words)


def _is_alike(one: str, other: str) -> bool:
    """Return whether two words differ only in their endings.

    Their lengths are similar, and they share at least three letters: all of the shorter word except its last
    letter, or its last two if it is long.
    """
    if one == other:
        return True
    if one.startswith(":") or other.startswith(":"):
        return False
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
    short, long = sorted((len(one), len(other)))
    return long - short <= 3 and shared >= max(3, short - (2 if short > 5 else 1))


def _is_named(word: str, named: Iterable[str], question: str) -> bool:
    if re.match(rf"[{_UNSPACED}]", word):
        return word in fold(question).replace(" ", "")
    return _is_in(word, named)


def _flat(text: str, language: str) -> str:
    """Return the words of a text separated by single spaces, with a space at either end."""
    folded = fold(text)
    apart = "".join(c if unicodedata.category(c)[0] in "LMN" else " " for c in folded)
    return f" {' '.join(apart.split())} "


def _has(flat: str, phrase: str) -> bool:
    """Return whether a text contains a phrase: as whole words, or anywhere in scripts without spaces."""
    if re.match(rf"[{_UNSPACED}]", phrase):
        return phrase in flat.replace(" ", "")
    return f" {phrase} " in flat


@cache
def _table() -> Mapping[str, Mapping[str, str]]:
    text = Path(__file__).with_name("quantities.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


@cache
def _phrases(kind: str, language: str) -> tuple[str, ...]:
    """Return the forms of a table in a language and in English."""
    own = f"{_table()[kind].get(language, '')} {_table()[kind]['en']}"
    return tuple(dict.fromkeys(form.replace("_", " ") for form in fold(own).split()))


@cache
def _forms(kind: str, longest_first: bool) -> Mapping[str, str]:
    """Return form -> name for forms without a star."""
    pairs = [
        (form.replace("_", " "), name)
        for name, forms in _table()[kind].items()
        for form in fold(forms).split()
        if not form.endswith("*")
    ]
    return dict(sorted(pairs, key=lambda pair: -len(pair[0])) if longest_first else pairs[::-1])


@cache
def _endings(kind: str) -> tuple[tuple[str, str], ...]:
    """Return (beginning, name) of forms with a star, the longest first."""
    pairs = [
        (form[:-1], name)
        for name, forms in _table()[kind].items()
        for form in fold(forms).split()
        if form.endswith("*")
    ]
    return tuple(sorted(pairs, key=lambda pair: -len(pair[0])))


@cache
def _fillers(language: str) -> frozenset[str]:
    return frozenset(map(_bare, _phrases("fillers", language)))


@cache
def _number_words(language: str) -> Mapping[str, int]:
    """Return word -> number, for a language and for English."""
    return {
        _bare(form): n
        for name in ("en", language)
        for n, forms in enumerate(fold(_table()["numbers"].get(name, "")).split())
        for form in forms.split("/")
    }


@cache
def _vocabulary(language: str) -> frozenset[str]:
    """Return the words at which a run without spaces is cut."""
    return frozenset({*_forms("units", False), *_fillers(language), *_number_words(language)})
