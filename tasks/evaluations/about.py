"""Description of an evaluation for people: title, defaults, profiles, numbers, columns. Imports nothing slow.

It is apart from ``contract.Evaluation``, which imports polars and pydantic: the command line's help and
completion read descriptions alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tasks.packs.shape import Rows


@dataclass(frozen=True)
class Column:
    """A column of a leaderboard for people.

    Attributes:
        of: a column of the view, or three: a number and the ends of its interval; or a function of the row,
            whose None leaves the column out. note: what it means. digits: after the point.
    """

    label: str
    of: str | Callable[[Mapping[str, Any]], Any]
    note: str = ""
    digits: int = 3

    def cell(self, row: Mapping[str, Any]) -> Any:
        """Return the column's cell of a row."""
        if not isinstance(self.of, str):
            return self.of(row)
        value, *ends = [row[name] for name in self.of.split()]
        return interval(value, ends[0], ends[1], self.digits) if ends else number(value, self.digits)


@dataclass(frozen=True, kw_only=True)
class About:
    """The parts of an evaluation that users see: command, form, leaderboard and page.

    An evaluation with files has the first part in ``<name>/about.py``, as ``ABOUT``, and the others in
    warehouse/ and its report; one without (``registry.without_files``) has all of them here.

    Attributes:
        title: the question in one line, for the command's help and the Prefect UI.
        models: the default models.
        examples: options for ``culturemeter run <name>``, shown in its help.
        caption: one line under the leaderboard on how to read it, always shown.
        board: the leaderboard's columns for people, the most important first; a screen shows the first ones
            that fit. Empty: those of the view ``leaderboard_<name>``.
        cohort: what of a model's rows the cohort of other models determines; "" if nothing.
        judged: the numbers that only a judge can give; "" if nothing is judged.
        in_all: whether ``run all`` includes it; false if it cannot run without some option.
        is_served: whether ``serve`` offers it; false if its runs come from elsewhere.
        profiles: name -> values of options, the smallest first.
        metrics: rows of the table metric, without the evaluation; headlines first.
        doubts: a difference to a control -> the headline to doubt unless the difference is above 0.
        items: study -> rows of the table evaluation_item: item, cluster, content.
        page: the page's content beside numbers.
        preview: the prompts of two items and the null models, line by line.
        rubric: the judges' rubric; None if nothing is judged.
        published: rows of the table recipe_published, without the evaluation.
        more: study -> further rows of the table metric, after ``metrics``.
    """

    title: str
    models: tuple[str, ...]
    examples: tuple[str, ...]
    caption: str = ""
    board: Sequence[Column] = ()
    cohort: str = ""
    judged: str = ""
    in_all: bool = True
    is_served: bool = True
    profiles: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    metrics: Rows = ()
    doubts: Mapping[str, str] = field(default_factory=dict)
    items: Callable[[Any], Rows] = lambda study: ()
    page: Mapping[str, Any] = field(default_factory=dict)
    preview: Sequence[str] = ()
    rubric: Any = None
    published: Rows = ()
    more: Callable[[Any], Rows] = lambda study: ()

    @property
    def notes(self) -> dict[str, str]:
        """Return column -> what it means, printed if the column is shown."""
        return {column.label: column.note for column in self.board if column.note}

    def columns(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return a row of the view ``leaderboard_<name>`` in fewer columns."""
        cells = {column.label: column.cell(row) for column in self.board}
        return {label: cell for label, cell in cells.items() if cell is not None} if cells else dict(row)


def number(value: Any, digits: int = 3) -> str:
    """Return a cell of a table: floats rounded, None as a dash."""
    if value is None:
        return "–"
    if isinstance(value, float):
        return "∞" if math.isinf(value) else f"{value:.{digits}f}"
    if isinstance(value, Decimal):
        return f"{value:f}"
    return f"{value:%Y-%m-%d %H:%M}" if hasattr(value, "strftime") else str(value)


def interval(value: float | None, low: float | None, high: float | None, digits: int = 3) -> str:
    """Return a value with its interval, or alone if it has none."""
    if value is None or low is None or high is None:
        return number(value, digits)
    return f"{number(value, digits)} [{number(low, digits)}, {number(high, digits)}]"
