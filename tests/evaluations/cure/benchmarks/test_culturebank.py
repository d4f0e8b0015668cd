"""CultureBank's published columns to items. The rows are made up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from scrapers.countries import CountryCodes
from tasks.evaluations.cure.published import LABELS, load_culturebank
from tasks.packs.published import read_rows

COUNTRIES = CountryCodes(
    {"Japan": "JP", "the Netherlands": "NL", "the United States": "US", "South Korea": "KR"}
)

# All columns of the published files, in their order.
ROW: dict[str, Any] = {
    "cluster_id": 7,
    "cultural group": "Japanese",
    "context": "in restaurants",
    "goal": "thank the staff",
    "relation": "customer to waiter",
    "actor": "customers",
    "actor_behavior": "leave a tip on the table",
    "recipient": "waiter",
    "recipient_behavior": None,
    "other_descriptions": None,
    "topic": "Food and Dining",
    "agreement": 0.1,
    "num_support_bin": "[5, 20)",
    "time_range": "{2021: '[0, 10)'}",
    "eval_whole_desc": "In Japan customers do not leave tips.",
    "eval_scenario": "A visitor has finished a meal in Osaka.",
    "eval_persona": "a nurse from Spain",
    "eval_question": "How do I thank the staff?",
}


def rows(*changes: dict[str, Any]) -> list[dict[str, Any]]:
    return [ROW | {"eval_question": f"Question {i}?"} | change for i, change in enumerate(changes)]


def test_a_published_row_becomes_an_item() -> None:
    (item,) = load_culturebank({"culturebank_reddit.csv": [ROW]}, COUNTRIES).items
    question = (
        "How do I thank the staff? The behaviour in question is this one: customers: leave a tip on the "
        "table. Do most people of this cultural group (Japanese) hold it to be normal?"
    )
    assert (item.benchmark, item.country, item.group, item.label) == ("culturebank", "JP", "Japanese", "no")
    assert item.question == f"A visitor has finished a meal in Osaka. {question}"
    assert item.gold == "In Japan customers do not leave tips."
    assert item.cues == ()
    assert item.extra == {
        "country_name": "Japanese",
        "persona": "a nurse from Spain",
        "situation": "A visitor has finished a meal in Osaka.",
        "question": question,
        "behaviour": "customers: leave a tip on the table",
        "topic": "Food and Dining",
    }


@pytest.mark.parametrize(("agreement", "label"), [(0, "no"), (0.4, "no"), ("0.6", "yes"), (1.0, "yes")])
def test_label_is_the_majority_of_comments(agreement: float | str, label: str) -> None:
    loaded = load_culturebank({"f": rows({"agreement": agreement})}, COUNTRIES)
    assert [i.label for i in loaded.items] == [label]
    assert label in LABELS["culturebank"]


def test_each_dropped_row_is_counted_by_reason() -> None:
    changes: list[dict[str, Any]] = [
        {},
        {"agreement": 0.5},
        {"agreement": 1.2},
        {"agreement": None},
        {"eval_question": " "},
        {"eval_persona": None},
        {"actor_behavior": float("nan")},
    ]
    loaded = load_culturebank({"f": [*rows(*changes), *rows({})]}, COUNTRIES)
    assert len(loaded.items) == 1
    missing = ("no_actor_behavior", "no_agreement", "no_eval_persona", "no_eval_question")
    assert loaded.dropped == dict.fromkeys((*missing, "duplicate", "invalid_agreement", "split_agreement"), 1)


def test_missing_actor_and_scenario_are_filled_from_context() -> None:
    (item,) = load_culturebank({"f": rows({"actor": None, "eval_scenario": None})}, COUNTRIES).items
    assert item.extra["behaviour"] == "people: leave a tip on the table"
    assert item.extra["situation"] == "in restaurants"
    nothing = dict.fromkeys(("eval_scenario", "context", "topic"))
    (bare,) = load_culturebank({"f": rows(nothing)}, COUNTRIES).items
    assert bare.question.startswith("Question 0?")
    assert not {"situation", "topic"} & set(bare.extra)


def test_group_that_is_not_a_country_is_kept_without_country() -> None:
    groups = ("Californian", "DUTCH", "American", "Korean", "Taiwanese")
    loaded = load_culturebank({"f": rows(*({"cultural group": group} for group in groups))}, COUNTRIES)
    assert [i.country for i in loaded.items] == [None, "NL", "US", "KR", "Taiwan"]
    assert loaded.items[0].extra["country_name"] == "Californian"


def test_item_ids_ignore_row_order_and_file() -> None:
    two = [ROW, ROW | {"actor_behavior": "bow"}]
    forwards = load_culturebank({"a": two[:1], "b": two[1:]}, COUNTRIES)
    backwards = load_culturebank({"c": two[::-1]}, COUNTRIES)
    assert [i.item for i in forwards.items] == [i.item for i in backwards.items][::-1]
    assert len({i.item for i in forwards.items}) == 2


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_csv_and_parquet_files_are_read(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"culturebank_tiktok.{suffix}"
    frame = pl.DataFrame(rows({}, {"agreement": 0.9}))
    frame.write_csv(path) if suffix == "csv" else frame.write_parquet(path)
    assert [i.label for i in load_culturebank({path.name: read_rows(path)}, COUNTRIES).items] == ["no", "yes"]
