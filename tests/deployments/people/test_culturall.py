"""Items that people write, make harder and review, from a topic to a published version."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from flows.build import run_stages
from tasks.builders.culturall import steps
from tasks.builders.culturall.params import ReleaseParams
from tasks.people.study import Entry, StudyFolder, read_folder
from tests.deployments.test_cli_people import people, save_answers, started
from warehouse import Warehouse, culturall_build, run_checks

CASE = {
    "scenario": "On 5 November in Leeds neighbours stack wood and old chairs on a green and ask Mina along.",
    "question": "What will be lit there in the evening?",
    "answer": "a bonfire",
    "explanation": "Guy Fawkes Night is celebrated with bonfires.",
    "form": "free",
    "region": "GB",
}
HARDER = CASE["scenario"].replace("5 November", "the day after 4 November")


def new(name: str, kind: str, *arguments: object, n_people: int = 2, code: int = 0) -> str:
    own = ("--study", kind, "--people", n_people, "--per-item", 1, "--languages", "en", *arguments)
    return people("new", name, *own, code=code)


@pytest.fixture(scope="module")
def drafted(copied_home: Callable[[], Path]) -> tuple[Warehouse, str]:
    """A warehouse with one item by p001 and one by p002 that the checks refuse, and the good draft."""
    warehouse = Warehouse.open(copied_home())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CULTUREMETER_HOME", str(warehouse.home))
        return warehouse, written(warehouse)


@pytest.fixture
def warehouse(drafted: tuple[Warehouse, str], own_copy: Callable[[Warehouse], Warehouse]) -> Warehouse:
    """A copy for one test, which commands open."""
    return own_copy(drafted[0])


def written(warehouse: Warehouse) -> str:
    """Store both items; return the good draft."""
    new("cases", "culturall-create", "--items", 4)
    folder, database = started(warehouse.home, "cases")
    own = [a for a in folder.assignments if a.place == 1]
    for each in folder.assignments:
        save_answers(database, each.annotator, each.item, decision="none")
    save_answers(database, own[0].annotator, own[0].item, **CASE, decision="written")
    broken = CASE | {"form": "choice", "answer": "A", "scenario": CASE["scenario"] + " It rains."}
    save_answers(database, own[1].annotator, own[1].item, **broken, decision="written")
    database.close()
    pulled = people("pull", "cases")
    assert "1 drafts, 1 of them new" in pulled
    assert "left out, nothing came to mind: 2" in pulled
    assert "no_options" in pulled
    row = warehouse.query("SELECT draft, author, author_kind, origin, language, topic FROM culturall_draft")
    draft, *rest = row.row(0)
    topic = folder.items[own[0].item].content["topic"]
    assert rest == ["p001", "person", "person", "en", topic]
    assert "1 drafts, 0 of them new" in people("pull", "cases")
    return str(draft)


def solved(warehouse: Warehouse, draft: str, n_right: int) -> None:
    same = {"judges": "", "text": "x", "request_hash": "r", "response_item": "i", "run_id": "run"}
    rows = [
        {**same, "draft": draft, "engine_hash": f"e{n}", "model": f"m{n}", "matched": n < n_right,
         "is_right": n < n_right}
        for n in range(3)
    ]  # fmt: skip
    culturall_build.add(warehouse, "culturall_measure", rows)


def decide(warehouse: Warehouse, name: str, decision: str, **texts: str) -> StudyFolder:
    """Save this decision for everyone's items, with the texts unchanged except these."""
    folder, database = started(warehouse.home, name)
    for each in folder.assignments:
        content = folder.items[each.item].content
        fields = {f.name: content[f.of] for f in folder.study.fields if f.kind == "edit"}
        save_answers(database, each.annotator, each.item, **fields | texts, decision=decision, note="because")
    database.close()
    return folder


def status(warehouse: Warehouse) -> dict[str, str]:
    return dict(warehouse.query("SELECT draft, status FROM culturall_draft_state").rows())


def test_item_goes_from_topic_to_published_version(
    warehouse: Warehouse, drafted: tuple[Warehouse, str]
) -> None:
    easy = drafted[1]
    assert "there is no easy draft" in new("harder", "culturall-elevate", code=1)
    solved(warehouse, easy, 2)
    new("harder", "culturall-elevate")
    folder, database = started(warehouse.home, "harder")
    (each,) = folder.assignments
    content = folder.items[each.item].content
    same = {name: content[name] for name in ("scenario", "question", "answer", "variants", "explanation")}
    save_answers(database, each.annotator, each.item, **same, decision="harder", technique="more_context")
    assert "left out, no text was changed: 1" in people("pull", "harder")
    database.save(each.annotator, each.item, "scenario", Entry(value=HARDER))
    database.close()
    assert "1 drafts, 1 of them new" in people("pull", "harder")
    (child,) = (draft for draft, where in status(warehouse).items() if where == "elevation_waits")

    # The person who made the draft harder may not review it, so the other person decides.
    new("first", "culturall-review")
    folder = decide(warehouse, "first", "accept")
    assert [a.annotator for a in folder.assignments] == [{"p001": "p002", "p002": "p001"}[each.annotator]]
    assert "accept: 1" in people("pull", "first")
    assert status(warehouse) == {easy: "replaced", child: "drafted"}
    assert "decided already: 1" in people("pull", "first")

    solved(warehouse, child, 1)
    params = ReleaseParams.model_validate({"embedder": ""})
    run_stages(params, steps.CHECK)
    assert status(warehouse)[child] == "review_waits"
    new("last", "culturall-review")
    decide(warehouse, "last", "revise", explanation="On Guy Fawkes Night one lights bonfires.")
    assert "revise: 1" in people("pull", "last")
    version = steps.publish(params)
    assert version is not None
    row = warehouse.query("FROM culturall_release_item").row(0, named=True)
    assert (row["scenario"], row["decision"], row["author"]) == (HARDER, "revise", each.annotator)
    assert row["explanation"].startswith("On Guy Fawkes Night")
    assert row["reviewer"] != row["author"]
    assert run_checks(warehouse)["n_violations"].sum() == 0


def test_author_of_an_item_cannot_review_it(warehouse: Warehouse) -> None:
    """A code means the same person in every study."""
    run_stages(ReleaseParams.model_validate({"embedder": ""}), steps.CHECK)
    alone = new("alone", "culturall-review", "--codes", "p001", n_people=1, code=1)
    assert "needs 1 people and only 0 may see it" in alone
    assert not (warehouse.home / "people" / "alone").exists()
    new("other", "culturall-review", "--codes", "q1", n_people=1)
    folder = read_folder(warehouse.home / "people" / "other")
    assert [a.annotator for a in folder.assignments] == ["q1"]
    assert {hidden.author for hidden in folder.private.values()} == {"p001"}
    two = new("two", "culturall-review", "--codes", "a,b", n_people=1, code=1)
    assert "2 codes for 1 people" in two


def test_review_texts_must_match_the_decision(warehouse: Warehouse) -> None:
    run_stages(ReleaseParams.model_validate({"embedder": ""}), steps.CHECK)
    new("reviews", "culturall-review")
    for decision, texts, line in (
        ("accept", {"answer": "fire"}, "left out, accepted with changed texts: 1"),
        ("revise", {}, "left out, revised without any change: 1"),
        ("revise", {"answer": "one two " * 8}, "left out, the revised texts have an error: 1"),
        ("revise", {"scenario": ""}, "revise: 0"),  # a text is missing: the page is not complete
        ("reject", {"answer": "fire"}, "reject: 1"),
    ):
        decide(warehouse, "reviews", decision, **texts)
        assert line in people("pull", "reviews")
