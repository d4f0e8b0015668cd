"""CASA's pairs of files: the join, what is dropped, and the real files where they are."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scrapers.countries import CountryCodes
from tasks.data import TableError
from tasks.evaluations.cure.published import NO_SYMBOL, UNDESCRIBED, load_casa, without_symbol
from tasks.packs.published import read_rows

REAL = Path(__file__).parents[5] / "shared" / "data"
COUNTRIES = CountryCodes({"Saudi Arabia": "SA", "U.S.": "US"})
EVERYWHERE = CountryCodes(
    {row["name"]: row["country"] for row in read_rows("warehouse/reference/country.csv")}
)
ADHERE, VIOLATE = "casa_s1_adhere_forum.json", "casa_s1_violate_forum.json"


def row(index: str, **cells: str) -> dict[str, str]:
    """Return one row of a violate file."""
    query = {"user_query": f"I'll break it ({index}).", "violated_norm": "A norm."}
    return {"index": index, "verification_result_gpt4o": "Yes ## ..."} | query | cells


def refined(index: str, **cells: str) -> dict[str, str]:
    """Return one row of an adhere file."""
    return row(index, refined_user_query=f"I’ll keep it ({index}).") | cells


def _one_pair() -> dict[str, list[dict[str, Any]]]:
    return {ADHERE: [refined("U.S._1")], VIOLATE: [row("U.S._1")]}


def test_a_pair_gives_an_adhering_and_a_violating_item(tmp_path: Path) -> None:
    (tmp_path / ADHERE).write_text(json.dumps([refined("Saudi_Arabia_14", violated_norm="Disregarding.")]))
    (tmp_path / VIOLATE).write_text(json.dumps([row("Saudi_Arabia_14")]))
    loaded = load_casa({str(path): read_rows(path) for path in tmp_path.iterdir()}, COUNTRIES)
    adhere, violate = loaded.items
    assert adhere.item == f"{adhere.extra['pair']}/adhere"
    assert violate.item == f"{adhere.extra['pair']}/violate"
    assert adhere.extra["pair"].startswith("Saudi_Arabia_14/")
    assert (adhere.label, violate.label) == ("yes", "no")
    # Both with straight apostrophes: in the release only adhering texts have typographic ones.
    assert adhere.question == "I'll keep it (Saudi_Arabia_14)."
    assert violate.question == "I'll break it (Saudi_Arabia_14)."
    for item in (adhere, violate):
        assert (item.benchmark, item.country, item.group, item.gold) == ("casa", "SA", "forum", "A norm.")
        of_pair = {"country_name": "Saudi Arabia", "pair": adhere.extra["pair"], "rule": "A norm."}
        assert item.extra == of_pair
    assert loaded.dropped == {}


def test_adhering_query_is_judged_only_if_its_symbol_is_described() -> None:
    """The violated norm does not describe the symbol of the adhering query."""
    files = {
        ADHERE: [refined("U.S._1"), refined("U.S._2", symbol="What the other present means.")],
        VIOLATE: [row("U.S._1"), row("U.S._2")],
    }
    items = load_casa(files, COUNTRIES).items
    judged = {(i.item.split("/")[0], i.label): (i.gold, i.not_judged) for i in items}
    assert judged == {
        ("U.S._1", "yes"): ("A norm.", UNDESCRIBED),
        ("U.S._1", "no"): ("A norm.", ""),
        ("U.S._2", "yes"): ("What the other present means.", ""),
        ("U.S._2", "no"): ("A norm.", ""),
    }


@pytest.mark.parametrize(
    ("query", "symbols", "holds"),
    [
        ("I hold up my open hands.", ["open hand (moutza)"], True),
        ("I hold up my hand.", ["open hand"], False),
        ("A diary bound in silk.", ["cow"], False),
        ("A bouquet of Cempasúchil.", ["marigold", "cempasuchil"], True),
        ("The cowboy film.", ["cow"], False),
        ("A query without a symbol that is named.", [], True),
    ],
)
def test_symbol_is_matched_by_whole_words(query: str, symbols: list[str], holds: bool) -> None:
    assert without_symbol(query, symbols) == ("" if holds else NO_SYMBOL)


def test_each_dropped_row_is_counted_by_reason() -> None:
    files = {
        ADHERE: [
            refined("U.S._1"),
            refined("U.S._1", refined_user_query="Again."),
            refined("U.S._2"),
            refined("U.S._3", user_query="Another text."),
            refined("U.S._4", refined_user_query="I’ll break it, (U.S._4)"),
            refined("U.S._5", refined_user_query=" "),
            refined("14"),
        ],
        VIOLATE: [row(f"U.S._{n}") for n in (1, 1, 1, 3, 4, 5, 6)],
    }
    loaded = load_casa(files, COUNTRIES)
    assert [i.item.split("/")[0::2] for i in loaded.items] == [["U.S._1", "adhere"], ["U.S._1", "violate"]]
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


def test_equal_index_in_two_subsets_makes_two_pairs() -> None:
    shop = {
        ADHERE.replace("forum", "shopping"): [refined("U.S._1", user_query="Where do I haggle?")],
        VIOLATE.replace("forum", "shopping"): [row("U.S._1", user_query="Where do I haggle?")],
    }
    loaded = load_casa(_one_pair() | shop, CountryCodes({}))
    assert Counter(i.group for i in loaded.items) == {"forum": 2, "shopping": 2}
    assert len({i.item for i in loaded.items}) == 4
    assert [i.extra["country_name"] for i in loaded.items if not i.country] == ["U.S."] * 4


def test_files_are_recognised_by_columns_not_names() -> None:
    named = load_casa(_one_pair(), COUNTRIES).items
    renamed = load_casa({"one.json": _one_pair()[VIOLATE], "other.json": _one_pair()[ADHERE]}, COUNTRIES)
    assert [replace(item, group="forum") for item in renamed.items] == list(named)
    swapped = {ADHERE: _one_pair()[VIOLATE], VIOLATE: _one_pair()[ADHERE]}
    assert [i.item for i in load_casa(swapped, COUNTRIES).items] == [i.item for i in named]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({ADHERE: [refined("U.S._1")]}, "no file is of the violate side"),
        ({"pairs.json": [row("U.S._1")]}, "no file is of the adhere side"),
        (_one_pair() | {VIOLATE: [{"text": "x"}]}, r"index, user_query, violated_norm, found"),
    ],
)
def test_files_that_cannot_be_paired_are_refused(files: dict[str, Any], message: str) -> None:
    with pytest.raises(TableError, match=message):
        load_casa(files, COUNTRIES)


@pytest.mark.skipif(not REAL.is_dir(), reason="the released files are not part of the repository")
def test_released_files_join_without_loss() -> None:
    loaded = load_casa({str(path): read_rows(path) for path in REAL.glob("casa_s1_*.json")}, EVERYWHERE)
    assert len(loaded.items) == 620
    assert loaded.dropped == {}
    assert Counter(i.label for i in loaded.items) == {"yes": 310, "no": 310}
    assert len({i.extra["country_name"] for i in loaded.items}) == 17
    assert all(i.country for i in loaded.items)
    assert len({i.country for i in loaded.items}) == 17
    assert not any(mark in i.question for i in loaded.items for mark in "‘’“”")
