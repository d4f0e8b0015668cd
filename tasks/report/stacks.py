"""Draws stacked bars: shares of a whole, one panel per title, with the ends of a null's parts marked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import polars as pl
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from tasks.report import panels
from tasks.report.svg import ACCENT, INK, NEUTRAL, PALE, SMALL, SURFACE, styled, to_svg
from tasks.report.text import short

_COLOURS: Final = (ACCENT, PALE, NEUTRAL)
_ROW: Final = 0.23  # inches of a bar
_LEAST_FOR_NUMBER: Final = 0.14


class Stack(NamedTuple):
    """One bar. shares: of its parts, 0 to 1, or None; null: shares whose ends are marked on it; is_null:
    whether the bar itself is a null, drawn pale.
    """

    label: str
    shares: Sequence[float] | None
    null: Sequence[float] | None = None
    is_null: bool = False


@dataclass(frozen=True)
class Stacks:
    """Stacked bars.

    Attributes:
        stacks: title -> bars from top to bottom, all with the same labels. parts: names of at most three
            parts. null: what the upright lines are.
    """

    stacks: Mapping[str, Sequence[Stack]]
    parts: Sequence[str]
    null: str

    def draw(self, name: str, description: str) -> Markup:
        """Implement ``parts.Drawable``."""
        if not any(stack.shares for of_panel in self.stacks.values() for stack in of_panel):
            return Markup("")
        labels = [stack.label for stack in next(iter(self.stacks.values()))]
        with styled():
            size = (panels.panel_width(len(self.stacks)), _ROW * (len(labels) + 0.4))
            figure, drawn = panels.panel_grid([short(title) for title in self.stacks], labels, size)
            for axes, of_panel in zip(drawn, self.stacks.values(), strict=True):
                for y, stack in enumerate(of_panel):
                    _draw_stack(axes, y, stack)
                axes.set_xlim(0, 1)
                axes.set_xticks([0, 0.5, 1], ["0", "50 %", "100 %"])
                first, _, last = axes.get_xticklabels()
                first.set_horizontalalignment("left")
                last.set_horizontalalignment("right")
            parts = [Patch(color=c, label=part) for c, part in zip(_COLOURS, self.parts, strict=False)]
            panels.legend(figure, [*parts, panels.null_handle(self.null)])
            numbers = [
                {"panel": title, "bar": stack.label} | dict(zip(self.parts, stack.shares or (), strict=False))
                for title, of_panel in self.stacks.items()
                for stack in of_panel
            ]
            return to_svg(figure, name, description, pl.DataFrame(numbers, infer_schema_length=None))


def _draw_stack(axes: Axes, y: int, stack: Stack) -> None:
    if stack.shares is None:
        panels.not_scored(axes, y)
        return
    left = 0.0
    for share, colour in zip(stack.shares, _COLOURS, strict=False):
        axes.barh(y, share, left=left, height=0.7, color=colour, alpha=0.45 if stack.is_null else 1.0)
        if share >= _LEAST_FOR_NUMBER:
            ink = SURFACE if colour == ACCENT and not stack.is_null else INK
            text = f"{100 * share:.0f}"
            axes.text(left + share / 2, y, text, ha="center", va="center", fontsize=SMALL, color=ink)
        left += share
    end = 0.0
    for share in (stack.null or ())[:-1]:
        end += share
        panels.null_mark(axes, end, y)
