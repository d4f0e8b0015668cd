"""``leaderboard --published``: the papers' numbers beside measured ones, marked as such, never ranked."""

from __future__ import annotations

import json

from typer.testing import CliRunner

from deployments.cli.app import app
from tests.report.stored import around, row, store_run
from warehouse import Warehouse

runner = CliRunner()


def test_published_numbers_stand_beside_measured_ones(warehouse: Warehouse) -> None:
    rows = [
        row("accuracy", ("overall", "all"), 0.5, **around(0.5, 0.1)),
        row("accuracy", ("published_difficulty", "hard"), 0.25),
        row("accuracy", ("language", "en"), 0.75),
    ]
    store_run(warehouse, "culturall", "model-b", rows, {})
    store_run(warehouse, "culturall", "null:other-answer", rows[:1], {})
    done = runner.invoke(app, ["leaderboard", "culturall", "--published", "-f", "json"])
    assert done.exit_code == 0, done.output
    shown = json.loads(done.stdout)
    overall = [r for r in shown if r["slice"] == "all"]
    assert [(r["source"], r["model"], r["value"]) for r in overall[:2]] == [
        ("measured", "model-b", 0.5), ("measured", "null:other-answer", 0.5),
    ]  # fmt: skip
    assert len(overall) == 2 + 15
    papers = overall[2:]
    assert {r["source"] for r in papers} == {"culturall Table 2"}
    assert [r["model"] for r in papers] == sorted(r["model"] for r in papers), "by name, not by value"
    best = next(r for r in papers if r["printed"] == "44.48")
    assert (best["value"], best["definition"]) == (0.4448, "equal")
    assert "another judge" in best["difference"]
    assert not any("place" in r for r in shown)
    assert {r["slice"] for r in shown} == {"all", "hard"}, "nothing published stands beside English"
    text = runner.invoke(app, ["leaderboard", "culturall", "--published", "--wide"]).stdout
    assert "0.500 [0.400, 0.600]" in text
    assert "culturall Table 2" in text
    assert "In the order of names" in text


def test_where_no_paper_prints_such_a_number_it_says_so(warehouse: Warehouse) -> None:
    store_run(warehouse, "cure", "model-b", [row("exact_match", ("overall", "all"), 0.5)], {})
    done = runner.invoke(app, ["leaderboard", "cure", "--published"])
    assert done.exit_code == 1
    assert "no published number is defined as one of cure" in done.stderr.replace("\n", " ")


def test_published_numbers_stand_under_the_leaderboard_unless_they_are_not_wanted(
    warehouse: Warehouse,
) -> None:
    rows = [row("accuracy", ("overall", "all"), 0.5, **around(0.5, 0.1, null_value=0.25))]
    store_run(warehouse, "culturall", "model-b", rows, {})
    screen = {"COLUMNS": "80"}
    text = runner.invoke(app, ["leaderboard", "culturall"], env=screen).stdout
    assert max(map(len, text.splitlines())) <= 80
    assert "As published (Lin et al. 2026), never ranked with the rest: Accuracy; a null" in text
    values = [line.split("│")[2].strip() for line in text.splitlines() if "equal" in line]
    assert values == sorted(values, reverse=True)
    assert values[0] == "0.445"
    for others in (["--no-published"], ["--format", "csv"]):
        assert "As published" not in runner.invoke(app, ["leaderboard", "culturall", *others]).stdout


def test_a_footnote_explains_columns_that_are_shown_and_no_other(warehouse: Warehouse) -> None:
    rows = [row("accuracy", ("overall", "all"), 0.5, **around(0.5, 0.1, null_value=0.25))]
    store_run(warehouse, "culturall", "model-b", rows, {})
    narrow, wide = (
        runner.invoke(
            app, ["leaderboard", "culturall", "--no-published", *more], env={"COLUMNS": "80"}
        ).stdout
        for more in ([], ["--wide"])
    )
    assert "n: items scored" in narrow
    assert "matched: without a judge" not in narrow
    assert "matched: without a judge" in " ".join(wide.split())
    assert narrow.index("accuracy [95 %]") < narrow.index(" null ") < narrow.index(" n ")
