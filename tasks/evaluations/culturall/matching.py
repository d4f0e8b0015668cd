"""Decides without a judge whether an answer is the gold one: text, letter, number with unit, or date. Pure.

An answer is right if it equals the gold answer or one of its accepted variants, as ``tokens`` reads them:
texts without case, punctuation and the marks that a script may leave out; dates by day, month and year; times
of day; numbers by value and unit. A bare number is right where the question names the unit or the number is
accepted; another unit or currency is wrong. Further words make an answer wrong, unless they claim nothing or
are the question's. A denied answer is wrong, and so are alternatives.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile

import regex  # type: ignore[import-untyped]

from tasks.evaluations.culturall import locales
from tasks.evaluations.culturall.claims import claims
from tasks.evaluations.culturall.locales import fold
from tasks.evaluations.culturall.quantities import IS_UNSPACED, spans
from tasks.evaluations.culturall.texts import (
    as_written,
    have_one_root,
    is_alike,
    is_covered,
    plain,
    share_a_stem,
    spaced,
    takes_back,
)
from tasks.evaluations.culturall.tokens import bare, clock_time, fillers, numeric_date, tokens, words_of
from tasks.evaluations.culturall.values import (
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

__all__ = ["is_match", "plain"]

_IN_PARTS = regex.compile(r"[()（）\[\]【】=]+")
# Endings of nouns that differ by case or number in Slavic languages, and suffixes of Kazakh.
_ENDING = regex.compile(
    r"[аеёиоуыэюяьйіaeiou]{0,2}(?:й|м|х|в|ў|ми|го|му|m|h|g|v|ma|mi|ga|mu|og|om|em|ima|ama)?[уюиіeiu]?"
)
_SUFFIX = regex.compile(
    r"(?:[ғгқк][ае]|[дт][аеы]н?|[дт]і|н[аеыі]н?|[нд][ыі]ң|[тд][ыі]ң|[мбп]ен|с?[ыі]н?|[ыі]?м|с?[ыі]н[дт][ае]н?)?"
)
_DEGREE = frozenset({"angle-degree"})
_OF_DATES = frozenset({"duration-day", "duration-month", "duration-year"})
_SCALES = frozenset({"temperature-celsius", "temperature-fahrenheit"})
_WITHOUT_SPACES = frozenset({"ja", "km", "ko", "zh"})
_AND = regex.compile(r"[和与與及跟や、，,]|(?<!あ)と(?!し)|와|과|및|그리고|하고|និង|ឬ|或|か$")
_HOW_MANY = regex.compile(r"(?:몇|何|几|幾|多少|ប៉ុន្មាន|\d)\s*")
_SIGN = regex.compile(r"[\p{S}%#&]")
_INFLECTED = frozenset({"be", "kk", "ru", "sr"})


def is_match(
    answer: str,
    accepted: Iterable[str],
    language: str,
    question: str = "",
    region: str = "",
    scenario: str = "",
    spoken: str = "",
) -> bool:
    """Return whether a free answer is accepted.

    Args:
        accepted: the gold answer, then its variants; what one of them states (a unit, a year, a half of the
            day) counts for the others.
        question: may name a unit, which the answer can then omit, and words that it may repeat.
        region: ISO 3166-1; for currencies and the order of numeric dates.
        scenario: words that a sentence may repeat before the answer.
        spoken: the language of denials and corrections beside English; "": ``language``.
    """
    region = region or locales.likely_region(language)
    item = _Accepted(tuple(accepted), language, question, region, scenario, bool(spoken))
    return any(item.takes(claim) or item.takes_parts(claim) for claim in claims(answer, spoken or language))


@dataclass(frozen=True)
class _Accepted:
    """The answers that an item accepts, with the question and place by which they are read."""

    texts: tuple[str, ...]
    language: str
    question: str
    region: str
    scenario: str = ""
    is_foreign: bool = False  # the answer may be in another language, whose denials are not known here

    def takes(self, answer: str) -> bool:
        """Return whether an answer equals one of the texts."""
        return any(self._is_same(answer, gold) for gold in self.texts)

    def takes_parts(self, answer: str) -> bool:
        """Return whether an answer says the same more than once, as "2 (two)" does."""
        parts = [part for part in _IN_PARTS.split(answer) if part.strip(" .,;:。！!।")]
        parts = [part for part in parts if words_of(fold(part), self.language) or tokens(part, self.language)]
        parts = [part for n, part in enumerate(parts) if not n or not self._is_filler(part)]
        return (
            len(parts) > 1
            and self.takes(parts[0])
            and all(self.takes(part) or self._is_known_weekday(part) for part in parts[1:])
        )

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

    @cached_property
    def days(self) -> frozenset[tuple[int, int]]:
        """Return the days that the accepted dates agree on."""
        return agreed(t.days for read in self.read for t in read if isinstance(t, Date))

    @cached_property
    def units(self) -> frozenset[str]:
        """Return all units of the accepted texts."""
        return frozenset[str]().union(*(t.names for read in self.read for t in read if isinstance(t, Unit)))

    def _is_same(self, answer: str, gold: str) -> bool:
        """Return whether answer and accepted text are the same."""
        if as_written(answer, self.language) == as_written(gold, self.language):
            return bool(as_written(gold, self.language))
        wanted = tokens(gold, self.language, self.region, is_gold=True)
        given = tokens(answer, self.language, self.region)
        is_number = any(isinstance(token, Number) for token in wanted)
        is_value = is_number or any(isinstance(token, (Date, Time)) for token in wanted)
        stated = " ".join((gold, *self.texts)) if is_value else gold
        if takes_back(answer, stated, self.question, self.language, is_number):
            return False
        if not is_number and all(isinstance(token, Word) for token in wanted):
            return self._is_same_text(answer, gold) or self._is_stated_together(answer, gold, wanted)
        if [type(token) for token in wanted] == [Date] and not any(isinstance(t, Date) for t in given):
            date = numeric_date(answer, self.language, self.region)
            given = (date,) if date else given
        if [type(token) for token in wanted] == [Time] and not any(isinstance(t, Time) for t in given):
            time = clock_time(given)
            given = (time,) if time else given
        return self._is_stated_together(answer, gold, wanted) or any(
            self._is_same_content(one, other) or self._is_stated(one, other)
            for one, other in ((given, wanted), (in_base_units(given), in_base_units(wanted)))
        )

    def _is_same_content(self, given: Sequence[Token], wanted: Sequence[Token]) -> bool:
        """Return whether an answer has the wanted tokens in their order, lacks only what the question states,
        and adds only what is known.
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
        if missing and (has_words or not all(map(self._is_in_question, missing))):
            return False
        words = [
            token.text for token in further if isinstance(token, Word) and not self._is_known(token, wanted)
        ]
        others = [token for token in further if not isinstance(token, Word)]
        return self._are_known(words) and all(self._is_known(token, wanted) for token in others)

    def _is_stated(self, given: Sequence[Token], wanted: Sequence[Token]) -> bool:
        """Return whether a sentence has one number, date or time, the wanted one, beside those of the
        question. Words before it are free, unless they change it; words after it stand in the question: "She
        is 49 years old" says 49, "49 eggs" does not.
        """
        wanted_values = [token for token in wanted if isinstance(token, (Number, Date, Time))]
        if len(wanted_values) != 1:
            return False
        values = [n for n, token in enumerate(given) if isinstance(token, (Number, Date, Time))]
        values = [n for n in values if given[n] not in self.question_tokens or given[n] == wanted_values[0]]
        if len(values) != 1:
            return False
        at = values[0]
        needed = [token.text for token in wanted if isinstance(token, Word)]
        before = [token.text for token in given[:at] if isinstance(token, Word)]
        after = [token.text for token in given[at:] if isinstance(token, Word)]
        if not all(any(is_alike(word, one) for one in (*before, *after)) for word in needed):
            return False
        before, after = (
            [one for one in words if not any(is_alike(word, one) for word in needed)]
            for words in (before, after)
        )
        if {*before, *after} & _alternatives(self.language) or not self._equals(given[at], wanted_values[0]):
            return False
        own = [token for token in wanted if isinstance(token, Unit)]
        spoken = _OF_DATES if isinstance(wanted_values[0], Date) else frozenset[str]()
        units = [token for token in given if isinstance(token, Unit) and not token.names <= spoken]
        is_unit = all(
            any(self._is_same_unit(unit.names, one.names) for one in own) or self._is_known(unit, wanted)
            for unit in units
        )
        days = [token for token in given if isinstance(token, Weekday)]
        return (
            is_unit
            and (bool(units) or all(map(self._is_in_question, own)))
            and all(map(self._is_right_weekday, days))
            and self._are_known(
                before,
                self.scenario,
                least=1,
                spare=1 if self.is_foreign else len(before),
                least_told=2 if self.is_foreign else 0,
            )
            and self._are_known(after)
        )

    def _is_stated_together(self, answer: str, gold: str, wanted: Sequence[Token]) -> bool:
        """Return whether a sentence in a script without spaces has the one number and unit, or the words,
        among words of question and scenario.
        """
        if self.language not in _WITHOUT_SPACES or any(isinstance(t, (Date, Time)) for t in wanted):
            return False
        said = fold(answer, self.language)
        numbers = [token for token in wanted if isinstance(token, Number)]
        if not numbers:
            before, found, after = said.partition(fold(gold, self.language))
            return bool(found) and self._is_framed(before, after)
        found_numbers = list(spans(said, self.language, False))
        if len(found_numbers) != 1 or len(numbers) != 1:
            return False
        (span,), counter = found_numbers, "".join(t.text for t in wanted if isinstance(t, Word))
        if not any(are_equal(a, b) for a in span.values for b in numbers[0].values):
            return False
        before, after = said[: span.start], said[span.end :].lstrip()
        if not after.startswith(counter):
            return False
        after = after.removeprefix(counter)
        own = [token for token in wanted if isinstance(token, Unit)]
        forms = locales.units_and_currencies(self.language)
        unit = max((form for form in forms if after.startswith(form)), key=len, default="")
        if unit and not any(self._is_same_unit(forms[unit], one.names) for one in own):
            return False
        is_apart = not _AND.search(before.rstrip()[-2:]) and not _SIGN.search(before)
        is_apart &= not any(form in before for form in locales.own_and_english("changes", self.language))
        return (
            (bool(unit) or all(map(self._is_in_question, own)))
            and is_apart
            and self._is_framed("", after[len(unit) :])
        )

    def _is_framed(self, before: str, after: str) -> bool:
        """Return whether the text around an answer, in a script without spaces, is of known pieces: words
        that claim nothing, and Chinese characters, or runs of two others, of the question. Before the answer
        they may also be of the scenario.
        """
        if _AND.search(before.rstrip()[-2:]) or _AND.match(after.lstrip()) or _SIGN.search(before + after):
            return False
        known = fillers(self.language) | locales.own_and_english("frames", self.language)
        own = " ".join(text for text in self.texts if not any(map(str.isdecimal, text)))
        asked, told = (fold(text, self.language) for text in (f"{self.question} {own}", self.scenario))
        return is_covered(before, known, f"{asked} {told}") and is_covered(after, known, asked)

    def _is_frame(self, token: Token) -> bool:
        return isinstance(token, Word) and token.text in locales.own_and_english("frames", self.language)

    def _equals(self, given: Token, wanted: Token) -> bool:
        match given, wanted:
            case Number(), Number():
                return any(are_equal(a, b) for a in given.values for b in wanted.values)
            case Unit(), Unit():
                return self._is_same_unit(given.names, wanted.names)
            case Date(), Date():
                is_year = given.year in self.years if given.year and self.years else not self.needs_year
                return bool(given.days & (self.days or wanted.days)) and is_year
            case Time(), Time():
                common = given.minutes & (self.minutes or wanted.minutes)
                return common == given.minutes if self.needs_half_day else bool(common)
            case Word(), Word():
                return given == wanted or is_alike(given.text, wanted.text)
        return given == wanted

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

    def _is_known(self, token: Token, wanted: Sequence[Token]) -> bool:
        """Return whether a further token claims nothing new: a word of the question, the region's adjective,
        or the right day of the week.
        """
        if isinstance(token, Weekday):
            return self._is_right_weekday(token)
        if isinstance(token, Unit):
            return not self.units and self._is_in_question(token)
        if not isinstance(token, Word) or token.text in _alternatives(self.language):
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

    def _is_same_text(self, answer: str, gold: str) -> bool:
        """Return whether an answer has the words of a gold text without a number, beside words that claim
        nothing.
        """
        for drop in (frozenset[str](), fillers(self.language)):
            given, wanted = (
                [w for w in map(bare, spaced(text, self.language)) if w not in drop]
                for text in (answer, gold)
            )
            if wanted and self._has_words(given, wanted):
                return True
        return False

    def _has_words(self, given: list[str], wanted: list[str]) -> bool:
        """Return whether the wanted words are among the given in their order, and all others are known."""
        if IS_UNSPACED.match("".join(wanted)):
            before, found, after = "".join(given).partition("".join(wanted))
            return bool(found) and self._is_framed(before, after)
        n = len(wanted)
        for at in range(len(given) - n + 1):
            if all(map(self._is_same_word, given[at : at + n], wanted)):
                last = given[max(at - 1, 0) : at]
                is_spare = self._are_known(last, self.scenario, least=1)
                is_led = self._are_known(given[:at], self.scenario, spare=int(is_spare))
                return is_led and self._are_known(given[at + n :])
        further: list[str] = []
        left = list(wanted)
        for word in given:
            if left and self._is_same_word(word, left[0]):
                left.pop(0)
            else:
                further.append(word)
        return not left and self._are_known(further)

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
        denials = locales.own_and_english("negations", self.language) | _alternatives(self.language)
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
        changes = locales.own_and_english("changes", self.language)
        is_spare = len(unknown) <= spare and all(_SIGN.search(piece) is None for piece in unknown)
        return is_spare and sum(told) >= least_told and changes.isdisjoint(pieces)

    def _asks_denials(self, pieces: Sequence[str]) -> bool:
        """Return whether the question has the denials of a sentence, so that they are no denials of it."""
        return not takes_back(" ".join(pieces), "", self.question, self.language, is_number=False)

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


def _alternatives(language: str) -> frozenset[str]:
    return locales.own_and_english("alternatives", language)
