"""Texts are decoded and cleaned, items merged, and an empty source refused."""

from __future__ import annotations

import itertools

import pytest

from scrapers.model import ListItem, ScrapeError, merged, parsed
from scrapers.text import decode


@pytest.mark.parametrize(
    ("content", "charset", "text"),
    [
        ("é".encode(), "iso-8859-1", "é"),  # the header is wrong
        (b"\xef\xbb\xbf\xc3\xa9", None, "é"),
        ("é".encode("utf-16"), "utf-8", "é"),
        ("щ".encode("koi8-r"), "koi8-r", "щ"),
        (b"\xe9", None, "é"),  # Windows-1252 by default
        (b"\xe9", "no-such-charset", "é"),
        (b"\xe9", "a\0b", "é"),
        (b"\xe9\x81", None, "é\ufffd"),
    ],
)
def test_text_is_decoded_by_mark_content_and_header(content: bytes, charset: str | None, text: str) -> None:
    assert decode(content, charset) == text


def test_charset_in_the_page_overrides_the_header() -> None:
    page = b'<html><head><meta charset="koi8-r"></head>' + "щ".encode("koi8-r")
    assert decode(page, "iso-8859-1").endswith("щ")


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
