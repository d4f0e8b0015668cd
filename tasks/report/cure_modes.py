"""Thin against thick over models, one pair of rows a benchmark (CURE, figures 2 and 3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from tasks.report.fmlama_bars import SKY
from tasks.report.svg import BLUE, GREY, INK, MUTED, RULE, VERMILION, styled, to_svg

COLOURS: Final = {"thin": SKY, "thick": BLUE}
_WIDTH: Final = 7.2  # inches
_HEIGHT: Final = 0.3  # inches of a row
_GAP: Final = 0.55  # rows between benchmarks
_LEAST_FOR_BOX: Final = 4
"""Quartiles of fewer values say no more than the values."""


class Spread(NamedTuple):
    """One benchmark. values: mode -> model -> its score; majority and prior: what knowing nothing scores."""

    label: str
    values: Mapping[str, Mapping[str, float]]
    majority: float | None
    prior: float | None


def modes_figure(spreads: Sequence[Spread], name: str, description: str) -> Markup:
    """Each model a dot, thin above thick, joined by a line; quartiles and range where there are four models.

    spreads: from top to bottom, all with the same modes; name, description: as in ``to_svg``.
    """
    modes = list(spreads[0].values)
    step = len(modes) + _GAP
    with styled():
        figure = Figure(figsize=(_WIDTH, _HEIGHT * (step * len(spreads) + 0.4)))
        axes = figure.add_axes((0, 0, 1, 1))
        places = {
            (spread.label, mode): place * step + row
            for place, spread in enumerate(spreads)
            for row, mode in enumerate(modes)
        }
        for spread in spreads:
            _draw_spread(axes, spread, [places[spread.label, mode] for mode in modes])
        axes.set_yticks(list(places.values()), [f"{label}, {mode}" for label, mode in places])
        axes.set_ylim(max(places.values()) + 0.6, -0.6)
        axes.set_xlim(-0.015, 1.015)
        axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "0.25", "0.5", "0.75", "1"])
        axes.grid(axis="x")
        axes.tick_params(length=0)
        axes.spines["bottom"].set_visible(False)
        axes.spines["left"].set_color(RULE)
        below = -0.28 / figure.get_figheight()
        figure.legend(handles=_legend(modes), loc="upper left", bbox_to_anchor=(0, below), ncols=3)
        return to_svg(figure, name, description)


def _draw_spread(axes: Axes, spread: Spread, places: Sequence[float]) -> None:
    for (mode, values), y in zip(spread.values.items(), places, strict=True):
        known = list(values.values())
        if not known:
            axes.text(0.01, y, "not scored", va="center", fontsize=7, color=MUTED)
        if len(known) >= _LEAST_FOR_BOX:
            axes.boxplot(
                [known], positions=[y], widths=0.6, orientation="horizontal", whis=(0, 100),
                manage_ticks=False, boxprops={"color": COLOURS[mode]}, whiskerprops={"color": COLOURS[mode]},
                showcaps=False, medianprops={"color": COLOURS[mode], "linewidth": 2.0},
            )  # fmt: skip
        axes.plot(known, [y] * len(known), linestyle="none", marker="o", markersize=4.5, color=COLOURS[mode],
                  markeredgecolor=INK, markeredgewidth=0.4, zorder=4)  # fmt: skip
    if len(places) == 2:
        thin, thick = spread.values.values()
        for model in (model for model in thin if model in thick):
            axes.plot([thin[model], thick[model]], places, color=MUTED, linewidth=0.7, alpha=0.6, zorder=3)
    top, bottom = places[0] - 0.42, places[-1] + 0.42
    if spread.majority is not None:
        axes.plot([spread.majority] * 2, [top, bottom], color=VERMILION, linewidth=1.8, zorder=2)
    if spread.prior is not None:
        axes.plot([spread.prior] * 2, [top, bottom], color=VERMILION, linewidth=1.2, linestyle=(0, (2, 2)),
                  zorder=2)  # fmt: skip


def _legend(modes: Sequence[str]) -> list[Patch | Line2D]:
    texts = {"thin": "thin: the label alone", "thick": "thick: with an explanation"}
    dots: list[Patch | Line2D] = [
        Line2D([], [], linestyle="none", marker="o", markersize=5, color=COLOURS[mode], markeredgecolor=INK,
               markeredgewidth=0.4, label=texts[mode])
        for mode in modes
    ]  # fmt: skip
    pairs = [Line2D([], [], color=MUTED, linewidth=0.7, label="the same model")] if len(modes) == 2 else []
    return [
        *dots,
        *pairs,
        Line2D([], [], color=VERMILION, linewidth=1.8, label="null: the commonest label"),
        Line2D([], [], color=VERMILION, linewidth=1.2, linestyle=(0, (2, 2)), label="null: random labels"),
        Patch(facecolor="none", edgecolor=GREY, label="quartiles, median, range (from four models)"),
    ]
