"""Selection of items: each once, and those of the named slices."""

from __future__ import annotations

import re

import pytest

from tasks.evaluations.choosing import distinct, of_slices

ITEMS = ["es MX Food", "es PE Pets", "ja JP Food"]
KINDS = ("language", "region", "topic")


def value(item: str, kind: str) -> str:
    return item.split()[KINDS.index(kind)]


def test_repeated_items_are_one_and_contradicting_ones_dropped() -> None:
    read = [("a", 1), ("b", 2), ("a", 1), ("c", 3), ("b", 4), ("a", 1)]
    items, dropped = distinct(read, lambda item: item[0], lambda item: item[1])
    assert items == [("a", 1), ("c", 3)]
    assert dropped == {"duplicate": 2, "contradiction": 2}
    assert distinct([], str, str) == ([], {"duplicate": 0, "contradiction": 0})


def test_items_match_all_named_slices() -> None:
    assert of_slices(ITEMS, {"language": [], "topic": []}, value) == tuple(ITEMS)
    assert of_slices(ITEMS, {"language": ["es"], "topic": ["Food", "Pets"]}, value) == tuple(ITEMS[:2])


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"region": ["MX", "XX"]}, "no item is of region XX; known: JP, MX, PE"),
        ({"language": ["ja"], "topic": ["Pets"]}, "name fewer of them"),
    ],
)
def test_slice_without_items_is_refused_with_known_values(wanted: dict[str, list[str]], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        of_slices(ITEMS, wanted, value)
