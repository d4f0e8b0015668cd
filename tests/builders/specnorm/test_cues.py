"""Cues: which values count, how they are written, and when a text names one."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.evaluations.cure.benchmarks.cues import (
    KINDS,
    Cue,
    is_generic,
    is_named,
    join_cues,
    parse_cues,
    specificity,
)


@pytest.mark.parametrize(
    "value",
    [
        "",
        "  ",
        "all",
        "All ages",
        "ANY",
        "any gender",
        "people",
        "N/A",
        "nan",
        "Kenya",
        "the kenya",
        "KE",
        "both sexes",
    ],
)
def test_generic_values(value: str) -> None:
    assert is_generic(value, ["Kenya", "KE"])


@pytest.mark.parametrize("value", ["Maasai", "elderly", "Alloa", "Anyang", "young people", "Kenyan Asian"])
def test_values_that_name_a_subgroup(value: str) -> None:
    assert not is_generic(value, ["Kenya", "KE"])


def test_the_country_is_generic_with_or_without_article() -> None:
    assert is_generic("The Gambia", ["Gambia"])
    assert is_generic("Gambia", ["the Gambia"])


WORDS = st.text(alphabet=st.characters(exclude_characters="|", categories=["L", "N"]), min_size=1, max_size=8)


@settings(deadline=None)
@given(st.lists(st.builds(Cue, st.sampled_from(KINDS), WORDS), max_size=7))
def test_cues_come_back_as_they_were_written(cues: list[Cue]) -> None:
    assert parse_cues(join_cues(cues)) == tuple(cues)


@pytest.mark.parametrize("text", ["Bali", "colour: red", "region:", "region: Bali|Hindu"])
def test_what_is_no_cue_is_named(text: str) -> None:
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
def test_a_cue_is_named_by_its_whole_words(value: str, text: str, named: bool) -> None:
    assert is_named(Cue("occupation", value), text) is named


@pytest.mark.parametrize(
    ("n", "level"), [(1, "low"), (2, "medium"), (3, "medium"), (4, "high"), (5, "high"), (7, "high")]
)
def test_levels_of_specificity(n: int, level: str) -> None:
    """Vo and Koyejo (2025): a single cue, multiple cues, four or more cues."""
    assert specificity(n) == level


def test_no_cue_has_no_level() -> None:
    with pytest.raises(ValueError, match="from one cue on, got 0"):
        specificity(0)
