"""The loop on a real warehouse with fake models: leaderboard, views and page agree with what was answered.

No Prefect server is needed: outside of a flow run every step is a plain call. ``tests/golden`` has one.
"""

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

from deployments.evaluations.culturall import DOOR
from deployments.show.report import read_data
from flows.evaluation import evaluate
from tasks.engines import load
from tasks.engines.fake import FakeEngine
from tasks.engines.protocols import Generation
from tasks.evaluations.culturall.evaluation import EVALUATION
from tasks.evaluations.culturall.params import CulturallParams
from tasks.evaluations.culturall.report import REPORT
from tests.evaluations.culturall.conftest import row
from tests.report.pages import HOSTILE, check_page, lines, parsed, shown, text_of
from warehouse import Warehouse, run_checks

# Two regions of Spanish with five items each, six of Japanese.
REGIONS = ("MX", "PE", "MX", "PE", "MX", "PE", "MX", "PE", "MX", "PE", *["JP"] * 6)
ROWS = [
    row(
        f"i{n:02}",
        "ja" if region == "JP" else "es",
        region,
        "ABCD"[n % 4] if n % 4 == 3 else f"{n}0",
        topic=topic,
    )
    for n, region in enumerate(REGIONS)
    for topic in [("Food", "Pets")[n % 2]]
]
SOLVES = {"gem_high_false": 14, "gem_low_false": 8, "small": 4, HOSTILE: 0}
"""Model -> how many of the items, from the first on, it gives the gold answer to."""


@contextmanager
def answering(home: Path) -> Iterator[None]:
    """Work is done in this home by models that know what ``SOLVES`` says, and by a judge."""

    def generate(self: FakeEngine, talks: Any, sampling: Any, *more: Any) -> list[Generation]:
        written = original(self, talks, sampling, *more)
        answer = _mark if self.spec.name == "judge" else _answer
        return [
            answer(self.spec.name, talk[-1]["content"], each)
            for talk, each in zip(talks, written, strict=True)
        ]

    original = FakeEngine.generate
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CULTURESCOPE_HOME", str(home))
        patch.setattr(FakeEngine, "generate", generate)
        load.unload()
        yield
        load.unload()


def _answer(model: str, prompt: str, written: Generation) -> Generation:
    place = int(re.findall(r", i(\d\d)\?", prompt)[-1])
    if model == HOSTILE:
        refuses = "Situation" in prompt and place == 0
        return replace(written, text=f"{HOSTILE} {place}", finish_reason="refusal" if refuses else "stop")
    knows = place < SOLVES[model] and "Situation" in prompt
    return replace(written, text=ROWS[place]["answer"] if knows else "no idea")


def _mark(_: str, prompt: str, written: Generation) -> Generation:
    """Right if gold and prediction are the same; in Japanese everything is right."""
    gold, said = (
        json.loads(re.findall(rf"{name}: <data>(.*)</data>", prompt)[-1])
        for name in ("Gold answer", "Prediction")
    )
    is_right = gold == said or any(item["item"] in prompt for item in ROWS[10:])
    says = (
        {"verdict": "CORRECT", "reason": "same answer"}
        if is_right
        else {"verdict": "INCORRECT", "reason": "no answer"}
    )
    return replace(written, text=json.dumps({"prediction": says}), tokens=())


class Made(NamedTuple):
    """A home, what may be asked of its items, and the config_hash of a run without and one with a judge."""

    home: Path
    warehouse: Warehouse
    matched: str
    judged: str


@pytest.fixture(name="made", scope="module")
def _made(copied_home: Callable[[], Path]) -> Made:
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
    return Made(home, Warehouse.open(home), matched, judged)


def test_the_leaderboard_ranks_by_what_was_right(made: Made) -> None:
    board = made.warehouse.query("SELECT * FROM leaderboard_culturall WHERE config_hash = ?", [made.matched])
    assert board["model"].to_list() == [*SOLVES, "null:constant-letter", "null:other-answer"]
    assert board["place"].to_list() == [1, 2, 3, 4, 5, 6]
    assert board["accuracy"].to_list()[:4] == [14 / 16, 8 / 16, 4 / 16, 0.0]
    assert board["accuracy_retrieval"].to_list()[:4] == [14 / 16, 8 / 16, 4 / 16, 0.0]
    assert board["n_scored"].to_list()[:4] == [16, 16, 16, 16]
    assert board["n_answered"].to_list()[:4] == [16, 16, 16, 15]
    assert board["accuracy_answered"].to_list()[:4] == [14 / 16, 8 / 16, 4 / 16, 0.0]
    assert board["n_not_checked"].to_list() == [16] * 6
    assert board["judge"].is_null().all()
    hostile = board.row(3, named=True)
    assert (hostile["refused"], hostile["coverage"]) == (2 / 32, 30 / 32)


def test_with_a_judge_accuracy_is_the_judges_and_a_bad_judge_is_flagged(made: Made) -> None:
    board = made.warehouse.query("SELECT * FROM leaderboard_culturall WHERE config_hash = ?", [made.judged])
    best = board.row(0, named=True)
    # The judge takes every Japanese answer as right, also the two that are not.
    assert (best["model"], best["accuracy"], best["accuracy_matched"]) == ("gem_high_false", 1.0, 14 / 16)
    assert best["judge_match_agreement"] == 14 / 16
    assert best["accuracy_question"] == 6 / 16
    assert best["scenario_gain"] == 10 / 16
    assert (best["judge"], best["judge_flagged"], best["validated"]) == ("judge", True, False)
    check = made.warehouse.query(
        "SELECT * FROM culturall_judge WHERE config_hash = ? ORDER BY place", [made.judged]
    )
    assert check["language"].to_list() == [None, "es", "ja"]
    assert check["flagged"].to_list() == [True, False, True]
    assert check["gold_accepted"].to_list() == [1.0, 1.0, 1.0]
    by_language = made.warehouse.query(
        "SELECT DISTINCT language, judge_flagged FROM culturall_by_language WHERE config_hash = ?",
        [made.judged],
    )
    assert by_language["judge_flagged"].all()  # overall it fails too


def test_views_by_slice_have_place_null_and_counts(made: Made) -> None:
    for kind, n in (("language", 2), ("region", 3), ("topic", 2), ("difficulty", 3)):
        frame = made.warehouse.query(
            f"SELECT * FROM culturall_by_{kind} WHERE config_hash = ? AND NOT is_null", [made.matched]
        )
        assert frame[kind].n_unique() == n
        assert sorted(frame["place"]) == frame["place"].to_list()
    hard = made.warehouse.query(
        "SELECT accuracy FROM culturall_by_difficulty WHERE config_hash = ? "
        "AND difficulty = 'hard' AND model = 'small'",
        [made.matched],
    )
    assert hard["accuracy"].to_list() == [0.0]
    solved = made.warehouse.query("SELECT * FROM culturall_solved WHERE config_hash = ?", [made.matched])
    counts = {(r["language"], r["n_solved"]): r["n_items"] for r in solved.iter_rows(named=True)}
    assert counts == {("es", 1): 2, ("es", 2): 4, ("es", 3): 4, ("ja", 0): 2, ("ja", 1): 4}


def test_answers_keep_passages_and_reasons(made: Made) -> None:
    rows = made.warehouse.query(
        "SELECT * FROM culturall_answer WHERE config_hash = ? AND item = 'i03' AND condition = 'retrieval'",
        [made.matched],
    ).to_dicts()
    assert {r["model"] for r in rows} == set(SOLVES)
    assert json.loads(rows[0]["passages"]) == [
        {"document": "a.txt", "number": 1, "text": f"Case of i03, {HOSTILE}"}
    ]
    lost = made.warehouse.query(
        "SELECT item, unscored_reason FROM culturall_answer WHERE unscored_reason IS NOT NULL"
    )
    assert set(lost.rows()) == {("i00", "refused")}
    assert run_checks(made.warehouse)["n_violations"].sum() == 0


def test_settings_are_compared_between_models(made: Made) -> None:
    gain = made.warehouse.query(
        "SELECT v.model, v.slice, v.value FROM metric_value AS v JOIN run USING (run_id) "
        "WHERE v.metric = 'reasoning_gain' AND config_hash = ?", [made.matched]
    )  # fmt: skip
    assert gain.rows() == [("gem_high_false", "gem_low_false", 6 / 16)]


def test_a_second_run_asks_nothing_and_another_model_changes_no_row(made: Made) -> None:
    numbers = "SELECT * EXCLUDE (run_id) FROM metric_value ORDER BY ALL"
    before = made.warehouse.query(numbers)
    with answering(made.home):
        models = {"models": ["m3", "m0"], "file": str(made.home / "items.csv"), "judges": ["m4"]}
        evaluate(EVALUATION, CulturallParams.model_validate(models))
    assert made.warehouse.query(numbers).equals(before)


def test_the_door_shows_what_is_unchecked_and_who_judges(made: Made) -> None:
    board = made.warehouse.query("SELECT * FROM leaderboard_culturall WHERE config_hash = ?", [made.judged])
    cells = [DOOR.columns(line) for line in board.to_dicts()]
    assert (cells[0]["checked"], cells[0]["judge"]) == ("0 of 16", "FAILS ITS CHECK")
    assert (cells[0]["validated"], cells[-1]["judge"]) == ("no", "–")


@pytest.fixture(name="page", scope="module")
def _page(made: Made) -> BeautifulSoup:
    return parsed(REPORT, read_data(made.warehouse, "culturall", made.judged))


def test_the_page_is_sound_and_says_what_may_not_be_trusted(page: BeautifulSoup) -> None:
    check_page(page)
    lead = " ".join(text_of(p) for p in page.select("p.lead"))
    assert "16 of 16 items are not checked by people" in lead
    assert "It fails its own check" in lead
    # By match gem_high_false solves 14 of 16, not the 16 of 16 that the judge says.
    assert "than guessing does, by match" in lead
    assert "solves 88 %" in lead
    board = lines(page, "board")
    assert len(board) == 6
    assert "judge fails its check" in board[0][0]
    assert ["judge", "Japanese", "100 %", "0 %", "0 %", "fails"] in lines(page, "judge-table")
    assert lines(page, "setting-table")[0][:3] == ["Gain of reasoning", "gem_high_false", "gem_low_false"]


def test_the_page_has_the_papers_figures(page: BeautifulSoup) -> None:
    assert "Case of" in text_of(page.select_one("section#figure-example"))
    for name in ("items", "languages", "solved", "scenario"):
        figure = page.select_one(f"figure#figure-{name} svg")
        assert figure is not None, name
    items = shown(page.select_one("figure#figure-items"))  # type: ignore[arg-type]
    assert {"Topic (2)", "Language (2)", "Region (3)", "Spanish", "Japan", "10"} <= set(items)
    languages = shown(page.select_one("figure#figure-languages"))  # type: ignore[arg-type]
    assert {"Japanese (6)", "Spanish (10)", "1.00"} <= set(languages)


def test_regions_are_in_the_order_of_the_names_that_are_shown(made: Made) -> None:
    """Mexico (MX) and Peru (PE) have five items each; under another name Mexico comes last of the two."""
    data = read_data(made.warehouse, "culturall", made.judged)
    assert list(data.n_items["region"]) == ["JP", "MX", "PE"]
    names = data.countries.with_columns(pl.col("name").replace({"Mexico": "United Mexican States"}))
    renamed = replace(data, countries=names)
    assert list(renamed.n_items["region"]) == ["JP", "PE", "MX"]
    table = [line[0] for line in lines(parsed(REPORT, renamed), "by-region")]
    assert table == ["Japan", "Peru", "United Mexican States"]


def test_the_page_says_where_an_interval_is(made: Made, page: BeautifulSoup) -> None:
    """Spanish is of two regions, Japanese of one, so that its items count."""
    spread = {line[0]: line[1:] for line in lines(page, "spread")}
    assert {name: cells[:2] for name, cells in spread.items()} == {
        "Spanish": ["10", "2"],
        "Japanese": ["6", "1"],
    }
    rows = made.warehouse.query(
        "SELECT DISTINCT language, n_regions, no_interval_reason IS NULL AS has FROM culturall_by_language "
        "WHERE config_hash = ? AND NOT is_null AND (ci_low IS NOT NULL) = (no_interval_reason IS NULL)",
        [made.matched],
    )
    assert set(rows.rows()) == {("es", 2, False), ("ja", 1, True)}


def test_one_item_of_each_region_has_an_interval_over_items(
    made: Made, own_copy: Callable[[Warehouse], Warehouse]
) -> None:
    """Two items of Spanish are of two regions, so that no two are alike: the exact interval holds."""
    own = own_copy(made.warehouse)
    with answering(own.home):
        few = {"models": ["m0"], "file": str(made.home / "items.csv"), "items_per_language": 2}
        config = evaluate(EVALUATION, CulturallParams.model_validate(few))
    rows = own.query(
        "SELECT language, n_regions, no_interval_reason, ci_low IS NOT NULL FROM culturall_by_language "
        "WHERE config_hash = ? AND NOT is_null ORDER BY language",
        [config],
    )
    assert rows.rows() == [("es", 2, None, True), ("ja", 1, None, True)]


def test_numbers_of_the_board_are_those_of_the_view(made: Made, page: BeautifulSoup) -> None:
    head = [text_of(cell) for cell in page.select("table#board thead th")]
    at = next(n for n, text in enumerate(head) if text.startswith("Of answers"))
    board = made.warehouse.query(
        "SELECT accuracy_answered FROM leaderboard_culturall WHERE config_hash = ? AND NOT is_null",
        [made.judged],
    )
    cells = [line[at].split()[0] for line in lines(page, "board")][: board.height]
    assert cells == [f"{value:.2f}" for value in board["accuracy_answered"]]


def test_hostile_names_and_answers_are_text(page: BeautifulSoup) -> None:
    assert not page.select("script")
    assert HOSTILE in text_of(page.select_one("table#board"))
    assert HOSTILE in text_of(page.select_one("table#example"))


def test_the_page_without_judges_and_with_passages(made: Made) -> None:
    page = parsed(REPORT, read_data(made.warehouse, "culturall", made.matched))
    check_page(page)
    assert "There was no judge" in page.get_text()
    assert "With passages" in text_of(page.select_one("table#board"))
    assert "figure-scenario" not in [f.get("id") for f in page.select("figure")]


@pytest.mark.heavy  # the contract tests have occasions of every evaluation
def test_of_a_model_that_was_asked_again_the_newest_answers_count(
    made: Made, own_copy: Callable[[Warehouse], Warehouse]
) -> None:
    own = own_copy(made.warehouse)
    views = ("culturall_solved", "culturall_example")
    before = [own.query(f"FROM {view} ORDER BY ALL") for view in views]
    with answering(own.home):
        models = {"models": ["m3", "m0"], "file": str(made.home / "items.csv"), "judges": ["m4"]}
        evaluate(EVALUATION, CulturallParams.model_validate(models | {"occasion": "again"}))
    assert own.query("SELECT count(*) FROM run WHERE occasion = 'again'").item() > 0
    for view, rows in zip(views, before, strict=True):
        assert own.query(f"FROM {view} ORDER BY ALL").equals(rows)
