"""Rows against a schema, countries by name, and each item once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Literal

import pytest

from scrapers.countries import CountryCodes
from tasks.data import TableError
from tasks.evaluations.cure.published import (
    BenchmarkItem,
    country_key,
    distinct,
    load_culturebank,
    load_normad,
    load_specnorm,
)
from tasks.packs.published import Lower, PublishedRow, Text, validate


class Row(PublishedRow):
    """A small schema."""

    gold_label: Annotated[Literal["yes", "no"], Lower]
    story: Text
    value: str = ""


ITEM = BenchmarkItem("normad", "a", "EG", "visiting", "A story.", "yes", "A norm.")


def test_columns_and_cells_are_read_in_any_spelling() -> None:
    rows: list[dict[str, object]] = [
        {"Gold Label": " YES ", "Story": " Tea. ", "Value": None, "unknown": 1},
        {"gold-label": "no", "STORY": 1984, "value": "thrift"},
    ]
    valid, dropped = validate("f.csv", rows, Row)
    assert valid == [Row(gold_label="yes", story="Tea."), Row(gold_label="no", story="1984", value="thrift")]
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
    valid, dropped = validate("f.csv", [good, *bad], Row)
    assert valid == [Row(gold_label="yes", story="Tea.")]
    assert dropped == {"invalid_gold_label": 2, "no_gold_label": 2, "no_story": 2, "invalid_story": 1}


def test_file_without_a_valid_row_is_refused_with_its_columns() -> None:
    message = (
        r"f\.csv: none of 2 rows fits \(no_gold_label 1, invalid_gold_label 1\): expected the columns "
        r"gold_label, story, found Gold Label, text\. Check that"
    )
    with pytest.raises(TableError, match=message):
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
def test_country_names_are_compared_without_articles_and_punctuation(name: str, key: str) -> None:
    assert country_key(name) == key


def test_repeated_items_are_one_and_contradicting_labels_drop_all() -> None:
    unknown = replace(ITEM, item="b", country=None, extra={"country_name": "Ruritania"})
    loaded = distinct([ITEM, replace(ITEM, gold="x"), unknown], {"no_story": 2, "none_of_this": 0})
    assert loaded.items == (ITEM, unknown)
    assert loaded.dropped == {"duplicate": 1, "no_story": 2}
    assert distinct([ITEM], {}).dropped == {}
    contradicting = distinct([ITEM, unknown, replace(ITEM, label="no"), ITEM, unknown], {})
    assert contradicting.items == (unknown,)
    assert contradicting.dropped == {"contradiction": 3, "duplicate": 1}


@pytest.mark.parametrize(
    ("load", "message"),
    [
        (load_culturebank, r"f\.csv: none of 1 rows fits .*cultural_group.*found story"),
        (load_normad, "expected the columns country, story, explanation, gold_label, found"),
        (load_specnorm, "expected the columns country, persona, situation"),
    ],
)
def test_file_with_other_columns_is_refused(load: Callable[..., object], message: str) -> None:
    with pytest.raises(TableError, match=message):
        load({"f.csv": [{"story": "x"}]}, CountryCodes({}))
