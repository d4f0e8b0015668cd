"""Seeds from rows, and their choice compared with a plain greedy search and its guarantees."""

from __future__ import annotations

import math
from collections import Counter
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapers.countries import CountryCodes
from tasks.builders.specnorm.seeds import Seed, load_seeds, select
from tasks.data import TableError
from tasks.evaluations.cure.published.cues import KINDS, Cue, join_cues

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
    with pytest.raises(TableError, match="expected the columns statement, country"):
        load_seeds({"f": [{"norm": "x"}]}, COUNTRIES)


WORDS = ("tea", "shoes", "elders", "bread", "river", "song", "market", "silver", "winter", "kneel")


def make(number: int, country: str, kinds: tuple[str, ...], topic: str, statement: str = "") -> Seed:
    """Return a seed whose statement shares few words with others."""
    text = statement or f"{WORDS[number % 10] * 3} {WORDS[(number * 7 + 3) % 10]}{number * 7919}"
    return Seed(f"s{number}", text, country, country, tuple(Cue(kind, "x") for kind in kinds), topic)


def objective(seeds: list[Seed]) -> float:
    """Return the objective F by counting, without numpy."""
    counts = Counter(("country", s.country) for s in seeds)
    counts += Counter(("kind", cue.kind) for s in seeds for cue in s.cues)
    counts += Counter(("topic", s.topic) for s in seeds if s.topic)
    return sum(math.sqrt(n) for n in counts.values())


KIND_SETS = st.lists(st.sampled_from(KINDS), min_size=1, max_size=4, unique=True).map(tuple)


@st.composite
def pools(draw: st.DrawFn) -> list[Seed]:
    drawn = draw(
        st.lists(st.tuples(st.sampled_from("ABCD"), KIND_SETS, st.sampled_from(["", "p", "q"])), max_size=12)
    )
    return [make(number, country, kinds, topic) for number, (country, kinds, topic) in enumerate(drawn)]


@settings(max_examples=20, deadline=None)
@given(pools(), st.integers(0, 14), st.randoms(use_true_random=False), st.integers(0, 5))
def test_smaller_choice_is_the_start_of_a_larger_one_in_any_order(
    pool: list[Seed], n: int, random: Random, seed: int
) -> None:
    chosen = select(pool, n, seed, similar=101)
    assert len(chosen) == len({s.seed for s in chosen}) == min(n, len(pool))
    assert set(chosen) <= set(pool)
    shuffled = list(pool)
    random.shuffle(shuffled)
    assert select(pool, 6, seed) == select(shuffled, 6, seed)
    assert select(pool, n) == select(pool, 14)[:n]


@settings(max_examples=20, deadline=None)
@given(pools())
def test_every_step_has_the_largest_gain(pool: list[Seed]) -> None:
    chosen = select(pool, len(pool), similar=101)
    for step, pick in enumerate(chosen):
        before, left = chosen[:step], [s for s in pool if s not in chosen[:step]]
        left = [s for s in left if s.has_key_cue] or left
        best = max(objective([*before, s]) for s in left)
        assert pick in left
        assert objective([*before, pick]) == pytest.approx(best, abs=1e-9)


def test_statement_is_chosen_once_per_country() -> None:
    text = "Guests take off their shoes at the door."
    variant = text.upper().replace("THEIR", "the")
    pool = [make(n, "A", ("region",), "", each) for n, each in enumerate((text, variant))]
    assert len(select(pool, 2)) == 1
    assert len(select(pool, 2, similar=101)) == 2
    other = make(2, "B", ("region",), "", text)
    assert {s.country for s in select([*pool, other], 3)} == {"A", "B"}


def test_least_similar_statement_is_next_among_equal_gains() -> None:
    texts = [f"Guests bring bread and {gift}." for gift in ("salt", "honey")]
    texts.append("Nobody whistles on a boat at night.")
    pool = [make(i, "A", ("region",), "", text) for i, text in enumerate(texts)]
    for seed in range(8):
        assert texts[2] in [s.statement for s in select(pool, 2, seed)]


def test_random_seed_decides_between_equal_seeds() -> None:
    pool = [make(i, "A", ("region",), "") for i in range(10)]
    assert len({select(pool, 1, seed)[0].seed for seed in range(20)}) > 1


def test_negative_number_is_refused() -> None:
    with pytest.raises(ValueError, match="n cannot be negative, got -1"):
        select([], -1)
