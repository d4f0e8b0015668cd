"""Reads a short answer as tokens: numbers, units, currencies, dates, times, weekdays and words. Pure.

The same content in other forms gives the same tokens, such as "١٥ أبريل 2025" and "15/4/2025". Filler words
and punctuation give none. Every other sign gives a word, so that "4:3" is not 4.3 and "27%" not 27.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

import regex  # type: ignore[import-untyped]

from tasks.evaluations.culturall.matching import locales
from tasks.evaluations.culturall.matching.quantities import (
    IS_UNSPACED,
    RUN,
    Date,
    Number,
    Time,
    Token,
    Unit,
    Weekday,
    Word,
    spans,
    with_digits,
)


@dataclass(frozen=True)
class _Month:
    number: int


@dataclass(frozen=True)
class _Period:
    """A time of day. names: the unit that the word may also be."""

    hours: tuple[int, int]
    text: str
    names: frozenset[str] | None = None


@dataclass(frozen=True)
class _Clock:
    """A word before an hour. names: the unit that the word may also be."""

    names: frozenset[str] | None = None


_Raw = Token | _Month | _Period | _Clock

_LONGEST_PHRASE = 4
_DAYS, _YEARS = range(1, 32), range(1000, 2999)
_DAY, _MONTH, _YEAR, _HOUR, _MINUTE = (
    frozenset({f"duration-{name}"}) for name in ("day", "month", "year", "hour", "minute")
)
_ISO = r"(?<!\d)(?P<y>\d{4})\s?[-/.]\s?(?P<m>\d{1,2})\s?[-/.]\s?(?P<d>\d{1,2})(?!\d)"
_NUMERIC = r"(?<!\d)(?P<a>\d{1,2})\s?[-/.]\s?(?P<b>\d{1,2})\s?[-/.]\s?(?P<y2>\d{4}|\d{2})(?!\d)"
_CJK = r"(?:(?P<y3>\d{2,4})\s*[年년]\s*)?(?<!\d)(?P<m3>\d{1,2})\s*[月월]\s*(?P<d3>\d{1,2})\s*[日号號일]"
_VIETNAMESE = r"(?<!\d)(?P<d4>\d{1,2})\s*tháng\s*(?P<m4>\d{1,2})(?!\d)"
_TIME = r"(?<![\d:.])(?P<h>\d{1,2}):(?P<min>\d{2})(?![\d:])"
_CJK_TIME = (
    r"(?<!\d)(?P<h2>\d{1,2})\s*(?:時|时|點|点|시)(?!間|间)\s*(?:(?P<min2>\d{1,2})\s*[分분]|(?P<half>半|반))?"
)
_FIXED = regex.compile("|".join((_ISO, _NUMERIC, _CJK, _VIETNAMESE, _TIME, _CJK_TIME)))
_PAIR = regex.compile(r"(\d{1,2})\s?[./-]\s?(\d{1,2})")
# Endings of ordinals and cases, and counters, that are written on to a number.
_ENDING = regex.compile(
    r"(?<=\d)(?:\.?(?:st|nd|rd|th|o|a|er|era|ero|ro|do|to|mo|hb)\b|-(?:\p{Cyrillic}{1,4}|[a-zšž]{1,3})\b"
    r"|(?:ই|শে|লা|রা|ঠা)(?![\p{L}\p{M}]))"
)
_WORD = regex.compile(r"(?<!\p{L})(?:[a-z]{1,2}\$|u\$s|s/(?=\s|$))|[\p{L}\p{M}]+|[\p{S}%°#&]")
# Half past an hour in Bengali.
_HALF = regex.compile(r"সাড়ে\s*(\d{1,2})(?!\d)(?:টায়|টা)?")
_ARTICLE = regex.compile(r"^(?:[بوكف]?ال|لل)(?=\p{L}{3})")
_BETWEEN = regex.compile(r"(?<=\d)\s?([:/])\s?(?=\d)")
_SIGNS = {":": " ∶ ", "/": " ∕ "}
_WRITTEN = {"&": "and", "~": "about", "≈": "about"}


@lru_cache(maxsize=1 << 16)
def tokens(text: str, language: str, region: str = "", is_gold: bool = False) -> tuple[Token, ...]:
    """Return the tokens of a text.

    Args:
        region: ISO 3166-1, for the order of numeric dates.
        is_gold: take the likelier value where marks of a number allow two.
    """
    folded = _HALF.sub(r"\1:30", with_digits(text, language))
    folded = _in_our_years(_ENDING.sub("", folded), language)
    raw: list[_Raw] = []
    at = 0
    for match in _FIXED.finditer(folded):
        fixed = _fixed(match.groupdict(), language, region)
        if fixed is not None:
            raw += _loose(folded[at : match.start()], language, region, is_gold)
            raw.append(fixed)
            at = match.end()
    raw += _loose(folded[at:], language, region, is_gold)
    if not any(map(str.isdecimal, folded)):
        raw = _number_words(raw, language)
    return tuple(_settled(list(_times(_dates(raw)))))


def numeric_date(text: str, language: str, region: str) -> Date | None:
    """Return the day that a text such as "5/7" or "15.2." is, where a date is expected."""
    folded = with_digits(text, language)
    inside = regex.sub(r"[^\d./\-\s]", " ", folded).strip(" .-/")
    pair = _PAIR.fullmatch(inside)
    left = [t for t in tokens(regex.sub(r"[\d./-]", " ", folded), language) if not _is_part_of_date(t)]
    return _ordered(int(pair[1]), int(pair[2]), None, language, region) if pair and not left else None


def clock_time(read: Sequence[Token]) -> Time | None:
    """Return the time that an hour alone, or hour and minutes with a point, is, where a time is expected."""
    if not read or not isinstance(read[0], Number) or list(read[1:]) not in ([], [Unit(_HOUR)]):
        return None
    if point := regex.fullmatch(r"(\d{1,2})[.,](\d{2})", read[0].text):
        return _time(int(point[1]), int(point[2]), False)
    hour = min(read[0].values, default=99)
    return _time(int(hour), 0, False) if hour == int(hour) else None


@cache
def fillers(language: str) -> frozenset[str]:
    """Return the words of a language, and of English, that claim nothing in a short answer."""
    return frozenset(map(bare, locales.own_and_english("fillers", language)))


def bare(word: str) -> str:
    """Return the word without the Arabic article and a preposition before it."""
    return _ARTICLE.sub("", word) if len(word) > 4 else word


def words_of(folded: str, language: str, is_after_number: bool = False) -> list[str]:
    """Return the words and signs of a folded text; a run of a script without spaces is cut at known words.

    Args:
        is_after_number: the text follows a number, so that its first run may begin with any unit.
    """
    found: list[str] = []
    for match in _WORD.finditer(folded):
        for run in RUN.findall(_WRITTEN.get(match[0], match[0])):
            if IS_UNSPACED.match(run):
                found += _cut(run, language, is_after_number and not found)
            else:
                found.append(bare(run))
    return found


def _fixed(parts: Mapping[str, str | None], language: str, region: str) -> Date | Time | None:
    found = {name: int(text) for name, text in parts.items() if text is not None and text.isdecimal()}
    for suffix in ("", "3", "4"):
        if f"d{suffix}" in found:
            return _date(
                found[f"d{suffix}"], found[f"m{suffix}"], _full_year(found.get(f"y{suffix}"), language)
            )
    if "a" in found:
        return _ordered(found["a"], found["b"], _full_year(found["y2"], language), language, region)
    hour = found.get("h", found.get("h2", 99))
    minute = 30 if parts.get("half") else found.get("min", found.get("min2", 0))
    is_exact = (parts.get("h") or "").startswith("0") or (hour == 12 and locales.has_24_hours(language))
    return _time(hour, minute, is_exact)


def _full_year(year: int | None, language: str) -> int | None:
    """Return a year of two digits in this century; in Chinese one of three counts from 1911."""
    if year is None:
        return None
    return year + 2000 if year < 100 else year + 1911 if year < 1000 and language == "zh" else year


def _date(day: int, month: int, year: int | None) -> Date | None:
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return None
    return Date(frozenset({(day, month)}), year)


def _ordered(a: int, b: int, year: int | None, language: str, region: str) -> Date | None:
    """Return a numeric date in the order of the language in the region; in both if the region is unknown."""
    is_month_first = locales.is_month_first(language, region)
    days = {d for d in ((a, b), (b, a)) if d[0] <= 31 and 1 <= d[1] <= 12 and d[0]}
    if is_month_first is not None:
        days = days & {(b, a) if is_month_first else (a, b)} or days
    return Date(frozenset(days), year) if days else None


def _time(hour: int, minute: int, is_exact: bool) -> Time | None:
    """Return a time; on a clock of twelve hours it may be in either half of the day."""
    if hour > 24 or minute > 59:
        return None
    either = {hour % 24} if is_exact or not 1 <= hour <= 12 else {hour % 24, (hour + 12) % 24}
    return Time(frozenset(h * 60 + minute for h in either))


def _loose(folded: str, language: str, region: str, is_gold: bool) -> Iterator[_Raw]:
    """Yield the tokens of a text without numeric dates and times."""
    folded, at = _BETWEEN.sub(lambda m: _SIGNS[m[1]], folded), 0
    for span in spans(folded, language, is_gold):
        yield from _words(folded[at : span.start], language, at > 0)
        yield Number(span.values, folded[span.start : span.end])
        at = span.end
    yield from _words(folded[at:], language, at > 0)


def _words(folded: str, language: str, is_after_number: bool) -> Iterator[_Raw]:
    words, known, at = words_of(folded, language, is_after_number), _lexicon(language), 0
    while at < len(words):
        for n in range(_LONGEST_PHRASE, 0, -1):
            phrase = " ".join(words[at : at + n])
            if phrase in known or n == 1:
                break
        token = known.get(phrase, _inflected(phrase, language))
        if token is not None:
            yield token
        at += max(phrase.count(" ") + 1, 1)


def _inflected(word: str, language: str) -> _Raw:
    """Return a word whose beginning is known as a unit or month, or the word itself."""
    for stem, names in locales.stems(language):
        if word.startswith(stem):
            return Unit(names)
    months = locales.months(language).items() if len(word) > 3 else ()
    for name, number in ((n, m) for n, m in months if language == "sr" or not n.isascii()):
        stem = name[: max(4, len(name) - 1)] if len(name) > 3 else name if language == "sr" else word + "-"
        if word.startswith(stem) and len(word) - len(name) < (5 if len(name) > 3 else 2):
            return _Month(number)
    return Word(word)


@cache
def _lexicon(language: str) -> Mapping[str, _Raw | None]:
    """Return phrase -> token; None for fillers. Fillers come before units, and these before other names."""
    known: dict[str, _Raw | None] = {}
    known |= {form: Weekday(day) for form, day in locales.weekdays(language).items()}
    known |= {form: _Month(number) for form, number in locales.months(language).items()}
    known |= {form: Unit(codes, form) for form, codes in locales.currencies(language).items()}
    known |= {form: Unit(names, form) for form, names in locales.units(language).items()}
    known = {" ".join(map(bare, form.split())): token for form, token in known.items() if form}

    def names(form: str) -> frozenset[str] | None:
        token = known.get(form)
        return token.names if isinstance(token, Unit) else None

    spoken: dict[str, _Raw | None] = {}
    for form, hours in locales.periods(language).items():
        spoken[form] = _Period(hours, form, names(form))
    for form in locales.own_and_english("clocks", language):
        spoken[bare(form)] = _Clock(names(bare(form)))
    return known | spoken | dict.fromkeys(fillers(language))


def _cut(run: str, language: str, is_after_number: bool) -> list[str]:
    """Return a run without spaces, cut at known words, the longest first; text between two cuts is a word.
    A unit of one Hangul syllable inside a word is a part of it, as "초" is in "초급".
    """
    known, numerals = _lexicon(language), _numerals(language)
    is_short = language == "ko" and not is_after_number and not numerals.keys() & set(run) and len(run) > 1
    if is_short:
        known = {form: token for form, token in known.items() if len(form) > 1 or not isinstance(token, Unit)}
    parts, unknown, at = [], "", 0
    while at < len(run):
        longest = next(
            (
                n
                for n in range(min(12, len(run) - at), 0, -1)
                if run[at : at + n] in known or run[at : at + n] in numerals
            ),
            0,
        )
        if longest:
            parts += [unknown] if unknown else []
            parts, unknown = [*parts, run[at : at + longest]], ""
        else:
            unknown += run[at]
        at += longest or 1
    return [*parts, unknown] if unknown else parts


@cache
def _numerals(language: str) -> Mapping[str, int]:
    """Return word -> number, for a language and for English."""
    return {
        bare(form): n
        for name in ("en", language)
        for n, forms in enumerate(locales.listed("numbers", name, language))
        for form in forms.split("/")
    }


def _number_words(raw: Sequence[_Raw], language: str) -> list[_Raw]:
    """Return the tokens with words for numbers as numbers; used where a text has no digits. Ten beside a
    smaller number is their sum, as in "ដប់ប្រាំ" and "الحادية عشرة".
    """
    found: list[_Raw] = []
    for token in raw:
        value = _numeral(token.text, language) if isinstance(token, (Word, Unit)) else None
        last = found[-1] if found else None
        if value is None:
            found.append(token)
        elif isinstance(last, Number) and 10.0 in (value, *last.values) and min(value, *last.values) < 10:
            found[-1] = Number(frozenset({value + min(last.values)}))
        else:
            found.append(Number(frozenset({value})))
    return found


def _numeral(word: str, language: str) -> float | None:
    """Return the number of a word; Kazakh may add endings to it."""
    stem = (
        word
        if language != "kk" or word in _numerals(language)
        else regex.sub(r"(?:с?[ыі]|с?[ыі]н)$", "", word)
    )
    value = _numerals(language).get(stem)
    return None if value is None else float(value)


def _in_our_years(folded: str, language: str) -> str:
    """Return the text with years of other eras as years of ours, and without the marks of our era."""
    for added, forms in _eras(language):
        if added:
            pattern = rf"(?<!\p{{L}})(?:{forms})\s*(\d{{1,4}})"
            folded = regex.sub(pattern, lambda m, n=added: str(int(m[1]) + n), folded)
        else:
            year = r"(?:1[89]|20)\d\d(?!\d)"
            folded = regex.sub(rf"(?<![\p{{L}}\p{{M}}])(?:{forms})\s*(?={year})", " ", folded)
            folded = regex.sub(rf"(?<=(?<!\d){year})\s*(?:{forms})(?![\p{{L}}\p{{M}}])\.?", " ", folded)
    return folded


@cache
def _eras(language: str) -> list[tuple[int, str]]:
    """Return (years to add, pattern of the era's names)."""
    rows = locales.words()["eras"]
    return [
        (
            int(n),
            "|".join(
                regex.escape(form).replace("\\ ", r"\W?") for form in locales.listed("eras", n, language)
            ),
        )
        for n in rows
    ]


def _dates(raw: Sequence[_Raw]) -> list[_Raw]:
    """Return the tokens with a month, the day beside it and a year beside both as one date."""
    found = list(raw)
    for at, token in enumerate(raw):
        if not isinstance(token, _Month):
            continue
        before, after = _beside(raw, at, -1), _beside(raw, at, 1)
        day = before if _is_whole(raw, before, _DAYS) else after if _is_whole(raw, after, _DAYS) else None
        if day is None:
            continue
        low, high = sorted((at, day))
        year = next(
            (n for n in (_beside(raw, high, 1), _beside(raw, low, -1)) if _is_whole(raw, n, _YEARS)), None
        )
        places = [at, day] if year is None else [at, day, year]
        low, high = min(places), max(places)
        while high + 1 < len(raw) and raw[high + 1] in (Unit(_YEAR), Unit(_DAY)):
            high += 1
        value = None if year is None else int(min(raw[year].values))  # type: ignore[union-attr]
        date = _date(int(min(raw[day].values)), token.number, value)  # type: ignore[union-attr]
        if date is None:
            continue
        while low and raw[low - 1] in (Unit(_DAY), Unit(_MONTH), Unit(_YEAR)):
            low -= 1
        return [*found[:low], date, *_dates(found[high + 1 :])]
    return _with_later_year(found)


def _with_later_year(raw: list[_Raw]) -> list[_Raw]:
    """Return the tokens with a year beside a numeric date as part of it."""
    for at, token in enumerate(raw):
        if isinstance(token, Date) and token.year is None:
            for n in (_beside(raw, at, 1), _beside(raw, at, -1)):
                if _is_whole(raw, n, _YEARS) and n is not None:
                    low, high = sorted((at, n))
                    high += raw[high + 1 : high + 2] == [Unit(_YEAR)]
                    date = Date(token.days, int(min(raw[n].values)))  # type: ignore[union-attr]
                    return [*raw[:low], date, *raw[high + 1 :]]
    return raw


def _beside(raw: Sequence[_Raw], at: int, step: int) -> int | None:
    """Return the place of the next token that is not a word for day, month or year."""
    at += step
    while 0 <= at < len(raw) and raw[at] in (Unit(_DAY), Unit(_MONTH), Unit(_YEAR)):
        at += step
    return at if 0 <= at < len(raw) else None


def _is_whole(raw: Sequence[_Raw], at: int | None, among: range) -> bool:
    token = raw[at] if at is not None and at < len(raw) else None
    return isinstance(token, Number) and any(value in among for value in token.values)


def _is_part_of_date(token: Token) -> bool:
    return isinstance(token, Weekday) or token in (Unit(_DAY), Unit(_MONTH), Unit(_YEAR))


def _times(raw: Sequence[_Raw]) -> Iterator[_Raw]:
    """Yield the tokens with an hour and a time of day, or an hour after its word, as one time."""
    at = 0
    while at < len(raw):
        time, after = _time_at(raw, at)
        yield time or raw[at]
        at = after if time else at + 1


def _time_at(raw: Sequence[_Raw], at: int) -> tuple[Time | None, int]:
    """Return the time that begins at a place, and the place after it."""
    lead: list[_Raw] = []
    for token in raw[at:]:
        if not isinstance(token, _Clock) and (not isinstance(token, _Period) or token.names):
            break
        lead.append(token)
    at += len(lead)
    first = raw[at] if at < len(raw) else None
    is_clock = isinstance(first, Time)
    if isinstance(first, Time):
        time: Time | None = first
    elif isinstance(first, Number) and _is_whole(raw, at, range(25)):
        time = _time(int(min(first.values)), 0, False)
        if at + 1 < len(raw) and getattr(raw[at + 1], "names", None) == _HOUR:
            is_clock, at = True, at + 1
        if _is_whole(raw, at + 1, range(60)) and raw[at + 2 : at + 3] == [Unit(_MINUTE)]:
            minute = int(min(raw[at + 1].values))  # type: ignore[union-attr]
            time, at = time and Time(frozenset(m + minute for m in time.minutes)), at + 2
    else:
        return None, at
    at += 2 if isinstance(first, Time) and raw[at + 1 : at + 2] == [Unit(_MINUTE)] else 1
    spoken = [token for token in lead if isinstance(token, _Period)]
    last = raw[at] if at < len(raw) else None
    if isinstance(last, _Period) and (is_clock or not last.names):
        spoken, at = [*spoken, last], at + 1
    if not time or not (lead or spoken or isinstance(first, Time)):
        return None, at
    if spoken and min(time.minutes) // 60 == 12:
        time = Time(time.minutes | {minute - 720 for minute in time.minutes})
    for period in spoken:
        time = Time(_within(time.minutes, period.hours))
    return time, at


def _within(minutes: frozenset[int], hours: tuple[int, int]) -> frozenset[int]:
    """Return the minutes that lie in a time of day, or else those that are nearest to it."""
    first, last = hours[0] * 60, (hours[1] + (24 if hours[1] < hours[0] else 0)) * 60

    def distance(minute: int) -> int:
        places = (minute, minute + 1440)
        return min(max(first - place, place - last + 1, 0) for place in places)

    nearest = min(map(distance, minutes))
    return frozenset(minute for minute in minutes if distance(minute) == nearest)


def _settled(raw: Sequence[_Raw]) -> Iterator[Token]:
    """Yield the tokens; months, times of day and hour words without a number are units or words."""
    for at, token in enumerate(raw):
        if token == Unit(_DAY) and any(isinstance(near, Weekday) for near in raw[at + 1 : at + 2]):
            continue
        if isinstance(token, _Month):
            yield Word(f"month {token.number}")
        elif isinstance(token, Unit) and _is_word_alone(token, raw[max(at - 1, 0) : at + 2]):
            yield Word(token.text)
        elif isinstance(token, (_Period, _Clock)):
            if token.names:
                yield Unit(token.names)
            elif isinstance(token, _Period):
                yield Word(token.text)
        else:
            yield token


def _is_word_alone(unit: Unit, near: Sequence[_Raw]) -> bool:
    """Return whether a currency's code, or a unit of one or two letters, has no number beside it: the name
    "Ron", and "с" before a name.
    """
    is_code = len(unit.text) == 3 and unit.text.isascii() and unit.text.upper() in unit.names
    is_short = len(unit.text) in (1, 2) and unit.text.isalpha() and not IS_UNSPACED.match(unit.text)
    return (is_code or is_short) and len(near) > 1 and not any(isinstance(token, Number) for token in near)
