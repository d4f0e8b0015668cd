"""Makes a persona of the paper's format: box 2 of "Measuring meta-cultural competency" (2025), as an
interviewer writes it. Pure.

The format has no identifier, country, cuisine, facts or dishes for programs. The first three come from the
name and the location; without the others, what programs find in facts has no number. None, an empty list and
an empty text stand for what was not said; a text may stand for a list, and a list for a text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from functools import cache
from typing import Any

from babel import Locale

from tasks.loop.objects import objects, plain_value
from tasks.parsing import parse_json

NOT_SAID = "not said"
_SHORT = {
    "uk": "GB", "england": "GB", "scotland": "GB", "wales": "GB", "usa": "US", "u s a": "US", "america": "US",
    "turkey": "TR", "uae": "AE", "czech republic": "CZ", "ivory coast": "CI", "burma": "MM",
}  # fmt: skip
"""Other names of countries than those of babel."""

_LISTS: Mapping[str, tuple[str, ...]] = {
    "": ("typical_breakfast", "preparation_style", "emotional_associations", "notable_quotes"),
    "demographics": ("health_conditions",),
    "preferences": ("reasons", "preferred_beverages", "favorite_items", "disliked_items"),
    "constraints": ("dietary_restrictions",),
    "cultural_influences": (
        "childhood_habits", "family_traditions", "regional_influences", "religious_or_festive_influences",
    ),
}  # fmt: skip
"""Section -> its lists; "": of the persona itself."""
_TEXTS: Mapping[str, tuple[str, ...]] = {
    "": ("name", "summary"),
    "demographics": ("gender", "location", "occupation", "household", "lifestyle"),
    "preferences": ("weekday_vs_weekend",),
    "constraints": ("time_available", "availability_of_items"),
    "cultural_influences": (),
    "routines_and_context": ("timing", "who_with", "where", "pace"),
    "aspirations_or_changes": ("desired_changes", "ideal_breakfast"),
    "health_and_wellbeing": ("perceived_healthiness", "impact_on_day", "skipping_habits"),
    "social_and_personality_signals": ("identity_connection", "social_sharing", "personality_traits_visible"),
}
_LEVELS = {"budget": ("low", "medium", "high"), "cooking_skills": ("novice", "intermediate", "expert")}
_KNOWN = {"persona", "facts", "dishes"}
"""Fields for programs; an object with one of them is not of the paper's format."""


def is_of_the_paper(fields: Mapping[str, Any]) -> bool:
    """Return whether an object has the sections of box 2 and no field for programs."""
    return "demographics" in fields and not _KNOWN & fields.keys()


def completed(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of ``materials.Persona`` from an object of the paper's format; fields that it does
    not know stay, for the message that refuses them.

    Raises:
        ValueError: the person has no name, or no country that the location names.
    """
    own: dict[str, Any] = dict(fields)
    for section in _TEXTS:
        part = dict(own if not section else _mapping(own.get(section)))
        part |= {name: _list(part.get(name)) for name in _LISTS.get(section, ())}
        part |= {name: _text(part.get(name)) for name in _TEXTS[section]}
        own = part if not section else own | {section: part}
    age = re.search(r"\d{1,3}", str(own["demographics"].get("age") or ""))
    own["demographics"]["age"] = int(age[0]) if age else None
    for name, levels in _LEVELS.items():
        said = _text(own["constraints"].get(name)).casefold()
        stated = [level for level in levels if level in said]
        own["constraints"][name] = stated[0] if len(stated) == 1 else None
    if own["name"] == NOT_SAID:
        raise ValueError('the person has no name: add one to tell personas apart, such as "Person 1"')
    letters = unicodedata.normalize("NFKD", own["name"].casefold()).encode("ascii", "ignore").decode()
    own["persona"] = re.sub(r"[^a-z0-9]+", "-", letters).strip("-") or "person"
    country = _country(str(own.get("country") or "")) or _country(own["demographics"]["location"])
    if country is None:
        raise ValueError(
            f"no country is in the location {own['demographics']['location']!r}: add a field country with "
            'the code of the country where the person lives, such as "IN"'
        )
    own |= {"country": country, "cuisine": _text(own.get("cuisine") or _names()[country])}
    return own | {"cuisine_countries": _list(own.get("cuisine_countries")) or [country]}


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: object) -> list[str]:
    parts = value if isinstance(value, list | tuple) else [value]
    return [text for text in (_text(part) for part in parts) if text != NOT_SAID]


def _text(value: object) -> str:
    if isinstance(value, list | tuple):
        return "; ".join(_list(value)) or NOT_SAID
    if isinstance(value, Mapping):
        return "; ".join(f"{name}: {_text(part)}" for name, part in value.items()) or NOT_SAID
    return " ".join(str(value).split()) or NOT_SAID if value not in (None, "") else NOT_SAID


@cache
def _names() -> Mapping[str, str]:
    """Return code of a country -> its English name."""
    names = Locale("en").territories
    return {code: name for code, name in names.items() if re.fullmatch(r"[A-Z]{2}", code) and code != "ZZ"}


def _country(text: str) -> str | None:
    """Return the code of the country that a text is, or that it names last ("Pune, India", "London, UK")."""
    names = _names()
    if text.strip() in names:
        return text.strip()
    words = f" {_latin_words(text)} "
    known = {_latin_words(name): code for code, name in names.items()} | _SHORT
    found = [(words.rfind(f" {name} "), len(name), code) for name, code in known.items()]
    place, _, code = max(found)
    return code if place >= 0 else None


def _latin_words(text: str) -> str:
    letters = "".join(
        c for c in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(c)
    )
    return " ".join(re.findall(r"[a-z]+", letters))


def json_or_dictionary(text: str) -> Any:
    """Return the content of a JSON file, or the object of a Python dictionary, which the paper's interviewer
    writes. Raises ValueError for another text.
    """
    try:
        return parse_json(text)
    except ValueError:
        found = objects(text)
        around = (text[: found[0].start], text[found[0].end :]) if len(found) == 1 else ("broken", "")
        if not all(re.fullmatch(r"\s*(?:```\w*)?\s*(?:\w+\s*=)?\s*", part) for part in around):
            raise
        return plain_value(found[0].pairs)
