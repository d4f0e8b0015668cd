"""Plans from seeds, rows from answers and published items from decisions, in a real warehouse."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from flows.build import planned
from scrapers.countries import CountryCodes
from tasks.builders.specnorm import steps
from tasks.builders.specnorm.params import SpecnormParams
from tasks.builders.specnorm.study import SpecnormStudy, prompt
from tasks.data import TableError
from tasks.engines.protocols import EngineError
from tasks.evaluations.cure.published import load_specnorm
from tasks.loop.prompts import Completion
from tasks.packs.published import read_rows
from tasks.people.review_file import ReviewError
from tests.builders.queue_files import ACCEPT, REJECT, REVISE, decide, lines
from tests.builders.specnorm.drafting_server import Writer, good, scene_of
from warehouse import Warehouse, run_checks

Make = Callable[..., SpecnormStudy]
Row = dict[str, Any]


@pytest.fixture
def make(warehouse: Warehouse, tmp_path: Path) -> Make:
    """A function that plans a build of four drafts by fake-a, each with its own queue."""
    numbers = count()

    def plan(**given: Any) -> SpecnormStudy:
        own = {"model": "fake-a", "n": 4, "queue": str(tmp_path / f"queue-{next(numbers)}.csv")}
        study = planned(steps.DRAFT, SpecnormParams.model_validate(own | given)).study
        assert isinstance(study, SpecnormStudy)
        return study

    return plan


def write(study: SpecnormStudy, writer: Writer = good) -> Path:
    """Let ``writer`` answer the open requests of the build; return the queue."""
    completions = {}
    for job in steps.open_jobs(study):
        written = writer(scene_of(list(prompt(job.seed, job.stance).conversation)))
        is_whole = isinstance(written, str)
        text, finish = (written, "length") if is_whole else (json.dumps(written), "stop")
        completions[job.draft] = Completion(str(text), finish, 1000, 400)
    steps.save(study, {study.engine.name: completions}, {study.engine.name: "run-1"})
    return Path(study.knobs.queue)


@pytest.fixture
def queue(make: Make) -> Path:
    """A queue of four drafts."""
    return write(make())


def drafts(warehouse: Warehouse) -> dict[str, Row]:
    """Return rows of specnorm_draft by seed."""
    return {row["seed"]: row for row in warehouse.query("FROM specnorm_draft").to_dicts()}


def items(warehouse: Warehouse) -> dict[str, Row]:
    return {row["seed"]: row for row in warehouse.query("FROM specnorm_item").to_dicts()}


def test_prompts_have_the_country_and_65_percent_yes(make: Make) -> None:
    study = make(n=20)
    names = dict(Warehouse.open().query("SELECT country, name FROM country").rows())
    scenes = [scene_of(list(prompt(*pair).conversation)) for pair in study.chosen]
    assert [scene.country for scene in scenes] == [names[str(seed.country)] for seed, _ in study.chosen]
    assert len({scene.country for scene in scenes}) >= 15
    assert [scene.stance for scene in scenes].count("yes") == 13  # 65 % of 20


def test_hashes_of_request_configuration_and_drafts_are_unchanged(make: Make) -> None:
    """A build that was started before an upgrade resumes only with equal hashes."""
    study = make(n=2)
    names = [study.request_hash, study.config_hash(), study.jobs[0].draft]
    assert names == ["007c0213974ef04d", "a2b02d2c7d9f1016", "d7d50f0046295a41"]


def test_seeds_from_a_file_replace_the_shipped_ones(make: Make, tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    file.write_text(
        "statement,country,ethnicity,region\nA guest is served first.,NO,Sámi,Finnmark|Troms\n"
        "Guests bring bread.,Atlantis,Atlantean,\nAll are kind.,NO,,\n",
        encoding="utf-8",
    )
    study = make(seeds=[str(file)])
    assert study.seeds.dropped == {"no_cue": 1}
    places = {(seed.country, seed.country_name) for seed, _ in study.chosen}
    assert places == {("NO", "Norway"), (None, "Atlantis")}
    values = {cue.value for seed, _ in study.chosen for cue in seed.cues}
    assert values == {"Finnmark/Troms", "Sámi", "Atlantean"}  # a | would end the cue in files


def test_bad_input_is_refused_and_changes_nothing(make: Make, tmp_path: Path) -> None:
    published = Warehouse.open().path.read_bytes()
    other, generic, taken = tmp_path / "other.csv", tmp_path / "generic.csv", tmp_path / "taken.csv"
    other.write_text("name,place\na,b\n")
    generic.write_text("statement,country,age\nAll are kind.,NO,any\n")
    taken.write_text("decisions")
    for given, error, message in (
        ({"seeds": [str(other)]}, TableError, r"other\.csv: none of 1 rows fits .*expected the columns"),
        ({"seeds": [str(generic)]}, TableError, r"no seed names a subgroup .*'no_cue': 1"),
        ({"seeds": [str(tmp_path / "none.csv")]}, TableError, r"none\.csv: cannot be read"),
        ({"model": "nobody"}, EngineError, "unknown model 'nobody'; known: "),
        ({"queue": str(tmp_path / "no" / "queue.csv")}, ReviewError, "there is no folder"),
        ({"queue": str(taken)}, ReviewError, r"taken\.csv exists and may hold decisions"),
    ):
        with pytest.raises(error, match=message):
            make(**given)
    assert taken.read_text() == "decisions"
    assert Warehouse.open().path.read_bytes() == published


def test_good_drafts_are_queued_and_bad_ones_stored_with_their_faults(
    make: Make, warehouse: Warehouse
) -> None:
    study = make()
    norms = [seed.statement for seed, _ in study.chosen]
    wrong = {"question": "Why is that?", "norm": "Bread is baked on Mondays"}
    answers: list[Any] = [{}, '{"persona": "Sa', wrong, {}]

    def writer(scene: Any) -> object:
        answer = answers[norms.index(scene.norm)]
        return answer if isinstance(answer, str) else good(scene) | answer

    queued = lines(write(study, writer))
    stored = [drafts(warehouse)[seed.seed] for seed, _ in study.chosen]
    faults = [[], ["cut_off"], ["norm_changed", "not_a_yes_no_question"], []]
    assert [row["faults"] for row in stored] == faults
    assert [row["status"] for row in stored] == ["rejected_by_checks" if own else "queued" for own in faults]
    assert "no complete JSON object" in stored[1]["fault_details"][0]
    assert (stored[1]["persona"], stored[1]["text_hash"]) == (None, None)
    assert (stored[0]["label"], stored[2]["question"]) == (stored[0]["stance"], "Why is that?")
    assert [row["seed"] for row in queued] == [stored[0]["seed"], stored[3]["seed"]]
    assert run_checks(warehouse)["n_violations"].sum() == 0


def test_near_duplicates_of_earlier_builds_are_found(make: Make, warehouse: Warehouse) -> None:
    """All scenes differ only in their cues: the first of all builds stays."""
    same = {"situation": f"Sam sees {' '.join(['bench', 'river', 'lamp', 'kettle'] * 12)}."}
    for n in (2, 4):
        write(make(n=n), lambda scene: good(scene) | same)
    stored = drafts(warehouse).values()
    assert sorted(tuple(row["faults"]) for row in stored) == [(), *[("near_duplicate",)] * 3]
    first = make(n=1).chosen[0][0].seed
    assert drafts(warehouse)[first]["status"] == "queued"
    assert {row["fault_details"][0].split()[-1] for row in stored if row["faults"]} == {first}


def test_seed_is_drafted_again_only_after_a_rejected_draft(make: Make, warehouse: Warehouse) -> None:
    mine, other = make(), make(model="fake-b")
    bad = mine.chosen[0][0]
    path = write(mine, lambda scene: "no JSON" if scene.norm == bad.statement else good(scene))
    before = drafts(warehouse)
    assert [job.seed for job in steps.open_jobs(other)] == [bad]
    larger = make(n=6)
    assert [job.seed for job in steps.open_jobs(larger)[1:]] == [seed for seed, _ in larger.chosen[4:]]
    rejected = decide(path, REJECT)[0]["seed"]
    steps.review(path)
    assert {job.seed.seed for job in steps.open_jobs(other)} == {bad.seed, rejected}
    # A draft that a person rejected is not requested from the same model again.
    assert [job.seed for job in steps.open_jobs(mine)] == [bad]
    write(larger)
    assert {row["status"] for row in drafts(warehouse).values()} == {"queued", "rejected"}
    unchanged = before.keys() - {bad.seed, rejected}
    assert {seed: drafts(warehouse)[seed] for seed in unchanged} == {s: before[s] for s in unchanged}


def test_decisions_are_stored_and_accepted_items_published(queue: Path, warehouse: Warehouse) -> None:
    new = {"situation": "Sam waits at the corner and then walks past the old mill without a word."}
    seeds = [row["seed"] for row in decide(queue, ACCEPT, REVISE | new, REJECT)]
    out = queue.parent / "published.csv"
    reviewed = steps.review(queue, out)
    assert (reviewed.counts, reviewed.faulty) == ({"accept": 1, "revise": 1, "reject": 1, "pending": 1}, ())
    stored = [drafts(warehouse)[seed] for seed in seeds]
    assert [(row["status"], row["reviewer"], row["note"]) for row in stored] == [
        ("accepted", "ana", None), ("revised", "ben", "wording"), ("rejected", "ana", "not so there"),
        ("queued", None, None),
    ]  # fmt: skip
    revised = stored[1]
    assert revised["situation"] != new["situation"]  # the model's text stays
    published = items(warehouse)
    assert set(published) == set(seeds[:2])
    names = "draft country country_name cues specificity model prompt_hash norm label reviewer reviewed_at"
    as_drafted = {name: revised[name] for name in names.split()}
    assert as_drafted | new | {"decision": "revise"} == {
        name: published[seeds[1]][name] for name in [*as_drafted, *new, "decision"]
    }
    countries = dict(warehouse.query("SELECT name, country FROM country").rows())
    loaded = load_specnorm({str(out): read_rows(out)}, CountryCodes(countries))
    assert loaded.dropped == {}
    assert {(i.item, i.country, i.group) for i in loaded.items} == {
        (row["item"], row["country"], row["group_name"]) for row in published.values()
    }
    assert run_checks(warehouse)["n_violations"].sum() == 0


def test_later_decision_replaces_an_earlier_one(queue: Path, warehouse: Warehouse) -> None:
    first, second, third, _ = (row["seed"] for row in decide(queue, ACCEPT, ACCEPT))
    steps.review(queue)
    before = drafts(warehouse)
    rows = decide(queue, ACCEPT, REJECT, ACCEPT)
    assert steps.review(queue).counts == {"accept": 2, "revise": 0, "reject": 1, "pending": 1}
    assert set(items(warehouse)) == {first, third}
    assert drafts(warehouse)[first] == before[first]  # its time stays
    assert drafts(warehouse)[second]["status"] == "rejected"
    label = "no" if rows[0]["label"] == "yes" else "yes"  # a reviewer may correct it
    decide(queue, REVISE | {"label": label})
    assert steps.review(queue).faulty == ()
    published = items(warehouse)
    assert (published[first]["label"], drafts(warehouse)[first]["label"]) == (label, rows[0]["stance"])
    assert steps.review(queue).decisions == []
    assert items(warehouse) == published


def test_faulty_revision_is_not_published(queue: Path, warehouse: Warehouse) -> None:
    first, _, third, _ = lines(queue)
    persona = third["persona"].replace("Sam of", "Sam, of")
    twin = {name: first[name] for name in ("situation", "question")} | {"persona": persona}
    rows = decide(queue, ACCEPT, REVISE | {"question": "Is it taboo? Really?"}, REVISE | twin)
    faulty = [(row.draft.seed, [f.reason for f in faults]) for row, faults in steps.review(queue).faulty]
    wanted = [["not_a_yes_no_question"], ["near_duplicate"]]
    assert faulty == list(zip([row["seed"] for row in rows[1:3]], wanted, strict=True))
    assert set(items(warehouse)) == {first["seed"]}
    assert {drafts(warehouse)[row["seed"]]["status"] for row in rows[1:]} == {"queued"}


def test_wrong_review_file_changes_nothing(queue: Path, warehouse: Warehouse) -> None:
    original, before, out = queue.read_bytes(), warehouse.path.read_bytes(), queue.parent / "published.csv"
    for cells, message in (
        ({"seed": "seed-of-mine"}, "seed seed-of-mine: no such draft waits in this warehouse"),
        ({"model": "another"}, "no such draft waits in this warehouse"),
        ({"country": "Mars"}, "column country: not as in the draft"),
        ({"cues": "religion: Martian"}, "column cues: not as in the draft"),
        ({"statement": "Anything goes."}, "column statement: not as in the draft"),
        ({"decision": "yes"}, "line 2, column decision: 'yes' is not one of"),
    ):
        decide(queue, ACCEPT | cells, ACCEPT)
        with pytest.raises(ReviewError, match=message):
            steps.review(queue, out)
        queue.write_bytes(original)
    decide(queue, ACCEPT)
    for place, message in ((queue, "is not a file of published items"), (out / "x", "does not exist")):
        with pytest.raises(ReviewError, match=message):
            steps.review(queue, place)
    assert warehouse.path.read_bytes() == before
    assert not out.exists()
    for n in (1, 2):  # an earlier file of published items is replaced
        decide(queue, *[ACCEPT] * n)
        steps.review(queue, out)
        assert len(lines(out)) == n
