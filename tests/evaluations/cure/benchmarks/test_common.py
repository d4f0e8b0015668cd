"""Rows against a schema, countries by name, and each item once."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.evaluations.cure.benchmarks import BenchmarkItem, country_key, distinct
from tasks.packs.published import BenchmarkError, Lower, PublishedRow, Text, column, validate


class Row(PublishedRow):
    """A small schema."""

    gold_label: Annotated[Literal["yes", "no"], Lower]
    story: Text
    value: str = ""


ITEM = BenchmarkItem("normad", "a", "EG", "visiting", "A story.", "yes", "A norm.")


def test_columns_and_cells_are_read_whatever_their_spelling() -> None:
    rows: list[dict[str, object]] = [
        {"Gold Label": " YES ", "Story": " Tea. ", "Value": None, "unknown": 1},
        {"gold-label": "no", "STORY": 1984, "value": "thrift"},
    ]
    kept, dropped = validate("f.csv", rows, Row)
    assert kept == [
        Row(gold_label="yes", story="Tea."),
        Row(gold_label="no", story="1984", value="thrift"),
    ]
    assert not dropped


def test_bad_rows_are_counted_by_their_first_bad_cell() -> None:
    good: dict[str, object] = {"gold_label": "yes", "story": "Tea."}
    bad: list[dict[str, object]] = [
        good | {"gold_label": "maybe"},
        good | {"gold_label": None},
        {"story": "Tea."},
        good | {"story": "  "},
        good | {"story": float("nan")},
        good | {"story": ["Tea."]},
        good | {"gold_label": "maybe", "story": ""},
    ]
    kept, dropped = validate("f.csv", [good, *bad], Row)
    assert kept == [Row(gold_label="yes", story="Tea.")]
    assert dropped == {"invalid_gold_label": 2, "no_gold_label": 2, "no_story": 2, "invalid_story": 1}


def test_a_file_of_something_else_is_an_error_that_names_the_columns() -> None:
    message = (
        r"f\.csv: none of 2 rows fits \(no_gold_label 1, invalid_gold_label 1\): expected the columns "
        r"gold_label, story, found Gold Label, text\. Check that"
    )
    with pytest.raises(BenchmarkError, match=message):
        validate("f.csv", [{"text": "Tea."}, {"Gold Label": "perhaps"}], Row)


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("the United Arab Emirates", "united arab emirates"),
        ("saudi_arabia", "saudi arabia"),
        ("U.S.", "us"),
        ("Timor-Leste", "timor leste"),
        ("Côte d’Ivoire", "côte divoire"),
        (" Bosnia  and Herzegovina ", "bosnia and herzegovina"),
        ("Theland", "theland"),
    ],
)
def test_country_keys(name: str, key: str) -> None:
    assert country_key(name) == key


@settings(max_examples=40)
@given(st.text())
def test_keys_stay_as_they_are(text: str) -> None:
    assert column(column(text)) == column(text)


def test_the_first_item_of_an_id_is_kept_and_unknown_countries_are_counted() -> None:
    unknown = replace(ITEM, item="b", country=None, extra={"country_name": "Ruritania"})
    loaded = distinct([ITEM, replace(ITEM, gold="x"), unknown], {"no_story": 2, "none_of_this": 0})
    assert loaded.items == (ITEM, unknown)
    assert loaded.dropped == {"duplicate": 1, "no_story": 2}
    assert [i.extra["country_name"] for i in loaded.items if not i.country] == ["Ruritania"] * 1
    assert distinct([ITEM], {}).dropped == {}


def test_of_items_with_contradictory_labels_none_is_kept() -> None:
    other = replace(ITEM, item="b")
    loaded = distinct([ITEM, other, replace(ITEM, label="no"), ITEM, other], {})
    assert loaded.items == (other,)
    assert loaded.dropped == {"contradiction": 3, "duplicate": 1}
