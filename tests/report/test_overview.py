"""The overview: compared models, headlines beyond their nulls, histories, published values, hostile names."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Any

import polars as pl
import pytest
from bs4 import BeautifulSoup

from tasks.report import RankSets
from tasks.report.forest import Mark, extent, finding, in_order, round_numbers, shade, state_of
from tasks.report.history import history_figure, sparkline
from tasks.report.overview import OverviewSection, beyond_null, ordered_pairs, render
from tests.report.pages import HOSTILE, check_page, shown, text_of

FIRST = datetime(2026, 11, 2, 3)
METRICS = pl.DataFrame(
    {
        "metric": ["f1", "error"], "label": ["F1", "Error"], "direction": ["higher", "lower"],
        "range_low": [0.0, 0.0], "range_high": [1.0, None], "description": ["agreement", "distance"],
    }
)  # fmt: skip


def row(
    model: str, value: float | None, low: float | None = None, high: float | None = None, **more: Any
) -> dict[str, Any]:
    """Return a row of leaderboard_history."""
    week, null = more.pop("week", 0), more.get("null_value", 0.25)
    beyond = None if low is None or null is None else low > null
    return {
        "evaluation": "e", "config_hash": "c", "model": model, "engine_hash": model, "is_null": False,
        "model_hash": f"hash of {model}", "engine": "vllm, bfloat16",
        "occasion": f"w{week}" if week else "", "run_id": f"{model}{week}",
        "finished_at": FIRST + timedelta(weeks=week), "metric": "f1", "label": "F1", "value": value,
        "ci_low": low, "ci_high": high, "null_value": 0.25, "is_beyond_null": beyond, "doubt": None,
        "n_scored": 27, "n_unscored": 0, **more,
    }  # fmt: skip


def section(*rows: dict[str, Any], **more: Any) -> OverviewSection:
    history = pl.DataFrame(rows, infer_schema_length=None)
    fields: dict[str, Any] = {"differences": pl.DataFrame(DIFFERENCES)}
    fields |= {"evaluation": "e", "title": "What?", "config_hash": "c", "profile": "demo", "metrics": METRICS}
    return OverviewSection(**fields | {"history": history} | more)


A = row("a", 0.8, 0.7, 0.9)
B = row("b", 0.5, 0.4, 0.6)
BEYOND, NOT_BEYOND = ("good", "beyond its null"), ("warn", "not beyond its null")
NEAR_B = row("c", 0.55, 0.45, 0.65)


def difference(first: str, second: str, value: float, p_holm: float | None) -> dict[str, Any]:
    """Return a row of paired differences."""
    names = {"metric": "f1", "first_model": first, "second_model": second}
    return names | {"difference": value, "p_holm": p_holm}


DIFFERENCES = [
    difference("a", "b", 0.3, 0.01),
    difference("c", "a", -0.25, 0.04),
    difference("b", "c", -0.05, 0.3),
]


def test_models_are_separated_by_their_paired_difference() -> None:
    pairs = {(p.first, p.second): p.verdict for p in ordered_pairs(DIFFERENCES, "higher")}
    assert pairs == {("a", "b"): "better", ("a", "c"): "better", ("c", "b"): "none"}
    less = {(p.first, p.second): p.verdict for p in ordered_pairs(DIFFERENCES[:1], "lower")}
    assert less == {("b", "a"): "better"}
    assert ordered_pairs([difference("a", "d", 0.7, None)], "higher") == []


@pytest.mark.parametrize(
    ("number", "direction", "badge"),
    [
        (A, "higher", BEYOND),
        (A | {"is_beyond_null": False, "doubt": "draws reach as far"}, "higher", NOT_BEYOND),
        (row("a", 0.3, 0.2, 0.4), "higher", NOT_BEYOND),
        (row("a", 0.1, 0.05, 0.2), "higher", NOT_BEYOND),
        (row("a", 0.1, 0.05, 0.2, is_beyond_null=True), "lower", BEYOND),
        (row("a", 0.8, 0.7, 0.9, is_beyond_null=False), "lower", NOT_BEYOND),
        (row("a", 0.9), "higher", ("plain", "no interval")),
        (A, "none", None),
        (row("a", 0.9, 0.8, 1.0, null_value=None), "higher", None),
        (row("a", None), "higher", None),
    ],
)
def test_the_badge_follows_is_beyond_null_of_the_warehouse(
    number: dict[str, Any], direction: str, badge: tuple[str, str] | None
) -> None:
    assert beyond_null(number, direction) == badge


def test_the_doubt_of_a_number_is_beside_its_badge() -> None:
    doubted = A | {"is_beyond_null": False, "doubt": f"{HOSTILE} reaches 0.90"}
    page = BeautifulSoup(render([section(doubted, B)]), "lxml")
    check_page(page, n_scripts=1)
    assert "1 of 2" in text_of(page.select("p.lead")[1])
    shown = text_of(page.select("table")[1].select("tbody tr")[1])
    assert f"{HOSTILE} reaches 0.90" in shown


def test_a_model_has_its_ranks_beside_the_number_that_they_are_on() -> None:
    sets = {"a0": (1, 1), "b0": (2, 3)}
    page = BeautifulSoup(render([section(A, B, ranks=RankSets("f1", sets))]), "lxml")
    check_page(page, n_scripts=1)
    cells = [text_of(cell) for cell in page.select("#tiles tbody td > small")]
    assert cells == ["rank 1", "rank 2 to 3"]
    assert "all ranks that the data allow" in text_of(page.select_one("#tiles caption"))
    for ranks in (RankSets("error", sets), RankSets()):
        other = BeautifulSoup(render([section(A, B, ranks=ranks)]), "lxml")
        assert not other.select("#tiles tbody td > small")


def test_the_extent_of_an_axis_is_finite_and_not_empty() -> None:
    assert extent([row("a", 0.3), row("b", float("inf"))]) == (0.25, 0.3)
    assert extent([row("a", 0.25)]) == (-0.25, 0.75)
    assert extent([]) == (0.0, 1.0)


def test_a_sparkline_places_points_by_occasion_and_value() -> None:
    past = [row("a", 0.0, week=1), row("a", None, week=2), row("a", 1.0, 0.9, 1.0, week=3)]
    drawn = BeautifulSoup(sparkline(past, (0, 1)), "lxml").svg
    assert drawn is not None
    assert drawn["aria-label"] == "w1: 0.000; w2: –; w3: 1.000"
    assert drawn.polyline
    assert drawn.polyline["points"] == "4.0,26.0 116.0,4.0"
    assert len(drawn.select("circle")) == 2
    assert len(drawn.select("line.ci")) == 1
    (null,) = drawn.select("line.null")
    assert null["y1"] == "20.5"  # a quarter of the way up from 26 to 4


def test_the_overview_shows_the_newest_occasion_and_its_change() -> None:
    error = {"metric": "error", "label": "Error", "null_value": None}
    newer, null = row("a", 0.8, 0.7, 0.9, week=2), row("null:x", 0.25, is_null=True)
    rows = [A | {"value": 0.75}, newer, B, NEAR_B, row("a", 3.5, **error), null]
    page = BeautifulSoup(render([section(*rows)]), "lxml")
    check_page(page, n_scripts=1)
    (models, numbers, differ) = page.select("table")
    tiles = {text_of(r.th): r.button for r in models.select("tbody tr")}
    assert {name: (text_of(tile), tile["class"][1]) for name, tile in tiles.items() if tile} == {
        "a": ("0.80", "beyond"), "b": ("0.50", "beyond"), "c": ("0.55", "beyond"),
    }  # fmt: skip
    tip = text_of(page.select_one(f"#{tiles['a']['popovertarget']}"))  # type: ignore[index]
    values = ["0.800", "0.700", "0.900", "0.250", "n 27", "0.750", "0.800", "+0.05"]  # then the history
    assert re.findall(r"[+-]?\d+\.\d+|n \d+", tip) == values
    assert "vllm, bfloat16" in tip
    shown = [text_of(r) for r in numbers.select("tbody tr")]
    assert shown[0] == "F1 ↑ agreement"  # the meaning is visible without hovering
    assert "beyond its null" in shown[1]
    assert shown[1].endswith("w2: +0.05")
    assert shown[4] == "Error ↓ distance"
    assert "null:x" not in " ".join(shown)
    assert [text_of(c) for c in differ.select("tbody tr")[0].select("td")] == ["a > b ; a > c", "c · b"]
    assert re.findall(r"\d of \d", text_of(page.select("p.lead")[1])) == ["3 of 3", "2 of 3"]
    assert {link["download"] for link in page.select("a[download]") if "history" in link["download"]} == {
        "culturemeter-history-e.svg", "culturemeter-history-e.csv",
    }  # fmt: skip


def test_one_model_on_one_occasion_has_no_figure_or_comparison() -> None:
    page = BeautifulSoup(render([section(A)]), "lxml")
    check_page(page, n_scripts=1)
    (grid,) = page.select("figure svg")
    assert grid["aria-label"] == "Every model on every evaluation"
    assert len(page.select("table")) == 2
    assert "1 occasion" in page.get_text()
    alone = BeautifulSoup(render([section(row("a", 0.8))]), "lxml").select_one("figure.forest")
    assert "too few answers" in text_of(alone)
    assert history_figure(section(A).history, [("f1", "F1")], "x") is None


def agreement(other: str, n: int, rho: float | None, p_holm: float | None, **more: Any) -> dict[str, Any]:
    """Return a row of evaluation_agreement."""
    ends = {"ci_low": None, "ci_high": None, "unscored_reason": None, "least_rho": None}
    names = {"evaluation": "e", "label": "F1", "other_evaluation": other, "other_label": "Other"}
    return names | ends | {"n_models": n, "rho": rho, "p_holm": p_holm} | more


def test_the_overview_shows_the_agreement_of_evaluations() -> None:
    rows = [
        agreement("f", 8, 0.9, 0.004, least_rho=0.74, ci_low=0.5, ci_high=1.0),
        agreement("g", 8, -0.95, 0.001, least_rho=0.74),
        agreement("h", 6, 0.5, 0.6, least_rho=0.89),
        agreement("external", 4, 1.0, 0.2),
        agreement("i", 2, None, None, unscored_reason="fewer than three models have both"),
    ]
    noise = section(row("a", 0.8), row("b", 0.7), evaluation="f", differences=pl.DataFrame(DIFFERENCES[2:]))
    page = BeautifulSoup(render([section(A, B, NEAR_B), noise], pl.DataFrame(rows)), "lxml")
    check_page(page, n_scripts=1)
    table = page.select_one("#agreement").find_next("table")  # type: ignore[union-attr]
    verdicts = [text_of(line.select("td")[-1]) for line in table.select("tbody tr")]
    assert verdicts[0].startswith("same order f ")  # f does not separate the models
    assert len(set(verdicts)) == len(verdicts) == 5
    assert text_of(table.select("tbody tr")[0].select("td")[2]) == "0.90 0.50 to 1.00"


def test_hostile_names_are_text() -> None:
    rows = [row(HOSTILE, 0.5, 0.4, 0.6, week=week) | {"occasion": f"{HOSTILE}{week}"} for week in (1, 2)]
    page = BeautifulSoup(render([section(*rows, row("b", 0.1, 0.0, 0.2))]), "lxml")
    check_page(page, n_scripts=1)
    assert HOSTILE in page.get_text()


def test_rows_in_any_order_give_equal_bytes() -> None:
    rows = [A, B, row("a", 0.6, 0.5, 0.7, week=1)]
    assert render([section(*rows)]) == render([section(*rows[::-1])])


def printed(model: str | None, value: float, **more: Any) -> dict[str, Any]:
    """Return a row of beside_published; one with source measured is ours."""
    return {
        "metric": "f1", "label": "F1", "slice_kind": "overall", "slice": "all", "source": "paper Table 1",
        "model": model, "value": value, "ci_low": None, "ci_high": None, "null_value": None, "n_scored": None,
        "n_unscored": None, "definition": "equal", "difference": "other items", "cited": "Who 2025",
        "condition": None, **more,
    }  # fmt: skip


def test_published_values_of_another_setting_are_a_separate_group() -> None:
    rows = [
        printed("gpt", 0.9, condition="id=1; web=Yes; subset=all"),
        printed(None, 0.2),
        printed("old", 0.1, definition="near", difference="other tokens"),
    ]
    table = pl.DataFrame(rows, infer_schema_length=None)
    page = BeautifulSoup(render([section(A, B, published=table)]), "lxml")
    check_page(page, n_scripts=1)
    (chart,) = page.select("figure.forest")
    assert [li["class"][0] for li in chart.select("li")] == [
        "measured", "measured", "group", "published", "published", "group", "published", "axis",
    ]  # fmt: skip
    text = text_of(chart)
    for fact in (
        "gpt web=Yes 0.900",
        "together 0.200",
        "setting: other tokens",
        "0.10 to 0.90 (Who 2025)",
        "1 of 3",
    ):
        assert fact in text
    assert len(page.select("tbody.papers .dot")) == 3


def test_published_values_of_an_unknown_difference_have_no_reason() -> None:
    rows = [printed("old", 0.1, definition="near", difference=None)]
    table = pl.DataFrame(rows, infer_schema_length=None)
    (chart,) = BeautifulSoup(render([section(A, B, published=table)]), "lxml").select("figure.forest")
    assert "setting old" in text_of(chart)
    assert "None" not in text_of(chart)


def test_published_values_of_another_metric_have_their_own_chart() -> None:
    error = {"metric": "error", "label": "Error", "null_value": 2.0}
    ours = printed("a", 3.0, source="measured", ci_low=2.5, ci_high=3.5) | error
    rows = [ours, printed("gpt", 2.5, metric="error", label="Error")]
    table = pl.DataFrame(rows, infer_schema_length=None)
    worse = row("a", 3.0, 2.5, 3.5, is_beyond_null=False, **error)
    page = BeautifulSoup(render([section(A, worse, published=table)]), "lxml")
    first, second = page.select("figure.forest")
    assert not first.select("li.published")
    assert "2.50" in text_of(second)
    assert "does not beat" in text_of(second)
    assert second.select_one("li.measured")["class"][1] == "below"  # type: ignore[index]


@pytest.mark.parametrize(
    ("number", "direction", "state"),
    [
        (A, "higher", "beyond"),
        (A | {"is_beyond_null": False}, "higher", "within"),
        (row("a", 0.1, 0.05, 0.2), "higher", "below"),
        (row("a", 0.3, 0.26, 0.4, is_beyond_null=False), "lower", "below"),
        (row("a", 0.1, 0.05, 0.3, is_beyond_null=False), "lower", "within"),
        (row("a", 0.9), "higher", "bare"),
        (A, "none", "bare"),
        (row("a", None), "higher", "lost"),
    ],
)
def test_a_tile_is_filled_only_beyond_the_null(number: dict[str, Any], direction: str, state: str) -> None:
    assert state_of(number, direction) == state


def test_the_shade_of_a_tile_rises_towards_the_best_value() -> None:
    assert shade(row("a", 0.625), "higher", 1.0, 0.0) == 0.5
    assert shade(row("a", 0.1), "higher", 1.0, 0.0) == 0.0
    assert shade(row("a", 0.125), "lower", 0.0, 0.0) == 0.5
    assert shade(row("a", 0.5), "higher", None, 0.5) == 0.5  # relative to the largest gain
    assert shade(row("a", float("inf")), "higher", None, 0.5) == 0.0


def test_marks_are_ordered_from_best_to_worst_then_published() -> None:
    marks = [
        Mark("b", row("b", 0.2), "bare"),
        Mark("p", row("p", 0.9), "bare", is_published=True),
        Mark("none", row("none", None), "lost"),
        Mark("a", row("a", 0.7), "bare"),
    ]
    assert [mark.name for mark in in_order(marks, "higher")] == ["a", "b", "none", "p"]
    assert [mark.name for mark in in_order(marks, "lower")] == ["b", "a", "none", "p"]
    without, beside = (finding(marks, null, "higher", "Who") for null in (None, 0.5))
    assert "0.90 (Who)" in without
    assert "It beats" in beside
    assert "beats" not in without


def test_the_verdict_depends_on_headlines_beyond_their_nulls() -> None:
    def verdict(*beyond: bool) -> str:
        two = zip(("one", "two"), beyond, strict=True)
        sections = [section(A | {"is_beyond_null": each}, evaluation=name) for name, each in two]
        return text_of(BeautifulSoup(render(sections), "lxml").select_one("p.verdict"))

    assert verdict(True, True).startswith("On every evaluation")
    assert verdict(True, False).startswith("On one")
    assert verdict(False, False).startswith("No model")


def test_tiles_of_a_column_share_one_axis_and_null() -> None:
    page = BeautifulSoup(render([section(A, B, row("c", 0.1, 0.05, 0.2))]), "lxml")
    null, *others = [float(str(mark["style"])[5:-1]) for mark in page.select("#tiles tbody .null")]
    assert set(others) == {null}
    dots = [float(str(mark["style"])[5:-1]) for mark in page.select("#tiles tbody .dot")]
    assert dots[0] > dots[1] > null > dots[2]


def test_a_column_has_one_number_and_published_values_of_another_stay_out() -> None:
    error = {"metric": "error", "label": "Error", "null_value": 2.0}
    table = pl.DataFrame([printed("gpt", 2.5, **error)], infer_schema_length=None)
    worse = row("a", 3.0, 2.5, 3.5, is_beyond_null=False, **error)
    page = BeautifulSoup(render([section(A, worse, published=table)]), "lxml")
    assert not page.select("#tiles tbody.papers")
    assert "2.50" in text_of(page.select("figure.forest")[1])
    assert not [text for text in shown(page) if text == "as published"]


def test_all_rows_of_a_column_share_its_ticks() -> None:
    page = BeautifulSoup(render([section(A, B, row("c", 0.1, 0.05, 0.2))]), "lxml")
    assert [text_of(tick) for tick in page.select("#tiles tfoot .track b")] == ["0", "0.4", "0.8"]
    ticks = {text_of(tick): tick["style"] for tick in page.select("figure.forest .axis .tick")}
    at = {label: float(str(style)[5:-1]) for label, style in ticks.items()}
    assert list(at) == ["0", "0.2", "0.4", "0.6", "0.8"]
    dots = [float(str(mark["style"])[5:-1]) for mark in page.select("#tiles .dot")]
    assert dots[1] == pytest.approx((at["0.4"] + at["0.6"]) / 2, abs=0.02)  # 0.5


@pytest.mark.parametrize(
    ("low", "high", "numbers"),
    [
        (0.0, 1.0, [0.0, 0.5, 1.0]),
        (-0.49, 0.51, [-0.4, -0.2, 0.0, 0.2, 0.4]),
        (0.31, 0.34, [0.31, 0.32, 0.33, 0.34]),
        (0.0, 41.9, [0.0, 20.0, 40.0]),
        (6.1, 6.9, [6.2, 6.4, 6.6, 6.8]),
        (-3e-7, 4e-7, [-2e-7, 0.0, 2e-7, 4e-7]),
    ],
)
def test_ticks_are_two_to_five_round_numbers(low: float, high: float, numbers: list[float]) -> None:
    assert round_numbers(low, high) == pytest.approx(numbers)
