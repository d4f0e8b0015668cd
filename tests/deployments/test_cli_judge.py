"""`culturescope judge audit`: a file for people, drawn from judged explanations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tasks.evaluations.cure.params import CureParams
from tests.deployments.judged_run import (
    GOLDEN,
    METRICS,
    Judgements,
    audited,
    judge,
    materials,
    one_judge,
    rated,
    shipped,
    store,
    table,
    words,
)
from warehouse import Warehouse


def all_benchmarks(warehouse: Warehouse, n: int = 5) -> Judgements:
    return {b: one_judge(shipped(warehouse, b, n), [("YES", 0.9)] * n) for b in METRICS}


def test_audit_draws_of_every_stratum_what_people_need(warehouse: Warehouse) -> None:
    for model in ("m1", "m2"):
        store(warehouse, all_benchmarks(warehouse), model)
    result = judge("audit", "--sample", 24, "--out", "mine.csv")
    assert result.exit_code == 0, result.output
    rows = audited(Path("mine.csv"))
    assert len(rows) == 24
    # 24 of eight strata of five explanations each: three of each.
    assert "24 of 40 explanations, of 8 strata" in words(result)
    assert "culturescope judge validate mine.csv --config c1" in words(result)
    assert result.stdout.count("m1") == result.stdout.count("m2") == 4
    assert {d: sum(r["dimension"] == d for r in rows) for d in METRICS.values()} == dict.fromkeys(
        METRICS.values(), 6
    )
    assert {(row["annotator"], row["rating"]) for row in rows} == {("", "")}
    golds = set(warehouse.query("SELECT gold FROM cure_item")["gold"])
    for row in rows:
        assert row["question"].split("Norm, to be taken as right: ")[1] in golds
        assert "YES" in row["criteria"]
        assert "JSON" not in row["criteria"]
        assert ("Person: " in row["question"]) == (row["dimension"] in ("coherence", "specificity"))
        assert ("Symbol: " in row["question"]) == (row["dimension"] == "connotation")
        assert ("Subgroup: " in row["question"]) == (row["dimension"] == "specificity")


def test_an_audit_is_the_same_again_and_never_overwritten(warehouse: Warehouse) -> None:
    store(warehouse, all_benchmarks(warehouse))
    for out, seed in (("a.csv", 0), ("b.csv", 0), ("c.csv", 1)):
        assert judge("audit", "--sample", 8, "--out", out, "--seed", seed).exit_code == 0
    first, again, other = (Path(f"{name}.csv").read_bytes() for name in "abc")
    assert first == again != other
    Path("a.csv").write_text("with ratings")
    result = judge("audit", "--out", "a.csv")
    assert result.exit_code == 1
    assert "a.csv exists, perhaps with ratings in it: name another file with --out" in words(result)
    assert Path("a.csv").read_text() == "with ratings"


def test_audit_of_too_few_or_of_nothing(warehouse: Warehouse) -> None:
    result = judge("audit")
    assert result.exit_code == 1
    assert "no judge has scored explanations; start with: culturescope run cure" in words(result)
    store(warehouse, all_benchmarks(warehouse))
    assert "under configuration c9" in words(judge("audit", "--config", "c9"))
    result = judge("audit", "--sample", 3)
    assert result.exit_code == 1
    assert "ask for 4 at least" in words(result)
    assert not Path("audit.csv").exists()


def test_only_the_newest_finished_run_of_a_model_is_rated(warehouse: Warehouse) -> None:
    items = shipped(warehouse, "normad", 6)
    wrong = [("NO" if verdict == "YES" else "YES", 1 - graded) for verdict, graded in GOLDEN]
    store(warehouse, {"normad": one_judge(items, wrong)}, rerun="-1")
    store(warehouse, {"normad": one_judge(items)}, rerun="-2")
    store(warehouse, {"normad": one_judge(items, wrong)}, rerun="-3", status="failed")
    assert judge("audit").exit_code == 0
    assert len(audited(Path("audit.csv"))) == len(items)
    agreed = {"ana": ["yes" if verdict == "YES" else "no" for verdict, _ in GOLDEN]}
    file = rated(Path("ratings.csv"), items, agreed)
    kappa = {row["metric"]: row["value"] for row in table("validate", file, "--bootstrap", 20)}["cohen_kappa"]
    assert kappa == 1.0


def test_audit_shows_the_norms_of_a_users_file(warehouse: Warehouse) -> None:
    row = {
        "persona": "Iris, a nurse", "situation": "She is offered tea.", "question": "May she refuse?",
        "label": "no", "norm": "One cup is always taken.", "cues": "region: Sylt", "country": "Germany",
    }  # fmt: skip
    file = Path("mine.json")
    file.write_text(json.dumps([row]))
    params: dict[str, Any] = {"benchmarks": ["specnorm"], "files": {"specnorm": ["mine.json"]}}
    (item,) = materials(warehouse, CureParams(models=["m1"], **params)).items["specnorm"]
    store(warehouse, {"specnorm": one_judge([item.item], [("YES", 0.9)])}, **params)
    assert judge("audit").exit_code == 0
    (shown,) = audited(Path("audit.csv"))
    assert "Norm, to be taken as right: One cup is always taken." in shown["question"]
    assert "Person: Iris, a nurse" in shown["question"]
    file.write_text(json.dumps([row | {"norm": "Tea is taken."}]))
    result = judge("audit", "--out", "b.csv")
    assert result.exit_code == 1
    assert "the items of configuration c1 have changed since it was run (mine.json)" in words(result)
    assert not Path("b.csv").exists()


def test_commands_explain_themselves() -> None:
    for command in ("audit", "validate", "agreement"):
        result = judge(command, "--help")
        assert result.exit_code == 0
        assert f"culturescope judge {command}" in " ".join(result.output.split())
