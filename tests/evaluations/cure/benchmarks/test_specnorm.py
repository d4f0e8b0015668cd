"""SpecNorm's columns to items. The rows are made up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from scrapers.countries import CountryCodes
from tasks.evaluations.cure.published import load_specnorm
from tasks.packs.published import read_rows

COUNTRIES = CountryCodes({"Indonesia": "ID", "the Philippines": "PH"})

ROW: dict[str, Any] = {
    "country": "Indonesia",
    "persona": "Wayan, a Hindu farmer in Bali",
    "situation": "On Nyepi he rides to his field.",
    "question": "Would his village find the ride in order?",
    "label": "No",
    "norm": "On Nyepi Balinese Hindus stay at home.",
    "cues": "region: Bali|religion: Hindu",
}


def test_a_published_row_becomes_an_item() -> None:
    (item,) = load_specnorm({"f": [ROW]}, COUNTRIES).items
    assert (item.benchmark, item.country, item.group, item.label) == ("specnorm", "ID", "Hindu", "no")
    assert item.question == "On Nyepi he rides to his field. Would his village find the ride in order?"
    assert item.gold == "On Nyepi Balinese Hindus stay at home."
    assert item.cues == ("region: Bali", "religion: Hindu")
    assert item.extra == {
        "country_name": "Indonesia",
        "persona": "Wayan, a Hindu farmer in Bali",
        "situation": "On Nyepi he rides to his field.",
        "question": "Would his village find the ride in order?",
        "rule": "medium",
    }


@pytest.mark.parametrize(
    ("cues", "group", "level"),
    [
        ("age: young", "young", "low"),
        ("gender: woman|Marital Status: married", "woman", "medium"),
        ("region: Bali", "Bali", "low"),
        ("region: Bali|age: young|religion: Hindu|ethnicity: Balinese", "Balinese", "high"),
    ],
)
def test_cues_give_group_and_specificity(cues: str, group: str, level: str) -> None:
    (item,) = load_specnorm({"f": [ROW | {"cues": cues}]}, COUNTRIES).items
    assert (item.group, item.extra["rule"]) == (group, level)


def test_each_dropped_row_is_counted_by_reason() -> None:
    changes: list[dict[str, Any]] = [
        {},
        {},
        {"country": "Philippines"},
        {"label": "neutral"},
        {"norm": ""},
        {"cues": "Bali"},
        {"cues": "colour: red"},
        {"cues": []},
        {"cues": None},
    ]
    loaded = load_specnorm({"f": [ROW | change for change in changes]}, COUNTRIES)
    assert [i.country for i in loaded.items] == ["ID", "PH"]
    assert loaded.dropped == {
        "duplicate": 1, "invalid_cues": 2, "invalid_label": 1, "no_cues": 2, "no_norm": 1,
    }  # fmt: skip


def test_cues_may_be_lists_and_further_columns_are_ignored(tmp_path: Path) -> None:
    row = ROW | {"cues": ["region: Bali", "religion: Hindu"], "model": "m", "reviewer": "r"}
    jsonl, parquet = tmp_path / "s.jsonl", tmp_path / "s.parquet"
    jsonl.write_text(json.dumps(row), encoding="utf-8")
    pl.DataFrame([row]).write_parquet(parquet)
    expected = load_specnorm({"f": [ROW]}, COUNTRIES).items
    assert load_specnorm({"s": read_rows(jsonl)}, COUNTRIES).items == expected
    assert load_specnorm({"s": read_rows(parquet)}, COUNTRIES).items == expected
