"""The loop on a real warehouse with fake models: leaderboard, views and page agree with the answers."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pytest
from bs4 import BeautifulSoup

from deployments.show.report import read_data
from flows.evaluation import evaluate
from tasks.engines import load
from tasks.engines.fake import FakeEngine
from tasks.engines.protocols import Generation
from tasks.evaluations.culturall import read
from tasks.evaluations.culturall.about import ABOUT
from tasks.evaluations.culturall.evaluation import EVALUATION
from tasks.evaluations.culturall.params import CulturallParams
from tasks.evaluations.culturall.report import KINDS, REPORT
from tests.evaluations.culturall.conftest import row
from tests.report.pages import HOSTILE, check_page, lines, parsed, shown, text_of
from warehouse import Warehouse, run_checks

# Two regions of Spanish with five items each, six of Japanese.
REGIONS = ("MX", "PE", "MX", "PE", "MX", "PE", "MX", "PE", "MX", "PE", *["JP"] * 6)
ROWS = [
    row(f"i{n:02}", "ja" if region == "JP" else "es", region, "D" if n % 4 == 3 else f"{n}0",
        topic=("Food", "Pets")[n % 2])
    for n, region in enumerate(REGIONS)
]  # fmt: skip
NOT_READ = (3, 11)
"""Items to which the hostile model writes more than a short answer."""
SOLVES = {"gem_high_false": 14, "gem_low_false": 8, "small": 4, HOSTILE: 0}
"""Model -> the number of items, from the first on, that it solves."""


@contextmanager
def answering(home: Path) -> Iterator[None]:
    """Work in this home with models that solve items as in ``SOLVES``, and a judge."""

    def generate(self: FakeEngine, talks: Any, sampling: Any, *more: Any) -> list[Generation]:
        written = original(self, talks, sampling, *more)
        answer = _mark if self.spec.name == "judge" else _answer
        return [
            answer(self.spec.name, talk[-1]["content"], each)
            for talk, each in zip(talks, written, strict=True)
        ]

    original = FakeEngine.generate
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CULTUREMETER_HOME", str(home))
        patch.setattr(FakeEngine, "generate", generate)
        load.unload()
        yield
        load.unload()


def _answer(model: str, prompt: str, written: Generation) -> Generation:
    place = int(re.findall(r", i(\d\d)\?", prompt)[-1])
    if model == HOSTILE:
        refuses = "Situation" in prompt and place == 0
        text = f"{HOSTILE} {place}" if place in NOT_READ else "no idea"
        return replace(written, text=text, finish_reason="refusal" if refuses else "stop")
    knows = place < SOLVES[model] and "Situation" in prompt
    return replace(written, text=ROWS[place]["answer"] if knows else "no idea")


def _mark(_: str, prompt: str, written: Generation) -> Generation:
    """Judge as right if gold and prediction are equal; in Japanese judge everything as right."""
    gold, prediction = (
        json.loads(re.findall(rf"{name}: <data>(.*)</data>", prompt)[-1])
        for name in ("Gold answer", "Prediction")
    )
    is_right = gold == prediction or any(item["item"] in prompt for item in ROWS[10:])
    verdict, reason = ("CORRECT", "same answer") if is_right else ("INCORRECT", "no answer")
    text = json.dumps({"prediction": {"verdict": verdict, "reason": reason}})
    return replace(written, text=text, tokens=())


class Finished(NamedTuple):
    """A home, its warehouse, and the config_hashes of a run without and a run with a judge."""

    home: Path
    warehouse: Warehouse
    matched: str
    judged: str


@pytest.fixture(name="finished", scope="module")
def _finished(copied_home: Callable[[], Path]) -> Finished:
    home = copied_home()
    (home / "engines").mkdir()
    for n, name in enumerate((*SOLVES, "judge")):
        (home / "engines" / f"m{n}.toml").write_text(
            f'kind = "fake"\nmodel = "m{n}"\nname = {json.dumps(name)}\n'
        )
    with (home / "items.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(ROWS[0]))
        writer.writeheader()
        writer.writerows(ROWS)
    (home / "docs").mkdir()
    (home / "docs" / "a.txt").write_text(f"Case of i03, {HOSTILE}")
    models = [f"m{n}" for n in range(len(SOLVES))]
    common: dict[str, Any] = {"models": models, "file": str(home / "items.csv")}
    with answering(home):
        judged = evaluate(EVALUATION, CulturallParams.model_validate(common | {"judges": ["m4"]}))
        more = {"conditions": ["native", "retrieval"], "documents": str(home / "docs"), "passages": 1}
        matched = evaluate(EVALUATION, CulturallParams.model_validate(common | more))
    return Finished(home, Warehouse.open(home), matched, judged)


def test_leaderboard_ranks_by_accuracy(finished: Finished) -> None:
    board = finished.warehouse.query(
        "SELECT * FROM leaderboard_culturall WHERE config_hash = ?", [finished.matched]
    )
    assert board["model"].to_list() == [*SOLVES, "null:constant-letter", "null:other-answer"]
    assert board["place"].to_list() == [1, 2, 3, 4, 5, 6]
    assert board["accuracy"].to_list()[:4] == [14 / 16, 8 / 16, 4 / 16, 0.0]
    assert board["accuracy_retrieval"].to_list()[:4] == [14 / 16, 8 / 16, 4 / 16, 0.0]
    assert board["n_scored"].to_list()[:4] == [16, 16, 16, 14]
    assert board["n_answered"].to_list()[:4] == [16, 16, 16, 13]
    assert board["match_read"].to_list()[:4] == [1, 1, 1, 13 / 15]
    assert (board["matched_low"][3], board["matched_high"][3]) == (0.0, 2 / 16)
    doubt = finished.warehouse.query("FROM culturall_doubt WHERE reason LIKE 'matching%'")
    assert doubt["reason"].to_list() == ["matching does not read 13 % of the answers: a judge would"]
    assert board["accuracy_answered"].to_list()[:4] == [14 / 16, 8 / 16, 4 / 16, 0.0]
    assert board["n_not_checked"].to_list() == [16] * 6
    assert board["judge"].is_null().all()
    hostile = board.row(3, named=True)
    assert (hostile["refused"], hostile["coverage"]) == (2 / 32, 30 / 32)
    gain = finished.warehouse.query(
        "SELECT v.model, v.slice, v.value FROM metric_value AS v JOIN run USING (run_id) "
        "WHERE v.metric = 'reasoning_gain' AND config_hash = ?", [finished.matched]
    )  # fmt: skip
    assert gain.rows() == [("gem_high_false", "gem_low_false", 6 / 16)]


def test_judged_accuracy_and_flag_of_a_bad_judge(finished: Finished) -> None:
    board = finished.warehouse.query(
        "SELECT * FROM leaderboard_culturall WHERE config_hash = ?", [finished.judged]
    )
    best = board.row(0, named=True)
    # The judge takes every Japanese answer as right, also the two that are not.
    assert (best["model"], best["accuracy"], best["accuracy_matched"]) == ("gem_high_false", 1.0, 14 / 16)
    assert best["judge_match_agreement"] == 14 / 16
    assert best["accuracy_question"] == 6 / 16
    assert best["scenario_gain"] == 10 / 16
    assert (best["judge"], best["judge_flagged"], best["validated"]) == ("judge", True, False)
    check = finished.warehouse.query(
        "SELECT * FROM culturall_judge WHERE config_hash = ? ORDER BY place", [finished.judged]
    )
    assert check["language"].to_list() == [None, "es", "ja"]
    assert check["flagged"].to_list() == [True, False, True]
    assert check["gold_accepted"].to_list() == [1.0, 1.0, 1.0]
    by_language = finished.warehouse.query(
        "SELECT DISTINCT language, judge_flagged FROM culturall_by_language WHERE config_hash = ?",
        [finished.judged],
    )
    assert by_language["judge_flagged"].all()  # overall it fails too


def test_views_by_slice_have_places_and_counts(finished: Finished) -> None:
    for kind, n in (("language", 2), ("region", 3), ("topic", 2), ("difficulty", 3)):
        frame = finished.warehouse.query(
            f"SELECT * FROM culturall_by_{kind} WHERE config_hash = ? AND NOT is_null", [finished.matched]
        )
        assert frame[kind].n_unique() == n
        assert sorted(frame["place"]) == frame["place"].to_list()
    hard = finished.warehouse.query(
        "SELECT accuracy FROM culturall_by_difficulty WHERE config_hash = ? "
        "AND difficulty = 'hard' AND model = 'small'",
        [finished.matched],
    )
    assert hard["accuracy"].to_list() == [0.0]
    solved = finished.warehouse.query(
        "SELECT * FROM culturall_solved WHERE config_hash = ?", [finished.matched]
    )
    counts = {(r["language"], r["n_solved"]): r["n_items"] for r in solved.iter_rows(named=True)}
    assert counts == {("es", 1): 2, ("es", 2): 4, ("es", 3): 4, ("ja", 0): 2, ("ja", 1): 4}


def test_stored_answers_have_passages_and_reasons(finished: Finished) -> None:
    rows = finished.warehouse.query(
        "SELECT * FROM culturall_answer WHERE config_hash = ? AND item = 'i03' AND condition = 'retrieval'",
        [finished.matched],
    ).to_dicts()
    assert {r["model"] for r in rows} == set(SOLVES)
    assert json.loads(rows[0]["passages"]) == [
        {"document": "a.txt", "number": 1, "text": f"Case of i03, {HOSTILE}"}
    ]
    lost = finished.warehouse.query(
        "SELECT item, unscored_reason FROM culturall_answer WHERE unscored_reason IS NOT NULL"
    )
    unread = {(f"i{place:02d}", read.NOT_READ) for place in NOT_READ}
    assert set(lost.rows()) == {("i00", "refused")} | unread
    assert run_checks(finished.warehouse)["n_violations"].sum() == 0


def test_terminal_columns_show_unchecked_items_and_judge(finished: Finished) -> None:
    board = finished.warehouse.query(
        "SELECT * FROM leaderboard_culturall WHERE config_hash = ?", [finished.judged]
    )
    cells = [ABOUT.columns(line) for line in board.to_dicts()]
    assert (cells[0]["checked"], cells[0]["judge"]) == ("0 of 16", "FAILS ITS CHECK")
    assert (cells[0]["validated"], cells[-1]["judge"]) == ("no", "–")


@pytest.fixture(name="page", scope="module")
def _page(finished: Finished) -> BeautifulSoup:
    return parsed(REPORT, read_data(finished.warehouse, "culturall", finished.judged))


def test_page_flags_unchecked_items_and_a_bad_judge(finished: Finished, page: BeautifulSoup) -> None:
    check_page(page)
    assert HOSTILE in text_of(page.select_one("table#board"))
    assert HOSTILE in text_of(page.select_one("table#example"))
    lead = " ".join(text_of(p) for p in page.select("p.lead"))
    # By match gem_high_false solves 14 of 16; the judge has 16 of 16.
    for part in ("16 of 16 items", "fails its check", "by match", "to 88 %"):
        assert part in lead
    board = lines(page, "board")
    assert len(board) == 6
    assert "judge fails its check" in board[0][0]
    head = [text_of(cell) for cell in page.select("table#board thead th")]
    at = next(n for n, text in enumerate(head) if text.startswith("Of answers"))
    answered = finished.warehouse.query(
        "SELECT accuracy_answered FROM leaderboard_culturall WHERE config_hash = ? AND NOT is_null",
        [finished.judged],
    )["accuracy_answered"]
    assert [line[at].split()[0] for line in board][:4] == [f"{value:.2f}" for value in answered]
    assert ["judge", "Japanese", "100 %", "0 %", "0 %", "fails"] in lines(page, "judge-table")
    assert lines(page, "setting-table")[0][:3] == ["Gain of reasoning", "gem_high_false", "gem_low_false"]


def test_a_page_without_a_number_by_match_says_why(
    finished: Finished, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tasks.evaluations.culturall.report.scored", lambda *_: [])
    page = parsed(REPORT, read_data(finished.warehouse, "culturall", finished.judged))
    lead = " ".join(text_of(p) for p in page.select("p.lead"))
    assert "Nothing can be claimed: the judge fails its check" in lead
    assert "rests on" not in lead


def test_page_has_the_papers_figures(page: BeautifulSoup) -> None:
    assert "Case of" in text_of(page.select_one("section#figure-example"))
    for name in ("items-topic", "languages", "solved", "scenario"):
        figure = page.select_one(f"figure#figure-{name} svg")
        assert figure is not None, name
    items = [text for kind in KINDS for text in shown(page.select_one(f"figure#figure-items-{kind}"))]  # type: ignore[arg-type]
    assert {"Topic (2)", "Language (2)", "Region (3)", "Spanish", "Japan", "10"} <= set(items)
    languages = shown(page.select_one("figure#figure-languages"))  # type: ignore[arg-type]
    assert {"Japanese (6)", "Spanish (10)", "1.00"} <= set(languages)


def test_regions_are_ordered_by_size_and_name(finished: Finished) -> None:
    """Mexico and Peru have five items each, and are ordered by name."""
    data = read_data(finished.warehouse, "culturall", finished.judged)
    assert list(data.n_items["region"]) == ["JP", "MX", "PE"]
    names = data.countries.with_columns(pl.col("name").replace({"Mexico": "United Mexican States"}))
    renamed = replace(data, countries=names)
    assert list(renamed.n_items["region"]) == ["JP", "PE", "MX"]
    table = [line[0] for line in lines(parsed(REPORT, renamed), "by-region")]
    assert table == ["Japan", "Peru", "United Mexican States"]


def test_page_and_view_show_which_languages_have_an_interval(finished: Finished, page: BeautifulSoup) -> None:
    """Spanish has two regions; Japanese has one, so items are its clusters."""
    spread = {line[0]: line[1:] for line in lines(page, "spread")}
    counts = {name: cells[:2] for name, cells in spread.items()}
    assert counts == {"Spanish": ["10", "2"], "Japanese": ["6", "1"]}
    rows = finished.warehouse.query(
        "SELECT DISTINCT language, n_regions, no_interval_reason IS NULL AS has FROM culturall_by_language "
        "WHERE config_hash = ? AND NOT is_null AND (ci_low IS NOT NULL) = (no_interval_reason IS NULL)",
        [finished.matched],
    )
    assert set(rows.rows()) == {("es", 2, False), ("ja", 1, True)}


def test_one_item_of_each_region_has_an_interval_over_items(
    finished: Finished, own_copy: Callable[[Warehouse], Warehouse]
) -> None:
    """Two Spanish items of two regions: each is its own cluster, so the exact interval holds."""
    own = own_copy(finished.warehouse)
    with answering(own.home):
        few = {"models": ["m0"], "file": str(finished.home / "items.csv"), "items_per_language": 2}
        config = evaluate(EVALUATION, CulturallParams.model_validate(few))
    rows = own.query(
        "SELECT language, n_regions, no_interval_reason, ci_low IS NOT NULL FROM culturall_by_language "
        "WHERE config_hash = ? AND NOT is_null ORDER BY language",
        [config],
    )
    assert rows.rows() == [("es", 2, None, True), ("ja", 1, None, True)]


def test_page_without_judges_has_passages_and_no_scenario_figure(finished: Finished) -> None:
    page = parsed(REPORT, read_data(finished.warehouse, "culturall", finished.matched))
    check_page(page)
    assert "There was no judge" in page.get_text()
    assert "With passages" in text_of(page.select_one("table#board"))
    assert "figure-scenario" not in [f.get("id") for f in page.select("figure")]
