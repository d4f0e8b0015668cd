"""``culturescope runs``: the list, one run with what it used, and the removal of a run."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner, Result

from deployments.cli.app import app
from warehouse import (
    Run,
    Warehouse,
    finish_run,
    register_parts,
    save_metrics,
    save_run,
    save_run_requests,
    write_part,
)

RESPONSE = {
    "request_hash": "q", "run_id": "abc1", "model": "m", "item": ["i1", "i2"], "conversation": "[]",
    "text": "yes", "finish_reason": "stop", "prompt_tokens": [10, 20], "completion_tokens": [1, 2], "seed": 0,
}  # fmt: skip


@pytest.fixture
def home(blank: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run abc1 of model m with two answers and a number, and run abd2 of a null model."""
    home = tmp_path / "home"
    shutil.copytree(blank, home)
    monkeypatch.setenv("CULTURESCOPE_HOME", str(home))
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


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["runs", *arguments])


def test_models_are_listed_and_null_models_on_request(home: Path) -> None:
    (row,) = json.loads(run("-f", "json").stdout)
    assert (row["run"], row["model"], row["status"], row["answers"], row["numbers"]) == (
        "abc1",
        "m",
        "finished",
        2,
        1,
    )
    assert len(json.loads(run("-f", "json", "--nulls").stdout)) == 2
    assert json.loads(run("-f", "json", "--evaluation", "spectral").stdout) == []


def test_a_run_is_shown_with_what_it_used(home: Path) -> None:
    (shown,) = json.loads(run("show", "abc", "-f", "json").stdout)
    used = shown["used"] if isinstance(shown["used"], list) else json.loads(shown["used"])
    assert (shown["run_id"], shown["profile"]) == ("abc1", "smoke")
    assert used == [
        {
            "topic": "t",
            "requests": 1,
            "answers": 2,
            "prompt_tokens": 30,
            "completion_tokens": 3,
            "registered_here": 2,
        }
    ]
    assert "abc1" in run("show", "abc").stdout


def test_removal_is_shown_before_it_is_done(home: Path) -> None:
    assert "1 numbers" in run("rm", "abc").stderr
    assert len(json.loads(run("-f", "json").stdout)) == 1
    assert "2 units of response" in run("rm", "abc", "--answers", "--delete").stderr
    assert json.loads(run("-f", "json").stdout) == []
    assert Warehouse.open(home).query("FROM response").is_empty()


@pytest.mark.parametrize(("name", "why"), [("ab", "2 runs begin with it"), ("zz", "lists them")])
def test_a_name_that_is_no_one_run_is_refused(home: Path, name: str, why: str) -> None:
    done = run("show", name)
    assert done.exit_code == 1
    assert why in done.stderr
