"""CASA's pairs of files: the join, what is dropped, and the real files where they are."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tasks.evaluations.cure.benchmarks import casa
from tasks.evaluations.cure.benchmarks.common import BenchmarkError, read_rows

REAL = Path(__file__).parents[5] / "shared" / "data"
COUNTRIES = {"Saudi Arabia": "SA", "U.S.": "US"}
ADHERE, VIOLATE = "casa_s1_adhere_forum.json", "casa_s1_violate_forum.json"


def row(index: str, **cells: str) -> dict[str, str]:
    """One row of a violate file."""
    query = {"user_query": f"I'll break it ({index}).", "violated_norm": "A norm."}
    return {"index": index, "verification_result_gpt4o": "Yes ## ..."} | query | cells


def refined(index: str, **cells: str) -> dict[str, str]:
    """One row of an adhere file."""
    return row(index, refined_user_query=f"I’ll keep it ({index}).") | cells


def test_a_pair_gives_an_adhering_and_a_violating_item(tmp_path: Path) -> None:
    rows = {
        ADHERE: [refined("Saudi_Arabia_14", violated_norm="Disregarding a norm.")],
        VIOLATE: [row("Saudi_Arabia_14")],
    }
    for name, content in rows.items():
        (tmp_path / name).write_text(json.dumps(content))
    loaded = casa.load({str(path): read_rows(path) for path in tmp_path.iterdir()}, COUNTRIES)
    adhere, violate = loaded.items
    assert adhere.item == "forum/Saudi_Arabia_14/adhere"
    assert violate.item == "forum/Saudi_Arabia_14/violate"
    assert (adhere.label, violate.label) == ("yes", "no")
    # Both with straight apostrophes: in the release only adhering texts have typographic ones.
    assert adhere.question == "I'll keep it (Saudi_Arabia_14)."
    assert violate.question == "I'll break it (Saudi_Arabia_14)."
    for item in (adhere, violate):
        assert (item.benchmark, item.country, item.group, item.gold) == ("casa", "SA", "forum", "A norm.")
        assert item.extra == {
            "country_name": "Saudi Arabia",
            "pair": "forum/Saudi_Arabia_14",
            "rule": "A norm.",
        }
    assert loaded.dropped == {}


def test_every_row_that_is_left_out_is_counted() -> None:
    files = {
        ADHERE: [
            refined("U.S._1"),
            refined("U.S._1", refined_user_query="Again."),
            refined("U.S._2"),
            refined("U.S._3", user_query="Another text."),
            refined("U.S._4", refined_user_query="I'll break it (U.S._4)."),
            refined("U.S._5", refined_user_query=" "),
            refined("14"),
        ],
        VIOLATE: [row(f"U.S._{n}") for n in (1, 1, 1, 3, 4, 5, 6)],
    }
    loaded = casa.load(files, COUNTRIES)
    assert [i.item for i in loaded.items] == ["forum/U.S._1/adhere", "forum/U.S._1/violate"]
    assert [i.country for i in loaded.items] == ["US", "US"]
    assert loaded.items[0].question == "I'll keep it (U.S._1)."
    assert loaded.dropped == {
        "different_query": 2,  # U.S._3, a row on each side
        "duplicate_adhere": 1,  # U.S._1 again
        "duplicate_violate": 2,
        "invalid_index": 1,  # 14
        "no_refined_user_query": 1,  # U.S._5 of the adhere file, so its violating row is unmatched
        "unchanged_query": 2,  # U.S._4
        "unmatched_adhere": 1,  # U.S._2
        "unmatched_violate": 2,  # U.S._5 and U.S._6
    }
    n_rows = sum(len(rows) for rows in files.values())
    assert len(loaded.items) + sum(loaded.dropped.values()) == n_rows


def test_the_same_index_in_two_subsets_is_two_pairs() -> None:
    shop = {name.replace("forum", "shopping"): rows for name, rows in _one_pair().items()}
    loaded = casa.load(_one_pair() | shop, {})
    assert Counter(i.group for i in loaded.items) == {"forum": 2, "shopping": 2}
    assert len({i.item for i in loaded.items}) == 4
    assert loaded.unknown_countries == {"U.S.": 4}


def test_files_that_cannot_be_paired_are_refused() -> None:
    with pytest.raises(BenchmarkError, match=r"there is no violate file among casa_s1_adhere_forum\.json"):
        casa.load({ADHERE: [refined("U.S._1")]}, COUNTRIES)
    with pytest.raises(BenchmarkError, match=r"pairs\.json: the name must hold adhere_<subset>"):
        casa.load({"pairs.json": [row("U.S._1")]}, COUNTRIES)
    with pytest.raises(BenchmarkError, match=r"index, user_query, violated_norm, refined_user_query, found"):
        casa.load(_one_pair() | {ADHERE: [row("U.S._1")]}, COUNTRIES)


@pytest.mark.skipif(not REAL.is_dir(), reason="the released files are not part of the repository")
def test_the_released_files_join_without_loss() -> None:
    loaded = casa.load({str(path): read_rows(path) for path in REAL.glob("casa_s1_*.json")}, COUNTRIES)
    assert len(loaded.items) == 620
    assert loaded.dropped == {}
    assert Counter(i.label for i in loaded.items) == {"yes": 310, "no": 310}
    assert len({i.extra["country_name"] for i in loaded.items}) == 17
    assert Counter(i.country for i in loaded.items) == {None: 524, "US": 58, "SA": 38}
    assert not any(mark in i.question for i in loaded.items for mark in "‘’“”")


def _one_pair() -> dict[str, list[dict[str, Any]]]:
    return {ADHERE: [refined("U.S._1")], VIOLATE: [row("U.S._1")]}
