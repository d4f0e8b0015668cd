"""The page of two models and two null recommenders whose rows are those of ``test_rows``; drawn once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import polars as pl
import pytest
from bs4 import BeautifulSoup

from deployments.show.report import page
from tasks.evaluations.explication.params import ExplicationParams
from tasks.evaluations.explication.read import conversations, grade_of
from tasks.evaluations.explication.report import (
    REPORT,
    ExplicationData,
    badge,
    ends,
    figures,
    judges,
    model_pairs,
)
from tasks.evaluations.explication.rows import null_rows
from tasks.evaluations.explication.study import ExplicationStudy
from tasks.loop.dialogue import TURN_LIMIT
from tasks.loop.rows import Metric
from tests.evaluations.explication import test_rows as by_hand
from tests.evaluations.explication.conftest import study
from tests.report.pages import text_of
from tests.report.stored import CONFIG, store_run
from warehouse import Warehouse

NAMES = ("all", "cut")


def stored(rows: list[Metric]) -> list[dict[str, object]]:
    return [{name: value for name, value in row._asdict().items() if name != "points"} for row in rows]


@pytest.fixture(scope="module", name="of")
def _of() -> ExplicationStudy:
    return study(max_turns=5)


@pytest.fixture(scope="module", name="warehouse")
def _warehouse(of: ExplicationStudy, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warehouse]:
    """A warehouse: model "all" lost nothing; "cut" lost half of its conversations and is graded 1 lower."""
    params = of.params.model_dump(mode="json")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CULTUREMETER_HOME", str(tmp_path_factory.mktemp("page")))
        warehouse = Warehouse.open()
        for name in NAMES:
            stage, grades = by_hand.stage_of(of), by_hand.own_grades(of)
            for key in of.real() if name == "cut" else ():
                grades[key] = by_hand.grades(grade_of(grades[key], "apr") - 1)
                if key.repetition == 0:
                    by_hand.talked(stage.talks[key], TURN_LIMIT, by_hand.question())
                    del grades[key]
            rows = by_hand.rows_of(conversations(of, stage, grades), by_hand.shared_grades(of))
            store_run(warehouse, "explication", name, stored(list(rows.values())), params, engine=(name, "x"))
        for name, own in null_rows(of, by_hand.shared_grades(of)).items():
            store_run(warehouse, "explication", name, stored(own), params, engine=(name, "null"))
        yield warehouse


@pytest.fixture(scope="module", name="html")
def _html(warehouse: Warehouse) -> str:
    return page(warehouse, "explication", CONFIG)


@pytest.fixture(scope="module", name="data")
def _data(warehouse: Warehouse) -> ExplicationData:
    views = {
        "leaderboard": "leaderboard_explication", "personas": "explication_by_persona",
        "values": "report_value", "metrics": "report_metric", "runs": "report_run",
        "transcripts": "explication_transcript",
        "meta": "meta_explication", "people": "explication_people", "unscored": "report_unscored",
        "countries": "report_country", "sources": "report_source", "configurations": "report_configuration",
    }  # fmt: skip
    frames = {name: warehouse.query(f"FROM {view}") for name, view in views.items()}
    frames["leaderboard"] = frames["leaderboard"].sort("place")
    # The last row is agreement among people only, which validates no judge.
    rows = [
        ("quality 1", "pearson", 0.5),
        ("x 1", "pearson", None),
        ("y 1", "krippendorff_alpha_nominal", 0.9),
    ]
    judged = pl.DataFrame(rows, schema=["rubric", "metric", "value"], orient="row").with_columns(
        judge=pl.lit("j"), judge_hash=pl.lit("h")
    )
    return ExplicationData(config_hash=CONFIG, verdicts=judged.drop("value"), validation=judged, **frames)


@pytest.fixture(scope="module", name="cells")
def _cells(html: str) -> list[list[str]]:
    """The texts of all rows of all tables."""
    page = BeautifulSoup(html, "lxml")
    return [[text_of(cell) for cell in row.select("th, td")] for row in page.select("tr")]


def test_board_has_each_condition_and_the_nulls(cells: list[list[str]]) -> None:
    board = [row for row in cells if len(row) == 9 and row[1] in ("control", "treatment", "–")]
    order = ("all control", "cut control", "all treatment", "cut treatment", "null:fixed –", "null:generic –")
    assert len(board) == len(order)
    for row, (name, condition) in zip(board, map(str.split, order), strict=True):
        assert (row[0].startswith(name), row[1]) == (True, condition)
    assert [row[2].split()[0] for row in board] == ["4.00", "3.00", "5.00", "4.00", "3.50", "2.50"]


def test_conversations_cut_short_are_shown_beside_the_limit(
    html: str, cells: list[list[str]], data: ExplicationData
) -> None:
    usual = ExplicationParams.model_fields["max_turns"].default
    assert re.search(rf"Turns at most</dt><dd>5\s*<small>\(usually {usual}\)", html)
    leads = re.findall(r'<p class="lead">(.*?)</p>', html, re.S)
    assert [("cut" in lead, "50" in lead) for lead in leads if "Cut short" in lead] == [(True, True)]
    cut_short = [[cell.split()[0] for cell in row[1:]] for row in cells if row[0] == "Cut short"]
    assert ["0.00", "0.50"] in cut_short
    shares = ends(data)
    assert shares["all"] == [("control", "recommendation", 1.0), ("treatment", "recommendation", 1.0)]
    assert sorted(shares["cut"]) == [
        (c, reason, 0.5) for c in ("control", "treatment") for reason in ("recommendation", "turn limit")
    ]
    assert any("control: turn limit: 50" in " ".join(row) for row in cells)


def test_models_are_compared_over_personas_by_condition(data: ExplicationData) -> None:
    pairs = {(line["metric"], line["condition"]): line for line in model_pairs(data)}
    control = pairs["apr", "control"]
    # Every persona loses one: 1 of 64 orders of signs is as high on each side; one pair is tested.
    assert len(pairs) == 1
    assert (control["first"], control["second"], control["n"]) == ("all", "cut", 6)
    assert (control["difference"], control["p_value"]) == (1.0, 2 / 64)
    assert (control["p_holm"], control["holm_reason"]) == (2 / 64, None)


@pytest.mark.parametrize(
    ("tells", "is_null", "kind"),
    [(True, False, "good"), (False, False, "warn"), (None, False, "plain"), (None, True, "plain")],
)
def test_badge_follows_the_check_of_the_judges(tells: bool | None, is_null: bool, kind: str) -> None:
    assert badge({"is_null": is_null, "tells_real_from_shuffled": tells})[0] == kind


def test_failed_check_of_judges_concerns_only_its_model(data: ExplicationData) -> None:
    is_best = pl.col("model") == "all"
    board = data.leaderboard.with_columns(
        tells_real_from_shuffled=pl.when(is_best).then(True).when(~pl.col("is_null")).then(False),
        apr_low=pl.when(is_best).then(pl.col("apr") - 0.1),
        apr_high=pl.when(is_best).then(pl.col("apr") + 0.1),
        apr_null=pl.when(is_best).then(pl.col("apr") - 1),
    )  # fmt: skip
    shown = REPORT.render(replace(data, leaderboard=board, verdicts=data.verdicts.clear()))
    assert "fail their check for <bdi" in shown
    assert "whole interval is above" in shown


def test_judge_is_validated_by_agreement_with_people(data: ExplicationData) -> None:
    assert [line["validated"] for line in judges(data)] == [True, False, False]


def test_figures_have_both_conditions_and_models(data: ExplicationData) -> None:
    drawn = figures(data)
    assert set(drawn) == {"meta", "instructions", "counted"}
    assert all(name in str(figure) for figure in drawn.values() for name in (*NAMES, "control", "treatment"))
    assert (data.conditions, data.models) == (["control", "treatment"], list(NAMES))
