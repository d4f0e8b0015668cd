"""Assignments of items to people: balanced, stratified, without own items, in a separate order per person."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest

from tasks.people.assignment import Person, assign, item_code, stratified
from tasks.people.study import PeopleItem, PeopleStudy, Private, StudyFolder
from tests.people.conftest import ITEM_ROWS, PEOPLE, PRIVATE_ROWS, item

HIDDEN = {row.item: row for row in PRIVATE_ROWS}


def test_items_and_people_are_balanced(folder: StudyFolder) -> None:
    seen = Counter(a.item for a in folder.assignments)
    # Four items for two of four people each: two items everyone; the check and the last page for all four.
    assert seen == {"i0": 2, "i1": 2, "i2": 2, "i3": 2, "check": 4, "about_you": 4}
    assert set(Counter(a.annotator for a in folder.assignments).values()) == {4}
    for person in PEOPLE:
        own = [a for a in folder.assignments if a.annotator == person.annotator]
        assert [a.place for a in own] == [1, 2, 3, 4]
        assert own[0].item != "check"
        assert own[-1].item == "about_you"
        assert Counter(HIDDEN[a.item].stratum for a in own if a.item.startswith("i")) == {"a": 1, "b": 1}


def test_orders_differ_between_people_and_repeat_by_seed(study: PeopleStudy) -> None:
    first = assign(study, ITEM_ROWS, HIDDEN, PEOPLE)
    assert first == assign(study, ITEM_ROWS[::-1], HIDDEN, PEOPLE[::-1])
    many = [Person(f"q{n}") for n in range(40)]
    orders = {tuple(a.shown["order"]) for a in assign(study, ITEM_ROWS, HIDDEN, many) if a.item == "check"}
    assert len(orders) == 6  # every order of three
    other = PeopleStudy.model_validate(study.model_dump() | {"seed": 1})
    assert assign(other, ITEM_ROWS, HIDDEN, PEOPLE) != first


def test_authors_never_get_their_own_items(study: PeopleStudy) -> None:
    own = {**HIDDEN, "i0": Private(item="i0", author="p0"), "i1": Private(item="i1", author="p1")}
    for seed in range(10):
        seeded = PeopleStudy.model_validate(study.model_dump() | {"seed": seed})
        pairs = {(a.annotator, a.item) for a in assign(seeded, ITEM_ROWS, own, PEOPLE)}
        assert not pairs & {("p0", "i0"), ("p1", "i1")}
    with pytest.raises(ValueError, match=r"item i0 .en. needs 2 people and only 1 may see it"):
        assign(study, [item("i0")], own, PEOPLE[:2])


def test_items_go_to_people_of_their_language_and_role(study: PeopleStudy) -> None:
    people = [*PEOPLE[:2], *(Person(f"a{n}", language="ar") for n in range(2)), Person("lead", "lead")]
    rows = assign(study, [item("x"), item("y", "ar")], {}, people)
    assert {(r.annotator, r.item) for r in rows if r.item != "about_you"} == {
        ("p0", "x"), ("p1", "x"), ("a0", "y"), ("a1", "y"),
    }  # fmt: skip
    capped = PeopleStudy.model_validate(study.model_dump() | {"items_per_person": 1})
    with pytest.raises(ValueError, match="only 0 may see it"):
        assign(capped, [item("x"), item("z")], {}, PEOPLE[:2])


def test_a_larger_stratified_draw_contains_the_smaller_one() -> None:
    things = {f"t{n}": ("rare" if n < 3 else "common", n) for n in range(100)}
    draws = [stratified(things, n, seed=0) for n in (2, 4, 6, 20, None)]
    assert all(large[: len(small)] == small for small, large in pairwise(draws))
    assert sum(n < 3 for n in draws[1]) == 2
    assert len(draws[4]) == 100
    assert stratified(dict(reversed(things.items())), 20, 0) == draws[3]


def test_item_codes_are_valid_names_and_repeat() -> None:
    code = item_code("model", "dish")
    assert code == item_code("model", "dish") != item_code("other", "dish")
    assert PeopleItem(item=code, page="rate").item == code
