"""The worldwise page from a hand-made warehouse: the verdict, every figure with its null, missing numbers."""

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
from tests.report.pages import HOSTILE, NULL_COLOUR, check_page, lines, section, shown, text_of
from tests.report.stored import row, store_run
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
    """Return some of the numbers; the leaderboard keeps its models."""
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


def test_lead_counts_models_beyond_their_best_null(
    page: BeautifulSoup, data: WorldwiseData, monkeypatch: pytest.MonkeyPatch
) -> None:
    lead, published = (text_of(p) for p in page.select("p.lead"))
    for part in (
        "1 of 4",
        "+0.31 points (+0.16 to +0.46)",
        "1 of 4 models is shown to be worse",
        "1 could not",
    ):
        assert part in lead
    assert {"6.92", "6.63"} <= set(re.findall(r"\d\.\d\d", published))
    monkeypatch.setattr(report, "draw", lambda data: {})
    some = of_models(data, HOSTILE, "worse")
    beaten = text_of(parsed(some).select_one("p.lead"))
    assert "No model" in beaten
    assert f"+0.05 points (95 % interval −0.10 to +0.20), by {HOSTILE}" in beaten
    nothing = pl.lit(None, pl.Float64)
    bare = replace(some, values=some.values.with_columns(ci_low=nothing, ci_high=nothing))
    assert text_of(parsed(bare).select_one("p.lead")).endswith("no gain has an interval.")


def test_page_without_scores_has_reasons_and_no_figure(data: WorldwiseData) -> None:
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


def test_every_figure_has_its_null_or_is_left_out(page: BeautifulSoup, alone: WorldwiseData) -> None:
    assert shown(figure(page, "values")).count("no persona") == len(GAINS)  # the framed first column
    assert shown(figure(page, "errors")).count("null 1.20") == 3 * 3 * 6  # models, cultures, dimensions
    for key in FIGURES.keys() - {"values", "errors"}:
        assert NULL_COLOUR in str(figure(page, key)), key
        assert any(text.startswith("null: ") for text in shown(figure(page, key))), key
    without = figures.draw(only(alone, pl.col("metric") != "alignment"))
    assert without.keys() == {"decisions", "values", "radar", "shift", "patterns"}
    others = ["decision_share", "value_share", "persona_recognition", "value_shift", "hofstede_mae"]
    without = figures.draw(only(alone, ~pl.col("metric").is_in(others)))
    assert without.keys() == {"cultures", "categories", "baseline", "scenarios", "radar"}


def test_figures_show_the_stored_numbers(page: BeautifulSoup, data: WorldwiseData) -> None:
    texts = {key: shown(figure(page, key)) for key in FIGURES}
    assert texts["cultures"].count("not scored") == 1 + len(CULTURES)  # one model: overall and by culture
    kinds = pl.col("slice_kind").is_in(["overall", "culture"])
    gains = data.values.filter(kinds, ~pl.col("is_null"), metric="alignment_gain")
    above, below = gains.filter(pl.col("ci_low") > 0).height, gains.filter(pl.col("ci_high") < 0).height
    assert min(above, below) > 0
    assert sum(t.endswith(" ▲") for t in texts["cultures"]) == above
    assert sum(t.endswith(" ▼") for t in texts["cultures"]) == below
    # Shifts are in percentage points, with a star for a small p; the overall one has no p.
    assert texts["shift"].count("30.0") == 3
    low = data.values.filter(pl.col("value") < 0.05, metric="value_shift_p")
    assert sum(bool(re.fullmatch(r"[\d.]+ \*", t)) for t in texts["shift"]) == low.height > 0
    of_value = data.values.filter(model="better", metric="value_share", slice="IN:family_harmony")
    (share,) = of_value["value"]
    change = f"{share - 0.2:+.2f}".replace("-", "−")
    assert texts["values"][texts["values"].index(change) - 1] == f"{share:.2f}"
    assert "Family Harmony" in texts["values"]
    framed = [p for p in figure(page, "errors").select("path") if "stroke-width: 1.4" in str(p.get("style"))]
    errors = data.values.filter(~pl.col("is_null"), metric="hofstede_mae", slice_kind="culture_dimension")
    assert len(framed) == errors.filter(pl.col("value") < pl.col("null_value")).height > 0
    # Decisions are pooled over cultures.
    own = data.values.filter(pl.col("slice").str.ends_with(":A"), model="better", metric="decision_share")
    mean = own.filter(~pl.col("slice").str.starts_with("baseline"))["value"].mean()
    assert isinstance(mean, float)
    assert f"{100 * mean:.0f}" in texts["patterns"]
    assert texts["patterns"].count("without a persona") == 4
    assert {"7.21 of 10", "30 %", "0.40 of 1", "0.30 of 1", "95 %"} <= set(texts["radar"])
    assert {"+1.01", "+0.75", "+0.41", "not scored"} <= set(texts["baseline"])  # over 6.2


def test_tables_show_the_stored_numbers(page: BeautifulSoup) -> None:
    nulls = lines(page, "null-profiles")[0][1:]
    assert [cell.split()[-1] for cell in nulls] == [f"{value:.2f}" for value in NULLS.values()]
    # better has 6.9 + 0.31; without a persona 6.2
    assert nulls[-1] == "+1.01 +0.86 to +1.16 alignment 6.20"
    closest = lines(page, "closest-table")[0][1:]
    assert closest[0] == "India 1.00 (null 1.40) 0.95 to 1.05"
    assert closest[2].startswith("United States 1.20")
    pairs = lines(page, "model-pairs")
    assert len(pairs) == 6  # four models
    assert " ".join(pairs[0]) == f"better {HOSTILE} +0.03 −0.07 to +0.13 n 90 1.000 +0.02 n 90"


def test_shares_are_pooled_by_the_answers_of_cultures(data: WorldwiseData) -> None:
    shares = {"IN:A": (0.5, 30), "IN:B": (0.5, 30), "IN:Decline": (0.0, 30), "JP:A": (0.1, 10),
              "JP:B": (0.1, 10), "JP:Decline": (0.8, 10)}  # fmt: skip
    others = data.values.filter(pl.col("metric") != "decision_share")
    others = others.drop("evaluation", "config_hash", "place")
    cells = [
        row("decision_share", ("culture_decision", where), share, n_scored=n)
        | {"model": "better", "is_null": False}
        for where, (share, n) in shares.items()
    ]
    own = pl.DataFrame(cells, schema=others.schema, infer_schema_length=None)
    pooled = replace(data, values=pl.concat([others, own]))
    # 16 of 40, 16 of 40, 8 of 40; the United States are not scored.
    assert pooled.pooled_shares("better") == pytest.approx((0.4, 0.4, 0.2))
    assert pooled.shares("better", "JP") == (0.1, 0.1, 0.8)
    assert pooled.shares("better", "US") is None
    assert replace(data, values=others).pooled_shares("better") is None


def test_lost_answers_are_listed_by_reason_and_cut(page: BeautifulSoup, data: WorldwiseData) -> None:
    text = text_of(page.select_one("h2#unscored ~ div.scroll"))
    assert "no value of the list: 11" in text
    assert "1,234,567" in text
    assert data.unscored["slice"].str.len_chars().max() > 300  # type: ignore[operator]
    assert max(len(text_of(c)) for c in page.select("h2#unscored ~ div.scroll.long td:nth-child(3)")) < 250
    assert "ww-pdi-08 and 2 more" in section(page, "unscored")


def test_page_of_one_model_and_one_culture_has_all_figures(page_of_one: BeautifulSoup) -> None:
    assert text_of(page_of_one.select_one("p.lead")).startswith("1 of 1")
    assert len(page_of_one.select("figure svg[role=img]")) == len(FIGURES)
    assert "Only one model" in page_of_one.get_text()
    assert "12 of" not in text_of(page_of_one.select_one("h2#reading ~ p"))


@pytest.mark.heavy
def test_figure_of_many_cultures_shows_both_ends_and_the_table_all(warehouse: Warehouse) -> None:
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


def test_scenario_figure_shows_ten_of_each_end_and_own_names(
    page: BeautifulSoup, alone: WorldwiseData, warehouse: Warehouse
) -> None:
    easy = alone.values.filter(slice_kind="scenario", metric="alignment").head(1)
    rows = [
        easy.with_columns(slice=pl.lit(f"own-{i:02}"), value=pl.lit(i / 10), null_value=pl.lit(5.0))
        for i in range(30)
    ]
    others = alone.values.filter(pl.col("slice_kind") != "scenario")
    texts = shown(drawn(figures.scenarios(replace(alone, values=pl.concat([others, *rows])))))
    labels = [t for t in texts if t.startswith("own-")]
    # From easy to hard; matplotlib writes labels from top to bottom as they are ticked.
    assert labels == [f"own-{i:02}" for i in (*range(29, 19, -1), *range(9, -1, -1))]
    assert "ww-pdi-01 Power Distance, work" in [" ".join(t.split()) for t in shown(figure(page, "scenarios"))]
    own = read_data(warehouse, "worldwise", "own")  # scenarios of the user's file have no title
    assert "ww-pdi-01" in shown(drawn(figures.scenarios(own)))


def test_page_without_baseline_answers_leaves_shift_unscored(alone: WorldwiseData) -> None:
    baseline = pl.col("slice").str.starts_with("baseline") | (pl.col("slice") == "unprompted")
    gone = ~baseline & ~pl.col("metric").is_in(["baseline_distance", "value_shift", "value_shift_p"])
    rest = only(alone, gone)
    lost = rest.values.with_columns(
        null_value=pl.when(pl.col("metric").is_in(["value_share", "decision_share"]))
        .then(None).otherwise("null_value")
    )  # fmt: skip
    page = parsed(replace(rest, values=lost))
    assert page.select_one("p#figure-shift") is not None
    assert shown(figure(page, "decisions")).count("not scored") == 1
    assert figure(page, "baseline")
    assert lines(page, "closest-table")[0][1:] == ["–"] * 4


def test_pages_are_self_contained_and_name_sources(page: BeautifulSoup, page_of_one: BeautifulSoup) -> None:
    check_page(page)
    check_page(page_of_one)
    assert HOSTILE in text_of(page.select_one("table#board"))
    assert HOSTILE in shown(figure(page, "cultures"))
    text = page.get_text()
    assert all(part in text for part in ("2·tanh r", "culture_profile.csv", CONFIG))
    assert {"one", "many"} <= {text_of(c) for c in page.select("details[open] tbody th code")}


@pytest.mark.heavy
def test_page_is_reproducible_byte_for_byte(alone: WorldwiseData, page_of_one: BeautifulSoup) -> None:
    assert str(parsed(alone)) == str(page_of_one)


def test_frames_are_of_one_configuration(warehouse: Warehouse, data: WorldwiseData) -> None:
    assert data.config_hash == CONFIG
    assert set(data.values["model"]) == {*GAINS, "null:zero", "null:scenario-text"}
    assert read_data(warehouse, "worldwise", "one").leaderboard["model"].to_list()[0] == "alone"
    with pytest.raises(WarehouseError, match="known: "):
        read_data(warehouse, "worldwise", "unknown")
