"""From a harvest to rows, one for each dish and language. Pure, and the same for any order of the answers."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from scrapers.wikidata.harvest import (
    DISH_REASONS,
    ENTITY,
    IMAGE,
    INGREDIENT,
    ITEM,
    KEPT,
    MATERIAL,
    Harvest,
    by_property,
    language_tags,
    verdicts,
)

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
    """The rows of the data set and what was counted on the way.

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
    """How many dish ids ended where."""
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
