"""What identifies things across runs: hashes of values, and names that the user may have misspelt. Pure."""

from __future__ import annotations

import hashlib
import json
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


def choose_codes(what: str, wanted: Sequence[str] | None, names: Mapping[str, str]) -> list[str]:
    """Codes in code-point order, each once, of what is named by code or name, in any case and with or without
    "the"; all of them if nothing is named.

    Args:
        what: says in the error what they are codes of.
        names: code -> name.

    Raises:
        UnknownName: a name that is none of them.
    """
    known = {name: code for code, name in names.items()} | {code: code for code in names}
    codes = {_plain(name): code for name, code in known.items()}
    for name in wanted or ():
        if _plain(name) not in codes:
            raise UnknownName(what, name, list(names.values()))
    return sorted({codes[_plain(name)] for name in wanted} if wanted else names)


def _plain(name: str) -> str:
    return name.strip().casefold().removeprefix("the ")
