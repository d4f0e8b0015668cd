"""Write to the command line: tables that fit the screen for people, CSV and JSON for programs.

Names and answers come from models, servers and files, so no cell is read as markup and no control character
reaches a terminal.
"""

from __future__ import annotations

import json
import logging
import math
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from enum import StrEnum
from io import BytesIO
from itertools import accumulate
from pathlib import Path
from typing import Any

import polars as pl
from rich.cells import cell_len
from rich.console import Console
from rich.status import Status
from rich.table import Table
from rich.text import Text

from tasks.evaluations.about import interval as interval
from tasks.evaluations.about import number as number
from tasks.report.text import CONTROL
from warehouse.querying import ResultSet, with_whole_numbers


def _console(**how: Any) -> Console:
    """Return a console that takes no text for markup."""
    return Console(markup=False, emoji=False, highlight=False, **how)


err = _console(stderr=True, width=None if sys.stderr.isatty() else 160)
"""Console for progress, notes and errors; results go to standard output. Other files print by ``say``."""

FOLDED = 36
"""Width from which a table's cell may wrap; 28 on a narrow screen."""

LEAST_FOLDED = 8
"""Least width to which the columns of a query are folded."""

NARROWEST = 16
"""Least width to which the first column (names) is folded so that the columns up to n fit."""

_FORMULA = r"^([=+\-@\t\r])"


class Format(StrEnum):
    """Formats of rows."""

    table = "table"
    csv = "csv"
    json = "json"
    spreadsheet = "spreadsheet"
    """CSV with an apostrophe before every text that a spreadsheet would run as a formula."""


def clean(text: object) -> str:
    """Return a text without control characters and marks that change its direction."""
    return CONTROL.sub("", str(text))


def say(text: object, head: str = "", style: str = "green") -> None:
    """Print a line for people on standard error, not as markup; only a head, if given, is styled."""
    marked = Text.assemble((clean(head), style), " ", clean(text)) if head else Text(clean(text), style)
    err.print(marked, soft_wrap=True)


@contextmanager
def on_stdout(is_result: bool = True) -> Iterator[None]:
    """Print on standard output within the block what is for people: the plan is a dry run's result."""
    before, err.stderr = err.stderr, not is_result
    try:
        yield
    finally:
        err.stderr = before


def out(text: object, head: str = "") -> None:
    """Print a line of data on standard output, after a head on standard error, if given."""
    if head:
        err.print(Text(clean(head), "green"), end=" ")
    sys.stdout.write(f"{clean(text)}\n")
    sys.stdout.flush()


class Working(Status):
    """A spinner; rich takes its text for markup, so it gets none as a string."""

    def update(self, status: Any = None, **how: Any) -> None:
        """Show another text."""
        super().update(Text(clean(status)) if isinstance(status, str) else status, **how)


def working(text: str) -> Working:
    """Show a spinner on a terminal while a block runs."""
    return Working(Text(clean(text)), console=err)


def show(
    frame: pl.DataFrame,
    form: Format,
    title: str = "",
    caption: str = "",
    *,
    is_wide: bool | None = None,
    notes: Mapping[str, str] | None = None,
) -> None:
    """Write rows to standard output; a table as ``print_table`` does."""
    match form:
        case Format.csv | Format.spreadsheet:
            sys.stdout.write(to_csv(frame, quoted=form is Format.spreadsheet))
        case Format.json:
            sys.stdout.write(to_json(frame))
        case Format.table:
            show_rows(ResultSet.from_frame(frame), title, caption, is_wide=is_wide, notes=notes)


def show_rows(
    rows: ResultSet,
    title: str = "",
    caption: str = "",
    *,
    is_wide: bool | None = None,
    notes: Mapping[str, str] | None = None,
) -> None:
    """Write rows to standard output as ``print_table`` does."""
    cells = [[number(value) for value in row] for row in rows.rows]
    print_table(rows.names, cells, title, caption, rows.numeric, is_wide=is_wide, notes=notes)


def show_whole(rows: ResultSet) -> None:
    """Write every column of rows to standard output: folded if each has room, else a line per cell."""
    width = _console().width
    if len(rows.names) * (LEAST_FOLDED + 3) < width:
        show_rows(rows)
        return
    names = [clean(name) for name in rows.names]
    longest = max(map(cell_len, names))
    for place, row in enumerate(rows.rows, start=1):
        out(f"--- row {place}")
        for name, value in zip(names, row, strict=True):
            out(f"{name}{' ' * (longest - cell_len(name))} | {number(value)}")


def print_table(
    names: Sequence[str],
    rows: Sequence[Sequence[str]],
    title: str = "",
    caption: str = "",
    numeric: Collection[str] = (),
    *,
    is_wide: bool | None = None,
    stderr: bool = False,
    breaks_words: bool = False,
    notes: Mapping[str, str] | None = None,
) -> None:
    """Print a table.

    Args:
        breaks_words: fold within words, such as names of files, if the table is too wide otherwise.
        notes: column -> its meaning, printed under the table if the column is in it.
        numeric: names of columns to align to the right.
        is_wide: True prints every column, however wide the table gets. False prints the first columns that
            fit on the screen and the number of others; the first column folds so that those up to a column n
            fit. None prints all columns, with cells folded at words so that they fit.
    """
    stderr = stderr and err.stderr
    screen = _console(stderr=stderr)
    columns = [[clean(cell) for cell in cells] for cells in zip(names, *rows, strict=True)]
    widths = [max(map(cell_len, cells)) for cells in columns]
    if is_wide is None:
        room = screen.width - 3 * len(names) - 1
        widths = _folded(columns, widths, room)
        while breaks_words and sum(widths) > max(room, len(widths)):
            widths[widths.index(max(widths))] -= 1
    elif not is_wide and widths:
        widths = [min(width, FOLDED, max(28, screen.width // 4)) for width in widths]
        essential = widths[: list(names).index("n") + 1] if "n" in names else widths[:1]
        over = sum(essential) + 3 * len(essential) + 1 - screen.width
        widths[0] = max(min(widths[0], NARROWEST), widths[0] - max(over, 0))
        used = [total + 3 * n + 1 for n, total in enumerate(accumulate(widths), start=1)]
        widths = [w for n, w in enumerate(widths) if n == 0 or used[n] <= screen.width]
    table = Table()
    for name, width in zip(names, widths, strict=False):
        justify: Any = "right" if name in numeric else "left"
        table.add_column(Text(clean(name)), justify=justify, overflow="fold", width=width)
    for row in zip(*(cells[1:] for cells in columns[: len(widths)]), strict=True):
        table.add_row(*map(Text, row))
    if title:
        screen.print(Text(clean(title), "bold"), soft_wrap=stderr)
    _console(stderr=stderr, width=max(screen.width, sum(widths) + 3 * len(widths) + 1)).print(table)
    explained = [f"{name}: {notes[name]}" for name in names[: len(widths)] if notes and name in notes]
    for line in filter(None, ("; ".join(explained), caption)):
        screen.print(Text(clean(line), "dim"))
    if len(widths) < len(names):
        n = len(names) - len(widths)
        say(f"{n} more column{'s' * (n > 1)} with --wide", style="dim")


def to_csv(frame: pl.DataFrame, quoted: bool = False) -> str:
    """Return rows as CSV: a list of texts is joined with |, other nested values become JSON.

    Control characters are left out (``clean``); Parquet and JSON keep them.

    Args:
        quoted: put an apostrophe before texts that a spreadsheet would run as a formula.
    """
    frame = with_whole_numbers(frame)
    texts = [name for name, dtype in frame.schema.items() if dtype == pl.List(pl.String)]
    nested = [name for name, dtype in frame.schema.items() if dtype.is_nested() and name not in texts]
    as_json = [
        pl.Series(
            name, [v if v is None else json.dumps(_json(v), default=str) for v in frame[name].to_list()]
        )
        for name in nested
    ]
    flat = frame.with_columns(pl.col(texts).list.join("|"), *as_json)
    text = flat.with_columns(pl.col(pl.String).str.replace(_FORMULA, "'$1") if quoted else [])
    return clean(text.write_csv())


def to_json(frame: pl.DataFrame) -> str:
    """Return rows as a JSON list of objects, without harmful control characters.

    NaN is null, infinity the text "inf" or "-inf", also within lists and structs. Whole numbers have all
    their digits.
    """
    return _as_json(with_whole_numbers(frame).to_dicts())


def _as_json(value: Any) -> str:
    text = json.dumps(_json(value), ensure_ascii=False, default=str, indent=2, allow_nan=False)
    return CONTROL.sub(lambda c: f"\\u{ord(c[0]):04x}", text) + "\n"


def out_json(value: Any) -> None:
    """Write a value as JSON on standard output, as ``to_json`` writes rows."""
    sys.stdout.write(_as_json(value))


def write(frame: pl.DataFrame, path: Path) -> None:
    """Write rows to a new file in the format of its ending; no cell of a CSV file runs as a formula.

    Raises:
        ValueError: the ending is unknown, or the file exists.
    """
    content = BytesIO()
    match path.suffix:
        case ".parquet":
            frame.write_parquet(content)
        case ".csv":
            content.write(to_csv(frame, quoted=True).encode())
        case ".json":
            content.write(to_json(frame).encode())
        case _:
            raise ValueError(f"--out {path}: name a file that ends in .parquet, .csv or .json")
    new_file(path, content.getvalue())
    say(f"{frame.height:,} rows in {path}", "written")


def new_file(path: Path, content: bytes) -> None:
    """Write a new file. Raises ValueError if it exists."""
    try:
        with path.open("xb") as file:
            file.write(content)
    except FileExistsError as error:
        raise ValueError(f"{path} exists and is not overwritten: name another file with --out") from error


@contextmanager
def notes(verbose: bool, most: int = logging.CRITICAL) -> Iterator[None]:
    """Print our logger's messages outside of a Prefect flow: from INFO if verbose, else warnings.

    Args:
        most: the highest level printed, since an error that ends a command is printed already.
    """
    log = logging.getLogger("culturemeter")
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
        say(record.getMessage(), style="yellow")


def _folded(columns: Sequence[Sequence[str]], widths: list[int], room: int) -> list[int]:
    """Return column widths that fit, as far as words allow; the columns with the most room to spare fold."""
    words = [max(min(cell_len(w), FOLDED) for c in cells for w in c.split() or [""]) for cells in columns]
    while sum(widths) > room and widths != words:
        spare = [width - word for width, word in zip(widths, words, strict=True)]
        widths[spare.index(max(spare))] -= 1
    return widths


def _json(value: Any) -> Any:
    """Return a value as JSON has it: NaN as null, infinity and decimal fractions as text."""
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, Mapping):
        return {str(name): _json(each) for name, each in value.items()}
    return [_json(each) for each in value] if isinstance(value, list | tuple) else value
