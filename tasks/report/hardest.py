"""Draws the items that models answer worst, with every model's answer: a section of several pages."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from tasks.report import Row
from tasks.report.cells import isolated, left, put, small, td, words
from tasks.report.parts import Line, Section, Table
from tasks.report.text import cut, number

HARDEST = 12
"""Number of items that a page shows; they are those with the lowest scores."""


def hardest(
    answers: pl.DataFrame, item: Callable[[Row], object], target: Callable[[Row], object], nothing: str = ""
) -> list[Section]:
    """Return the section of the hardest items; none without answers.

    Args:
        answers: item, cluster, model, answer, value, unscored_reason, lost; hardest item first.
        item, target: row -> text of the item and of its right answer.
        nothing: text of an answer that is not there for no reason.
    """
    rows = []
    for name in answers["item"].unique(maintain_order=True).head(HARDEST):
        own = answers.filter(pl.col("item") == name).to_dicts()
        for at, row in enumerate(own):
            asked = put("{}{}", isolated(item(row)), small(isolated(row["cluster"]), below=True))
            first = [
                put('<th scope="row" rowspan="{}">{}</th>', len(own), asked),
                put('<td class="text" rowspan="{}">{}</td>', len(own), isolated(target(row))),
            ]
            lost = put('<span class="small">{}</span>', row["unscored_reason"] or row["lost"] or nothing)
            answer = lost if row["answer"] is None else isolated(cut(row["answer"]))
            cells = [words(isolated(row["model"])), words(answer), td(number(row["value"]))]
            rows.append(Line([*([] if at else first), *cells], is_first=not at))
    head = [*map(left, ("Item", "Right answer", "Model", "Answer")), put("<th>Score</th>")]
    shown = Table(
        "Items with the models’ lowest scores, and their answers", head, rows, "hardest", is_long=True
    )
    return [Section("items", "Which items are hardest?", [shown])] if rows else []
