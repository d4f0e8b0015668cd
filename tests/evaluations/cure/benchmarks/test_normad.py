"""NormAd's published columns, from a small file in their format."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from scrapers.countries import CountryCodes
from tasks.evaluations.cure.benchmarks import load_normad
from tasks.packs.published import BenchmarkError, read_rows

COLUMNS = (
    "ID",
    "Country",
    "Background",
    "Axis",
    "Subaxis",
    "Value",
    "Rule-of-Thumb",
    "Story",
    "Explanation",
    "Gold Label",
)
COUNTRIES = CountryCodes({"egypt": "EG", "the United States of America": "US"})
VISIT = {
    "ID": "1",
    "Country": "egypt",
    "Background": "### Visiting\n- Guests bring sweets.",
    "Axis": "etiquette",
    "Subaxis": "visiting",
    "Value": "Hospitality",
    "Rule-of-Thumb": "Bring sweets.",
    "Story": "Omar came with a box of basbousa.",
    "Explanation": "Guests bring sweets, as Omar did.",
    "Gold Label": "yes",
}


def published(path: Path, *rows: dict[str, str], lower: bool = False) -> dict[str, list[dict[str, str]]]:
    """The rows, written as the release is and read back, by file name."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([name.lower() if lower else name for name in COLUMNS])
        writer.writerows([row[name] for name in COLUMNS] for row in rows)
    return {path.name: read_rows(path)}


def test_a_row_becomes_an_item(tmp_path: Path) -> None:
    (item,) = load_normad(published(tmp_path / "n.csv", VISIT), COUNTRIES).items
    assert (item.benchmark, item.country, item.group, item.label) == ("normad", "EG", "visiting", "yes")
    assert item.question == VISIT["Story"]
    assert item.gold == VISIT["Explanation"]
    assert item.cues == ()
    assert item.extra == {
        "country_name": "egypt",
        "background": VISIT["Background"],
        "value": "Hospitality",
        "rule": "Bring sweets.",
    }


def test_items_do_not_depend_on_order_case_or_optional_columns(tmp_path: Path) -> None:
    other = VISIT | {"Country": "united_states_of_america", "Story": "Ann came.", "Gold Label": "Neutral"}
    bare = dict.fromkeys(("ID", "Background", "Axis", "Subaxis", "Value", "Rule-of-Thumb"), "")
    first = load_normad(published(tmp_path / "a.csv", VISIT, other), COUNTRIES).items
    second = load_normad(
        published(tmp_path / "b.csv", other | bare, VISIT | bare, lower=True), COUNTRIES
    ).items
    assert [i.item for i in first] == [i.item for i in reversed(second)]
    assert len({i.item for i in first}) == 2
    assert (second[0].country, second[0].label, second[0].group) == ("US", "neutral", "")
    assert second[0].extra == {"country_name": "united states of america"}


def test_drops_and_unknown_countries_are_reported(tmp_path: Path) -> None:
    rows = [
        VISIT,
        VISIT | {"ID": "2", "Country": "Egypt "},
        VISIT | {"Country": "ruritania"},
        VISIT | {"Gold Label": "maybe"},
        VISIT | {"Story": ""},
    ]
    loaded = load_normad(published(tmp_path / "n.csv", *rows), COUNTRIES)
    assert [i.country for i in loaded.items] == ["EG", None]
    assert loaded.dropped == {"duplicate": 1, "invalid_gold_label": 1, "no_story": 1}
    assert [i.extra["country_name"] for i in loaded.items if not i.country] == ["ruritania"] * 1


def test_places_that_are_none_of_ours_are_regions_of_their_own(tmp_path: Path) -> None:
    names = ["united_states_of_america", "hong_kong", "taiwan", "palestinian_territories", "samoa", "tonga"]
    rows = [VISIT | {"Country": name} for name in names]
    loaded = load_normad(published(tmp_path / "n.csv", *rows), COUNTRIES)
    regions = ["US", "Hong Kong", "Taiwan", "Palestine", "Samoa", "Tonga"]
    assert [i.country for i in loaded.items] == regions
    assert all(i.country for i in loaded.items)


def test_a_story_with_contradictory_labels_is_not_kept(tmp_path: Path) -> None:
    rows = [VISIT, VISIT | {"Story": "Other."}, VISIT | {"ID": "9", "Gold Label": "no"}]
    loaded = load_normad(published(tmp_path / "n.csv", *rows), COUNTRIES)
    assert [i.question for i in loaded.items] == ["Other."]
    assert loaded.dropped == {"contradiction": 2}


def test_another_file_is_refused() -> None:
    with pytest.raises(
        BenchmarkError, match="expected the columns country, story, explanation, gold_label, found"
    ):
        load_normad({"x.csv": [{"text": "a"}]}, COUNTRIES)
