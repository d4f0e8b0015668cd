"""The worldwise page from a hand-made warehouse: the verdict, every figure with its null, what is missing."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from bs4 import BeautifulSoup, Tag

from deployments.show.report import read_data
from tasks.evaluations.worldwise import report
from tasks.evaluations.worldwise.report import REPORT, figures
from tasks.evaluations.worldwise.report.data import WorldwiseData
from tests.evaluations.worldwise.report.example_run import CONFIG, NULLS, PARAMS, model_rows, store_study
from tests.report import pages
from tests.report.pages import HOSTILE, NULL_COLOUR, check_page, section, shown, text_of
from tests.report.stored import store_run
from warehouse import Warehouse, WarehouseError

GAINS = {"better": 0.31, HOSTILE: 0.05, "worse": -0.29, "lost": None}
CULTURES = ["IN", "JP", "US"]
FIGURES = {
    "cultures": "Alignment by model and culture",
    "decisions": "Distribution of decisions by culture",
    "values": "Share of values by culture",
    "stereotypes": "Personas recognised by their wording",
    "radar": "Models compared over five metrics",
    "categories": "Alignment by category of scenarios",
    "baseline": "Alignment with and without personas",
    "shift": "Shift of values by persona",
    "scenarios": "Scenarios from easy to hard",
    "patterns": "Decisions by model",
    "errors": "Mean absolute error by culture and dimension",
}


@pytest.fixture(name="warehouse", scope="module")
def _warehouse(copied_home: Callable[[], Path]) -> Warehouse:
    warehouse = Warehouse.open(copied_home())
    store_study(warehouse, {"alone": 0.2}, ["IN"], "one")
    own = PARAMS | {"scenarios_file": "mine.csv"}
    store_run(warehouse, "worldwise", "alone", model_rows(0.2, ["IN"], [], 0), own, "own")
    many = warehouse.query("SELECT country FROM country ORDER BY country LIMIT 16")["country"].to_list()
    store_study(warehouse, {"model": 0.1}, many, "many")
    store_study(warehouse, GAINS, CULTURES)
    return warehouse


@pytest.fixture(name="data", scope="module")
def _data(warehouse: Warehouse) -> WorldwiseData:
    return read_data(warehouse, "worldwise")


@pytest.fixture(name="alone", scope="module")
def _alone(warehouse: Warehouse) -> WorldwiseData:
    return read_data(warehouse, "worldwise", "one")


@pytest.fixture(name="page", scope="module")
def _page(data: WorldwiseData) -> BeautifulSoup:
    return parsed(data)


@pytest.fixture(name="page_of_one", scope="module")
def _page_of_one(alone: WorldwiseData) -> BeautifulSoup:
    return parsed(alone)


def parsed(data: WorldwiseData) -> BeautifulSoup:
    return pages.parsed(REPORT, data)


def only(data: WorldwiseData, keep: pl.Expr) -> WorldwiseData:
    """Some of the numbers; the leaderboard keeps its models."""
    return replace(data, values=data.values.filter(keep))


def of_models(data: WorldwiseData, *models: str) -> WorldwiseData:
    chosen = pl.col("model").is_in(models)
    return replace(data, leaderboard=data.leaderboard.filter(chosen), values=data.values.filter(chosen))


def figure(page: BeautifulSoup, key: str) -> Tag:
    drawn = page.select_one(f'figure#figure-{key} svg[aria-label="{FIGURES[key]}"]')
    assert drawn is not None, key
    return drawn


def drawn(markup: str | None) -> Tag:
    assert markup is not None
    return BeautifulSoup(markup, "lxml")


def test_verdict_names_who_beats_its_best_null_and_by_how_much(page: BeautifulSoup) -> None:
    lead = [text_of(p) for p in page.select("p.lead")]
    assert lead[0].startswith("1 of 4")
    assert "+0.31 points (+0.16 to +0.46)" in lead[0]
    assert "1 of 4 models is shown to be worse" in lead[0]
    assert "1 could not" in lead[0]
    assert "6.92, more than the 6.63 of the paper’s four models" in lead[1]


def test_verdict_where_no_model_beats_its_null(data: WorldwiseData, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "draw", lambda data: {})
    lead = text_of(parsed(of_models(data, HOSTILE, "worse")).select_one("p.lead"))
    assert "No model is shown to beat" in lead
    assert "not a finding" in lead
    assert f"+0.05 points (95 % interval −0.10 to +0.20), by {HOSTILE}" in lead


def test_verdict_where_no_gain_has_an_interval(data: WorldwiseData, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "draw", lambda data: {})
    some = of_models(data, HOSTILE, "worse")
    none = pl.lit(None, pl.Float64)
    bare = replace(some, values=some.values.with_columns(ci_low=none, ci_high=none))
    lead = text_of(parsed(bare).select_one("p.lead"))
    assert lead == "Whether a model beats its best null model is not known: no gain has an interval."


def test_verdict_where_nothing_was_scored(data: WorldwiseData) -> None:
    page = parsed(of_models(data, "lost"))
    assert text_of(page.select_one("p.lead")).startswith("No model")
    assert not page.select("figure")
    assert page.get_text().count("nothing was scored") == len(FIGURES)
    assert "refused" in text_of(page.select_one("h2#unscored ~ div.scroll.long"))


def test_leaderboard_has_the_gain_first_and_nulls_last(page: BeautifulSoup, data: WorldwiseData) -> None:
    rows = page.select("table#board tbody tr")
    assert len(rows) == data.leaderboard.height == 6
    for line, expected in zip(rows, data.leaderboard.iter_rows(named=True), strict=True):
        cells = [text_of(cell) for cell in line.select("td")]
        assert expected["model"] in text_of(line.th)
        gain = expected["alignment_gain"]
        assert cells[0].split()[0] == ("–" if gain is None else f"{gain:+.2f}".replace("-", "−"))
        assert cells[3].startswith("–" if gain is None else f"{expected['alignment']:.2f} ± ")
        assert f"null {expected['null_mae']:.2f}" in cells[4]
    badges = [text_of(line.select_one(".badge")) for line in rows]
    assert badges == [
        "beats its best null", "not shown to beat its best null", "worse than its best null",
        "not scored", "null model", "null model",
    ]  # fmt: skip


@pytest.mark.parametrize("key", FIGURES)
def test_every_figure_is_there_with_its_null(page: BeautifulSoup, key: str) -> None:
    drawn = figure(page, key)
    if key == "values":  # the null is the framed first column
        assert shown(drawn).count("no persona") == len(GAINS)
    elif key == "errors":  # the null stands in each cell
        assert shown(drawn).count("null 1.20") == 3 * 3 * 6  # scored models, cultures, dimensions
    else:
        assert NULL_COLOUR in str(drawn)
        assert any(text.startswith("null: ") for text in shown(drawn))


def test_a_figure_without_its_numbers_is_left_out(alone: WorldwiseData) -> None:
    """What the page says instead is in the test where nothing was scored."""
    without = figures.draw(only(alone, pl.col("metric") != "alignment"))
    assert without.keys() == {"decisions", "values", "radar", "shift", "patterns"}
    others = ["decision_share", "value_share", "persona_recognition", "value_shift", "hofstede_mae"]
    without = figures.draw(only(alone, ~pl.col("metric").is_in(others)))
    assert without.keys() == {"cultures", "categories", "baseline", "scenarios", "radar"}


def test_bars_mark_gains_away_from_zero_and_the_unscored(page: BeautifulSoup, data: WorldwiseData) -> None:
    texts = shown(figure(page, "cultures"))
    assert texts.count("not scored") == 1 + len(CULTURES)  # of one model
    gains = data.values.filter(
        pl.col("slice_kind").is_in(["overall", "culture"]), ~pl.col("is_null"), metric="alignment_gain"
    )
    above, below = gains.filter(pl.col("ci_low") > 0).height, gains.filter(pl.col("ci_high") < 0).height
    assert min(above, below) > 0
    assert sum(t.endswith(" ▲") for t in texts) == above
    assert sum(t.endswith(" ▼") for t in texts) == below


def test_shift_is_in_percentage_points_with_stars(page: BeautifulSoup, data: WorldwiseData) -> None:
    texts = shown(figure(page, "shift"))
    assert texts.count("30.0") == 3  # overall, without a p-value
    low = data.values.filter(pl.col("value") < 0.05, metric="value_shift_p")
    assert sum(bool(re.fullmatch(r"[\d.]+ \*", t)) for t in texts) == low.height > 0


def test_values_show_the_change_from_no_persona(page: BeautifulSoup, data: WorldwiseData) -> None:
    texts = shown(figure(page, "values"))
    cell = data.values.filter(
        model="better", metric="value_share", slice="IN:family_harmony"
    ).row(0, named=True)  # fmt: skip
    change = f"{cell['value'] - 0.2:+.2f}".replace("-", "−")
    assert texts[texts.index(change) - 1] == f"{cell['value']:.2f}"
    assert "Family Harmony" in texts


def test_errors_are_framed_where_they_beat_the_null(page: BeautifulSoup, data: WorldwiseData) -> None:
    framed = [p for p in figure(page, "errors").select("path") if "stroke-width: 1.4" in str(p.get("style"))]
    errors = data.values.filter(~pl.col("is_null"), metric="hofstede_mae", slice_kind="culture_dimension")
    assert len(framed) == errors.filter(pl.col("value") < pl.col("null_value")).height > 0


def test_decisions_by_model_pool_answers_over_cultures(page: BeautifulSoup, data: WorldwiseData) -> None:
    own = data.values.filter(pl.col("slice").str.ends_with(":A"), model="better", metric="decision_share")
    with_persona = own.filter(~pl.col("slice").str.starts_with("baseline"))
    mean = with_persona["value"].mean()
    assert isinstance(mean, float)
    assert shown(figure(page, "patterns")).count(f"{100 * mean:.0f}") >= 1
    assert shown(figure(page, "patterns")).count("without a persona") == 4


def test_radar_and_null_figure_have_the_numbers(page: BeautifulSoup) -> None:
    assert {"7.21 of 10", "30 %", "0.40 of 1", "0.30 of 1", "95 %"} <= set(shown(figure(page, "radar")))
    assert {"+1.01", "+0.75", "+0.41", "not scored"} <= set(shown(figure(page, "baseline")))  # over 6.2


def test_null_profiles_have_their_own_table(page: BeautifulSoup) -> None:
    cells = [text_of(c) for c in page.select("table#null-profiles tbody tr")[0].select("td")]
    assert [c.split()[-1] for c in cells] == [f"{value:.2f}" for value in NULLS.values()]
    # better has 6.9 + 0.31; without a persona 6.2
    assert cells[-1] == "+1.01 +0.86 to +1.16 alignment 6.20"


def test_closest_culture_stands_beside_its_null(page: BeautifulSoup) -> None:
    cells = [text_of(c) for c in page.select("#closest-table tbody tr")[0].select("td")]
    assert cells[0] == "India 1.00 (null 1.40) 0.95 to 1.05"
    assert cells[2].startswith("United States 1.20")


def test_pairs_of_models_are_tested_once(page: BeautifulSoup) -> None:
    rows = [text_of(r) for r in page.select("#model-pairs tbody tr")]
    assert len(rows) == 6  # four models
    assert rows[0] == f"better {HOSTILE} +0.03 −0.07 to +0.13 n 90 1.000 +0.02 n 90"


def test_answers_lost_are_listed_by_reason(page: BeautifulSoup) -> None:
    text = text_of(page.select_one("h2#unscored ~ div.scroll"))
    assert "no value of the list: 11" in text
    assert "1,234,567" in text


def test_one_model_and_one_culture(page_of_one: BeautifulSoup) -> None:
    assert text_of(page_of_one.select_one("p.lead")).startswith("1 of 1")
    assert len(page_of_one.select("figure svg[role=img]")) == len(FIGURES)
    assert "Only one model" in page_of_one.get_text()
    assert "12 of" not in text_of(page_of_one.select_one("h2#reading ~ p"))


@pytest.mark.heavy
def test_many_cultures_show_both_ends_and_tables_have_all(warehouse: Warehouse) -> None:
    data = read_data(warehouse, "worldwise", "many")
    page = parsed(data)
    assert "12 of 16 cultures" in page.get_text()
    means = (
        data.values.filter(~pl.col("is_null"), metric="alignment", slice_kind="culture")
        .group_by("slice").agg(pl.col("value").mean()).sort("value", "slice", descending=[True, False])
    )  # fmt: skip
    names = data.country_names
    ends = [*means["slice"][:6], *means["slice"][-6:]]
    texts = shown(figure(page, "cultures"))
    assert {names[c] for c in means["slice"]} & set(texts) == {names[c] for c in ends}
    tables = page.select("h2#cultures ~ details tbody tr")
    assert {text_of(r.th) for r in tables} >= {names[c] for c in means["slice"]}


def test_many_scenarios_show_the_easiest_and_the_hardest(alone: WorldwiseData) -> None:
    easy = alone.values.filter(slice_kind="scenario", metric="alignment").head(1)
    rows = [
        easy.with_columns(slice=pl.lit(f"own-{i:02}"), value=pl.lit(i / 10), null_value=pl.lit(5.0))
        for i in range(30)
    ]
    kept = alone.values.filter(pl.col("slice_kind") != "scenario")
    texts = shown(drawn(figures.scenarios(replace(alone, values=pl.concat([kept, *rows])))))
    labels = [t for t in texts if t.startswith("own-")]
    # Ten of each end, from easy to hard; matplotlib writes labels from top to bottom as they are ticked.
    assert labels == [f"own-{i:02}" for i in (*range(29, 19, -1), *range(9, -1, -1))]


def test_scenarios_of_the_users_own_file_are_named_by_themselves(
    page: BeautifulSoup, warehouse: Warehouse
) -> None:
    assert "ww-pdi-01 Power Distance, work" in [" ".join(t.split()) for t in shown(figure(page, "scenarios"))]
    own = read_data(warehouse, "worldwise", "own")
    assert "ww-pdi-01" in shown(drawn(figures.scenarios(own)))


def test_without_baseline_answers_the_page_stands(alone: WorldwiseData) -> None:
    baseline = pl.col("slice").str.starts_with("baseline") | (pl.col("slice") == "unprompted")
    gone = ~baseline & ~pl.col("metric").is_in(["baseline_distance", "value_shift", "value_shift_p"])
    kept = only(alone, gone)
    lost = kept.values.with_columns(
        null_value=pl.when(pl.col("metric").is_in(["value_share", "decision_share"]))
        .then(None).otherwise("null_value")
    )  # fmt: skip
    page = parsed(replace(kept, values=lost))
    assert page.select_one("p#figure-shift") is not None
    assert shown(figure(page, "decisions")).count("not scored") == 1
    assert figure(page, "baseline")
    assert [text_of(c) for c in page.select("#closest-table tbody tr")[0].select("td")] == ["–"] * 4


def test_long_lists_of_unscored_slices_are_cut(page: BeautifulSoup, data: WorldwiseData) -> None:
    assert data.unscored["slice"].str.len_chars().max() > 300  # type: ignore[operator]
    assert max(len(text_of(c)) for c in page.select("h2#unscored ~ div.scroll.long td:nth-child(3)")) < 250
    assert "ww-pdi-08 and 2 more" in section(page, "unscored")


def test_definitions_and_provenance(page: BeautifulSoup) -> None:
    text = page.get_text()
    for words in ("2·tanh r", "10 − 2.5 |target − score|"):
        assert words in text
    assert "culture_profile.csv" in text
    assert "for research only" in text
    assert CONFIG in text
    assert {"one", "many"} <= {text_of(c) for c in page.select("details[open] tbody th code")}


def test_page_stands_alone_and_everything_has_a_label(
    page: BeautifulSoup, page_of_one: BeautifulSoup
) -> None:
    check_page(page)
    check_page(page_of_one)
    assert HOSTILE in text_of(page.select_one("table#board"))
    assert HOSTILE in shown(figure(page, "cultures"))


@pytest.mark.heavy
def test_same_frames_give_the_same_bytes(alone: WorldwiseData, page_of_one: BeautifulSoup) -> None:
    assert str(parsed(alone)) == str(page_of_one)


def test_frames_are_of_one_configuration(warehouse: Warehouse, data: WorldwiseData) -> None:
    assert data.config_hash == CONFIG
    assert set(data.values["model"]) == {*GAINS, "null:zero", "null:scenario-text"}
    assert read_data(warehouse, "worldwise", "one").leaderboard["model"].to_list()[0] == "alone"
    with pytest.raises(WarehouseError, match="known: "):
        read_data(warehouse, "worldwise", "unknown")


def test_empty_warehouse_says_what_to_run(copied_home: Callable[[], Path]) -> None:
    with pytest.raises(WarehouseError, match="culturescope run worldwise --profile smoke"):
        read_data(Warehouse.open(copied_home()), "worldwise")
