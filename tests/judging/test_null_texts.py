"""Null texts: the same for every run, and never one that could be right for the item."""

from __future__ import annotations

import random
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from tasks.judging.controls import NULLS, SOURCES, same_family, shuffled, texts_by_source

NAMES = [f"item-{n}" for n in range(12)]
OWN = {name: frozenset({name}) for name in NAMES}
"""Nobody shares a family."""
TEXTS = {name: f"Because of {name}." for name in NAMES}


def test_every_source_has_its_texts() -> None:
    real = {"item-0": "So it is.", "item-1": "It is not."}
    texts = texts_by_source(real, OWN, "It depends.", "norms")
    assert list(texts) == list(SOURCES)
    assert texts["real"] == real
    assert texts["shuffled"] == {"item-0": "It is not.", "item-1": "So it is."}
    assert texts["generic"] == dict.fromkeys(NAMES, "It depends.")
    assert texts["empty"] == dict.fromkeys(NAMES, "")
    assert NULLS == ("shuffled", "generic", "empty")


def test_each_text_is_used_once_where_nobody_shares_a_family() -> None:
    swapped = shuffled(TEXTS, OWN, "norms")
    assert set(swapped) == set(NAMES)
    assert Counter(swapped.values()) == Counter(TEXTS.values())
    assert all(swapped[name] != TEXTS[name] for name in NAMES)


def test_the_ring_depends_on_names_and_scope_alone() -> None:
    mixed = dict(random.Random(1).sample(sorted(TEXTS.items()), len(TEXTS)))
    assert shuffled(mixed, OWN, "norms") == shuffled(TEXTS, OWN, "norms")
    assert shuffled(TEXTS, OWN, "tables") != shuffled(TEXTS, OWN, "norms")


@given(st.lists(st.integers(0, 4), min_size=2, max_size=12))
def test_a_text_comes_from_another_family(groups: list[int]) -> None:
    names = NAMES[: len(groups)]
    families = {name: frozenset({("country", n)}) for name, n in zip(names, groups, strict=True)}
    texts = {name: TEXTS[name] for name in names}
    swapped = shuffled(texts, families, "norms")
    owner = {text: name for name, text in texts.items()}
    assert all(not same_family(families, name, owner[text]) for name, text in swapped.items())
    # Only where all are of one family has nobody a partner.
    assert set(swapped) == (set(names) if len(set(groups)) > 1 else set())


def test_a_family_is_shared_by_any_of_its_traits() -> None:
    families = {"a": frozenset({"IN", "rice"}), "b": frozenset({"JP", "rice"}), "c": frozenset({"JP"})}
    assert same_family(families, "a", "b")
    assert same_family(families, "b", "c")
    assert not same_family(families, "a", "c")
