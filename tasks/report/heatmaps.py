"""Draws matrices of numbers: one panel per model, all on one scale of colours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl
from markupsafe import Markup
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.patches import Rectangle

from tasks.report import panels
from tasks.report.svg import INK, MUTED, RULE, SMALL, styled, to_svg
from tasks.report.text import short

_CELL_WIDTH, _CELL_HEIGHT = 0.66, 0.38  # inches
_STRAIGHT: Final = 3
"""Longest name of a column that is written horizontally; longer ones would touch."""
_DARK, _LIGHT = "#111111", "#ffffff"
Rgb = tuple[float, float, float]


class Cell(NamedTuple):
    """One cell. note: a second line under the number. is_null: whether the panel belongs to a null model."""

    panel: str
    row: str
    column: str
    value: float | None
    note: str = ""
    is_framed: bool = False
    is_null: bool = False


def matrix_panels(
    cells: Sequence[Cell],
    rows: Mapping[str, str],
    columns: Mapping[str, str],
    name: str,
    description: str,
    digits: int = 3,
) -> Markup | None:
    """Draw one panel per model, with colours from 0; an unscored cell is crossed out. None if no cell has a
    value.

    Args:
        cells: cells in the order of panels; a place without a cell stays empty.
        rows, columns: key -> label, in the order to show.
        name, description: as in ``to_svg``.
        digits: decimals of the values.
    """
    values = [cell.value for cell in cells if cell.value is not None]
    if not values:
        return None
    titles = {cell.panel: cell.is_null for cell in cells}
    width = _CELL_WIDTH * len(columns)
    per_row = max(1, min(len(titles), int(panels.WIDTH / (width + panels.PANEL_GAP[0]))))
    scale = ScalarMappable(Normalize(0.0, max(0.0, *values) or 1.0), colormaps["viridis"])
    across, down = list(columns), list(rows)
    is_long = max(map(len, columns.values())) > _STRAIGHT
    ticks: dict[str, Any] = {"rotation": 30, "ha": "right"} if is_long else {}
    with styled():
        size = (width, _CELL_HEIGHT * len(rows))
        figure, drawn = panels.panel_grid(
            [short(t) for t in titles], list(rows.values()), size, per_row, (panels.PANEL_GAP[0], 1.0)
        )
        for axes, (title, is_null) in zip(drawn, titles.items(), strict=True):
            for cell in (cell for cell in cells if cell.panel == title):
                at = (float(across.index(cell.column)), float(down.index(cell.row)))
                text = "" if cell.value is None else f"{cell.value:.{digits}f}".replace("-", "−")
                draw_cell(axes, at, shade(scale, cell.value), text, cell.note, cell.is_framed)
            axes.set_xlim(-0.5, len(columns) - 0.5)
            axes.set_xticks(range(len(columns)), list(columns.values()), **ticks)
            axes.title.set_color(MUTED if is_null else INK)
            axes.spines[:].set_visible(False)
        drawn[0].set_ylim(len(rows) - 0.5, -0.5)
        numbers = pl.DataFrame([cell._asdict() for cell in cells], infer_schema_length=None)
        named = numbers.with_columns(pl.col("row").replace(rows), pl.col("column").replace(columns))
        return to_svg(figure, name, description, named)


def shade(scale: ScalarMappable, value: float | None) -> Rgb | None:
    """Return the colour of a value on a scale."""
    if value is None:
        return None
    red, green, blue, _ = scale.to_rgba(np.array([value]))[0]
    return float(red), float(green), float(blue)


def draw_cell(
    axes: Axes,
    at: tuple[float, float],
    fill: Rgb | None,
    text: str,
    note: str = "",
    is_framed: bool = False,
    hatch: str = "",
) -> None:
    """Draw a cell with its number and a note under it; an unscored cell is crossed out."""
    # Cells lie within their panel, so the box around the figure is found without measuring them (in_layout).
    x, y = at
    corner = (x - 0.48, y - 0.46)
    if fill is None:
        axes.add_artist(
            Rectangle(corner, *_SIZE, facecolor="none", edgecolor=RULE, linewidth=0.6, in_layout=False)
        )
        axes.text(x, y, "×", color=MUTED, **_CENTRED)
        return
    edge, width = (INK, 1.4) if is_framed else ("#8c8c8c", 0.0)
    axes.add_artist(
        Rectangle(
            corner, *_SIZE, facecolor=fill, hatch=hatch, edgecolor=edge, linewidth=width, in_layout=False
        )
    )
    red, green, blue = fill
    colour = _DARK if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else _LIGHT
    up = 0.16 if note else 0.0
    axes.text(x, y - up, text, fontsize=7.5, color=colour, **_CENTRED)
    if note:
        axes.text(x, y + 0.24, note, fontsize=SMALL, color=colour, **_CENTRED)


_SIZE: Final = (0.96, 0.92)
_CENTRED: Final[Mapping[str, Any]] = {"ha": "center", "va": "center", "in_layout": False}
