"""Which option is chosen, as stacked bars: by culture, or by model."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from tasks.report.svg import BLUE, GREY, INK, MUTED, REGION_COLOURS, RULE, VERMILION, short, styled, to_svg
from tasks.report.worldwise_data import DECISIONS

Shares = tuple[float, float, float]
"""Of A, B and Decline, 0 to 1; they add up to 1."""

_COLOURS: Final = (BLUE, REGION_COLOURS[1], GREY)
_PER_ROW: Final = 4
_HEIGHT: Final = 0.21  # inches of a row
_GAP: Final = 0.62  # inches between rows of panels


class Stack(NamedTuple):
    """One bar. null: where its parts end is marked; is_null: the bar is the null itself, drawn pale."""

    label: str
    shares: Shares | None
    null: Shares | None
    is_null: bool


def stack_panels(panels: Mapping[str, Sequence[Stack]], name: str, description: str) -> Markup:
    """One panel a title, all with the same labels.

    panels: title -> bars from top to bottom; name, description: as in ``to_svg``.
    """
    per_row = min(len(panels), _PER_ROW)
    n_rows = math.ceil(len(panels) / per_row)
    labels = [stack.label for stack in next(iter(panels.values()))]
    height = _HEIGHT * (len(labels) + 0.4)
    with styled():
        figure = Figure(figsize=(min(9.4, 4.4 * per_row), n_rows * height + (n_rows - 1) * _GAP))
        drawn = figure.subplots(n_rows, per_row, sharey=True, squeeze=False)
        figure.subplots_adjust(left=0, right=1, bottom=0, top=1, wspace=0.08, hspace=_GAP / height)
        for axes, (title, stacks) in zip(drawn.flat, panels.items(), strict=False):
            _draw_panel(axes, stacks)
            axes.set_title(short(title), color=INK)
        for axes in drawn.flat[len(panels) :]:
            axes.set_visible(False)
        drawn[0, 0].set_ylim(len(labels) - 0.4, -0.6)
        drawn[0, 0].set_yticks(range(len(labels)), labels)
        below = -0.28 / figure.get_figheight()
        figure.legend(handles=_legend(), loc="upper left", bbox_to_anchor=(0, below), ncols=4)
        return to_svg(figure, name, description)


def _draw_panel(axes: Axes, stacks: Sequence[Stack]) -> None:
    for y, stack in enumerate(stacks):
        _draw_stack(axes, y, stack)
    axes.set_xlim(0, 1)
    axes.set_xticks([0, 0.5, 1], ["0", "50 %", "100 %"])
    first, _, last = axes.get_xticklabels()
    first.set_horizontalalignment("left")
    last.set_horizontalalignment("right")
    axes.tick_params(length=0)
    axes.spines["bottom"].set_visible(False)
    axes.spines["left"].set_color(RULE)


def _draw_stack(axes: Axes, y: int, stack: Stack) -> None:
    if stack.shares is None:
        axes.text(0.01, y, "not scored", va="center", fontsize=6.5, color=MUTED)
        return
    left = 0.0
    for share, colour in zip(stack.shares, _COLOURS, strict=True):
        axes.barh(y, share, left=left, height=0.7, color=colour, alpha=0.45 if stack.is_null else 1.0)
        if share >= 0.14:
            ink = INK if stack.is_null else "#ffffff" if colour == BLUE else "#111111"
            text = f"{100 * share:.0f}"
            axes.text(left + share / 2, y, text, ha="center", va="center", fontsize=6.5, color=ink)
        left += share
    if stack.null is not None:
        for edge in (stack.null[0], stack.null[0] + stack.null[1]):
            axes.plot([edge, edge], [y - 0.46, y + 0.46], color=VERMILION, linewidth=1.7)


def _legend() -> list[Patch | Line2D]:
    return [
        *(Patch(color=c, label=d) for c, d in zip(_COLOURS, DECISIONS, strict=True)),
        Line2D([], [], color=VERMILION, marker="|", markersize=9, markeredgewidth=1.7, linestyle="none",
               label="null: where A and B end without a persona (pale bar)"),
    ]  # fmt: skip
