"""Merging of items, and refusal of an empty source."""

from __future__ import annotations

import itertools

import pytest

from scrapers.model import ListItem, ScrapeError, merged, parsed


def test_equal_texts_become_one_item_in_code_point_order() -> None:
    entries = [
        ListItem("é", aliases=("x",), countries=("ZW",), code="BBB"),
        ListItem(
            " e\u0301 ", aliases=("é", "a", ""), countries=("AE", "ZW"), ingredients=("b", "a"), code="AAA"
        ),
        ListItem("Z"),
        ListItem("a"),
    ]
    wanted = (
        ListItem("Z"),
        ListItem("a"),
        ListItem("é", aliases=("a", "x"), countries=("AE", "ZW"), ingredients=("b", "a"), code="AAA"),
    )
    assert all(merged(order) == wanted for order in itertools.permutations(entries))


def test_parsed_counts_nonzero_drops_and_refuses_an_empty_list() -> None:
    assert parsed([ListItem("a")], {"b": 2, "a": 0}, "s").dropped == {"b": 2}
    with pytest.raises(ScrapeError, match=r"s: no item was found \(a: 3\)\. The page's layout has probably"):
        parsed([], {"a": 3}, "s")
