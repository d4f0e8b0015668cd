"""Sends the five queries to an endpoint, in batches that shrink when they take too long."""

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
    by_property,
    language_tags,
    verdicts,
)

Progress = Callable[[str, int, int], None]
"""Called with the query's name, ids answered and ids in all."""


def fetch(
    endpoint: Endpoint, languages: Sequence[str], batch: int = 200, progress: Progress | None = None
) -> Harvest:
    """Fetch all that ``join`` needs; labels only for dishes that may be kept and for their parts.

    languages: tags such as ``zh-hans``; English is always added, for the countries' names.
    batch: ids a query, >= 1. After a query that took too long, it and all later ones of its kind have half
        as many.

    Raises:
        ValueError: a language or the batch size is not valid.
        ScrapeError, TransientError: as ``Endpoint.select``.
    """
    tags = sorted({*language_tags(languages), "en"})
    if batch < 1:
        raise ValueError(f"a batch is at least one id, got {batch}")
    report: Progress = progress or (lambda name, done, total: None)
    dishes = _shorten(endpoint.select(_query("dishes")))
    report("dishes", len(dishes), len(dishes))
    countries = _shorten(endpoint.select(_query("countries")))
    report("countries", len(countries), len(countries))

    def ask(name: str, ids: Iterable[str], columns: Sequence[str], **values: str) -> pl.DataFrame:
        return _in_batches(endpoint, name, ids, columns, batch, report, **values)

    statements = ask("statements", dishes["dish"], ("dish", "property", "value"))
    cuisines = ask("cuisines", by_property(statements, CUISINE)["item"], ("cuisine", "country"))
    items = _named_items(dishes, countries, statements, cuisines)
    quoted = ", ".join(f'"{tag}"' for tag in tags)
    labels = ask("labels", items, ("item", "language", "label"), languages=quoted)
    return Harvest(dishes, countries, statements, cuisines, labels, endpoint.traffic)


def values(ids: Sequence[str]) -> str:
    """Return ids as the content of a VALUES block.

    Raises:
        ValueError: one is not an item id. So nothing else can get into a query.
    """
    if wrong := [item for item in ids if not re.fullmatch(ITEM, item)]:
        raise ValueError(f"not item ids: {wrong[:3]}")
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
    """All answers of a query over the items among the ids, in the ids' order."""
    todo = sorted({item for item in ids if re.fullmatch(ITEM, item)}, key=_number)
    frames = [pl.DataFrame(schema=dict.fromkeys(columns, pl.String))]
    done = 0
    while done < len(todo):
        part = todo[done : done + batch]
        try:
            answer = endpoint.select(_query(name, ids=values(part), **values_))
        except TooSlowError:
            if len(part) == 1:
                raise
            batch = len(part) // 2
            continue
        frames.append(_shorten(answer.select(columns)))
        done += len(part)
        report(name, done, len(todo))
    return pl.concat(frames)


def _named_items(
    dishes: pl.DataFrame, countries: pl.DataFrame, statements: pl.DataFrame, cuisines: pl.DataFrame
) -> pl.Series:
    """The items whose labels can appear in a row: dishes that may be kept, their origins and their parts."""
    dishes_kept = verdicts(dishes, countries, statements, cuisines).filter(verdict=KEPT)
    parts = statements.filter(pl.col("property").is_in([INGREDIENT, MATERIAL]))
    own = parts.join(dishes_kept, on="dish", how="semi")
    return pl.concat([dishes_kept["dish"], dishes_kept["origin"].rename("dish"), own["value"].rename("dish")])


def _query(name: str, **values: str) -> str:
    """The text of a ``.rq`` file with its places filled in."""
    return Template((Path(__file__).parent / f"{name}.rq").read_text(encoding="utf-8")).substitute(values)


def _shorten(frame: pl.DataFrame) -> pl.DataFrame:
    """Ids without their address. A label is left as it is."""
    return frame.with_columns(pl.exclude("label").str.strip_prefix(ENTITY))


def _number(item: str) -> int:
    """The number of an item's id, for sorting: Q9 before Q10."""
    return int(item[1:])
