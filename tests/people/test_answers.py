"""Revisions, exclusions with their reasons, and the ratings that remain."""

from __future__ import annotations

import pytest

from tasks.people.answers import counted, exclusions, lacking, latest, ratings
from tasks.people.study import PeopleAnswer, StudyFolder
from tests.people.conftest import answered

WHOLE = {"rice": "1", "salt": "2", "tofu": "3"}


def all_of(folder: StudyFolder, annotator: str, seconds: float = 10, check: str = "4") -> list[PeopleAnswer]:
    """Return answers to every question of one person."""
    rows = []
    for each in (a for a in folder.assignments if a.annotator == annotator):
        if each.item == "about_you":
            rows.append(answered(folder, annotator, each.item, "region", "asia", seconds=seconds))
            continue
        liking = check if each.item == "check" else "2"
        marks = {"rice": "yes", "salt": "no", "tofu": "maybe"}
        for field, value in (("fits", marks), ("order", WHOLE), ("liking", liking)):
            rows.append(answered(folder, annotator, each.item, field, value, seconds=seconds))
    return rows


def test_the_last_revision_counts_in_any_order(folder: StudyFolder) -> None:
    first = answered(folder, "p0", "i0", "liking", "1")
    second = answered(folder, "p0", "i0", "liking", "5", revision=2)
    for order in ([first, second], [second, first], [second, first, second]):
        assert latest(order) == {("p0", "i0", "liking"): second}
    with pytest.raises(ValueError, match="revision 1 of p0 i0 liking"):
        latest([first, answered(folder, "p0", "i0", "liking", "2")])


def test_exclusions_have_reasons(folder: StudyFolder) -> None:
    answers = [*all_of(folder, "p0"), *all_of(folder, "p1", check="3"), *all_of(folder, "p2", seconds=1)]
    answers += all_of(folder, "p3", check="1", seconds=1)[:2]
    reasons = exclusions(folder, answers)
    assert reasons["p1"] == ["failed an attention check"]
    assert reasons["p2"] == ["too fast"]
    assert reasons["p3"] == ["failed an attention check", "too fast", "unfinished"]
    assert "p0" not in reasons
    assert counted(reasons) == {"failed an attention check": 2, "too fast": 2, "unfinished": 1}


def test_required_fields_without_a_complete_value_are_lacking(folder: StudyFolder) -> None:
    answers = {(a.item, a.field): a for a in all_of(folder, "p0")}
    item = next(item for item, field in answers if field == "order")
    assert lacking(folder, item, answers) == []
    cut = answers[item, "order"].model_copy(update={"status": "draft"})
    assert lacking(folder, item, answers | {(item, "order"): cut}) == ["order"]
    empty = answers[item, "liking"].model_copy(update={"value": ""})
    assert lacking(folder, item, answers | {(item, "liking"): empty}) == ["liking"]
    assert lacking(folder, item, {}) == ["fits", "order", "liking"]


def test_ratings_leave_out_drafts_checks_and_excluded_people(folder: StudyFolder) -> None:
    answers = all_of(folder, "p0") + all_of(folder, "p1")
    mine = ratings(folder, answers, excluded=["p1"])
    assert {r.annotator for r in mine} == {"p0"}
    assert not [r for r in mine if r.item == "check" and r.field == "liking"]
    order = [(r.entry, r.value) for r in mine if r.item == mine[-1].item and r.field == "order"]
    assert order == [*WHOLE.items()]
    assert [(r.language, r.value) for r in mine if r.field == "region"] == [("en", "asia")]
    last = mine[-1].item
    draft = answered(folder, "p0", last, "order", {"rice": "1"}, revision=2, status="draft")
    rated = {(r.annotator, r.item, r.field) for r in ratings(folder, [*answers, draft])}
    assert ("p0", last, "order") not in rated
    assert ("p0", last, "fits") in rated
