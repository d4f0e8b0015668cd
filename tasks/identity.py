"""Hashes and names that identify things across runs, and names that the user may have misspelt. Pure."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from rapidfuzz import process, utils


class UnknownName(ValueError):  # noqa: N818 - "raise UnknownName" says it all
    """A country, domain or other name that does not exist; the message says what may have been meant."""

    def __init__(self, what: str, name: str, known: Sequence[str]) -> None:
        near = process.extract(name, known, limit=3, processor=utils.default_process)
        hint = "; ".join(match for match, *_ in near)
        super().__init__(f"there is no {what} {name!r} in the reference data; near: {hint}")


_canonical = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode


def digest(value: Any, length: int = 16) -> str:
    """Hex digits of the SHA-256 of a value's canonical JSON."""
    return hashlib.sha256(_canonical(value).encode()).hexdigest()[:length]


LONGEST_NAME = 200
NULL = "null:"
"""Names of null models begin with it, and no other name does."""


def checked_name(name: str, what: str) -> str:
    """The name that a person gave to a model, an occasion or a cohort; it may be empty.

    what: says in the error what it names.

    Raises:
        ValueError: it begins as null models' names do, has space at an end, a character that is not shown or
            turns the direction of what follows, or is long.
    """
    odd = next((c for c in name if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")), None)
    if odd is not None:
        raise ValueError(f"{what} {_quoted(name)}: it holds the character U+{ord(odd):04X}: leave that out")
    if name.casefold().replace(" ", "").startswith(NULL):
        raise ValueError(f"{what} {_quoted(name)}: names that begin with {NULL} are those of null models")
    if name != name.strip():
        raise ValueError(f"{what} {_quoted(name)}: it begins or ends with a space: leave that out")
    if len(name) > LONGEST_NAME:
        raise ValueError(f"{what} {_quoted(name)}: it has {len(name):,} characters: {LONGEST_NAME} at most")
    return name


def _quoted(name: str) -> str:
    """A name within quotes, without what a terminal would obey; a long one shortened."""
    return ascii(name if len(name) <= 60 else f"{name[:60]}…")


def choose_codes(what: str, wanted: Sequence[str] | None, names: Mapping[str, str]) -> list[str]:
    """Codes in code-point order, each once, of what is named by code or name, in any case and with or without
    "the"; all of them if nothing is named.

    Args:
        what: says in the error what they are codes of.
        names: code -> name.

    Raises:
        UnknownName: a name that is not among them.
    """
    known = {name: code for code, name in names.items()} | {code: code for code in names}
    codes = {_plain(name): code for name, code in known.items()}
    for name in wanted or ():
        if _plain(name) not in codes:
            raise UnknownName(what, name, list(names.values()))
    return sorted({codes[_plain(name)] for name in wanted} if wanted else names)


def _plain(name: str) -> str:
    return name.strip().casefold().removeprefix("the ")
