"""Cells of tables as markup: names, headings, and numbers with intervals, nulls and what they rest on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from markupsafe import Markup

from tasks.report import Badge, Row
from tasks.report.text import number, percent

DASH = Markup("<td>–</td>")
BREAK = Markup("<br>")
ARROWS = {"higher": " ↑", "lower": " ↓", "none": ""}
"""Direction of a metric -> what follows its name in a heading."""


def put(html: str, *values: object, **named: object) -> Markup:
    """Return HTML with the values, escaped unless they are markup, in its places ``{}``."""
    return Markup(html).format(*values, **named)


def isolated(text: object) -> Markup:
    """Return a name of any script and direction, which does not change the direction of what is around it."""
    return put('<bdi dir="auto">{}</bdi>', text)


def names(models: Iterable[str]) -> Markup:
    """Return names with commas between them."""
    return Markup(", ").join(map(isolated, models))


def badge(mark: Badge) -> Markup:
    return put('<span class="badge {}">{}</span>', *mark)


def small(text: object, *, below: bool = False) -> Markup:
    """Return text in small letters. below: on a line of its own."""
    return put("{}<small>{}</small>", BREAK if below else "", text)


def name(model: object, *badges: Badge) -> Markup:
    """Return the heading of a row: a name, then badges (kind, text): what may be said of it."""
    return put(
        '<th scope="row">{}{}</th>', isolated(model), Markup("").join(BREAK + badge(b) for b in badges)
    )


def th(text: object) -> Markup:
    """Return the heading of a row in our own words."""
    return put('<th scope="row">{}</th>', text)


def td(text: object) -> Markup:
    """Return a cell with a number; – for None."""
    return DASH if text is None else put("<td>{}</td>", text)


def words(text: object, kind: str = "") -> Markup:
    """Return a cell with text; – for None and for no text. kind: further classes of the style sheet."""
    return put('<td class="text{}">{}</td>', f" {kind}".rstrip(), "–" if text in (None, "") else text)


def col(label: object, below: object = "", title: str = "") -> Markup:
    """Return the heading of a column of numbers. below: a line under it; title: hovering shows it."""
    hover = put(' title="{}"', title) if title else ""
    return put("<th{}>{}{}</th>", hover, label, small(below) if below else "")


def left(label: object, below: object = "") -> Markup:
    """Return the heading of a column of text."""
    return put('<th class="text">{}{}</th>', label, small(below) if below else "")


def head(catalogue: Mapping[str, Row], metric: str, label: object, below: object = "") -> Markup:
    """Return the heading of a column of one metric; hovering says what it means."""
    return col(label, below, str(catalogue[metric]["description"]) if metric in catalogue else "")


def counts(row: Row) -> str:
    """Return what a number rests on: "n 14, 2 unscored"."""
    return f"n {row['n_scored']}" + (f", {row['n_unscored']} unscored" if row["n_unscored"] else "")


def ends(row: Row, digits: int = 2, sign: bool = False) -> str:
    """Return an interval: "0.10 to 0.20"; "" without one."""
    if row["ci_low"] is None:
        return ""
    return f"{number(row['ci_low'], digits, sign)} to {number(row['ci_high'], digits, sign)}"


def null(row: Row | None, digits: int = 2) -> Markup:
    """Return a cell with what a null model scores in a number's place."""
    return td(None if row is None else number(row["null_value"], digits))


def cell(
    row: Row | None, digits: int = 2, *, sign: bool = False, strong: bool = False, sd: Row | None = None,
    null: bool = False, n: bool = False, line: bool = False, share: bool = False, times: float = 1.0,
    note: object = "", hint: str = "",
) -> Markup:  # fmt: skip
    """Return a cell with a number and its interval; hovering says counts, null and why it is unscored.

    Args:
        row: of ``Frames.values``, or None. digits: decimals. sign: write + too. strong: bold. share: in
            percent. times: a factor.
        sd: the row with its standard deviation. null, n, note: what a null model scores, what the number
            rests on, and a text, each on a line under it. line: number and interval on one line. hint: more
            to say.
    """
    if row is None:
        return DASH

    def shown(value: float | None) -> str:
        return percent(value) if share else number(None if value is None else times * value, digits, sign)

    hover = f"{row['metric']}: " if row.get("metric") else ""
    hover += f"{row['n_scored']} scored, {row['n_unscored']} unscored"
    hover += "" if row["null_value"] is None else f", null {shown(row['null_value'])}"
    hover += f": {row['unscored_reason']}" if row["unscored_reason"] else ""
    value = put("<strong>{}</strong>" if strong else "{}", shown(row["value"]))
    if sd is not None and sd["value"] is not None:
        value = put('<span class="date">{} ± {}</span>', value, number(sd["value"], digits))
    if row["ci_low"] is not None:
        between = f"{shown(row['ci_low'])} to {shown(row['ci_high'])}"
        value += put("{}<small>{}</small>", " " if line else BREAK, between)
    below = [f"null {shown(row['null_value'])}"] if null and row["null_value"] is not None else []
    below += [counts(row)] if n else []
    value += Markup("").join(small(each, below=True) for each in (*below, note) if each)
    wide = Markup(' class="date"') if line else ""
    return put('<td{} title="{}">{}</td>', wide, f"{hover}; {hint}" if hint else hover, value)


def against_null(row: Row | None, missing: str = "no interval") -> Markup:
    """Return the cell on a model's number against its null: a badge, and the doubt under it.

    Args:
        row: of the view report_against_null, or None. missing: why it is not known whether it is beyond.
    """
    if row is None:
        return words(None)
    marks: Mapping[bool | None, Badge] = {
        True: ("good", "beyond its null"),
        None: ("plain", missing),
        False: ("warn", "not beyond its null"),
    }
    doubt = small(row["doubt"], below=True) if row["doubt"] else ""
    return words(badge(marks[row["is_beyond_null"]]) + doubt)


def axis(row: Row | None, low: float, high: float, muted: bool = False) -> Markup:
    """Return a cell with a number, its interval and its null as marks on a line from low to high."""
    if row is None or row["value"] is None:
        return Markup("<td></td>")

    def at(value: float) -> str:
        return f"{100 * (value - low) / (high - low):.2f}"

    def mark(x1: Any, x2: Any, y1: int, y2: int, colour: str, width: int) -> str:
        style = f"stroke:var(--{colour});stroke-width:{width}"
        return f'<line x1="{x1}" x2="{x2}" y1="{y1}" y2="{y2}" style="{style}"/>'

    colour, null = "muted" if muted else "accent", row["null_value"]
    said = f"{number(row['value'])} between {number(low)} and {number(high)}"
    said += "" if null is None else f", null {number(null)}"
    marks = mark(0, 100, 8, 8, "rule", 1)
    marks += "" if row["ci_low"] is None else mark(at(row["ci_low"]), at(row["ci_high"]), 8, 8, colour, 3)
    marks += "" if null is None else mark(at(null), at(null), 1, 15, "null", 2)
    marks += f'<circle cx="{at(row["value"])}" cy="8" r="3.5" style="fill:var(--{colour})"/>'
    head = '<td><svg class="interval" viewBox="-3 0 106 16" role="img" aria-label="{}">{}</svg></td>'
    return put(head, said, Markup(marks))  # the marks hold only numbers
