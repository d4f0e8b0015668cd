"""Charsets."""

from __future__ import annotations

import pytest

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
