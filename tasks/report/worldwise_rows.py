"""One row a model or scenario with several marks on one axis: boxes, null profiles, difficulty."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from tasks.report.svg import BLUE, GREY, INK, MUTED, RULE, VERMILION, short, styled, to_svg
from tasks.report.worldwise_data import NULLS

_WIDTH: Final = 7.2  # inches
_MARKERS: Final = dict(zip(NULLS, ("|", "x", "^", "s", "D"), strict=True))


class Box(NamedTuple):
    """The values of one model; unprompted and null as marks beside them."""

    model: str
    values: Sequence[float]
    unprompted: float | None
    null: float | None


class Ladder(NamedTuple):
    """One model's alignment with its interval, and that of each null profile."""

    model: str
    value: float | None
    interval: tuple[float, float] | None
    nulls: Mapping[str, float]
    text: str


class Difficulty(NamedTuple):
    """One scenario: every model's number, their mean, and the mean of what their nulls score."""

    label: str
    values: Sequence[float]
    mean: float
    null: float | None


def box_figure(boxes: Sequence[Box], name: str, description: str) -> Markup:
    """Quartiles and range of each model's values, with all of them as dots."""
    with styled():
        figure, axes = _axes([short(box.model) for box in boxes], 0.34)
        for y, box in enumerate(boxes):
            if box.values:
                axes.boxplot(
                    [list(box.values)], positions=[y], widths=0.56, orientation="horizontal", whis=(0, 100),
                    manage_ticks=False, boxprops={"color": BLUE}, whiskerprops={"color": BLUE},
                    capprops={"color": BLUE}, medianprops={"color": BLUE, "linewidth": 2.0},
                )  # fmt: skip
                axes.plot(box.values, [y] * len(box.values), linestyle="none", marker="o", markersize=2.5,
                          color=BLUE, alpha=0.5)  # fmt: skip
            else:
                _not_scored(axes, y)
            _null_tick(axes, y, box.null)
            if box.unprompted is not None:
                axes.plot([box.unprompted], [y], linestyle="none", marker="D", markersize=4.5,
                          markerfacecolor=GREY, markeredgecolor=INK, markeredgewidth=0.5)  # fmt: skip
        _scale(axes, [x for box in boxes for x in (*box.values, box.unprompted, box.null)])
        handles: list[Patch | Line2D] = [
            Patch(facecolor="none", edgecolor=BLUE, label="cultures: quartiles, median, range"),
            Line2D([], [], linestyle="none", marker="D", markersize=4.5, markerfacecolor=GREY,
                   markeredgecolor=INK, markeredgewidth=0.5, label="null: without a persona"),
            _null_handle("null: the scenarios’ own texts"),
        ]  # fmt: skip
        _legend(figure, handles, 3)
        return to_svg(figure, name, description)


def ladder_figure(ladders: Sequence[Ladder], name: str, description: str) -> Markup:
    """Prompted and unprompted alignment joined by a line, among the other null profiles."""
    with styled():
        figure, axes = _axes([short(ladder.model) for ladder in ladders], 0.4)
        for y, ladder in enumerate(ladders):
            if ladder.value is None:
                _not_scored(axes, y)
                continue
            if "unprompted" in ladder.nulls:
                axes.plot(
                    [ladder.nulls["unprompted"], ladder.value], [y, y], color=BLUE, linewidth=2, alpha=0.5
                )
            if ladder.interval:
                axes.plot(ladder.interval, [y, y], color=INK, marker="|", markersize=6, linewidth=0.9)
            axes.plot([ladder.value], [y], linestyle="none", marker="o", markersize=6.5, color=BLUE)
            for null, at in ladder.nulls.items():
                axes.plot([at], [y], **_null_style(null))
        shown = [ladder for ladder in ladders if ladder.value is not None]
        marks = [x for each in shown for x in (each.value, *(each.interval or ()), *each.nulls.values())]
        beside = _scale(axes, marks)
        for y, ladder in enumerate(ladders):
            axes.text(beside, y, ladder.text, va="center", fontsize=7, color=MUTED)
        handles = [
            Line2D([], [], linestyle="none", marker="o", markersize=6.5, color=BLUE, label="with personas"),
            Line2D([], [], color=INK, marker="|", markersize=6, linewidth=0.9, label="95 % interval"),
            *(Line2D([], [], label=f"null: {text}", **_null_style(null)) for null, text in NULLS.items()),
        ]
        _legend(figure, handles, 3)
        return to_svg(figure, name, description)


def difficulty_figure(
    scenarios: Sequence[Difficulty], cut: int | None, name: str, description: str
) -> Markup:
    """Scenarios from easy to hard on one axis.

    cut: how many of them are above the gap in the ranking; None: there is no gap.
    """
    with styled():
        figure, axes = _axes([scenario.label for scenario in scenarios], 0.2)
        for y, scenario in enumerate(scenarios):
            line = [y] * len(scenario.values)
            axes.plot(
                scenario.values, line, linestyle="none", marker="o", markersize=2.8, color=BLUE, alpha=0.55
            )
            axes.plot([scenario.mean], [y], linestyle="none", marker="o", markersize=6, color=BLUE)
            _null_tick(axes, y, scenario.null)
        if cut is not None:
            axes.axhline(cut - 0.5, color=MUTED, linewidth=0.8, linestyle=(0, (3, 3)))
        beside = _scale(axes, [x for each in scenarios for x in (*each.values, each.null)])
        for y, scenario in enumerate(scenarios):
            axes.text(beside, y, f"{scenario.mean:.2f}", va="center", fontsize=7, color=MUTED)
        handles = [
            Line2D([], [], linestyle="none", marker="o", markersize=6, color=BLUE, label="mean of models"),
            Line2D([], [], linestyle="none", marker="o", markersize=2.8, color=BLUE, label="each model"),
            _null_handle("null: each model’s best null profile, mean"),
        ]
        _legend(figure, handles, 3)
        return to_svg(figure, name, description)


def _axes(names: Sequence[str], row: float) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(_WIDTH, row * (len(names) + 0.4)))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_yticks(range(len(names)), list(names))
    axes.set_ylim(len(names) - 0.4, -0.6)
    return figure, axes


def _scale(axes: Axes, values: Sequence[float | None]) -> float:
    """Whole numbers around all marks, within 0 to 10. Returns where text beside the axes begins."""
    known = [value for value in values if value is not None] or [0.0, 10.0]
    low, high = max(math.floor(min(known)), 0), min(math.ceil(max(known)), 10)
    low, high = (low, high) if high > low else (max(high - 1, 0), max(high, 1))
    margin = 0.015 * (high - low)
    axes.set_xlim(low - margin, high + margin)
    axes.set_xticks(range(low, high + 1))
    axes.grid(axis="x")
    axes.tick_params(length=0)
    axes.spines["bottom"].set_visible(False)
    axes.spines["left"].set_color(RULE)
    return high + 2 * margin


def _not_scored(axes: Axes, y: int) -> None:
    text = axes.get_yaxis_transform()
    axes.text(0.01, y, "not scored", va="center", fontsize=7, color=MUTED, transform=text)


def _null_tick(axes: Axes, y: int, null: float | None) -> None:
    if null is not None:
        axes.plot([null, null], [y - 0.4, y + 0.4], color=VERMILION, linewidth=1.8)


def _null_handle(label: str) -> Line2D:
    return Line2D([], [], color=VERMILION, marker="|", markersize=9, markeredgewidth=1.8, linestyle="none",
                  label=label)  # fmt: skip


def _null_style(null: str) -> dict[str, Any]:
    size, width = (12, 1.8) if null == "zero" else (5, 1.1)
    return {
        "linestyle": "none", "marker": _MARKERS[null], "markersize": size, "markeredgewidth": width,
        "markerfacecolor": "none", "color": VERMILION,
    }  # fmt: skip


def _legend(figure: Figure, handles: Sequence[Patch | Line2D], columns: int) -> None:
    below = -0.28 / figure.get_figheight()
    figure.legend(handles=handles, loc="upper left", bbox_to_anchor=(0, below), ncols=columns)
