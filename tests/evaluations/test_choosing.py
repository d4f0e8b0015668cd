"""Which of all items are asked: each of them once, and those of the slices that are named."""

from __future__ import annotations

import re

import pytest

from tasks.evaluations.choosing import distinct, of_slices

ITEMS = ["es MX Food", "es PE Pets", "ja JP Food"]
KINDS = ("language", "region", "topic")


def value(item: str, kind: str) -> str:
    return item.split()[KINDS.index(kind)]


def test_repeated_items_are_one_and_contradicting_ones_none() -> None:
    read = [("a", 1), ("b", 2), ("a", 1), ("c", 3), ("b", 4), ("a", 1)]
    kept, dropped = distinct(read, lambda item: item[0], lambda item: item[1])
    assert kept == [("a", 1), ("c", 3)]
    assert dropped == {"duplicate": 2, "contradiction": 2}
    assert distinct([], str, str) == ([], {"duplicate": 0, "contradiction": 0})


def test_items_are_in_all_slices_that_are_named() -> None:
    assert of_slices(ITEMS, {"language": [], "topic": []}, value) == tuple(ITEMS)
    assert of_slices(ITEMS, {"language": ["es"], "topic": ["Food", "Pets"]}, value) == tuple(ITEMS[:2])


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ({"region": ["MX", "XX"]}, "no item is of region XX; known: JP, MX, PE"),
        ({"language": ["ja"], "topic": ["Pets"]}, "name fewer of them"),
    ],
)
def test_what_no_item_has_is_refused(wanted: dict[str, list[str]], said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        of_slices(ITEMS, wanted, value)
