"""Tokens of short answers, and their forms for comparison: base units, currencies, weekdays. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date
from math import isclose
from typing import Any


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
