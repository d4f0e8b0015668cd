"""FmLAMA's published dishes: JSON Lines per language, with url, origin, lang, sub_label and obj_label."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from scrapers.model import ScrapeError
from tasks.data import TableError
from tasks.data.json_rows import lines
from tasks.data.reading import objects

COLUMNS = {
    "url": pl.String(),
    "language": pl.String(),
    "name": pl.String(),
    "origin": pl.String(),
    "origin_name": pl.String(),
    "ingredients": pl.List(pl.String()),
    "materials": pl.List(pl.String()),
    "image": pl.String(),
}
"""Columns of the warehouse's table ``dish``."""

TEXTS = ("url", "origin", "lang", "sub_label")
OPTIONAL_TEXTS = ("origin_name", "image")


def parse(files: Mapping[str, bytes], in_order: bool = False) -> tuple[pl.DataFrame, dict[str, int]]:
    """Return the dishes of all files, and the number of dropped dishes and ingredients by reason.

    Dropped are a dish that occurs again in a language (``repeated_dish``), a dish without a name
    (``no_name``) or ingredient (``no_ingredient``), and an ingredient that is empty (``empty_ingredient``) or
    that its dish repeats (``repeated_ingredient``).

    Args:
        files: contents by name.
        in_order: keep the order of the files; else dishes are sorted by url and language.

    Raises:
        ScrapeError: a line does not have the format; the message names file, line and field.
    """
    dropped: Counter[str] = Counter()
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for name in sorted(files):
        for where, cells in _objects(name, files[name]):
            row = _row(cells, where, dropped)
            if not row["name"] or not row["ingredients"]:
                dropped["no_ingredient" if row["name"] else "no_name"] += 1
            elif rows.setdefault((row["url"], row["language"]), row) is not row:
                dropped["repeated_dish"] += 1
    ordered = [rows[key] for key in (rows if in_order else sorted(rows))]
    return pl.DataFrame(ordered, schema=COLUMNS, orient="row"), dict(sorted(dropped.items()))


def _objects(name: str, content: bytes) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield place and object of the lines that are not blank."""
    try:
        for place, cells in objects(lines(content)):
            where = f"{name}, {place}"
            json.dumps(cells, ensure_ascii=False).encode()  # fails for half a surrogate pair
            yield where, cells
    except TableError as error:
        error.file = name
        raise ScrapeError(str(error)) from error
    except ValueError as error:
        raise ScrapeError(f"{where}: not JSON: {error}") from error


def _row(cells: Mapping[str, Any], where: str, dropped: Counter[str]) -> dict[str, Any]:
    for field in TEXTS:
        if not isinstance(cells.get(field), str) or (field != "sub_label" and not cells[field].strip()):
            raise ScrapeError(f"{where}, field {field}: expected a text, got {_short(cells.get(field))}")
    for field in OPTIONAL_TEXTS:
        if not isinstance(cells.get(field), str | None):
            raise ScrapeError(f"{where}, field {field}: expected a text or none, got {_short(cells[field])}")
    labels = _labels(cells.get("obj_label"), f"{where}, field obj_label")
    ingredients = [label for label in labels if label]
    distinct = list(dict.fromkeys(ingredients))
    if len(ingredients) < len(labels):
        dropped["empty_ingredient"] += len(labels) - len(ingredients)
    if len(distinct) < len(ingredients):
        dropped["repeated_ingredient"] += len(ingredients) - len(distinct)
    return {
        "url": cells["url"],
        "language": cells["lang"],
        "name": cells["sub_label"].strip(),
        "origin": cells["origin"],
        "origin_name": cells.get("origin_name") or None,
        "ingredients": distinct,
        "materials": [m for m in _labels(cells.get("material") or [], f"{where}, field material") if m],
        "image": cells.get("image") or None,
    }


def _labels(value: Any, where: str) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(label, str) for label in value):
        raise ScrapeError(f"{where}: expected a list of texts, got {_short(value)}")
    return [label.strip() for label in value]


def _short(value: Any) -> str:
    """Return the beginning of what a value is, for an error, which is printed and stored."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:80]}…"
