"""The CURE page: what its template shows; the loop and the command line ask for ``REPORT`` alone."""

from __future__ import annotations

from typing import Any

import polars as pl

from tasks.evaluations.cure.report import tables
from tasks.evaluations.cure.report.data import MOST_COUNTRIES, NULLS, Data, metric_title, title_of
from tasks.evaluations.cure.report.figures import draw
from tasks.evaluations.cure.rubrics import metric_of
from tasks.evaluations.cure.scores import is_at_equal_length
from tasks.report import Report
from tasks.report.page import render_page


def _context(data: Data) -> dict[str, Any]:
    board = data.leaderboard.partition_by("benchmark", as_dict=True)
    return {
        "titles": {b: title_of(b) for b in data.benchmarks},
        "metric_of": {b: metric_of(b) for b in data.benchmarks},
        "metric_titles": {b: metric_title(b, data.benchmarks) for b in data.benchmarks},
        "at_equal_length": [b for b in data.benchmarks if is_at_equal_length(b)],
        "nulls": NULLS,
        "separations": tables.separations(data),
        "n_over_majority": tables.over_majority(data),
        "board": {b: board[b,].to_dicts() for b in data.benchmarks},
        "badge": tables.badge,
        "largest_gain": _largest_gain(data.leaderboard),
        "differences": data.differences.filter(~pl.col("is_null")).to_dicts(),
        "mode_pairs": tables.mode_pairs(data),
        "most_countries": MOST_COUNTRIES,
        "judges": tables.judge_lines(data),
        "family": sorted(set(data.leaderboard.filter("self_preference")["model"])),
        "metric_pairs": tables.metric_pairs(data),
        "cue_rows": tables.cue_rows(data),
        "lost": tables.lost_answers(data),
        "figures": draw(data),
    }


def _largest_gain(board: pl.DataFrame) -> float:
    """Where the leaderboard's small axes end, on both sides of 0."""
    sides = pl.max_horizontal(pl.col("explanation_gain", "gain_low", "gain_high").abs())
    return float(board.select(sides.max()).item() or 0.01)


REPORT = Report("report-cure.html", Data, lambda data: render_page(__name__, data, _context(data)))
