"""Makes hashes and checks names that identify things across runs; suggests names for misspelt ones. Pure."""

from __future__ import annotations

import csv
import hashlib
import json
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from rapidfuzz import process, utils


class UnknownName(ValueError):  # noqa: N818 - "raise UnknownName" says it all
    """Raised for a country, domain or other name that does not exist; the message suggests near names."""

    def __init__(self, what: str, name: str, known: Sequence[str]) -> None:
        near = process.extract(name, known, limit=3, processor=utils.default_process)
        hint = "; ".join(match for match, *_ in near)
        super().__init__(f"there is no {what} {name!r} in the reference data; near: {hint}")


_canonical = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode


def digest(value: Any, length: int = 16) -> str:
    """Return hex digits of the SHA-256 of a value's canonical JSON."""
    return hashlib.sha256(_canonical(value).encode()).hexdigest()[:length]


LONGEST_NAME = 200
NULL = "null:"
"""Prefix of null models' names; no other name may have it."""


def checked_name(name: str, what: str) -> str:
    """Return the name that a person gave to a model, an occasion or a cohort; it may be empty. what: kind of
    name, for the error.

    Raises:
        ValueError: it begins like a null model's name, begins or ends with a space, has a hidden character or
            a mark of direction, or is too long.
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
    """Return a name within quotes, without terminal controls, shortened if long."""
    return ascii(name if len(name) <= 60 else f"{name[:60]}…")


def choose_codes(what: str, wanted: Sequence[str] | None, names: Mapping[str, str]) -> list[str]:
    """Return codes in code-point order, each once, for codes or names in any case, with or without "the"; all
    codes if nothing is named.

    Args:
        what: kind of thing, for the error.
        names: code -> name.

    Raises:
        UnknownName: a name that is not among them.
    """
    known = {name: code for code, name in names.items()} | {code: code for code in names}
    codes = {_plain(name): code for name, code in known.items()}
    codes = {name: code for name, code in _countries().items() if code in names} | codes
    for name in wanted or ():
        if _plain(name) not in codes:
            raise UnknownName(what, name, list(names.values()))
    return sorted({codes[_plain(name)] for name in wanted} if wanted else names)


@cache
def _countries() -> dict[str, str]:
    """Return endonym, or German, French or Spanish name of a country -> code."""
    with Path(__file__).with_name("country_names.csv").open(encoding="utf-8", newline="") as file:
        return {_plain(row["name"]): row["country"] for row in csv.DictReader(file)}


def _plain(name: str) -> str:
    return name.strip().casefold().removeprefix("the ")
