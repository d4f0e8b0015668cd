"""Matrices of numbers, one a model: languages by languages (FmLAMA, figure 4), cultures by dimensions."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import polars as pl
from markupsafe import Markup
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from tasks.report.svg import INK, MUTED, RULE, short, styled, to_svg

_CELL_WIDTH, _CELL_HEIGHT = 0.62, 0.36  # inches
_LABELS: Final = 1.25  # inches beside the first panel
_WIDTH: Final = 10.4


def matrix_panels(
    cells: pl.DataFrame,
    rows: dict[str, str],
    columns: dict[str, str],
    name: str,
    description: str,
    digits: int = 3,
) -> Markup:
    """One panel a model, all on one scale of colours from 0; a cell has its value and a note under it.

    Args:
        cells: model, is_null, row, column, value, note (null: none), is_framed; models in the order to show.
            A null value is crossed out.
        rows, columns: key -> what to write, in the order to show.
        name, description: as in ``to_svg``.
        digits: decimals of the values.
    """
    models = cells.select("model", "is_null").unique(maintain_order=True).rows()
    width, height = _CELL_WIDTH * len(columns), _CELL_HEIGHT * len(rows)
    per_row = max(1, min(len(models), int((_WIDTH - _LABELS) / (width + 0.25))))
    n_rows = math.ceil(len(models) / per_row)
    scale = ScalarMappable(Normalize(0.0, float(cells["value"].max() or 1.0)), colormaps["viridis"])  # type: ignore[arg-type]
    with styled():
        figure = Figure(
            figsize=(per_row * width + (per_row - 1) * 0.25, n_rows * height + (n_rows - 1) * 0.95)
        )
        panels = figure.subplots(n_rows, per_row, sharey=True, squeeze=False)
        figure.subplots_adjust(left=0, right=1, bottom=0, top=1, wspace=0.25 / width, hspace=0.95 / height)
        for axes, (model, is_null) in zip(panels.flat, models, strict=False):
            _draw_panel(axes, cells.filter(model=model), (list(rows), list(columns)), scale, digits)
            axes.set_xticks(range(len(columns)), list(columns.values()), rotation=30, ha="right")
            axes.set_title(short(model), color=MUTED if is_null else INK)
        for axes in panels.flat[len(models) :]:
            axes.set_visible(False)
        panels[0, 0].set_ylim(len(rows) - 0.5, -0.5)
        panels[0, 0].set_yticks(range(len(rows)), list(rows.values()))
        return to_svg(figure, name, description)


def _draw_panel(
    axes: Axes, cells: pl.DataFrame, keys: tuple[list[str], list[str]], scale: ScalarMappable, digits: int
) -> None:
    rows, columns = keys
    for cell in cells.iter_rows(named=True):
        x, y = columns.index(cell["column"]), rows.index(cell["row"])
        corner = (x - 0.48, y - 0.46)
        if cell["value"] is None:
            axes.add_patch(Rectangle(corner, 0.96, 0.92, facecolor="none", edgecolor=RULE, linewidth=0.6))
            axes.text(x, y, "×", ha="center", va="center", color=MUTED)
            continue
        red, green, blue, _ = fill = scale.to_rgba(np.array([cell["value"]]))[0]
        edge = {"edgecolor": INK, "linewidth": 1.4} if cell["is_framed"] else {"linewidth": 0}
        axes.add_patch(Rectangle(corner, 0.96, 0.92, facecolor=fill, **edge))
        colour = "#111111" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "#ffffff"
        up = 0.12 if cell["note"] else 0.0
        number = f"{cell['value']:.{digits}f}"
        axes.text(x, y - up, number, ha="center", va="center", fontsize=7.5, color=colour)
        if cell["note"]:
            axes.text(x, y + 0.25, cell["note"], ha="center", va="center", fontsize=6, color=colour)
    axes.set_xlim(-0.5, len(columns) - 0.5)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
