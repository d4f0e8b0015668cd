"""`culturemeter judge` with verdict words: FmLAMA's predicted ingredients through audit and validate."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from tasks.evaluations.fmlama.judge import JudgedDish, judge_prompts, read_marks, rubric, verdict_rows
from tasks.judging.verdicts import verdict_frame
from tasks.loop.prompts import Completion
from tasks.loop.requests import Engine
from tests.deployments.commands import call, one_line, refused, table
from tests.deployments.judged_run import GOLDEN, STORED, audited, named, one_judge, store, store_run
from warehouse import Warehouse

ORIGINS = ("Canada", "Japan", "Italy")
MARKS = ("Correct", "Maybe", "Incorrect")
REASON = {"Correct": "direct match", "Maybe": "ambiguous name", "Incorrect": "not used"}


def marked(warehouse: Warehouse, model: str) -> None:
    """Store a run in which a judge marks three ingredients of two dishes per origin, best for Italy."""
    dishes = [
        JudgedDish(f"url/{o}{d}", f"dish {d} of {origin}", origin, ("salt", "oil", "rice"), tuple("abc"))
        for o, origin in enumerate(ORIGINS)
        for d in range(2)
    ]
    prompts = judge_prompts(rubric(), dishes)
    completions = {}
    for number, prompt in enumerate(prompts):
        marks_by_key = {
            key: MARKS[0] if place <= number / 2 else MARKS[number % 2 + 1] for place, key in enumerate("abc")
        }
        answer = {key: {"verdict": word, "reason": REASON[word]} for key, word in marks_by_key.items()}
        completions[prompt.prompt.id] = Completion(json.dumps(answer), "stop", 1, 1)
    engine = Engine("strict", "fake", "maker/strict", "hash of strict")
    marks = read_marks(rubric(), prompts, completions)
    frame = verdict_frame(verdict_rows(engine, rubric(), marks))
    store_run(warehouse, "fmlama", model, f"f1-{model}".replace(":", "-"), "f1", [frame])


def filled_in(name: str, rows: list[dict[str, str]], verdicts: dict[str, str]) -> Path:
    """Write an annotator's file with these verdicts by code."""
    path = Path(f"{name}.csv")
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(row | {"annotator": name, "rating": verdicts[row["item"]]} for row in rows)
    return path


def test_audit_and_validation_take_verdict_words(warehouse: Warehouse) -> None:
    marked(warehouse, "m1")
    notes = one_line(call("judge", "audit", "--sample", 100).stderr)
    assert "18 of 18 answers from 1 strata" in notes
    assert "validate audit.csv --evaluation fmlama --config f1" in notes
    rows = audited(Path("audit.csv"))
    assert {(row["group"], row["answer"]) for row in rows} == {(o, key) for o in ORIGINS for key in "abc"}
    first = rows[0]
    assert first["question"].splitlines()[1] == "Reference ingredients: salt, oil, rice"
    assert "Correct, Maybe, Incorrect" in first["criteria"]
    assert not {"m1", "strict"} & {cell for row in rows for cell in row.values()}

    stored = warehouse.query("SELECT item_text, judged, verdict FROM verdict").to_dicts()
    verdicts = {(row["item_text"], row["judged"]): row["verdict"] for row in stored}
    right = {row["item"]: verdicts[row["question"], row["answer"]] for row in rows}
    files = [filled_in("ana", rows, right), filled_in("ben", rows, right)]
    groups = {(r["metric"], r["group"]): r for r in table("judge", "validate", *files, "--table", "groups")}
    # People agree with the judge: kappa is 1, but unscored for Italy, where all is Correct; means are equal.
    assert [groups["fleiss_kappa", origin]["value"] for origin in ORIGINS] == [1.0, 1.0, None]
    assert groups["fleiss_kappa", "Italy"]["unscored_reason"] == "all ratings are the same verdict"
    for origin in ORIGINS:
        assert groups["people_mean", origin]["value"] == groups["judge_mean", origin]["value"]
    # Correct of 3: 1 and 1 in Canada, 2 and 2 in Japan, 3 and 3 in Italy.
    means = [groups["judge_mean", origin]["value"] for origin in ORIGINS]
    assert means == pytest.approx([1 / 3, 2 / 3, 1.0])
    for metric in ("pearson_groups", "spearman_groups", "pearson_items", "spearman_items"):
        assert groups[metric, "all"]["value"] == pytest.approx(1.0)
    numbers = {(d, metric): (value, n) for _, d, metric, value, n in warehouse.query(STORED).rows()}
    assert numbers["mes", "cohen_kappa"] == (1.0, 18)
    assert numbers["mes", "krippendorff_alpha_nominal"] == (pytest.approx(1.0), 18)
    joined = "SELECT DISTINCT judge, judge_hash, rubric FROM judge_validation"
    assert warehouse.query(joined).rows() == [("strict", "hash of strict", f"mes {rubric().hash()}")]


def test_disagreement_on_one_origin_lowers_only_its_kappa(warehouse: Warehouse) -> None:
    marked(warehouse, "m1")
    call("judge", "audit")
    rows = audited(Path("audit.csv"))
    ana = {row["item"]: "Correct" if row["answer"] == "a" else "Incorrect" for row in rows}
    # "Maybe" has the value of "Incorrect" and is another verdict.
    ben = {
        row["item"]: "Maybe" if (row["group"], row["answer"]) == ("Japan", "b") else ana[row["item"]]
        for row in rows
    }
    files = [filled_in("ana", rows, ana), filled_in("ben", rows, ben)]
    rows_by_group = table("judge", "validate", *files, "--table", "groups")
    groups = {(row["metric"], row["group"]): row["value"] for row in rows_by_group}
    assert groups["fleiss_kappa", "Italy"] == groups["fleiss_kappa", "Canada"] == 1.0
    # Japan: 4 of 6 answers agree. Of 12 ratings 4 are Correct, 2 Maybe, 6 Incorrect: by chance 56/144.
    assert groups["fleiss_kappa", "Japan"] == pytest.approx((4 / 6 - 56 / 144) / (1 - 56 / 144))
    assert groups["people_mean", "Japan"] == pytest.approx(1 / 3)


def test_audit_takes_the_chosen_evaluation_and_no_null_models(warehouse: Warehouse) -> None:
    marked(warehouse, "m1")
    marked(warehouse, "null:common")
    store(warehouse, {"normad": one_judge(named("normad", 6), GOLDEN)})
    assert "--evaluation cure" in one_line(call("judge", "audit", "--out", "newest.csv").stderr)
    chosen = one_line(call("judge", "audit", "--evaluation", "fmlama").stderr)
    assert "18 of 18 answers from 1 strata" in chosen
    assert "--evaluation fmlama" in chosen
    missing = refused("judge", "audit", "--evaluation", "spectral")
    assert "no judge has scored answers of spectral; start with: culturemeter run spectral" in missing
