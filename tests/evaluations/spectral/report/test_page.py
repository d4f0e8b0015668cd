"""The page: complete, escaped, self-contained, the same bytes every time."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from bs4 import BeautifulSoup

from deployments.show.report import read_data
from tasks.evaluations.spectral import report
from tasks.evaluations.spectral.report import REPORT
from tasks.evaluations.spectral.report.data import SpectralData, own_items, shuffled_copies, verdicts
from tasks.evaluations.spectral.report.figures import sr_ranks
from tasks.evaluations.spectral.report.maps import Matrix, cluster, matrix_of, neighbours
from tests.evaluations.spectral.report.example_frames import doubts, example
from tests.evaluations.spectral.report.example_run import CODES, LOST, store
from tests.report.pages import HOSTILE, check_page, parsed, section, shown, text_of
from warehouse import Warehouse


@pytest.fixture(name="page", scope="module")
def _page() -> BeautifulSoup:
    return parsed(REPORT, example(["model-a", HOSTILE, "$x$ & \\frac{", "weak"]))


@pytest.fixture
def without_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw no figures, since ``page`` has them; only words and tables are compared."""
    monkeypatch.setattr(report, "_figures", lambda data: {})


@pytest.fixture
def without_maps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "country_maps", lambda data: {})


def test_page_is_self_contained_and_hostile_names_are_plain_text(page: BeautifulSoup) -> None:
    check_page(page)
    assert HOSTILE in page.select_one("table.leaderboard").get_text()
    assert {HOSTILE, "$x$ & \\frac{"} <= set(shown(page))
    assert "00ff00ff00ff00ff" in page.select_one("details[open]:last-of-type").get_text()


def test_page_says_first_that_other_choices_change_the_order(page: BeautifulSoup) -> None:
    """Under per_byte four models are in the reverse order, six pairs; without model-a all are equal."""
    lead = text_of(page.select_one("p.lead"))
    assert lead.startswith("The order of models by macro-F1 depends on choices that are not about culture.")
    assert "mean over its bytes (6 pairs)" in lead
    assert "medians without" not in lead
    rows = {
        text_of(row.th): [text_of(cell) for cell in row.select("td")]
        for row in page.select("#panel tbody tr")
    }
    assert rows["medians without model-a"] == ["0.40"] * 4
    assert rows["sum over an item’s tokens (the headline)"][0] == "0.62"
    assert [text_of(e) for e in page.select("#panel strong")] == ["mean over its bytes"]


def test_page_says_nothing_of_an_order_that_stays(without_figures: None, without_maps: None) -> None:
    data = example(n_countries=5, variants=1)
    kept = data.values.filter(~((pl.col("metric") == "macro_f1_under") & (pl.col("slice") == "per_byte")))
    page = parsed(REPORT, replace(data, values=kept))
    assert "depends on choices" not in text_of(page.select_one("main") or page)
    assert page.select_one("#panel") is not None
    older = parsed(REPORT, replace(data, values=data.values.filter(pl.col("metric") != "macro_f1_under")))
    assert older.select_one("#panel") is None


def test_page_is_reproducible_byte_for_byte() -> None:
    data = example(n_countries=5, variants=1)
    first = REPORT.render(data)
    assert REPORT.render(data) == first
    assert "Matplotlib" not in first


def test_badges_compare_intervals_with_guessing(page: BeautifulSoup) -> None:
    badges = {
        text_of(row.bdi): [badge.get_text() for badge in row.select(".badge")]
        for row in page.select("table.leaderboard tbody tr:not(.null)")
    }
    # 0.62, 0.53, 0.44, 0.35, intervals from 0.14 below; guessing 0.22, up to 0.34; look-up 0.31
    assert badges["model-a"] == ["better than guessing"]
    assert badges["weak"] == ["not shown to beat guessing"]  # its interval begins at 0.21
    assert "weak" in text_of(page.select_one(".warning"))


@pytest.mark.usefixtures("without_figures", "without_maps")
def test_lead_and_first_figure_show_the_best_supported_reference_mass() -> None:
    data = example()
    page = parsed(REPORT, data)
    known = own_items(data)
    assert known is not None
    lead, figure = page.select_one("p.lead.verdict"), page.select_one("header figure.forest")
    assert {known.model, f"{known.value:.2f}", f"{known.exchanged:.2f}"} <= set(
        re.findall(r"[\w.-]*\w", text_of(lead))
    )
    assert len(figure.select("li.measured")) == len(figure.select("i.own, i.null")) > 0
    nothing = data.values.filter(pl.col("metric") != "reference_mass")
    assert own_items(replace(data, values=nothing)) is None
    is_one = (pl.col("metric") == "reference_mass") & (pl.col("slice") != "currency")
    ends = {name: pl.when(is_one).then(pl.col("value")) for name in ("ci_low", "ci_high")}
    supported = own_items(replace(data, values=data.values.with_columns(**ends)))
    assert supported is not None
    assert known.label == "Currency" != supported.label  # a domain with an interval goes first


def test_a_score_below_guessing_is_reported_as_below() -> None:
    data = example()
    low = data.leaderboard.with_columns(ci_low=pl.lit(0.01), ci_high=pl.lit(0.02))
    verdict = verdicts(replace(data, leaderboard=low))["model-a"]
    assert verdict.is_below
    assert ("warn", "scores less than guessing") in verdict.badges
    reaching = data.leaderboard.with_columns(ci_low=pl.lit(0.01), ci_high=pl.lit(0.9))
    assert not verdicts(replace(data, leaderboard=reaching))["model-a"].is_below


@pytest.mark.usefixtures("without_figures", "without_maps")
def test_unscored_headline_is_a_dash_with_its_reason_listed() -> None:
    data = example()
    empty = [pl.lit(None, pl.Float64).alias(c) for c in ("macro_f1", "ci_low", "ci_high", "coverage")]
    others = pl.when(pl.col("metric") != "macro_f1")
    values = data.values.with_columns(**{c: others.then(c) for c in ("value", "ci_low", "ci_high")})
    page = parsed(REPORT, replace(data, leaderboard=data.leaderboard.with_columns(empty), values=values))
    (row,) = (row for row in page.select("table.leaderboard tbody tr") if row.th.bdi.get_text() == "model-a")
    cells = [text_of(cell) for cell in row.select("td")]
    assert (cells[0], cells[1], cells[-1]) == ("–", "", "–")
    assert "No model" in page.select_one("p.lead:not(.verdict)").get_text()
    assert "719 of 720" in page.get_text()


def test_infinite_ratio_is_drawn_hatched_with_its_sign(page: BeautifulSoup) -> None:
    figure = page.select_one('svg[aria-label^="Spectral gap ratio"]')
    assert shown(figure).count("∞") == 3
    assert figure.select("pattern")  # hatched
    assert "∞" in [cell.get_text() for cell in page.select("td")]


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("models", "countries", "variants", "domains"), [(1, 2, 1, 1), (1, 8, 3, 9), (2, 70, 1, 1)]
)
def test_each_model_and_domain_has_one_map(models: int, countries: int, variants: int, domains: int) -> None:
    names = [f"model-{i}" for i in range(models)]
    page = parsed(REPORT, example(names, countries, variants, domains))
    maps = page.select('svg[aria-label^="Similarity"]')
    assert len(maps) == domains * models
    assert ("AB" in shown(maps[0])) == (countries <= 60)
    neighbours = page.select("section")[0].select("tbody tr")
    assert len(neighbours) == countries


@pytest.mark.usefixtures("without_figures")
def test_domain_with_a_missing_pair_has_a_reason_and_no_map() -> None:
    data = example(n_countries=5)
    page = REPORT.render(replace(data, similarity=data.similarity.slice(1)))
    assert "9 of 10 pairs" in page


@pytest.mark.usefixtures("without_figures")
def test_map_of_equal_countries_states_the_least_cosine() -> None:
    data = example(n_countries=5)
    alike = data.similarity.with_columns(similarity=pl.lit(0.999999))
    page = REPORT.render(replace(data, similarity=alike))
    assert page.count("(least cosine 0.9999990)") == 4


@pytest.mark.nets(1)
@pytest.mark.parametrize(
    ("n_people", "counted"), [([11, 11], "11 participants"), ([None, None], ""), ([80, None], "80 ")]
)
@pytest.mark.usefixtures("without_maps")
def test_page_counts_the_participants_behind_its_ranking(n_people: list[int | None], counted: str) -> None:
    data = example(variants=1)
    domains = data.domains.with_columns(human_n=pl.Series(n_people, dtype=pl.Int64))
    page = text_of(parsed(REPORT, replace(data, domains=domains)))
    assert counted in page
    assert page.count("participants") == 2 * bool(counted)  # beside the figure of ranks and over the table


@pytest.fixture(name="data", scope="module")
def _data(copied_home: Callable[[], Path]) -> SpectralData:
    warehouse = Warehouse.open(copied_home())
    store(warehouse, "model-a", "older")
    store(warehouse, "model-a", "newer")
    store(warehouse, "null:list-frequency", "newer")
    data: SpectralData = read_data(warehouse, "spectral")
    return data


def test_every_frame_is_filled_from_the_newest_configuration(data: SpectralData) -> None:
    assert data.config_hash == "newer"
    assert data.leaderboard["model"].to_list() == ["model-a", "null:list-frequency"]
    assert data.run_countries["country"].to_list() == CODES
    assert data.similarity.height == 6
    assert data.competence == {("model-a", "currency"): dict.fromkeys(CODES, 0.9)}
    assert data.domains.select("domain", "n_items").rows() == [
        ("religions", None),
        ("holidays", None),
        ("currency", 2),
    ]
    assert data.by_question.height == 6
    assert data.configurations["configuration"].to_list() == ["newer", "older"]
    assert data.metrics.height > 10
    assert data.sources.height > 5


def test_unscored_metrics_with_one_reason_share_one_row(data: SpectralData) -> None:
    (row,) = data.unscored.to_dicts()
    assert row["metric"] == "effective_rank, er_high, spectral_gap_ratio, sr_high"
    assert (row["slice"], row["n_unscored"]) == ("holidays-1", 4)


def test_page_of_stored_runs_shows_reasons_and_country_names(data: SpectralData) -> None:
    page = parsed(REPORT, data)
    check_page(page)
    assert LOST in section(page, "unscored")
    assert "Germany" in section(page, "provenance")


COLUMNS = ["model", "is_null", "macro_f1", "ci_low", "ci_high", "null_macro_f1"]


def leaderboard(*rows: tuple[Any, ...]) -> pl.DataFrame:
    """Return a leaderboard of the columns that verdicts look at."""
    return pl.DataFrame(
        rows,
        schema=dict.fromkeys(COLUMNS, pl.Float64) | {"model": pl.String, "is_null": pl.Boolean},
        orient="row",
    )


FAR = ("m", "macro_f1", "null:uniform-by-domain reaches 0.60 in 2.5 % of its draws, the model 0.50")
RANDOM = ("m", "rank_spearman", "a random order of 9 domains reaches 0.70 in 2.5 % of cases")


@pytest.mark.parametrize(
    ("low", "doubt", "look_up", "guessing"),
    [
        (0.4, [], 0.3, []),
        (0.4, [RANDOM], 0.3, []),  # a doubt about another metric
        (0.2, [], 0.3, ["its 95 % interval is 0.20 to 0.60; guessing scores 0.20 on average"]),
        (0.4, [FAR], 0.3, [FAR[2]]),
        (0.4, [("another", *FAR[1:])], 0.3, []),
        (0.4, [], 0.5, []),  # a tie with the look-up counts
        (None, [], 0.3, ["its macro-F1 has no interval"]),
    ],
)
def test_verdict_weighs_interval_doubt_and_look_up(
    low: float | None, doubt: list[tuple[str, str, str]], look_up: float, guessing: list[str]
) -> None:
    nulls = [
        ("null:list-frequency", True, look_up, 0.2, 0.6, 0.2),
        ("null:shuffled(m)", True, 0.5, 0.4, 0.6, 0.2),
    ]
    board = leaderboard(("m", False, 0.5, low, 0.6, 0.2), *nulls)
    verdict = verdicts(replace(example(), leaderboard=board, doubts=doubts(*doubt)))["m"]
    assert verdict.guessing == guessing
    assert bool(verdict.look_up) == (look_up >= 0.5)


def test_unscored_model_is_badged_as_guessing() -> None:
    data = replace(example(), leaderboard=leaderboard(("m", False, None, None, None, 0.2)))
    assert verdicts(data)["m"].badges == [("warn", "not shown to beat guessing")]


def test_models_that_score_as_their_shuffled_copies_are_listed() -> None:
    values = {"a": 0.5, "b": 0.5, "c": None, "null:shuffled(a)": 0.5, "null:shuffled(b)": 0.4}
    rows = [(m, m.startswith("null"), value, None, None, 0.2) for m, value in values.items()]
    assert shuffled_copies(leaderboard(*rows)) == ["a"]


def test_infinite_ratio_ranks_first_and_ties_share_a_rank() -> None:
    frame = pl.DataFrame(
        {"model": ["m"] * 5, "variant": [1] * 5, "spectral_gap_ratio": [2.0, float("inf"), 2.0, None, 1.5]}
    )
    assert sr_ranks(frame)["sr_rank"].to_list() == [2.5, 1.0, 2.5, 4.0]


def test_tree_puts_similar_countries_side_by_side() -> None:
    near, far = 0.9, 0.1
    values = np.array([[1, far, near, far], [far, 1, far, near], [near, far, 1, far], [far, near, far, 1]])
    tree = cluster(Matrix(list("ABCD"), values))
    assert {frozenset(tree.order[:2]), frozenset(tree.order[2:])} == {frozenset({0, 2}), frozenset({1, 3})}
    assert np.nanmax(tree.x) == pytest.approx(1 - far)  # average linkage of the two groups


def test_matrix_of_all_pairs_is_symmetric_and_missing_pairs_are_counted() -> None:
    pairs = pl.DataFrame(
        {"country_a": ["A", "A", "B"], "country_b": ["B", "C", "C"], "similarity": [0.1, 0.2, 0.3]}
    )
    matrix = matrix_of(pairs)
    assert isinstance(matrix, Matrix)
    assert matrix.values.tolist() == [[1, 0.1, 0.2], [0.1, 1, 0.3], [0.2, 0.3, 1]]
    assert neighbours(matrix, 1) == [("A", [("C", 0.2)]), ("B", [("C", 0.3)]), ("C", [("B", 0.3)])]
    assert matrix_of(pairs.head(2)) == "2 of 3 pairs of countries are stored"
    assert matrix_of(pairs.clear()) == "0 of 0 pairs of countries are stored"
