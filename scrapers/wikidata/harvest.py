"""What the five queries answered, before any joining."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

ENTITY = "http://www.wikidata.org/entity/"

ITEM = r"^Q[0-9]+$"
"""An item's id. Whatever else stands in an id column is an unknown value (a blank node or genid address)."""

LANGUAGE = r"[a-z]{2,8}(-[a-z0-9]{1,8})*"
"""A language tag (BCP 47 without its rarer forms), in lower case as Wikidata writes it."""


@dataclass(frozen=True)
class Traffic:
    """What an endpoint has answered.

    Attributes:
        queries: answered ones; failed tries are not counted.
        bytes: of the answers, after content-encoding is undone.
        sha256: hex digits over all answers in the order in which they came.
    """

    queries: int
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Harvest:
    """One frame a query, all columns strings, item ids without their address (``Q42``).

    Attributes:
        dishes: dish.
        countries: country; the current ones.
        statements: dish, property (P495, P2012, P527, P186 or P18), value.
        cuisines: cuisine, country.
        labels: item, language (lower case), label; English is always among the languages.
        traffic: of the endpoint, up to the last query.
    """

    dishes: pl.DataFrame
    countries: pl.DataFrame
    statements: pl.DataFrame
    cuisines: pl.DataFrame
    labels: pl.DataFrame
    traffic: Traffic


def language_tags(languages: Sequence[str]) -> list[str]:
    """The tags in lower case, each once, in the order given.

    Raises:
        ValueError: none, or one that is no language tag.
    """
    tags = list(dict.fromkeys(language.lower() for language in languages))
    if wrong := [tag for tag in tags if not re.fullmatch(LANGUAGE, tag)]:
        raise ValueError(f"not language tags: {wrong}; write them like en, ko or zh-hans")
    if not tags:
        raise ValueError("at least one language is needed")
    return tags
