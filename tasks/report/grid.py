"""Draws every model on every evaluation: one axis with ticks per column, which all rows share."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import Any, Final, NamedTuple

import polars as pl
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from tasks.report import Row
from tasks.report.forest import round_numbers
from tasks.report.svg import ACCENT, LIGHT, MUTED, NULL, RULE, SMALL, SURFACE, styled, to_svg
from tasks.report.text import short

_ROW, _PANEL, _GAP, _BELOW = 0.24, 1.45, 0.22, 1.05
"""Inches: of a row, of a panel's width, between panels, and between lines of panels."""
_LETTERS: Final = 24
"""Letters on a line of a panel's title."""
_PER_LINE: Final = 5
_DPI: Final = 300
_PUBLISHED: Final = "as published"
SIDES: Final = ("value", "ci_low", "ci_high", "null_value", "is_beyond_null")
"""The parts of a number that are drawn."""


class GridColumn(NamedTuple):
    """One metric. title, label: of the evaluation and of the metric, with its better direction.

    Attributes:
        rows: key of a row -> ``SIDES`` of its number. null: what a null model scores, if all rows share it.
            published: values as papers print them, on the same axis; cited: who.
    """

    title: str
    label: str
    rows: Mapping[str, Row]
    null: float | None
    published: Sequence[float] = ()
    cited: str = ""


@dataclass(frozen=True)
class Grid:
    """Models in rows, metrics in columns. models: key -> name, from top to bottom."""

    models: Mapping[str, str]
    columns: Sequence[GridColumn]

    def draw(self, name: str, description: str) -> Markup:
        """Implement ``parts.Drawable``."""
        if not any(row["value"] is not None for column in self.columns for row in column.rows.values()):
            return Markup("")
        with styled():
            return to_svg(self._figure({}), name, description, pl.DataFrame(self._numbers()))

    def png(self) -> bytes:
        """Return the figure for print: 300 dots per inch, in the light scheme."""
        buffer = io.BytesIO()
        with styled(LIGHT):
            look: dict[str, Any] = {"bbox_inches": "tight", "pad_inches": 0.04, "facecolor": LIGHT[SURFACE]}
            self._figure(LIGHT).savefig(buffer, format="png", dpi=_DPI, metadata={"Software": None}, **look)
        return buffer.getvalue()

    def _numbers(self) -> dict[str, list[Any]]:
        rows = [
            (column.title, column.label, self.models[key], *(row[side] for side in SIDES))
            for column in self.columns for key, row in column.rows.items() if key in self.models
        ]  # fmt: skip
        rows += [
            (column.title, column.label, f"{_PUBLISHED} ({column.cited})", value, None, None, None, None)
            for column in self.columns for value in column.published
        ]  # fmt: skip
        names = ("evaluation", "number", "model", *SIDES)
        return {name: [row[at] for row in rows] for at, name in enumerate(names)}

    def _figure(self, colours: Mapping[str, str]) -> Figure:
        """Return the figure; colours: ``svg.LIGHT``, or none for stand-ins, which ``to_svg`` replaces."""
        labels = [short(model) for model in self.models.values()]
        labels += [_PUBLISHED] if any(column.published for column in self.columns) else []
        across, down = min(len(self.columns), _PER_LINE), math.ceil(len(self.columns) / _PER_LINE)
        height = _ROW * len(labels)
        figure = Figure(figsize=(across * (_PANEL + _GAP) - _GAP, down * (height + _BELOW) - _BELOW))
        grid = figure.subplots(down, across, sharey=True, squeeze=False)
        figure.subplots_adjust(0, 0, 1, 1, wspace=_GAP / _PANEL, hspace=_BELOW / height)
        for axes, column in zip(grid.flat, self.columns, strict=False):
            self._draw_column(axes, column, labels, colours)
        for axes in grid.flat[len(self.columns) :]:
            axes.set_visible(False)
        grid[0, 0].set_ylim(len(labels) - 0.5, -0.5)
        grid[0, 0].set_yticks(range(len(labels)), labels)
        below = -0.34 / figure.get_figheight()
        handles = _legend(colours)[: None if len(labels) > len(self.models) else -1]
        figure.legend(handles=handles, loc="upper left", bbox_to_anchor=(0, below), ncols=2)
        return figure

    def _draw_column(
        self, axes: Axes, column: GridColumn, labels: Sequence[str], colours: Mapping[str, str]
    ) -> None:
        accent, null, rule, muted, surface = (colours.get(c, c) for c in (ACCENT, NULL, RULE, MUTED, SURFACE))
        axes.set_title(f"{column.title}\n{fill(column.label, _LETTERS)}", fontsize=8.0, linespacing=1.3)
        scored = [y for y, key in enumerate(self.models) if column.rows.get(key, {}).get("value") is not None]
        scored += range(len(self.models), len(labels))
        axes.hlines(scored, 0, 1, color=rule, linewidth=0.5, transform=axes.get_yaxis_transform())
        if column.null is not None:
            axes.axvline(column.null, color=null, linewidth=1.4, linestyle=(0, (4, 2)))
        for y, key in enumerate(self.models):
            row = column.rows.get(key)
            if row is None or row["value"] is None:
                text = "not run" if row is None else "not scored"
                place = axes.get_yaxis_transform()
                box = {"facecolor": surface, "edgecolor": "none", "pad": 1.0}
                axes.text(0.02, y, text, va="center", fontsize=SMALL, color=muted, transform=place, bbox=box)
                continue
            if column.null is None and row["null_value"] is not None:
                axes.plot([row["null_value"]] * 2, [y - 0.4, y + 0.4], color=null, linewidth=1.4)
            if row["ci_low"] is not None:
                axes.plot([row["ci_low"], row["ci_high"]], [y, y], color=accent, linewidth=1.6)
            face = accent if row["is_beyond_null"] else surface
            axes.plot([row["value"]], [y], marker="o", markersize=5, color=accent, markerfacecolor=face)
        places = [len(self.models)] * len(column.published)
        axes.plot(column.published, places, linestyle="none", marker="|", markersize=7, color=muted)
        axes.margins(x=0.06)
        ticks = round_numbers(*axes.get_xlim())
        axes.set_xticks(ticks, [f"{x:g}".replace("-", "−") for x in ticks])
        axes.tick_params(axis="x", length=3, color=muted)
        axes.tick_params(axis="y", length=0)
        axes.spines[["left"]].set_visible(False)
        axes.spines["bottom"].set_color(muted)


def _legend(colours: Mapping[str, str]) -> list[Line2D]:
    accent, null, muted, surface = (colours.get(c, c) for c in (ACCENT, NULL, MUTED, SURFACE))
    dot: dict[str, Any] = {"marker": "o", "markersize": 5, "color": accent, "linewidth": 1.6}
    return [
        Line2D([], [], label="value and 95 % interval, beyond the null", **dot),
        Line2D([], [], label="not shown to be beyond the null", markerfacecolor=surface, **dot),
        Line2D([], [], label="null model", color=null, linewidth=1.4, linestyle=(0, (4, 2))),
        Line2D([], [], label="as published", color=muted, marker="|", markersize=7, linestyle="none"),
    ]
