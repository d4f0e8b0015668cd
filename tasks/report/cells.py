"""Cells of tables: one number with its interval, its null and what it rests on. Everything is escaped."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from markupsafe import Markup, escape

from tasks.report.data import Row
from tasks.report.text import number, percent

Badge = tuple[Literal["good", "warn", "plain"], str]
"""(kind, text): what a model's numbers may be trusted for."""

_NOTE = Markup("<br><small>{}</small>")


def cell(
    row: Row | None,
    digits: int = 2,
    *,
    sign: bool = False,
    strong: bool = False,
    sd: Row | None = None,
    null: bool = False,
    n: bool = False,
    line: bool = False,
    share: bool = False,
    times: float = 1.0,
    note: str = "",
    hint: str = "",
) -> Markup:
    """A ``<td>`` with a number and its interval; hovering says counts, null and why it is unscored.

    Args:
        row: of ``Frames.values``; None: there is no such number.
        sign: write + too.
        sd: the row with its standard deviation, written after it.
        null: what a null model scores, under it.
        n: what it rests on, under it.
        line: number and interval on one line.
        share: in percent.
        times: factor that it is shown with.
        note: text under it.
        hint: more to say on hovering.
    """
    if row is None:
        return Markup("<td>–</td>")

    def shown(value: float | None) -> str:
        return percent(value) if share else number(None if value is None else times * value, digits, sign)

    text = Markup("<strong>{}</strong>" if strong else "{}").format(shown(row["value"]))
    if sd is not None and sd["value"] is not None:
        text = Markup('<span class="date">{} ± {}</span>').format(text, number(sd["value"], digits))
    if row["ci_low"] is not None:
        interval = f"{shown(row['ci_low'])} to {shown(row['ci_high'])}"
        text += Markup(" <small>{}</small>").format(interval) if line else _NOTE.format(interval)
    if null and row["null_value"] is not None:
        text += _NOTE.format(f"null {shown(row['null_value'])}")
    if n:
        text += _NOTE.format(counts(row))
    if note:
        text += _NOTE.format(note)
    kind = Markup(' class="date"') if line else ""
    return Markup('<td{} title="{}">{}</td>').format(kind, _title(row, shown) + (hint and f"; {hint}"), text)


def null(row: Row | None, digits: int = 2) -> Markup:
    """A ``<td>`` with what a null model scores in a number's place."""
    return Markup("<td>{}</td>").format("–" if row is None else number(row["null_value"], digits))


def counts(row: Row) -> str:
    """What a number rests on: "n 14, 2 unscored"."""
    return f"n {row['n_scored']}" + (f", {row['n_unscored']} unscored" if row["n_unscored"] else "")


def axis(row: Row | None, low: float, high: float, muted: bool = False) -> Markup:
    """A ``<td>`` with a number, its interval and its null as marks on a line from low to high."""
    if row is None or row["value"] is None:
        return Markup("<td></td>")

    def at(value: float) -> str:
        return f"{100 * (value - low) / (high - low):.2f}"

    colour = "var(--muted)" if muted else "var(--accent)"
    marks = [("0", "100", "8", "8", "var(--rule)", 1)]
    if row["ci_low"] is not None:
        marks.append((at(row["ci_low"]), at(row["ci_high"]), "8", "8", colour, 3))
    if row["null_value"] is not None:
        marks.append((at(row["null_value"]), at(row["null_value"]), "1", "15", "var(--null)", 2))
    drawn = "".join(
        f'<line x1="{x1}" x2="{x2}" y1="{y1}" y2="{y2}" style="stroke:{stroke};stroke-width:{width}"/>'
        for x1, x2, y1, y2, stroke, width in marks
    )
    label = f"{number(row['value'])} between {number(low)} and {number(high)}"
    if row["null_value"] is not None:
        label += f", null {number(row['null_value'])}"
    return Markup(
        f'<td><svg class="interval" viewBox="-3 0 106 16" role="img" aria-label="{escape(label)}">{drawn}'
        f'<circle cx="{at(row["value"])}" cy="8" r="3.5" style="fill:{colour}"/></svg></td>'
    )


def name(model: str, *badges: Badge) -> Markup:
    """The ``<th>`` of a row: a model's name, in whatever script, and what may be said of it."""
    drawn = Markup("").join(Markup('<br><span class="badge {}">{}</span>').format(*b) for b in badges)
    return Markup('<th scope="row">{}{}</th>').format(isolated(model), drawn)


def isolated(text: str) -> Markup:
    """A name of any script and direction, which does not change the direction of what is around it."""
    return Markup('<bdi dir="auto">{}</bdi>').format(text)


def head(catalogue: Mapping[str, Row], metric: str, label: str, below: str = "") -> Markup:
    """The ``<th>`` of a column of one metric; hovering says what it means."""
    title = Markup(' title="{}"').format(catalogue[metric]["description"]) if metric in catalogue else ""
    return Markup("<th{}>{}<small>{}</small></th>").format(title, label, below)


def _title(row: Row, shown: Callable[[float | None], str]) -> str:
    text = f"{row['n_scored']} scored, {row['n_unscored']} unscored"
    if row.get("metric"):
        text = f"{row['metric']}: {text}"
    if row["null_value"] is not None:
        text += f", null {shown(row['null_value'])}"
    return text + (f": {row['unscored_reason']}" if row["unscored_reason"] else "")
