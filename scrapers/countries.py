"""Countries as sources write them ("Korea, South", "the United States[1]") to ISO 3166-1 alpha-2 codes.

Live sources, published files and users' files all resolve names here.
"""

from __future__ import annotations

import csv
import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from scrapers.text import clean

_FOOTNOTE = re.compile(r"\[[^\]]{0,20}\]|[¹²³⁴⁵]")
_APOSTROPHE = re.compile("['’‘ʻʼ`´]")
_NOT_A_LETTER = re.compile(r"[^\w]+|_")
_OF_PEOPLE = re.compile(r"(?<=\w)(?:s| people| culture)$")
_TWO_PARTS = re.compile(r"([^,()]+)(?:,\s*([^,()]+)|\s*\(([^()]+)\))")


class CountryCodes:
    """Looks up the warehouse's countries, and only them, by name.

    names: what a country is called -> its alpha-2 code. For sources that write alpha-3 codes, the caller adds
    these as names. ``country_aliases.csv`` adds other spellings, adjectives ("Korean": South Korea) and
    places that are not in the warehouse. Case, accents, punctuation, a leading "the" and footnote marks do
    not matter. "Congo, Republic of the" and "Congo (Republic of the)" are read as "Republic of the Congo",
    and "Myanmar (Burma)" as either of its names where both mean the same country.
    """

    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names
        known = set(names.values())
        aliases = {_key(name): place for name, place in country_aliases().items()}
        self._codes = {key: place for key, place in aliases.items() if place in known}
        self._codes |= {_key(name): code for name, code in names.items()}
        self._regions = {key: place for key, place in aliases.items() if len(place) > 2} | self._codes

    def code(self, name: str) -> str | None:
        """Return the country's alpha-2 code; None for a territory or a country outside the warehouse."""
        without_marks = _FOOTNOTE.sub("", clean(name)).strip()
        code = self._codes.get(_key(without_marks))
        parts = _TWO_PARTS.fullmatch(without_marks)
        if code or not parts:
            return code
        head, tail = parts[1], parts[2] or parts[3]
        turned = self._codes.get(_key(f"{tail} {head}"))
        first, second = self._codes.get(_key(head)), self._codes.get(_key(tail))
        return turned or (first if first == second else None)

    def region(self, name: str) -> str | None:
        """Return the country's alpha-2 code, or the name of a place outside the warehouse, else None.

        Results can be broken down by such a place: "Hong Kongers" and "hong_kong" are "Hong Kong". Groups of
        people count as their place ("Americans", "Japanese people").
        """
        key = _key(_FOOTNOTE.sub("", clean(name)))
        return self.code(name) or self._regions.get(key) or self._regions.get(_OF_PEOPLE.sub("", key))

    def listed(self, text: str) -> list[str]:
        """The names in a text such as "Laos, Thailand"; "Korea, South" is one name."""
        return [text] if self.code(text) else [name for name in map(clean, text.split(",")) if name]

    def codes(self, names: Iterable[str]) -> tuple[tuple[str, ...], int]:
        """Return sorted distinct codes of ``names``, and the number of names outside the warehouse."""
        codes = [self.code(name) for name in names]
        return tuple(sorted({code for code in codes if code})), codes.count(None)


def _key(name: str) -> str:
    """The key that two spellings of one name have in common."""
    letters = unicodedata.normalize("NFKD", _APOSTROPHE.sub("", name).replace("&", " and ")).casefold()
    plain = "".join(letter for letter in letters if not unicodedata.combining(letter))
    return " ".join(_NOT_A_LETTER.sub(" ", plain).split()).removeprefix("the ")


@cache
def country_aliases() -> dict[str, str]:
    """Other name -> alpha-2 code, or the name of a place without one, from the CSV file beside it."""
    with Path(__file__).with_name("country_aliases.csv").open(encoding="utf-8", newline="") as file:
        return {row["name"]: row["country"] for row in csv.DictReader(file)}
