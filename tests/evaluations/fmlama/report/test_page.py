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
from tests.report.pages import HOSTILE, check_page, section, text_of
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


def with_params(data: FmlamaData, **more: object) -> FmlamaData:
    return replace(data, runs=data.runs.with_columns(params=pl.lit(json.dumps(PARAMS | more))))


def _condition() -> pl.Expr:
    return pl.col("slice").str.extract(r"^(\w+:\w+:\w+)")


def only(data: FmlamaData, *conditions: str) -> FmlamaData:
    """The frames of some conditions."""
    named = pl.when("country_mentioned").then(pl.lit("yes")).otherwise(pl.lit("no"))
    slug = pl.concat_str("main_language", "subject_language", named, separator=":")
    return replace(
        data,
        leaderboard=data.leaderboard.filter(slug.is_in(conditions)),
        values=data.values.filter(_condition().is_in(conditions)),
        switching=data.switching.filter(
            pl.concat_str("main_language", "subject_language", pl.lit("no"), separator=":").is_in(conditions)
        ),
    )


def test_leaderboard_has_the_numbers_of_the_view(page: BeautifulSoup, data: FmlamaData) -> None:
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


def test_unscored_number_says_why(page: BeautifulSoup) -> None:
    titles = [cell["title"] for cell in page.select("table.leaderboard td[title^='mws:']")]
    assert "mws: 0 scored, 14 unscored, null 0.410: no word vectors for 'zh'" in titles
    assert "no word vectors for 'zh'" in section(page, "unscored")


def test_baselines_are_marked_and_best_is_named(page: BeautifulSoup) -> None:
    marked = {text_of(row.bdi) for row in page.select("table.leaderboard tr.null")}
    assert marked == {"null:common", "null:common-of-origin"}
    assert "best baseline: null:common" in text_of(page.select_one("tr.block"))


def test_chance_is_the_best_baseline_where_it_beats_the_others(data: FmlamaData) -> None:
    higher = data.values.with_columns(null_value=pl.lit(0.9))
    assert {g.best_name for g in replace(data, values=higher).groups} == {"chance"}


def test_model_is_warned_of_where_its_gain_reaches_zero(page: BeautifulSoup, data: FmlamaData) -> None:
    # "knows" gains 0.25 +- 0.1 and 0.3 +- 0.1, the other -0.05 +- 0.1 and 0 +- 0.1.
    warning = text_of(page.select_one(".warning"))
    assert f"{HOSTILE} is not shown to beat the best baseline" in warning
    assert "under any of the 4 conditions" in warning
    assert "below 0" not in warning
    assert "knows" not in warning
    assert "In 4 of 8 combinations" in text_of(page.select_one("p.lead"))
    known = data.values.with_columns(ci_low=pl.col("ci_low").clip(0.001))
    assert not parsed(replace(data, values=known)).select("div.warning")
    # From 0 up: the end of the interval itself is no finding.
    touching = data.values.with_columns(ci_low=pl.lit(0.0), ci_high=pl.lit(-0.01))
    text = REPORT.render(replace(data, values=touching))
    assert "No model is shown to know more than" in text
    assert "It is wholly below 0" in " ".join(text.split())


def test_country_bars_have_stars_for_the_adjusted_p(page: BeautifulSoup) -> None:
    figure = page.select_one('svg[aria-label="mAP by origin in English"]')
    assert figure is not None
    marks = [t.get_text().strip() for t in figure.select("text") if set(t.get_text().strip()) == {"*"}]
    # Two models: ALL has p = 0.004, each of two origins p = 0.04
    assert sorted(marks) == ["**"] * 4 + ["***"] * 2
    assert HOSTILE + " (1)" in [t.get_text() for t in figure.select("text")]


@pytest.mark.parametrize(
    ("p", "shown"),
    [(None, ""), (0.1, ""), (0.0999, "*"), (0.05, "*"), (0.0499, "**"), (0.01, "**"), (0.0099, "***")],
)
def test_stars(p: float | None, shown: str) -> None:
    assert stars(p) == shown


def test_note_where_only_one_of_the_conditions_was_run(page: BeautifulSoup, data: FmlamaData) -> None:
    note = "This run has only sentences without the country"
    assert note not in section(page, "country")
    assert note in section(parsed(only(data, "en:en:no", "zh:zh:no")), "country")


def test_unaligned_languages_are_not_to_be_compared(page: BeautifulSoup, data: FmlamaData) -> None:
    assert "was aligned" in section(page, "languages")
    assert "Do not compare bars" not in section(page, "languages")
    unaligned = section(parsed(with_params(data, aligned=False)), "languages")
    assert "Do not compare bars" in unaligned
    assert "footnote 2" in unaligned


def test_one_language_has_no_comparison(data: FmlamaData) -> None:
    page = parsed(only(data, "en:en:no", "en:en:yes"))
    assert "in English only" in section(page, "languages")
    assert not page.select('svg[aria-label*="prompt language"]')


def test_switching_matrix_is_the_view(page: BeautifulSoup, data: FmlamaData) -> None:
    figure = page.select_one('svg[aria-label*="language of the sentence"]')
    assert figure is not None
    shown = [t.get_text() for t in figure.select("text")]
    for cell in data.switching.iter_rows(named=True):
        assert f"{cell['map']:.3f}" in shown
    # Each of four panels has two cells off the diagonal, 0.01 below it.
    assert shown.count("−0.010") == 8
    assert "Code-switching was not run" not in page.get_text()


def test_switching_that_was_not_run_is_said(data: FmlamaData) -> None:
    page = parsed(only(data, *CONDITIONS[:4]))
    assert "has no code-switching" in section(page, "switching")
    assert not page.select('svg[aria-label*="language of the sentence"]')


def test_errors_have_share_and_kind(page: BeautifulSoup, data: FmlamaData) -> None:
    cell = page.select_one("table.errors tbody td")
    # Of three false predictions two are one candidate; of four predictions one is right.
    assert [text_of(item) for item in cell.select("li")] == [  # type: ignore[union-attr]
        f"{HOSTILE} 67 % foreign",
        f"{HEBREW} 33 % local",
    ]
    assert "foreign 50 % (40 % to 60 %) chance 63 %, n 14" in text_of(cell)
    assert f"{CHINESE} 25 %, right 100 %" in section(page, "errors")
    assert data.errors.height == 4 * 4 * 2 * 2  # models, conditions of one language, origins, candidates


def test_judge_is_named_with_its_baseline(page: BeautifulSoup, data: FmlamaData) -> None:
    text = section(page, "mes")
    assert "rubric mes 1 ; 8 predictions, 4 without" in text
    assert "not validated" in text
    assert "0.77 0.60 to 0.90 Maybe 0.11, n 14" in text
    assert "judged its own" not in text
    itself = replace(data, judged=data.judged.with_columns(judge=pl.lit("knows")))
    assert "knows judged its own" in section(parsed(itself), "mes")


def test_without_a_judge_there_is_no_column(data: FmlamaData) -> None:
    kept = data.values.filter(~pl.col("metric").str.starts_with("mes"))
    page = parsed(replace(data, values=kept, judged=data.judged.clear()))
    assert "has no judge" in section(page, "mes")
    assert "MES" not in text_of(page.select_one("table.leaderboard thead"))


def test_definitions_say_what_differs_from_the_paper(page: BeautifulSoup) -> None:
    text = section(page, "made")
    for words in ("1/874", "32.1 %", "15.8 %", "fifteenth origin", "tokens after the blank", "Holm"):
        assert words in text


def test_page_stands_alone_and_everything_has_a_label(page: BeautifulSoup) -> None:
    check_page(page)
    assert HOSTILE in text_of(page.select_one("table.leaderboard"))


def test_scripts_of_any_direction_are_isolated_and_not_in_figures(page: BeautifulSoup) -> None:
    shown = [e for e in page.find_all("bdi") if e.get_text() in (HEBREW, CHINESE)]
    assert shown
    assert all(e["dir"] == "auto" for e in shown)
    assert not any(HEBREW in t.get_text() or CHINESE in t.get_text() for t in page.select("svg text"))


def test_same_bytes_every_time(data: FmlamaData, page: BeautifulSoup) -> None:
    assert str(parsed(data)) == str(page)


def test_model_whose_answers_are_missing_is_shown_as_such(data: FmlamaData) -> None:
    lost = pl.when(pl.col("model") != "knows")
    numbers = ("value", "ci_low", "ci_high")
    page = parsed(replace(data, values=data.values.with_columns(**{n: lost.then(n) for n in numbers})))
    assert "not scored" in [t.get_text().strip() for t in page.select("svg text")]


def test_language_order() -> None:
    assert in_order(["xx", "he", "en", "zh", "en"]) == ["en", "zh", "he", "xx"]


def test_the_page_says_where_another_score_of_candidates_turns_the_verdict(page: BeautifulSoup) -> None:
    found = page.select_one("h2#poolings ~ ul")
    assert found is not None
    lines = [text_of(line) for line in found.select("li")]
    assert len(lines) == 4
    assert all("changes for knows" in line and HOSTILE not in line for line in lines), lines
    assert all("order of models is the same" in line for line in lines)


def test_runs_from_before_have_one_score_of_candidates(data: FmlamaData) -> None:
    before = replace(data, values=data.values.filter(pl.col("slice_kind") != "condition_pooling"))
    assert not parsed(before).select("h2#poolings")


@pytest.mark.parametrize("pooling", ["mean_logprob", "mean_probability"])
def test_a_published_number_names_the_settings_that_differ(
    copied_home: Callable[[], Path], pooling: str
) -> None:
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
