"""Tables of a build of CulturALL: rows that are kept, replaced and refused, and the state of drafts."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import duckdb
import pytest

from warehouse import Warehouse
from warehouse.culturall_build import add, replace_checks, save_release, save_reviews

THEN, LATER = datetime(2026, 1, 1, 12), datetime(2026, 1, 2, 12)
Row = dict[str, Any]


def draft(name: str, *faults: str, **cells: Any) -> Row:
    """Return a row of culturall_draft by a model."""
    return {
        "draft": name, "origin": "page", "source": "p#1", "source_hash": f"s-{name}", "source_text": "t",
        "language": "en", "form": "free", "scenario": "S", "question": "Q", "answer": "A", "author": "m",
        "author_kind": "model", "request_hash": "r", "response_item": "i", "run_id": "run", "made_at": THEN,
        "faults": list(faults), "fault_details": list(faults), **cells,
    }  # fmt: skip


def person(name: str, **cells: Any) -> Row:
    return draft(name, **{"author_kind": "person", "request_hash": None, "origin": "person", **cells})


def elevated(name: str, parent: str) -> Row:
    return draft(name, origin="elevation", parent=parent, technique="long_tail")


def measured(name: str, *right: bool) -> list[Row]:
    ids = {"request_hash": "r", "response_item": "i", "run_id": "x"}
    same = {"draft": name, "judges": "", "model": "m", **ids}
    return [
        {**same, "engine_hash": f"e{n}", "is_right": ok, "measured_at": THEN} for n, ok in enumerate(right)
    ]


def decided(name: str, decision: str, stage: str = "release", **cells: Any) -> Row:
    row = {"draft": name, "stage": stage, "decision": decision, "reviewer": "ana", "reviewed_at": THEN}
    return row | cells


def checked(name: str, reason: str = "", is_doubt: bool = False) -> Row:
    return {"draft": name, "reason": reason, "is_doubt": is_doubt, "detail": "", "checked_at": THEN}


def states(warehouse: Warehouse) -> dict[str, str]:
    return dict(warehouse.query("SELECT draft, status FROM culturall_draft_state ORDER BY draft").rows())


def test_stored_drafts_are_not_replaced(warehouse: Warehouse) -> None:
    add(warehouse, "culturall_draft", [draft("a")])
    add(warehouse, "culturall_draft", [draft("a", made_at=LATER), draft("b")])
    rows = warehouse.query("SELECT draft, made_at FROM culturall_draft ORDER BY draft").rows()
    assert rows == [("a", THEN), ("b", THEN)]


def test_the_status_of_a_draft_follows_its_checks_measures_and_reviews(warehouse: Warehouse) -> None:
    names = ["new", "bad", "hard", "easy", "all", "waits", "doubt", "twin", "yes", "no"]
    add(warehouse, "culturall_draft", [draft(name, *(["cut_off"] * (name == "bad"))) for name in names])
    rows = measured("hard", True, False, False) + measured("easy", True, True, False)
    add(warehouse, "culturall_measure", rows + measured("all", True, True, True))
    faults = [
        checked("doubt", "sensitive", True),
        checked("twin", "near_duplicate"),
        checked("all", "too_easy"),
    ]
    replace_checks(warehouse, [*map(checked, ("waits", "doubt", "yes", "twin")), *faults])
    save_reviews(warehouse, [decided("yes", "accept"), decided("no", "reject", note="n")], [])
    assert states(warehouse) == {
        "new": "drafted", "bad": "rejected_by_checks", "hard": "drafted", "easy": "drafted",
        "all": "too_easy", "waits": "review_waits", "doubt": "review_waits",
        "twin": "rejected_by_checks", "yes": "accepted", "no": "rejected",
    }  # fmt: skip
    hard = dict(warehouse.query("SELECT draft, is_hard FROM culturall_draft_state").rows())
    assert (hard["hard"], hard["easy"], hard["new"]) == (True, False, None)
    build = warehouse.query("FROM culturall_build").rows()
    assert ("rejected_by_checks", "near_duplicate", 1) in build
    assert ("rejected_by_checks", None, 2) in build


def test_elevations_and_revisions_replace_their_parents(warehouse: Warehouse) -> None:
    add(warehouse, "culturall_draft", [draft("a"), draft("b"), draft("c")])
    add(warehouse, "culturall_draft", [elevated("a2", "a"), elevated("b2", "b")])
    assert states(warehouse) | {"c": ""} == {
        "a": "drafted", "a2": "elevation_waits", "b": "drafted", "b2": "elevation_waits", "c": "",
    }  # fmt: skip
    revision = person("c2", origin="revision", parent="c", author="ana")
    decisions = [
        decided("a2", "accept", "elevate"),
        decided("b2", "reject", "elevate"),
        decided("c", "revise"),
    ]
    save_reviews(warehouse, decisions, [revision])
    assert states(warehouse) == {
        "a": "replaced", "a2": "drafted", "b": "drafted", "b2": "elevation_rejected", "c": "replaced",
        "c2": "revised",
    }  # fmt: skip
    # Another decision withdraws the revision.
    save_reviews(warehouse, [decided("c", "accept")], [])
    assert states(warehouse)["c"] == "accepted"
    assert "c2" not in states(warehouse)


def test_rows_that_contradict_themselves_are_refused(warehouse: Warehouse) -> None:
    before = warehouse.path.read_bytes()
    for wrong in (
        draft("a", scenario=None),  # no texts and no fault
        draft("a", parent="b"),  # only elevations and revisions have a parent
        draft("a", origin="elevation", parent="b"),  # the technique is missing
        draft("a", request_hash=None),  # a model's draft without provenance
        draft("a", form="essay"),
        draft("a", "cut_off", fault_details=[]),
    ):
        with pytest.raises(duckdb.ConstraintException):
            add(warehouse, "culturall_draft", [draft("z"), wrong])
    assert warehouse.path.read_bytes() == before


def test_a_version_is_stored_once(warehouse: Warehouse) -> None:
    release = {"n_items": 0, "counts": "{}", "card": "c", "params": "{}", "released_at": THEN}
    assert [save_release(warehouse, release | {"version": name}, []) for name in ("v", "w", "v")] == [1, 2, 1]
    assert warehouse.query("SELECT count(*) FROM culturall_release").item() == 2


def test_regions_are_the_codes_of_iso_3166(warehouse: Warehouse) -> None:
    regions = set(warehouse.query("SELECT region FROM culturall_region")["region"])
    assert len(regions) == 249
    assert {"GB", "HK", "TW", "KP", "XK", "UK", "EU"} & regions == {"GB", "HK", "TW", "KP"}
    countries = set(warehouse.query("SELECT country FROM country")["country"])
    assert countries <= regions
