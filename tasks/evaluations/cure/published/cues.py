"""Reads, writes and counts cues, which locate a norm within a country, such as "ethnicity: Sámi". Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Literal, NamedTuple

KINDS = ("region", "ethnicity", "religion", "age", "gender", "occupation", "marital_status")
KEY_KINDS = frozenset(KINDS[:3])
"""Kinds of cues; SpecNorm requires at least one (Vo and Koyejo 2025, Benchmark 1)."""

SEPARATOR = "|"

Specificity = Literal["low", "medium", "high"]

_GROUP_ORDER = ("ethnicity", "religion", "region", *KINDS[3:])

_GENERIC = frozenset(
    {
        "everybody", "everyone", "general", "human", "humans", "local", "locals", "n/a", "na", "nan",
        "national", "none", "not specified", "null", "other", "others", "people", "person", "persons",
        "unknown", "unspecified", "various",
    }
)  # fmt: skip
_GENERIC_START = re.compile(r"(all|any|every|both)\b")


class Cue(NamedTuple):
    """One cue. ``kind`` is one of ``KINDS``."""

    kind: str
    value: str

    def __str__(self) -> str:
        return f"{self.kind.replace('_', ' ')}: {self.value}"


def is_generic(value: str, country_names: Iterable[str]) -> bool:
    """Return whether a value names no subgroup: empty, "all ages", "people", or the country itself."""
    plain = normal(value)
    names = {normal(name).removeprefix("the ") for name in country_names}
    return (
        not plain
        or plain in _GENERIC
        or bool(_GENERIC_START.match(plain))
        or plain.removeprefix("the ") in names
    )


def join_cues(cues: Iterable[Cue]) -> str:
    """Return cues joined as in the files: "region: Bali|religion: Hindu"."""
    return SEPARATOR.join(map(str, cues))


def parse_cues(text: str) -> tuple[Cue, ...]:
    """Return cues read from text, the reverse of ``join_cues``.

    Raises:
        ValueError: a part is not a kind and a value.
    """
    cues = []
    for part in filter(None, (p.strip() for p in text.split(SEPARATOR))):
        kind, _, value = (p.strip() for p in part.partition(":"))
        kind = kind.casefold().replace(" ", "_")
        if kind not in KINDS or not value:
            kinds = ", ".join(KINDS)
            raise ValueError(
                f"{part!r} is not a cue: write <kind>: <value>, and separate several by {SEPARATOR!r}; "
                f"kinds are {kinds}"
            )
        cues.append(Cue(kind, value))
    return tuple(cues)


def group_of(cues: Iterable[Cue]) -> str:
    """Return the subgroup for results by group: the value of the first kind in ``_GROUP_ORDER``."""
    values = {cue.kind: cue.value for cue in cues}
    return next((values[kind] for kind in _GROUP_ORDER if kind in values), "")


def specificity(n_cues: int) -> Specificity:
    """Return an item's specificity (Vo and Koyejo 2025): low has one cue, medium two or three, high four or
    more.

    Raises:
        ValueError: there is no cue, so the statement cannot seed SpecNorm.
    """
    if n_cues < 1:
        raise ValueError(f"specificity needs at least one cue, got {n_cues}")
    return "low" if n_cues == 1 else "medium" if n_cues < 4 else "high"


def is_named(cue: Cue, text: str) -> bool:
    """Return whether a text has the cue's words in order, up to case, accents and a plural ending. Only whole
    words count: "woman" does not name "man", nor "unmarried" "married".
    """
    words = re.escape(normal(cue.value))
    return re.search(rf"(?<!\w){words}(s|es|'s)?(?!\w)", normal(text)) is not None


def normal(text: str) -> str:
    """Return the text case folded, without accents, with single spaces and straight apostrophes."""
    letters = unicodedata.normalize("NFKD", text.casefold().replace("’", "'"))
    return " ".join("".join(c for c in letters if not unicodedata.combining(c)).split())
