"""mAP with and without the country: by origin (seed paper, figure 2) or by language (figure 3)."""

from __future__ import annotations

import math
from typing import Any, Final

import polars as pl
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from tasks.report.svg import BLUE, GREY, INK, MUTED, RULE, VERMILION, short, styled, to_svg

SKY: Final = "#7cc4ee"
_COLOURS: Final = {False: SKY, True: BLUE}
_PER_ROW: Final = 4
_HEIGHT: Final = 0.31  # inches: two bars and their gap


def country_bars(cells: pl.DataFrame, labels: dict[str, str], name: str, description: str) -> Markup:
    """One panel a model; a pair of bars a row, with their intervals, chance and the best baseline.

    Args:
        cells: model, row, country_mentioned, value, ci_low, ci_high, null_value, baseline, p (of the
            country's gain; null: not tested); models in the order to show, without the baselines.
        labels: what to write at each row, in the order to show.
        name, description: as in ``to_svg``.
    """
    models = cells["model"].unique(maintain_order=True).to_list()
    per_row = min(len(models), _PER_ROW)
    n_rows = math.ceil(len(models) / per_row)
    height = _HEIGHT * len(labels)
    with styled():
        figure = Figure(figsize=(min(10.4, 4.2 * per_row), n_rows * height + (n_rows - 1) * 0.7))
        panels = figure.subplots(n_rows, per_row, sharey=True, squeeze=False)
        figure.subplots_adjust(left=0, right=1, bottom=0, top=1, wspace=0.14, hspace=0.7 / height)
        for axes, model in zip(panels.flat, models, strict=False):
            _draw_panel(axes, cells.filter(model=model), list(labels), _right_end(cells))
            axes.set_title(short(model), color=INK)
        for axes in panels.flat[len(models) :]:
            axes.set_visible(False)
        panels[0, 0].set_ylim(len(labels) - 0.4, -0.6)
        panels[0, 0].set_yticks(range(len(labels)), list(labels.values()))
        figure.legend(
            handles=_legend(), loc="upper left", bbox_to_anchor=(0, -0.22 / figure.get_figheight()), ncols=6
        )
        return to_svg(figure, name, description)


def stars(p: float | None) -> str:
    """The seed's marks: * below 0.1, ** below 0.05, *** below 0.01, else nothing."""
    return "" if p is None else "*" * sum(p < limit for limit in (0.1, 0.05, 0.01))


def _draw_panel(axes: Axes, cells: pl.DataFrame, rows: list[str], right: float) -> None:
    shown = sorted(cells["country_mentioned"].unique())
    thick = 0.38 if len(shown) == 2 else 0.6
    for cell in cells.iter_rows(named=True):
        offset = (cell["country_mentioned"] - 0.5) * thick if len(shown) == 2 else 0.0
        _draw_bar(axes, rows.index(cell["row"]) + offset, thick, cell)
    axes.set_xlim(0, right)
    axes.grid(axis="x")
    axes.tick_params(length=0)
    axes.spines["bottom"].set_visible(False)
    axes.spines["left"].set_color(RULE)


def _draw_bar(axes: Axes, y: float, thick: float, cell: dict[str, Any]) -> None:
    value, low, high = cell["value"], cell["ci_low"], cell["ci_high"]
    if value is None:
        axes.text(0, y, " not scored", va="center", fontsize=6, color=MUTED)
        return
    axes.barh(y, value, height=0.92 * thick, color=_COLOURS[cell["country_mentioned"]])
    end = value
    if low is not None and high is not None:
        axes.plot([low, high], [y, y], color=INK, linewidth=0.9, solid_capstyle="butt")
        axes.plot([low, high], [y, y], linestyle="none", marker="|", markersize=3.5, color=INK)
        end = max(value, high)
    if cell["null_value"] is not None:
        x = cell["null_value"]
        axes.plot([x, x], [y - 0.5 * thick, y + 0.5 * thick], color=VERMILION, linewidth=1.6)
    if cell["baseline"] is not None:
        axes.plot(
            [cell["baseline"]], [y], linestyle="none", marker="D", markersize=3.4,
            markerfacecolor=GREY, markeredgecolor=INK, markeredgewidth=0.5,
        )  # fmt: skip
        end = max(end, cell["baseline"])
    if cell["country_mentioned"]:
        axes.text(end, y, f" {stars(cell['p'])}", va="center_baseline", fontsize=8, color=INK)


def _right_end(cells: pl.DataFrame) -> float:
    """The same for all panels: the furthest mark, with room for stars."""
    furthest = cells.select(pl.max_horizontal("value", "ci_high", "null_value", "baseline").max()).item()
    return 1.12 * float(furthest or 1.0)


def _legend() -> list[Patch | Line2D]:
    return [
        Patch(color=SKY, label="country not named"),
        Patch(color=BLUE, label="country named"),
        Line2D([], [], color=INK, marker="|", markersize=4, linewidth=0.9, label="95 % interval"),
        Line2D([], [], color=VERMILION, marker="|", markersize=9, markeredgewidth=1.6, linestyle="none",
               label="chance"),
        Line2D([], [], marker="D", markersize=4, linestyle="none", markerfacecolor=GREY,
               markeredgecolor=INK, markeredgewidth=0.5, label="best baseline"),
        Line2D([], [], linestyle="none", label="* p < 0.1,  ** p < 0.05,  *** p < 0.01"),
    ]  # fmt: skip
