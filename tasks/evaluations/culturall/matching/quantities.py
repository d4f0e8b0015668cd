"""Reads numbers from texts in one of 14 languages; numbers, units, dates and times as values. Pure.

A number is written in digits of any script, in Chinese numerals, as a fraction, or with a scale ("3 million
200 thousand" is one number). Marks may allow two values: "1.000" is 1 or 1000.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from itertools import takewhile
from math import isclose
from typing import Any, NamedTuple

import regex  # type: ignore[import-untyped]

from tasks.evaluations.culturall.matching.locales import fold, is_decimal_point, listed, words

NUMBER = regex.compile(
    r"(?:(?<![\w.,])[-−])?(?:\d{1,3}(?:[ \u00a0\u202f]\d{3})+(?!\d)(?:[.,]\d+)?|\d+(?:[.,٫٬'’]\d+)*)"
)
UNSPACED = "\u0e00-\u0eff\u1100-\u11ff\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\uac00-\ud7af"
"""Scripts without spaces between words, and Hangul, whose particles are written on to the word."""
IS_UNSPACED = regex.compile(rf"[{UNSPACED}]")
"""Matches a text that begins in such a script."""
RUN = regex.compile(rf"[{UNSPACED}]+|[^{UNSPACED}]+")
"""A run of such a script, or of others."""

_GROUPED = regex.compile(r"-?\d{1,3}(?:([.,'’\u00a0\u202f ])\d{2,3})(?:\1\d{2,3})*")
_FRACTION = regex.compile(r"(\d+) (\d)/(\d)(?!\d)")
_CHINESE = regex.compile(r"(?<!\d)[〇零一二三四五六七八九十百千两兩廿卅]+")
_TENS = {"十": 10, "百": 100, "千": 1000}
_EITHER = frozenset({"ar", "es", "km"})
"""Languages whose countries differ in the decimal mark."""


@dataclass(frozen=True)
class Number:
    """A number by every value that its marks allow."""

    values: frozenset[float]
    text: str = field(default="", compare=False)


@dataclass(frozen=True)
class Unit:
    """A unit by CLDR's name, or the currencies that a word may mean, by ISO 4217 code."""

    names: frozenset[str]
    text: str = field(default="", compare=False)


@dataclass(frozen=True)
class Date:
    """A day of the year; several where the order of day and month is open. year: None if not stated."""

    days: frozenset[tuple[int, int]]
    year: int | None


@dataclass(frozen=True)
class Time:
    """A time of day by the minutes after midnight that it may mean."""

    minutes: frozenset[int]


@dataclass(frozen=True)
class Weekday:
    """A day of the week, Monday as 0."""

    day: int


@dataclass(frozen=True)
class Word:
    """A word, or a sign that has a meaning."""

    text: str


Token = Number | Unit | Date | Time | Weekday | Word

_BASE = {
    "length-millimeter": (0.001, "length-meter"),
    "length-centimeter": (0.01, "length-meter"),
    "length-kilometer": (1000.0, "length-meter"),
    "mass-milligram": (0.001, "mass-gram"),
    "mass-kilogram": (1000.0, "mass-gram"),
    "mass-tonne": (1e6, "mass-gram"),
    "volume-milliliter": (0.001, "volume-liter"),
    "duration-hour": (60.0, "duration-minute"),
    "duration-week": (7.0, "duration-day"),
}
"""Unit -> its size in the unit that its kind is compared in."""


def currency_after_number(read: Sequence[Token]) -> list[Token]:
    """Return the tokens with a currency that is written before its number after it, and twice named once."""
    found: list[Token] = []
    for token in read:
        last = found[-1] if found else None
        if isinstance(last, Unit) and isinstance(token, Unit) and last.names & token.names:
            found[-1] = Unit(last.names & token.names)
            continue
        is_before = found and isinstance(found[-1], Unit) and isinstance(token, Number)
        if is_before and not (len(found) > 1 and isinstance(found[-2], Number)):
            found.insert(-1, token)
        else:
            found.append(token)
    return found


def in_base_units(read: Sequence[Token]) -> list[Token]:
    """Return the tokens with lengths, weights, volumes and times in one unit of their kind."""
    found: list[Token] = []
    for token in currency_after_number(read):
        factor, base = _BASE.get(min(token.names), (1.0, "")) if isinstance(token, Unit) else (1.0, "")
        last = found[-1] if found else None
        if base and isinstance(last, Number):
            found[-1:] = [Number(frozenset(value * factor for value in last.values)), Unit(frozenset({base}))]
        else:
            found.append(token)
    return found


def agreed(sets: Iterable[frozenset[Any]]) -> frozenset[Any]:
    """Return what sets have in common, without those that have nothing in common with the ones before."""
    common: frozenset[Any] = frozenset()
    for one in sets:
        common = (common & one or common) if common else one
    return common


def weekday(year: int, month: int, day: int) -> int | None:
    try:
        return date(year, month, day).weekday()
    except ValueError:
        return None


def are_equal(one: float, other: float) -> bool:
    """Return whether two numbers are equal, up to rounding; whole numbers, such as long codes, exactly."""
    if float(one).is_integer() and float(other).is_integer():
        return one == other
    return isclose(one, other, rel_tol=1e-12)


class Span(NamedTuple):
    """A number in a text: every value that its marks allow, and where it begins and ends."""

    values: frozenset[float]
    start: int
    end: int


def numbers(text: str) -> list[frozenset[float]]:
    """Return the numbers in a text, in order, each with its possible values: "1.000" is 1 or 1000."""
    return [_values(match[0]) for match in NUMBER.finditer(fold(text))]


def with_digits(text: str, language: str) -> str:
    """Return the folded text with fractions ("1½", "1 1/2") as decimals and Chinese numerals in digits."""
    text = regex.sub(r"(?<=\d) (?=\p{No})", "", text.replace("№", " "))
    folded = fold("".join(map(_decimal_fraction, text)), language)
    folded = _FRACTION.sub(lambda m: f"{int(m[1]) + int(m[2]) / max(int(m[3]), 1):.6g}", folded)
    folded = regex.sub(r"(?<![\d.])\.(?=\d)", "0.", folded)
    return str(_CHINESE.sub(lambda m: _chinese(m[0]), folded)) if language in ("ja", "zh") else str(folded)


def spans(folded: str, language: str, is_gold: bool) -> Iterator[Span]:
    """Yield the numbers of a folded text; a number in parts ("3 million 200 thousand") is one. is_gold: take
    the likelier value if the marks allow two.
    """
    open_: Span | None = None
    last_scale = 1.0
    for match in NUMBER.finditer(folded):
        scale, end = _scale(folded, match.end())
        values = frozenset(v * scale for v in readings(match[0], language, is_gold))
        if open_ and scale < last_scale and not folded[open_.end : match.start()].strip():
            sums = frozenset(one + other for one in open_.values for other in values)
            open_, last_scale = Span(sums, open_.start, end), scale
            continue
        if open_:
            yield open_
        open_, last_scale = Span(values, match.start(), end), scale
    if open_:
        yield open_


def readings(number: str, language: str, is_gold: bool) -> frozenset[float]:
    """Return the values that a number may have in a language; for a gold answer only the likelier one."""
    values, mark = _values(number), regex.search(r"[.,]", number)
    if len(values) < 2 or mark is None:
        return values
    small, large = min(values), max(values)
    if language in _EITHER:
        return frozenset({large}) if is_gold else values
    if is_decimal_point(language):
        return frozenset({small if mark[0] == "." else large})
    if mark[0] == "." or is_gold:
        return frozenset({large if mark[0] == "." else small})
    return values


def _decimal_fraction(character: str) -> str:
    """Return "½" as ".5", which follows "1" in "1½"; any other character unchanged."""
    if unicodedata.category(character) != "No" or "⁄" not in unicodedata.normalize("NFKC", character):
        return character
    return f"{unicodedata.numeric(character):.6g}".removeprefix("0")


def _chinese(numeral: str) -> str:
    """Return "三百二十" as "320"; digits in a row are read one by one: "二〇二五" gives "2025"."""
    numeral = numeral.replace("廿", "二十").replace("卅", "三十")
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


def _values(number: str) -> frozenset[float]:
    number = number.replace("−", "-").replace("٫", ".").replace("٬", ",")
    digits = regex.sub(r"['’\u00a0\u202f ]", "", number)
    values = {float(regex.sub("[.,]", "", digits))} if _is_grouped(number) else set()
    head, mark, tail = regex.match(r"(.*?)(?:([.,])([^.,]*))?$", digits).groups()
    if not mark:
        values.add(float(digits))
    elif mark not in head:
        values.add(float(f"{regex.sub('[.,]', '', head)}.{tail}"))
    return frozenset(values)


def _is_grouped(number: str) -> bool:
    """Return whether one mark separates thousands, as in 1,000,000, or in the Indian way, 10,00,000."""
    return _GROUPED.fullmatch(number) is not None and len(regex.split(r"\D", number)[-1]) == 3


def _scale(folded: str, start: int) -> tuple[float, int]:
    """Return the factor of a number that ends here, and the end of its word."""
    rest = folded[start:]
    word = "".join(takewhile(lambda c: unicodedata.category(c)[0] in "LM", rest.lstrip(" ")))
    for run in RUN.findall(word)[:1]:
        for form, factor in _scales().items():
            stem = form.rstrip("*")
            is_here = run.startswith(stem) if stem != form or IS_UNSPACED.match(run) else run == form
            if is_here:
                return factor, start + rest.index(run) + (len(run) if stem != form else len(form))
    return 1.0, start


@cache
def _scales() -> Mapping[str, float]:
    """Return form -> factor, the longest form first."""
    pairs = [(form, float(row)) for row in words()["scales"] for form in listed("scales", row, "")]
    pairs += [(form, float(row)) for row in words()["scales"] for form in listed("scales", row, "sr")]
    return dict(sorted(pairs, key=lambda pair: -len(pair[0])))
