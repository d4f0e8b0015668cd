"""Parses TOML and JSON of others so that no file crashes or stalls the program. Pure.

Python's parsers raise RecursionError for deep nesting, and tomllib takes minutes for a dotted name of some
ten thousand parts. Here each raises one ValueError, and results are nested no deeper than any reader can
handle.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Protocol

DEEPEST = 20
"""Most levels of nested tables and lists."""

_NAME = r"""(?:[\w-]+|"[^"\n]*"|'[^'\n]*')"""
_DOTTED = re.compile(rf"(?:^[\[ \t]*|[{{,][ \t]*){_NAME}(?:[ \t]*\.[ \t]*{_NAME}){{{DEEPEST}}}", re.MULTILINE)
"""Pattern of a name with too many parts; tomllib's time grows with the square of their number."""

_PLAIN = (
    (r"^Value error, ", ""),
    (r"^Input should be a valid integer.*", "expected a whole number"),
    (r"^Input should be a valid number.*", "expected a number"),
    (r"^Input should be a valid string.*", "expected a text"),
    (r"^Input should be greater than or equal to (\S+)", r"expected at least \1"),
    (r"^Input should be greater than (\S+)", r"expected more than \1"),
    (r"^Input should be less than or equal to (\S+)", r"expected at most \1"),
    (r"^Input should be ", "expected "),
    (r"^List should have at least 1 item.*", "expected at least one"),
)
"""Pattern of what pydantic says -> what is said of a value."""


class Invalid(Protocol):
    """pydantic's ValidationError, which takes a tenth of a second to import."""

    def errors(self) -> Any:
        """Return the faults, each with ``loc`` and ``msg``."""


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
        shallow(tables)
    except RecursionError:
        raise TooDeep from None
    return tables


def text_of(content: bytes) -> str:
    """Return the text of a file in UTF-8 or UTF-16, without its mark.

    Raises:
        ValueError: it is in another encoding; says on which line.
    """
    encoding = "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise ValueError(
            f"line {line} is not UTF-8 ({error.reason}): save the file in that encoding"
        ) from error


def decoded(content: bytes) -> str:
    """Return the text of a file in UTF-8, with or without a mark, in UTF-16 with one, or in Latin-1."""
    is_wide = content[:2] in (b"\xff\xfe", b"\xfe\xff")
    for encoding in ("utf-8-sig", *(["utf-16"] if is_wide else [])):
        with suppress(UnicodeDecodeError):
            return content.decode(encoding)
    return content.decode("latin-1")


def parse_json(text: str | bytes) -> Any:
    """Return the value of a JSON text; raises ValueError as ``parse_toml`` does."""
    try:
        return shallow(json.loads(text))
    except RecursionError:
        raise TooDeep from None


def plain(message: str) -> str:
    """Return what pydantic says of a value in plain words."""
    for pattern, words in _PLAIN:
        message = re.sub(pattern, words, message)
    return message


def complaints(error: Invalid, whole: str = "") -> Iterator[str]:
    """Yield "field: what is wrong" for each fault; whole: the name of all fields together."""
    for fault in error.errors():
        where = ".".join(map(str, fault["loc"])) or whole
        yield f"{where}: {plain(fault['msg'])}" if where else plain(fault["msg"])


def shallow(value: Any) -> Any:
    """Return the value; raises TooDeep if tables and lists are nested deeper than ``DEEPEST``."""
    level = [value]
    for _ in range(DEEPEST + 1):
        level = [each for each in level if isinstance(each, dict | list)]
        if not level:
            return value
        level = [v for each in level for v in (each.values() if isinstance(each, dict) else each)]
    raise TooDeep
