"""The order of domains from common to unique: people's against each model's."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from markupsafe import Markup
from matplotlib.axes import Axes

from tasks.report import panels
from tasks.report.svg import ACCENT, MUTED, RULE, styled, to_svg
from tasks.report.text import number, short


def sr_ranks(by_question: pl.DataFrame) -> pl.DataFrame:
    """Rank of every domain by descending SR within its model and wording; 1 is the most common, ties average.

    Returns the scored rows of by_question with a column sr_rank.
    """
    rank = pl.col("spectral_gap_ratio").rank("average", descending=True).over("model", "variant")
    return by_question.filter(pl.col("spectral_gap_ratio").is_not_null()).with_columns(sr_rank=rank)


def rank_scatter(by_question: pl.DataFrame, leaderboard: pl.DataFrame) -> Markup:
    """One panel a model: domains in people's order downwards, the model's rank rightwards.

    by_question, leaderboard: as in ``Data``, models only. Small dots are wordings, large dots their mean;
    agreement is the diagonal.
    """
    domains = by_question.select("label", "human_score").unique().sort("human_score", "label")
    ranked = sr_ranks(by_question)
    rows = leaderboard.to_dicts()
    own = [ranked.filter(model=row["model"]) for row in rows]
    titles = [
        f"{short(row['model'])}\n{_agreement(row, one.height)}" for row, one in zip(rows, own, strict=True)
    ]
    labels = [f"{d['label']}  {d['human_score']:.2f}" for d in domains.iter_rows(named=True)]
    with styled():
        size = (panels.panel_width(len(rows), widest=2.6), 0.24 * domains.height + 0.35)
        figure, drawn = panels.panel_grid(titles, labels, size)
        for axes, one in zip(drawn, own, strict=True):
            _draw_panel(axes, domains["label"].to_list(), one)
        return to_svg(figure, "ranks", "Rank of each domain by people and by each model")


def _draw_panel(axes: Axes, domains: list[str], own: pl.DataFrame) -> None:
    n = len(domains)
    axes.plot([1, n], [0, n - 1], color=MUTED, linewidth=0.8, linestyle=(0, (3, 3)))
    for y, label in enumerate(domains):
        ranks = own.filter(label=label)["sr_rank"].to_numpy()
        if not ranks.size:
            panels.not_scored(axes, y)
            continue
        axes.plot([ranks.min(), ranks.max()], [y, y], color=ACCENT, linewidth=1, alpha=0.6)
        axes.plot(ranks, np.full(ranks.size, y), linestyle="none", marker="o", markersize=2.5, color=ACCENT)
        axes.plot([ranks.mean()], [y], linestyle="none", marker="o", markersize=6.5, color=ACCENT)
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
        return f"agreement not scored, n = {n} questions"
    return f"ρ = {number(rho, 2, True)}, τ = {number(tau, 2, True)}, n = {n} questions"
