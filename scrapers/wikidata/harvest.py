"""What the five queries answered; which dishes are kept, and why the others are not. Pure."""

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
    """The answers of an endpoint, counted.

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


ORIGIN, CUISINE, INGREDIENT, MATERIAL, IMAGE = "P495", "P2012", "P527", "P186", "P18"

KEPT = "kept"
DISH_REASONS = (
    "not_an_item",
    "no_origin",
    "origin_not_a_current_country",
    "several_origins",
    "no_ingredient",
    "unknown_value",
)
"""Why a dish is dropped before its labels are looked at: the first reason that applies, in the order of
``verdicts``."""


def verdicts(
    dishes: pl.DataFrame, countries: pl.DataFrame, statements: pl.DataFrame, cuisines: pl.DataFrame
) -> pl.DataFrame:
    """One row a dish id: dish, verdict (``kept`` or one of ``DISH_REASONS``), origin (null unless kept).

    The frames are those of a ``Harvest``. Candidates are the dish's countries of origin (P495) if it has
    any; only a dish without one takes the countries of its cuisines. Exactly one candidate must be a current
    country: a region or a dissolved country beside it does not count, two current ones are
    ``several_origins``. Unknown values count as absent; where a dish lacks its origin or its ingredients and
    has an unknown value in that very place, the reason is ``unknown_value``.
    """
    dishes = dishes.unique()
    known = statements.filter(_is_item("value"))
    stated = known.filter(property=ORIGIN).select("dish", origin="value")
    by_cuisine = (
        known.filter(property=CUISINE)
        .join(cuisines.filter(_is_item("country")), left_on="value", right_on="cuisine")
        .select("dish", origin="country")
    )
    candidates = pl.concat([stated, by_cuisine.join(stated, on="dish", how="anti")]).unique()
    current = candidates.join(countries, left_on="origin", right_on="country", how="semi")
    facts = dishes.join(
        current.group_by("dish").agg(n_current=pl.len(), origin=pl.col("origin").min()), on="dish", how="left"
    ).with_columns(
        pl.col("n_current").fill_null(0),
        has_candidate=_within(candidates),
        has_ingredient=_within(known.filter(property=INGREDIENT)),
        origin_unknown=_within(_unknown_origins(statements, cuisines)),
        ingredient_unknown=_within(statements.filter(~_is_item("value"), property=INGREDIENT)),
    )
    verdict = (
        pl.when(~_is_item("dish"))
        .then(pl.lit("not_an_item"))
        .when(pl.col("n_current") > 1)
        .then(pl.lit("several_origins"))
        .when(pl.col("has_candidate") & (pl.col("n_current") == 0))
        .then(pl.lit("origin_not_a_current_country"))
        .when(~pl.col("has_candidate"))
        .then(pl.when("origin_unknown").then(pl.lit("unknown_value")).otherwise(pl.lit("no_origin")))
        .when("has_ingredient")
        .then(pl.lit(KEPT))
        .otherwise(
            pl.when("ingredient_unknown").then(pl.lit("unknown_value")).otherwise(pl.lit("no_ingredient"))
        )
    )
    judged = facts.with_columns(verdict=verdict)
    origin = pl.when(pl.col("verdict") == KEPT).then("origin")
    return judged.select("dish", "verdict", origin=origin).sort("dish")


def by_property(statements: pl.DataFrame, name: str) -> pl.DataFrame:
    """The known items that a property gives to dishes: dish, item, each pair once."""
    return statements.filter(_is_item("value"), property=name).select("dish", item="value").unique()


def _unknown_origins(statements: pl.DataFrame, cuisines: pl.DataFrame) -> pl.DataFrame:
    """Dishes with an unknown origin, an unknown cuisine, or a cuisine of unknown country."""
    direct = statements.filter(~_is_item("value") & pl.col("property").is_in([ORIGIN, CUISINE]))
    nowhere = cuisines.filter(~_is_item("country"))
    through = statements.filter(property=CUISINE).join(
        nowhere, left_on="value", right_on="cuisine", how="semi"
    )
    return pl.concat([direct, through])


def _is_item(column: str) -> pl.Expr:
    return pl.col(column).str.contains(ITEM)


def _within(frame: pl.DataFrame) -> pl.Expr:
    """Whether the dish is one of the frame's."""
    return pl.col("dish").is_in(frame["dish"].unique().to_list())
