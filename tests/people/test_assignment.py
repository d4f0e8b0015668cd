"""Who sees what: balanced, stratified, never one's own, in an order of one's own that is the same again."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest

from tasks.people.assignment import Person, assign, item_code, stratified
from tasks.people.study import PeopleItem, PeopleStudy, Private, StudyFolder
from tests.people.conftest import ITEM_ROWS, PEOPLE, PRIVATE_ROWS, item

HIDDEN = {row.item: row for row in PRIVATE_ROWS}


def test_every_item_has_its_people_and_nobody_has_more_than_others(folder: StudyFolder) -> None:
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


def test_orders_are_each_persons_own_and_the_same_again(study: PeopleStudy) -> None:
    first = assign(study, ITEM_ROWS, HIDDEN, PEOPLE)
    assert first == assign(study, ITEM_ROWS[::-1], HIDDEN, PEOPLE[::-1])
    many = [Person(f"q{n}") for n in range(40)]
    shown = Counter(
        tuple(a.shown["order"]) for a in assign(study, ITEM_ROWS, HIDDEN, many) if a.item == "check"
    )
    assert len(shown) == 6  # every order of three
    other = PeopleStudy.model_validate(study.model_dump() | {"seed": 1})
    assert assign(other, ITEM_ROWS, HIDDEN, PEOPLE) != first


def test_nobody_reviews_what_they_wrote(study: PeopleStudy) -> None:
    own = {**HIDDEN, "i0": Private(item="i0", author="p0"), "i1": Private(item="i1", author="p1")}
    for seed in range(10):
        seeded = PeopleStudy.model_validate(study.model_dump() | {"seed": seed})
        pairs = {(a.annotator, a.item) for a in assign(seeded, ITEM_ROWS, own, PEOPLE)}
        assert not pairs & {("p0", "i0"), ("p1", "i1")}
    with pytest.raises(ValueError, match=r"item i0 .en. needs 2 people and only 1 may see it"):
        assign(study, [item("i0")], own, PEOPLE[:2])


def test_language_and_role_are_those_of_the_item(study: PeopleStudy) -> None:
    people = [*PEOPLE[:2], *(Person(f"a{n}", language="ar") for n in range(2)), Person("lead", "lead")]
    rows = assign(study, [item("x"), item("y", "ar")], {}, people)
    assert {(r.annotator, r.item) for r in rows if r.item != "about_you"} == {
        ("p0", "x"), ("p1", "x"), ("a0", "y"), ("a1", "y"),
    }  # fmt: skip
    capped = PeopleStudy.model_validate(study.model_dump() | {"items_per_person": 1})
    with pytest.raises(ValueError, match="only 0 may see it"):
        assign(capped, [item("x"), item("z")], {}, PEOPLE[:2])


def test_a_larger_draw_has_the_smaller_one_and_all_strata() -> None:
    things = {f"t{n}": ("rare" if n < 3 else "common", n) for n in range(100)}
    draws = [stratified(things, n, seed=0) for n in (2, 4, 6, 20, None)]
    assert all(large[: len(small)] == small for small, large in pairwise(draws))
    assert sum(n < 3 for n in draws[1]) == 2
    assert len(draws[4]) == 100
    assert stratified(dict(reversed(things.items())), 20, 0) == draws[3]


def test_codes_say_nothing_and_are_the_same_again() -> None:
    code = item_code("model", "dish")
    assert code == item_code("model", "dish") != item_code("other", "dish")
    assert PeopleItem(item=code, page="rate").item == code
