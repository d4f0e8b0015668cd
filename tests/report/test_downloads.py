"""Links that save tables and figures, and the content of the files."""

from __future__ import annotations

import csv
import io
from urllib.parse import unquote

from bs4 import BeautifulSoup
from markupsafe import Markup

from tasks.report.bars import Bar, Bars, Legend
from tasks.report.cells import axis, cell, name
from tasks.report.downloads import as_csv, table_link
from tests.report.pages import HOSTILE
from tests.report.test_cells import ROW


def saved(markup: Markup | None, kind: str) -> tuple[str, str]:
    """Return the file's name and content of one kind of link."""
    link = BeautifulSoup(str(markup), "lxml").select_one(f'a[download$=".{kind}"]')
    assert link is not None
    return str(link["download"]), unquote(str(link["href"]).partition(",")[2])


def test_a_saved_table_has_the_visible_text() -> None:
    rows = [
        '<tr><th class="text">Model</th><th>F1 ↑<small>95 %</small></th><th>0 to 1</th></tr>',
        '<tr class="block"><th colspan="3">All &amp; more</th></tr>',
        f"<tr>{name(HOSTILE, ('warn', 'doubtful'))}{cell(ROW, n=True)}{axis(ROW, 0, 1)}</tr>",
    ]
    file, text = saved(table_link("\n".join(rows), "Models, and how good they are in all of this"), "csv")
    assert file == "culturemeter-models-and-how-good-they-are.csv"
    assert list(csv.reader(text.splitlines())) == [
        ["Model", "F1 ↑; 95 %", "0 to 1"],
        ["All & more", "", ""],
        [f"{HOSTILE}; doubtful", "0.50; 0.40 to 0.62; n 14, 2 unscored", ""],
    ]


def test_saved_texts_are_never_formulas() -> None:
    assert as_csv([["=1+1", "@x", "-1", "a=b", None, -0.5]]).strip() == "'=1+1,'@x,-1,a=b,,-0.5"
    formulas = ["+1+cmd|' /C calc'!A0", "-2+SUM(1)", "\t=1", "+HYPERLINK(1)"]
    numbers = ["-0.02 [-0.10, 0.05]", "+3 %", "-0.5 – 0.5", "-.5"]
    (row,) = csv.reader(io.StringIO(as_csv([[*formulas, *numbers]]), newline=""))
    assert row == [*(f"'{cell}" for cell in formulas), *numbers]


def test_a_figure_is_saved_in_light_colours_and_as_numbers() -> None:
    bars = [Bar("m", "r", 0.5, 0.4, 0.6, 0.2), Bar("m", "s", None)]
    figure = Bars(bars, {"r": "Row", "s": "Other"}, Legend(("points",), "null: nothing"))
    drawn = figure.draw("some", "Bars")
    file, svg = saved(drawn, "svg")
    assert file == "culturemeter-some.svg"
    assert svg.startswith('<svg xmlns="http://www.w3.org/2000/svg"')
    assert "var(" not in svg
    assert "#0072b2" in svg  # the bars' colour in the light scheme
    file, text = saved(drawn, "csv")
    assert file == "culturemeter-some.csv"
    first, second = csv.DictReader(text.splitlines())
    assert (first["panel"], first["row"], first["value"], first["null"]) == ("m", "Row", "0.5", "0.2")
    assert (second["row"], second["value"], second["series"]) == ("Other", "", "points")
