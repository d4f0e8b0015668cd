"""Lays out charts of one number: models with intervals and nulls, and published values as hollow marks.
Positions are in percent, so that a chart adapts to the width. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from tasks.report import Row
from tasks.report.text import number, span

State = Literal["beyond", "within", "below", "bare", "lost"]
"""beyond: shown to lie beyond its null; within: not; below: the interval lies on the worse side; bare: no
interval or no null; lost: no value."""
Scale = tuple[float, float]
ARROWS = {"higher": "↑", "lower": "↓"}
"""Which way is better."""
MOST_LINES = 24
"""Most lines of the first chart of a page."""
_MARGIN = 0.06
"""Margin of the axis on either side of the values."""


class Mark(NamedTuple):
    """One line of a chart: a model that was measured here, or a value as a paper prints it.

    Attributes:
        detail: text beside the name, such as the setting.
        is_apart: whether the definition or setting of a published value differs from ours.
    """

    name: str
    row: Row
    state: State
    detail: str = ""
    is_published: bool = False
    is_apart: bool = False


@dataclass(frozen=True)
class Chart:
    """One number of one evaluation.

    Attributes:
        label, arrow, about: the metric's name, better direction, and meaning. marks: best to worst, measured
            ones first. null: best score of a null, drawn through the whole chart; None without one. cited:
            source of the published values; "" without any. finding: their message, in a sentence. note:
            further explanation.
    """

    label: str
    arrow: str
    about: str
    marks: Sequence[Mark]
    null: float | None
    cited: str = ""
    finding: str = ""
    note: str = ""

    @property
    def measured(self) -> list[Mark]:
        """Return the models that were run here."""
        return [mark for mark in self.marks if not mark.is_published]

    @property
    def published(self) -> list[Mark]:
        """Return the published values."""
        return [mark for mark in self.marks if mark.is_published and not mark.is_apart]

    @property
    def apart(self) -> list[Mark]:
        """Return the published values with another definition or setting."""
        return [mark for mark in self.marks if mark.is_apart]

    @property
    def what_differs(self) -> str:
        """Return the first known difference of the published values that differ from ours; "" if none is
        known.
        """
        known = (mark.row.get("difference") or mark.row.get("settings_differ") for mark in self.apart)
        return next(filter(None, known), "")

    @property
    def ticks(self) -> list[tuple[str, str]]:
        """Return place and label of round numbers on the axis."""
        return [(self.at(x), f"{x:g}".replace("-", "−")) for x in round_numbers(*self.scale)]

    @property
    def has_null(self) -> bool:
        """Return whether any line has a null."""
        return self.null is not None or any(mark.row["null_value"] is not None for mark in self.marks)

    @property
    def has_intervals(self) -> bool:
        """Return whether any measured number has an interval."""
        return any(mark.row["ci_low"] is not None for mark in self.measured)

    @property
    def lacks_intervals(self) -> bool:
        """Return whether any measured number has a value but no interval."""
        return any(mark.row["value"] is not None and mark.row["ci_low"] is None for mark in self.measured)

    @property
    def scale(self) -> Scale:
        """Return the ends of the axis; it passes 0 or 1 only if a number does."""
        low, high = extent([*(mark.row for mark in self.marks), {"null_value": self.null}])
        margin = _MARGIN * (high - low)
        is_share = low >= 0 and high <= 1
        return (
            max(low - margin, 0.0) if low >= 0 else low - margin,
            min(high + margin, 1.0) if is_share else high + margin,
        )

    def at(self, value: float) -> str:
        """Return the position of a value, in percent of the width."""
        low, high = self.scale
        return f"{100 * (min(max(value, low), high) - low) / (high - low):.2f}"


def round_numbers(low: float, high: float) -> list[float]:
    """Return two to five round numbers from low to high: multiples of 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(high - low))
    fitting = []
    for step in (each * power for each in (5.0, 2.0, 1.0, 0.5, 0.2)):
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        if 1 <= last - first <= 4:
            fitting.append([round(n * step, 12) for n in range(first, last + 1)])
    return next((numbers for numbers in fitting if len(numbers) > 2), fitting[0])


def extent(rows: Iterable[Row]) -> Scale:
    """Return the least and greatest finite values, interval ends and nulls; the two always differ."""
    sides = ("value", "ci_low", "ci_high", "null_value")
    seen = [row[side] for row in rows for side in sides if row.get(side) is not None]
    seen = [x for x in seen if abs(x) != float("inf")]
    low, high = min(seen, default=0.0), max(seen, default=1.0)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def state_of(row: Row, direction: str) -> State:
    """Return the state of a number against its null; only the warehouse decides whether it is beyond."""
    if row["value"] is None:
        return "lost"
    if row["is_beyond_null"] is None or row["null_value"] is None or direction == "none":
        return "bare"
    if row["is_beyond_null"]:
        return "beyond"
    better, null = (row["ci_low"] if direction == "lower" else row["ci_high"]), row["null_value"]
    if better is None:
        return "bare"
    return "below" if (better > null if direction == "lower" else better < null) else "within"


def shade(row: Row, direction: str, best: float | None, widest: float) -> float:
    """Return how far a number is beyond its null, 0 to 1.

    Args:
        best: the best possible value; None or infinite: the widest gain among those shown counts as 1.
    """
    if row["value"] is None or row["null_value"] is None or abs(row["value"]) == float("inf"):
        return 0.0
    sign = -1.0 if direction == "lower" else 1.0
    gain = sign * (row["value"] - row["null_value"])
    room = abs(best - row["null_value"]) if best is not None and abs(best) != float("inf") else widest
    return min(max(gain / room, 0.0), 1.0) if room > 0 else 0.0


def in_order(marks: Iterable[Mark], direction: str) -> list[Mark]:
    """Return the marks from the best to the worst; unscored ones last, published ones after measured ones."""
    sign = 1.0 if direction == "lower" else -1.0

    def key(mark: Mark) -> tuple[bool, bool, bool, float, str, str]:
        value = mark.row["value"]
        groups = mark.is_published, mark.is_apart, value is None
        return *groups, 0.0 if value is None else sign * value, mark.name, mark.detail

    return sorted(marks, key=key)


def strongest_null(rows: Iterable[Row], direction: str) -> float | None:
    """Return the best score of any null of these numbers, without unscored ones; None without one."""
    scored = [row for row in rows if row["value"] is not None]
    nulls = [row["null_value"] for row in scored if row.get("null_value") is not None]
    return (min if direction == "lower" else max)(nulls, default=None)


def finding(marks: Sequence[Mark], null: float | None, direction: str, cited: str) -> str:
    """Return sentences that compare published values with a null of ours; "" without values."""
    values = [mark.row["value"] for mark in marks if mark.is_published]
    if not values:
        return ""
    n, n_apart = len(values), sum(mark.is_apart for mark in marks)
    text = f"Published {'values' if n > 1 else 'value'}: {span(values, number)} ({cited})."
    if null is None:
        text += " No null model has this number here."
    else:
        beyond = sum(value < null if direction == "lower" else value > null for value in values)
        share = f"{beyond or 'None'} of {n}" if beyond < n else f"All {n}"
        subject = f"{share} beat" if n > 1 else "It beats" if beyond else "It does not beat"
        text += f" {subject} the null model’s score here, {number(null)}."
    if n_apart:
        part = f"{n_apart} of them {'differ' if n_apart > 1 else 'differs'}"
        who = part if n_apart < n else "They differ" if n > 1 else "It differs"
        text += f" {who} from ours in definition or setting."
    return text


def is_clear(row: Row, direction: str = "higher") -> bool:
    """Return whether a number's interval lies beyond its null on the better side; False without either."""
    if row["ci_low"] is None or row["null_value"] is None:
        return False
    null = row["null_value"]
    return bool(row["ci_high"] < null if direction == "lower" else row["ci_low"] > null)


def picture(
    title: str,
    lines: Iterable[tuple[str, str, Row | None]],
    note: str = "",
    *,
    doubted: Collection[str] = (),
    direction: str = "higher",
) -> Chart | None:
    """Return the chart that a page opens with; None where nothing of it is scored.

    A null is drawn through the whole chart if all lines share it, else on each line.

    Args:
        lines: name, text beside it, and the row of ``Frames.values`` (None without one).
        doubted: names of models with a doubt, which count as not beyond their nulls.
        note: text that readers of the chart need.
    """
    marks = []
    for name, detail, row in lines:
        if row is None:
            continue
        beyond = None
        if row["ci_low"] is not None and row["null_value"] is not None:
            beyond = is_clear(row, direction) and name not in doubted
        marks.append(Mark(name, row, state_of({**row, "is_beyond_null": beyond}, direction), detail))
    if not any(mark.row["value"] is not None for mark in marks):
        return None
    nulls = {mark.row["null_value"] for mark in marks if mark.row["value"] is not None}
    shared = nulls.pop() if len(nulls) == 1 else None
    if (left := len(marks) - MOST_LINES) > 0:
        note += f" {left} more lines are in the table."
    return Chart(title, ARROWS.get(direction, ""), "", marks[:MOST_LINES], shared, note=note)


def setting_of(condition: str | None) -> str:
    """Return the part of a condition such as "id=3; open=No; reasoning=high" that distinguishes values of one
    model.
    """
    left = [part.strip() for part in (condition or "").split(";")]
    return ", ".join(part for part in left if part and part.partition("=")[0] not in _SAME_FOR_ALL)


_SAME_FOR_ALL = ("id", "open", "subset", "origin")


def name_of(label: str, kind: str, place: str) -> str:
    """Return a number's name with its slice: "mAP, en, country not named" for the condition en:en:no."""
    if place == "all":
        return label
    parts = place.split(":")
    if kind != "condition" or len(parts) != 3:
        return f"{label}, {place}"
    main, dish, is_named = parts
    languages = main if main == dish else f"{main} with dishes in {dish}"
    return f"{label}, {languages}, country {'' if is_named == 'yes' else 'not '}named"
