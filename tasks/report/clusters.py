"""Draws a matrix of similarities in the order of its clusters, with the tree that joins them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from scipy.cluster.hierarchy import dendrogram, linkage
from scipy.spatial.distance import squareform

from tasks.metrics.consensus import nearest
from tasks.metrics.types import FloatArray
from tasks.report.svg import GROUP_COLOURS, MUTED, SMALL, styled, to_svg

MOST_LABELS: Final = 60
_SIDE, _LABEL = 3.7, 0.13  # inches: the least side of the matrix; what a labelled row needs
_TREE, _STRIP, _GAP, _PAD = 0.55, 0.1, 0.04, 0.03  # inches
_NO_GROUP: Final = "#8c8c8c"


@dataclass(frozen=True)
class Matrix:
    """Similarities of n things. codes: their n names; values: n x n cosines, symmetric, diagonal 1."""

    codes: list[str]
    values: FloatArray


@dataclass(frozen=True)
class Tree:
    """Average-linkage tree on 1 - cosine. order: leaves, similar ones adjacent; x, y: lines to draw."""

    order: list[int]
    x: FloatArray
    y: FloatArray


def matrix_of(pairs: pl.DataFrame) -> Matrix | str:
    """Return the symmetric matrix, or the reason why there is none. pairs: country_a, country_b, similarity;
    each pair once.
    """
    codes = sorted(set(pairs["country_a"]) | set(pairs["country_b"]))
    wanted = len(codes) * (len(codes) - 1) // 2
    if not wanted or pairs.height != wanted:
        return f"{pairs.height} of {wanted} pairs of countries are stored"
    index = {code: i for i, code in enumerate(codes)}
    values = np.eye(len(codes))
    a = [index[code] for code in pairs["country_a"]]
    b = [index[code] for code in pairs["country_b"]]
    values[a, b] = values[b, a] = pairs["similarity"].to_numpy()
    return Matrix(codes, values)


def cluster(matrix: Matrix) -> Tree:
    """Build the tree by joining the most similar groups first; their similarity is the mean over pairs."""
    distance = np.clip(1.0 - matrix.values, 0.0, None)
    np.fill_diagonal(distance, 0.0)
    joined = linkage(squareform(distance, checks=False), method="average", optimal_ordering=True)
    drawn: dict[str, Any] = dict(dendrogram(joined, no_plot=True))
    gap = np.full((len(drawn["icoord"]), 1), np.nan)  # breaks one line into the tree's branches
    along = (np.array(drawn["icoord"]) - 5.0) / 10.0
    return Tree(
        [int(i) for i in drawn["leaves"]],
        np.hstack([np.array(drawn["dcoord"]), gap]).ravel(),
        np.hstack([along, gap]).ravel(),
    )


@dataclass(frozen=True)
class Clusters:
    """A matrix with its tree on the left and a strip of the groups' colours between them. Above
    ``MOST_LABELS`` rows the codes are left out.

    Attributes:
        groups: code -> the group that it is known to belong to, such as its region. lowest: cosine at the
            dark end of the colours and at the left end of the tree; the other end is 1.
    """

    matrix: Matrix
    tree: Tree
    groups: Mapping[str, str]
    lowest: float

    def draw(self, name: str, description: str) -> Markup:
        """Implement ``parts.Drawable``."""
        n = len(self.matrix.codes)
        labelled = n <= MOST_LABELS
        side = max(_SIDE, _LABEL * n) if labelled else 1.2 * _SIDE
        with styled():
            figure = Figure(figsize=(side, side))
            width = _TREE + _GAP + _STRIP
            beside = figure.add_axes((-(width + _GAP) / side, 0, width / side, 1))
            axes = figure.add_axes((0, 0, 1, 1))
            ordered = self.matrix.values[np.ix_(self.tree.order, self.tree.order)]
            colour: dict[str, Any] = {
                "cmap": "magma",
                "vmin": self.lowest,
                "vmax": 1.0,
                "interpolation": "none",
                "aspect": "auto",
            }
            axes.imshow(ordered, **colour)
            codes = [self.matrix.codes[i] for i in self.tree.order]
            groups_shown = sorted(set(self.groups.values()))
            colours = {group: GROUP_COLOURS[i % len(GROUP_COLOURS)] for i, group in enumerate(groups_shown)}
            strip = [[to_rgb(colours.get(self.groups.get(code, ""), _NO_GROUP))] for code in codes]
            edges = (width - _STRIP, width, n - 0.5, -0.5)
            beside.imshow(strip, interpolation="none", aspect="auto", extent=edges)
            x = _TREE * (1.0 - self.tree.x / (1.03 * (1.0 - self.lowest)))
            beside.plot(x, self.tree.y, color=MUTED, linewidth=0.7 if labelled else 0.5)
            beside.set_xlim(0, width)
            beside.set_axis_off()
            axes.set_axis_off()
            if labelled:
                _label(axes, codes, n - 0.5 + _PAD * n / side)
            scale = figure.add_axes((0, -0.5 / side, 0.4, 0.09 / side))
            scale.imshow(
                np.linspace(self.lowest, 1.0, 64)[None], extent=(self.lowest, 1.0, 0.0, 1.0), **colour
            )
            values = (self.lowest, (1.0 + self.lowest) / 2, 1.0)
            scale.set_xticks(values, [f"{value:.2g}" for value in values])
            scale.set_yticks([])
            scale.spines[:].set_visible(False)
            scale.set_xlabel("cosine (1: the same answers)")
            _draw_key(figure, side, colours)
            numbers = pl.DataFrame(ordered, schema=codes).insert_column(0, pl.Series("country", codes))
            return to_svg(figure, name, description, numbers)


def neighbours(matrix: Matrix, k: int = 3) -> list[tuple[str, list[tuple[str, float]]]]:
    """Return each code with its k most similar codes, in the order of codes."""
    index, value = nearest(matrix.values, min(k, len(matrix.codes) - 1))
    return [
        (code, [(matrix.codes[j], float(v)) for j, v in zip(row, values, strict=True)])
        for code, row, values in zip(matrix.codes, index, value, strict=True)
    ]


def _label(axes: Axes, codes: list[str], edge: float) -> None:
    """Write the codes right of their rows and below their columns, as texts: ticks take twice the time."""
    for at, code in enumerate(codes):
        axes.text(edge, at, code, va="center", fontsize=SMALL)
        axes.text(at, edge, code, ha="center", va="top", rotation=90, fontsize=SMALL, color=MUTED)


def _draw_key(figure: Figure, side: float, colours: Mapping[str, str]) -> None:
    """Draw each group's colour and name, three in a row; matplotlib's legend takes twice as long."""
    square = 0.09 / side
    step = (0.3 + 0.055 * max(map(len, colours), default=0)) / side
    for i, (group, colour) in enumerate(colours.items()):
        x, y = 0.46 + step * (i % 3), (-0.5 - 0.14 * (i // 3)) / side
        figure.add_artist(Rectangle((x, y), square, square, color=colour, transform=figure.transFigure))
        figure.text(x + 1.5 * square, y + square / 2, group, fontsize=SMALL, va="center")
