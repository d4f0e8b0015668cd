"""NormAd's published columns, from a small file in their format."""

from __future__ import annotations

import csv
from pathlib import Path

from scrapers.countries import CountryCodes
from tasks.evaluations.cure.published import load_normad
from tasks.packs.published import read_rows

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
    """Return the rows, written as the release is and read back, by file name."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([name.lower() if lower else name for name in VISIT])
        writer.writerows([row[name] for name in VISIT] for row in rows)
    return {path.name: read_rows(path)}


def test_a_published_row_becomes_an_item(tmp_path: Path) -> None:
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


def test_items_ignore_row_order_case_and_optional_columns(tmp_path: Path) -> None:
    other = VISIT | {"Country": "united_states_of_america", "Story": "Ann came.", "Gold Label": "Neutral"}
    bare = dict.fromkeys(("ID", "Background", "Axis", "Subaxis", "Value", "Rule-of-Thumb"), "")
    first = load_normad(published(tmp_path / "a.csv", VISIT, other), COUNTRIES).items
    files = published(tmp_path / "b.csv", other | bare, VISIT | bare, lower=True)
    second = load_normad(files, COUNTRIES).items
    assert [i.item for i in first] == [i.item for i in reversed(second)]
    assert len({i.item for i in first}) == 2
    assert (second[0].country, second[0].label, second[0].group) == ("US", "neutral", "")
    assert second[0].extra == {"country_name": "united states of america"}


def test_dropped_rows_are_counted_and_unknown_countries_kept(tmp_path: Path) -> None:
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
    assert loaded.items[1].extra["country_name"] == "ruritania"


def test_places_outside_the_country_table_are_regions_of_their_own(tmp_path: Path) -> None:
    names = ["united_states_of_america", "hong_kong", "taiwan", "palestinian_territories", "samoa", "tonga"]
    rows = [VISIT | {"Country": name} for name in names]
    loaded = load_normad(published(tmp_path / "n.csv", *rows), COUNTRIES)
    regions = ["US", "Hong Kong", "Taiwan", "Palestine", "Samoa", "Tonga"]
    assert [i.country for i in loaded.items] == regions
