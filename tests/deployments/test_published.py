"""``leaderboard --published``: papers' numbers beside measured ones, marked as published, never ranked."""

from __future__ import annotations

from deployments.evaluations import shipped_profiles
from deployments.show import report
from tasks.packs.shape import PackContent, content_hash
from tests.deployments.commands import call, refused, table
from tests.report.stored import around, row, store_run
from warehouse import Warehouse, save_pack


def test_published_numbers_are_shown_beside_measured_ones_and_unranked(warehouse: Warehouse) -> None:
    rows = [
        row("accuracy", ("overall", "all"), 0.5, **around(0.5, 0.1)),
        row("accuracy", ("published_difficulty", "hard"), 0.25),
        row("accuracy", ("language", "en"), 0.75),
    ]
    store_run(warehouse, "culturall", "model-b", rows, {})
    store_run(warehouse, "culturall", "null:other-answer", rows[:1], {})
    shown = table("leaderboard", "culturall", "--published")
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
    text = call("leaderboard", "culturall", "--published", "--wide").stdout
    assert "0.500 [0.400, 0.600]" in text
    assert "culturall Table 2" in text
    assert "not ranked" in text


def test_leaderboard_without_published_numbers_is_refused(warehouse: Warehouse) -> None:
    store_run(warehouse, "cure", "model-b", [row("exact_match", ("overall", "all"), 0.5)], {})
    assert "no published number is defined like one of cure" in refused("leaderboard", "cure", "--published")


def test_equality_of_a_published_definition_is_computed_from_settings(warehouse: Warehouse) -> None:
    rows = [row("value_shift", ("culture", "JP"), 0.4), row("alignment", ("overall", "all"), 6.0)]
    ours = shipped_profiles("worldwise")["demo"]
    paper = shipped_profiles("worldwise")["paper"]
    texts = {"persona": "a", "baseline": "b", "question": "c", "embedded": "d"}
    files = {"scenario": 30, "guiding_value": 18, "exemplar": 60, "stereotype": 9}
    content = {name: [{"n": n} for n in range(many)] for name, many in files.items()}
    made = {name: content_hash(rows) for name, rows in content.items()}
    content |= {"prompts": [texts], "replaces": [{"files": list(files), "made": made}]}
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
    assert "embedded text" not in shown["1"][1], "no number here depends on it"
    assert shown["2"][0] == "near"
    assert all(name.endswith(" (not verified)") for name in shown["2"][1].split(", "))  # no hash of theirs


def test_published_numbers_follow_the_leaderboard_unless_switched_off(
    warehouse: Warehouse,
) -> None:
    rows = [row("accuracy", ("overall", "all"), 0.5, **around(0.5, 0.1, null_value=0.25))]
    store_run(warehouse, "culturall", "model-b", rows, {})
    text = call("leaderboard", "culturall", COLUMNS="80").stdout
    assert max(map(len, text.splitlines())) <= 80
    assert "As published (Lin et al. 2026)" in text
    values = [line.split("│")[2].strip() for line in text.splitlines() if "│ near" in line]
    assert values == sorted(values, reverse=True)
    assert values[0] == "0.445"
    for others in (["--no-published"], ["--format", "csv"]):
        assert "As published" not in call("leaderboard", "culturall", *others).stdout


def test_footnotes_explain_only_the_columns_shown(warehouse: Warehouse) -> None:
    rows = [row("accuracy", ("overall", "all"), 0.5, **around(0.5, 0.1, null_value=0.25))]
    store_run(warehouse, "culturall", "model-b", rows, {})
    board = ("leaderboard", "culturall", "--no-published")
    narrow, wide = (call(*board, *more, COLUMNS="80").stdout for more in ((), ("--wide",)))
    assert "n: items scored" in narrow
    assert "matched:" not in narrow
    assert "matched:" in wide
    assert narrow.index("accuracy [95 %]") < narrow.index(" null ") < narrow.index(" n ")
