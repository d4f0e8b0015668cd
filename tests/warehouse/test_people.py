"""Answers of people: added and never changed, revisions kept, who is excluded or withdrew."""

from datetime import datetime
from typing import Any

import pytest

from warehouse import Warehouse, WarehouseError
from warehouse.people import save_study

THEN = datetime(2026, 1, 1, 12)
STUDY = {
    "study": "s", "kind": "spectral-ranking", "title": "S", "study_hash": "h", "languages": ["en"],
    "annotators_per_item": 1, "n_assigned": 8, "n_withdrawn": 0,
}  # fmt: skip
ITEM = {
    "study": "s", "item": "i1", "item_hash": "h", "page": "p", "language": "en", "stratum": "", "model": "m",
    "condition": None, "author": None, "code": None, "is_check": False,
}  # fmt: skip


def answer(annotator: str, value: str, entry: str = "", **cells: Any) -> dict[str, Any]:
    row = {
        "study": "s", "study_hash": "h", "item": "i1", "item_hash": "h", "annotator": annotator,
        "field": "liking", "entry": entry, "value": value, "place": None, "started_at": THEN,
        "saved_at": THEN, "revision": 1, "status": "complete", "tool": "t", "version": "1",
    }  # fmt: skip
    return row | cells


def test_all_revisions_are_stored_and_the_last_complete_one_counts(warehouse: Warehouse) -> None:
    first = [answer("a", "1"), answer("b", "2"), answer("c", "3")]
    assert save_study(warehouse, STUDY, [ITEM], first, [], []) == 3
    later = [*first, answer("a", "5", revision=2), answer("b", "", revision=2, status="draft")]
    out = [{"study": "s", "annotator": "c", "reason": "too fast"}]
    assert save_study(warehouse, STUDY, [ITEM], later, out, []) == 2
    assert save_study(warehouse, STUDY, [ITEM], later, out, []) == 0
    assert warehouse.query("SELECT annotator, number, model FROM human_rating").rows() == [("a", 5.0, "m")]
    assert warehouse.query("SELECT count(*) FROM human_answer").item() == 5
    assert warehouse.query("SELECT annotator, excluded FROM annotator ORDER BY annotator").rows() == [
        ("a", None), ("b", None), ("c", "too fast"),
    ]  # fmt: skip
    columns = "n_assigned, n_answered, n_people, n_excluded, n_withdrawn, n_revisions"
    assert warehouse.query(f"SELECT {columns} FROM study_progress").rows() == [(8, 3, 3, 1, 0, 5)]


def test_a_stored_revision_is_never_changed(warehouse: Warehouse) -> None:
    save_study(warehouse, STUDY, [ITEM], [answer("a", "1")], [], [])
    with pytest.raises(WarehouseError, match="stored with another value"):
        save_study(warehouse, STUDY, [ITEM], [answer("a", "2"), answer("b", "2")], [], [])
    assert warehouse.query("SELECT annotator, value FROM human_answer").rows() == [("a", "1")]


def test_withdrawing_deletes_a_persons_answers(warehouse: Warehouse) -> None:
    rows = [answer("a", "1"), answer("b", "2")]
    save_study(warehouse, STUDY, [ITEM], rows, [], [])
    save_study(warehouse, STUDY | {"n_withdrawn": 1}, [ITEM], rows, [], ["b"])
    assert warehouse.query("SELECT annotator FROM human_answer").rows() == [("a",)]
    assert warehouse.query("SELECT n_people, n_withdrawn FROM study_progress").rows() == [(1, 1)]


def test_answers_to_attention_checks_do_not_count_as_ratings(warehouse: Warehouse) -> None:
    save_study(warehouse, STUDY, [ITEM | {"is_check": True}], [answer("a", "1")], [], [])
    assert warehouse.query("FROM human_rating").is_empty()


def test_every_snapshot_of_a_ranking_is_kept(warehouse: Warehouse) -> None:
    def domain(snapshot: str, score: float) -> dict[str, Any]:
        return {
            "study": "s", "snapshot": snapshot, "domain": "currency", "human_score": score, "human_sd": None,
            "n_people": 1, "share_high": 1.0, "human_category": "HL",
        }  # fmt: skip

    for row in (domain("a", 8), domain("b", 7), domain("a", 8)):
        save_study(warehouse, STUDY, [ITEM], [], [], [], [row])
    newest = warehouse.query("SELECT snapshot FROM human_domain ORDER BY pulled_at DESC")
    assert newest["snapshot"].to_list() == ["a", "b"]
