"""Reads dishes from the files of FmLAMA's repository: JSON Lines, and the CSV file of all languages.

Ingredients are a list, or the text of a Python set with one element: ``{'gravy, french fries'}``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tasks.data import table
from tasks.packs.published import column

_FILTERED = re.compile(r"(^|[/\\_.-])(filter(ed)?|aligned)([/\\_.-]|$)")
"""Pattern in the last three names of a path that marks a file of aligned dishes:
data_filter/ru/ru_dishes.jsonl.
"""


def is_filtered(path: Path) -> bool:
    """Return whether a file has aligned dishes, by the names on its path."""
    return bool(_FILTERED.search("/".join(part.casefold() for part in path.parts[-3:])))


def dishes_of_lines(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows of ``*_dishes.jsonl`` in the columns of a pack."""
    return [
        {
            "url": _cell(row.get("url")),
            "language": _cell(row.get("lang")),
            "name": _cell(row.get("sub_label")),
            "origin": _cell(row.get("origin")),
            "origin_name": _cell(row.get("origin_name")),
            "ingredients": ingredients(row.get("obj_label")),
        }
        for row in rows
    ]


def dishes_of_csv(path: Path) -> list[dict[str, Any]]:
    """Return the rows of ``Dishes.csv`` in the columns of a pack; raises TableError for other columns."""
    columns = ("url", "origin", "name", "lang", "hasparts")
    return [
        {
            "url": _cell(cells["url"]),
            "language": _cell(cells["lang"]),
            "name": _cell(cells["name"]),
            "origin": _cell(cells["origin"]),
            "origin_name": _cell(cells.get("origin_name")),
            "ingredients": ingredients(cells["hasparts"]),
        }
        for _, cells in table(path, spelling=column, needed=columns)
    ]


def ingredients(cell: Any) -> list[str]:
    """Return the ingredients of a cell, each once; the cell is a list, or a text as in the files."""
    if isinstance(cell, str):
        cell = [name for text in _texts(cell.strip()) for name in text.split(", ")]
    names = (name.strip().replace("|", "/") for name in cell or () if isinstance(name, str))
    return list(dict.fromkeys(name for name in names if name))


def _texts(text: str) -> list[str]:
    """Return the texts of a set or list in Python's notation, or the text itself."""
    if text[:1] not in ("{", "["):
        return [text]
    try:
        return [part for part in ast.literal_eval(text) if isinstance(part, str)]
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return [text.strip("{}[]").strip("'\"")]


def _cell(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""
