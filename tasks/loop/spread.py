"""Selects a subset of items, spread evenly over their clusters. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from tasks.identity import digest

T = TypeVar("T")


def spread(
    items: Sequence[T], n: int | None, name: Callable[[T], str], cluster: Callable[[T], object]
) -> list[T]:
    """Return at most n items in their order: one of each cluster, then a second of each, and so on, by a
    hash.

    The choice does not depend on the items' order; a larger n adds items to it. n None: all.
    """
    if n is None or n >= len(items):
        return list(items)
    counts: dict[object, int] = {}
    ranked: list[tuple[int, str, int]] = []
    by_hash = sorted((digest([name(item)]), place) for place, item in enumerate(items))
    for hashed, place in by_hash:
        own = cluster(items[place])
        counts[own] = counts.get(own, 0) + 1
        ranked.append((counts[own], hashed, place))
    return [items[place] for place in sorted(place for *_, place in sorted(ranked)[:n])]


def share(n: int | None, groups: int, own: int | None = None, least: int = 1) -> int | None:
    """Return the number of items per group if n in all are spread over the groups, rounded up.

    None: all. own: most items per group. least: fewest items per group that are of use.
    """
    return fewest(own, None if n is None else max(least, -(-n // max(groups, 1))))


def fewest(*limits: int | None) -> int | None:
    """Return the smallest limit that is set; None if none is."""
    return min((limit for limit in limits if limit is not None), default=None)
