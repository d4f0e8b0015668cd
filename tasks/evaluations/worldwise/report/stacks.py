"""Which option is chosen, as stacked bars: by culture, or by model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from tasks.evaluations.worldwise.report.data import DECISIONS, Shares
from tasks.report import panels
from tasks.report.svg import ACCENT, INK, NEUTRAL, PALE, SMALL, SURFACE, styled, to_svg
from tasks.report.text import short

_COLOURS: Final = (ACCENT, PALE, NEUTRAL)
_HEIGHT: Final = 0.23  # inches of a row
_LEAST_FOR_NUMBER: Final = 0.14


class Stack(NamedTuple):
    """One bar. null: where its parts end is marked; is_null: the bar is the null itself, drawn pale."""

    label: str
    shares: Shares | None
    null: Shares | None = None
    is_null: bool = False


def stack_panels(stacks: Mapping[str, Sequence[Stack]], name: str, description: str) -> Markup | None:
    """One panel a title, all with the same labels; None where no bar has shares.

    stacks: title -> bars from top to bottom; name, description: as in ``to_svg``.
    """
    if not any(stack.shares for of_panel in stacks.values() for stack in of_panel):
        return None
    labels = [stack.label for stack in next(iter(stacks.values()))]
    with styled():
        size = (panels.panel_width(len(stacks)), _HEIGHT * (len(labels) + 0.4))
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
        return to_svg(figure, name, description)


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
