"""Null texts: what a judge marks beside the real ones, and should refuse. Pure.

Three stand in place of each item's real explanation or answer: another item's (shuffled), one that fits
every item (generic), and none at all (empty). A judge that gives these as much as the real ones measures
nothing.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from tasks.identity import digest

REAL, SHUFFLED, GENERIC, EMPTY = "real", "shuffled", "generic", "empty"
NULLS = (SHUFFLED, GENERIC, EMPTY)
SOURCES = (REAL, *NULLS)
"""Where a judged text is from."""

Families = Mapping[str, frozenset[Hashable]]
"""Item -> all by which another item's text could be right for it too: its country, its group, its rule …"""


def texts_by_source(
    real: Mapping[str, str], families: Families, generic: str, scope: str
) -> dict[str, dict[str, str]]:
    """Source -> item -> the text to be judged.

    Args:
        real: item -> its text; items that have none are left out, and get no shuffled one either, since real
            and shuffled are compared item by item.
        families: of all items, also of those without a text.
        generic: a text that says nothing of any item in particular.
        scope: what the items are of, such as a benchmark; see ``shuffled``.
    """
    return {
        REAL: dict(real),
        SHUFFLED: shuffled(real, families, scope),
        GENERIC: dict.fromkeys(families, generic),
        EMPTY: dict.fromkeys(families, ""),
    }


def shuffled(texts: Mapping[str, str], families: Families, scope: str) -> dict[str, str]:
    """Item -> another item's text: that of the next one in a fixed random ring that is of another family.

    So each text is used about once. An item of whose family all others are is left out.

    Args:
        scope: fixes the ring, together with the items' names.
    """
    ring = sorted(texts, key=lambda item: digest([scope, item]))
    swapped: dict[str, str] = {}
    for place, item in enumerate(ring):
        others = ring[place + 1 :] + ring[:place]
        other = next((other for other in others if not same_family(families, item, other)), None)
        if other is not None:
            swapped[item] = texts[other]
    return swapped


def same_family(families: Families, first: str, second: str) -> bool:
    """Whether one text could be right for both items."""
    return not families[first].isdisjoint(families[second])
