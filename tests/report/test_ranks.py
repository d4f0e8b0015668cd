"""The order of models on a page: their ranks, and a best model only if no other can be."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest
from bs4 import BeautifulSoup

from tasks.report import Frames, RankSets
from tasks.report.ranks import best, nulls, scored
from tasks.report.tables import Numbers
from tasks.report.text import percent, span
from tests.report.pages import HOSTILE
from tests.report.stored import around, row
from tests.report.test_page import example

APART = {HOSTILE: (1, 1), "b": (2, 3), "c": (2, 3)}
OVERLAPPING = {HOSTILE: (1, 2), "b": (1, 3), "c": (2, 3)}
RANGE = "No model is shown to have the best accuracy: the values are 20 % to 80 %"


def board(sets: dict[str, tuple[int, int]], metric: str = "accuracy", **values: float | None) -> Frames:
    """Return frames of three models and a null that scores more than they, or of these values."""
    of = values or {HOSTILE: 0.8, "b": 0.3, "c": 0.2, "null:x": 0.9}
    place = ("overall", "all")
    rows = [
        row("accuracy", place, value, **({} if value is None else around(value, 0.1, null_value=0.1)))
        | {"model": model, "is_null": model.startswith("null:")}
        for model, value in of.items()
    ]
    frame = pl.DataFrame(rows, infer_schema_length=None)
    return replace(example(), values=frame, leaderboard=frame, ranks=RankSets(metric, sets))


def said(data: Frames) -> str:
    return BeautifulSoup(best(data, "accuracy", "accuracy", percent), "lxml").get_text()


def test_a_model_that_no_other_can_equal_is_named() -> None:
    sentence = best(board(APART), "accuracy", "accuracy", percent)
    assert "<script>" not in sentence
    assert said(board(APART)) == f"The best accuracy is 80 % (95 % interval 70 % to 90 %), by {HOSTILE}"


@pytest.mark.parametrize(
    ("sets", "metric"),
    [(OVERLAPPING, "accuracy"), (APART, "coverage"), ({}, "")],
    ids=["overlapping", "ranks on another number", "no ranks"],
)
def test_no_model_is_named_that_is_not_shown_to_be_the_best(
    sets: dict[str, tuple[int, int]], metric: str
) -> None:
    assert said(board(sets, metric)) == RANGE


def test_one_model_is_named_and_not_called_the_best() -> None:
    alone = board({}, a=0.5, lost=None)
    assert said(alone) == "The accuracy of a is 50 % (95 % interval 40 % to 60 %)"
    assert said(board({}, lost=None)) == ""
    assert said(board({}, a=0.5, b=0.5)) == "No model is shown to have the best accuracy: the values are 50 %"


def test_nulls_are_one_value_or_a_range() -> None:
    rows = scored(board(APART), "accuracy")
    assert [row["value"] for row in rows] == [0.2, 0.3, 0.8]
    assert nulls(rows) == "0.10"
    assert nulls([*rows, {"null_value": 0.3}, {"null_value": None}], percent) == "10 % to 30 %"
    assert nulls([]) == span([]) == ""


def test_a_board_has_a_column_of_ranks_if_it_has_ranks() -> None:
    assert Numbers(board({})).ranks() == []
    assert board({}).ranks.note("Accuracy") == ""
    ((_, draw),) = Numbers(board(OVERLAPPING), lambda key: (key[0],)).ranks()
    assert [draw((model,)) for model in ("b", "null:x")] == ["<td>1 to 3</td>", "<td>–</td>"]
    note = RankSets("accuracy", APART, "too few").note("Accuracy")
    assert note == "Ranks are all those that the data allow on Accuracy, over all 3 models at 95 %. Too few."
