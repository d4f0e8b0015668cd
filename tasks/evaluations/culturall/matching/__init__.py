"""Decides without a judge whether a short answer is right: a text, number with unit, date or time. Pure.

There are three outcomes. An answer is **right** if it is an accepted text as ``tokens`` reads them: words
without case, punctuation and the marks that a script may leave out; dates by day, month and year; times of
day; numbers by value and unit. It is **wrong** if it states another value or another name in a plain form.
Both need that every word is accounted for: it is the answer's, claims nothing, or is the question's. Any
other answer is **not read**: a hedge, a denial, a correction, alternatives, more than one statement, an
explanation, a part of the answer, a name that shares a word with the right one. A judge reads those.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile

import regex  # type: ignore[import-untyped]

from tasks.evaluations.culturall.matching import locales
from tasks.evaluations.culturall.matching.locales import fold
from tasks.evaluations.culturall.matching.quantities import (
    IS_UNSPACED,
    Date,
    Number,
    Time,
    Token,
    Unit,
    Weekday,
    Word,
    agreed,
    are_equal,
    currency_after_number,
    in_base_units,
    weekday,
)
from tasks.evaluations.culturall.matching.texts import (
    as_written,
    has_phrase,
    is_alike,
    is_covered,
    is_near,
    knows_nothing,
    plain,
    spaced,
    statement,
)
from tasks.evaluations.culturall.matching.tokens import (
    bare,
    clock_time,
    fillers,
    numeric_date,
    tokens,
    words_of,
)

__all__ = ["is_match", "is_right", "plain"]

VALUES = (Number, Date, Time, Weekday)
_DEGREE = frozenset({"angle-degree"})
_SCALES = frozenset({"temperature-celsius", "temperature-fahrenheit"})
_AND = regex.compile(r"[和与與及跟や、，,]|(?<!あ)と(?!し)|와|과|및|그리고|하고|និង|ឬ|或|か$")
_HOW_MANY = regex.compile(r"(?:몇|何|几|幾|多少|ប៉ុន្មាន|\d)\s*")
_SIGN = regex.compile(r"[\p{S}%#&]")
_WITHOUT_SPACES = frozenset({"ja", "km", "ko", "zh"})
_IN_PARTS = regex.compile(r"[()（）\[\]【】=]+")
# Endings of nouns that differ by case or number in Slavic languages, and suffixes of Kazakh.
_ENDING = regex.compile(
    r"[аеёиоуыэюяьйіaeiou]{0,2}(?:й|м|х|в|ў|ми|го|му|m|h|g|v|ma|mi|ga|mu|og|om|em|ima|ama)?[уюиіeiu]?"
)
_SUFFIX = regex.compile(
    r"(?:[ғгқк][ае]|[дт][аеы]н?|[дт]і|н[аеыі]н?|[нд][ыі]ң|[тд][ыі]ң|[мбп]ен|с?[ыі]н?|[ыі]?м|с?[ыі]н[дт][ае]н?)?"
)
_HAN = regex.compile(r"\p{Han}")
_MARKS = "?;:,，、؛،("
_INFLECTED = frozenset({"be", "kk", "ru", "sr"})
_LONGEST_NAME = 4
"""Most telling words of an answer that is read as another name."""
_FACTORS = (1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9)


def is_match(
    answer: str, accepted: Iterable[str], language: str, question: str = "", region: str = ""
) -> bool:
    """Return whether an answer is read, and accepted; see ``is_right``."""
    return is_right(answer, {language: tuple(accepted)}, {language: question}, region) is True


def is_right(
    answer: str, accepted: dict[str, tuple[str, ...]], questions: dict[str, str], region: str = ""
) -> bool | None:
    """Return whether a free answer is right; None if it is not read.

    Args:
        accepted: language -> the gold answer in it, then its variants; what one of them states (a unit, a
            year, a half of the day) counts for the others. An answer may be in any of the languages.
        questions: language -> the question; may name a unit, which the answer can then omit, and words that
            it may repeat.
        region: ISO 3166-1; for currencies and the order of numeric dates.
    """
    own = next(iter(accepted))
    if knows_nothing(answer, accepted):
        return False
    said = statement(answer, accepted)
    if said is None:
        return None
    region = region or locales.likely_region(own)
    items = [_Accepted(texts, lang, questions.get(lang, ""), region) for lang, texts in accepted.items()]
    found = [item.reads(said) for item in items]
    if True in found:
        return True
    if any(item.has_values for item in items):
        # A text such as "seven hundred" is read as 7 and a word, so a statement must differ from all texts.
        return False if any(item.compared(said) == {True} for item in items) else None
    is_name = all(item.is_another_name(said) for item in items)
    return False if is_name else None


@dataclass(frozen=True)
class _Accepted:
    """The answers that an item accepts, with the question and place by which they are read."""

    texts: tuple[str, ...]
    language: str
    question: str
    region: str

    @cached_property
    def read(self) -> list[tuple[Token, ...]]:
        """Return the tokens of each accepted text."""
        return [tokens(text, self.language, self.region, is_gold=True) for text in self.texts]

    @cached_property
    def question_tokens(self) -> tuple[Token, ...]:
        """Return the tokens of the question."""
        return tokens(self.question, self.language, self.region)

    @cached_property
    def question_words(self) -> tuple[str, ...]:
        """Return the words of the question."""
        return tuple(words_of(fold(self.question, self.language), self.language))

    @cached_property
    def counted(self) -> frozenset[Token]:
        """Return the words of the accepted texts that have digits; words of others may spell numbers."""
        texts = zip(self.texts, self.read, strict=True)
        return frozenset(t for text, read in texts if any(map(str.isdecimal, text)) for t in read)

    @cached_property
    def years(self) -> frozenset[int]:
        """Return the years of the accepted dates; empty if none states one."""
        return frozenset(t.year for read in self.read for t in read if isinstance(t, Date) and t.year)

    @cached_property
    def days(self) -> frozenset[tuple[int, int]]:
        """Return the days that the accepted dates agree on."""
        return agreed(t.days for read in self.read for t in read if isinstance(t, Date))

    @cached_property
    def units(self) -> frozenset[str]:
        """Return all units of the accepted texts."""
        return frozenset[str]().union(*(t.names for read in self.read for t in read if isinstance(t, Unit)))

    @cached_property
    def denials(self) -> tuple[str, ...]:
        """Return the phrases that deny or offer a choice and that no accepted text has."""
        kinds = ("negations", "alternatives")
        forms = frozenset[str]().union(*(locales.own_and_english(kind, self.language) for kind in kinds))
        return tuple(
            form for form in forms if not any(has_phrase(text, form, self.language) for text in self.texts)
        )

    def denies(self, said: str) -> bool:
        """Return whether a statement denies or offers a choice, and no accepted text does."""
        return any(has_phrase(said, form, self.language) for form in self.denials)

    def is_filler(self, part: str) -> bool:
        """Return whether a text has only words that claim nothing."""
        pieces = words_of(fold(part, self.language), self.language)
        return all(map(self.is_plain, pieces)) and not any(map(str.isdecimal, part))

    def is_plain(self, word: str) -> bool:
        """Return whether a word claims nothing in any answer."""
        return word in fillers(self.language) or word in locales.own_and_english("frames", self.language)

    def is_framed(self, before: str, after: str) -> bool:
        """Return whether the text around an answer, in a script without spaces, is of known pieces: words
        that claim nothing, and Chinese characters, or runs of two others, of the question.
        """
        if _AND.search(before.rstrip()[-2:]) or _AND.match(after.lstrip()) or _SIGN.search(before + after):
            return False
        known = fillers(self.language) | locales.own_and_english("frames", self.language)
        own = " ".join(text for text in self.texts if not any(map(str.isdecimal, text)))
        asked = fold(f"{self.question} {own}", self.language)
        return is_covered(before, known, asked) and is_covered(after, known, asked)

    def is_same_unit(self, given: frozenset[str], wanted: frozenset[str]) -> bool:
        """Return whether two units are the same. An open currency is the region's, or else the US dollar;
        open degrees are of the scale that the question or another accepted text names.
        """
        if wanted == _DEGREE:
            asked = frozenset[str]().union(*(t.names for t in self.question_tokens if isinstance(t, Unit)))
            wanted = wanted | (given & (asked | self.units) & _SCALES)
        local = wanted & locales.currencies_of(self.region)
        default = frozenset({"USD"}) & wanted
        return bool(given & (local or default or wanted))

    def is_in_question(self, token: Token) -> bool:
        """Return whether the question has a unit or word."""
        if isinstance(token, Unit):
            units = [t for t in self.question_tokens if isinstance(t, Unit) and t.names & token.names]
            return bool(units) and (self.language not in _WITHOUT_SPACES or self._asks_for(token.names))
        if not isinstance(token, Word):
            return False
        if IS_UNSPACED.match(token.text):
            return token.text in fold(self.question, self.language).replace(" ", "")
        return any(is_alike(token.text, word) for word in self.question_words)

    def _asks_for(self, names: frozenset[str]) -> bool:
        """Return whether a unit follows a word such as "how many"; else it may be a part of another word."""
        asked = fold(self.question, self.language)
        forms = locales.units_and_currencies(self.language)
        return any(
            forms.get(asked[found.end() :][:n], frozenset()) & names
            for found in _HOW_MANY.finditer(asked)
            for n in range(1, 12)
        )

    def is_known(self, token: Token) -> bool:
        """Return whether a further token claims nothing new: a word that claims nothing or is of the question
        or of accepted texts with digits, the region's adjective, or the right day of the week.
        """
        match token:
            case Weekday():
                return self.is_right_weekday(token)
            case Unit():
                return token.names == self.units or (not self.units and self.is_in_question(token))
            case Word(text):
                return (
                    self.is_plain(text)
                    or token in self.counted
                    or self.is_in_question(token)
                    or self._is_of_region(text)
                )
        return False

    def _is_of_region(self, word: str) -> bool:
        names = locales.region_names(self.region, self.language)
        return any(len(name) > 3 and word.startswith(name[: max(4, len(name) - 2)]) for name in names)

    def is_right_weekday(self, token: Weekday) -> bool:
        """Return whether a day of the week is accepted, or is that of the accepted date."""
        if any(token in read for read in (*self.read, self.question_tokens)):
            return True
        return any(weekday(year, month, day) == token.day for year in self.years for day, month in self.days)

    def is_known_weekday(self, part: str) -> bool:
        """Return whether a text is the right day of the week."""
        read = tokens(part, self.language, self.region)
        return bool(read) and all(isinstance(t, Weekday) and self.is_right_weekday(t) for t in read)

    def reads(self, said: str) -> bool:
        """Return whether a statement equals one of the texts, once or more, as "2 (two)" does."""
        if self.takes(said):
            return True
        parts = [
            part for part in _IN_PARTS.split(said) if words_of(fold(part), self.language) or _has_digit(part)
        ]
        parts = [part for n, part in enumerate(parts) if not n or not self.is_filler(part)]
        return (
            len(parts) > 1
            and self.takes(parts[0])
            and all(self.takes(part) or self.is_known_weekday(part) for part in parts[1:])
        )

    def takes(self, said: str) -> bool:
        """Return whether a statement equals one of the texts."""
        return any(self._is_same(said, gold) for gold in self.texts)

    @cached_property
    def has_values(self) -> bool:
        """Return whether an accepted text states a number, date, time or weekday."""
        return any(isinstance(token, VALUES) for read in self.read for token in read)

    def compared(self, said: str) -> frozenset[bool]:
        """Return, of accepted texts with values of a statement's kinds, whether it has other ones.

        Empty if the statement is no plain value.
        """
        if self.denies(said):
            return frozenset()
        given = self._given(said)
        unknown = [n for n, token in enumerate(given) if isinstance(token, Word) and not self.is_known(token)]
        counted = len(unknown) == 1 and unknown[0] > 0 and isinstance(given[unknown[0] - 1], Number)
        if unknown and (not counted or any(isinstance(token, Unit) for token in given)):
            return frozenset()
        pairs: list[tuple[Sequence[Token], Sequence[Token]]] = [(given, read) for read in self.read]
        pairs += [(in_base_units(one), in_base_units(other)) for one, other in pairs]
        found = (self._differ(one, other, bool(unknown)) for one, other in pairs)
        return frozenset(differs for differs in found if differs is not None)

    def _differ(self, given: Sequence[Token], wanted: Sequence[Token], is_counted: bool) -> bool | None:
        """Return whether the values of a statement are of an accepted text's kinds, and other ones in its
        units, or the same in others; None if they are of other kinds, or leave open which they are.

        Args:
            is_counted: the statement has an unknown word after its number, which may be a unit.
        """
        values, right = ([t for t in read if isinstance(t, VALUES)] for read in (given, wanted))
        if not right or [type(value) for value in values] != [type(value) for value in right]:
            return None
        differing = [(a, b) for a, b in zip(values, right, strict=True) if not self._equals(a, b)]
        if any(self._is_open(a, b) or (is_counted and _may_be_scaled(a, b)) for a, b in differing):
            return None
        units, own = ([t for t in read if isinstance(t, Unit)] for read in (given, wanted))
        if not units or not own or is_counted:
            return bool(differing) if differing or not units else None
        if len(units) != len(own):
            return None
        is_same = all(self.is_same_unit(a.names, b.names) for a, b in zip(units, own, strict=True))
        if not is_same:
            return None if differing else True
        return bool(differing)

    def _is_open(self, given: Token, wanted: Token) -> bool:
        """Return whether a date or time may be the wanted one, but lacks its year or half of the day."""
        if isinstance(given, Date) and isinstance(wanted, Date):
            return given.year is None and bool(given.days & (self.days or wanted.days))
        if isinstance(given, Time) and isinstance(wanted, Time):
            return bool(given.minutes & (self.minutes or wanted.minutes))
        return False

    def is_another_name(self, said: str) -> bool:
        """Return whether a statement is a short name, without a value and a word like a right one."""
        given = self._given(said)
        if not given or not all(isinstance(token, Word) for token in given) or self.denies(said):
            return False
        marks = {mark for mark in _MARKS if mark in said}
        if marks and not any(marks <= set(text) for text in self.texts):
            return False
        own = {word for text in self.texts for word in self._words(text)} - fillers(self.language)
        telling = [word for word in self._words(said) if word in own or not self.is_plain(word)]
        return 1 <= len(telling) <= _LONGEST_NAME and not any(
            is_near(word, other) for word in telling for other in own
        )

    def _words(self, text: str) -> list[str]:
        """Return the words of a text; Chinese characters one by one."""
        words = words_of(fold(text, self.language), self.language)
        return [part for word in words for part in (word if _HAN.match(word) else [word])]

    def _given(self, said: str) -> tuple[Token, ...]:
        """Return the tokens of a statement; a number as the date or time that all accepted texts are."""
        given = tokens(said, self.language, self.region)
        kinds = {tuple(type(token) for token in read) for read in self.read}
        if (Date,) in kinds and not any(isinstance(t, Date) for t in given):
            date = numeric_date(said, self.language, self.region)
            return (date,) if date else given
        if (Time,) in kinds and not any(isinstance(t, Time) for t in given):
            time = clock_time(given)
            return (time,) if time else given
        return given

    @cached_property
    def needs_year(self) -> bool:
        """Return whether there are several accepted dates and all state a year."""
        dates = [t for read in self.read for t in read if isinstance(t, Date)]
        return len(dates) > 1 and all(date.year for date in dates)

    @cached_property
    def needs_half_day(self) -> bool:
        """Return whether all accepted times state the half of the day."""
        return all(len(t.minutes) == 1 for read in self.read for t in read if isinstance(t, Time))

    @cached_property
    def minutes(self) -> frozenset[int]:
        """Return the times of day that the accepted times agree on."""
        return agreed(t.minutes for read in self.read for t in read if isinstance(t, Time))

    def _is_same(self, said: str, gold: str) -> bool:
        """Return whether statement and accepted text are the same."""
        if as_written(said, self.language) == as_written(gold, self.language):
            return bool(as_written(gold, self.language))
        wanted = tokens(gold, self.language, self.region, is_gold=True)
        if self.denies(said):
            return False
        if all(isinstance(token, Word) for token in wanted):
            return self._is_same_text(said, gold)
        given = self._given(said)
        return any(
            self._is_same_content(one, other)
            for one, other in ((given, wanted), (in_base_units(given), in_base_units(wanted)))
        )

    def _is_same_content(self, given: Sequence[Token], wanted: Sequence[Token]) -> bool:
        """Return whether a statement has the wanted tokens in their order, lacks only what the question
        states, and adds only what is known.
        """
        left = currency_after_number(given)
        missing: list[Token] = []
        at = 0
        further: list[Token] = []
        for want in currency_after_number(wanted):
            place = next((n for n in range(at, len(left)) if self._equals(left[n], want)), None)
            if place is None:
                missing.append(want)
                continue
            further += left[at:place]
            at = place + 1
        further += left[at:]
        if len(missing) == len(wanted) or any(not isinstance(token, (Unit, Word)) for token in missing):
            return False
        has_words = any(isinstance(token, (Unit, Word)) for token in left)
        if missing and (has_words or not all(map(self.is_in_question, missing))):
            return False
        return all(map(self.is_known, further))

    def _equals(self, given: Token, wanted: Token) -> bool:
        match given, wanted:
            case Number(), Number():
                return any(are_equal(a, b) for a in given.values for b in wanted.values)
            case Unit(), Unit():
                return self.is_same_unit(given.names, wanted.names)
            case Date(), Date():
                is_year = given.year in self.years if given.year and self.years else not self.needs_year
                return bool(given.days & (self.days or wanted.days)) and is_year
            case Time(), Time():
                common = given.minutes & (self.minutes or wanted.minutes)
                return common == given.minutes if self.needs_half_day else bool(common)
            case Word(), Word():
                return given == wanted or self._is_same_word(given.text, wanted.text)
        return given == wanted

    def _is_same_text(self, said: str, gold: str) -> bool:
        """Return whether a statement has the words of a gold text without a number, beside known words."""
        for drop in (frozenset[str](), fillers(self.language)):
            given, wanted = (
                [w for w in map(bare, spaced(text, self.language)) if w not in drop] for text in (said, gold)
            )
            if wanted and self._has_words(given, wanted):
                return True
        return False

    def _has_words(self, given: list[str], wanted: list[str]) -> bool:
        """Return whether the wanted words are among the given in their order, and all others are known."""
        if IS_UNSPACED.match("".join(wanted)):
            before, found, after = "".join(given).partition("".join(wanted))
            return bool(found) and self.is_framed(before, after)
        further: list[str] = []
        left = list(wanted)
        for word in given:
            if left and self._is_same_word(word, left[0]):
                left.pop(0)
            else:
                further.append(word)
        return not left and all(self.is_known(Word(word)) for word in further)

    def _is_same_word(self, given: str, wanted: str) -> bool:
        """Return whether two words are the same, or differ in a case ending."""
        if given == wanted or (given.endswith(".") and len(given) > 4 and wanted.startswith(given[:-1])):
            return True
        if self.language not in _INFLECTED or min(len(given), len(wanted)) < 4:
            return False
        shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(given, wanted, strict=False)))
        one, other = given[shared:], wanted[shared:]
        if self.language == "kk":
            return shared >= 3 and all(_SUFFIX.fullmatch(end) for end in (one, other))
        return shared >= 3 and _ENDING.fullmatch(one) is not None and _ENDING.fullmatch(other) is not None


def _may_be_scaled(given: Token, wanted: Token) -> bool:
    """Return whether an unknown word after a number may be a factor: "400 lucas" for 400,000."""
    if not (isinstance(given, Number) and isinstance(wanted, Number)):
        return False
    return any(are_equal(a * factor, b) for a in given.values for b in wanted.values for factor in _FACTORS)


def _has_digit(text: str) -> bool:
    return any(map(str.isdecimal, text))
