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
from tasks.evaluations.culturall.asked import AND, SIGN, WITHOUT_SPACES, Asked, alternatives
from tasks.evaluations.culturall.claims import claims
from tasks.evaluations.culturall.locales import fold
from tasks.evaluations.culturall.quantities import IS_UNSPACED, spans
from tasks.evaluations.culturall.texts import (
    as_written,
    is_alike,
    plain,
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
_OF_DATES = frozenset({"duration-day", "duration-month", "duration-year"})
_VERB = {
    "ja": regex.compile(
        r"(?:を|が|と|に|で|は|だけ|まで|までに)+[\p{Hiragana}\p{Han}]{1,12}[るたすだいうくつむ]"
    ),
    "ko": regex.compile(r"(?:이|가|을|를|으로|로|에|만|까지|라고|이라고)+\s?[\p{Hangul} ]{1,12}[다요]"),
}
"""A particle and a verb, which a denial has taken back before."""
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
class _Accepted(Asked):
    """The answers that an item accepts, with the question and place by which they are read."""

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

        def is_needed(word: str, one: str) -> bool:
            return is_alike(word, one) or (IS_UNSPACED.match(one) is not None and word.startswith(one))

        before = [token.text for token in given[:at] if isinstance(token, Word)]
        after = [token.text for token in given[at:] if isinstance(token, Word)]
        if not all(any(is_needed(one, word) for one in (*before, *after)) for word in needed):
            return False
        before, after = (
            [one for one in words if not any(is_needed(one, word) for word in needed)]
            for words in (before, after)
        )
        if {*before, *after} & alternatives(self.language) or not self._equals(given[at], wanted_values[0]):
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

    def _is_followed(self, after: str) -> bool:
        """Return whether the text after a value, in a script without spaces, claims nothing more: it is
        known, or a particle and a verb, which stands last in Japanese and Korean.
        """
        verb = _VERB.get(self.language)
        return self._is_framed("", after) or bool(verb and verb.fullmatch(after.strip(" .。")))

    def _is_stated_together(self, answer: str, gold: str, wanted: Sequence[Token]) -> bool:
        """Return whether a sentence in a script without spaces has the one number and unit, or the words,
        among words of question and scenario.
        """
        if self.language not in WITHOUT_SPACES or any(isinstance(t, (Date, Time)) for t in wanted):
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
        is_apart = not AND.search(before.rstrip()[-2:]) and not SIGN.search(before)
        is_apart &= not any(form in before for form in locales.own_and_english("changes", self.language))
        return (
            (bool(unit) or all(map(self._is_in_question, own)))
            and is_apart
            and self._is_followed(after[len(unit) :])
        )

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
