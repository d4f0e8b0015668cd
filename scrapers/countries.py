"""ISO 3166-1 alpha-2 codes of countries as sources write them ("Korea, South", "the United States[1]").

Used for live sources, published files and users' files.
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
    """Codes of the warehouse's countries by name.

    ``country_aliases.csv`` adds other spellings, adjectives ("Korean": South Korea) and places outside the
    warehouse. Case, accents, punctuation, a leading "the" and footnote marks do not matter. "Congo, Republic
    of the" and "Congo (Republic of the)" are read as "Republic of the Congo". "Myanmar (Burma)" is found
    because both names mean the same country.

    Args:
        names: alpha-2 codes by name. For sources that write alpha-3 codes, the caller adds these as names.
    """

    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names
        country_codes = set(names.values())
        aliases = {_key(name): place for name, place in country_aliases().items()}
        self._codes = {key: place for key, place in aliases.items() if place in country_codes}
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
        reordered = self._codes.get(_key(f"{tail} {head}"))
        first, second = self._codes.get(_key(head)), self._codes.get(_key(tail))
        return reordered or (first if first == second else None)

    def region(self, name: str) -> str | None:
        """Return the country's alpha-2 code, or the name of a known place outside the warehouse, else None.

        Results can be reported for such a place: "Hong Kongers" and "hong_kong" are "Hong Kong". Groups of
        people count as their place ("Americans", "Japanese people").
        """
        key = _key(_FOOTNOTE.sub("", clean(name)))
        return self.code(name) or self._regions.get(key) or self._regions.get(_OF_PEOPLE.sub("", key))

    def split_names(self, text: str) -> list[str]:
        """Return the names in a text such as "Laos, Thailand"; "Korea, South" is one name."""
        return [text] if self.code(text) else [name for name in map(clean, text.split(",")) if name]

    def codes(self, names: Iterable[str]) -> tuple[tuple[str, ...], int]:
        """Return the sorted distinct codes of names, and the number of names outside the warehouse."""
        codes = [self.code(name) for name in names]
        return tuple(sorted({code for code in codes if code})), codes.count(None)


def _key(name: str) -> str:
    """Return a key that is the same for all spellings of a name."""
    letters = unicodedata.normalize("NFKD", _APOSTROPHE.sub("", name).replace("&", " and ")).casefold()
    plain = "".join(letter for letter in letters if not unicodedata.combining(letter))
    return " ".join(_NOT_A_LETTER.sub(" ", plain).split()).removeprefix("the ")


@cache
def country_aliases() -> dict[str, str]:
    """Return the alpha-2 code, or the name of a place without one, by alias in country_aliases.csv."""
    with Path(__file__).with_name("country_aliases.csv").open(encoding="utf-8", newline="") as file:
        return {row["name"]: row["country"] for row in csv.DictReader(file)}
