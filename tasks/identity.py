"""Makes hashes and checks names that identify things across runs; suggests names for misspelt ones. Pure."""

from __future__ import annotations

import csv
import hashlib
import json
import re
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


_LOOKS_LIKE = {
    "n": "\u0274\u019e\u014b\u0272\u0273\u039d\u03b7\u0438\u043f\u0578\u057c\u2c9a\u2c9b\ua4e0\U00010513",
    "u": "\u028b\u028a\u0289\u03bc\u03c5\u054d\u057d\u1200\u144c\u1d1c\u222a\u22c3\ua4f4\ua79f\uab4e\uab52"
    "\U000104ce\U000104f6\U000118b8\U000118d8\U00016f42",
    "l": "1Ii|!"
    "\u0131\u0142\u019a\u026b\u026d\u029f\u0196\u0269\u01c0\u0399\u03b9\u0406\u0456\u04c0\u04cf\u05c0"
    "\u06f1\u0661\u13de\u14aa\u16c1\u2223\u23fd\u2c92\u2cd0\u2d4f\ua4e1\ua4f2\U0001028a\U00010309\U00010320"
    "\U0001041b\U00010526\U000118a3\U000118b2\U00016f16\U00016f28\U0001d22a",
    ":": ";\u02d0\u02f8\u0589\u05c3\u0703\u0704\u0903\u0a83\u1361\u1365\u16ec\u1803\u1809\u205a\u2236\u2982"
    "\ua4fd\ua789",
}
"""Signs that look like those of ``NULL`` in either case: Unicode's confusables.txt and letters near them."""
_SKELETON = str.maketrans({sign: plain for plain, signs in _LOOKS_LIKE.items() for sign in signs})
_IGNORABLE = re.compile(
    "[\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""Signs that show as nothing: Unicode's Default_Ignorable_Code_Point without signs of format, and a blank."""


def checked_name(name: str, what: str) -> str:
    """Return the name that a person gave to a model, an occasion or a cohort, composed; it may be empty.

    Args:
        what: kind of name, for the error.

    Raises:
        ValueError: it begins like a null model's name or looks as if it did, begins or ends with a space, has
            a hidden character or a mark of direction, is written with compatibility signs such as full-width
            ones, shows nothing, or is too long.
    """
    _check_shown(name, what)
    if (plain := unicodedata.normalize("NFKC", name)) != unicodedata.normalize("NFC", name):
        raise ValueError(f"{what} {_quoted(name)}: it has signs that look like others: write {plain!r}")
    return plain


def checked_title(title: str, what: str) -> str:
    """Return a line that people read, composed; it may have what a language needs: full-width signs, joiners.

    Raises:
        ValueError: like ``checked_name``, but for compatibility signs and joiners between letters.
    """
    _check_shown(_JOINERS.sub("", title), what)
    return unicodedata.normalize("NFC", title)


_JOINERS = re.compile("(?<=[^\\W\\d_])[\u200c\u200d](?=[^\\W\\d_])|(?<=\u094d)[\u200c\u200d]")
"""Joiners where Persian, Hindi and other languages have them: between letters, and after a virama."""


def _check_shown(name: str, what: str) -> None:
    if len(name) > LONGEST_NAME:
        raise ValueError(f"{what} {_quoted(name)}: it has {len(name):,} characters: {LONGEST_NAME} at most")
    odd = next((c for c in name if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")), None)
    odd = odd or next(iter(_IGNORABLE.findall(name)), None)
    if odd is not None:
        raise ValueError(f"{what} {_quoted(name)}: it holds the character U+{ord(odd):04X}: leave that out")
    if _skeleton(name).startswith(NULL):
        raise ValueError(f"{what} {_quoted(name)}: names that begin with {NULL} are those of null models")
    if name != name.strip():
        raise ValueError(f"{what} {_quoted(name)}: it begins or ends with a space: leave that out")
    if name and not any(unicodedata.category(c)[0] in "LNPS" for c in name):
        raise ValueError(f"{what} {_quoted(name)}: it shows nothing: name it with letters")


def _skeleton(name: str) -> str:
    """Return what a name looks like: signs that look alike are one, without blanks and marks."""
    apart = unicodedata.normalize("NFKD", name).translate(_SKELETON)
    letters = "".join(c for c in apart if unicodedata.category(c)[0] not in "MZC")
    return unicodedata.normalize("NFKD", letters.casefold()).translate(_SKELETON)


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
    codes = {_country_key(name): code for name, code in known.items()}
    codes = {name: code for name, code in _countries().items() if code in names} | codes
    for name in wanted or ():
        if _country_key(name) not in codes:
            raise UnknownName(what, name, list(names.values()))
    return sorted({codes[_country_key(name)] for name in wanted} if wanted else names)


@cache
def _countries() -> dict[str, str]:
    """Return endonym, or German, French or Spanish name of a country -> code."""
    with Path(__file__).with_name("country_names.csv").open(encoding="utf-8", newline="") as file:
        return {_country_key(row["name"]): row["country"] for row in csv.DictReader(file)}


def _country_key(name: str) -> str:
    return name.strip().casefold().removeprefix("the ")
