"""Joins the results of the five queries: a verdict per dish, and one row per dish and language.

Pure, and the same for any order of the answers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

ENTITY = "http://www.wikidata.org/entity/"

ITEM = r"^Q[0-9]+$"
"""An item's id. Anything else in an id column is an unknown value (a blank node or genid address)."""

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
    """Return the tags in lower case, each once, in the given order.

    Raises:
        ValueError: there is none, or one is not a language tag.
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
"""Reasons for dropping a dish before its labels are read, in order of precedence."""


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


ROW_SCHEMA = {
    "url": pl.String,
    "language": pl.String,
    "name": pl.String,
    "country": pl.String,
    "origin": pl.String,
    "country_name": pl.String,
    "ingredients": pl.List(pl.String),
    "ingredient_ids": pl.List(pl.String),
    "materials": pl.List(pl.String),
    "image": pl.String,
}
UNKNOWN = "/.well-known/genid/"
"""In the address that stands for an unknown value in the Wikidata Query Service."""

BY_DISH = (KEPT, *DISH_REASONS, "no_label")


def join(harvest: Harvest, languages: Sequence[str]) -> tuple[pl.DataFrame, dict[str, int]]:
    """Return the rows of the data set and counts.

    A row exists where the dish and at least one of its ingredients have a label in the row's language. Its
    columns are those of ``ROW_SCHEMA``: ``country`` is the origin's label in English (else in the first
    language that has one, else its id), ``country_name`` that in the row's language or null;
    ``ingredients`` and ``ingredient_ids`` belong together, by number of the id, as are ``materials``; parts
    without a label in the language are left out; two parts of one name stay two; ``image`` is the first
    address in code-point order or null. Rows are in order of the dish's number and the language.

    Counts: the keys ``BY_DISH`` add up to the dish ids (``no_label``: no row in any language). For each
    language ``l``, ``rows:l + no_label:l + no_ingredient_label:l`` are the dishes with an origin and an
    ingredient. ``ingredient_without_label:l`` and ``material_without_label:l`` are parts left out of rows.
    ``unknown_statement`` are unknown values among the origins, cuisines, ingredients and materials.

    Raises:
        ValueError: a language that cannot be used.
    """
    tags = sorted(language_tags(languages))
    judged = verdicts(harvest.dishes, harvest.countries, harvest.statements, harvest.cuisines)
    good = judged.filter(verdict=KEPT)
    labels = harvest.labels.group_by("item", "language").agg(pl.col("label").min())
    wanted = good.join(pl.DataFrame({"language": tags}), how="cross")
    named = wanted.join(
        labels.rename({"item": "dish", "label": "name"}), on=["dish", "language"], how="inner"
    )
    ingredients = _labelled(by_property(harvest.statements, INGREDIENT), named, labels)
    materials = _labelled(by_property(harvest.statements, MATERIAL), named, labels)
    full = (
        named.join(_lists(ingredients, "ingredients"), on=["dish", "language"], how="inner")
        .join(_lists(materials, "materials"), on=["dish", "language"], how="left")
        .join(_country_names(labels, languages), on="origin", how="left")
        .join(
            labels.rename({"item": "origin", "label": "country_name"}), on=["origin", "language"], how="left"
        )
        .join(_images(harvest.statements), on="dish", how="left")
    )
    rows = full.sort(_number("dish"), "language").with_columns(
        url=pl.lit(ENTITY) + pl.col("dish"),
        country=pl.col("country").fill_null(pl.col("origin")),
        materials=pl.col("materials").fill_null([]),
    )
    counts = _by_dish(judged, full)
    for tag in tags:
        counts |= _by_language(tag, good, named, full, ingredients, materials)
    counts["unknown_statement"] = harvest.statements.filter(
        (pl.col("property") != IMAGE) & ~pl.col("value").str.contains(ITEM)
    ).height
    return rows.select(*ROW_SCHEMA), counts


def _labelled(parts: pl.DataFrame, named: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
    """dish, language, item, label of every part of every named dish; label null where there is none."""
    return (
        named.select("dish", "language")
        .join(parts, on="dish")
        .join(labels, on=["item", "language"], how="left")
    )


def _lists(parts: pl.DataFrame, name: str) -> pl.DataFrame:
    """The labels of parts as a list column, and their ids beside it, for dishes that have any."""
    in_order = parts.drop_nulls("label").sort("dish", "language", _number("item"))
    ids = f"{name.removesuffix('s')}_ids"
    return in_order.group_by("dish", "language").agg(pl.col("label").alias(name), pl.col("item").alias(ids))


def _country_names(labels: pl.DataFrame, languages: Sequence[str]) -> pl.DataFrame:
    """item -> its label in English, else in the first of the languages that has one: origin, country."""
    order = list(dict.fromkeys(["en", *language_tags(languages)]))
    rank = pl.col("language").replace_strict(order, range(len(order)), default=None)
    ranked = labels.with_columns(rank=rank).drop_nulls("rank").sort("rank")
    first = ranked.group_by("item", maintain_order=True).agg(country=pl.col("label").first())
    return first.rename({"item": "origin"})


def _images(statements: pl.DataFrame) -> pl.DataFrame:
    """dish, image. Unknown images, which are no addresses of files, are left out."""
    value = pl.col("value")
    is_file = value.str.contains("^https?://") & ~value.str.contains(UNKNOWN, literal=True)
    files = statements.filter(is_file, property=IMAGE)
    return files.group_by("dish").agg(image=pl.col("value").min())


def _by_dish(judged: pl.DataFrame, full: pl.DataFrame) -> dict[str, int]:
    """Return the number of dish ids by outcome."""
    counts = dict.fromkeys(BY_DISH, 0) | dict(judged["verdict"].value_counts().iter_rows())
    with_row = full["dish"].n_unique()
    return counts | {KEPT: with_row, "no_label": counts[KEPT] - with_row}


def _by_language(
    tag: str,
    good: pl.DataFrame,
    named: pl.DataFrame,
    full: pl.DataFrame,
    ingredients: pl.DataFrame,
    materials: pl.DataFrame,
) -> dict[str, int]:
    """Counts of what became of the dishes in one language."""
    n_named, n_rows = named.filter(language=tag).height, full.filter(language=tag).height

    def left_out(parts: pl.DataFrame) -> int:
        missing = parts.filter(pl.col("label").is_null(), language=tag)
        return missing.join(full, on=["dish", "language"], how="semi").height

    return {
        f"rows:{tag}": n_rows,
        f"no_label:{tag}": good.height - n_named,
        f"no_ingredient_label:{tag}": n_named - n_rows,
        f"ingredient_without_label:{tag}": left_out(ingredients),
        f"material_without_label:{tag}": left_out(materials),
    }


def _number(column: str) -> pl.Expr:
    """The number of an item's id, for sorting: Q9 before Q10."""
    return pl.col(column).str.slice(1).cast(pl.UInt64)
