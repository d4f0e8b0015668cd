"""Cells of tables: their text, their tooltips, and names as plain text."""

from __future__ import annotations

from typing import Any

import pytest
from bs4 import BeautifulSoup, Tag

from tasks.report.cells import axis, cell, head, isolated, name, null, td, words
from tests.report.pages import HOSTILE, text_of

ROW: dict[str, Any] = {
    "metric": "macro_f1", "value": 0.5, "ci_low": 0.4, "ci_high": 0.625, "null_value": 0.25, "n_scored": 14,
    "n_unscored": 2, "unscored_reason": None,
}  # fmt: skip


CATALOGUE = {"macro_f1": {"description": 'mean of "F1"'}}


def tag(markup: str) -> Tag:
    element = BeautifulSoup(f"<table><tr>{markup}</tr></table>", "lxml").select_one("tr > *")
    assert element is not None
    return element


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({}, "0.50 0.40 to 0.62"),
        ({"digits": 3, "sign": True}, "+0.500 +0.400 to +0.625"),
        ({"null": True, "n": True}, "0.50 0.40 to 0.62 null 0.25 n 14, 2 unscored"),
        ({"share": True}, "50 % 40 % to 62 %"),
        ({"times": 100, "digits": 1}, "50.0 40.0 to 62.5"),
        ({"sd": {"value": 0.1}, "note": "p = 0.1"}, "0.50 ± 0.10 0.40 to 0.62 p = 0.1"),
        ({"sd": {"value": None}}, "0.50 0.40 to 0.62"),
    ],
)
def test_a_cell_shows_the_chosen_parts(more: dict[str, Any], text: str) -> None:
    assert text_of(tag(cell(ROW, **more))) == text


def test_an_interval_is_below_or_beside_its_value() -> None:
    assert len(tag(cell(ROW)).select("br")) == 1
    assert not tag(cell(ROW, line=True)).select("br")


def test_the_title_of_a_cell_has_counts_null_and_reason() -> None:
    unscored = ROW | {"value": None, "ci_low": None, "ci_high": None, "unscored_reason": 'no "vectors"'}
    drawn = tag(cell(unscored, hint="more"))
    assert text_of(drawn) == "–"
    assert drawn["title"] == 'macro_f1: 14 scored, 2 unscored, null 0.25: no "vectors"; more'


def test_a_missing_value_is_a_dash() -> None:
    assert cell(None) == null(None) == "<td>–</td>"
    assert null(ROW, 3) == "<td>0.250</td>"


def test_axis_places_marks_between_its_ends() -> None:
    drawn = tag(axis(ROW, 0, 1))
    assert [line["x1"] for line in drawn.select("line")] == ["0", "40.00", "25.00"]
    assert drawn.circle["cx"] == "50.00"  # type: ignore[index]
    assert drawn.svg["aria-label"] == "0.50 between 0.00 and 1.00, null 0.25"  # type: ignore[index]
    around_zero = tag(axis(ROW | {"null_value": 0.0, "ci_low": None}, -1, 1))
    assert [line["x1"] for line in around_zero.select("line")] == ["0", "50.00"]
    assert around_zero.circle["cx"] == "75.00"  # type: ignore[index]
    assert axis(None, 0, 1) == axis(ROW | {"value": None}, 0, 1) == "<td></td>"


def test_names_are_text_of_any_direction() -> None:
    drawn = tag(name(HOSTILE, ("warn", HOSTILE), ("good", "fine")))
    assert drawn.bdi["dir"] == "auto"  # type: ignore[index]
    assert [text_of(badge) for badge in drawn.select(".badge")] == [HOSTILE, "fine"]
    assert not drawn.select("script")
    assert "<script>" not in isolated(HOSTILE)


def test_the_title_of_a_heading_is_the_metrics_description() -> None:
    drawn = tag(head(CATALOGUE, "macro_f1", "F1 ↑", "95 %"))
    assert (drawn["title"], text_of(drawn)) == ('mean of "F1"', "F1 ↑ 95 %")
    assert "title" not in tag(head(CATALOGUE, "other", "O")).attrs


def test_texts_of_cells_are_escaped_and_nothing_is_a_dash() -> None:
    assert td(None) == "<td>–</td>"
    assert [text_of(tag(words(text))) for text in (None, "", HOSTILE)] == ["–", "–", HOSTILE]
    assert "<script>" not in words(HOSTILE) + td(HOSTILE)
