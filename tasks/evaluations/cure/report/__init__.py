"""Prepares what the template of the CURE page shows, and its figures; 2 to 4 follow Vo and Koyejo 2025."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
from markupsafe import Markup

from tasks.evaluations.cure.params import metric_of
from tasks.evaluations.cure.report import data as tables
from tasks.evaluations.cure.report.data import (
    MOST_COUNTRIES,
    NULLS,
    CureData,
    beats_shuffled,
    metric_title,
    title_of,
)
from tasks.report import Report, drawn, value_of
from tasks.report.bars import Legend, bar_of, bar_panels
from tasks.report.forest import Chart, picture
from tasks.report.heatmaps import Cell, matrix_panels
from tasks.report.marks import Kind, MarkLine, mark_lines
from tasks.report.page import render_page
from tasks.report.svg import ACCENT, NEUTRAL, NULL, PALE
from tasks.report.text import short

_JUDGE_NOTE = "If another item’s explanation gets the same score, the judge does not look at the item."
_NULL_NOTE = "The null is the best-scored of three explanations that know nothing of the item."
MAJORITY, PRIOR = "null:majority", "null:prior"
_MODES = {
    "thin": Kind("ringed", "thin: the label alone", PALE),
    "thick": Kind("ringed", "thick: with an explanation", ACCENT),
}
_BOX = Kind("box", "quartiles, median, range (from four models)", NEUTRAL)
_NULLS = {
    MAJORITY: Kind("line", "null: the commonest label", NULL),
    PRIOR: Kind("dashed", "null: random labels", NULL),
}
_PROFILE = Legend(
    ("score by the judge, 0 to 1",),
    "null: the best of another item’s, a generic and an empty explanation", end=1.0,
    notes=("▲ shown to score higher than another item’s explanation (95 %)",),
)  # fmt: skip


def draw(data: CureData) -> dict[str, Markup]:
    """Return the figures by name, without figures that have no scores."""
    figures: dict[str, Callable[[CureData], Markup | None]] = {
        "micro": lambda data: modes_figure(data, "f1_micro", "F1 micro, thin and thick, over models"),
        "macro": lambda data: modes_figure(data, "f1_macro", "F1 macro, thin and thick, over models"),
        "profile": profile_figure,
        "countries": countries_figure,
    }
    return drawn(figures, data)


def modes_figure(data: CureData, metric: str, description: str) -> Markup | None:
    """Draw a label score over models: a dot per model in each mode, thin above thick, joined by a line."""
    lines: list[MarkLine] = []
    joined: list[tuple[tuple[int, float], tuple[int, float]]] = []
    for benchmark in data.benchmarks:
        first = len(lines)
        of_modes = {}
        for mode in data.modes:
            rows = {m: value_of(data.label_score(m, metric, benchmark, mode)) for m in data.models}
            of_modes[mode] = {model: score for model, score in rows.items() if score is not None}
        for place, (mode, known) in enumerate(of_modes.items()):
            scores = list(known.values())
            marks = {mode: scores, "box": scores} | _null_marks(data, metric, benchmark)
            label = f"{title_of(benchmark)}, {mode}"
            space = 0.55 if first and not place else 0.0
            lines.append(MarkLine(label, marks, is_scored=bool(known), space=space))
        if len(of_modes) == 2:
            thin, thick = of_modes.values()
            joined += [((first, thin[m]), (first + 1, thick[m])) for m in thin if m in thick]
    if not any(line.is_scored for line in lines):
        return None
    kinds = {mode: _MODES[mode] for mode in data.modes}
    if len(data.modes) == 2:
        kinds["joined"] = Kind("joined", "the same model")
    kinds |= _NULLS | {"box": _BOX}
    name = metric.replace("_", "-")
    return mark_lines(lines, kinds, name, description, height=0.3, unit=True, joined=joined)


def profile_figure(data: CureData) -> Markup | None:
    """Draw every model's reasoning profile: its explanations' metrics over the best null explanation."""
    rows = {b: f"{metric_of(b).capitalize()}, {title_of(b)}" for b in data.benchmarks}
    bars = [
        bar_of(model, benchmark, data.explained(model, metric_of(benchmark), benchmark), mark)
        for model in data.models
        for benchmark in data.benchmarks
        for mark in ["▲" if beats_shuffled(data, model, benchmark) else ""]
    ]
    return bar_panels(bars, rows, _PROFILE, "profile", "Reasoning profile of every model")


def countries_figure(data: CureData) -> Markup | None:
    """Draw exact match and the explanations' metric by country, framed if above the null."""
    judged = ["explanations"] if data.is_judged else []
    rows, cells = {}, []
    for benchmark in data.benchmarks:
        for model in data.models:
            for what in (*data.modes, *judged):
                rows[f"{model}\n{what}"] = what if what in judged else f"{short(model)}, {what}"
                for country in data.shown_countries:
                    row = data.in_country(model, benchmark, what, country)
                    if row is None:
                        continue
                    value, null = row["value"], row["null_value"]
                    note = "" if null is None else f"null {null:.2f}"
                    is_above = value is not None and null is not None and value > null
                    cells.append(
                        Cell(title_of(benchmark), f"{model}\n{what}", country, value, note, is_above)
                    )
    text = "Exact match and explanations by country"
    return matrix_panels(cells, rows, data.shown_countries, "countries", text, digits=2)


def _null_marks(data: CureData, metric: str, benchmark: str) -> dict[str, list[float]]:
    """Return the null models' scores, which are equal in all modes."""
    scores = {n: value_of(data.label_score(n, metric, benchmark, data.modes[0])) for n in _NULLS}
    return {null: [score] for null, score in scores.items() if score is not None}


def _context(data: CureData) -> dict[str, Any]:
    board = data.leaderboard.partition_by("benchmark", as_dict=True)
    return {
        "picture": _picture(data),
        "titles": {b: title_of(b) for b in data.benchmarks},
        "metric_of": {b: metric_of(b) for b in data.benchmarks},
        "metric_titles": {b: metric_title(b, data.benchmarks) for b in data.benchmarks},
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


def _picture(data: CureData) -> Chart | None:
    """Draw explanations' gain over another item's; without a judge, labels next to the commonest label."""
    if data.is_judged:
        lines = [
            (model, f"{metric_of(b)}, {title_of(b)}", data.explained(model, "explanation_gain", b))
            for b in data.benchmarks
            for model in data.models
        ]
        gains = picture("Judge’s score of explanations, minus that of another item’s", lines, _JUDGE_NOTE)
        scores = [
            (model, f"{metric_of(b)}, {title_of(b)}", data.explained(model, metric_of(b), b))
            for b in data.benchmarks
            for model in data.models
        ]
        return gains or picture("Judge’s score of explanations", scores, _NULL_NOTE)
    lines = [
        (model, f"{title_of(b)}, {mode}", data.label_score(model, "exact_match", b, mode))
        for b in data.benchmarks
        for model in data.models
        for mode in data.modes
    ]
    return picture("Exact match of labels", lines)


def _largest_gain(board: pl.DataFrame) -> float | None:
    """Return the end of the leaderboard's small axes, on both sides of 0; None if no model has a gain."""
    sides = pl.max_horizontal(pl.col("explanation_gain", "gain_low", "gain_high").abs())
    largest = board.select(sides.max()).item()
    return None if largest is None else float(largest or 0.01)


REPORT = Report("report-cure.html", CureData, lambda data: render_page(__name__, data, _context(data)))
