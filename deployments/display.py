"""What the command line shows: progress bars, tables for people, CSV and JSON for programs."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import Any

import polars as pl
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table

from tasks import progress

err = Console(stderr=True, width=None if sys.stderr.isatty() else 160)
"""For people: progress, notes and errors. Data alone goes to standard output."""


class Format(StrEnum):
    """How rows are written."""

    table = "table"
    csv = "csv"
    json = "json"


def show(frame: pl.DataFrame, form: Format, title: str | None = None) -> None:
    """Write rows to standard output."""
    match form:
        case Format.csv:
            sys.stdout.write(_flat(frame).write_csv())
        case Format.json:
            rows = [{k: _json(v) for k, v in row.items()} for row in frame.to_dicts()]
            sys.stdout.write(json.dumps(rows, ensure_ascii=False, default=str, indent=2) + "\n")
        case Format.table:
            _print_table(frame, title)


@contextmanager
def bars() -> Iterator[None]:
    """Draw a bar for every label that steps report on."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[speed]}"),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    with Progress(*columns, console=err, transient=False) as drawn:
        known: dict[str, TaskID] = {}

        def listener(label: str, advance: int, total: int) -> None:
            if label not in known:
                known[label] = drawn.add_task(label, total=total, speed="")
            task = drawn.tasks[known[label]]
            drawn.update(known[label], advance=advance)
            if task.speed and total > 1000:
                drawn.update(known[label], speed=f"{task.speed:,.0f} items/s")

        with progress.listen(listener):
            yield


def number(value: Any, digits: int = 3) -> str:
    """A cell of a table: floats rounded, nothing as a dash."""
    if value is None:
        return "–"
    if isinstance(value, float):
        return "∞" if math.isinf(value) else f"{value:.{digits}f}"
    return f"{value:%Y-%m-%d %H:%M}" if hasattr(value, "strftime") else str(value)


def _print_table(frame: pl.DataFrame, title: str | None) -> None:
    """A Rich table as wide as its content when piped, as the terminal otherwise."""
    console = Console() if sys.stdout.isatty() else Console(width=max(80, 24 * frame.width))
    table = Table(title=title, title_justify="left")
    for name, dtype in frame.schema.items():
        table.add_column(name, justify="right" if dtype.is_numeric() else "left", overflow="fold")
    for row in frame.iter_rows():
        table.add_row(*(number(v) for v in row))
    console.print(table)


def _flat(frame: pl.DataFrame) -> pl.DataFrame:
    """CSV has no lists: join them with |."""
    nested = [c for c, t in frame.schema.items() if t == pl.List(pl.String)]
    return frame.with_columns(pl.col(nested).list.join("|")) if nested else frame


def _json(value: Any) -> Any:
    """JSON has no infinity."""
    return str(value) if isinstance(value, float) and math.isinf(value) else value
