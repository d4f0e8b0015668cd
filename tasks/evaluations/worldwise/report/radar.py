"""Several metrics of each model on one radar a model, over what its nulls score."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from tasks.report.svg import ACCENT, MUTED, NULL, RULE, SMALL, styled, to_svg
from tasks.report.text import short

_PER_ROW: Final = 3
_RADIUS: Final = 0.85  # inches
_WIDTH: Final = 3.3  # inches of a panel with its labels
_HEIGHT: Final = 2.75


class Spoke(NamedTuple):
    """One metric: value and null as shares of its range, outside is better; text is the value as it is."""

    label: str
    value: float | None
    null: float | None
    text: str


def radar_panels(panels: Mapping[str, Sequence[Spoke]], name: str, description: str) -> Markup | None:
    """One radar a model; None where no spoke has a value. A spoke without one breaks the line.

    panels: model -> its spokes, the same metrics for all; name, description: as in ``to_svg``.
    """
    if all(spoke.value is None for spokes in panels.values() for spoke in spokes):
        return None
    per_row = min(len(panels), _PER_ROW)
    n_rows = math.ceil(len(panels) / per_row)
    with styled():
        figure = Figure(figsize=(per_row * _WIDTH, n_rows * _HEIGHT))
        for place, (model, spokes) in enumerate(panels.items()):
            row, column = divmod(place, per_row)
            left = (column + 0.5) * _WIDTH - _RADIUS
            bottom = (n_rows - row - 0.58) * _HEIGHT - _RADIUS
            size = (2 * _RADIUS / figure.get_figwidth(), 2 * _RADIUS / figure.get_figheight())
            corner = (left / figure.get_figwidth(), bottom / figure.get_figheight())
            axes = figure.add_axes((*corner, *size))
            _draw_radar(axes, spokes)
            axes.set_title(short(model), loc="center", pad=30)
        figure.legend(handles=_legend(), loc="upper left", bbox_to_anchor=(0, 0), ncols=2)
        return to_svg(figure, name, description)


def _draw_radar(axes: Axes, spokes: Sequence[Spoke]) -> None:
    angles = np.pi / 2 - 2 * np.pi * np.arange(len(spokes)) / len(spokes)
    x, y = np.cos(angles), np.sin(angles)
    for radius in (0.5, 1.0):
        axes.fill(radius * x, radius * y, facecolor="none", edgecolor=RULE, linewidth=0.6)
    for spoke, end_x, end_y in zip(spokes, x, y, strict=True):
        axes.plot([0, end_x], [0, end_y], color=RULE, linewidth=0.6)
        side = "center" if abs(end_x) < 0.1 else "left" if end_x > 0 else "right"
        up = "bottom" if end_y > 0.9 else "top" if end_y < -0.5 else "center"
        axes.text(1.08 * end_x, 1.08 * end_y, f"{spoke.label}\n{spoke.text}", ha=side, va=up, fontsize=SMALL,
                  color=MUTED, linespacing=1.3)  # fmt: skip
    for parts, colour in (("null", NULL), ("value", ACCENT)):
        radii = np.array([np.nan if getattr(s, parts) is None else getattr(s, parts) for s in spokes])
        closed = np.append(np.arange(len(spokes)), 0)
        axes.plot((radii * x)[closed], (radii * y)[closed], color=colour, linewidth=1.5,
                  linestyle="-" if parts == "value" else (0, (3, 2)), marker="o", markersize=3)  # fmt: skip
        if parts == "value" and not np.isnan(radii).any():
            axes.fill(radii * x, radii * y, color=ACCENT, alpha=0.15, linewidth=0)
    axes.set_xlim(-1, 1)
    axes.set_ylim(-1, 1)
    axes.set_axis_off()


def _legend() -> list[Line2D]:
    return [
        Line2D([], [], color=ACCENT, marker="o", markersize=3, label="model"),
        Line2D([], [], color=NULL, marker="o", markersize=3, linestyle=(0, (3, 2)),
               label="null: what the same metric is without knowledge of the culture"),
    ]  # fmt: skip
