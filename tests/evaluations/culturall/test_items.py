"""Items of a table and of published files: dropped rows with their reasons, and the draw."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path

import pytest

from tasks.data import TableError
from tasks.evaluations.culturall.items import ItemTexts, choose, load_items
from tasks.packs.published import read_rows
from tests.data.workbooks import write_xlsx
from tests.evaluations.culturall.conftest import OPTIONS, ROWS, Row

PUBLISHED: Row = {
    "language": "ZH", "region": "uk", "topic": "food", "scenario": "一", "question": f"哪个？{OPTIONS}",
    "answer": "(b)", "explanation": "", "eval_sum": "9",
}  # fmt: skip


def test_table_row_becomes_an_item() -> None:
    second = load_items(ROWS, "culturall_item").items[1]
    assert (second.item, second.language, second.region, second.topic) == ("a2", "es", "MX", "Pets")
    assert second.accepted == ("7", "seven", "VII")
    assert second.texts("native") == ItemTexts("Case of a2.", "How many, a2?", "7", "Why a2.")
    assert second.texts("english") == ItemTexts("EN Case of a2.", "EN How many, a2?", "7", "EN Why a2.")
    assert (second.status, second.solved, second.form) == ("not checked by people", None, "free")


@pytest.mark.parametrize("suffix", [".xlsx", ".csv", ".json"])
def test_published_files_of_every_format_give_equal_items(suffix: str, tmp_path: Path) -> None:
    rows = [PUBLISHED, PUBLISHED | {"scenario": "二", "answer": "24元", "eval_sum": "15"}]
    path = tmp_path / f"annotated_data{suffix}"
    if suffix == ".xlsx":
        write_xlsx(path, [list(PUBLISHED), *(list(row.values()) for row in rows)])
    elif suffix == ".csv":
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(PUBLISHED))
            writer.writeheader()
            writer.writerows(rows)
    else:
        path.write_text(json.dumps([row | {"eval_sum": int(row["eval_sum"])} for row in rows]))
    loaded = load_items(read_rows(path), str(path))
    assert loaded.hash() == load_items(rows, "given").hash()
    first, second = sorted(loaded.items, key=lambda item: item.form)
    assert (first.language, first.region, first.topic, first.form) == ("zh", "GB", "Food", "choice")
    assert (first.native.answer, first.solved, first.status) == ("B", 9, "published")
    assert (second.native.answer, second.solved, second.english) == ("24元", 15, None)


def test_dropped_rows_are_counted_and_unusable_files_refused() -> None:
    bad: list[Row] = [
        PUBLISHED | {"scenario": " "},
        PUBLISHED | {"region": "USA"},
        PUBLISHED | {"topic": "Weather"},
        PUBLISHED | {"form": "choice", "question": "A or B?", "scenario": "三"},
        PUBLISHED,
        PUBLISHED | {"scenario": "四"},
        PUBLISHED | {"scenario": "四", "answer": "C"},
    ]
    loaded = load_items([PUBLISHED, *bad], "f.csv")
    assert [item.native.scenario for item in loaded.items] == ["一"]
    assert loaded.dropped == {
        "contradiction": 2, "duplicate": 1, "invalid_region": 1, "no_options": 1, "no_scenario": 1,
        "unknown_topic": 1,
    }  # fmt: skip
    with pytest.raises(TableError, match="expected the columns language, region, topic, scenario"):
        load_items([{"prompt": "x"}], "f.csv")
    with pytest.raises(ValueError, match=r"f.csv: no row is an item \(\{'unknown_topic': 1\}\)"):
        load_items([PUBLISHED | {"topic": "Weather"}], "f.csv")
    with pytest.raises(ValueError, match="same identifier"):
        load_items([ROWS[0], ROWS[1] | {"item": "a1"}], "f.csv")


def test_item_hash_ignores_status_and_source() -> None:
    checked = [row | {"status": "checked by two people", "source": "us"} for row in ROWS]
    assert load_items(checked, "t").hash() == load_items(ROWS[::-1], "t").hash()
    other = [ROWS[0] | {"variants": "two dozen"}, *ROWS[1:]]
    assert load_items(other, "t").hash() != load_items(ROWS, "t").hash()


def test_draw_is_spread_over_regions_and_grows() -> None:
    loaded = load_items(ROWS, "t")
    one, two = (choose(loaded, [], [], [], n) for n in (1, 2))
    assert Counter(item.language for item in one.items) == {"es": 1, "ja": 1}
    assert set(one.items) < set(two.items)
    assert {item.region for item in two.items if item.language == "es"} == {"MX", "PE"}
    assert one.dropped == {"not_chosen": 6}
    assert choose(load_items(ROWS[::-1], "t"), [], [], [], 1).items == one.items
    assert [item.item for item in choose(loaded, ["es"], [], ["Pets"], None).items] == ["a2"]


def test_unknown_slices_are_refused_with_known_names() -> None:
    loaded = load_items(ROWS, "t")
    with pytest.raises(ValueError, match="no item has language xx; known: es, ja"):
        choose(loaded, ["xx"], [], [], None)
    with pytest.raises(ValueError, match="in all the named slices"):
        choose(loaded, ["es"], ["JP"], [], None)
