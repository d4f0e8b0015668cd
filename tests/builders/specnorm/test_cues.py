"""Cues: generic values, their written form, and texts that name them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.evaluations.cure.published.cues import (
    KINDS,
    Cue,
    is_generic,
    is_named,
    join_cues,
    parse_cues,
    specificity,
)

GENERIC = ["", "  ", "all", "All ages", "ANY", "any gender", "people", "N/A", "nan", "both sexes"]
OF_COUNTRY = ["Kenya", "the kenya", "KE"]
SUBGROUPS = ["Maasai", "elderly", "Alloa", "Anyang", "young people", "Kenyan Asian"]


def test_generic_values_name_no_subgroup() -> None:
    """A country is generic with or without an article."""
    for value in (*GENERIC, *OF_COUNTRY, *SUBGROUPS):
        assert is_generic(value, ["Kenya", "KE"]) is (value not in SUBGROUPS), value
    assert is_generic("The Gambia", ["Gambia"])
    assert is_generic("Gambia", ["the Gambia"])


WORDS = st.text(alphabet=st.characters(exclude_characters="|", categories=["L", "N"]), min_size=1, max_size=8)


@settings(deadline=None)
@given(st.lists(st.builds(Cue, st.sampled_from(KINDS), WORDS), max_size=7))
def test_written_cues_are_read_back(cues: list[Cue]) -> None:
    assert parse_cues(join_cues(cues)) == tuple(cues)


@pytest.mark.parametrize("text", ["Bali", "colour: red", "region:", "region: Bali|Hindu"])
def test_unknown_cue_is_refused_with_the_known_kinds(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a cue: write <kind>: <value>.*marital_status"):
        parse_cues(text)


@pytest.mark.parametrize(
    ("value", "text", "named"),
    [
        ("Sámi", "Two SAMI herders", True),
        ("woman", "a woman's hat", True),
        ("elder", "the elders wait", True),
        ("reindeer herder", "reindeer  herders", True),
        ("reindeer herder", "a herder of reindeer", False),
        ("man", "a woman", False),
        ("married", "an unmarried man", False),
        ("St. John's", "in St. John’s", True),
        ("C++ (teacher)", "a c++ (teacher)", True),
        ("हिन्दू", "एक हिन्दू किसान", True),
    ],
)
def test_cue_is_named_only_by_its_whole_words(value: str, text: str, named: bool) -> None:
    assert is_named(Cue("occupation", value), text) is named


def test_specificity_follows_the_number_of_cues() -> None:
    """The levels of Vo and Koyejo (2025): a single cue, multiple cues, four or more cues."""
    levels = {1: "low", 2: "medium", 3: "medium", 4: "high", 5: "high", 7: "high"}
    assert {n: specificity(n) for n in levels} == levels
    with pytest.raises(ValueError, match="at least one cue, got 0"):
        specificity(0)
