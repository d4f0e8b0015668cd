"""Draws numbers over occasions: a sparkline for a cell, and a figure with all models of an evaluation.

Pure.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import polars as pl
from markupsafe import Markup
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from tasks.report import Row, panels
from tasks.report.cache import drawn_once
from tasks.report.svg import GROUP_COLOURS, NULL, styled, to_svg
from tasks.report.text import number, short

_WIDE, _HIGH, _EDGE = 120.0, 30.0, 4.0
"""Size of a sparkline, in pixels."""
_PANEL: Final = (2.9, 1.5)
_PER_ROW: Final = 3
_MARKERS: Final = "osD^vPX"


def is_repeated(past: Sequence[Row]) -> bool:
    """Return whether a number was measured on more than one occasion."""
    return len({row["occasion"] for row in past}) > 1


def sparkline(past: Sequence[Row], scale: tuple[float, float]) -> Markup:
    """Draw one number over occasions: dots with intervals and a line; the null model's score is dashed.

    past: value, ci_low, ci_high, null_value and occasion, in the order of time. scale: bottom and top.
    """
    low, high = scale

    def x(at: int) -> float:
        return round(_EDGE + (_WIDE - 2 * _EDGE) * at / max(len(past) - 1, 1), 1)

    def y(value: float) -> float:
        share = (min(max(value, low), high) - low) / (high - low)
        return round(_HIGH - _EDGE - (_HIGH - 2 * _EDGE) * share, 1)

    points = [(x(at), y(row["value"])) for at, row in enumerate(past) if row["value"] is not None]
    marks = []
    if (null := past[-1]["null_value"]) is not None:
        marks.append(f'<line x1="0" x2="{_WIDE:g}" y1="{y(null)}" y2="{y(null)}" class="null"/>')
    marks += [
        f'<line x1="{x(at)}" x2="{x(at)}" y1="{y(row["ci_low"])}" y2="{y(row["ci_high"])}" class="ci"/>'
        for at, row in enumerate(past)
        if row["ci_low"] is not None
    ]
    marks.append(f'<polyline points="{" ".join(f"{a},{b}" for a, b in points)}"/>')
    marks += [f'<circle cx="{a}" cy="{b}" r="2.2"/>' for a, b in points]
    values = "; ".join(f"{row['occasion'] or 'first'}: {number(row['value'], 3)}" for row in past)
    head = Markup('<svg class="spark" viewBox="0 0 {:g} {:g}" role="img" aria-label="{}"><title>{}</title>')
    return head.format(_WIDE, _HIGH, values, values) + Markup(
        "".join(marks) + "</svg>"
    )  # contains only numbers


def history_figure(history: pl.DataFrame, labels: Sequence[tuple[str, str]], name: str) -> Markup | None:
    """Draw a panel per number with a line per model; None if no model has several occasions. A null is drawn
    if all models share it.

    history: rows of ``leaderboard_history``. labels: (metric, label) in order. name: as in ``to_svg``.
    """
    own = history.filter(~pl.col("is_null")).sort("finished_at", "run_id")
    repeated = [g for _, g in own.group_by("engine_hash", "label") if is_repeated(g.to_dicts())]
    if not repeated:
        return None
    occasions = own.group_by("occasion").agg(pl.col("finished_at").min()).sort("finished_at", "occasion")
    place = {occasion: at for at, occasion in enumerate(occasions["occasion"])}
    ends = [occasions["occasion"][at] or "first" for at in (0, -1)]
    models = sorted(set(own["model"]))
    drawn = [pair for pair in labels if own.filter(metric=pair[0], label=pair[1])["value"].count()]
    with styled():
        columns, lines = min(_PER_ROW, len(drawn)), math.ceil(len(drawn) / _PER_ROW)
        figure = Figure(figsize=(_PANEL[0] * columns, _PANEL[1] * lines))
        grid = figure.subplots(lines, columns, squeeze=False)
        figure.subplots_adjust(0, 0, 1, 1, wspace=0.25, hspace=0.5)
        for panel, (axes, (metric, label)) in enumerate(zip(grid.flat, drawn, strict=False)):
            axes.set_title(short(label))
            of_label = own.filter(metric=metric, label=label)
            for at, model in enumerate(models):
                rows = (
                    of_label.filter(pl.col("model") == model).filter(pl.col("value").is_finite()).to_dicts()
                )
                spots = [place[row["occasion"]] + 0.06 * (at - (len(models) - 1) / 2) for row in rows]
                axes.plot(spots, [row["value"] for row in rows], markersize=4, linewidth=1.2, **_look(at))
                for spot, row in zip(spots, rows, strict=True):
                    if row["ci_low"] is not None:
                        axes.plot(
                            [spot] * 2, [row["ci_low"], row["ci_high"]], color=_colour(at), linewidth=0.9
                        )
            nulls = of_label["null_value"].unique()
            if len(nulls) == 1 and nulls[0] is not None:  # models may have different nulls
                axes.axhline(nulls[0], color=NULL, linewidth=1.0, linestyle=(0, (3, 3)))
            is_lowest = panel + columns >= len(drawn)
            axes.set_xticks([0, len(place) - 1], ends if is_lowest else ["", ""])
            axes.set_xlim(-0.4, len(place) - 0.6)
            axes.grid(axis="y")
            panels.bare(axes)
        for axes in grid.flat[len(drawn) :]:
            axes.set_visible(False)
        handles: list[panels.Handle] = [
            Line2D([], [], label=short(model), **_look(at)) for at, model in enumerate(models)
        ]
        null_line = Line2D([], [], color=NULL, linewidth=1.0, linestyle=(0, (3, 3)), label="null model")
        panels.legend(figure, [*handles, null_line], columns)
        numbers = own.select("model", "label", "occasion", "value", "ci_low", "ci_high", "null_value")
        text = f"{len(drawn)} numbers of {len(models)} models over {len(place)} occasions"
        return to_svg(figure, name, text, numbers)


def history_once(history: pl.DataFrame, labels: Sequence[tuple[str, str]], name: str) -> Markup | None:
    """Return ``history_figure``, drawn only once for equal rows."""
    return Markup(drawn_once(_history_text, history, labels, name)) or None


def _history_text(history: pl.DataFrame, labels: Sequence[tuple[str, str]], name: str) -> str:
    return history_figure(history, labels, name) or ""


def _colour(at: int) -> str:
    return GROUP_COLOURS[at % len(GROUP_COLOURS)]


def _look(at: int) -> dict[str, Any]:
    """Return colour and marker, so that models differ without colours too."""
    return {"color": _colour(at), "marker": _MARKERS[at % len(_MARKERS)]}
