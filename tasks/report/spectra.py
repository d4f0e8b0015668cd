"""Draws two numbers of every question by model, and models' order of domains next to people's."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from textwrap import fill
from typing import Any, Literal

import polars as pl
from markupsafe import Markup
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from tasks.report import panels
from tasks.report.heatmaps import Square, draw_cells, shade
from tasks.report.svg import ACCENT, INK, MUTED, RULE, SMALL, styled, to_svg
from tasks.report.text import compact, number, short

Measure = Literal["effective_rank", "spectral_gap_ratio"]

_GAP = 0.22  # between domains, in cells
_HEIGHT, _LEAST_CELL, _LEAST_DOMAIN = 0.4, 0.37, 0.95  # inches
_INFINITE = (1.0, 0.965, 0.84)
_TEXT = {
    "effective_rank": ("effective rank (number of patterns)", "viridis"),
    "spectral_gap_ratio": ("spectral gap ratio λ₁/λ₂ (log scale)", "cividis"),
}


@dataclass(frozen=True)
class _Columns:
    """Horizontal positions of the questions: one domain's questions are adjacent, with a gap
    between domains.
    """

    x: dict[str, float]
    domains: list[tuple[str, str, float, float]]  # heading, people's category, first and last x
    variants: dict[str, int]


@dataclass(frozen=True)
class Spectrum:
    """Models in rows and questions in columns; each cell shows its value and whether it is High or Low.

    Attributes:
        by_question: rows of the view spectral_by_domain, in the order to show. An infinite ratio is hatched
            and marked ∞, an unscored cell is crossed out.
    """

    by_question: pl.DataFrame
    measure: Measure

    def draw(self, name: str, description: str) -> Markup:
        """Implement ``parts.Drawable``."""
        by_question, measure = self.by_question, self.measure
        models = by_question["model"].unique(maintain_order=True).to_list()
        if not by_question[measure].count():
            return Markup("")
        columns = _columns(by_question)
        label, palette = _TEXT[measure]
        scale = ScalarMappable(_norm(by_question[measure], measure), colormaps[palette])
        letter = 0 if measure == "effective_rank" else 1
        n_columns = len(columns.x)
        cell = max(_LEAST_CELL, _LEAST_DOMAIN * len(columns.domains) / n_columns)
        height = _HEIGHT * len(models)
        with styled():
            figure = Figure(figsize=(cell * (n_columns + _GAP * (len(columns.domains) - 1)), height))
            axes = figure.add_axes((0, 0, 1, 1))
            cells = []
            for row in by_question.iter_rows(named=True):
                value, category = row[measure], row["er_sr_category"]
                at = (columns.x[row["question"]], float(models.index(row["model"])))
                infinite = value is not None and math.isinf(value)
                colour = _INFINITE if infinite else shade(scale, value)
                mark = category[letter] if category else ""
                cells.append(Square(at, colour, compact(value), mark, hatch="////" if infinite else ""))
            draw_cells(axes, cells)
            _draw_frame(axes, columns, by_question, models)
            bar = figure.add_axes((0, -0.36 / height - 0.06, 0.32, 0.1 / height))
            colorbar = figure.colorbar(scale, cax=bar, orientation="horizontal")
            colorbar.set_label(label)
            colorbar.formatter = FuncFormatter(lambda value, _: re.sub(r"\.0+(?=\D|$)", "", compact(value)))
            colorbar.minorticks_off()
            colorbar.outline.set_visible(False)
            names = ("model", "domain", "question", measure, "er_sr_category", "human_category")
            return to_svg(figure, name, description, by_question.select(names))


def _columns(by_question: pl.DataFrame) -> _Columns:
    names = ("domain", "label", "human_category", "question", "variant")
    questions = by_question.select(names).unique(maintain_order=True)
    x: dict[str, float] = {}
    domains: list[tuple[str, str, float, float]] = []
    for (_,), rows in questions.group_by("domain", maintain_order=True):
        rows = rows.sort("variant")
        first = len(x) + _GAP * len(domains)
        x |= {q: first + i for i, q in enumerate(rows["question"])}
        domains.append((rows["label"][0], rows["human_category"][0], first, first + rows.height - 1))
    return _Columns(x, domains, dict(questions.select("question", "variant").rows()))


def _norm(values: pl.Series, measure: Measure) -> Normalize:
    """Return the colour range: from 1, the least possible value, to the largest finite value."""
    finite = values.filter(values.is_not_null() & values.is_finite())
    top = max(float(finite.max() or 1.0), 1.1)  # type: ignore[arg-type]
    return Normalize(1.0, top) if measure == "effective_rank" else LogNorm(1.0, top)


def _draw_frame(axes: Axes, columns: _Columns, by_question: pl.DataFrame, models: list[str]) -> None:
    """Draw the names around the cells: models left, wordings below, domains with people's category above."""
    nulls = set(by_question.filter("is_null")["model"])
    axes.set_xlim(-0.5, max(columns.x.values()) + 0.5)
    axes.set_ylim(len(models) - 0.5, -0.5)
    axes.set_yticks(range(len(models)), [short(m) for m in models])
    for tick, model in zip(axes.get_yticklabels(), models, strict=True):
        tick.set_color(MUTED if model in nulls else INK)
    axes.set_xticks(list(columns.x.values()), [f"Q{columns.variants[q]}" for q in columns.x])
    panels.bare(axes)
    axes.spines[:].set_visible(False)
    for heading, category, first, last in columns.domains:
        middle = (first + last) / 2
        axes.plot([first - 0.45, last + 0.45], [-0.6, -0.6], color=MUTED, linewidth=0.8, clip_on=False)
        axes.text(middle, -0.7, f"people: {category}", ha="center", va="bottom", fontsize=SMALL, color=MUTED)
        axes.text(middle, -1.05, fill(heading, 14), ha="center", va="bottom", fontsize=8, weight="bold")


def sr_ranks(by_question: pl.DataFrame) -> pl.DataFrame:
    """Return the scored rows of by_question with a column sr_rank. It ranks the domains of one model and
    wording by descending SR; 1 is the most common, ties average.
    """
    rank = pl.col("spectral_gap_ratio").rank("average", descending=True).over("model", "variant")
    return by_question.filter(pl.col("spectral_gap_ratio").is_not_null()).with_columns(sr_rank=rank)


@dataclass(frozen=True)
class Ranks:
    """One panel per model: domains downwards in people's order, the model's ranks rightwards.

    Small dots are wordings, large dots their mean; agreement is the diagonal.

    Attributes:
        by_question, leaderboard: rows of spectral_by_domain and leaderboard_spectral, models only.
    """

    by_question: pl.DataFrame
    leaderboard: pl.DataFrame

    def draw(self, name: str, description: str) -> Markup:
        """Implement ``parts.Drawable``."""
        if not self.by_question["spectral_gap_ratio"].count():
            return Markup("")
        domains = self.by_question.select("label", "human_score").unique().sort("human_score", "label")
        ranked = sr_ranks(self.by_question)
        of = [(row, ranked.filter(model=row["model"])) for row in self.leaderboard.to_dicts()]
        titles = [f"{short(row['model'])}\n{_agreement(row, own.height)}" for row, own in of]
        labels = [f"{d['label']}  {d['human_score']:.2f}" for d in domains.iter_rows(named=True)]
        with styled():
            size = (panels.panel_width(len(of), widest=2.6), 0.24 * domains.height + 0.35)
            figure, drawn = panels.panel_grid(titles, labels, size)
            for axes, (_, own) in zip(drawn, of, strict=True):
                _draw_panel(axes, domains["label"].to_list(), own)
            names = ("model", "question", "label", "human_score", "spectral_gap_ratio", "sr_rank")
            return to_svg(figure, name, description, ranked.select(names))


def _draw_panel(axes: Axes, domains: list[str], own: pl.DataFrame) -> None:
    n = len(domains)
    axes.plot([1, n], [0, n - 1], color=MUTED, linewidth=0.8, linestyle=(0, (3, 3)))
    scored = []
    for y, label in enumerate(domains):
        ranks = own.filter(label=label)["sr_rank"].to_numpy()
        if ranks.size:
            scored.append((y, ranks))
        else:
            panels.not_scored(axes, y)
    # One artist for the lines of all domains, and two for their dots: fifty models have fifty panels.
    least, most = [each.min() for _, each in scored], [each.max() for _, each in scored]
    axes.hlines([y for y, _ in scored], least, most, color=ACCENT, linewidth=1, alpha=0.6)
    dots: dict[str, Any] = {"linestyle": "none", "marker": "o", "color": ACCENT}
    axes.plot(
        [rank for _, each in scored for rank in each],
        [y for y, each in scored for _ in each],
        markersize=2.5,
        **dots,
    )
    axes.plot([each.mean() for _, each in scored], [y for y, _ in scored], markersize=6.5, **dots)
    axes.set_xlim(0.4, n + 0.6)
    axes.set_xticks([1, n], ["1 most common", f"{n} most unique"])
    first, last = axes.get_xticklabels()
    first.set_horizontalalignment("left")
    last.set_horizontalalignment("right")
    axes.hlines(range(n), 0.4, n + 0.6, color=RULE, linewidth=0.5, zorder=0)
    axes.spines[:].set_visible(False)


def _agreement(row: dict[str, Any], n: int) -> str:
    rho, tau = row["rank_spearman"], row["rank_kendall"]
    if rho is None or tau is None:
        return f"agreement not scored, n = {n}"
    return f"ρ = {number(rho, 2, True)}, τ = {number(tau, 2, True)}, n = {n} questions"
