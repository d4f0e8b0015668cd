"""One panel a model, one bar a row: its value, its interval, and what its null scores."""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import polars as pl
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from tasks.report.svg import BLUE, INK, MUTED, RULE, VERMILION, short, styled, to_svg

_PER_ROW: Final = 4
_HEIGHT: Final = 0.21  # inches of a row
_GAP: Final = 0.62  # inches between rows of panels
_NUMBER: Final = 0.3  # of a panel's width, for the numbers at its right


class Scale(NamedTuple):
    """What the bars measure. end: where all panels end, None for the largest mark."""

    label: str
    null: str
    end: float | None
    digits: int = 2
    marks: str = ""


def bar_panels(
    cells: pl.DataFrame, labels: dict[str, str], scale: Scale, name: str, description: str
) -> Markup:
    """Bars from 0.

    Args:
        cells: model, row, value, ci_low, ci_high, null_value, mark (text after the number); models in the
            order to show.
        labels: what to write at each row, in the order to show.
        scale: units and legend; marks explains the marks.
        name, description: as in ``to_svg``.
    """
    models = cells["model"].unique(maintain_order=True).to_list()
    per_row = min(len(models), _PER_ROW)
    n_rows = math.ceil(len(models) / per_row)
    height = _HEIGHT * (len(labels) + 0.4)
    right = scale.end or _furthest(cells)
    with styled():
        figure = Figure(figsize=(min(9.4, 4.4 * per_row), n_rows * height + (n_rows - 1) * _GAP))
        panels = figure.subplots(n_rows, per_row, sharey=True, squeeze=False)
        figure.subplots_adjust(left=0, right=1, bottom=0, top=1, wspace=0.08, hspace=_GAP / height)
        for axes, model in zip(panels.flat, models, strict=False):
            _draw_panel(axes, cells.filter(model=model), list(labels), right, scale)
            axes.set_title(short(model), color=INK)
        for axes in panels.flat[len(models) :]:
            axes.set_visible(False)
        panels[0, 0].set_ylim(len(labels) - 0.4, -0.6)
        panels[0, 0].set_yticks(range(len(labels)), list(labels.values()))
        below = -0.28 / figure.get_figheight()
        figure.legend(handles=_legend(scale), loc="upper left", bbox_to_anchor=(0, below), ncols=4)
        return to_svg(figure, name, description)


def _draw_panel(axes: Axes, cells: pl.DataFrame, rows: list[str], right: float, scale: Scale) -> None:
    for cell in cells.iter_rows(named=True):
        _draw_bar(axes, rows.index(cell["row"]), cell, right, scale.digits)
    axes.set_xlim(0, right * (1 + _NUMBER))
    axes.set_xticks([0, right / 2, right], [f"{x:g}" for x in (0, right / 2, right)])
    axes.grid(axis="x")
    axes.tick_params(length=0)
    axes.spines["bottom"].set_visible(False)
    axes.spines["left"].set_color(RULE)


def _draw_bar(axes: Axes, y: int, cell: dict[str, Any], right: float, digits: int) -> None:
    value, low, high, null = (cell[name] for name in ("value", "ci_low", "ci_high", "null_value"))
    if value is None:
        axes.text(0, y, " not scored", va="center", fontsize=6.5, color=MUTED)
    else:
        axes.barh(y, value, height=0.62, color=BLUE)
        text = f"{value:.{digits}f} {cell['mark'] or ''}"
        axes.text(1.02 * right, y, text, va="center", fontsize=7, color=MUTED)
    if low is not None and high is not None:
        axes.plot([low, high], [y, y], color=INK, linewidth=0.9, solid_capstyle="butt")
        axes.plot([low, high], [y, y], linestyle="none", marker="|", markersize=4, color=INK)
    if null is not None:
        axes.plot([null, null], [y - 0.46, y + 0.46], color=VERMILION, linewidth=1.7)


def _furthest(cells: pl.DataFrame) -> float:
    """The next round number after every mark."""
    furthest = cells.select(pl.max_horizontal("value", "ci_high", "null_value").max()).item()
    if not furthest:
        return 1.0
    step = 10.0 ** math.floor(math.log10(furthest))
    return float(next(step * k for k in (1, 2, 3, 4, 5, 6, 8, 10, 12) if step * k >= furthest))


def _legend(scale: Scale) -> list[Patch | Line2D]:
    handles: list[Patch | Line2D] = [
        Patch(color=BLUE, label=scale.label),
        Line2D([], [], color=INK, marker="|", markersize=5, linewidth=0.9, label="95 % interval"),
        Line2D([], [], color=VERMILION, marker="|", markersize=9, markeredgewidth=1.7, linestyle="none",
               label=f"null: {scale.null}"),
    ]  # fmt: skip
    return handles + ([Line2D([], [], linestyle="none", label=scale.marks)] if scale.marks else [])
