"""The page: complete, escaped, self-contained, the same bytes every time."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest
from bs4 import BeautifulSoup

from tasks.evaluations.spectral import report
from tasks.evaluations.spectral.report import REPORT
from tasks.evaluations.spectral.report.data import own_items, verdicts
from tests.evaluations.spectral.report.example_frames import example
from tests.report.pages import HOSTILE, check_page, parsed, shown, text_of


@pytest.fixture(name="page", scope="module")
def _page() -> BeautifulSoup:
    return parsed(REPORT, example(["model-a", HOSTILE, "$x$ & \\frac{", "weak"]))


@pytest.fixture
def without_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Words and tables alone: figures are drawn once, for ``page``."""
    monkeypatch.setattr(report, "_figures", lambda data: {})


@pytest.fixture
def without_maps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "country_maps", lambda data: {})


def leaderboard_cells(page: BeautifulSoup, model: str) -> list[str]:
    """Texts of one row of the leaderboard, without the name."""
    for row in page.select("table.leaderboard tbody tr"):
        if model in row.th.get_text():
            return [cell.get_text(" ", strip=True) for cell in row.select("td")]
    raise AssertionError(f"{model} is not on the leaderboard")


def test_hostile_model_name_is_text_everywhere(page: BeautifulSoup) -> None:
    assert not page.select("script")
    assert HOSTILE in page.select_one("table.leaderboard").get_text()
    assert HOSTILE in shown(page)


def test_model_name_with_dollars_is_no_formula(page: BeautifulSoup) -> None:
    assert "$x$ & \\frac{" in shown(page)


def test_page_stands_alone_and_everything_has_a_label(page: BeautifulSoup) -> None:
    check_page(page)


def test_same_bytes_every_time_and_without_dates_of_drawing() -> None:
    data = example(n_countries=5, variants=1)
    first = REPORT.render(data)
    assert REPORT.render(data) == first
    assert "Matplotlib" not in first


def test_badges_are_computed(page: BeautifulSoup) -> None:
    badges = {
        text_of(row.bdi): [badge.get_text() for badge in row.select(".badge")]
        for row in page.select("table.leaderboard tbody tr:not(.null)")
    }
    # 0.62, 0.53, 0.44, 0.35, intervals from 0.14 below; guessing 0.22, up to 0.34; look-up 0.31
    assert badges["model-a"] == ["better than guessing"]
    assert badges["weak"] == ["not shown to beat guessing"]  # begins at 0.21
    assert "weak" in text_of(page.select_one(".warning"))


@pytest.mark.usefixtures("without_figures", "without_maps")
def test_the_top_says_that_no_model_beats_guessing() -> None:
    data = example()
    weak = data.leaderboard.with_columns(ci_low=pl.lit(0.1))
    page = parsed(REPORT, replace(data, leaderboard=weak))
    assert "not a finding" in page.select_one("p.lead:not(.verdict)").get_text()


@pytest.mark.usefixtures("without_figures", "without_maps")
def test_it_opens_with_what_a_model_knows_and_the_figure_that_shows_it() -> None:
    data = example()
    page = parsed(REPORT, data)
    known = own_items(data)
    assert known is not None
    lead, figure = page.select_one("p.lead.verdict"), page.select_one("header figure.forest")
    assert f"{known.model} puts {known.value:.2f} of its probability" in text_of(lead)
    assert f"answers given for other countries put {known.exchanged:.2f} on them" in text_of(lead)
    assert len(figure.select("li.measured")) == len(figure.select("i.own, i.null")) > 0
    nothing = data.values.filter(pl.col("metric") != "reference_mass")
    assert own_items(replace(data, values=nothing)) is None
    is_one = (pl.col("metric") == "reference_mass") & (pl.col("slice") != "currency")
    ends = {name: pl.when(is_one).then(pl.col("value")) for name in ("ci_low", "ci_high")}
    supported = own_items(replace(data, values=data.values.with_columns(**ends)))
    assert supported is not None
    assert known.label == "Currency" != supported.label  # one with an interval goes first


def test_a_score_below_guessing_is_reported_as_below() -> None:
    data = example()
    low = data.leaderboard.with_columns(ci_low=pl.lit(0.01), ci_high=pl.lit(0.02))
    verdict = verdicts(replace(data, leaderboard=low))["model-a"]
    assert verdict.is_below
    assert ("warn", "scores less than guessing") in verdict.badges
    reaching = data.leaderboard.with_columns(ci_low=pl.lit(0.01), ci_high=pl.lit(0.9))
    assert not verdicts(replace(data, leaderboard=reaching))["model-a"].is_below


@pytest.mark.usefixtures("without_figures", "without_maps")
def test_unscored_is_a_dash_and_listed_with_its_reason() -> None:
    data = example()
    missing = [pl.lit(None, pl.Float64).alias(c) for c in ("macro_f1", "ci_low", "ci_high", "coverage")]
    kept = pl.when(pl.col("metric") != "macro_f1")
    values = data.values.with_columns(**{c: kept.then(c) for c in ("value", "ci_low", "ci_high")})
    leaderboard = data.leaderboard.with_columns(missing)
    page = parsed(REPORT, replace(data, leaderboard=leaderboard, values=values))
    cells = leaderboard_cells(page, "model-a")
    assert cells[:2] == ["–", ""]
    assert cells[-1] == "–"
    assert "No model" in page.select_one("p.lead:not(.verdict)").get_text()
    assert "719 of 720" in page.get_text()


def test_infinite_ratio_is_shown_as_such(page: BeautifulSoup) -> None:
    figure = page.select_one('svg[aria-label^="Spectral gap ratio"]')
    assert shown(figure).count("∞") == 3
    assert figure.select("pattern")  # hatched
    assert "∞" in [cell.get_text() for cell in page.select("td")]


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("models", "countries", "variants", "domains"), [(1, 2, 1, 1), (1, 8, 3, 9), (2, 70, 1, 1)]
)
def test_all_sizes(models: int, countries: int, variants: int, domains: int) -> None:
    names = [f"model-{i}" for i in range(models)]
    page = parsed(REPORT, example(names, countries, variants, domains))
    maps = page.select('svg[aria-label^="Similarity"]')
    assert len(maps) == domains * models
    assert ("AB" in shown(maps[0])) == (countries <= 60)
    neighbours = page.select("section")[0].select("tbody tr")
    assert len(neighbours) == countries


@pytest.mark.usefixtures("without_figures")
def test_country_without_all_pairs_has_no_map_but_a_reason() -> None:
    data = example(n_countries=5)
    page = REPORT.render(replace(data, similarity=data.similarity.slice(1)))
    assert "9 of 10 pairs" in page


@pytest.mark.usefixtures("without_figures")
def test_map_of_countries_all_alike_warns() -> None:
    data = example(n_countries=5)
    alike = data.similarity.with_columns(similarity=pl.lit(0.999999))
    page = REPORT.render(replace(data, similarity=alike))
    assert page.count("(least cosine 0.9999990)") == 4


@pytest.mark.nets(1)
@pytest.mark.parametrize(
    ("n_people", "said"), [([11, 11], "11 participants"), ([None, None], ""), ([80, None], "80 ")]
)
@pytest.mark.usefixtures("without_maps")
def test_the_page_counts_the_people_whose_ranking_it_shows(n_people: list[int | None], said: str) -> None:
    data = example(variants=1)
    domains = data.domains.with_columns(human_n=pl.Series(n_people, dtype=pl.Int64))
    page = text_of(parsed(REPORT, replace(data, domains=domains)))
    assert said in page
    assert page.count("participants") == 2 * bool(said)  # beside the figure of ranks and over the table


def test_other_configurations_are_listed(page: BeautifulSoup) -> None:
    assert "00ff00ff00ff00ff" in page.select_one("details[open]:last-of-type").get_text()
