"""Selection of items: ``limit`` spreads them over clusters; slices; each item once."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from deployments.cli.choices import completed, form, labelled
from deployments.evaluations import evaluation, params
from flows.session import build
from tasks.evaluations.choosing import distinct, of_slices
from tasks.evaluations.contract import comparable
from tasks.loop.spread import share, spread

ITEMS = [f"{cluster}{n}" for cluster in "abc" for n in range(5)]


@pytest.mark.parametrize("n", [1, 3, 4, 7, 15, 99])
def test_limited_items_are_spread_over_clusters_and_nested(n: int) -> None:
    few = spread(ITEMS, n, str, lambda item: item[0])
    assert len(few) == min(n, 15)
    assert few == sorted(few, key=ITEMS.index)
    counts = Counter(item[0] for item in few).values()
    assert max(counts) - (min(counts) if len(counts) == 3 else 0) <= 1
    assert set(few) <= set(spread(ITEMS, n + 1, str, lambda item: item[0]))
    assert sorted(few) == sorted(spread(ITEMS[::-1], n, str, lambda item: item[0]))


def test_share_is_rounded_up_within_its_own_limit() -> None:
    assert share(None, 3) is None
    assert [share(7, 3), share(7, 3, 2), share(1, 3, least=2), share(None, 3, 4)] == [3, 2, 2, 4]


def studied(name: str, **more: Any) -> Any:
    return build(evaluation(name), params(name)(models=["fake-a"], **more))[0]


@pytest.mark.nets(2)
@pytest.mark.usefixtures("warehouse")
@pytest.mark.parametrize(
    ("name", "more", "count"),
    [
        ("spectral", {}, lambda study: max(len(each.items) for each in study.lists.values())),
        ("fmlama", {"word_vectors": "{files}"}, lambda study: len(study.probes[0].dishes)),
        ("cure", {}, lambda study: sum(map(len, study.chosen.items.values()))),
        ("worldwise", {"embedder": "{files}"}, lambda study: len(study.content.scenarios)),
        ("culturall", {}, lambda study: len(study.items)),
        ("explication", {"simulator": "fake-b"}, lambda study: len(study.personas)),
    ],
)
def test_each_evaluation_takes_a_limit(name: str, more: dict[str, Any], count: Any, home: Path) -> None:
    (home / "words.vec").write_text("1 2\nword 1 2\n")
    more = {knob: value.replace("{files}", str(home / "words.vec")) for knob, value in more.items()}
    whole, few = studied(name, **more), studied(name, **more, limit=6)
    n_whole, n_few = count(whole), count(few)
    assert n_few < n_whole
    assert n_few <= 9  # equal shares are rounded up (8 of four benchmarks), and a family of three stays whole
    assert comparable(few) != comparable(whole)
    assert comparable(studied(name, **more, limit=10**6)) == comparable(whole)


def test_limit_is_part_of_the_label_and_forms_begin_with_models_and_profile() -> None:
    assert labelled({"profile": "demo"}, {"limit": 5})["profile"] == "demo limit 5"
    assert labelled({"profile": "demo"}, {})["profile"] == "demo"
    filled = form("cure").model_validate({"limit": 5, "profile": "smoke"})
    assert completed("cure", filled).label == "smoke limit 5"
    properties = form("cure").model_json_schema()["properties"]
    assert list(properties)[:2] == ["models", "profile"]
    assert "(smoke: 2;" in properties["items_per_benchmark"]["description"]


NAMED = ["es MX Food", "es PE Pets", "ja JP Food"]
KINDS = ("language", "region", "topic")


def value(item: str, kind: str) -> str:
    return item.split()[KINDS.index(kind)]


def test_repeated_items_are_one_and_contradicting_ones_dropped() -> None:
    read = [("a", 1), ("b", 2), ("a", 1), ("c", 3), ("b", 4), ("a", 1)]
    items, dropped = distinct(read, lambda item: item[0], lambda item: item[1])
    assert items == [("a", 1), ("c", 3)]
    assert dropped == {"duplicate": 2, "contradiction": 2}
    assert distinct([], str, str) == ([], {"duplicate": 0, "contradiction": 0})


def test_items_match_all_named_slices() -> None:
    assert of_slices(NAMED, {"language": [], "topic": []}, value) == tuple(NAMED)
    assert of_slices(NAMED, {"language": ["es"], "topic": ["Food", "Pets"]}, value) == tuple(NAMED[:2])


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"region": ["MX", "XX"]}, "no item has region XX; known: JP, MX, PE"),
        ({"language": ["ja"], "topic": ["Pets"]}, "no item is in all the named slices"),
    ],
)
def test_slice_without_items_is_refused_with_known_values(wanted: dict[str, list[str]], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        of_slices(NAMED, wanted, value)
