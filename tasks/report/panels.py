"""Draws parts of figures: panels side by side, intervals, marks of null models, legends."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from tasks.report.svg import INK, MUTED, NEUTRAL, NULL, RULE, SMALL

Handle = Patch | Line2D
Size = tuple[float, float]
"""(width, height) in inches"""

WIDTH: Final = 9.4
"""Width of figures without their labels, in inches."""
PANEL_GAP: Final[Size] = (0.3, 0.65)


def panel_width(n: int, per_row: int = 4, widest: float = 4.4, total: float = WIDTH) -> float:
    """Return the width in inches of each of n panels that share a row, at most `per_row`."""
    per_row = min(n, per_row)
    return (min(total, widest * per_row) - (per_row - 1) * PANEL_GAP[0]) / per_row


def panel_grid(
    titles: Sequence[str], rows: Sequence[str], size: Size, per_row: int = 4, gap: Size = PANEL_GAP
) -> tuple[Figure, list[Axes]]:
    """Make one panel per title, all with the same rows from top to bottom; the first panel of a line names
    them. size: size of one panel. Row i is at y = i.
    """
    per_row = min(len(titles), per_row)
    n_lines = math.ceil(len(titles) / per_row)
    (width, height), (beside, below) = size, gap
    figure = Figure(figsize=(per_row * (width + beside) - beside, n_lines * (height + below) - below))
    grid = figure.subplots(n_lines, per_row, sharey=True, squeeze=False)
    figure.subplots_adjust(
        left=0, right=1, bottom=0, top=1, wspace=beside / width, hspace=below / height
    )  # fmt: skip
    for axes, title in zip(grid.flat, titles, strict=False):
        axes.set_title(title, linespacing=1.4)
        bare(axes)
    for axes in grid.flat[len(titles) :]:
        axes.set_visible(False)
    grid[0, 0].set_ylim(len(rows) - 0.4, -0.6)
    grid[0, 0].set_yticks(range(len(rows)), list(rows))
    return figure, list(grid.flat[: len(titles)])


def bare(axes: Axes) -> None:
    """Remove ticks and the line below."""
    axes.tick_params(length=0)
    axes.spines["bottom"].set_visible(False)
    axes.spines["left"].set_color(RULE)


def interval(axes: Axes, low: float | None, high: float | None, y: float) -> None:
    """Draw an interval with its ends; nothing without an interval."""
    if low is not None and high is not None and high > low:
        axes.plot([low, high], [y, y], color=INK, linewidth=1.0, marker="|", markersize=4.5)


def null_mark(axes: Axes, x: float | None, y: float, half: float = 0.45) -> None:
    """Draw a null model's score as an upright line through its row."""
    if x is not None:
        axes.plot([x, x], [y - half, y + half], color=NULL, linewidth=1.8)


def diamond(axes: Axes, x: float | None, y: float) -> None:
    """Draw a second null or a baseline as a diamond."""
    if x is not None:
        axes.plot([x], [y], **_DIAMOND)  # type: ignore[arg-type]


def not_scored(axes: Axes, y: float) -> None:
    """Write "not scored" in the row, at the beginning of the axis."""
    place = axes.get_yaxis_transform()
    axes.text(0.01, y, "not scored", va="center", fontsize=SMALL, color=MUTED, transform=place)


def legend(figure: Figure, handles: Sequence[Handle], columns: int = 4) -> None:
    """Draw the legend under the figure."""
    below = -0.28 / figure.get_figheight()
    figure.legend(handles=handles, loc="upper left", bbox_to_anchor=(0, below), ncols=columns)


def interval_handle() -> Line2D:
    return Line2D([], [], color=INK, marker="|", markersize=5, linewidth=1.0, label="95 % interval")


def null_handle(label: str) -> Line2D:
    return Line2D(
        [], [], color=NULL, marker="|", markersize=9, markeredgewidth=1.8, linestyle="none", label=label
    )


def diamond_handle(label: str) -> Line2D:
    return Line2D([], [], label=label, **_DIAMOND)  # type: ignore[arg-type]


_DIAMOND: Final = {
    "linestyle": "none", "marker": "D", "markersize": 4.2, "markerfacecolor": NEUTRAL, "markeredgecolor": INK,
    "markeredgewidth": 0.5,
}  # fmt: skip
