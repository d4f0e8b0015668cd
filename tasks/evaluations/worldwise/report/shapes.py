"""Draws two figures of this page only: stacked bars of decisions, and one radar of metrics per model."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
import polars as pl
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from tasks.evaluations.worldwise.report.data import DECISIONS, Shares
from tasks.report import panels
from tasks.report.svg import ACCENT, INK, MUTED, NEUTRAL, NULL, PALE, RULE, SMALL, SURFACE, styled, to_svg
from tasks.report.text import short

_COLOURS: Final = (ACCENT, PALE, NEUTRAL)
_ROW: Final = 0.23  # inches of a stacked bar
_LEAST_FOR_NUMBER: Final = 0.14
_RADARS: Final = 3  # in a line
_RADIUS, _WIDTH, _HEIGHT = 0.85, 3.3, 2.75  # inches; width and height with the labels


class Stack(NamedTuple):
    """One bar. null: shares whose ends are marked on it; is_null: whether the bar itself is a null, drawn
    pale.
    """

    label: str
    shares: Shares | None
    null: Shares | None = None
    is_null: bool = False


def stack_panels(stacks: Mapping[str, Sequence[Stack]], name: str, description: str) -> Markup | None:
    """Draw one panel per title, all with the same labels; None if no bar has shares.

    stacks: title -> bars from top to bottom; name, description: as in ``to_svg``.
    """
    if not any(stack.shares for of_panel in stacks.values() for stack in of_panel):
        return None
    labels = [stack.label for stack in next(iter(stacks.values()))]
    with styled():
        size = (panels.panel_width(len(stacks)), _ROW * (len(labels) + 0.4))
        figure, drawn = panels.panel_grid([short(title) for title in stacks], labels, size)
        for axes, of_panel in zip(drawn, stacks.values(), strict=True):
            for y, stack in enumerate(of_panel):
                _draw_stack(axes, y, stack)
            axes.set_xlim(0, 1)
            axes.set_xticks([0, 0.5, 1], ["0", "50 %", "100 %"])
            first, _, last = axes.get_xticklabels()
            first.set_horizontalalignment("left")
            last.set_horizontalalignment("right")
        parts = [Patch(color=c, label=d) for c, d in zip(_COLOURS, DECISIONS, strict=True)]
        null = panels.null_handle("null: where A and B end without a persona (pale bar)")
        panels.legend(figure, [*parts, null])
        numbers = [
            {"panel": title, "bar": stack.label} | dict(zip(DECISIONS, stack.shares or (), strict=False))
            for title, of_panel in stacks.items()
            for stack in of_panel
        ]
        return to_svg(figure, name, description, pl.DataFrame(numbers, infer_schema_length=None))


def _draw_stack(axes: Axes, y: int, stack: Stack) -> None:
    if stack.shares is None:
        panels.not_scored(axes, y)
        return
    left = 0.0
    for share, colour in zip(stack.shares, _COLOURS, strict=True):
        axes.barh(y, share, left=left, height=0.7, color=colour, alpha=0.45 if stack.is_null else 1.0)
        if share >= _LEAST_FOR_NUMBER:
            ink = SURFACE if colour == ACCENT and not stack.is_null else INK
            text = f"{100 * share:.0f}"
            axes.text(left + share / 2, y, text, ha="center", va="center", fontsize=SMALL, color=ink)
        left += share
    if stack.null is not None:
        panels.null_mark(axes, stack.null[0], y)
        panels.null_mark(axes, stack.null[0] + stack.null[1], y)


class Spoke(NamedTuple):
    """One metric: value and null as shares of its range, outwards is better; text is the unscaled value."""

    label: str
    value: float | None
    null: float | None
    text: str


def radar_panels(models: Mapping[str, Sequence[Spoke]], name: str, description: str) -> Markup | None:
    """Draw one radar per model; None if no spoke has a value. A spoke without a value breaks the line.

    models: model -> its spokes, the same metrics for all; name, description: as in ``to_svg``.
    """
    if all(spoke.value is None for spokes in models.values() for spoke in spokes):
        return None
    per_row = min(len(models), _RADARS)
    n_rows = math.ceil(len(models) / per_row)
    with styled():
        figure = Figure(figsize=(per_row * _WIDTH, n_rows * _HEIGHT))
        for place, (model, spokes) in enumerate(models.items()):
            row, column = divmod(place, per_row)
            left = (column + 0.5) * _WIDTH - _RADIUS
            bottom = (n_rows - row - 0.58) * _HEIGHT - _RADIUS
            size = (2 * _RADIUS / figure.get_figwidth(), 2 * _RADIUS / figure.get_figheight())
            corner = (left / figure.get_figwidth(), bottom / figure.get_figheight())
            axes = figure.add_axes((*corner, *size))
            _draw_radar(axes, spokes)
            axes.set_title(short(model), loc="center", pad=30)
        figure.legend(handles=_legend(), loc="upper left", bbox_to_anchor=(0, 0), ncols=2)
        numbers = [{"model": m} | spoke._asdict() for m, spokes in models.items() for spoke in spokes]
        return to_svg(figure, name, description, pl.DataFrame(numbers, infer_schema_length=None))


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
               label="null: the same metric without knowledge of the culture"),
    ]  # fmt: skip
