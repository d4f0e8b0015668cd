"""Figures of the kit: bars, matrices and marks, their labels and colours, and figures without numbers."""

from __future__ import annotations

import re

import pytest
from bs4 import BeautifulSoup
from markupsafe import Markup

from tasks.report.bars import Bar, Bars, Legend, bar_of
from tasks.report.heatmaps import Cell, Matrix
from tasks.report.marks import Kind, MarkLine, Marks
from tests.report.pages import HOSTILE, shown

KEY = Legend(("points",), "null: nothing")


def texts(svg: Markup) -> list[str]:
    return shown(BeautifulSoup(svg, "lxml"))


@pytest.mark.parametrize(
    ("largest", "ticks"),
    [
        (0.0, ["0", "0.5", "1"]),
        (41.9, ["0", "25", "50"]),
        (9.7, ["0", "5", "10"]),
        (101.0, ["0", "100", "200"]),
    ],
)
def test_bars_end_at_the_next_round_number(largest: float, ticks: list[str]) -> None:
    svg = Bars([Bar("m", "r", largest, null=largest / 2)], {"r": "r"}, KEY).draw("bars", "bars")
    assert [texts(svg).count(tick) for tick in ticks] == [1] * 3


def test_bars_have_numbers_marks_and_legends() -> None:
    bars = [Bar("a", "r", 0.5, 0.4, 0.6, 0.2, "▲"), Bar("b", "r", None, null=0.2)]
    labels = texts(Bars(bars, {"r": "row"}, KEY).draw("bars", "bars"))
    assert {"0.50 ▲", "not scored", "null: nothing", "95 % interval"} <= set(labels)
    two = Legend(("without", "with"), "chance", digits=None, other="baseline", notes=("* p < 0.1",))
    pair = [Bar("a", "r", 0.5, series=0), Bar("a", "r", 0.6, mark="**", series=1, other=0.4)]
    labels = texts(Bars(pair, {"r": "row"}, two).draw("bars", "bars"))
    assert {"**", "without", "with", "baseline", "* p < 0.1"} <= set(labels)


def test_bars_of_null_models_are_hatched() -> None:
    bars = [Bar("a", "m", 0.5), Bar("a", "n", 0.4, is_null=True)]
    svg = Bars(bars, {"m": "m", "n": "n"}, KEY).draw("bars", "bars")
    assert "null model" in texts(svg)
    assert "<pattern" in str(svg)


def test_bar_of_a_number_is_scaled() -> None:
    row = {"value": 0.5, "ci_low": None, "ci_high": None, "null_value": 0.1}
    assert bar_of("p", "r", row, "*", 100.0) == Bar("p", "r", 50.0, None, None, 10.0, "*")
    assert bar_of("p", "r", None) == Bar("p", "r", None)


def test_figures_without_numbers_are_not_drawn() -> None:
    assert Bars([Bar("a", "r", None, null=0.1)], {"r": "r"}, KEY).draw("bars", "bars") == ""
    assert Matrix([Cell("a", "r", "c", None)], {"r": "r"}, {"c": "c"}).draw("m", "m") == ""
    assert Marks([MarkLine("a", {})], {"x": Kind("dot", "x")}).draw("m", "m") == ""


def test_labels_ids_and_colours_of_a_figure_are_its_own() -> None:
    bar = Bar(HOSTILE, "r", 1.0, 0.5, 1.5, 0.25)
    svg = str(Bars([bar], {"r": "$x$ & \\frac{"}, KEY).draw("one", HOSTILE))
    drawn = BeautifulSoup(svg, "lxml").svg
    assert drawn is not None
    assert drawn["aria-label"] == HOSTILE
    assert "$x$ & \\frac{" in shown(drawn)
    assert all(str(element["id"]).startswith("one-") for element in drawn.select("[id]"))
    # Our marks have the page's colours, which suit light and dark.
    assert {"var(--accent)", "var(--null)", "var(--ink)"} <= set(re.findall(r"var\(--\w+\)", svg))
    assert not re.search(r"#(?:0[0-9a-f]){3}\b", svg)


def test_a_legend_lists_only_what_is_drawn() -> None:
    without = texts(Bars([Bar("a", "r", 1.0)], {"r": "row"}, KEY).draw("one", "one"))
    assert not {"95 % interval", KEY.null} & set(without)
    drawn = texts(Bars([Bar("a", "r", 1.0, 0.5, 1.5, 0.25)], {"r": "row"}, KEY).draw("one", "one"))
    assert {"95 % interval", KEY.null} <= set(drawn)


def test_long_column_names_are_slanted() -> None:
    def slants(columns: dict[str, str]) -> bool:
        return "rotate(-30" in str(Matrix([Cell("a", "r", "x", -0.5)], {"r": "r"}, columns).draw("m", "m"))

    assert slants({"x": "a long name"})
    assert not slants({"x": "12"})
    svg = Matrix([Cell("a", "r", "x", -0.5)], {"r": "r"}, {"x": "12"}).draw("m", "m")
    assert "−0.500" in texts(svg)


def test_a_matrix_has_notes_frames_and_crosses() -> None:
    cells = [Cell("a", "r", "x", 0.5, "null 0.1", is_framed=True), Cell("a", "r", "y", None)]
    svg = Matrix(cells, {"r": "row"}, {"x": "X", "y": "Y"}, digits=1).draw("m", "m")
    assert {"0.5", "null 0.1", "×", "row", "X", "Y"} <= set(texts(svg))
    assert str(svg).partition("</svg>")[0].count("stroke-width: 1.4") == 1


@pytest.mark.parametrize(("n", "boxes"), [(1, 0), (3, 0), (4, 1), (10, 1)])
def test_boxes_need_four_values(n: int, boxes: int) -> None:
    scores = [i / 10 for i in range(n)]
    kinds = {"box": Kind("box", "quartiles"), "own": Kind("small", "each")}
    svg = Marks([MarkLine("a", {"box": scores, "own": scores})], kinds, unit=True).draw("m", "m")
    # A box is a closed line of five corners; other such paths are filled patches, without line ends.
    paths = re.findall(r'<path d="([^"]*)"[^>]*style="([^"]*)"', str(svg))
    assert sum(d.count("L") == 4 and "stroke-linecap" in style for d, style in paths) == boxes


def test_lines_of_marks_have_an_axis_and_mark_unscored_models() -> None:
    kinds = {"own": Kind("dot", "own"), "null": Kind("line", "null: texts")}
    lines = [
        MarkLine("a", {"own": [7.3], "null": [8.0]}, "7.30"),
        MarkLine("b", {"null": [7.9]}, is_scored=False),
    ]
    assert {"7", "8", "7.30", "not scored", "null: texts"} <= set(texts(Marks(lines, kinds).draw("m", "m")))
    share = Marks([MarkLine("a", {"own": [0.3]})], kinds, unit=True).draw("m", "m")
    assert {"0", "0.25", "1"} <= set(texts(share))
