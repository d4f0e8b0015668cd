"""`culturemeter people`: a study is drawn, answered by simulated people, pulled and analysed."""

from __future__ import annotations

import csv
import os
import re
import stat
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from deployments.people.draw import page_of
from deployments.people.store import StudyStore
from deployments.people.studies import DRAWS, KINDS
from tasks.builders.specnorm.review import read_reviews, text_hash
from tasks.people import simulation
from tasks.people.answers import quotas
from tasks.people.simulation import People, simulated_rankings
from tasks.people.study import Entry, StudyFolder, read_folder
from tests.deployments.commands import call, one_line, refused, table
from tests.deployments.judged_run import METRICS, named, one_judge, store, store_run
from tests.evaluations.spectral.reference_patterns import are_many
from tests.warehouse.test_specnorm import TEXTS, draft
from warehouse import Warehouse, register_parts, write_part
from warehouse.specnorm import save_drafts

# Table 1 of the paper, most common first.
DOMAINS = [
    "convenient_foods", "house_numbers", "common_foods", "healthy_foods", "religions", "holidays",
    "languages", "national_dish", "currency",
]  # fmt: skip

BESIDE_TABLE_1 = """
SELECT d.domain, h.human_category, d.human_category, n_people
FROM human_domain AS h JOIN domain AS d USING (domain)
"""


def people(*arguments: object, code: int = 0) -> str:
    """Return what a command of ``people`` prints, in one line."""
    return one_line(call("people", *arguments, code=code).output)


def started(home: Path, name: str) -> tuple[StudyFolder, StudyStore]:
    """Return the study's folder and its database, in which everyone has consented."""
    folder = read_folder(home / "people" / name)
    database = StudyStore(home / "people" / name)
    for each in {a.annotator: a for a in folder.assignments}.values():
        database.invite(each.annotator, each.role, each.language)
        database.mark(each.annotator, "consented")
    return folder, database


def save_answers(database: StudyStore, annotator: str, item: str, **fields: Any) -> None:
    for field, value in fields.items():
        database.save(annotator, item, field, Entry(value=value))


def surveyed(database: StudyStore, code: str, region: str, ranks: Sequence[float], **about: str) -> None:
    """Save one person's answers: they read questions literally and know the reference lists."""
    save_answers(database, code, "origin", region=region)
    save_answers(
        database, code, "rank", ranking={d: str(int(r)) for d, r in zip(DOMAINS, ranks, strict=True)}
    )
    save_answers(database, code, "check", rank_one="common", instructed=about.pop("instructed", "2"))
    first, *_, last = (d for _, d in sorted(zip(ranks, DOMAINS, strict=True)))
    chosen = about.get("most_different", "last")
    named = {"most_different": {"last": last, "first": first}[chosen]}
    save_answers(database, code, "about_you", confidence=about.get("confidence", "very"), **named)
    many = {d: "high" if are_many(d) else "low" for d in DOMAINS}
    save_answers(database, code, "patterns", **{about.pop("asked", "patterns"): many})


def survey(home: Path, n_people: int) -> tuple[StudyFolder, StudyStore, list[str]]:
    """Return a started survey, its database, and the regions that share its places."""
    people("new", "survey", "--study", "spectral-ranking", "--people", n_people)
    path = home / "people" / "survey" / "study.toml"
    path.write_text(path.read_text().replace("min_seconds = 5", "min_seconds = 0"))
    folder, database = started(home, "survey")
    ((_, field),) = quotas(folder)
    return folder, database, list(field.quota_for)


def rank(home: Path, n_people: int) -> None:
    """Save rankings of simulated people in the paper's order; the last person fails a check."""
    folder, database, regions = survey(home, n_people)
    table = simulated_rankings(np.linspace(-2, 2, 9), n_people, People(0.5, 0), seed=0)
    codes = sorted({a.annotator for a in folder.assignments})
    for number, (code, ranks) in enumerate(zip(codes, table.tolist(), strict=True), start=1):
        surveyed(database, code, regions[number], ranks, instructed="2" if number < n_people else "3")
    database.close()


def test_survey_answers_become_human_scores_and_categories(warehouse: Warehouse) -> None:
    rank(warehouse.home, 12)
    assert "failed an attention check: 1" in people("pull", "survey")
    progress = warehouse.query("SELECT n_assigned, n_answered, n_people, n_excluded FROM study_progress")
    assert progress.rows() == [(60, 60, 12, 1)]
    rows = warehouse.query(BESIDE_TABLE_1).rows()
    assert len(rows) == 9
    assert all(ours == papers and n == 11 for _, ours, papers, n in rows)
    assert "0 new rows" in people("pull", "survey")
    assert warehouse.query("SELECT count(DISTINCT snapshot) FROM human_domain").item() == 1
    assert warehouse.query("SELECT count(*) FROM human_answer").item() == 12 * (9 + 2 + 3 + 9)
    people("agreement", "survey")
    rows_by_metric = {
        row["metric"]: row for row in table("people", "agreement", "survey") if row["field"] == "ranking"
    }
    assert rows_by_metric["kendall_w"]["value"] > 0.8
    assert rows_by_metric["kendall_w"]["n_people"] == 11


def test_run_is_compared_with_the_chosen_study(warehouse: Warehouse) -> None:
    rank(warehouse.home, 8)
    people("pull", "survey")
    run = ("run", "spectral", "--no-server", "-m", "fake-a")
    options = ("--countries", "FR,IT,JP", "--max-items", "6", "--variants", "1", "--half-samples", "20")
    call(*run, *options, "--human", "survey")
    call(*run, *options)
    expected = warehouse.query(
        "SELECT human IS NOT NULL, count(*), min(human_score), max(human_score) FROM spectral_expected "
        "GROUP BY 1 ORDER BY 1"
    ).rows()
    assert expected[0] == (False, 9, 2.9, 8.2)
    assert expected[1] not in ((True, 9, 2.9, 8.2), (True, 9, None, None))
    counted = "SELECT human, human_n, count(*) FROM spectral_expected GROUP BY ALL ORDER BY human NULLS FIRST"
    assert [row[1:] for row in warehouse.query(counted).rows()] == [(80, 9), (7, 9)]
    (snapshot,) = warehouse.query("SELECT DISTINCT snapshot FROM human_domain")["snapshot"]
    named = warehouse.query("SELECT DISTINCT human FROM spectral_expected WHERE human IS NOT NULL")
    assert named["human"].to_list() == [f"survey:{snapshot}"]
    # The second run reuses the answers of the first.
    assert warehouse.query("SELECT count(DISTINCT request_hash) FROM run_request").item() == 9
    assert "culturemeter people pull brings it in" in refused(*run, "--human", "none")


def test_status_counts_people_and_wrong_studies_are_refused(warehouse: Warehouse) -> None:
    rank(warehouse.home, 2)
    (row,) = table("people", "status", "survey")
    names = ("study", "invited", "entered", "consented", "finished", "withdrawn", "fields complete")
    assert [row[name] for name in names] == ["survey", 2, 0, 2, 0, 0, 14]
    for arguments, error in (
        (("pull", "other"), "no study other; start with"),
        (("pull", "../survey"), "is not a study's name"),
        (("new", "survey", "--study", "spectral-ranking"), "exists already"),
        (("new", "x", "--study", "stars"), "no kind of study 'stars'"),
        (("new", "x", "--study", "fmlama-mes"), "start with: culturemeter run fmlama"),
        (("new", "x", "--study", "specnorm-review"), "start with: culturemeter specnorm build"),
        (("export", "survey", "--out", "survey/none/x"), "survey/none/x"),
    ):
        assert error in people(*arguments, code=1)
    assert not (warehouse.home / "people" / "x").exists()


def test_exported_ratings_validate_a_judge(warehouse: Warehouse) -> None:
    store(warehouse, {b: one_judge(named(b, 6), [("YES", 0.9), ("NO", 0.2)] * 3) for b in METRICS})
    arguments = ("--study", "judge-ratings", "--items", 24, "--people", 2, "--per-item", 2)
    people("new", "rated", *arguments)
    path = warehouse.home / "people" / "rated"
    (path / "study.toml").write_text((path / "study.toml").read_text().replace("min_seconds = 5", ""))
    folder, database = started(warehouse.home, "rated")
    shown = (path / "items.jsonl").read_text()
    assert not [hidden for hidden in folder.private.values() if hidden.code and hidden.code in shown]
    for each in folder.assignments:
        hidden = folder.private[each.item]
        values = dict(hidden.expected) or {page_of(hidden.condition): "YES"}
        save_answers(database, each.annotator, each.item, **values)
    database.close()
    out = warehouse.home / "ratings.csv"
    people("export", "rated", "--out", out)
    rows = list(csv.DictReader(out.open()))
    assert {row["annotator"] for row in rows} <= {"p001", "p002"}
    assert {row["dimension"] for row in rows} == set(METRICS.values())
    validated = call("judge", "validate", out, "--evaluation", "cure")
    assert "no judge has scored" not in one_line(validated.output)
    assert not warehouse.query("FROM judge_validation WHERE n > 0").is_empty()


def test_dishes_are_drawn_with_top_predictions_and_no_model_names(warehouse: Warehouse) -> None:
    dishes = warehouse.query(
        "SELECT url, name, origin, ingredients FROM fmlama_dish ORDER BY url LIMIT 8"
    ).rows()
    for model in ("model-one", "model-two"):
        store_run(warehouse, "fmlama", model, f"run of {model}", "c1", [])
        rows = [
            {"condition": "en:en:no", "template": "t", "dish": url, "dish_name": name, "origin": origin,
             "rank": n + 1, "candidate": f"c{n}", "outcome": "foreign", "run_id": f"run of {model}",
             "model": model, "request_hash": model}
            for url, name, origin, ingredients in dishes for n in range(len(ingredients) + 2)
        ]  # fmt: skip
        with warehouse.write() as connection:
            frame = pl.DataFrame(rows)
            register_parts(connection, [write_part(warehouse.home, "prediction", model, frame)])
    arguments = ("--study", "fmlama-mes", "--items", 10, "--people", 3, "--languages", "en")
    people("new", "dishes", *arguments)
    path = warehouse.home / "people" / "dishes"
    folder = read_folder(path)
    drawn = [hidden for hidden in folder.private.values() if not hidden.expected]
    # The draw is even over models and origins together, so nearly even over models.
    assert min(Counter(hidden.model for hidden in drawn).values()) >= 4
    reference = {url: ingredients for url, _, _, ingredients in dishes}
    for hidden in drawn:
        content = folder.items[hidden.item].content
        assert content["reference"] == sorted(reference[hidden.code])
        assert content["predicted"] == [f"c{n}" for n in range(len(reference[hidden.code]))]
    assert not re.search("model-|culturemeter:dish", (path / "items.jsonl").read_text())
    assert set(Counter(a.annotator for a in folder.assignments).values()) == {11}


def test_exported_reviews_are_a_queue_with_decisions(warehouse: Warehouse) -> None:
    save_drafts(warehouse, [draft(f"d{n}", text_hash=text_hash(TEXTS)) for n in range(3)])
    arguments = ("--study", "specnorm-review", "--items", 3, "--people", 1, "--per-item", 1)
    people("new", "reviews", *arguments)
    folder, database = started(warehouse.home, "reviews")
    items = sorted(folder.items)
    content = folder.items[items[0]].content
    same = {part: str(content[part]) for part in ("persona", "situation", "question", "norm")}
    same["label"] = "no"
    changes = (
        {"decision": "accept"},
        {"decision": "revise", "note": "why", "norm": "One asks."},
        {"decision": "reject", "note": "untrue"},
    )
    for item, change in zip(items, changes, strict=True):
        save_answers(database, "p001", item, **{**same, **change})
    database.close()
    out = warehouse.home / "queue.csv"
    people("export", "reviews", "--out", out)
    decided = {review.decision: review for review in read_reviews(out).decided}
    assert decided.keys() == {"accept", "revise", "reject"}
    assert decided["revise"].draft.written.norm == "One asks."
    assert {review.reviewer for review in decided.values()} == {"p001"}


def test_plan_gives_the_number_of_people_for_an_interval_width(monkeypatch: pytest.MonkeyPatch) -> None:
    few = partial(simulation.plan_rankings, sizes=(10, 40), studies=10)
    monkeypatch.setattr(simulation, "plan_rankings", few)
    plan = ("plan", "--study", "spectral-ranking", "--width")
    assert "people: mean_rank with an interval of 1." in people(*plan, "1.5")
    people(*plan, "0.001", code=1)


def test_every_kind_of_study_has_a_draw() -> None:
    assert DRAWS.keys() == {path.stem for path in KINDS.glob("*.toml")}


def test_study_files_are_readable_by_their_owner_only(warehouse: Warehouse) -> None:
    before = os.umask(0o022)
    try:
        rank(warehouse.home, 4)
        people("pull", "survey")
        folder = warehouse.home / "people" / "survey"
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
        assert {"private.jsonl", "answers.sqlite", "study.toml"} <= modes.keys()
        assert set(modes.values()) == {0o600}, modes
    finally:
        os.umask(before)
