"""Draws matrices of numbers: one panel per model, all on one scale of colours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl
from markupsafe import Markup
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import PatchCollection
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


@dataclass(frozen=True)
class Matrix:
    """One panel per model, with colours from 0; an unscored cell is crossed out.

    Attributes:
        cells: in the order of panels; a place without a cell stays empty. rows, columns: key -> label, in the
            order to show. digits: decimals of the values.
    """

    cells: Sequence[Cell]
    rows: Mapping[str, str]
    columns: Mapping[str, str]
    digits: int = 3

    def draw(self, name: str, description: str) -> Markup:
        """Implement ``parts.Drawable``."""
        cells, rows, columns = self.cells, self.rows, self.columns
        values = [cell.value for cell in cells if cell.value is not None]
        if not values:
            return Markup("")
        titles = {cell.panel: cell.is_null for cell in cells}
        width = _CELL_WIDTH * len(columns)
        per_row = max(1, min(len(titles), int(panels.WIDTH / (width + panels.PANEL_GAP[0]))))
        scale = ScalarMappable(Normalize(0.0, max(0.0, *values) or 1.0), colormaps["viridis"])
        across, down = list(columns), list(rows)
        is_long = max(map(len, columns.values())) > _STRAIGHT
        ticks: dict[str, Any] = {"rotation": 30, "ha": "right"} if is_long else {}
        with styled():
            size, gap = (width, _CELL_HEIGHT * len(rows)), (panels.PANEL_GAP[0], 1.0)
            heads = [short(title) for title in titles]
            figure, drawn = panels.panel_grid(heads, list(rows.values()), size, per_row, gap)
            for axes, (title, is_null) in zip(drawn, titles.items(), strict=True):
                squares = []
                for cell in (cell for cell in cells if cell.panel == title):
                    at = (float(across.index(cell.column)), float(down.index(cell.row)))
                    text = "" if cell.value is None else f"{cell.value:.{self.digits}f}".replace("-", "−")
                    squares.append(Square(at, shade(scale, cell.value), text, cell.note, cell.is_framed))
                draw_cells(axes, squares)
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


class Square(NamedTuple):
    """A drawn cell. at: its column and row; fill: None for an unscored cell; note: a line under the text."""

    at: tuple[float, float]
    fill: Rgb | None
    text: str
    note: str = ""
    is_framed: bool = False
    hatch: str = ""


def draw_cells(axes: Axes, cells: Sequence[Square]) -> None:
    """Draw cells with their numbers and notes; unscored cells are crossed out.

    Plain cells are one artist, since fifty models have thousands. No cell is measured for the layout, since
    cells lie within their panel.
    """
    plain = [cell for cell in cells if cell.fill and not (cell.is_framed or cell.hatch)]
    rectangles = PatchCollection(
        [Rectangle(_corner(cell), *_SIZE) for cell in plain], facecolors=[cell.fill for cell in plain],
        linewidths=0, in_layout=False,
    )  # fmt: skip
    axes.add_collection(rectangles, autolim=False)
    for cell in cells:
        x, y = cell.at
        if cell.fill is None:
            frame = {"facecolor": "none", "edgecolor": RULE, "linewidth": 0.6}
            axes.add_artist(Rectangle(_corner(cell), *_SIZE, in_layout=False, **frame))  # type: ignore[arg-type]
            axes.text(x, y, "×", color=MUTED, **_CENTRED)
            continue
        if cell.is_framed or cell.hatch:
            edge, width = (INK, 1.4) if cell.is_framed else ("#8c8c8c", 0.0)
            look = {"facecolor": cell.fill, "hatch": cell.hatch, "edgecolor": edge, "linewidth": width}
            axes.add_artist(Rectangle(_corner(cell), *_SIZE, in_layout=False, **look))  # type: ignore[arg-type]
        red, green, blue = cell.fill
        colour = _DARK if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else _LIGHT
        axes.text(x, y - (0.16 if cell.note else 0.0), cell.text, fontsize=7.5, color=colour, **_CENTRED)
        if cell.note:
            axes.text(x, y + 0.24, cell.note, fontsize=SMALL, color=colour, **_CENTRED)


def _corner(cell: Square) -> tuple[float, float]:
    return cell.at[0] - _SIZE[0] / 2, cell.at[1] - _SIZE[1] / 2


_SIZE: Final = (0.96, 0.92)
_CENTRED: Final[Mapping[str, Any]] = {"ha": "center", "va": "center", "in_layout": False}
