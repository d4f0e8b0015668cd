"""``leaderboard --published``: the papers' numbers beside measured ones, marked as such, never ranked."""

from __future__ import annotations

import json

from typer.testing import CliRunner

from deployments.cli.app import app
from deployments.evaluations import shipped_profiles
from deployments.show import report
from tasks.packs.shape import PackContent
from tests.report.stored import around, row, store_run
from warehouse import Warehouse, save_pack

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
    assert (best["value"], best["definition"]) == (0.4448, "near")
    assert {"items", "prompt", "judges"} <= set(best["settings_differ"].split(", "))
    assert not any("place" in r for r in shown)
    assert {r["slice"] for r in shown} == {"all", "hard"}, "nothing published stands beside English"
    text = runner.invoke(app, ["leaderboard", "culturall", "--published", "--wide"]).stdout
    assert "0.500 [0.400, 0.600]" in text
    assert "culturall Table 2" in text
    assert "Sorted by name, not ranked" in text


def test_where_no_paper_prints_such_a_number_it_says_so(warehouse: Warehouse) -> None:
    store_run(warehouse, "cure", "model-b", [row("exact_match", ("overall", "all"), 0.5)], {})
    done = runner.invoke(app, ["leaderboard", "cure", "--published"])
    assert done.exit_code == 1
    assert "no published number is defined like one of cure" in done.stderr.replace("\n", " ")


def test_whether_a_definition_is_equal_is_computed_from_the_settings(warehouse: Warehouse) -> None:
    rows = [row("value_shift", ("culture", "JP"), 0.4), row("alignment", ("overall", "all"), 6.0)]
    ours = shipped_profiles("worldwise")["demo"]
    paper = shipped_profiles("worldwise")["paper"]
    texts = {"persona": "a", "baseline": "b", "question": "c", "embedded": "d"}
    files = {"scenario": 30, "guiding_value": 18, "exemplar": 60, "stereotype": 9}
    content = {name: [{"n": n} for n in range(many)] for name, many in files.items()}
    content |= {"prompts": [texts], "replaces": [{"files": list(files)}]}
    pack = PackContent("own", "worldwise", content)
    with warehouse.write() as connection:
        save_pack(connection, pack.hash, "own", "worldwise", {}, pack.rows)
    for config, params in (("0" * 16, ours), ("1" * 16, paper), ("2" * 16, {**paper, "pack": [pack.pinned]})):
        store_run(warehouse, "worldwise", "model-b", rows, {**params, "models": ["model-b"]}, config)
    shown = {}
    for config in ("0" * 16, "1" * 16, "2" * 16):
        beside = report.beside_published(warehouse, "worldwise", config).filter(
            source="worldwise 4.5 Shift Magnitude Rankings"
        )
        shown[config[0]] = beside.select("definition", "settings_differ").row(0)
    assert shown["0"][0] == "near"
    assert {"scenarios", "answers to each prompt", "form of answers"} <= set(shown["0"][1].split(", "))
    assert shown["1"][0] == "near"
    assert "answers to each prompt" not in shown["1"][1]
    assert "embedded text" not in shown["1"][1], "no number of values hangs on it"
    assert shown["2"] == ("equal", None)


def test_published_numbers_stand_under_the_leaderboard_unless_they_are_not_wanted(
    warehouse: Warehouse,
) -> None:
    rows = [row("accuracy", ("overall", "all"), 0.5, **around(0.5, 0.1, null_value=0.25))]
    store_run(warehouse, "culturall", "model-b", rows, {})
    screen = {"COLUMNS": "80"}
    text = runner.invoke(app, ["leaderboard", "culturall"], env=screen).stdout
    assert max(map(len, text.splitlines())) <= 80
    assert "As published (Lin et al. 2026), never ranked with the rest: Accuracy; a null" in text
    values = [line.split("│")[2].strip() for line in text.splitlines() if "│ near" in line]
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
    assert "matched: accuracy by match, without a judge" not in narrow
    assert "matched: accuracy by match, without a judge" in " ".join(wide.split())
    assert narrow.index("accuracy [95 %]") < narrow.index(" null ") < narrow.index(" n ")
