"""Draws panels of bars: one per row, or one per condition, with intervals and nulls; and stacks of shares."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import polars as pl
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from tasks.report import Row, panels
from tasks.report.svg import ACCENT, INK, MUTED, NEUTRAL, PALE, SMALL, SURFACE, styled, to_svg
from tasks.report.text import short

_NUMBER: Final = 0.3  # share of a panel's width for the numbers at its right
_HATCHED: Final = {"facecolor": "none", "edgecolor": NEUTRAL, "hatch": "//////", "linewidth": 0.7}


class Bar(NamedTuple):
    """One bar of a panel's row.

    Attributes:
        value: None is shown as not scored. null: the score of a null model.
        mark: text after the number.
        series: which of two conditions.
        other: a second null, such as the best baseline.
        is_null: whether the bar belongs to a null model. text: in place of the number.
    """

    panel: str
    row: str
    value: float | None
    low: float | None = None
    high: float | None = None
    null: float | None = None
    mark: str = ""
    series: int = 0
    other: float | None = None
    is_null: bool = False
    text: str = ""


@dataclass(frozen=True)
class Legend:
    """Legend of bars and marks, and of the axis.

    Attributes:
        bars: what a bar is; two texts where two stand in each row.
        null: what the upright lines are.
        end: where all panels end; None: at the next round number.
        digits: of the numbers at the right; None: there are no numbers, and marks stand at the bars' ends.
        other: what the diamonds are; empty: there are none.
        notes: what the marks mean.
    """

    bars: tuple[str, ...]
    null: str
    end: float | None = None
    digits: int | None = 2
    other: str = ""
    notes: tuple[str, ...] = ()


def bar_of(panel: str, row: str, number: Row | None, mark: str = "", times: float = 1.0, **more: Any) -> Bar:
    """Return a bar with a number of ``Frames.values``, its interval and its null, all times a factor."""
    sides = ("value", "ci_low", "ci_high", "null_value")
    value, low, high, null = (
        None if number is None or number[side] is None else times * number[side] for side in sides
    )
    return Bar(panel, row, value, low, high, null, mark, **more)


@dataclass(frozen=True)
class Bars:
    """Bars from 0, panels in the order of the bars.

    Attributes:
        rows: key of a row -> its label, from top to bottom. per_row: most panels beside each other.
    """

    bars: Sequence[Bar]
    rows: Mapping[str, str]
    key: Legend
    per_row: int = 4

    def draw(self, name: str, description: str) -> Markup:
        """Implement ``parts.Drawable``."""
        bars, rows, key = self.bars, self.rows, self.key
        if all(bar.value is None for bar in bars):
            return Markup("")
        titles = list(dict.fromkeys(bar.panel for bar in bars))
        end = key.end or _furthest(bars)
        height = (0.3 if len(key.bars) == 2 else 0.23) * (len(rows) + 0.4)
        with styled():
            size = (panels.panel_width(len(titles), self.per_row), height)
            figure, drawn = panels.panel_grid(
                [short(t) for t in titles], list(rows.values()), size, self.per_row
            )
            for axes, title in zip(drawn, titles, strict=True):
                for bar in (bar for bar in bars if bar.panel == title):
                    _draw_bar(axes, list(rows).index(bar.row), bar, key, end)
                axes.set_xlim(0, end * (1.04 if key.digits is None else 1 + _NUMBER))
                axes.set_xticks([0, end / 2, end], [f"{x:g}" for x in (0, end / 2, end)])
                axes.grid(axis="x")
            panels.legend(figure, _handles(key, bars))
            named = [
                {name: value for name, value in bar._asdict().items() if name != "text"}
                | {"row": rows[bar.row], "series": key.bars[bar.series]}
                for bar in bars
            ]
            return to_svg(figure, name, description, pl.DataFrame(named, infer_schema_length=None))


def _draw_bar(axes: Axes, row: float, bar: Bar, key: Legend, end: float) -> None:
    two = len(key.bars) == 2
    thick = 0.38 if two else 0.66
    y = row + (bar.series - 0.5) * thick if two else row
    if bar.value is None:
        panels.not_scored(axes, y)
    else:
        look = _HATCHED if bar.is_null else {"color": _colours(key)[bar.series]}
        axes.barh(y, bar.value, height=0.92 * thick, **look)
    panels.interval(axes, bar.low, bar.high, y)
    panels.null_mark(axes, bar.null, y, 0.5 * thick if two else 0.46)
    panels.diamond(axes, bar.other, y)
    if bar.value is not None and key.digits is not None:
        text = bar.text or f"{bar.value:.{key.digits}f} {bar.mark}"
        axes.text(1.02 * end, y, text, va="center", fontsize=SMALL, color=MUTED)
    elif bar.value is not None and bar.mark:
        furthest = max(x for x in (bar.value, bar.high, bar.other) if x is not None)
        axes.text(furthest, y, f"\N{NO-BREAK SPACE}{bar.mark}", va="center_baseline", fontsize=8, color=INK)


def _colours(key: Legend) -> tuple[str, ...]:
    return (PALE, ACCENT)[-len(key.bars) :]


def _furthest(bars: Sequence[Bar]) -> float:
    """Return the next round number after the furthest mark."""
    marks = [x for bar in bars for x in (bar.value, bar.high, bar.null, bar.other) if x is not None]
    furthest = max(marks, default=0.0)
    if furthest <= 0:
        return 1.0
    step = 10.0 ** math.floor(math.log10(furthest))
    return float(next(step * k for k in (1, 2, 3, 4, 5, 6, 8, 10, 12) if step * k >= furthest))


def _handles(key: Legend, bars: Sequence[Bar]) -> list[panels.Handle]:
    handles: list[panels.Handle] = [
        Patch(color=colour, label=label) for label, colour in zip(key.bars, _colours(key), strict=True)
    ]
    if any(bar.is_null for bar in bars):
        handles.append(Patch(label="null model", **_HATCHED))  # type: ignore[arg-type]
    if any(bar.low is not None for bar in bars):
        handles.append(panels.interval_handle())
    if any(bar.null is not None for bar in bars):
        handles.append(panels.null_handle(key.null))
    if key.other:
        handles.append(panels.diamond_handle(key.other))
    return handles + [Line2D([], [], linestyle="none", label=note) for note in key.notes]


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
