"""Seeds from rows: generic values give no cues, key cues come first, dropped rows are counted."""

from __future__ import annotations

from typing import Any

import pytest

from scrapers.countries import CountryCodes
from tasks.builders.specnorm.seeds import load_seeds
from tasks.evaluations.cure.benchmarks.cues import join_cues
from tasks.packs.published import BenchmarkError

COUNTRIES = CountryCodes({"Kenya": "KE", "the Gambia": "GM"})
ROW: dict[str, Any] = {"statement": "Children greet elders first.", "country": "Kenya", "ethnicity": "Maasai"}


def test_generic_values_give_no_cues() -> None:
    generic = {"region": "Kenya", "gender": "all genders", "religion": None}
    row = ROW | generic | {"age": "child", "topic": "greeting"}
    (seed,) = load_seeds({"f": [row]}, COUNTRIES).seeds
    assert join_cues(seed.cues) == "ethnicity: Maasai|age: child"
    assert (seed.country, seed.country_name, seed.topic) == ("KE", "Kenya", "greeting")
    assert seed.has_key_cue


def test_seeds_with_key_cues_come_first() -> None:
    young = {"statement": "The young stand up.", "country": "Kenya", "age": "young"}
    wives = {"statement": "Wives cover their hair.", "country": "Kenya", "marital_status": "married"}
    loaded = load_seeds({"f": [young, ROW, wives]}, COUNTRIES)
    assert [s.statement for s in loaded.seeds] == [ROW["statement"], young["statement"], wives["statement"]]
    assert [s.has_key_cue for s in loaded.seeds] == [True, False, False]


def test_dropped_rows_are_counted_by_reason() -> None:
    same = {"statement": "  children GREET elders first. "}
    rows = [ROW, ROW | same, ROW | {"ethnicity": "people"}, ROW | {"statement": None}]
    loaded = load_seeds({"f": rows, "again": [ROW]}, COUNTRIES)
    assert len(loaded.seeds) == 1
    assert loaded.dropped == {"duplicate": 2, "no_cue": 1, "no_statement": 1}


def test_country_and_subgroup_identify_a_seed() -> None:
    rows = [ROW, ROW | {"ethnicity": "Samburu"}, ROW | {"country": "Gambia"}]
    seeds = load_seeds({"f": rows}, COUNTRIES).seeds
    assert len({seed.seed for seed in seeds}) == 3
    assert [seed.country for seed in seeds] == ["KE", "KE", "GM"]
    (coded,) = load_seeds({"f": [ROW | {"country": "KE", "country_name": "Kenya"}]}, COUNTRIES).seeds
    assert coded == seeds[0]
    (unknown,) = load_seeds({"f": [ROW | {"country": "Atlantis", "region": "atlantis"}]}, COUNTRIES).seeds
    assert (unknown.country, unknown.country_name) == (None, "Atlantis")
    assert join_cues(unknown.cues) == "ethnicity: Maasai"


def test_file_with_other_columns_is_refused() -> None:
    with pytest.raises(BenchmarkError, match="expected the columns statement, country"):
        load_seeds({"f": [{"norm": "x"}]}, COUNTRIES)
