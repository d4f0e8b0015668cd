"""The draw of items and nulls, and published files."""

from __future__ import annotations

import dataclasses
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tasks.evaluations.cure.params import BENCHMARKS, CureParams
from tasks.evaluations.cure.published import BenchmarkItem
from tasks.evaluations.cure.study import build_materials, build_study, country_of, draw, family
from tasks.identity import UnknownName
from tasks.packs.published import read_rows
from tests.evaluations.cure.conftest import MakeStudy, judge, tables

SHARED = Path(__file__).parents[4] / "shared" / "data"
NORMAD_ROW = {"country": "japan", "story": "S", "explanation": "E", "gold_label": "no", "rule_of_thumb": "R"}


def item(name: str, country: str) -> BenchmarkItem:
    return BenchmarkItem("normad", name, country, "", "q", "yes", "g")


def test_draw_keeps_the_share_of_countries() -> None:
    """Nine of ten items are Indian, so about nine of ten drawn items are: 90 +- 3 of 100."""
    items = [item(f"i{i}", "JP" if i % 10 == 0 else "IN") for i in range(1_000)]
    assert 80 <= sum(i.country == "IN" for i in draw(items, 100, "items")) <= 97


def test_draw_has_whole_pairs_ignores_order_and_grows() -> None:
    paired = [replace(item(f"i{i}", "IN"), extra={"pair": f"p{i // 2}"}) for i in range(20)]
    items = [*paired, *(item(f"j{i}", "JP") for i in range(10))]
    mixed = random.Random(1).sample(items, len(items))
    assert draw(mixed, None, "items") == tuple(sorted(items, key=lambda i: i.item))
    before: set[str] = set()
    for n in range(1, 30):
        drawn = draw(items, n, "items")
        assert drawn == draw(mixed, n, "items")
        assert n <= len(drawn) <= n + 1
        assert set(Counter(i.extra["pair"] for i in drawn if i.extra).values()) <= {2}
        assert before <= (before := {i.item for i in drawn})
    assert draw(items, 8, "items") != draw(items, 8, "nulls")


def test_nulls_are_drawn_from_the_judged_items(make_study: MakeStudy) -> None:
    study = make_study(nulls=2)
    n_drawn = {name: len(items) for name, items in study.chosen.with_nulls.items()}
    assert n_drawn == dict.fromkeys(BENCHMARKS, 2)
    casa = {i.item: i.extra["pair"] for i in study.items("casa")}
    assert len({casa[name] for name in study.chosen.with_nulls["casa"]}) == 1
    assert make_study(nulls=2).config_hash() != make_study(nulls=3).config_hash()
    # No benchmark has more than six.
    assert make_study(nulls=6).config_hash() == make_study(nulls=None).config_hash()


def test_items_have_pair_cues_country_and_question(make_study: MakeStudy) -> None:
    materials = make_study().chosen
    assert list(materials.items) == list(BENCHMARKS)
    (casa, *_) = materials.items["casa"]
    assert casa.extra["pair"] == "casa-x-in"
    assert casa.cues == ("x cloth", "x")
    assert "persona" not in casa.extra
    (specnorm, *_) = materials.items["specnorm"]
    assert specnorm.cues == ("ethnicity: group IN", "age: old")
    assert specnorm.extra["country_name"] == "India"
    assert specnorm.question == "What happens in specnorm-in-1. Is it right in specnorm-in-1?"


def test_items_of_some_countries_are_a_study_of_their_own(make_study: MakeStudy) -> None:
    study = make_study(benchmarks=["specnorm", "casa"], countries=["india"])
    assert {item.country for items in study.chosen.items.values() for item in items} == {"IN"}
    assert study.chosen.dropped == {"casa": {"other_country": 2}, "specnorm": {"other_country": 2}}
    assert study.config_hash() != make_study(benchmarks=["specnorm", "casa"]).config_hash()
    with pytest.raises(UnknownName, match="Atlantis"):
        make_study(countries=["Atlantis"])
    with pytest.raises(ValueError, match="benchmark casa has no item of France"):
        make_study(benchmarks=["casa"], countries=["France"])


def test_published_files_replace_the_shipped_items() -> None:
    params = CureParams(models=["m"], benchmarks=["normad"], files={"normad": "n.csv"})
    assert params.files == {"normad": ["n.csv"]}
    rows = [NORMAD_ROW, NORMAD_ROW | {"country": "atlantis"}, NORMAD_ROW | {"gold_label": "maybe"}]
    materials = build_materials(params, tables(), {"normad": {"n.csv": rows}})
    assert {country_of(i) for i in materials.items["normad"]} == {"JP", "atlantis"}
    assert materials.dropped == {"normad": {"invalid_gold_label": 1, "unknown_country": 1}}


@pytest.mark.skipif(not SHARED.exists(), reason="the published CASA files are not here")
def test_published_casa_draws_equal_labels() -> None:
    paths = sorted(str(p) for p in SHARED.glob("casa_s1_*.json"))
    params = CureParams(models=["m"], benchmarks=["casa"], files={"casa": paths}, items_per_benchmark=34)
    materials = build_materials(params, tables(), {"casa": {path: read_rows(path) for path in paths}})
    assert Counter(i.label for i in materials.items["casa"]) == {"yes": 17, "no": 17}
    assert {i.label for i in materials.items["casa"] if not i.not_judged} == {"no"}


def test_benchmark_without_items_is_refused() -> None:
    with pytest.raises(ValueError, match="benchmark casa has no items"):
        build_materials(CureParams(models=["m"], benchmarks=["casa"]), tables() | {"cure_item": []}, {})


def test_family_is_country_pair_rule_or_gold(make_study: MakeStudy) -> None:
    by_name = {i.item: i for items in make_study().chosen.items.values() for i in items}
    assert family(by_name["casa-x-in-adhere"]) & family(by_name["casa-x-in-violate"])
    assert not family(by_name["casa-x-in-adhere"]) & family(by_name["casa-y-jp-adhere"])
    # The same topic, and the same specificity, make no family.
    assert not family(by_name["normad-f0-in"]) & family(by_name["normad-f1-jp"])
    assert not family(by_name["specnorm-in-1"]) & family(by_name["specnorm-jp-1"])
    a, b = (BenchmarkItem("normad", n, c, "", "q", "yes", n, extra={"rule": "R"}) for n, c in ("aI", "bJ"))
    assert family(a) & family(b) == {("rule", "R")}


ANOTHER_GOLD = tables()
ANOTHER_GOLD["cure_item"][0] |= {"gold": "Another norm."}


@pytest.mark.parametrize(
    "wrong",
    [
        {"models": []},
        {"benchmarks": []},
        {"benchmarks": ["dailydilemmas"]},
        {"modes": ["thinner"]},
        {"judge_samples": 0},
        {"files": {"mmlu": "a.csv"}},
        {"judge": "m"},
    ],
)
def test_invalid_params_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        CureParams(**({"models": ["m"]} | wrong))


@pytest.mark.parametrize(
    ("params", "changes"),
    [
        ({"benchmarks": ["normad"]}, True),
        ({"items_per_benchmark": 2}, True),
        ({"judges": ()}, True),
        ({"judges": (judge("k"),)}, True),
        ({"rows": ANOTHER_GOLD}, True),
        ({"benchmarks": ["specnorm", "culturebank", "casa", "normad"]}, False),
        ({"modes": ["thick", "thin"]}, False),
        ({"judges": (dataclasses.replace(judge(), name="the same engine"),)}, False),
    ],
)
def test_config_hash_has_items_and_judges(
    make_study: MakeStudy, params: dict[str, Any], changes: bool
) -> None:
    assert (make_study(**params).config_hash() != make_study().config_hash()) == changes


def test_judge_named_twice_is_refused(make_study: MakeStudy) -> None:
    twice = {"j": judge(), "./j.toml": judge()}
    with pytest.raises(ValueError, match="j is named twice"):
        build_study(CureParams(models=["m"], judges=list(twice)), tables(), {}, twice)
    with pytest.raises(ValueError, match="j is named twice"):
        build_study(CureParams(models=["m"], judges=["j", "j"]), tables(), {}, {"j": judge()})
