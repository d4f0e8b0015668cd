"""Every stage with a scripted server and a real warehouse, from sources to a published version."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from flows.build import FLOWS, planned
from tasks.builders.culturall import steps
from tasks.builders.culturall.params import CreateParams, ElevateParams, ReleaseParams
from tasks.builders.culturall.studies import NATIVE
from tasks.builders.study import BuildStage
from tasks.evaluations.culturall.items import load_items
from tasks.people.review_file import ReviewError
from tests.builders.culturall.model_server import SOLVERS, Models, fields_of, is_odd, rows, serving
from tests.builders.queue_files import ACCEPT, REJECT, REVISE, decide, lines
from warehouse import Warehouse, run_checks

pytestmark = pytest.mark.slow

Pages = Callable[..., str]
Row = dict[str, Any]


@pytest.fixture
def models(warehouse: Warehouse) -> Iterator[Models]:
    models = Models()
    with serving(warehouse.home, models):
        yield models


def run(kind: type[Any], **given: Any) -> None:
    FLOWS[kind].fn(kind.model_validate(given))


def create(**given: Any) -> None:
    run(CreateParams, **{"model": "writer", "solvers": list(SOLVERS), "batch": 64} | given)


def publish(folder: Path, queue: str = "review.csv", **given: Any) -> None:
    own = {"model": "writer", "embedder": "", "batch": 64, "queue": str(folder / queue)}
    run(ReleaseParams, **own | given)


def test_hashes_of_requests_and_configurations_are_unchanged(warehouse: Warehouse) -> None:
    """A build that was started before an upgrade resumes only with equal hashes."""
    named = {}
    stages: list[BuildStage[Any, Any]] = [steps.TOPICS, steps.CREATE, steps.ELEVATE, steps.LABEL]
    stages.append(steps.MEASURE)
    for stage in stages:
        given = {"solvers": ["fake-a"]} if stage is steps.MEASURE else {"model": "fake-a"}
        session = planned(stage, stage.params.model_validate(given))
        study: Any = session.study
        of_solver = study.condition_study(session.completions("fake-a")) if stage is steps.MEASURE else None
        request = of_solver.request(NATIVE) if of_solver else study.request()
        named[study.stage] = (request.hash(session.candidates["fake-a"]), study.config_hash())
    assert named == {
        "topics": ("bbcf14c8e0952926", "0d81080bbae1514d"),
        "create": ("bbcf14c8e0952926", "73699a8305b2b25d"),
        "elevate": ("bbcf14c8e0952926", "cbd04705aece481f"),
        "label": ("b81a41e7e724cab4", "9deab54b7079bff4"),
        "solve": ("1093659b48b53e8d", "ccf7de44306e602c"),
    }


def states(warehouse: Warehouse) -> Counter[str]:
    return Counter(warehouse.query("SELECT status FROM culturall_draft_state")["status"])


def test_build_goes_from_excerpts_to_a_published_version(
    warehouse: Warehouse, models: Models, pages: Pages, tmp_path: Path
) -> None:
    create(pages=[pages(2)], examples=2)
    assert states(warehouse) == {"drafted": 10}
    assert Counter(models.kinds) == {"merges": 1, "examples": 16, "page": 10, "solve": 30}
    hard = dict(warehouse.query("SELECT draft, is_hard FROM culturall_draft_state").rows())
    by_scenario = {item.native.scenario: item for item in models.items}
    for draft, scenario in warehouse.query("SELECT draft, scenario FROM culturall_draft").rows():
        # The solvers "good" and "half" solve the odd ones.
        assert hard[draft] == (not is_odd(by_scenario[scenario]))
    create(pages=[pages(2)], examples=2)
    assert len(models.kinds) == 57  # no request is repeated

    publish(tmp_path)
    assert states(warehouse) == {"review_waits": 10}
    queue = lines(tmp_path / "review.csv")
    assert {"JP", "KZ", "RU", "KH"} < {row["region"] for row in queue}
    assert all(row["scenario_en"] and row["solved"] in ("1 of 3", "2 of 3") for row in queue)
    assert warehouse.query("FROM culturall_release").is_empty()

    revised = REVISE | {"explanation": "So it is."}
    decide(tmp_path / "review.csv", REJECT, revised, {}, *[ACCEPT] * 7)
    reviewed, n_pending = steps.read_review(tmp_path / "review.csv")
    assert (len(reviewed.decisions), len(reviewed.revisions), n_pending) == (9, 1, 1)
    decided = {"accepted": 7, "revised": 1, "replaced": 1, "rejected": 1, "review_waits": 1}
    assert states(warehouse) == decided
    publish(tmp_path, "second.csv", out=str(tmp_path / "v1"))
    assert [row["draft"] for row in lines(tmp_path / "second.csv")] == [queue[2]["draft"]]
    shown = warehouse.query("FROM culturall_release").row(0, named=True)
    assert (shown["number"], shown["n_items"]) == (1, 8)
    counts = json.loads(shown["counts"])
    assert counts["origin"] == {"page": 8}
    assert sum(counts["difficulty"].values()) == 8
    text = (tmp_path / "v1" / "README.md").read_text()
    assert "| accepted | 7 | 77.8% | 75.0% |" in text
    assert "| rejected | 1 | 11.1% | 16.9% |" in text
    published = [json.loads(line) for line in (tmp_path / "v1" / "items.jsonl").read_text().splitlines()]
    loaded = load_items(published, "items.jsonl")
    assert (len(loaded.items), loaded.dropped) == (8, {})
    assert "So it is." in {item.native.explanation for item in loaded.items}
    # The reviser is the reviewer of the item, not its author.
    people = warehouse.query(
        "SELECT DISTINCT decision, author, reviewer FROM culturall_release_item ORDER BY 1"
    )
    assert people.rows() == [("accept", "writer", "ana"), ("revise", "writer", "ben")]
    # Without a new decision there is no new version.
    publish(tmp_path, "third.csv")
    assert warehouse.query("SELECT count(*) FROM culturall_release").item() == 1
    decide(tmp_path / "second.csv", ACCEPT)
    steps.read_review(tmp_path / "second.csv")
    publish(tmp_path, "fourth.csv")
    assert not (tmp_path / "fourth.csv").exists()  # no draft waits for a review
    numbers = warehouse.query("SELECT number, n_items FROM culturall_release ORDER BY number").rows()
    assert numbers == [(1, 8), (2, 9)]
    assert run_checks(warehouse)["n_violations"].sum() == 0


def test_every_planted_fault_is_rejected_and_the_rest_reviewed(
    warehouse: Warehouse, models: Models, pages: Pages, tmp_path: Path
) -> None:
    """Drafts are spoilt when they are written or labelled; only the others reach people."""
    first: dict[str, Any] = {}
    spoilt: dict[str, str] = {}

    def spoil(kind: str, item: Any, fields: Row) -> object:
        fault = spoilt.get(item.item)
        if kind == "label" and fault == "unknown_region":
            return fields | {"region": "UX"}
        if kind != "page":
            return fields
        match fault:
            case "answer_leaked":
                return fields | {"scenario": f"{fields['scenario']} {item.native.answer}."}
            case "wrong_language":
                english = item.english._asdict()
                return fields | {name: english[name] for name in ("scenario", "question")}
            case "broken_choice":
                return fields | {"options": ["1", "2", "3"]}
            case "near_duplicate":
                return {**fields_of(first["free"]), "explanation": "Other words."}
            case "unreadable":
                return "That depends."
        return fields

    by_id = {item.item: item for item in models.items}
    sample = [row["item"] for language in ("ja", "kk") for row in rows(language)[:5]]
    first["free"] = next(by_id[name] for name in sample if by_id[name].form == "free")
    rest = [name for name in sample if name != first["free"].item]
    free = [name for name in rest if by_id[name].form == "free" and not by_id[name].native.answer.isdecimal()]
    leaked = free[0]
    others = [name for name in rest if name != leaked]
    kinds = ("wrong_language", "broken_choice", "near_duplicate", "unreadable", "unknown_region")
    spoilt |= {leaked: "answer_leaked"} | dict(zip(others, kinds, strict=False))
    models.spoil = spoil
    create(pages=[pages(5, "ja kk")], solvers=[])
    publish(tmp_path)
    wanted = Counter(spoilt.values())
    caught = warehouse.query(
        "SELECT reason, n_drafts FROM culturall_build WHERE status = 'rejected_by_checks'"
    )
    assert {reason: n for reason, n in caught.rows() if reason in wanted} == wanted
    assert states(warehouse) == {"rejected_by_checks": len(spoilt), "review_waits": 10 - len(spoilt)}


@pytest.mark.heavy
def test_easy_drafts_are_elevated_and_measured_again(
    warehouse: Warehouse, models: Models, pages: Pages, tmp_path: Path
) -> None:
    """Drafts that two of three solve are elevated; an accepted proposal replaces its parent."""
    create(pages=[pages(4, "ja kk")])
    easy = warehouse.query("SELECT count(*) FROM culturall_draft_state WHERE NOT is_hard").item()
    assert easy >= 2
    queue = tmp_path / "harder.csv"
    given = {"model": "writer", "solvers": list(SOLVERS), "queue": str(queue)}
    run(ElevateParams, **given)
    assert states(warehouse) == {"drafted": 8, "elevation_waits": easy}
    techniques = {row["technique"] for row in lines(queue)}
    assert techniques <= {"long_tail", "more_context", "less_context", "composition"}
    assert len(techniques) == min(easy, 4)
    run(ElevateParams, **given | {"queue": str(tmp_path / "again.csv")})
    assert models.kinds.count("elevate") == easy  # a waiting proposal is not requested again

    decide(queue, REJECT, *[ACCEPT] * (easy - 1))
    steps.read_review(queue)
    # Each accepted proposal becomes a draft in its parent's place.
    assert states(warehouse) == {"drafted": 8, "replaced": easy - 1, "elevation_rejected": 1}
    create(model=None)
    measured = warehouse.query(
        "SELECT count(DISTINCT draft) FROM culturall_measure JOIN culturall_draft USING (draft) "
        "WHERE origin = 'elevation'"
    )
    assert measured.item() == easy - 1


@pytest.mark.heavy
def test_invalid_review_decisions_are_refused(
    warehouse: Warehouse, models: Models, pages: Pages, tmp_path: Path
) -> None:
    create(pages=[pages(1, "ja")], solvers=[])
    publish(tmp_path)
    queue = tmp_path / "review.csv"
    before = queue.read_bytes()
    for cells, message in (
        ({"reviewer": "Writer"}, "Writer is the author: another reviewer must decide"),
        ({"draft": "x"}, "no such draft waits in this warehouse"),
        ({"region": "US"}, "the texts were changed: write 'revise'"),
        ({"decision": "perhaps"}, "'perhaps' is not one of accept, revise, reject"),
    ):
        decide(queue, ACCEPT | cells)
        with pytest.raises(ReviewError, match=message):
            steps.read_review(queue)
        queue.write_bytes(before)
    decide(queue, REVISE | {"scenario": "A cat sleeps on the sofa of its family all day."})
    reviewed, _ = steps.read_review(queue)
    assert [fault.reason for _, faults in reviewed.faulty for fault in faults] == ["wrong_language"]
    assert warehouse.query("FROM culturall_review").is_empty()
    # A queue is never overwritten.
    with pytest.raises(FileExistsError):
        publish(tmp_path)


@pytest.mark.heavy
def test_drafts_from_datasets_and_people_are_stored_and_judged(
    warehouse: Warehouse, models: Models, tmp_path: Path
) -> None:
    """A question whose options the model changed has a fault; items by people need no drafting model."""
    choices = [item for item in models.items if item.form == "choice" and item.language == "ru"][:2]
    shown = [fields_of(item) | {"language": "ru", "region": item.region} for item in choices]
    (tmp_path / "old.json").write_text(json.dumps(shown), encoding="utf-8")
    own = [row | {"author": "ana"} for row in rows("km")[:2]] + [{"author": "ben", "language": "km"}]
    (tmp_path / "own.json").write_text(json.dumps(own), encoding="utf-8")

    def spoil(kind: str, item: Any, fields: Row) -> object:
        changed = kind == "dataset" and item.item == choices[1].item
        return fields | {"options": fields["options"][::-1]} if changed else fields

    models.spoil = spoil
    files = {"datasets": [str(tmp_path / "old.json")], "written": [str(tmp_path / "own.json")]}
    create(**files, solvers=["good"], judges=["judge"])
    faults = warehouse.query(
        "SELECT faults FROM culturall_draft WHERE origin = 'dataset' ORDER BY len(faults)"
    )
    assert faults["faults"].to_list() == [[], ["choice_changed"]]
    people = warehouse.query(
        "SELECT author, origin, request_hash FROM culturall_draft WHERE author_kind = 'person'"
    )
    assert people.rows() == [("ana", "person", None)] * 2
    judged = warehouse.query(
        "SELECT judged, is_right, judges <> '' AS by_judge FROM culturall_measure"
    ).rows()
    assert judged == [(True, True, True)] * 3
    assert models.kinds.count("judge") == 3
