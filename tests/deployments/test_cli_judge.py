"""`culturescope judge audit`: a file for people, drawn from judged explanations."""

from __future__ import annotations

from pathlib import Path

from tasks.judging.verdicts import VerdictRow, verdict_frame
from tests.deployments.judged_run import (
    GOLDEN,
    METRICS,
    Judgements,
    audited,
    explanation,
    judge,
    named,
    one_judge,
    rated,
    store,
    store_run,
    table,
    words,
)
from warehouse import Warehouse


def all_benchmarks(n: int = 5) -> Judgements:
    return {b: one_judge(named(b, n), [("YES", 0.9)] * n) for b in METRICS}


def test_audit_draws_of_every_stratum_what_people_need(warehouse: Warehouse) -> None:
    for model in ("m1", "m2"):
        store(warehouse, all_benchmarks(), model)
    result = judge("audit", "--sample", 24, "--out", "mine.csv")
    assert result.exit_code == 0, result.output
    rows = audited(Path("mine.csv"))
    assert len(rows) == 24
    # 24 of eight strata of five answers each: three of each.
    assert "24 of 40 answers from 8 strata" in words(result)
    assert "culturescope judge validate mine.csv --evaluation cure --config c1" in words(result)
    assert result.stdout.count("m1") == result.stdout.count("m2") == 4
    assert {d: sum(r["dimension"] == d for r in rows) for d in METRICS.values()} == dict.fromkeys(
        METRICS.values(), 6
    )
    assert {(row["annotator"], row["rating"]) for row in rows} == {("", "")}
    assert {row["group"] for row in rows} == {"NO"}
    for row in rows:
        item = row["question"].removeprefix("Norm: that of ")
        assert row["answer"] in (explanation("m1", item), explanation("m2", item))
        assert "Rating: YES, NO, or a number from 0 to 1." in row["criteria"]
        assert "JSON" not in row["criteria"]


def test_an_audit_is_the_same_again_and_never_overwritten(warehouse: Warehouse) -> None:
    store(warehouse, all_benchmarks())
    for out, seed in (("a.csv", 0), ("b.csv", 0), ("c.csv", 1)):
        assert judge("audit", "--sample", 8, "--out", out, "--seed", seed).exit_code == 0
    first, again, other = (Path(f"{name}.csv").read_bytes() for name in "abc")
    assert first == again != other
    Path("a.csv").write_text("with ratings")
    result = judge("audit", "--out", "a.csv")
    assert result.exit_code == 1
    assert "a.csv exists and is not overwritten: name another file with --out" in words(result)
    assert Path("a.csv").read_text() == "with ratings"


def test_audit_of_too_few_or_of_nothing(warehouse: Warehouse) -> None:
    result = judge("audit")
    assert result.exit_code == 1
    assert "no judge has scored answers; start with: culturescope run EVALUATION" in words(result)
    store(warehouse, all_benchmarks())
    assert "under configuration c9" in words(judge("audit", "--config", "c9"))
    result = judge("audit", "--sample", 3)
    assert result.exit_code == 1
    assert "ask for at least 4" in words(result)
    assert not Path("audit.csv").exists()


def test_only_the_newest_finished_run_of_a_model_is_rated(warehouse: Warehouse) -> None:
    items = named("normad", 6)
    wrong = [("NO" if verdict == "YES" else "YES", 1 - graded) for verdict, graded in GOLDEN]
    store(warehouse, {"normad": one_judge(items, wrong)}, rerun="-1")
    store(warehouse, {"normad": one_judge(items)}, rerun="-2")
    store(warehouse, {"normad": one_judge(items, wrong)}, rerun="-3", status="failed")
    assert judge("audit").exit_code == 0
    assert len(audited(Path("audit.csv"))) == len(items)
    agreed = {"ana": ["yes" if verdict == "YES" else "no" for verdict, _ in GOLDEN]}
    file = rated(Path("ratings.csv"), items, agreed)
    kappa = {row["metric"]: row["value"] for row in table("validate", file)}["cohen_kappa"]
    assert kappa == 1.0


def test_verdicts_from_before_texts_were_stored_say_what_to_do(warehouse: Warehouse) -> None:
    old = VerdictRow("j", "h", "coverage 1", "i", "a question", "NO", "real:0", "YES", value=1.0)
    store_run(warehouse, "cure", "m1", "r", "c1", [verdict_frame([old])])
    for arguments in (["audit"], ["validate", rated(Path("r.csv"), ["i"], {"ana": ["1"]})]):
        result = judge(*arguments)
        assert result.exit_code == 1
        assert "of configuration c1 are stored without the judged texts. Run cure" in words(result)
    assert not Path("audit.csv").exists()


def test_commands_explain_themselves() -> None:
    for command in ("audit", "validate"):
        result = judge(command, "--help")
        assert result.exit_code == 0
        assert f"culturescope judge {command}" in " ".join(result.output.split())


def test_a_configuration_is_named_by_its_beginning(warehouse: Warehouse) -> None:
    for config in ("ab12", "ab34"):
        store(warehouse, all_benchmarks(), config=config)
    result = judge("audit", "--config", "ab1", "--out", "one.csv")
    assert result.exit_code == 0, result.output
    assert "--evaluation cure --config ab12" in words(result)
    several = judge("audit", "--config", "ab", "--out", "two.csv")
    assert several.exit_code == 1
    assert "several configurations begin with 'ab'" in words(several)
    assert judge("audit", "--config", "", "--out", "two.csv").exit_code == 1
