"""Names of units, currencies, months, days and times of day in a language, from CLDR (babel). Pure.

Every table maps a phrase, in the form of ``fold``, to what it names. English names are known in every
language. What CLDR lacks (colloquial names, other cases) is in quantities.toml.
"""

from __future__ import annotations

import tomllib
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import regex  # type: ignore[import-untyped]
from babel import Locale, UnknownLocaleError, localedata
from babel.core import get_global
from babel.numbers import get_currency_name, get_currency_symbol, get_decimal_symbol, get_territory_currencies
from babel.units import format_unit

_RELATED = {
    "sr": ("sr_Cyrl", "sr_Latn", "hr", "bs_Latn"),
    "zh": ("zh_Hans", "zh_Hant", "zh_Hant_HK"),
    "ar": tuple(sorted(name for name in localedata.locale_identifiers() if name.startswith("ar"))),
}
"""Locales that write one language with other names of months and currencies."""

_UNITS = (
    "duration-second", "duration-minute", "duration-hour", "duration-day", "duration-week", "duration-month",
    "duration-year", "length-millimeter", "length-centimeter", "length-meter", "length-kilometer",
    "length-mile", "length-foot", "length-inch", "area-square-foot", "area-square-meter", "area-hectare",
    "area-acre", "mass-gram", "mass-kilogram", "mass-milligram", "mass-tonne", "mass-ounce", "volume-liter",
    "volume-milliliter", "volume-cup", "volume-tablespoon", "volume-teaspoon", "temperature-celsius",
    "temperature-fahrenheit", "angle-degree", "concentr-percent", "frequency-hertz",
)  # fmt: skip
_COUNTS = (1, 2, 3, 5, 11, 100, 1.5)
"""Numbers that between them take every plural form of the languages."""
_LETTERS_APART = regex.compile(r"[^\p{L}\p{M}\p{S}%°]+")
# Arabic's short vowels and lengthening stroke, which may be left out; Mn of other scripts are letters.
_ARABIC_MARKS = regex.compile(r"[\u064b-\u0652\u0640]")
_ALIKE = str.maketrans("أإآىةёѐ", "ااايهее")
_TURNED = str.maketrans(
    dict(zip("абвгдђежзијклмнопрстћуфхцчш", "abvgdđežzijklmnoprstćufhcčš", strict=True))
    | {"љ": "lj", "њ": "nj", "џ": "dž"}
)  # fmt: skip
_NO_CODES = frozenset({"all", "cup", "mad", "pen", "sit", "top", "try"})
"""ISO 4217 codes that are English words."""
_MORNING, _EVENING = (0, 12), (12, 24)


@lru_cache(maxsize=1 << 16)
def fold(text: str, language: str = "") -> str:
    """Return the text in the form in which words are compared: NFKC, case folded, digits of any script as
    0-9, without invisible characters and the marks that Arabic may leave out. Serbian is in Latin letters.
    """
    same = "".join(c for c in unicodedata.normalize("NFKC", text) if unicodedata.category(c) != "Cf")
    same = _ARABIC_MARKS.sub("", same).casefold().translate(_ALIKE)
    if language == "sr":
        same = same.translate(_TURNED)
    return plain_digits(same)


def unmarked(text: str) -> str:
    """Return the text without the marks that Arabic may leave out and without invisible characters."""
    return "".join(c for c in _ARABIC_MARKS.sub("", text) if unicodedata.category(c) != "Cf")


def plain_digits(text: str) -> str:
    """Return the text with digits of any script as 0-9, otherwise unchanged."""
    return "".join(str(unicodedata.decimal(c)) if c.isdecimal() else c for c in text)


def phrase(text: str, language: str) -> str:
    """Return the words of a text, folded, separated by single spaces, without numbers and punctuation."""
    return " ".join(_LETTERS_APART.sub(" ", fold(text, language)).split())


@cache
def words() -> Mapping[str, Mapping[str, str]]:
    """Return the tables of quantities.toml."""
    return tomllib.loads(Path(__file__).with_name("quantities.toml").read_text(encoding="utf-8"))


def listed(kind: str, name: str, language: str) -> list[str]:
    """Return the folded forms of a row of quantities.toml; "_" joins the words of one form."""
    return [fold(form, language).replace("_", " ") for form in words()[kind].get(name, "").split()]


@cache
def own_and_english(kind: str, language: str) -> frozenset[str]:
    """Return the folded forms of a table by language, in a language and in English."""
    return frozenset(listed(kind, language, language) + listed(kind, "en", language))


def is_decimal_point(language: str) -> bool:
    """Return whether a language writes 1.5 and 1,000."""
    locale = _locale(language)
    return locale is None or get_decimal_symbol(locale) == "."


@cache
def has_24_hours(language: str) -> bool:
    """Return whether a language writes hours from 0 to 24, so that 12:00 is noon."""
    locale = _locale(language)
    return locale is not None and "H" in str(locale.time_formats["short"].pattern)


@cache
def is_month_first(language: str, region: str) -> bool | None:
    """Return whether numeric dates have the month before the day; None: both, as in English of no region."""
    locale = _locale(f"{language}_{region}") if region else None
    locale = locale or (None if language == "en" else _locale(language))
    pattern = str(locale.date_formats["short"].pattern) if locale else ""
    return pattern.index("M") < pattern.index("d") if pattern else None


def likely_region(language: str) -> str:
    """Return the region of a language's default locale, such as RS of sr."""
    return str(get_global("likely_subtags").get(language, "")).rpartition("_")[2]


@cache
def currencies_of(region: str) -> frozenset[str]:
    """Return the currencies that are used in a region now, by ISO 4217 code."""
    return frozenset(get_territory_currencies(region)) if region else frozenset()


@cache
def region_names(region: str, language: str) -> tuple[str, ...]:
    """Return the names of a region in a language, from which its adjectives are made."""
    names = (locale.territories.get(region) for locale in _locales(language))
    return tuple(dict.fromkeys(phrase(name, language) for name in names if name))


@cache
def units(language: str) -> Mapping[str, frozenset[str]]:
    """Return phrase -> unit, by CLDR's name such as duration-day."""
    pairs = [(form, unit) for unit in _UNITS for form in _unit_forms(unit, language)]
    pairs += [(form, unit) for unit in words()["units"] for form in listed("units", unit, language)]
    return {form: frozenset({unit}) for form, unit in pairs if form and not form.endswith("*")}


@cache
def currencies(language: str) -> Mapping[str, frozenset[str]]:
    """Return phrase -> the currencies that it may name, by ISO 4217 code; parts (cents) by their row."""
    found: dict[str, frozenset[str]] = {}
    for locale in _locales(language):
        for code in map(str, locale.currencies):
            names = {get_currency_name(code, locale=locale)}
            names |= {get_currency_name(code, n, locale) for n in _COUNTS}
            names |= {get_currency_symbol(code, locale), get_currency_symbol(code, "en"), code}
            for form in {phrase(name, language) for name in names} - _NO_CODES:
                found[form] = found.get(form, frozenset()) | {code} | _successors(code)
    for row in words()["currencies"]:
        for form in listed("currencies", row, language):
            found[form] = _codes(row)
    return {form: codes for form, codes in found.items() if form and not form.endswith("*")}


@cache
def _successors(code: str) -> frozenset[str]:
    """Return the currencies now in use of the country of a withdrawn one, such as RUB of RUR ("р.")."""
    regions = get_global("territory_currencies")
    in_use = frozenset[str]().union(*map(currencies_of, regions))
    return (
        frozenset() if code in in_use else frozenset(each for each in in_use if each[:2] == code[:2] != "X")
    )


@cache
def units_and_currencies(language: str) -> Mapping[str, frozenset[str]]:
    """Return phrase -> unit or currencies; a phrase that may be either names currencies."""
    return {**units(language), **currencies(language)}


@cache
def stems(language: str) -> tuple[tuple[str, frozenset[str]], ...]:
    """Return (beginning, units or currencies) of forms that may have any ending, the longest first."""
    pairs = [
        (form[:-1], frozenset({row}) if kind == "units" else _codes(row))
        for kind in ("units", "currencies")
        for row in words()[kind]
        for form in listed(kind, row, language)
        if form.endswith("*")
    ]
    return tuple(sorted(pairs, key=lambda pair: -len(pair[0])))


@cache
def months(language: str) -> Mapping[str, int]:
    """Return name -> month."""
    return _calendar(language, lambda locale: locale.months)


@cache
def weekdays(language: str) -> Mapping[str, int]:
    """Return name -> day of the week, Monday as 0."""
    extra = {form: int(day) for day in words()["weekdays"] for form in listed("weekdays", day, language)}
    return extra | _calendar(language, lambda locale: locale.days)


@cache
def periods(language: str) -> Mapping[str, tuple[int, int]]:
    """Return name of a time of day -> its first hour and the hour after its last, which may be next day."""
    found: dict[str, tuple[int, int]] = {}
    for locale in _locales(language):
        rules: Any = locale.day_period_rules
        for name, form in _leaves(locale.day_periods):
            for rule in (rules.get(None) or rules).get(name, ()):
                start, end = rule.get("from", rule.get("at", 0)), rule.get("before", rule.get("at", 0) + 60)
                found[phrase(form, language)] = (start // 3600, -(-end // 3600))
            if name in ("am", "pm"):
                found[phrase(form, language)] = _MORNING if name == "am" else _EVENING
    for hours in words()["periods"]:
        first, _, last = hours.partition("-")
        for form in listed("periods", hours, language):
            found[form] = int(first), int(last)
    return {form: hours for form, hours in found.items() if form}


def _locale(name: str) -> Locale | None:
    try:
        return Locale.parse(name)
    except (UnknownLocaleError, ValueError, TypeError):
        return None


def _locales(language: str) -> list[Locale]:
    names = ("en", *_RELATED.get(language, (language,)))
    return [locale for name in names if (locale := _locale(name))]


def _unit_forms(unit: str, language: str) -> Iterator[str]:
    for locale in _locales(language):
        for length in ("long", "short"):
            for n in _COUNTS:
                form = phrase(format_unit(n, unit, length, locale=locale), language)
                if len(form) > 1 or not form.isascii():
                    yield form


@cache
def _codes(row: str) -> frozenset[str]:
    """Return the currencies of a row: ISO codes, or the noun with which their English names end."""
    nouns = {name for name in row.split() if not name.isupper()}
    named = {
        code
        for code in map(str, Locale("en").currencies)
        if get_currency_name(code, 2, "en").lower().split()[-1].rstrip("s") in {n.rstrip("s") for n in nouns}
    }
    return frozenset({name for name in row.split() if name.isupper()} | named or {row})


def _calendar(language: str, table: Callable[[Locale], Any]) -> dict[str, int]:
    """Return name -> number, without single letters, pairs of Latin letters and names that are a number."""
    return {
        form: int(number)
        for locale in _locales(language)
        for number, name in _leaves(table(locale))
        if len(form := phrase(name, language)) > 1 + form.isascii()
        and not any(map(str.isdecimal, fold(name)))
        and form not in ("月", "월", "tháng")
    }


def _leaves(tree: Any) -> Iterator[tuple[Any, str]]:
    """Yield (key, name) of a tree of CLDR without its narrow names, which may be single letters."""
    for key, value in tree.items():
        if key == "narrow":
            continue
        if isinstance(value, str):
            yield key, value
        else:
            yield from _leaves(value)
