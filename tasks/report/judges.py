"""The table of judges: what they graded, and their agreement with people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl
from markupsafe import Markup

from tasks.report import Row
from tasks.report.cells import BREAK, badge, cell, col, left, name, put, small, td, words
from tasks.report.parts import Table
from tasks.report.tables import table
from tasks.report.text import percent, when

_AMONG_PEOPLE = "krippendorff_alpha"
"""Prefix of the metrics of agreement between people, which is not agreement with the judge."""
_AGREEMENT = (
    ("α", "of people", ("krippendorff_alpha_nominal",)), ("κ", "", ("cohen_kappa",)),
    ("r", "", ("pearson_graded", "pearson")), ("ρ", "", ("spearman_graded", "spearman")),
    ("ECE ↓", "calibration error", ("expected_calibration_error",)),
)  # fmt: skip


def judge_lines(
    verdicts: pl.DataFrame, validation: pl.DataFrame, order: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """Return a line for every judge and rubric: counts of verdicts, its agreement with people by metric, and
    whether it was validated: whether one of these numbers is about the judge.

    Judges are distinguished by engine, so two with one name get two lines. A judge that was validated twice
    has its newest numbers.

    Args:
        verdicts, validation: the views report_judge and report_validation. order: metrics, to sort by.
    """
    lines = []
    for row in verdicts.to_dicts():
        own = validation.filter(judge_hash=row["judge_hash"], rubric=row["rubric"]).sort("created_at")
        agreement = {each["metric"]: each for each in own.to_dicts()}
        of_judge = [each for metric, each in agreement.items() if not metric.startswith(_AMONG_PEOPLE)]
        is_validated = any(each["value"] is not None for each in of_judge)
        lines.append(row | {"agreement": agreement, "validated": is_validated})
    if order:
        lines.sort(key=lambda line: (line["judge"], order.index(line["metric"])))
    return lines


def validated(line: Row) -> Markup:
    """Return the badge that says whether a judge was validated."""
    return badge(("good", "validated") if line["validated"] else ("plain", "not validated"))


def judge_table(lines: Sequence[Row]) -> Table:
    """Return the table of judges. lines: as ``judge_lines`` returns them."""

    def agreement(line: Row, keys: Sequence[str]) -> Row | None:
        return next((line["agreement"][key] for key in keys if key in line["agreement"]), None)

    def rubric(line: Row) -> Markup:
        metric = line["metric"].replace("_", " ").capitalize()
        return put("{}{}<small><code>{}</code></small>", metric, BREAK, line["rubric"].split(" ")[-1])

    def graded(line: Row) -> str:
        return percent(line["n_graded"] / line["n_verdicts"])

    def count(line: Row) -> Markup:
        return put("{}{}", line["n_verdicts"], small(line["n_unscored"], below=True))

    def rated(line: Row) -> Markup:
        newest = list(line["agreement"].values())[-1:]
        return words(
            put("{}{}", newest[0]["source"], small(when(newest[0]["created_at"]), below=True))
            if newest
            else None
        )

    caption = (
        "Judges, what they graded, and their agreement with people. To validate a judge, culturemeter "
        "judge audit draws answers for people to rate, and culturemeter judge validate compares the "
        "judge with these ratings."
    )
    return table(caption, [
        (left("Judge"), lambda line: name(line["judge"])),
        (left("Metric"), lambda line: words(rubric(line))),
        (col("Verdicts", "unscored"), lambda line: td(count(line))),
        (col("Graded", "from probabilities"), lambda line: td(graded(line))),
        (left("Against", "people"), lambda line: words(validated(line))),
        *(
            (col(label, below), lambda line, keys=keys: cell(agreement(line, keys), n=True))
            for label, below, keys in _AGREEMENT
        ),
        (left("Ratings", "when"), rated),
    ], lines, id="judge-table")  # fmt: skip
