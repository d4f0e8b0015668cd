"""Knows which words of an answer claim nothing new: those of question and accepted texts. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import regex  # type: ignore[import-untyped]

from tasks.evaluations.culturall import locales
from tasks.evaluations.culturall.locales import fold
from tasks.evaluations.culturall.quantities import IS_UNSPACED
from tasks.evaluations.culturall.texts import has_phrase, is_alike, is_covered
from tasks.evaluations.culturall.tokens import fillers, tokens, words_of
from tasks.evaluations.culturall.values import Date, Number, Time, Token, Unit, Weekday, Word, agreed, weekday

VALUES = (Number, Date, Time, Weekday)
_DEGREE = frozenset({"angle-degree"})
_SCALES = frozenset({"temperature-celsius", "temperature-fahrenheit"})
_AND = regex.compile(r"[和与與及跟や、，,]|(?<!あ)と(?!し)|와|과|및|그리고|하고|និង|ឬ|或|か$")
_HOW_MANY = regex.compile(r"(?:몇|何|几|幾|多少|ប៉ុន្មាន|\d)\s*")
_SIGN = regex.compile(r"[\p{S}%#&]")
_WITHOUT_SPACES = frozenset({"ja", "km", "ko", "zh"})


@dataclass(frozen=True)
class Asked:
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
