"""F1 of every category and their mean, model by model (seed paper, figure 2), beside what guessing scores."""

from __future__ import annotations

from typing import Final

import polars as pl
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from tasks.report.svg import BLUE, GREY, INK, MUTED, VERMILION, short, styled, to_svg

_PANELS: Final = {
    "macro_f1": "Macro-F1\nmean of the four",
    "f1_LH": "LH\nfew patterns, shared",
    "f1_HL": "HL\nmany, not shared",
    "f1_HH": "HH\nmany, shared core",
    "f1_LL": "LL\nfew, in blocks",
}


def category_bars(overall: pl.DataFrame) -> Markup:
    """One panel a category, one bar a model; whiskers are 95 % intervals, ticks what guessing scores.

    overall: as in ``ReportData``; models in the order to show.
    """
    models = overall["model"].unique(maintain_order=True).to_list()
    with styled():
        figure = Figure(figsize=(10.4, 0.34 * len(models) + 0.5))
        panels = figure.subplots(1, len(_PANELS), sharey=True, squeeze=False, width_ratios=[1.5, 1, 1, 1, 1])[
            0
        ]
        figure.subplots_adjust(left=0, right=1, bottom=0, top=1, wspace=0.3)
        for axes, (metric, title) in zip(panels, _PANELS.items(), strict=True):
            for row in overall.filter(metric=metric).iter_rows(named=True):
                _draw_bar(axes, models.index(row["model"]), row)
            axes.set_title(title, color=INK, linespacing=1.4)
            axes.set_xlim(0, 1)
            axes.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
            axes.grid(axis="x")
            axes.tick_params(length=0)
            axes.spines["bottom"].set_visible(False)
        panels[0].set_ylim(len(models) - 0.4, -0.6)
        panels[0].set_yticks(range(len(models)), [short(m) for m in models])
        figure.legend(
            handles=_legend(), loc="upper left", bbox_to_anchor=(0, -0.22 / figure.get_figheight()), ncols=4
        )
        return to_svg(figure, "category-f1", f"F1 of each category for {len(models)} models and null models")


def _draw_bar(axes: Axes, y: int, row: dict[str, float | None]) -> None:
    value, low, high, null = (row[name] for name in ("value", "ci_low", "ci_high", "null_value"))
    if value is None:
        axes.text(0.02, y, "not scored", va="center", fontsize=7, color=MUTED)
        return
    if row["is_null"]:
        axes.barh(y, value, height=0.62, facecolor="none", edgecolor=GREY, hatch="//////", linewidth=0.7)
    else:
        axes.barh(y, value, height=0.62, color=BLUE)
    if low is not None and high is not None and high > low:
        axes.plot([low, high], [y, y], color=INK, linewidth=1.1, solid_capstyle="butt")
        axes.plot([low, high], [y, y], linestyle="none", marker="|", markersize=5, color=INK)
    if null is not None and not row["is_null"]:
        axes.plot([null, null], [y - 0.45, y + 0.45], color=VERMILION, linewidth=1.8)
    axes.text(1.02, y, f"{value:.2f}", va="center", fontsize=7, color=MUTED, transform=axes.transData)


def _legend() -> list[Patch | Line2D]:
    return [
        Patch(color=BLUE, label="model"),
        Patch(facecolor="none", edgecolor=GREY, hatch="//////", label="null model: knows nothing"),
        Line2D([], [], color=INK, marker="|", markersize=5, linewidth=1.1, label="95 % interval"),
        Line2D([], [], color=VERMILION, marker="|", markersize=9, markeredgewidth=1.8, linestyle="none",
               label="what guessing scores on average"),
    ]  # fmt: skip
