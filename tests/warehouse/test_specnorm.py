"""Drafts and published items: changes that a later build or review may make, and rows that are refused."""

from datetime import datetime
from typing import Any

import duckdb
import pytest

from warehouse import Warehouse
from warehouse.specnorm import save_drafts, save_reviews

THEN, LATER = datetime(2026, 1, 1, 12), datetime(2026, 1, 2, 12)
TEXTS = {
    "persona": "Máret is a Sámi.",
    "situation": "She is asked.",
    "question": "Is it fine?",
    "label": "no",
    "norm": "One does not ask.",
}


def draft(name: str, *faults: str, **cells: Any) -> dict[str, Any]:
    """Return a row of specnorm_draft, queued if there are no faults."""
    return {
        "draft": name,
        "seed": f"seed-{name}",
        "statement": "One does not ask.",
        "country": "NO",
        "country_name": "Norway",
        "cues": "ethnicity: Sámi",
        "specificity": "low",
        "stance": "no",
        **TEXTS,
        "text_hash": "text-1",
        "model": "m",
        "prompt_hash": "p",
        "request_hash": "q",
        "response_item": "i",
        "run_id": "r",
        "drafted_at": THEN,
        "faults": list(faults),
        "fault_details": [f"{fault} here" for fault in faults],
        "status": "rejected_by_checks" if faults else "queued",
        **cells,
    }


def decision(name: str, status: str, note: str | None = None) -> dict[str, Any]:
    return {"draft": name, "status": status, "reviewer": "ana", "note": note, "reviewed_at": LATER}


def item(name: str, **cells: Any) -> dict[str, Any]:
    """Return a row of specnorm_item made of the draft."""
    source = draft(name)
    columns = (
        "seed",
        "country",
        "country_name",
        "cues",
        "specificity",
        "model",
        "prompt_hash",
        "draft",
        *TEXTS,
    )
    own = {"item": f"item-{name}", "group_name": "Sámi", "decision": "accept", "reviewer": "ana"}
    return {column: source[column] for column in columns} | own | {"reviewed_at": LATER} | cells


def stored(warehouse: Warehouse) -> dict[str, dict[str, Any]]:
    return {row["draft"]: row for row in warehouse.query("FROM specnorm_draft").to_dicts()}


def published(warehouse: Warehouse) -> list[str]:
    return warehouse.query("SELECT item FROM specnorm_item ORDER BY item")["item"].to_list()


def test_drafts_are_stored_as_given(warehouse: Warehouse) -> None:
    unreadable = draft("b", "unreadable", "cut_off", **dict.fromkeys((*TEXTS, "text_hash")))
    save_drafts(warehouse, [draft("a"), unreadable])
    empty = {"reviewer": None, "note": None, "reviewed_at": None}
    assert stored(warehouse) == {"a": draft("a") | empty, "b": unreadable | empty}
    save_drafts(warehouse, [])
    assert len(stored(warehouse)) == 2


def test_a_new_draft_replaces_only_one_that_the_checks_rejected(warehouse: Warehouse) -> None:
    save_drafts(warehouse, [draft("a"), draft("b", "norm_changed"), draft("c")])
    save_reviews(warehouse, [decision("c", "rejected", "no")], [])
    save_drafts(warehouse, [draft(name, drafted_at=LATER) for name in "abcd"])
    statuses = {name: (row["status"], row["drafted_at"]) for name, row in stored(warehouse).items()}
    assert statuses == {
        "a": ("queued", THEN),
        "b": ("queued", LATER),
        "c": ("rejected", THEN),
        "d": ("queued", LATER),
    }


@pytest.mark.heavy
def test_a_review_publishes_items_and_a_later_review_withdraws_them(warehouse: Warehouse) -> None:
    save_drafts(warehouse, [draft("a"), draft("b"), draft("c")])
    save_reviews(warehouse, [decision("a", "accepted"), decision("b", "accepted")], [item("a"), item("b")])
    assert published(warehouse) == ["item-a", "item-b"]
    assert stored(warehouse)["a"] == draft("a") | decision("a", "accepted")
    # The same identifier for a, another one for b; c is unchanged.
    revised = item("b", item="item-b2", decision="revise", persona="Other.")
    save_reviews(warehouse, [decision("a", "revised"), decision("b", "revised")], [item("a"), revised])
    assert published(warehouse) == ["item-a", "item-b2"]
    assert stored(warehouse)["b"]["persona"] == TEXTS["persona"]
    save_reviews(warehouse, [decision("a", "rejected", "wrong")], [])
    assert published(warehouse) == ["item-b2"]
    assert {name: row["status"] for name, row in stored(warehouse).items()} == {
        "a": "rejected",
        "b": "revised",
        "c": "queued",
    }


@pytest.mark.parametrize(
    "wrong",
    [
        draft("a", status="accepted"),  # without a reviewer
        draft("a", "norm_changed", status="queued"),
        draft("a", status="rejected_by_checks"),  # without a fault
        draft("a", stance="maybe"),
        draft("a", fault_details=["a detail without a fault"]),
    ],
)
def test_rows_that_contradict_themselves_are_refused(warehouse: Warehouse, wrong: dict[str, Any]) -> None:
    before = warehouse.path.read_bytes()
    with pytest.raises(duckdb.ConstraintException):
        save_drafts(warehouse, [draft("z"), wrong])
    assert warehouse.path.read_bytes() == before


def test_a_review_is_stored_whole_or_not_at_all(warehouse: Warehouse) -> None:
    save_drafts(warehouse, [draft("a"), draft("b")])
    with pytest.raises(duckdb.ConstraintException):  # two items under one identifier
        save_reviews(
            warehouse,
            [decision("a", "accepted"), decision("b", "accepted")],
            [item("a"), item("b", item="item-a")],
        )
    assert published(warehouse) == []
    assert {row["status"] for row in stored(warehouse).values()} == {"queued"}
