"""Draws lines of marks on one axis: dots, boxes, intervals and nulls of a model, scenario or benchmark."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Final, NamedTuple

import polars as pl
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from tasks.report import panels
from tasks.report.svg import ACCENT, INK, MUTED, SMALL, styled, to_svg

_WIDTH: Final = 7.2  # inches
_LEAST_FOR_BOX: Final = 4
"""Least number of values for a box; fewer are drawn as dots only."""


class Kind(NamedTuple):
    """One kind of mark.

    shape: dot, small, ringed (dots), box (quartiles, median and range), interval, link (a broad line), line,
    dashed (upright lines), diamond, joined (in the legend only), or matplotlib's name of an open marker.
    """

    shape: str
    label: str
    colour: str = ACCENT


class MarkLine(NamedTuple):
    """One line. marks: kind -> positions; text: written at the right; space: free rows above it."""

    label: str
    marks: Mapping[str, Sequence[float]]
    text: str = ""
    is_scored: bool = True
    space: float = 0.0


@dataclass(frozen=True)
class Marks:
    """Lines of marks from top to bottom.

    Attributes:
        kinds: in the order of the legend and of drawing. height: of a row, in inches. unit: the axis is 0 to
            1; else whole numbers around all marks, up to 10. cut: a dashed line before this line. joined:
            pairs of (line, x) with a thin line between them.
    """

    lines: Sequence[MarkLine]
    kinds: Mapping[str, Kind]
    height: float = 0.32
    unit: bool = False
    cut: int | None = None
    joined: Sequence[tuple[tuple[int, float], tuple[int, float]]] = ()

    def draw(self, name: str, description: str) -> Markup:
        """Implement ``parts.Drawable``."""
        lines, kinds = self.lines, self.kinds
        marks = [x for line in lines for kind in line.marks.values() for x in kind]
        if not marks:
            return Markup("")
        places = list(accumulate((1 + line.space for line in lines), initial=-1 - lines[0].space))[1:]
        with styled():
            figure = Figure(figsize=(_WIDTH, self.height * (places[-1] + 1.4)))
            axes = figure.add_axes((0, 0, 1, 1))
            axes.set_ylim(places[-1] + 0.6, -0.6)
            axes.set_yticks(places, [line.label for line in lines])
            beside = _scale(axes, marks, self.unit)
            for (first, x1), (second, x2) in self.joined:
                axes.plot([x1, x2], [places[first], places[second]], color=MUTED, linewidth=0.7, alpha=0.6)
            for line, y in zip(lines, places, strict=True):
                for key, kind in kinds.items():
                    _draw(axes, kind, line.marks.get(key, ()), y)
                if not line.is_scored:
                    panels.not_scored(axes, y)
                axes.text(beside, y, line.text, va="center", fontsize=SMALL, color=MUTED)
            if self.cut is not None:
                at = places[self.cut] - 0.5
                axes.axhline(at, color=MUTED, linewidth=0.8, linestyle=(0, (3, 3)))
            panels.legend(figure, [_handle(kind) for kind in kinds.values()], 3)
            of = [(line, key, x) for line in lines for key in line.marks for x in line.marks[key]]
            points = [(line.label, kinds[key].label, x) for line, key, x in of]
            numbers = pl.DataFrame(points, schema=["line", "mark", "value"], orient="row")
            return to_svg(figure, name, description, numbers)


def _draw(axes: Axes, kind: Kind, values: Sequence[float], y: float) -> None:
    match kind.shape:
        case "line" | "dashed":
            style = "solid" if kind.shape == "line" else (0, (2, 2))
            for x in values:
                axes.plot([x, x], [y - 0.45, y + 0.45], color=kind.colour, linewidth=1.8, linestyle=style)
        case "interval":
            if len(values) == 2:
                panels.interval(axes, values[0], values[1], y)
        case "link":
            axes.plot(values, [y] * len(values), color=kind.colour, linewidth=2, alpha=0.5)
        case "box" if len(values) >= _LEAST_FOR_BOX:
            thin, thick = {"color": kind.colour}, {"color": kind.colour, "linewidth": 2.0}
            axes.boxplot(
                [list(values)], positions=[y], widths=0.56, orientation="horizontal", whis=(0, 100),
                manage_ticks=False, boxprops=thin, whiskerprops=thin, capprops=thin, medianprops=thick,
            )  # fmt: skip
        case "diamond":
            for x in values:
                panels.diamond(axes, x, y)
        case "box" | "joined":
            pass
        case _:
            axes.plot(values, [y] * len(values), **_look(kind))


def _look(kind: Kind) -> dict[str, Any]:
    look: dict[str, Any] = {"linestyle": "none", "marker": "o", "color": kind.colour, "zorder": 4}
    match kind.shape:
        case "dot":
            return look | {"markersize": 6.2}
        case "small":
            return look | {"markersize": 2.8, "alpha": 0.55}
        case "ringed":
            return look | {"markersize": 4.5, "markeredgecolor": INK, "markeredgewidth": 0.4}
        case _:
            return look | {
                "marker": kind.shape,
                "markersize": 5,
                "markerfacecolor": "none",
                "markeredgewidth": 1.1,
            }


def _handle(kind: Kind) -> panels.Handle:
    match kind.shape:
        case "line":
            return panels.null_handle(kind.label)
        case "dashed":
            return Line2D([], [], color=kind.colour, linewidth=1.8, linestyle=(0, (2, 2)), label=kind.label)
        case "interval":
            return panels.interval_handle()
        case "box":
            return Patch(facecolor="none", edgecolor=kind.colour, label=kind.label)
        case "diamond":
            return panels.diamond_handle(kind.label)
        case "link":
            return Line2D([], [], color=kind.colour, linewidth=2, alpha=0.5, label=kind.label)
        case "joined":
            return Line2D([], [], color=MUTED, linewidth=0.7, label=kind.label)
        case _:
            return Line2D([], [], label=kind.label, **_look(kind))


def _scale(axes: Axes, marks: Sequence[float], unit: bool) -> float:
    """Set the axis. Returns the position where text at its right begins."""
    low, high = (0, 1) if unit else (math.floor(min(marks)), min(math.ceil(max(marks)), 10))
    low, high = (low, high) if high > low else (max(high - 1, 0), max(high, 1))
    margin = 0.015 * (high - low)
    axes.set_xlim(low - margin, high + margin)
    ticks = [0, 0.25, 0.5, 0.75, 1] if unit else range(low, high + 1)
    axes.set_xticks(ticks, [f"{x:g}" for x in ticks])
    axes.grid(axis="x")
    panels.bare(axes)
    return high + 2 * margin
