"""Puts a study into other languages: questions, names of countries, and items. Pure.

All languages of a run have the same countries and, in a list that several have, the same items: those that
are named in each of them. So what differs between their answers is the language, not the list. A list without
names in a language, such as dishes, leaves its domains out there.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from tasks.evaluations.spectral.study import ENGLISH, ItemList, SpectralQuestion, SpectralStudy
from tasks.identity import UnknownName, digest
from tasks.packs.published import Row

Names = dict[str, str]
"""Item, or code of a country -> its name in a language."""

COUNTRIES = "country"
"""The list that names countries, by code."""

FEWEST = 2
"""Least number of items of a list that are named in a language; a list with fewer is not in it."""


def in_order(languages: Sequence[str] | None) -> list[str]:
    """Return the languages of a run, English first, then by code; none if it is English alone."""
    order = sorted(set(languages or ()), key=lambda code: (code != ENGLISH, code))
    return [] if order == [ENGLISH] else order


class Vocabulary:
    """Texts and names in the languages of a run."""

    def __init__(self, languages: Sequence[str], texts: Sequence[Row], names: Sequence[Row]) -> None:
        """languages: of ``in_order``. texts, names: rows of ``question_text`` and ``item_name``.

        Raises:
            UnknownName: there is no question in a language.
        """
        known = {ENGLISH, *(str(row["language"]) for row in texts)}
        for code in languages:
            if code not in known:
                raise UnknownName("language", code, sorted(known))
        self.languages = list(languages)
        self._texts = {(str(row["language"]), str(row["question"])): row for row in texts}
        named: dict[tuple[str, str], Names] = defaultdict(dict)
        for row in names:
            named[str(row["language"]), str(row["item_list"])][str(row["item"])] = str(row["name"])
        self._named = {key: _unique(of_list) for key, of_list in named.items()}

    def shared(self, name: str, items: Sequence[Row]) -> list[Row]:
        """Return the rows of a list's items that every language names, of those that have the list."""
        of_language = [
            self._names(code, name, [str(row["item"]) for row in items]) for code in self.languages
        ]
        having = [names for names in of_language if len(names) >= FEWEST]
        return [row for row in items if all(str(row["item"]) in names for names in having)]

    def studies(self, english: SpectralStudy, spoken: Mapping[str, str]) -> SpectralStudy:
        """Return the study in the first language, with those in the others.

        Args:
            english: with the lists of ``shared``. spoken: country -> its main language.

        Raises:
            ValueError: a chosen country has no name in a language, or no chosen domain is in it.
        """
        first, *others = (self._in(english, code) for code in self.languages)
        own = {country: code for country, code in spoken.items() if country in english.countries}
        return replace(
            first,
            others={other.language: replace(other, is_other=True) for other in others},
            spoken=own if ENGLISH in self.languages else {},
        )

    def _in(self, english: SpectralStudy, code: str) -> SpectralStudy:
        if code == ENGLISH:
            return english
        names = self._named.get((code, COUNTRIES), {})
        if missing := [name for country, name in english.countries.items() if country not in names]:
            raise ValueError(
                f"the language {code!r} has no name of {missing[0]} ({len(missing)} such countries): leave "
                "them out of `countries`, or add them to item_name.csv of a pack"
            )
        lists = {
            name: translated
            for name, items in english.lists.items()
            if (translated := self._list(code, items)) is not None
        }
        by_domain: dict[str, list[SpectralQuestion]] = defaultdict(list)
        for question in english.questions:
            by_domain[question.domain].append(question)
        questions = tuple(
            replace(question, prefix=text["prefix"], template=text["template"])
            for of_domain in by_domain.values()
            if of_domain[0].item_list in lists
            and all((code, question.question) in self._texts for question in of_domain)
            for question in of_domain
            for text in [self._texts[code, question.question]]
        )
        if not questions:
            raise ValueError(
                f"no chosen domain is in the language {code!r}: name others in `domains`, leave the language "
                "out, or add question_text.csv and item_name.csv to a pack"
            )
        used = {question.item_list for question in questions}
        return replace(
            english,
            countries={country: names[country] for country in english.countries},
            questions=questions,
            lists={name: items for name, items in lists.items() if name in used},
            reference_hash=digest(sorted(names.items())),
            language=code,
        )

    def _list(self, code: str, items: ItemList) -> ItemList | None:
        """Return a list in a language; None if the language does not have it."""
        names = self._names(code, items.name, items.items)
        if len(names) < FEWEST:
            return None
        return replace(items, items=tuple(names[item] for item in items.items), aliases=())

    def _names(self, code: str, name: str, items: Sequence[str]) -> Names:
        """Return item -> its name; numbers without one are their own, as English items are."""
        known = self._named.get((code, name), {})
        own = {item: item for item in items if code == ENGLISH or item.isdecimal()} | known
        return {item: own[item] for item in items if item in own}


def _unique(names: Names) -> Names:
    """Return the names that one item has alone."""
    counts = Counter(names.values())
    return {item: name for item, name in names.items() if counts[name] == 1}
