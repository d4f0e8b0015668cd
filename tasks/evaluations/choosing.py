"""Chooses items from those that were read: each once, and only those of the named slices. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")

CHOSEN = ("not_chosen", "other_country", "unknown_country")
"""Reasons by which the user leaves out items, or part of their rows."""


def distinct(
    items: Iterable[T], key: Callable[[T], Hashable], answer: Callable[[T], Hashable]
) -> tuple[list[T], Counter[str]]:
    """Return the first item of each key, in order, and numbers of dropped items by reason.

    Repetitions count as ``duplicate``. If their answers differ, it is unknown which is right, so all are
    dropped and count as ``contradiction``.
    """
    by_key: dict[Hashable, list[T]] = {}
    for item in items:
        by_key.setdefault(key(item), []).append(item)
    agreeing = [same for same in by_key.values() if len(set(map(answer, same))) == 1]
    n, n_agreeing = sum(map(len, by_key.values())), sum(map(len, agreeing))
    counts = Counter({"duplicate": n_agreeing - len(agreeing), "contradiction": n - n_agreeing})
    return [same[0] for same in agreeing], counts


def of_slices(
    items: Sequence[T], wanted: Mapping[str, Sequence[str]], value: Callable[[T, str], str]
) -> tuple[T, ...]:
    """Return the items in all named slices, in order.

    Args:
        wanted: kind of slice -> its names; empty: all. value: returns an item's name for a kind.

    Raises:
        ValueError: no item has one of the names, or none is left.
    """
    chosen = tuple(items)
    for kind, names in wanted.items():
        known = sorted({value(item, kind) for item in items})
        if unknown := sorted(set(names) - set(known)):
            raise ValueError(f"no item has {kind} {', '.join(unknown)}; known: {', '.join(known)}")
        chosen = tuple(item for item in chosen if not names or value(item, kind) in names)
    if not chosen:
        raise ValueError("no item is in all the named slices: name fewer")
    return chosen


def left_out(rows: str, dropped: Mapping[str, int]) -> str:
    """Return the numbers of rows that are no items, by reason: "; rows left out: duplicate 2"; "" if none.

    Args:
        rows: their name. dropped: reasons of ``CHOSEN``, perhaps after another word, are no faults of rows.
    """
    faults = [f"{why} {n}" for why, n in dropped.items() if why.rpartition(" ")[2] not in CHOSEN]
    return f"; {rows} left out: {', '.join(faults)}" if faults else ""
