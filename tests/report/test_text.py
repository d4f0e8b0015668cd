"""Numbers, times and lists as people read them."""

from __future__ import annotations

from datetime import datetime

import pytest
from markupsafe import Markup

from tasks.report.page import environment
from tasks.report.text import (
    LONGEST_NAME,
    compact,
    listed,
    number,
    percent,
    pretty,
    sentence,
    short,
    shortened,
    when,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), (float("inf"), "∞"), (float("-inf"), "−∞"), (-0.5, "−0.50"), (0.125, "0.12"), (3, "3.00"),
     (1e-9, "<0.01"), (0.0, "0.00")],
)  # fmt: skip
def test_numbers_have_two_digits_and_dashes_for_missing(value: float | None, text: str) -> None:
    assert number(value) == text


def test_signed_numbers_have_a_sign() -> None:
    assert [number(x, 1, True) for x in (0.25, -0.25, 0.0)] == ["+0.2", "−0.2", "+0.0"]


def test_percentages_are_whole() -> None:
    assert [percent(x) for x in (None, 0.0, 0.001, 0.676)] == ["–", "0 %", "<1 %", "68 %"]


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), (1.0, "1.00"), (45.61, "45.6"), (789.4, "789"), (1234.0, "1.2k"), (12345.0, "12k"),
     (999_999.0, "1.0M"), (9.996, "10.0"), (99.96, "100"), (999.6, "1.0k"), (3.4e6, "3.4M"),
     (5e12, "5e12"), (3.4e16, "3e16"), (float("inf"), "∞")],
)  # fmt: skip
def test_compact_numbers_have_three_digits_and_a_unit(value: float | None, text: str) -> None:
    assert compact(value) == text


def test_pretty_prints_json_and_keeps_other_text() -> None:
    assert pretty("not json") == "not json"
    assert pretty('{"kind":"fake"}') == '{\n "kind": "fake"\n}'


def test_words_are_joined_with_commas_and_and() -> None:
    words: list[list[str]] = [[], ["a"], ["a", "b"], ["a", "b", "c"]]
    assert [listed(some) for some in words] == ["", "a", "a and b", "a, b and c"]


def test_a_sentence_keeps_the_case_of_names() -> None:
    assert [sentence(text) for text in ("", "coverage (NormAd)", "é")] == ["", "Coverage (NormAd)", "É"]


def test_long_lists_are_shortened_with_a_count() -> None:
    parts = [f"s{i}" for i in range(10)]
    assert shortened(", ".join(parts)) == "s0, s1, s2, s3, s4, s5, s6, s7 and 2 more"
    assert shortened(", ".join(parts[:8])) == ", ".join(parts[:8])


def test_short_name_keeps_both_ends() -> None:
    name = "organisation/a-very-long-name-of-a-model-8B-Instruct"
    assert len(short(name)) <= LONGEST_NAME
    assert (short(name)[:6], short(name)[-6:]) == (name[:6], name[-6:])
    assert short("gpt2") == "gpt2"


def test_times_are_shown_to_the_minute() -> None:
    assert when(datetime(2026, 1, 2, 3, 4, 59)) == "2026-01-02 03:04 UTC"
    assert when(None) == "–"


def test_control_and_bidi_characters_are_removed_from_pages() -> None:
    template = environment({}).from_string("{{ text }}|{{ markup }}|{{ number }}|{{ isolated(text) }}")
    evil = "a\x1b[2J\u202eb\u2066c\u2069\x9b<i>"
    shown = template.render(text=evil, markup=Markup("<b>\x07x</b>"), number=3)
    assert shown == "a[2Jbc&lt;i&gt;|<b>x</b>|3|" + '<bdi dir="auto">a[2Jbc&lt;i&gt;</bdi>'
