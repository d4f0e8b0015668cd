"""The order of domains from common to unique: people's against each model's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tasks.report.svg import BLUE, MUTED, RULE, short, styled, to_svg

_PER_ROW = 4


def sr_ranks(by_question: pl.DataFrame) -> pl.DataFrame:
    """Rank of every domain by descending SR within its model and wording; 1 is the most common, ties average.

    Returns the scored rows of by_question with a column sr_rank.
    """
    rank = pl.col("spectral_gap_ratio").rank("average", descending=True).over("model", "variant")
    return by_question.filter(pl.col("spectral_gap_ratio").is_not_null()).with_columns(sr_rank=rank)


def rank_scatter(by_question: pl.DataFrame, leaderboard: pl.DataFrame) -> Markup:
    """One panel a model: domains in people's order downwards, the model's rank rightwards.

    by_question, leaderboard: as in ``ReportData``, models only. Small dots are wordings, large dots their
    mean; agreement is the diagonal.
    """
    domains = by_question.select("label", "human_score").unique().sort("human_score", "label")
    ranked = sr_ranks(by_question)
    with styled():
        n_rows = math.ceil(leaderboard.height / _PER_ROW)
        size = 0.24 * domains.height + 0.35
        figure = Figure(figsize=(10.4 * min(leaderboard.height, _PER_ROW) / _PER_ROW, n_rows * (size + 0.7)))
        panels = figure.subplots(n_rows, min(leaderboard.height, _PER_ROW), sharey=True, squeeze=False)
        figure.subplots_adjust(left=0, right=1, bottom=0, top=1, wspace=0.12, hspace=0.62 / size)
        for axes, row in zip(panels.flat, leaderboard.iter_rows(named=True), strict=False):
            own = ranked.filter(model=row["model"])
            _draw_panel(axes, domains, own)
            axes.set_title(f"{short(row['model'])}\n{_agreement(row, own.height)}", linespacing=1.4)
        for axes in panels.flat[leaderboard.height :]:
            axes.set_visible(False)
        labels = [f"{d['label']}  {d['human_score']:.2f}" for d in domains.iter_rows(named=True)]
        panels[0, 0].set_yticks(range(1, domains.height + 1), labels)
        panels[0, 0].set_ylim(domains.height + 0.6, 0.4)
        return to_svg(figure, "ranks", "Rank of each domain by people and by each model")


def _draw_panel(axes: Axes, domains: pl.DataFrame, own: pl.DataFrame) -> None:
    n = domains.height
    axes.plot([1, n], [1, n], color=MUTED, linewidth=0.8, linestyle=(0, (3, 3)))
    for y, label in enumerate(domains["label"], start=1):
        ranks = own.filter(label=label)["sr_rank"].to_numpy()
        if not ranks.size:
            axes.text(1, y, "not scored", va="center", fontsize=7, color=MUTED)
            continue
        axes.plot([ranks.min(), ranks.max()], [y, y], color=BLUE, linewidth=1, alpha=0.6)
        axes.plot(ranks, np.full(ranks.size, y), linestyle="none", marker="o", markersize=2.5, color=BLUE)
        axes.plot([ranks.mean()], [y], linestyle="none", marker="o", markersize=6.5, color=BLUE)
    axes.set_xlim(0.4, n + 0.6)
    axes.set_xticks([1, n], ["1 most common", f"{n} most unique"])
    first, last = axes.get_xticklabels()
    first.set_horizontalalignment("left")
    last.set_horizontalalignment("right")
    axes.hlines(range(1, n + 1), 0.4, n + 0.6, color=RULE, linewidth=0.5, zorder=0)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def _agreement(row: dict[str, Any], n: int) -> str:
    rho, tau = row["rank_spearman"], row["rank_kendall"]
    if rho is None or tau is None:
        return f"agreement not scored, n = {n} questions"
    return f"ρ = {rho:+.2f}, τ = {tau:+.2f}, n = {n} questions".replace("-", "−")
