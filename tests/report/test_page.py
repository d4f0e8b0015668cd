"""The page: complete, escaped, self-contained, the same bytes every time."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from bs4 import BeautifulSoup

from tasks.report import ReportData, render
from tasks.report.page import number, pretty

HOSTILE = '<script>alert("1")</script>'


@pytest.fixture(name="page", scope="module")
def _page(build: Any) -> BeautifulSoup:
    return BeautifulSoup(render(build(models=["model-a", HOSTILE, "$x$ & \\frac{", "weak"])), "lxml")


def leaderboard_cells(page: BeautifulSoup, model: str) -> list[str]:
    """Texts of one row of the leaderboard, without the name."""
    for row in page.select("table.leaderboard tbody tr"):
        if model in row.th.get_text():
            return [cell.get_text(" ", strip=True) for cell in row.select("td")]
    raise AssertionError(f"{model} is not on the leaderboard")


def test_hostile_model_name_is_text_everywhere(page: BeautifulSoup) -> None:
    assert not page.select("script")
    assert HOSTILE in page.select_one("table.leaderboard").get_text()
    assert HOSTILE in [text.get_text() for text in page.select("svg text")]


def test_model_name_with_dollars_is_no_formula(page: BeautifulSoup) -> None:
    assert "$x$ & \\frac{" in [text.get_text() for text in page.select("svg text")]


def test_nothing_is_loaded_from_elsewhere(page: BeautifulSoup) -> None:
    for element in page.find_all(True):
        for name, value in element.attrs.items():
            text = " ".join(value) if isinstance(value, list) else value
            if name in ("src", "href", "xlink:href", "srcset", "data", "action", "poster"):
                assert text.startswith(("#", "data:")), f"<{element.name} {name}={text[:60]!r}>"
            assert not re.search(r"url\((?!#)", text), f"<{element.name} {name}={text[:60]!r}>"
            assert "http" not in text, f"<{element.name} {name}={text[:60]!r}>"
    assert not page.select("link, iframe, object, embed")
    assert all(not re.search(r"@import|url\((?!#)|http", style.get_text()) for style in page.select("style"))


def test_ids_are_unique_and_references_resolve(page: BeautifulSoup) -> None:
    ids = [element["id"] for element in page.select("[id]")]
    assert len(ids) == len(set(ids))
    wanted = {link["href"][1:] for link in page.select("[href]") if link["href"].startswith("#")}
    wanted |= {
        name for path in page.select("[clip-path]") for name in re.findall(r"#([^)]+)", path["clip-path"])
    }
    assert wanted <= set(ids)


def test_same_bytes_every_time_and_without_dates_of_drawing(build: Any) -> None:
    data = build(n_countries=12)
    first = render(data)
    assert render(data) == first
    assert "Matplotlib" not in first


def test_badges_are_computed(page: BeautifulSoup) -> None:
    badges = {
        row.th.contents[0].strip(): [badge.get_text() for badge in row.select(".badge")]
        for row in page.select("table.leaderboard tbody tr:not(.null)")
    }
    # 0.62, 0.53, 0.44, 0.35, intervals from 0.14 below; guessing 0.22, up to 0.34; look-up 0.31
    assert badges["model-a"] == ["better than guessing"]
    assert badges["weak"] == ["not distinguishable from guessing"]  # begins at 0.21
    assert "weak is not distinguishable from guessing" in " ".join(
        page.select_one(".warning").get_text().split()
    )


def test_no_model_told_from_guessing_is_said_at_the_top(build: Any) -> None:
    data: ReportData = build()
    weak = data.leaderboard.with_columns(ci_low=pl.lit(0.1))
    page = BeautifulSoup(render(replace(data, leaderboard=weak)), "lxml")
    assert "the order of models is not a finding" in page.select_one("p.lead").get_text()


def test_unscored_is_a_dash_and_listed_with_its_reason(build: Any) -> None:
    data: ReportData = build()
    missing = [
        pl.lit(None, pl.Float64).alias(c) for c in ("macro_f1", "ci_low", "ci_high", "coverage", "ceiling")
    ]
    page = BeautifulSoup(render(replace(data, leaderboard=data.leaderboard.with_columns(missing))), "lxml")
    cells = leaderboard_cells(page, "model-a")
    assert cells[0] == "– –"
    assert cells[-2:] == ["–", "–"]
    assert "No model has a macro-F1 yet" in page.select_one("p.lead").get_text()
    assert "719 of 720 log-probabilities are stored" in page.get_text()


def test_infinite_ratio_is_shown_as_such(page: BeautifulSoup) -> None:
    figure = page.select_one('svg[aria-label^="Spectral gap ratio"]')
    assert [text.get_text() for text in figure.select("text")].count("∞") == 3
    assert figure.select("pattern")  # hatched
    assert "∞" in [cell.get_text() for cell in page.select("td")]


@pytest.mark.parametrize(("models", "countries", "variants"), [(1, 2, 1), (2, 8, 3), (6, 10, 3), (2, 70, 1)])
def test_all_sizes(build: Any, models: int, countries: int, variants: int) -> None:
    names = [f"model-{i}" for i in range(models)]
    page = BeautifulSoup(render(build(names, countries, variants)), "lxml")
    maps = page.select('svg[aria-label^="Similarity"]')
    assert len(maps) == 9 * models
    labelled = "AB" in [text.get_text() for text in maps[0].select("text")]
    assert labelled == (countries <= 60)
    neighbours = page.select("section")[0].select("tbody tr")
    assert len(neighbours) == countries


def test_country_without_all_pairs_has_no_map_but_a_reason(build: Any) -> None:
    data: ReportData = build(n_countries=5)
    page = render(replace(data, similarity=data.similarity.slice(1)))
    assert "No map: 9 of 10 pairs of countries are stored." in page


def test_map_of_countries_all_alike_warns(build: Any) -> None:
    data: ReportData = build(n_countries=5)
    alike = data.similarity.with_columns(similarity=pl.lit(0.999999))
    page = render(replace(data, similarity=alike))
    assert page.count("any two countries get nearly the same answer (least cosine 0.9999990)") == 18


def test_other_configurations_are_listed(page: BeautifulSoup) -> None:
    assert "00ff00ff00ff00ff" in page.select_one("details[open]:last-of-type").get_text()


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "–"),
        (float("inf"), "∞"),
        (-0.5, "−0.50"),
        (0.125, "0.12"),
        (3, "3.00"),
        (1e-9, "<0.01"),
        (0.0, "0.00"),
    ],
)
def test_number(value: float | None, shown: str) -> None:
    assert number(value) == shown


def test_pretty_leaves_what_is_no_json() -> None:
    assert pretty("not json") == "not json"
    assert pretty('{"kind":"fake"}') == '{\n "kind": "fake"\n}'
