"""`culturemeter judge audit`: a file for people, drawn from judged explanations."""

from __future__ import annotations

from pathlib import Path

from tasks.judging.verdicts import VerdictRow, verdict_frame
from tests.deployments.commands import call, one_line, refused, table
from tests.deployments.judged_run import (
    GOLDEN,
    METRICS,
    Judgements,
    audited,
    explanation,
    named,
    one_judge,
    rated,
    store,
    store_run,
)
from warehouse import Warehouse


def all_benchmarks(n: int = 5) -> Judgements:
    return {b: one_judge(named(b, n), [("YES", 0.9)] * n) for b in METRICS}


def test_audit_draws_equally_from_every_stratum(warehouse: Warehouse) -> None:
    for model in ("m1", "m2"):
        store(warehouse, all_benchmarks(), model)
    result = call("judge", "audit", "--sample", 24, "--out", "mine.csv")
    rows = audited(Path("mine.csv"))
    assert len(rows) == 24
    # 24 of eight strata of five answers each: three of each.
    assert "24 of 40 answers from 8 strata" in one_line(result.stderr)
    assert "culturemeter judge validate mine.csv --evaluation cure --config c1" in one_line(result.stderr)
    assert result.stdout.count("m1") == result.stdout.count("m2") == 4
    assert {d: sum(r["dimension"] == d for r in rows) for d in METRICS.values()} == dict.fromkeys(
        METRICS.values(), 6
    )
    assert {(row["annotator"], row["rating"]) for row in rows} == {("", "")}
    assert {row["group"] for row in rows} == {"NO"}
    for row in rows:
        item = row["question"].removeprefix("Norm: that of ")
        assert row["answer"] in (explanation("m1", item), explanation("m2", item))
        assert "YES, NO" in row["criteria"]
        assert "JSON" not in row["criteria"]


def test_audit_is_the_same_for_a_seed_and_overwrites_no_file(warehouse: Warehouse) -> None:
    store(warehouse, all_benchmarks())
    for out, seed in (("a.csv", 0), ("b.csv", 0), ("c.csv", 1)):
        call("judge", "audit", "--sample", 8, "--out", out, "--seed", seed)
    first, again, other = (Path(f"{name}.csv").read_bytes() for name in "abc")
    assert first == again != other
    Path("a.csv").write_text("with ratings")
    overwriting = refused("judge", "audit", "--out", "a.csv")
    assert "a.csv exists and is not overwritten: name another file with --out" in overwriting
    assert Path("a.csv").read_text() == "with ratings"


def test_audit_without_answers_or_with_too_few_is_refused(warehouse: Warehouse) -> None:
    nothing = refused("judge", "audit")
    assert "no judge has scored answers; start with: culturemeter run EVALUATION" in nothing
    store(warehouse, all_benchmarks())
    assert "under configuration c9" in refused("judge", "audit", "--config", "c9")
    assert "ask for at least 4" in refused("judge", "audit", "--sample", 3)
    assert not Path("audit.csv").exists()


def test_audit_draws_from_the_newest_finished_run_of_a_model(warehouse: Warehouse) -> None:
    items = named("normad", 6)
    wrong = [("NO" if verdict == "YES" else "YES", 1 - graded) for verdict, graded in GOLDEN]
    store(warehouse, {"normad": one_judge(items, wrong)}, rerun="-1")
    store(warehouse, {"normad": one_judge(items)}, rerun="-2")
    store(warehouse, {"normad": one_judge(items, wrong)}, rerun="-3", status="failed")
    call("judge", "audit")
    assert len(audited(Path("audit.csv"))) == len(items)
    agreed = {"ana": ["yes" if verdict == "YES" else "no" for verdict, _ in GOLDEN]}
    file = rated(Path("ratings.csv"), items, agreed)
    kappa = {row["metric"]: row["value"] for row in table("judge", "validate", file)}["cohen_kappa"]
    assert kappa == 1.0


def test_verdicts_without_stored_texts_are_refused_with_advice(warehouse: Warehouse) -> None:
    old = VerdictRow("j", "h", "coverage 1", "i", "a question", "NO", "real:0", "YES", value=1.0)
    store_run(warehouse, "cure", "m1", "r", "c1", [verdict_frame([old])])
    for arguments in (["audit"], ["validate", rated(Path("r.csv"), ["i"], {"ana": ["1"]})]):
        error = refused("judge", *arguments)
        assert "of configuration c1 are stored without the judged texts. Run cure" in error
    assert not Path("audit.csv").exists()


def test_unique_prefix_of_a_hash_names_its_configuration(warehouse: Warehouse) -> None:
    for config in ("ab12", "ab34"):
        store(warehouse, all_benchmarks(), config=config)
    result = call("judge", "audit", "--config", "ab1", "--out", "one.csv")
    assert "--evaluation cure --config ab12" in one_line(result.stderr)
    several = refused("judge", "audit", "--config", "ab", "--out", "two.csv")
    assert "several configurations begin with 'ab'" in several
    refused("judge", "audit", "--config", "", "--out", "two.csv")
