"""Joins the results of the five queries: a verdict per dish, and one row per dish and language.

Pure; the order of the queries' rows does not matter.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

ENTITY = "http://www.wikidata.org/entity/"

ITEM = r"^Q[0-9]+$"
"""Pattern of an item's id. Other text in an id column is an unknown value (blank node or genid address)."""

LANGUAGE = r"[a-z]{2,8}(-[a-z0-9]{1,8})*"
"""Pattern of a language tag (BCP 47 without rare forms), in lower case as in Wikidata."""


@dataclass(frozen=True)
class Traffic:
    """Counts of an endpoint's answers.

    Attributes:
        queries: number of answered queries; failed tries are not counted.
        bytes: bytes of the answers, after content-encoding is undone.
        sha256: hex digits of the hash of all answers in their order.
    """

    queries: int
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Harvest:
    """The results of the five queries as frames of strings; item ids are without address (``Q42``).

    Attributes:
        dishes: column dish.
        countries: column country, the current countries.
        statements: columns dish, property (P495, P2012, P527, P186 or P18) and value.
        cuisines: columns cuisine and country.
        labels: columns item, language (lower case) and label; the languages always include English.
        traffic: counts of the endpoint's answers.
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
    if invalid := [tag for tag in tags if not re.fullmatch(LANGUAGE, tag)]:
        raise ValueError(f"not language tags: {invalid}; write them like en, ko or zh-hans")
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
    """Return a row per dish id: dish, verdict (``kept`` or one of ``DISH_REASONS``), origin (null unless
    kept).

    The frames are those of a ``Harvest``. Candidates for the origin are the dish's countries of origin
    (P495); without any, the countries of its cuisines. Exactly one candidate must be a current country:
    regions and dissolved countries are ignored, and several current countries are ``several_origins``.
    Unknown values count as missing. If the origin or the ingredients are missing and there is an unknown
    value instead, the reason is ``unknown_value``.
    """
    dishes = dishes.unique()
    item_statements = statements.filter(_is_item("value"))
    stated = item_statements.filter(property=ORIGIN).select("dish", origin="value")
    by_cuisine = (
        item_statements.filter(property=CUISINE)
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
        has_ingredient=_within(item_statements.filter(property=INGREDIENT)),
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
    rows = facts.with_columns(verdict=verdict)
    origin = pl.when(pl.col("verdict") == KEPT).then("origin")
    return rows.select("dish", "verdict", origin=origin).sort("dish")


def items_of_property(statements: pl.DataFrame, name: str) -> pl.DataFrame:
    """Return the items that are a property's values for dishes: dish and item, each pair once."""
    return statements.filter(_is_item("value"), property=name).select("dish", item="value").unique()


def _unknown_origins(statements: pl.DataFrame, cuisines: pl.DataFrame) -> pl.DataFrame:
    """Return statements of an unknown origin, an unknown cuisine, or a cuisine of unknown country."""
    unknown_values = statements.filter(~_is_item("value") & pl.col("property").is_in([ORIGIN, CUISINE]))
    unknown_countries = cuisines.filter(~_is_item("country"))
    through_cuisine = statements.filter(property=CUISINE).join(
        unknown_countries, left_on="value", right_on="cuisine", how="semi"
    )
    return pl.concat([unknown_values, through_cuisine])


def _is_item(column: str) -> pl.Expr:
    return pl.col(column).str.contains(ITEM)


def _within(frame: pl.DataFrame) -> pl.Expr:
    """Return whether the dish is in the frame."""
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
"""Part of the addresses that the Wikidata Query Service returns for unknown values."""

DISH_OUTCOMES = (KEPT, *DISH_REASONS, "no_label")


def join(harvest: Harvest, languages: Sequence[str]) -> tuple[pl.DataFrame, dict[str, int]]:
    """Return the rows of the data set and counts.

    There is a row where the dish and at least one of its ingredients have a label in the row's language. Rows
    are sorted by the dish's number and the language. The columns are those of ``ROW_SCHEMA``:

    - ``country``: the origin's label in English, else in the first language that has one, else its id.
    - ``country_name``: the origin's label in the row's language, or null.
    - ``ingredients``, ``ingredient_ids`` and ``materials``: sorted by the number of the id, without parts
      that have no label in the language. Two parts of the same name stay two.
    - ``image``: the first address in code-point order, or null.

    The counts of ``DISH_OUTCOMES`` add up to the number of dish ids (``no_label``: no row in any language).
    For each language ``l``, ``rows:l + no_label:l + no_ingredient_label:l`` is the number of dishes with an
    origin and an ingredient; ``ingredient_without_label:l`` and ``material_without_label:l`` count parts left
    out of rows. ``unknown_statement`` counts unknown values among origins, cuisines, ingredients and
    materials.

    Raises:
        ValueError: a language is not valid.
    """
    tags = sorted(language_tags(languages))
    dish_verdicts = verdicts(harvest.dishes, harvest.countries, harvest.statements, harvest.cuisines)
    kept_dishes = dish_verdicts.filter(verdict=KEPT)
    labels = harvest.labels.group_by("item", "language").agg(pl.col("label").min())
    dish_languages = kept_dishes.join(pl.DataFrame({"language": tags}), how="cross")
    named_dishes = dish_languages.join(
        labels.rename({"item": "dish", "label": "name"}), on=["dish", "language"], how="inner"
    )
    ingredients = _labelled(items_of_property(harvest.statements, INGREDIENT), named_dishes, labels)
    materials = _labelled(items_of_property(harvest.statements, MATERIAL), named_dishes, labels)
    joined = (
        named_dishes.join(_lists(ingredients, "ingredients"), on=["dish", "language"], how="inner")
        .join(_lists(materials, "materials"), on=["dish", "language"], how="left")
        .join(_country_names(labels, languages), on="origin", how="left")
        .join(
            labels.rename({"item": "origin", "label": "country_name"}), on=["origin", "language"], how="left"
        )
        .join(_images(harvest.statements), on="dish", how="left")
    )
    rows = joined.sort(_number("dish"), "language").with_columns(
        url=pl.lit(ENTITY) + pl.col("dish"),
        country=pl.col("country").fill_null(pl.col("origin")),
        materials=pl.col("materials").fill_null([]),
    )
    counts = _outcome_counts(dish_verdicts, joined)
    for tag in tags:
        counts |= _language_counts(tag, kept_dishes, named_dishes, joined, ingredients, materials)
    counts["unknown_statement"] = harvest.statements.filter(
        (pl.col("property") != IMAGE) & ~pl.col("value").str.contains(ITEM)
    ).height
    return rows.select(*ROW_SCHEMA), counts


def _labelled(parts: pl.DataFrame, named: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
    """Return dish, language, item and label of every part of every named dish; a missing label is null."""
    return (
        named.select("dish", "language")
        .join(parts, on="dish")
        .join(labels, on=["item", "language"], how="left")
    )


def _lists(parts: pl.DataFrame, name: str) -> pl.DataFrame:
    """Return the labels of parts and their ids as two list columns, for dishes that have any."""
    labelled = parts.drop_nulls("label").sort("dish", "language", _number("item"))
    ids = f"{name.removesuffix('s')}_ids"
    return labelled.group_by("dish", "language").agg(pl.col("label").alias(name), pl.col("item").alias(ids))


def _country_names(labels: pl.DataFrame, languages: Sequence[str]) -> pl.DataFrame:
    """Return origin and country: each item's label in English, else in the first language that has one."""
    order = list(dict.fromkeys(["en", *language_tags(languages)]))
    rank = pl.col("language").replace_strict(order, range(len(order)), default=None)
    ranked = labels.with_columns(rank=rank).drop_nulls("rank").sort("rank")
    first = ranked.group_by("item", maintain_order=True).agg(country=pl.col("label").first())
    return first.rename({"item": "origin"})


def _images(statements: pl.DataFrame) -> pl.DataFrame:
    """Return dish and image, without unknown images, whose values are not addresses of files."""
    value = pl.col("value")
    is_file = value.str.contains("^https?://") & ~value.str.contains(UNKNOWN, literal=True)
    files = statements.filter(is_file, property=IMAGE)
    return files.group_by("dish").agg(image=pl.col("value").min())


def _outcome_counts(dish_verdicts: pl.DataFrame, joined: pl.DataFrame) -> dict[str, int]:
    """Return the number of dish ids by outcome."""
    counts = dict.fromkeys(DISH_OUTCOMES, 0) | dict(dish_verdicts["verdict"].value_counts().iter_rows())
    n_with_row = joined["dish"].n_unique()
    return counts | {KEPT: n_with_row, "no_label": counts[KEPT] - n_with_row}


def _language_counts(
    tag: str,
    kept_dishes: pl.DataFrame,
    named_dishes: pl.DataFrame,
    joined: pl.DataFrame,
    ingredients: pl.DataFrame,
    materials: pl.DataFrame,
) -> dict[str, int]:
    """Return the numbers of rows, and of dishes and parts without a label, in one language."""
    n_named, n_rows = named_dishes.filter(language=tag).height, joined.filter(language=tag).height

    def n_unlabelled(parts: pl.DataFrame) -> int:
        unlabelled = parts.filter(pl.col("label").is_null(), language=tag)
        return unlabelled.join(joined, on=["dish", "language"], how="semi").height

    return {
        f"rows:{tag}": n_rows,
        f"no_label:{tag}": kept_dishes.height - n_named,
        f"no_ingredient_label:{tag}": n_named - n_rows,
        f"ingredient_without_label:{tag}": n_unlabelled(ingredients),
        f"material_without_label:{tag}": n_unlabelled(materials),
    }


def _number(column: str) -> pl.Expr:
    """Return the number of an item's id, which sorts Q9 before Q10."""
    return pl.col(column).str.slice(1).cast(pl.UInt64)
