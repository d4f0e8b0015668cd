"""Parses the food knowledge base of World Cuisines (arXiv 2410.12705) into one item per dish.

The published file (Hugging Face ``worldcuisines/food-kb``, ``worldcuisines.csv``) has the columns "Name",
"Alias", "Countries", categories, cuisines, areas, a description and images. Lists are JSON
(``["Indonesia"]``) or, in older files, Python literals. Aliases are an object with names by language, or a
list of objects with languages by name.
"""

from __future__ import annotations

import ast
import json
from collections import Counter
from collections.abc import Callable, Iterator

from scrapers import csv_table
from scrapers.countries import CountryCodes
from scrapers.model import ListItem, Parsed, parsed

_SOURCE = "worldcuisines"
_PLACEHOLDERS = frozenset({"no_alias", "not_stated", "name", ""})


def parse(content: bytes, countries: CountryCodes) -> Parsed:
    """Return items of the list ``dishes``, with aliases and countries.

    Dropped and counted is ``empty_name``. Also counted are ``unknown_country``, ``unreadable_countries`` and
    ``unreadable_aliases`` (the item lacks these). Raises ScrapeError for a missing column, or if there is no
    dish.
    """
    table = csv_table.read(content, _SOURCE)
    name_column = table.required(_SOURCE, "Name", "Dish name", "Food name")
    country_column = table.required(_SOURCE, "Countries", "Country")
    alias_column = table.column("Alias", "Aliases", "Other names")
    dropped: Counter[str] = Counter()
    entries: list[ListItem] = []
    for row in table.rows:
        name = row[name_column]
        if not name:
            dropped["empty_name"] += 1
            continue
        country_cell = _value(row[country_column], countries.split_names)
        dropped["unreadable_countries"] += country_cell is None
        codes, unknown = countries.codes(set(_strings(country_cell)))
        dropped["unknown_country"] += unknown
        aliases = _value(row[alias_column], _at_commas) if alias_column is not None else []
        dropped["unreadable_aliases"] += aliases is None
        entries.append(ListItem(name, tuple(_aliases(aliases, name)), codes))
    return parsed(entries, dropped, _SOURCE)


def _value(cell: str, split: Callable[[str], list[str]]) -> object:
    """Return the list or object in a cell, or plain text split into a list; None if unreadable."""
    if not cell.startswith(("[", "{")):
        return split(cell)
    try:
        return json.loads(cell)
    except (ValueError, RecursionError):
        try:
            return ast.literal_eval(cell)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return None


def _at_commas(text: str) -> list[str]:
    """Return the parts of a text such as "nasi, rice"."""
    return [part.strip() for part in text.split(",") if part.strip()]


def _strings(value: object) -> Iterator[str]:
    """Yield the texts of a list."""
    yield from (text for text in value if isinstance(text, str)) if isinstance(value, list) else ()


def _aliases(value: object, name: str) -> Iterator[str]:
    """Yield other names of a dish, in any of the formats, without its own name in another case."""
    if isinstance(value, dict):
        candidates = [text for text in value.values() if isinstance(text, str)]
    elif isinstance(value, list):
        objects = [pair for pair in value if isinstance(pair, dict)]
        # A few rows have reversed pairs, {language: name}, which are recognised by the dish's own name.
        pairs = [
            pair for pair in objects if name.casefold() not in map(str.casefold, _strings([*pair.values()]))
        ]
        candidates = [*_strings(value), *_strings([key for pair in pairs for key in pair])]
    else:
        candidates = []
    excluded = _PLACEHOLDERS | {name.casefold()}
    yield from (text for text in candidates if text.casefold() not in excluded)
