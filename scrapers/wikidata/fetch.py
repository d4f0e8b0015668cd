"""Sends the five queries to an endpoint, in batches that are halved when they take too long."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from string import Template

import polars as pl

from scrapers.http import TooSlowError
from scrapers.wikidata.endpoint import Endpoint
from scrapers.wikidata.join import (
    CUISINE,
    ENTITY,
    INGREDIENT,
    ITEM,
    KEPT,
    MATERIAL,
    Harvest,
    items_of_property,
    language_tags,
    verdicts,
)

Progress = Callable[[str, int, int], None]
"""Called with the query's name, the number of answered ids and the number of all ids."""


def fetch(
    endpoint: Endpoint, languages: Sequence[str], batch: int = 200, progress: Progress | None = None
) -> Harvest:
    """Return the data that ``join`` needs, with labels only of the dishes it can keep and of their parts.

    Args:
        languages: tags such as ``zh-hans``; English is always added, for the countries' names.
        batch: number of ids per query, at least 1. If a query takes too long, it and all later ones of its
            kind have half as many.

    Raises:
        ValueError: a language or the batch size is not valid.
        ScrapeError, TransientError: errors of ``Endpoint.select``.
    """
    tags = sorted({*language_tags(languages), "en"})
    if batch < 1:
        raise ValueError(f"a batch must have at least one id, got {batch}")
    report: Progress = progress or (lambda name, done, total: None)
    dishes = _shorten(endpoint.select(_query("dishes")))
    report("dishes", len(dishes), len(dishes))
    countries = _shorten(endpoint.select(_query("countries")))
    report("countries", len(countries), len(countries))

    def select(name: str, ids: Iterable[str], columns: Sequence[str], **values: str) -> pl.DataFrame:
        return _in_batches(endpoint, name, ids, columns, batch, report, **values)

    statements = select("statements", dishes["dish"], ("dish", "property", "value"))
    cuisines = select("cuisines", items_of_property(statements, CUISINE)["item"], ("cuisine", "country"))
    items = _named_items(dishes, countries, statements, cuisines)
    quoted = ", ".join(f'"{tag}"' for tag in tags)
    labels = select("labels", items, ("item", "language", "label"), languages=quoted)
    return Harvest(dishes, countries, statements, cuisines, labels, endpoint.traffic)


def values(ids: Sequence[str]) -> str:
    """Return ids as the content of a VALUES block.

    Raises:
        ValueError: one is not an item id and could change the query.
    """
    if invalid := [item for item in ids if not re.fullmatch(ITEM, item)]:
        raise ValueError(f"not item ids: {invalid[:3]}")
    return " ".join(f"wd:{item}" for item in ids)


def _in_batches(
    endpoint: Endpoint,
    name: str,
    ids: Iterable[str],
    columns: Sequence[str],
    batch: int,
    report: Progress,
    **values_: str,
) -> pl.DataFrame:
    """Return all rows of a query for the item ids among ``ids``, in the order of the ids."""
    item_ids = sorted({item for item in ids if re.fullmatch(ITEM, item)}, key=_number)
    frames = [pl.DataFrame(schema=dict.fromkeys(columns, pl.String))]
    done = 0
    while done < len(item_ids):
        part = item_ids[done : done + batch]
        try:
            answer = endpoint.select(_query(name, ids=values(part), **values_))
        except TooSlowError:
            if len(part) == 1:
                raise
            batch = len(part) // 2
            continue
        frames.append(_shorten(answer.select(columns)))
        done += len(part)
        report(name, done, len(item_ids))
    return pl.concat(frames)


def _named_items(
    dishes: pl.DataFrame, countries: pl.DataFrame, statements: pl.DataFrame, cuisines: pl.DataFrame
) -> pl.Series:
    """Return the items whose labels may be in a row: dishes to keep, their origins and their parts."""
    kept_dishes = verdicts(dishes, countries, statements, cuisines).filter(verdict=KEPT)
    all_parts = statements.filter(pl.col("property").is_in([INGREDIENT, MATERIAL]))
    parts = all_parts.join(kept_dishes, on="dish", how="semi")
    return pl.concat(
        [kept_dishes["dish"], kept_dishes["origin"].rename("dish"), parts["value"].rename("dish")]
    )


def _query(name: str, **values: str) -> str:
    """Return the text of a ``.rq`` file with its placeholders filled in."""
    return Template((Path(__file__).parent / f"{name}.rq").read_text(encoding="utf-8")).substitute(values)


def _shorten(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the frame with ids instead of addresses; labels are unchanged."""
    return frame.with_columns(pl.exclude("label").str.strip_prefix(ENTITY))


def _number(item: str) -> int:
    """Return the number of an item's id, which sorts Q9 before Q10."""
    return int(item[1:])
