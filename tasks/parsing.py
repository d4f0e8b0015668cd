"""TOML and JSON that somebody else wrote, parsed so that no file is a crash or takes for ever. Pure.

Python's parsers raise RecursionError for deep nesting, and tomllib takes minutes for a dotted name of some
ten thousand parts. Here each is one ValueError, and what comes back is nested no deeper than any reader of it
can follow.
"""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

DEEPEST = 20
"""Tables and lists within each other."""

_NAME = r"""(?:[\w-]+|"[^"\n]*"|'[^'\n]*')"""
_DOTTED = re.compile(rf"(?:^[\[ \t]*|[{{,][ \t]*){_NAME}(?:[ \t]*\.[ \t]*{_NAME}){{{DEEPEST}}}", re.MULTILINE)
"""A name of more parts; the time that tomllib takes for one grows with their square."""


class TooDeep(ValueError):  # noqa: N818 - "raise TooDeep" says it all
    """Raised for a value that is nested too deep."""

    def __init__(self) -> None:
        super().__init__(f"it is nested more than {DEEPEST} deep")


def parse_toml(text: str) -> dict[str, Any]:
    """The tables of a TOML file; ValueError says what is wrong: no TOML, a huge number, nested too deep."""
    if _DOTTED.search(text):
        raise TooDeep
    try:
        tables = tomllib.loads(text)
        _shallow(tables)
    except RecursionError:
        raise TooDeep from None
    return tables


def parse_json(text: str | bytes) -> Any:
    """The value that a JSON text holds; ValueError says what is wrong, as for ``parse_toml``."""
    try:
        return _shallow(json.loads(text))
    except RecursionError:
        raise TooDeep from None


def _shallow(value: Any) -> Any:
    """The value itself, if tables and lists stand no deeper within each other than ``DEEPEST``."""
    level = [value]
    for _ in range(DEEPEST + 1):
        level = [each for each in level if isinstance(each, dict | list)]
        if not level:
            return value
        level = [v for each in level for v in (each.values() if isinstance(each, dict) else each)]
    raise TooDeep
