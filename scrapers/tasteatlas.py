"""Parses the user's JSON export of TasteAtlas into one item per food. Opt-in; none are shipped.

The export is a list of objects, or an object with such a list as "items", "results", "data" or "foods". Each
object has a name, and may have countries of origin, ingredients and other names. Case and punctuation of keys
do not matter (``alternativeNames``, ``alternative_names``); values may be texts, lists, or objects with a
name.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping

from scrapers.countries import CountryCodes
from scrapers.model import ListItem, Parsed, ScrapeError, parsed
from scrapers.text import clean, decode

NOTICE = (
    "TasteAtlas' pages are rendered by script and its terms may not allow programs to collect them, so this "
    "project does not. Configure a JSON export or an endpoint that you are allowed to use. The results are "
    "for your own use: do not publish them."
)
_WRAPPERS = ("items", "results", "data", "foods")
_NAME = ("name", "title")
_COUNTRY = ("country", "countries", "origin", "origins", "countryoforigin")
_INGREDIENTS = ("ingredients", "mainingredients")
_ALIASES = ("alternativenames", "othernames", "aliases", "alsoknownas")
_NOT_A_LETTER = re.compile("[^a-z]")

# The type of json.loads's results, so that mypy checks every branch below.
Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


def parse(content: bytes, countries: CountryCodes) -> Parsed:
    """Return items of the list ``dishes``, with aliases, countries and ingredients.

    Counted: ``empty_name`` (the food is dropped) and ``unknown_country`` (the item lacks that country).
    Raises ScrapeError for an unexpected value, with its place in the JSON, and if there is no item.
    """
    try:
        export: Json = json.loads(decode(content))
    except (ValueError, RecursionError) as error:
        raise ScrapeError(f"tasteatlas: the export is not JSON ({error})") from error
    dropped: Counter[str] = Counter()
    entries: list[ListItem] = []
    for path, food in _foods(export, "$"):
        names = _texts(food, _NAME, path)
        if not names:
            dropped["empty_name"] += 1
            continue
        origins = _texts(food, _COUNTRY, path)
        codes, unknown = countries.codes(name for text in origins for name in countries.split_names(text))
        dropped["unknown_country"] += unknown
        aliases = (*names[1:], *_texts(food, _ALIASES, path))
        ingredients = tuple(_texts(food, _INGREDIENTS, path))
        entries.append(ListItem(names[0], aliases, codes, ingredients))
    return parsed(entries, dropped, "tasteatlas")


def _foods(value: Json, path: str) -> Iterator[tuple[str, Mapping[str, Json]]]:
    """Yield the place in the export and the object of every food."""
    while isinstance(value, dict):
        key = next((key for key in _WRAPPERS if key in value), None)
        if key is None:
            raise _expected(path, f"a list, or an object with one of {', '.join(_WRAPPERS)}", value)
        value, path = value[key], f"{path}.{key}"
    if not isinstance(value, list):
        raise _expected(path, "a list of foods", value)
    for number, food in enumerate(value):
        if not isinstance(food, dict):
            raise _expected(f"{path}[{number}]", "an object", food)
        yield f"{path}[{number}]", food


def _texts(food: Mapping[str, Json], keys: tuple[str, ...], path: str) -> list[str]:
    """Return the cleaned texts of a food under any of the keys, without empty ones."""
    texts: list[str] = []
    for key, value in food.items():
        if _NOT_A_LETTER.sub("", key.casefold()) in keys:
            texts += _leaves(value, f"{path}.{key}", split=keys in (_INGREDIENTS, _ALIASES))
    return [text for text in map(clean, texts) if text]


def _leaves(value: Json, path: str, split: bool) -> Iterator[str]:
    """Yield the texts in a value: a text, those of a list, or the name of an object.

    Args:
        split: split a text at its commas.
    """
    if isinstance(value, str):
        yield from value.split(",") if split else (value,)
    elif isinstance(value, list):
        for number, element in enumerate(value):
            yield from _leaves(element, f"{path}[{number}]", split=False)
    elif isinstance(value, dict):
        if "name" not in value:
            raise _expected(path, 'a text, a list or an object with a "name"', value)
        yield from _leaves(value["name"], f"{path}.name", split=False)
    elif value is not None:
        raise _expected(path, "a text, a list or an object", value)


def _expected(path: str, expected: str, value: Json) -> ScrapeError:
    """Return the error for a value of the wrong kind."""
    kinds = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    kind = kinds.get(type(value), "a number")
    if isinstance(value, dict):
        kind += f" with {', '.join(list(value)[:10]) or 'nothing'}"
    return ScrapeError(f"tasteatlas: expected {expected} at {path} of the export, got {kind}")
