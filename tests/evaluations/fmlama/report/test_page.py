"""The fmlama page from a hand-made warehouse: numbers as in the views, notes where they must be, escaping."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from bs4 import BeautifulSoup

from deployments.show.report import beside_published, read_data
from tasks.evaluations.fmlama.report import REPORT
from tasks.evaluations.fmlama.report.data import FmlamaData, in_order
from tasks.evaluations.fmlama.report.figures import stars
from tests.evaluations.fmlama.report.example_run import (
    CHINESE,
    CONDITIONS,
    HEBREW,
    MODELS,
    PARAMS,
    condition_metrics,
    store,
)
from tests.report import pages
from tests.report.pages import HOSTILE, check_page, section, shown, text_of
from tests.report.stored import store_run
from warehouse import Warehouse


@pytest.fixture(name="warehouse", scope="module")
def _warehouse(copied_home: Callable[[], Path]) -> Warehouse:
    warehouse = Warehouse.open(copied_home())
    for model in MODELS:
        store(warehouse, model)
    return warehouse


@pytest.fixture(name="data", scope="module")
def _data(warehouse: Warehouse) -> FmlamaData:
    return read_data(warehouse, "fmlama")


def parsed(data: FmlamaData) -> BeautifulSoup:
    return pages.parsed(REPORT, data)


@pytest.fixture(name="page", scope="module")
def _page(data: FmlamaData) -> BeautifulSoup:
    return parsed(data)


def only(data: FmlamaData, *conditions: str) -> FmlamaData:
    """Return the frames of these conditions."""

    def slug(named: pl.Expr) -> pl.Expr:
        return pl.concat_str("main_language", "subject_language", named, separator=":")

    named = pl.when("country_mentioned").then(pl.lit("yes")).otherwise(pl.lit("no"))
    condition = pl.col("slice").str.extract(r"^(\w+:\w+:\w+)")
    return replace(
        data,
        leaderboard=data.leaderboard.filter(slug(named).is_in(conditions)),
        values=data.values.filter(condition.is_in(conditions)),
        switching=data.switching.filter(slug(pl.lit("no")).is_in(conditions)),
    )


def test_leaderboard_shows_the_numbers_of_the_view(page: BeautifulSoup, data: FmlamaData) -> None:
    rows = page.select("table.leaderboard")[0].select("tbody tr:not(.block)")
    plain = data.leaderboard.filter(pl.col("main_language") == pl.col("subject_language"))
    assert len(rows) == plain.height == 16  # 4 models and baselines x 2 languages x country
    for row, expected in zip(rows, plain.iter_rows(named=True), strict=True):
        cells = [text_of(cell) for cell in row.select("td")]
        assert expected["model"] in text_of(row.th)
        low, high = f"{expected['ci_low']:.3f}", f"{expected['ci_high']:.3f}"
        assert cells[0] == f"{expected['map']:.3f} ± 0.012 {low} to {high} n 14"
        assert cells[2] == f"{expected['null_map']:.3f}"
        assert cells[3].startswith(f"{expected['map_gain']:+.3f}".replace("-", "−"))
        assert cells[4].startswith("–" if expected["mws"] is None else f"{expected['mws']:.3f}")
        assert cells[-1] == f"{expected['unspellable']:.0f}"


def test_best_baseline_is_named_and_lost_numbers_have_reasons(page: BeautifulSoup, data: FmlamaData) -> None:
    marked = {text_of(row.bdi) for row in page.select("table.leaderboard tr.null")}
    assert marked == {"null:common", "null:common-of-origin"}
    assert text_of(page.select_one("tr.block")).endswith("best baseline: null:common")
    higher = data.values.with_columns(null_value=pl.lit(0.9))
    assert {g.best_name for g in replace(data, values=higher).groups} == {"chance"}
    titles = {cell["title"] for cell in page.select("table.leaderboard td[title^='mws:']")}
    assert "mws: 0 scored, 14 unscored, null 0.410: no word vectors for 'zh'" in titles


def test_warning_lists_models_whose_gain_reaches_zero(page: BeautifulSoup, data: FmlamaData) -> None:
    # "knows" gains 0.25 +- 0.1 and 0.3 +- 0.1, the other -0.05 +- 0.1 and 0 +- 0.1.
    warning = text_of(page.select_one(".warning"))
    assert (HOSTILE in warning, "knows" in warning, "4 conditions" in warning) == (True, False, True)
    assert "4 of 8" in text_of(page.select_one("p.lead"))
    certain = data.values.with_columns(ci_low=pl.col("ci_low").clip(0.001))
    assert not parsed(replace(data, values=certain)).select("div.warning")
    # An interval that begins at 0 is not above 0.
    touching = data.values.with_columns(ci_low=pl.lit(0.0), ci_high=pl.lit(-0.01))
    below = text_of(parsed(replace(data, values=touching)).select_one("div.warning"))
    assert "below 0" in below
    assert "below 0" not in warning


def test_country_bars_have_stars_for_the_adjusted_p(page: BeautifulSoup) -> None:
    texts = shown(page.select_one('svg[aria-label="mAP by origin in English"]'))
    # Two models: ALL has p = 0.004, each of two origins p = 0.04
    assert sorted(text for text in texts if set(text) == {"*"}) == ["**"] * 4 + ["***"] * 2
    assert f"{HOSTILE} (1)" in texts


@pytest.mark.parametrize(
    ("p", "marks"),
    [(None, ""), (0.1, ""), (0.0999, "*"), (0.05, "*"), (0.0499, "**"), (0.01, "**"), (0.0099, "***")],
)
def test_stars_mark_p_below_a_tenth_a_twentieth_and_a_hundredth(p: float | None, marks: str) -> None:
    assert stars(p) == marks


def test_notes_replace_comparisons_that_were_not_run(page: BeautifulSoup, data: FmlamaData) -> None:
    params = pl.lit(json.dumps(PARAMS | {"aligned": False}))
    for part, note, without in (
        ("country", "To compare both", only(data, "en:en:no", "zh:zh:no")),
        ("languages", "Do not compare bars", replace(data, runs=data.runs.with_columns(params=params))),
        ("languages", "in English only", only(data, "en:en:no", "en:en:yes")),
        ("switching", "has no code-switching", only(data, *CONDITIONS[:4])),
    ):
        assert note not in section(page, part)
        assert note in section(parsed(without), part)


def test_switching_matrix_shows_the_view(page: BeautifulSoup, data: FmlamaData) -> None:
    texts = shown(page.select_one('svg[aria-label*="language of the sentence"]'))
    assert {f"{cell['map']:.3f}" for cell in data.switching.iter_rows(named=True)} <= set(texts)
    # Each of four panels has two cells off the diagonal, 0.01 below it.
    assert texts.count("−0.010") == 8
    assert not parsed(only(data, *CONDITIONS[:4])).select('svg[aria-label*="language of the sentence"]')
    assert not parsed(only(data, "en:en:no", "en:en:yes")).select('svg[aria-label*="prompt language"]')


def test_errors_are_listed_with_share_and_kind(page: BeautifulSoup, data: FmlamaData) -> None:
    cell = page.select_one("table.errors tbody td")
    # Two of the three false predictions are the same candidate; one of the four predictions is right.
    assert [text_of(item) for item in cell.select("li")] == [  # type: ignore[union-attr]
        f"{HOSTILE} 67 % foreign",
        f"{HEBREW} 33 % local",
    ]
    assert "foreign 50 % (40 % to 60 %) chance 63 %, n 14" in text_of(cell)
    assert f"{CHINESE} 25 %, right 100 %" in section(page, "errors")
    assert data.errors.height == 4 * 4 * 2 * 2  # models, conditions of one language, origins, candidates


def test_mes_has_its_judge_counts_and_interval(page: BeautifulSoup, data: FmlamaData) -> None:
    text = section(page, "mes")
    for part in (
        "rubric mes 1 ; 8 predictions, 4 without",
        "not validated",
        "0.77 0.60 to 0.90 Maybe 0.11, n 14",
    ):
        assert part in text
    assert "judged its own" not in text
    itself = replace(data, judged=data.judged.with_columns(judge=pl.lit("knows")))
    assert "knows judged its own" in section(parsed(itself), "mes")


def test_without_a_judge_there_is_no_mes_column(data: FmlamaData) -> None:
    values = data.values.filter(~pl.col("metric").str.starts_with("mes"))
    page = parsed(replace(data, values=values, judged=data.judged.clear()))
    assert "has no judge" in section(page, "mes")
    assert "MES" not in text_of(page.select_one("table.leaderboard thead"))


def test_page_is_self_contained_and_reproducible(data: FmlamaData, page: BeautifulSoup) -> None:
    check_page(page)
    assert str(parsed(data)) == str(page)
    assert HOSTILE in text_of(page.select_one("table.leaderboard"))
    names = [e for e in page.find_all("bdi") if e.get_text() in (HEBREW, CHINESE)]
    assert {e["dir"] for e in names} == {"auto"}
    assert not any(HEBREW in text or CHINESE in text for text in shown(page))
    assert in_order(["xx", "he", "en", "zh", "en"]) == ["en", "zh", "he", "xx"]


def test_model_without_answers_is_drawn_as_not_scored(data: FmlamaData) -> None:
    lost = pl.when(pl.col("model") != "knows")
    numbers = ("value", "ci_low", "ci_high")
    page = parsed(replace(data, values=data.values.with_columns(**{n: lost.then(n) for n in numbers})))
    assert "not scored" in shown(page)


def test_poolings_that_reverse_a_verdict_are_listed_per_condition(
    page: BeautifulSoup, data: FmlamaData
) -> None:
    (listed,) = page.select("h2#poolings ~ ul")
    lines = [text_of(line) for line in listed.select("li")]
    assert len(lines) == 4
    assert all("knows" in line and HOSTILE not in line for line in lines), lines
    before = replace(data, values=data.values.filter(pl.col("slice_kind") != "condition_pooling"))
    assert not parsed(before).select("h2#poolings")


@pytest.mark.parametrize("pooling", ["mean_logprob", "mean_probability"])
def test_published_number_names_differing_settings(copied_home: Callable[[], Path], pooling: str) -> None:
    """The paper's program takes the mean of log-probabilities; dishes and templates differ in any case."""
    warehouse = Warehouse.open(copied_home())
    rows = list(condition_metrics("knows", "en:en:no"))
    store_run(warehouse, "fmlama", "knows", rows, PARAMS | {"pooling": pooling}, "one")
    beside = beside_published(warehouse, "fmlama", "one").filter(metric="map", slice="en:en:no")
    printed = beside.filter(pl.col("source") != "measured")
    assert set(printed["definition"]) == {"near"}
    differ = printed["settings_differ"][0].split(", ")
    assert {"templates", "dishes"} <= set(differ)
    assert ("pooling" in differ) == (pooling != "mean_logprob")
