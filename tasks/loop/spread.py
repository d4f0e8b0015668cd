"""Fewer items than there are, spread over what they are clustered by. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from tasks.identity import digest

T = TypeVar("T")


def spread(
    items: Sequence[T], n: int | None, name: Callable[[T], str], cluster: Callable[[T], object]
) -> list[T]:
    """Return n items at most, in the order given: of each cluster one, then a second, by a hash.

    Which ones does not depend on the items' order; a larger n gives the same items and more. n None: all.
    """
    if n is None or n >= len(items):
        return list(items)
    taken: dict[object, int] = {}
    ranked: list[tuple[int, str, int]] = []
    by_hash = sorted((digest([name(item)]), place) for place, item in enumerate(items))
    for hashed, place in by_hash:
        own = cluster(items[place])
        taken[own] = taken.get(own, 0) + 1
        ranked.append((taken[own], hashed, place))
    return [items[place] for place in sorted(place for *_, place in sorted(ranked)[:n])]


def share(n: int | None, groups: int, own: int | None = None, least: int = 1) -> int | None:
    """Return how many items each of some groups has of n in all, rounded up, no more than its own limit.

    None: all. least: fewer than this are of no use in a group.
    """
    return fewest(own, None if n is None else max(least, -(-n // max(groups, 1))))


def fewest(*limits: int | None) -> int | None:
    """Return the smallest of the limits that are set; None: none is."""
    return min((limit for limit in limits if limit is not None), default=None)
