"""Seeds to a plan, answers to rows, decisions to published items, in a real warehouse; no Prefect."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scrapers.countries import CountryCodes
from tasks.builders.specnorm import steps
from tasks.builders.specnorm.params import SpecnormParams
from tasks.builders.specnorm.review import ReviewError
from tasks.builders.specnorm.steps import Build
from tasks.engines.protocols import EngineError
from tasks.evaluations.cure.benchmarks import load_specnorm
from tasks.loop.prompts import Completion
from tasks.packs.published import BenchmarkError, read_rows
from tests.builders.specnorm.drafting_server import Writer, good, scene_of
from warehouse import Warehouse, run_checks

Make = Callable[..., Build]
Row = dict[str, Any]


@pytest.fixture
def make(warehouse: Warehouse, tmp_path: Path) -> Make:
    """Plan a build of four drafts by fake-a."""

    def plan(**given: Any) -> Build:
        own = {"model": "fake-a", "n": 4, "queue": str(tmp_path / "queue.csv")}
        return steps.plan(SpecnormParams.model_validate(own | given))

    return plan


def check(build: Build, writer: Writer = good) -> None:
    """Let ``writer`` answer what the build still asks for."""
    completions = {}
    for job in steps.open_jobs(build):
        written = writer(scene_of(list(steps.prompt(job.seed, job.stance).conversation)))
        text = written if isinstance(written, str) else json.dumps(written)
        completions[job.draft] = Completion(text, "stop", 1000, 400)
    steps.check.fn(build, completions)


def rows(path: Path) -> list[Row]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def decide(path: Path, **by_row: Row) -> None:
    """Fill in the rows of a queue, as ``row_0={"decision": "accept", …}``."""
    lines = rows(path)
    for name, cells in by_row.items():
        lines[int(name.removeprefix("row_"))] |= cells
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(lines[0]))
        writer.writeheader()
        writer.writerows(lines)


ACCEPT = {"decision": "accept", "reviewer": "ana"}
REJECT = {"decision": "reject", "reviewer": "ana", "note": "not so there"}
REVISE = {"decision": "revise", "reviewer": "ben", "note": "wording"}


def drafts(warehouse: Warehouse) -> dict[str, Row]:
    """Rows of specnorm_draft by seed."""
    return {row["seed"]: row for row in warehouse.query("FROM specnorm_draft").to_dicts()}


def items(warehouse: Warehouse) -> dict[str, Row]:
    return {row["seed"]: row for row in warehouse.query("FROM specnorm_item").to_dicts()}


def test_prompts_name_the_country_and_ask_for_both_answers(make: Make) -> None:
    build = make(n=20)
    names = dict(Warehouse.open().query("SELECT country, name FROM country").rows())
    asked = [scene_of(list(steps.prompt(*pair).conversation)) for pair in build.chosen]
    assert [scene.country for scene in asked] == [names[str(seed.country)] for seed, _ in build.chosen]
    assert len({scene.country for scene in asked}) >= 15
    assert [scene.stance for scene in asked].count("yes") == 13  # 65 % of 20


def test_seeds_from_a_file_replace_the_shipped_ones(make: Make, tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    file.write_text(
        "statement,country,ethnicity,region\nA guest is served first.,NO,Sámi,Finnmark|Troms\n"
        "Guests bring bread.,Atlantis,Atlantean,\nAll are kind.,NO,,\n",
        encoding="utf-8",
    )
    build = make(seeds=[str(file)])
    assert build.seeds.dropped == {"no_cue": 1}
    assert {(seed.country, seed.country_name) for seed, _ in build.chosen} == {
        ("NO", "Norway"),
        (None, "Atlantis"),
    }
    # A | would end the cue in files.
    assert {cue.value for seed, _ in build.chosen for cue in seed.cues} == {
        "Finnmark/Troms",
        "Sámi",
        "Atlantean",
    }


def test_bad_input_is_refused_before_anything_is_done(make: Make, tmp_path: Path) -> None:
    published = Warehouse.open().path.read_bytes()
    empty, taken = tmp_path / "empty.csv", tmp_path / "queue.csv"
    empty.write_text("name,place\na,b\n")
    with pytest.raises(
        BenchmarkError, match=r"empty\.csv: none of 1 rows fits .*expected the columns statement"
    ):
        make(seeds=[str(empty)])
    empty.write_text("statement,country,age\nAll are kind.,NO,any\n")
    with pytest.raises(BenchmarkError, match=r"no seed names a subgroup .*'no_cue': 1"):
        make(seeds=[str(empty)])
    with pytest.raises(BenchmarkError, match=r"none\.csv: cannot be read"):
        make(seeds=[str(tmp_path / "none.csv")])
    with pytest.raises(EngineError, match="there is no model 'nobody'"):
        make(model="nobody")
    with pytest.raises(ReviewError, match="there is no folder"):
        make(queue=str(tmp_path / "no" / "queue.csv"))
    taken.write_text("decisions")
    with pytest.raises(ReviewError, match=r"queue\.csv exists and may hold decisions"):
        make()
    assert taken.read_text() == "decisions"
    assert Warehouse.open().path.read_bytes() == published


def test_good_drafts_are_queued_and_bad_ones_kept_with_their_faults(make: Make, warehouse: Warehouse) -> None:
    build = make()
    norms = [seed.statement for seed, _ in build.chosen]

    def writer(scene: Any) -> object:
        draft = good(scene)
        number = norms.index(scene.norm)
        if number == 1:
            return "no JSON"
        if number == 2:  # two faults
            return draft | {"question": "Why is that?", "norm": "Bread is baked on Mondays"}
        return draft

    check(build, writer)
    stored = [drafts(warehouse)[seed.seed] for seed, _ in build.chosen]
    assert [row["status"] for row in stored] == [
        "queued",
        "rejected_by_checks",
        "rejected_by_checks",
        "queued",
    ]
    assert [row["faults"] for row in stored[:3]] == [
        [],
        ["unreadable"],
        ["norm_changed", "not_a_yes_no_question"],
    ]
    assert "not JSON" in stored[1]["fault_details"][0]
    assert (stored[1]["persona"], stored[1]["text_hash"]) == (None, None)
    assert stored[2]["question"] == "Why is that?"
    assert stored[0]["label"] == stored[0]["stance"]
    assert steps.queue.fn(build) == 2
    assert [row["seed"] for row in rows(Path(build.params.queue))] == [stored[0]["seed"], stored[3]["seed"]]
    assert run_checks(warehouse)["n_violations"].sum() == 0


def test_an_answer_at_its_limit_is_called_cut_off(make: Make, warehouse: Warehouse) -> None:
    build = make(n=1)
    steps.check.fn(build, {build.jobs[0].draft: Completion('{"persona": "Sa', "length", 1000, 512)})
    (row,) = drafts(warehouse).values()
    assert row["faults"] == ["cut_off"]


def test_near_duplicates_are_found_also_among_earlier_builds(make: Make, warehouse: Warehouse) -> None:
    """All scenes the same but for the cues: the first of all builds stays."""
    same = {"situation": f"Sam sees {' '.join(['bench', 'river', 'lamp', 'kettle'] * 12)}."}
    check(make(n=2), lambda scene: good(scene) | same)
    check(make(n=4), lambda scene: good(scene) | same)
    stored = drafts(warehouse).values()
    assert sorted(tuple(row["faults"]) for row in stored) == [(), *[("near_duplicate",)] * 3]
    first = make(n=1).chosen[0][0].seed
    assert drafts(warehouse)[first]["status"] == "queued"
    assert {row["fault_details"][0].split()[-1] for row in stored if row["faults"]} == {first}


def test_a_second_build_is_free_and_a_larger_one_drafts_the_rest(make: Make, warehouse: Warehouse) -> None:
    check(make())
    before = drafts(warehouse)
    assert steps.open_jobs(make()) == []
    larger = make(n=6)
    assert [job.seed.seed for job in steps.open_jobs(larger)] == [s.seed for s, _ in larger.chosen[4:]]
    check(larger)
    assert len(drafts(warehouse)) == 6
    assert {seed: row for seed, row in drafts(warehouse).items() if seed in before} == before


def test_a_seed_with_a_usable_draft_is_left_to_nobody_else(make: Make, tmp_path: Path) -> None:
    mine, other = make(), make(model="fake-b")
    bad = mine.chosen[0][0]
    check(mine, lambda scene: "no JSON" if scene.norm == bad.statement else good(scene))
    assert [job.seed for job in steps.open_jobs(other)] == [bad]
    steps.queue.fn(mine)
    decide(tmp_path / "queue.csv", row_0=REJECT)
    rejected = rows(tmp_path / "queue.csv")[0]["seed"]
    steps.review(tmp_path / "queue.csv")
    assert {job.seed.seed for job in steps.open_jobs(other)} == {bad.seed, rejected}
    # What a person rejected is not drafted by the same model again: it would write the same.
    assert [job.seed for job in steps.open_jobs(mine)] == [bad]


@pytest.fixture
def queue(make: Make, tmp_path: Path) -> Path:
    """Four drafts that wait."""
    build = make()
    check(build)
    assert steps.queue.fn(build) == 4
    return tmp_path / "queue.csv"


def test_decisions_are_stored_and_what_is_let_through_is_published(queue: Path, warehouse: Warehouse) -> None:
    new = {"situation": "Sam waits at the corner and then walks past the old mill without a word."}
    decide(queue, row_0=ACCEPT, row_1=REVISE | new, row_2=REJECT)
    out = queue.parent / "published.csv"
    reviewed = steps.review(queue, out)
    assert reviewed.counts == {"accept": 1, "revise": 1, "reject": 1, "pending": 1}
    assert reviewed.faulty == ()
    accepted, revised, rejected, pending = (drafts(warehouse)[row["seed"]] for row in rows(queue))
    assert (accepted["status"], accepted["reviewer"], accepted["note"]) == ("accepted", "ana", None)
    assert (revised["status"], revised["reviewer"], revised["note"]) == ("revised", "ben", "wording")
    assert (rejected["status"], rejected["note"]) == ("rejected", "not so there")
    assert (pending["status"], pending["reviewed_at"]) == ("queued", None)
    assert revised["situation"] != new["situation"]  # what the model wrote stays
    published = items(warehouse)
    assert set(published) == {accepted["seed"], revised["seed"]}
    item = published[revised["seed"]]
    assert item["situation"] == new["situation"]
    same = (
        "draft",
        "country",
        "country_name",
        "cues",
        "specificity",
        "model",
        "prompt_hash",
        "norm",
        "label",
    )
    assert {name: item[name] for name in same} == {name: revised[name] for name in same}
    assert (item["decision"], item["reviewer"], item["reviewed_at"]) == (
        "revise",
        "ben",
        revised["reviewed_at"],
    )
    names = {name: code for code, name in warehouse.query("SELECT country, name FROM country").rows()}
    loaded = load_specnorm({str(out): read_rows(out)}, CountryCodes(names))
    assert loaded.dropped == {}
    assert {(i.item, i.country, i.group) for i in loaded.items} == {
        (row["item"], row["country"], row["group_name"]) for row in published.values()
    }
    assert run_checks(warehouse)["n_violations"].sum() == 0


def test_a_file_can_be_read_again_and_a_later_decision_wins(queue: Path, warehouse: Warehouse) -> None:
    decide(queue, row_0=ACCEPT, row_1=ACCEPT)
    steps.review(queue)
    first, second = (row["seed"] for row in rows(queue)[:2])
    before = drafts(warehouse)
    decide(queue, row_1=REJECT, row_2=ACCEPT)
    assert steps.review(queue).counts == {"accept": 2, "revise": 0, "reject": 1, "pending": 1}
    assert set(items(warehouse)) == {first, rows(queue)[2]["seed"]}
    assert drafts(warehouse)[first] == before[first]  # its time stays
    assert drafts(warehouse)[second]["status"] == "rejected"
    text = {"persona": rows(queue)[0]["persona"] + " Sam is tall."}
    decide(queue, row_0=REVISE | text)
    steps.review(queue)
    published = items(warehouse)
    assert published[first]["persona"] == text["persona"]
    assert steps.review(queue).decisions == []
    assert items(warehouse) == published


def test_revised_texts_are_checked_and_a_faulty_one_is_not_published(
    queue: Path, warehouse: Warehouse
) -> None:
    first = rows(queue)[0]
    twin = {name: first[name] for name in ("situation", "question")} | {
        "persona": rows(queue)[2]["persona"].replace("Sam of", "Sam, of")
    }
    decide(queue, row_0=ACCEPT, row_1=REVISE | {"question": "Is it taboo? Really?"}, row_2=REVISE | twin)
    reviewed = steps.review(queue)
    reasons = [[fault.reason for fault in faults] for _, faults in reviewed.faulty]
    assert reasons == [["not_a_yes_no_question"], ["near_duplicate"]]
    assert [row.draft.seed for row, _ in reviewed.faulty] == [row["seed"] for row in rows(queue)[1:3]]
    assert set(items(warehouse)) == {first["seed"]}
    assert [drafts(warehouse)[row["seed"]]["status"] for row in rows(queue)[1:3]] == ["queued", "queued"]


def test_a_reviewer_may_correct_the_label(queue: Path, warehouse: Warehouse) -> None:
    row = rows(queue)[0]
    label = "no" if row["label"] == "yes" else "yes"
    decide(queue, row_0=REVISE | {"label": label})
    assert steps.review(queue).faulty == ()
    assert items(warehouse)[row["seed"]]["label"] == label
    assert drafts(warehouse)[row["seed"]]["label"] == row["label"]


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ({"seed": "seed-of-mine"}, "seed seed-of-mine: this warehouse has no such draft waiting"),
        ({"model": "another"}, "this warehouse has no such draft waiting"),
        ({"country": "Mars"}, "column country: not as in the draft"),
        ({"cues": "religion: Martian"}, "column cues: not as in the draft"),
        ({"statement": "Anything goes."}, "column statement: not as in the draft"),
        ({"decision": "yes"}, "line 2, column decision: 'yes' is not one of"),
    ],
)
def test_a_wrong_file_changes_nothing(queue: Path, warehouse: Warehouse, cells: Row, message: str) -> None:
    decide(queue, row_0=ACCEPT | cells, row_1=ACCEPT)
    before, out = warehouse.path.read_bytes(), queue.parent / "published.csv"
    with pytest.raises(ReviewError, match=message):
        steps.review(queue, out)
    assert warehouse.path.read_bytes() == before
    assert not out.exists()


def test_only_published_items_are_overwritten(queue: Path, tmp_path: Path) -> None:
    decide(queue, row_0=ACCEPT)
    before, out = queue.read_bytes(), tmp_path / "published.csv"
    with pytest.raises(ReviewError, match=r"queue\.csv exists and holds no published items"):
        steps.review(queue, queue)
    assert queue.read_bytes() == before
    with pytest.raises(ReviewError, match="there is no folder"):
        steps.review(queue, tmp_path / "no" / "published.csv")
    assert items(Warehouse.open()) == {}
    steps.review(queue, out)
    decide(queue, row_1=ACCEPT)
    steps.review(queue, out)
    assert len(rows(out)) == 2
