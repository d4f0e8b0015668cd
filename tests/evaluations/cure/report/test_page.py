"""The cure page from a hand-made warehouse: the verdict, every figure with its null, judges, lost answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from bs4 import BeautifulSoup, Tag

from deployments.show.report import read_data
from tasks.evaluations.cure.params import METRICS
from tasks.evaluations.cure.report import REPORT, countries_figure
from tasks.evaluations.cure.report.data import CureData, judge_lines, separations
from tests.evaluations.cure.report.example_run import (
    CONFIG,
    JUDGE,
    PARAMS,
    Made,
    gains,
    label_rows,
    model_rows,
    store,
    store_study,
    validate,
)
from tests.report import pages
from tests.report.pages import HOSTILE, NULL_COLOUR, check_page, lines, shown, text_of
from tests.report.stored import unscored_rows
from warehouse import Warehouse, WarehouseError

MODELS = {
    "good": Made(0.8, 0.85, gains(0.4, 0.3, 0.3, 0.05)),
    HOSTILE: Made(0.6, 0.5, gains(0.3, 0.05, 0.2, 0.0), is_kin=True),
}
COUNTRIES = ["IN", "JP", "US"]
FIGURES = {
    "micro": "F1 micro, thin and thick, over models",
    "macro": "F1 macro, thin and thick, over models",
    "profile": "Reasoning profile of every model",
    "countries": "Exact match and explanations by country",
}


@pytest.fixture(name="warehouse", scope="module")
def _warehouse(copied_home: Callable[[], Path]) -> Warehouse:
    warehouse = Warehouse.open(copied_home())
    thin = PARAMS | {"modes": ["thin"], "judges": []}
    store(warehouse, "thin", list(label_rows("casa", "thin", 0.7, COUNTRIES, 0)), "thin", thin)
    many = warehouse.query("SELECT country FROM country ORDER BY country LIMIT 16")["country"].to_list()
    six = {f"m{i}": Made(0.5 + i / 20, 0.55 + i / 20, gains(0.0, 0.05, -0.1, 0.02)) for i in range(6)}
    store_study(warehouse, six, many, "many", "another judge")
    lost = unscored_rows(model_rows(MODELS["good"], COUNTRIES, 0))
    store(warehouse, "lost", lost, "lost", PARAMS | {"judges": []})
    store_study(warehouse, MODELS, COUNTRIES)
    validate(warehouse, "normad", metrics=("krippendorff_alpha_nominal", "cohen_kappa", "pearson_graded"))
    return warehouse


@pytest.fixture(name="data", scope="module")
def _data(warehouse: Warehouse) -> CureData:
    return read_data(warehouse, "cure")


@pytest.fixture(name="page", scope="module")
def _page(data: CureData) -> BeautifulSoup:
    return parsed(data)


@pytest.fixture(name="many", scope="module")
def _many(warehouse: Warehouse) -> BeautifulSoup:
    return parsed(read_data(warehouse, "cure", "many"))


@pytest.fixture(name="thin", scope="module")
def _thin(warehouse: Warehouse) -> BeautifulSoup:
    return parsed(read_data(warehouse, "cure", "thin"))


def parsed(data: CureData) -> BeautifulSoup:
    return pages.parsed(REPORT, data)


def figure(page: BeautifulSoup, key: str) -> Tag:
    drawn = page.select_one(f'figure#figure-{key} svg[aria-label="{FIGURES[key]}"]')
    assert drawn is not None, key
    return drawn


def nulls_in_cells(drawn: Tag) -> int:
    return sum(text.startswith("null ") for text in shown(drawn))


def test_lead_counts_good_explanations_and_validated_judges(page: BeautifulSoup, many: BeautifulSoup) -> None:
    explanations, judging, labels = (text_of(lead) for lead in page.select("p.lead"))
    for part in ("2 of 2 models", "connotation for 1 of 2", "Specificity: no model’s gain"):
        assert part in explanations
    assert "coverage only" in judging
    assert HOSTILE in judging  # the hostile model is of the judge's family
    # good less 0.1 passes 0.45 and 0.5 in both modes, 0.61 in thick; the other passes 0.45 in thin
    assert "6 of 16" in labels
    nothing, unvalidated, _ = (text_of(lead) for lead in many.select("p.lead"))
    assert "is not shown to score" in nothing
    assert ("Not validated" in unvalidated, "favour" in unvalidated) == (True, False)


def test_page_without_scores_has_reasons_and_no_figure(warehouse: Warehouse) -> None:
    page = parsed(read_data(warehouse, "cure", "lost"))
    assert "--judges" in text_of(page.select_one("p.lead"))
    assert not page.select("figure, table#judge-table")
    assert page.get_text().count("nothing was scored") == len(FIGURES)
    assert "refused" in text_of(page.select_one("h2#unscored ~ div.scroll.long"))


def test_page_of_thin_answers_has_only_labels(thin: BeautifulSoup) -> None:
    assert len(thin.select("p.lead")) == 2
    absent = "h2#explanations, h2#judges, #differences, #over-models, #by-cue, #board .badge, #figure-profile"
    assert not thin.select(absent)
    texts = shown(figure(thin, "micro"))
    assert [text for text in texts if text.startswith("CASA")] == ["CASA, thin"]
    assert "the same model" not in texts
    (line,) = lines(thin, "board")[1:]
    assert (line[0], line[1][:24]) == ("thin", "0.70 0.60 to 0.80 null 0")


def test_leaderboard_is_by_benchmark_with_nulls_last(page: BeautifulSoup, data: CureData) -> None:
    rows = lines(page, "board")
    assert [row[0] for row in rows if len(row) == 1] == [
        "NormAd: coverage", "CASA: connotation", "CultureBank: coherence", "SpecNorm: specificity",
    ]  # fmt: skip
    assert len(rows) == data.leaderboard.height + 4 == 4 * 4 + 4
    normad, casa = rows[1:5], rows[6:10]
    assert [row[0] for row in casa] == [
        "good explanations beat another item’s",
        f"{HOSTILE} explanations not shown to beat another item’s",
        "null:majority null model",
        "null:prior null model",
    ]
    assert normad[0][1].startswith("0.80 0.70 to 0.90 null 0.45")
    assert normad[0][5].startswith("0.70 0.62 to 0.78 null 0.35")
    assert normad[0][6].startswith("+0.40 +0.30 to +0.50")
    assert (normad[0][8], casa[0][8]) == (f"{JUDGE} validated", f"{JUDGE} not validated")
    assert normad[1][8] == f"{JUDGE} validated own family"
    assert (casa[2][1][:4], casa[2][8]) == ("0.50", "–")


def test_every_figure_has_its_null(page: BeautifulSoup) -> None:
    assert nulls_in_cells(figure(page, "countries")) == 2 * 3 * 4 * 3  # models, rows, benchmarks, countries
    for key in ("micro", "macro", "profile"):
        assert NULL_COLOUR in str(figure(page, key)), key
        assert any(text.startswith("null: ") for text in shown(figure(page, key))), key
    profile = shown(figure(page, "profile"))
    assert sum(text.endswith(" ▲") for text in profile) == 5  # three of good, two of the other
    assert {"0.70 ▲", "0.35", HOSTILE} <= set(profile)


def test_tables_show_the_stored_numbers(page: BeautifulSoup, many: BeautifulSoup) -> None:
    # 0.50 to 0.75 and 0.55 to 0.80 in steps of 0.05: IQR 0.125; Wilcoxon of six equal signs 2 / 2^6 = 0.031
    assert lines(many, "over-models")[0] == [
        "NormAd", "F1 micro", "6", "0.62", "0.68", "+0.05", "0.031", "0.12", "0.12", "0.009", "0.009",
    ]  # fmt: skip
    assert [row[6] for row in lines(page, "over-models")] == ["–"] * 10
    assert lines(page, "over-models")[4][0] == "mean of all"
    differences = lines(page, "differences")
    assert len(differences) == 2 * 4
    assert next(row for row in differences if row[1] == HOSTILE) == [
        "NormAd", HOSTILE, "0.60", "0.50", "−0.10 −0.16 to −0.04", "0.012",
        "0.20", "0.15", "0.030", "0.020", "3",
    ]  # fmt: skip
    assert "Of 8 tests, about 0.4" in page.get_text()
    nulls = lines(page, "nulls")
    assert [cell.split()[0] for cell in nulls[0]] == [
        "Coverage", "good", "0.70", "0.30", "0.35", "0.05", "+0.40", "–",
    ]  # fmt: skip
    assert nulls[0][3].endswith("n 72")
    assert nulls[-1][-1] == "0.18"
    assert "draw of 60 items" in page.get_text()
    cues = lines(page, "by-cue")
    # SpecNorm is the fourth: 0.80 less 3 * 0.05 thin, 0.85 less that thick; 0.3 + 0.05 + 0.1 judged.
    assert [cell.split()[0] for cell in cues[0]] == ["age", "good", "0.65", "0.70", "0.45"]
    assert [(row[0], row[-1]) for row in cues if row[1] == "good"][1] == ("low specificity", "–")
    correlations = lines(page, "correlations")
    assert len(correlations) == 6
    assert correlations[1] == ["Coverage and coherence", "+0.10 −0.20 to +0.40", "+0.10 −0.20 to +0.40"]
    lost = lines(page, "lost")[0]
    assert lost[1].startswith("97 %")
    assert "NormAd, judged: answer off the menu: 4" in lost[-1]
    assert "SpecNorm, thin: cut off: 2" in lost[-1]


def test_judges_have_their_agreement_with_people(page: BeautifulSoup, data: CureData) -> None:
    rows = lines(page, "judge-table")
    assert [row[1].split()[0] for row in rows] == ["Coverage", "Connotation", "Coherence", "Specificity"]
    coverage, connotation = rows[:2]
    assert coverage[:5] == [JUDGE, "Coverage 0011223300000006", "8 2", "75 %", "validated"]
    assert coverage[5:10] == ["0.60 0.50 to 0.70 n 90"] * 3 + ["–"] * 2
    assert coverage[10].startswith("ratings.csv 20")
    assert connotation[4:] == ["not validated", *"–––––", "–"]
    assert HOSTILE in text_of(page.select_one("div.warning"))
    # Agreement of people alone validates no judge.
    alone = data.validation.filter(pl.col("metric").str.starts_with("krippendorff"))
    assert [line["validated"] for line in judge_lines(data)] == [True, False, False, False]
    assert [line["validated"] for line in judge_lines(replace(data, validation=alone))] == [False] * 4


def test_separations_read_validation_and_scores_of_each_metric(data: CureData) -> None:
    board = data.leaderboard.with_columns(validated=pl.when("is_null").then(None).otherwise(True))
    assert [each["validated"] for each in separations(data)] == [True, False, False, False]
    assert [each["validated"] for each in separations(replace(data, leaderboard=board))] == [True] * 4
    lost = (pl.col("metric") == "explanation_gain") & (pl.col("slice") == "specnorm")
    columns = [pl.when(~lost).then(pl.col(c)).alias(c) for c in ("value", "ci_low", "ci_high")]
    checks = separations(replace(data, values=data.values.with_columns(columns)))
    assert [bool(check["judged"]) for check in checks] == [True, True, True, False]


def test_figure_shows_the_twelve_countries_with_the_most_labels(
    warehouse: Warehouse, page: BeautifulSoup, many: BeautifulSoup
) -> None:
    data = read_data(warehouse, "cure", "many")
    own = data.values.filter(slice_kind="benchmark_mode_country")["slice"]
    codes = sorted({slice_.split(":")[2] for slice_ in own})
    few = pl.col("slice").str.contains(rf":({'|'.join(codes[2:6])})$")
    values = data.values.with_columns(n_scored=pl.when(few).then(1).otherwise("n_scored"))
    assert set(replace(data, values=values).shown_countries) == {*codes[:2], *codes[6:]}
    assert "12 of 16 countries" in many.get_text()
    assert "12 of" not in page.get_text()
    assert {row[0] for row in lines(many, "by-country")} == {data.country_names[code] for code in codes}
    drawn = {data.country_names[code] for code in data.shown_countries}
    assert drawn <= set(shown(figure(many, "countries")))


def test_countries_are_ordered_by_their_share_of_right_labels(data: CureData) -> None:
    # 9 of 10 and 0 of 2: 0.75; 7 of 10 and 2 of 2: 0.75, so by code; 6 of 10: 0.6
    cells = [("normad:thin:JP", 0.9, 10), ("casa:thin:JP", 0.0, 2), ("normad:thin:IN", 0.7, 10),
             ("casa:thin:IN", 1.0, 2), ("normad:thin:US", 0.6, 10), ("normad:thin:FR", None, 0)]  # fmt: skip
    types = {"value": pl.Float64}
    exact = pl.DataFrame(cells, schema={"slice": pl.String, **types, "n_scored": pl.Int64}, orient="row")
    fixed = {"is_null": False, "metric": "exact_match", "slice_kind": "benchmark_mode_country"}
    values = exact.with_columns(**{name: pl.lit(value) for name, value in fixed.items()})
    assert list(replace(data, values=values).all_countries) == ["IN", "JP", "US", "FR"]


def test_country_cells_are_framed_above_the_null_or_absent(page: BeautifulSoup, data: CureData) -> None:
    kinds = ["benchmark_mode_country", "benchmark_country"]
    own = data.values.filter(pl.col("slice_kind").is_in(kinds), ~pl.col("is_null"))
    paths = figure(page, "countries").select("path")
    framed = sum("stroke-width: 1.4" in str(path.get("style")) for path in paths)
    assert framed == own.filter(pl.col("value") > pl.col("null_value")).height > 0
    of_japan = pl.col("slice").str.contains("^casa.*:JP$")
    drawn = str(countries_figure(replace(data, values=data.values.filter(~of_japan))))
    assert nulls_in_cells(BeautifulSoup(drawn, "html.parser")) == 72 - 2 * 3


def test_frames_are_of_one_configuration(warehouse: Warehouse, data: CureData) -> None:
    assert data.config_hash == CONFIG
    assert set(data.leaderboard["model"]) == {"good", HOSTILE, "null:majority", "null:prior"}
    assert set(data.verdicts["metric"]) == set(METRICS.values())
    assert read_data(warehouse, "cure", "thin").verdicts.is_empty()
    with pytest.raises(WarehouseError, match="known: "):
        read_data(warehouse, "cure", "unknown")


def test_pages_are_self_contained_and_name_sources_and_configurations(
    page: BeautifulSoup, many: BeautifulSoup, thin: BeautifulSoup
) -> None:
    for each in (page, many, thin):
        check_page(each)
    text = page.get_text()
    assert "cure_item/normad.csv" in text
    assert CONFIG in text
    assert {"thin", "many", "lost"} <= {text_of(c) for c in page.select("details[open] tbody th code")}


@pytest.mark.heavy
def test_page_is_reproducible_byte_for_byte(data: CureData, page: BeautifulSoup) -> None:
    assert str(parsed(data)) == str(page)
