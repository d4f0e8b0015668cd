"""What the command line shows: tables that fit the screen for people, CSV and JSON for programs."""

from __future__ import annotations

import json
import logging
import math
import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from typing import Any

import polars as pl
from rich.cells import cell_len
from rich.console import Console, JustifyMethod
from rich.markup import escape
from rich.table import Table

err = Console(stderr=True, width=None if sys.stderr.isatty() else 160)
"""For people: progress, notes and errors. Data alone goes to standard output."""

FOLDED = 36
"""Characters after which a cell of a table may go on in the next line."""


class Format(StrEnum):
    """How rows are written."""

    table = "table"
    csv = "csv"
    json = "json"


def show(
    frame: pl.DataFrame, form: Format, title: str = "", caption: str = "", *, is_wide: bool | None = None
) -> None:
    """Write rows to standard output; a table as ``print_table``."""
    match form:
        case Format.csv:
            sys.stdout.write(_flat(frame).write_csv())
        case Format.json:
            rows = [{k: _json(v) for k, v in row.items()} for row in frame.to_dicts()]
            sys.stdout.write(json.dumps(rows, ensure_ascii=False, default=str, indent=2) + "\n")
        case Format.table:
            numeric = [name for name, dtype in frame.schema.items() if dtype.is_numeric()]
            cells = [[number(value) for value in row] for row in frame.iter_rows()]
            print_table(frame.columns, cells, title, caption, numeric, is_wide=is_wide)


def print_table(
    names: Sequence[str],
    rows: Sequence[Sequence[str]],
    title: str = "",
    caption: str = "",
    numeric: Collection[str] = (),
    *,
    is_wide: bool | None = None,
) -> None:
    """Print the columns that fit on the screen, the first ones first, and say how many do not.

    Args:
        numeric: names of columns that are aligned to the right.
        is_wide: print every column, however wide the table gets; None: the command has no such option.
    """
    screen = Console()
    needed = [max([cell_len(n), *(cell_len(row[i]) for row in rows)]) for i, n in enumerate(names)]
    widths = needed if is_wide else [min(n, FOLDED) for n in needed]
    n_shown = len(names) if is_wide else _n_fitting(widths, screen.width)
    table = Table()
    for name, width in zip(names[:n_shown], widths, strict=False):
        side: JustifyMethod = "right" if name in numeric else "left"
        table.add_column(escape(name), justify=side, overflow="fold", max_width=width)
    for row in rows:
        table.add_row(*map(escape, row[:n_shown]))
    if title:
        screen.print(escape(title), style="bold", highlight=False)
    Console(width=max(screen.width, sum(widths[:n_shown]) + 3 * n_shown + 1)).print(table)
    if caption:
        screen.print(escape(caption), style="dim", highlight=False)
    if n_shown < len(names):
        where = "on a wider screen" if is_wide is None else "with --wide"
        err.print(f"{len(names) - n_shown} more columns {where}", style="dim", highlight=False)


def number(value: Any, digits: int = 3) -> str:
    """A cell of a table: floats rounded, nothing as a dash."""
    if value is None:
        return "–"
    if isinstance(value, float):
        return "∞" if math.isinf(value) else f"{value:.{digits}f}"
    return f"{value:%Y-%m-%d %H:%M}" if hasattr(value, "strftime") else str(value)


def interval(value: float | None, low: float | None, high: float | None, digits: int = 3) -> str:
    """A value with its interval; without one where there is none."""
    if value is None or low is None or high is None:
        return number(value, digits)
    return f"{number(value, digits)} [{number(low, digits)}, {number(high, digits)}]"


@contextmanager
def notes(verbose: bool, most: int = logging.CRITICAL) -> Iterator[None]:
    """Print what our own logger says outside of a Prefect flow: from INFO if verbose, else warnings.

    Args:
        most: the highest level printed: an error that ends a command at once is not to be said twice.
    """
    log = logging.getLogger("culturescope")
    handler = _Notes(logging.INFO if verbose else logging.WARNING)
    handler.addFilter(lambda record: record.levelno <= most)
    log.addHandler(handler)
    log.setLevel(handler.level)
    log.propagate = False
    try:
        yield
    finally:
        log.removeHandler(handler)


class _Notes(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        err.print(record.getMessage(), style="yellow", highlight=False, markup=False, soft_wrap=True)


def _n_fitting(widths: Sequence[int], width: int) -> int:
    """How many of the first columns fit beside each other, one at least."""
    used, n_columns = 1, 0
    for column in widths:
        used += column + 3
        if used > width:
            break
        n_columns += 1
    return max(n_columns, 1)


def _flat(frame: pl.DataFrame) -> pl.DataFrame:
    """CSV has no nested values: texts of a list are joined with |, anything else is written as JSON."""
    texts = [name for name, dtype in frame.schema.items() if dtype == pl.List(pl.String)]
    nested = [name for name, dtype in frame.schema.items() if dtype.is_nested() and name not in texts]
    as_json = [
        pl.Series(name, [v if v is None else json.dumps(v, default=str) for v in frame[name].to_list()])
        for name in nested
    ]
    return frame.with_columns(pl.col(texts).list.join("|"), *as_json)


def _json(value: Any) -> Any:
    """JSON has no infinity and no NaN."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
