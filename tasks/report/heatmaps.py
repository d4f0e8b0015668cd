"""Effective rank and spectral gap ratio of every model and question (seed paper, figures 5 and 6)."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from textwrap import fill
from typing import Literal

import numpy as np
import polars as pl
from markupsafe import Markup
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter

from tasks.report.svg import GREY, INK, MUTED, RULE, short, styled, to_svg

Measure = Literal["effective_rank", "spectral_gap_ratio"]

_GAP = 0.22  # between domains, in cells
_HEIGHT, _LEAST_CELL, _LEAST_DOMAIN = 0.4, 0.37, 0.95  # inches
_TEXT = {
    "effective_rank": ("effective rank (number of patterns)", "viridis", "Effective rank"),
    "spectral_gap_ratio": ("spectral gap ratio λ₁/λ₂ (log scale)", "cividis", "Spectral gap ratio"),
}


@dataclass(frozen=True)
class _Columns:
    """Where the questions stand: those of one domain side by side, with a gap between domains."""

    x: dict[str, float]
    domains: list[tuple[str, str, float, float]]  # heading, people's category, first and last x
    variants: dict[str, int]


def spectrum_heatmap(by_question: pl.DataFrame, measure: Measure) -> Markup:
    """Models in rows, questions in columns, each cell with its value and whether it counts as High or Low.

    by_question: as in ``ReportData``, rows in the order to show. An infinite SR is hatched and marked ∞, an
    unscored cell is crossed out.
    """
    models = by_question["model"].unique(maintain_order=True).to_list()
    columns = _columns(by_question)
    label, palette, title = _TEXT[measure]
    norm = _norm(by_question[measure], measure)
    letter = 0 if measure == "effective_rank" else 1
    with styled():
        n_columns = len(columns.x)
        cell = max(_LEAST_CELL, _LEAST_DOMAIN * len(columns.domains) / n_columns)
        width = cell * (n_columns + _GAP * (len(columns.domains) - 1))
        figure = Figure(figsize=(width, _HEIGHT * len(models)))
        axes = figure.add_axes((0, 0, 1, 1))
        scale = ScalarMappable(norm, colormaps[palette])
        for row in by_question.iter_rows(named=True):
            category = row["er_sr_category"]
            mark = category[letter] if category else ""
            at = (columns.x[row["question"]], float(models.index(row["model"])))
            _draw_cell(axes, at, row[measure], mark, scale)
        _draw_frame(axes, columns, by_question, models)
        bar = figure.add_axes(
            (0, -0.36 / (_HEIGHT * len(models)) - 0.06, 0.32, 0.1 / (_HEIGHT * len(models)))
        )
        colorbar = figure.colorbar(scale, cax=bar, orientation="horizontal")
        colorbar.set_label(label)
        colorbar.formatter = FuncFormatter(lambda value, _: re.sub(r"\.0+(?=\D|$)", "", compact(value)))
        colorbar.minorticks_off()
        colorbar.outline.set_visible(False)
        return to_svg(
            figure, measure.replace("_", "-"), f"{title} of {len(models)} models and {n_columns} questions"
        )


def compact(value: float | None) -> str:
    """A number of at least 1 in five characters at most: 1.23, 45.6, 789, 12k, 3.4M, 5e12, ∞."""
    if value is None:
        return ""
    if math.isinf(value):
        return "∞"
    for size, unit in ((1.0, ""), (1e3, "k"), (1e6, "M"), (1e9, "G")):
        scaled = value / size
        # What would round up to one more digit has one decimal less, or the next unit.
        if scaled < 999.5:
            digits = (scaled < 9.95) if unit else (scaled < 99.95) + (scaled < 9.995)
            return f"{scaled:.{int(digits)}f}{unit}"
    return f"{value:.0e}".replace("e+", "e")


def _columns(by_question: pl.DataFrame) -> _Columns:
    asked = by_question.select("domain", "label", "human_category", "question", "variant").unique(
        maintain_order=True
    )
    x: dict[str, float] = {}
    domains: list[tuple[str, str, float, float]] = []
    for (_,), rows in asked.group_by("domain", maintain_order=True):
        rows = rows.sort("variant")
        first = len(x) + _GAP * len(domains)
        x |= {q: first + i for i, q in enumerate(rows["question"])}
        domains.append((rows["label"][0], rows["human_category"][0], first, first + rows.height - 1))
    return _Columns(x, domains, dict(asked.select("question", "variant").rows()))


def _norm(values: pl.Series, measure: Measure) -> Normalize:
    """Both numbers begin at 1. The colour range ends with the largest finite value."""
    finite = values.filter(values.is_not_null() & values.is_finite())
    top = float(finite.max() or 1.0)  # type: ignore[arg-type]
    if measure == "effective_rank":
        return Normalize(1.0, max(top, 1.1))
    return LogNorm(1.0, max(top, 1.1))


def _draw_cell(
    axes: Axes, at: tuple[float, float], value: float | None, mark: str, scale: ScalarMappable
) -> None:
    x, y = at
    corner = (x - 0.48, y - 0.46)
    if value is None:
        axes.add_patch(Rectangle(corner, 0.96, 0.92, facecolor="none", edgecolor=RULE, linewidth=0.6))
        axes.text(x, y, "×", ha="center", va="center", color=MUTED)
        return
    if math.isinf(value):
        axes.add_patch(
            Rectangle(corner, 0.96, 0.92, facecolor="#fff6d6", edgecolor=GREY, hatch="////", linewidth=0)
        )
        colour = "#111111"
    else:
        red, green, blue, _ = fill_colour = scale.to_rgba(np.array([value]))[0]
        axes.add_patch(Rectangle(corner, 0.96, 0.92, facecolor=fill_colour, linewidth=0))
        colour = "#111111" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "#ffffff"
    axes.text(x, y - 0.1, compact(value), ha="center", va="center", fontsize=7.5, color=colour)
    axes.text(x, y + 0.28, mark, ha="center", va="center", fontsize=5.5, color=colour)


def _draw_frame(axes: Axes, columns: _Columns, by_question: pl.DataFrame, models: list[str]) -> None:
    """Names around the cells: models left, wordings below, domains with people's category above."""
    nulls = set(by_question.filter("is_null")["model"])
    right = max(columns.x.values()) + 0.5
    axes.set_xlim(-0.5, right)
    axes.set_ylim(len(models) - 0.5, -0.5)
    axes.set_yticks(range(len(models)), [short(m) for m in models])
    for tick, model in zip(axes.get_yticklabels(), models, strict=True):
        tick.set_color(MUTED if model in nulls else INK)
    axes.set_xticks(list(columns.x.values()), [f"Q{columns.variants[q]}" for q in columns.x])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    for heading, category, first, last in columns.domains:
        middle = (first + last) / 2
        axes.plot([first - 0.45, last + 0.45], [-0.6, -0.6], color=MUTED, linewidth=0.8, clip_on=False)
        axes.text(middle, -0.7, f"people: {category}", ha="center", va="bottom", fontsize=7, color=MUTED)
        axes.text(middle, -1.05, fill(heading, 14), ha="center", va="bottom", fontsize=8, weight="bold")
