"""Knows which words of an answer claim nothing new: those of question, scenario and accepted texts. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import regex  # type: ignore[import-untyped]

from tasks.evaluations.culturall import locales
from tasks.evaluations.culturall.locales import fold
from tasks.evaluations.culturall.quantities import IS_UNSPACED
from tasks.evaluations.culturall.texts import have_one_root, is_alike, is_covered, share_a_stem, takes_back
from tasks.evaluations.culturall.tokens import fillers, tokens, words_of
from tasks.evaluations.culturall.values import Date, Time, Token, Unit, Weekday, Word, agreed, weekday

_DEGREE = frozenset({"angle-degree"})
_SCALES = frozenset({"temperature-celsius", "temperature-fahrenheit"})
AND = regex.compile(r"[和与與及跟や、，,]|(?<!あ)と(?!し)|와|과|및|그리고|하고|និង|ឬ|或|か$")
_HOW_MANY = regex.compile(r"(?:몇|何|几|幾|多少|ប៉ុន្មាន|\d)\s*")
SIGN = regex.compile(r"[\p{S}%#&]")
WITHOUT_SPACES = frozenset({"ja", "km", "ko", "zh"})


@dataclass(frozen=True)
class Asked:
    """The answers that an item accepts, with the question and place by which they are read."""

    texts: tuple[str, ...]
    language: str
    question: str
    region: str
    scenario: str = ""
    is_foreign: bool = False  # the answer may be in another language, whose denials are not known here

    def _is_filler(self, part: str) -> bool:
        pieces = words_of(fold(part, self.language), self.language)
        known = fillers(self.language) | locales.own_and_english("frames", self.language)
        return all(piece in known for piece in pieces) and not any(map(str.isdecimal, part))

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
    def own_words(self) -> frozenset[str]:
        """Return the words of all accepted texts."""
        return frozenset(
            word for text in self.texts for word in words_of(fold(text, self.language), self.language)
        )

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

    def _is_framed(self, before: str, after: str) -> bool:
        """Return whether the text around an answer, in a script without spaces, is of known pieces: words
        that claim nothing, and Chinese characters, or runs of two others, of the question. Before the answer
        they may also be of the scenario.
        """
        if AND.search(before.rstrip()[-2:]) or AND.match(after.lstrip()) or SIGN.search(before + after):
            return False
        known = fillers(self.language) | locales.own_and_english("frames", self.language)
        own = " ".join(text for text in self.texts if not any(map(str.isdecimal, text)))
        asked, told = (fold(text, self.language) for text in (f"{self.question} {own}", self.scenario))
        return is_covered(before, known, f"{asked} {told}") and is_covered(after, known, asked)

    def _is_frame(self, token: Token) -> bool:
        return isinstance(token, Word) and token.text in locales.own_and_english("frames", self.language)

    def _is_same_unit(self, given: frozenset[str], wanted: frozenset[str]) -> bool:
        """Return whether two units are the same. An open currency is the region's, or else the US dollar;
        open degrees are of the scale that the question or another accepted text names.
        """
        if wanted == _DEGREE:
            asked = frozenset[str]().union(*(t.names for t in self.question_tokens if isinstance(t, Unit)))
            wanted = wanted | (given & (asked | self.units) & _SCALES)
        local = wanted & locales.currencies_of(self.region)
        default = frozenset({"USD"}) & wanted
        return bool(given & (local or default or wanted))

    def _is_in_question(self, token: Token) -> bool:
        """Return whether the question has a unit or word."""
        if isinstance(token, Unit):
            units = [t for t in self.question_tokens if isinstance(t, Unit) and t.names & token.names]
            return bool(units) and (self.language not in WITHOUT_SPACES or self._asks_for(token.names))
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

    def _is_known(self, token: Token, wanted: Sequence[Token]) -> bool:
        """Return whether a further token claims nothing new: a word of the question, the region's adjective,
        or the right day of the week.
        """
        if isinstance(token, Weekday):
            return self._is_right_weekday(token)
        if isinstance(token, Unit):
            return not self.units and self._is_in_question(token)
        if not isinstance(token, Word) or token.text in alternatives(self.language):
            return False
        is_until = token.text in locales.own_and_english("until", self.language)
        if is_until and any(isinstance(t, (Date, Time, Weekday)) for t in wanted):
            return True
        return self._is_in_question(token) or self._is_of_region(token.text)

    def _is_of_region(self, word: str) -> bool:
        names = locales.region_names(self.region, self.language)
        return any(len(name) > 3 and word.startswith(name[: max(4, len(name) - 2)]) for name in names)

    def _is_right_weekday(self, token: Weekday) -> bool:
        """Return whether a day of the week is accepted, or is that of the accepted date."""
        if any(token in read for read in (*self.read, self.question_tokens)):
            return True
        return any(weekday(year, month, day) == token.day for year in self.years for day, month in self.days)

    def _is_known_weekday(self, part: str) -> bool:
        read = tokens(part, self.language, self.region)
        return bool(read) and all(isinstance(t, Weekday) and self._is_right_weekday(t) for t in read)

    def _are_known(
        self,
        words: Iterable[str],
        context: str = "",
        least: int = 3,
        spare: int = 0,
        least_told: int = 2,
    ) -> bool:
        """Return whether words claim nothing, or stand in the question or, if they are several, in a further
        context.

        Args:
            spare: number of other words, such as a verb, that may stand among them.
            least_told: number of words that must stand in question or context beside these.
        """
        words = list(words)
        pieces = [piece for word in words for piece in words_of(word, self.language)]
        digits = {part for word in words for part in regex.findall(r"\d+", word)}
        if digits - set(regex.findall(r"\d+", fold(self.question, self.language))):
            return False
        n_telling = sum(piece not in fillers(self.language) for piece in pieces)
        if n_telling < least and not IS_UNSPACED.match("".join(pieces)):  # a part of the answer, no sentence
            context = ""
        folded = fold(context, self.language)
        near = (*self.question_words, *(words_of(folded, self.language) if context else ()))
        together = folded.replace(" ", "")
        denials = locales.own_and_english("negations", self.language) | alternatives(self.language)
        if not denials.isdisjoint(pieces) and not self._asks_denials(pieces):
            return False
        telling = [piece for piece in pieces if piece not in fillers(self.language)]
        told = [
            any(is_alike(piece, word) or share_a_stem(piece, word) for word in near)
            or (self.language == "ms" and any(have_one_root(piece, word) for word in near))
            or bool(IS_UNSPACED.match(piece) and piece in together)
            or self._is_known(Word(piece), ())
            for piece in telling
        ]
        unknown = [
            piece
            for piece, is_told in zip(telling, told, strict=True)
            if not is_told and piece not in self.own_words and not self._is_frame(Word(piece))
        ]
        if not unknown:
            return True
        changes = locales.own_and_english("changes", self.language) - set(self.question_words)
        is_spare = len(unknown) <= spare and all(SIGN.search(piece) is None for piece in unknown)
        return is_spare and sum(told) >= least_told and changes.isdisjoint(pieces)

    def _asks_denials(self, pieces: Sequence[str]) -> bool:
        """Return whether the question has the denials of a sentence, so that they are no denials of it."""
        return not takes_back(" ".join(pieces), "", self.question, self.language, is_number=False)


def alternatives(language: str) -> frozenset[str]:
    return locales.own_and_english("alternatives", language)
