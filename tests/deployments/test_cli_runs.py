"""``culturemeter runs``: the list, one run with what it used, and the removal of a run."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import polars as pl
import pytest

from tests.deployments.commands import call, refused, table
from warehouse import (
    Run,
    Warehouse,
    finish_run,
    freeze_cohort,
    register_parts,
    save_metrics,
    save_run,
    save_run_requests,
    write_part,
)
from warehouse.claims import working

RESPONSE = {
    "request_hash": "q", "run_id": "abc1", "model": "m", "item": ["i1", "i2"], "conversation": "[]",
    "text": "yes", "finish_reason": "stop", "prompt_tokens": [10, 20], "completion_tokens": [1, 2], "seed": 0,
}  # fmt: skip


@pytest.fixture
def home(blank: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run abc1 of model m with two answers and a number, and run abd2 of a null model."""
    home = tmp_path / "home"
    shutil.copytree(blank, home)
    monkeypatch.setenv("CULTUREMETER_HOME", str(home))
    nothing = dict.fromkeys(("unscored_reason", "ci_low", "ci_high", "null_value"))
    number = {"metric": "accuracy", "slice_kind": "overall", "slice": "all", "value": 0.5, **nothing}
    number |= {"n_scored": 2, "n_unscored": 0}
    part = write_part(home, "response", "p", pl.DataFrame(RESPONSE))
    with Warehouse.open(home).write() as connection:
        for name, model, is_null in (("abc1", "m", False), ("abd2", "null: nobody", True)):
            one = Run(name, "cure", model, is_null, "smoke", "c", "e", {}, {"kind": "fake"}, {}, "b", "v")
            save_run(connection, one)
            save_metrics(connection, name, pl.DataFrame([{"model": model, **number}]))
            finish_run(connection, name)
        save_run_requests(
            connection, "abc1", pl.DataFrame({"request_hash": ["q"], "topic": ["t"], "label": ["l"]})
        )
        register_parts(connection, [part])
    return home


def test_runs_lists_models_and_null_models_with_nulls(home: Path) -> None:
    (row,) = table("runs")
    names = ("run", "model", "status", "answers", "numbers")
    assert [row[name] for name in names] == ["abc1", "m", "finished", 2, 1]
    assert len(table("runs", "--nulls")) == 2
    assert table("runs", "--evaluation", "spectral") == []


def test_runs_show_counts_requests_answers_and_tokens(home: Path) -> None:
    (run,) = table("runs", "show", "abc")
    used = run["used"] if isinstance(run["used"], list) else json.loads(run["used"])
    assert (run["run_id"], run["profile"]) == ("abc1", "smoke")
    counts = {"requests": 1, "answers": 2, "prompt_tokens": 30, "completion_tokens": 3, "registered_here": 2}
    assert used == [{"topic": "t", **counts}]
    spent = run["spent"] if isinstance(run["spent"], list) else json.loads(run["spent"])
    tokens = {"answers": 2, "prompt_tokens": 30, "completion_tokens": 3}
    assert spent == [{"model": "m", **tokens, "usd": None}]
    shown = call("runs", "show", "abc").stdout
    assert "abc1" in shown
    assert "Spent: no known price" in shown


def test_runs_show_has_the_dollars_of_candidate_and_judges(home: Path) -> None:
    """The candidate at the run's prices, a judge at those of its spec, what another run added not at all."""
    (home / "engines").mkdir(exist_ok=True)
    (home / "engines" / "judge.toml").write_text(
        'kind = "openai"\nmodel = "j"\nusd_per_million_input_tokens = 1\nusd_per_million_output_tokens = 2\n'
    )
    prices = {"usd_per_million_input_tokens": 100.0, "usd_per_million_output_tokens": 1000.0}
    judged = RESPONSE | {"model": "judge", "request_hash": "j", "run_id": "abc7"}
    own = RESPONSE | {"request_hash": "o", "run_id": "abc7"}
    parts = [
        write_part(home, "response", name, pl.DataFrame(rows)) for name, rows in (("pj", judged), ("po", own))
    ]
    with Warehouse.open(home).write() as connection:
        params = {"judges": ["judge", "nobody"]}
        save_run(connection, Run("abc7", "cure", "m", False, "smoke", "c", "e", params, prices, {}, "b", "v"))
        register_parts(connection, parts)
    (run,) = table("runs", "show", "abc7")
    spent = run["spent"] if isinstance(run["spent"], list) else json.loads(run["spent"])
    assert {each["model"]: each["usd"] for each in spent} == {
        "m": pytest.approx((30 * 100 + 3 * 1000) / 1e6), "judge": pytest.approx((30 * 1 + 3 * 2) / 1e6),
    }  # fmt: skip
    assert "Spent: $0.0060" in call("runs", "show", "abc7").stdout


def test_runs_rm_deletes_only_with_delete(home: Path) -> None:
    assert "1 numbers" in call("runs", "rm", "abc").stderr
    assert len(table("runs")) == 1
    assert "2 units of response" in call("runs", "rm", "abc", "--answers", "--delete").stderr
    assert table("runs") == []
    assert Warehouse.open(home).query("FROM response").is_empty()


@pytest.mark.parametrize(("name", "why"), [("ab", "2 runs begin with it"), ("zz", "lists them")])
def test_ambiguous_or_unknown_run_is_refused(home: Path, name: str, why: str) -> None:
    assert why in refused("runs", "show", name)


def test_status_tells_who_is_at_work(home: Path) -> None:
    """A killed run says running for ever; only a process that works on it makes that true."""
    with Warehouse.open(home).write() as connection:
        one = Run("abc9", "cure", "n", False, "smoke", "c", "e", {}, {"kind": "fake"}, {}, "b", "v")
        save_run(connection, one)

    def of_run() -> tuple[str, str]:
        (row,) = [
            row for row in json.loads(call("runs", "--format", "json").stdout) if row["run_id"] == "abc9"
        ]
        shown = json.loads(call("runs", "show", "abc9", "--format", "json").stdout)[0]
        assert shown["status"] == row["status"]
        return row["status"], row["last_sign"]

    assert of_run()[0] == "interrupted"
    assert of_run()[1]
    with working(Warehouse.open(home).store, ["abc9"]):
        assert of_run()[0] == "running"
    with Warehouse.open(home).write() as connection:
        finish_run(connection, "abc9", "failed")
    assert of_run()[0] == "failed"


def test_a_run_of_an_evaluation_that_compares_goes_with_its_cohort(home: Path) -> None:
    with Warehouse.open(home).write() as connection:
        for name, evaluation in (("fa", "fmlama"), ("fb", "fmlama"), ("sa", "spectral"), ("sb", "spectral")):
            one = Run(name, evaluation, name, False, "smoke", evaluation, "e", {}, {}, {}, "b", "v")
            save_run(connection, one)
            finish_run(connection, name)
        for evaluation, runs in (("fmlama", ["fa", "fb"]), ("spectral", ["sa", "sb"])):
            freeze_cohort(connection, evaluation, "first", runs)
    assert "deleted" in call("runs", "rm", "fa", "--delete").stderr, "no number of fmlama compares models"
    assert "1 other runs have numbers computed over its cohort" in refused("runs", "rm", "sa", "--delete")
    assert "and 1 runs of its cohort: sb" in call("runs", "rm", "sa", "--with-cohort", "--delete").stderr
    assert {row["run"] for row in table("runs")} == {"abc1", "fb"}
