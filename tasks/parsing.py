"""Parses TOML and JSON of others so that no file crashes or stalls the program. Pure.

Python's parsers raise RecursionError for deep nesting, and tomllib takes minutes for a dotted name of some
ten thousand parts. Here each raises one ValueError, and results are nested no deeper than any reader can
handle.
"""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

DEEPEST = 20
"""Most levels of nested tables and lists."""

_NAME = r"""(?:[\w-]+|"[^"\n]*"|'[^'\n]*')"""
_DOTTED = re.compile(rf"(?:^[\[ \t]*|[{{,][ \t]*){_NAME}(?:[ \t]*\.[ \t]*{_NAME}){{{DEEPEST}}}", re.MULTILINE)
"""Pattern of a name with too many parts; tomllib's time grows with the square of their number."""


class TooDeep(ValueError):  # noqa: N818 - "raise TooDeep" says it all
    """Raised for a value that is nested too deep."""

    def __init__(self) -> None:
        super().__init__(f"it is nested more than {DEEPEST} deep")


def parse_toml(text: str) -> dict[str, Any]:
    """Return the tables of a TOML file; raises ValueError for bad syntax, a huge number or too deep
    nesting.
    """
    if _DOTTED.search(text):
        raise TooDeep
    try:
        tables = tomllib.loads(text)
        _shallow(tables)
    except RecursionError:
        raise TooDeep from None
    return tables


def parse_json(text: str | bytes) -> Any:
    """Return the value of a JSON text; raises ValueError as ``parse_toml`` does."""
    try:
        return _shallow(json.loads(text))
    except RecursionError:
        raise TooDeep from None


def _shallow(value: Any) -> Any:
    """Return the value; raises TooDeep if tables and lists are nested deeper than ``DEEPEST``."""
    level = [value]
    for _ in range(DEEPEST + 1):
        level = [each for each in level if isinstance(each, dict | list)]
        if not level:
            return value
        level = [v for each in level for v in (each.values() if isinstance(each, dict) else each)]
    raise TooDeep
