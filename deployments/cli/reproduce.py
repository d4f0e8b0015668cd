"""``culturemeter reproduce``: recompute a paper's tables from the files that its authors published."""

from __future__ import annotations

import inspect
import pkgutil
import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import polars as pl
import typer

from deployments.cli import options
from deployments.cli.common import As, Wide, errors
from deployments.cli.suggest import Suggesting
from deployments.show.display import Format, number, print_table, say, show, working
from tasks import papers
from tasks.metrics.types import FloatArray
from tasks.papers.reproduction import (
    ComparedCell,
    PrintedCell,
    Reproduction,
    Tools,
    agreement,
    compare_cells,
    find_files,
    is_of_table,
    unused,
    variants,
)
from warehouse import Warehouse

_PRINTED = """
SELECT table_name, coalesce(model, ''), coalesce(condition, ''), metric, printed, value, unit
FROM published_result WHERE paper = ? ORDER BY rowid
"""
_DATA = "folder with the published files; subfolders are searched too"
_TABLE = "only this table, as the paper numbers it: 3, 4.2 or '1(a)'; may be repeated"
_ALL = "also list the cells that could not be recomputed, each with its reason"
_FILES = "Files in the folder or its subfolders; a missing file only costs the cells that need it"
_OURS = " (our own format: the paper publishes no such file)"
CAPTION = (
    "equal: the digits as printed. near: within 1 % or one unit of the last digit. null: the value of a null "
    "model under the same arithmetic. needs: an option that had to differ from its first choice."
)


@cache
def reproductions() -> tuple[str, ...]:
    """Return the evaluations whose papers have a folder in tasks/papers, in alphabetical order."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(papers.__path__) if module.ispkg))


def reproduction(name: str) -> Reproduction[Any, Any]:
    """Return the reproduction of an evaluation's paper."""
    chosen: Reproduction[Any, Any] = import_module(f"{papers.__name__}.{name}.reproduction").REPRODUCTION
    return chosen


class _Commands(Suggesting):
    """Imports each evaluation when its command is called."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(reproductions())

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in reproductions():
            return None
        single = typer.Typer(add_completion=False, rich_markup_mode="markdown")
        single.command(cmd_name, help=_help(cmd_name))(_command(cmd_name))
        return typer.main.get_command(single)


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Recompute a paper's tables from the files that its authors published, cell by cell.",
)


@app.callback()
def reproduce() -> None:
    """Recompute a paper's tables from the files that its authors published, cell by cell.

    Example: `culturemeter reproduce worldwise --data results --table 4.5`
    """


def _command(name: str) -> Callable[..., None]:
    """Return the function of ``culturemeter reproduce <name>``; the fields of its ``Options`` are options."""

    def start(
        data: Annotated[Path, typer.Option("--data", metavar="FOLDER", help=_DATA)],
        table: Annotated[list[str] | None, typer.Option("--table", metavar="N", help=_TABLE)] = None,
        every: Annotated[bool, typer.Option("--all", help=_ALL)] = False,
        form: As = Format.table,
        wide: Wide = False,
        **given: Any,
    ) -> None:
        with errors("run again"):
            kind = reproduction(name)
            chosen = options.validated(kind.options, options.values(kind.options, given))
            rows, n_variants = recompute(kind, name, data, table or [], chosen)
            if form is Format.table:
                _show(rows, every, wide)
            else:
                show(as_frame(rows), form)
            _summarise(rows, n_variants)

    knobs = options.parameters(reproduction(name).options, {})
    own = [p for p in inspect.signature(start, eval_str=True).parameters.values() if p.name != "given"]
    only = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own]
    start.__signature__ = inspect.Signature([*only, *knobs])  # type: ignore[attr-defined]
    return start


def recompute(
    kind: Reproduction[Any, Any], name: str, data: Path, tables: Sequence[str], chosen: Any
) -> tuple[list[ComparedCell], int]:
    """Return the printed cells of these tables (none: of all), each with the value recomputed from the files,
    and the number of option choices tried.

    Raises:
        ValueError: no such folder or table, or a file cannot be read.
    """
    warehouse = Warehouse.open()
    printed = [_printed(row) for row in warehouse.query(_PRINTED, [name]).rows()]
    cells = [cell for cell in printed if _is_wanted(cell, tables)]
    known_tables = dict.fromkeys([*(cell.table for cell in printed), *kind.further])
    if not any(is_of_table(table, one) for table in known_tables for one in tables or known_tables):
        known = ", ".join(known_tables)
        raise ValueError(f"--table {', '.join(tables)}: the paper has no such table; known: {known}")
    files = find_files(data, kind.sources)
    for source in kind.sources.values():
        names = [path.name for path in files[source.name]]
        say(
            _listed(names) if names else f"none: {' or '.join(source.patterns[:2])}", f"{source.name}:", "dim"
        )
    if ignored := unused(data, files):
        say(_listed(ignored), "not used:", "yellow")
    content, notes = kind.read(files, chosen)
    for note in notes:
        say(note, style="yellow")
    queries = {table: warehouse.query(sql).to_dicts() for table, sql in kind.tables.items()}
    tools = Tools(queries, _embedding(warehouse.home / "models"), printed)
    rows, n_tried = compare_cells(kind, content, chosen, tools, cells)
    (_, first), *_ = variants(kind.complete(content, chosen))
    numbers = kind.numbers(content, first, tools)
    for note in (note for named in numbers.known_names for note in named.notes):
        say(note, style="yellow")
    rows += [
        ComparedCell(cell, number, agreement(cell, number.value), "")
        for cell, number in numbers.further()
        if _is_wanted(cell, tables)
    ]
    return rows, n_tried


def _is_wanted(cell: PrintedCell, tables: Sequence[str]) -> bool:
    return not tables or any(is_of_table(cell.table, one) for one in tables)


def as_frame(rows: Sequence[ComparedCell]) -> pl.DataFrame:
    """Return the cells as a frame, for programs."""
    columns = {
        "table": [row.cell.table for row in rows],
        "model": [row.cell.model or None for row in rows],
        "condition": [_condition(row.cell) or None for row in rows],
        "metric": [row.cell.metric for row in rows],
        "published": [row.cell.printed or None for row in rows],
        "recomputed": [row.number.value for row in rows],
        "agreement": [row.agreement for row in rows],
        "needs": [row.needs or None for row in rows],
        "null": [row.number.null for row in rows],
        "null_name": [_null_name(row) or None for row in rows],
        "n": [row.number.n for row in rows],
        "unit": [row.cell.unit for row in rows],
        "reason": [row.number.reason or None for row in rows],
    }
    numeric = {"recomputed": pl.Float64(), "null": pl.Float64(), "n": pl.Int64()}
    return pl.DataFrame(columns, schema={name: numeric.get(name, pl.String()) for name in columns})


def _null_name(row: ComparedCell) -> str:
    return row.number.null_name if row.number.null is not None else ""


def _show(rows: Sequence[ComparedCell], every: bool, wide: bool) -> None:
    """Print each of the paper's tables; cells without a recomputed value only if ``every``."""
    names = ["cell", "paper", "here", "agreement", "null", "needs", "n", "null is"][: 8 if wide else 6]
    rows = [row for row in rows if every or row.number.value is not None]
    for table in dict.fromkeys(row.cell.table for row in rows):
        metrics = {row.cell.metric for row in rows if row.cell.table == table}
        cells = [_line(row, len(metrics) > 1) for row in rows if row.cell.table == table]
        empty = {"needs": "", "null": "–"}  # columns with nothing but these values are left out
        needed = [i for i, name in enumerate(names) if any(line[i] != empty.get(name) for line in cells)]
        print_table(
            [names[i] for i in needed],
            [[line[i] for i in needed] for line in cells],
            table if len(metrics) > 1 else f"{table}: {metrics.pop()}",
            numeric=("paper", "here", "null", "n"),
            is_wide=wide or None,
        )
    if rows:
        say(CAPTION, style="dim")


def _line(row: ComparedCell, with_metric: bool) -> list[str]:
    match = re.search(r"[.,](\d+)", row.cell.printed)
    digits = len(match[1]) if match else 0 if row.cell.printed else 1
    value, null = (number(x, digits + 1) for x in (row.number.value, row.number.null))
    metric = [row.cell.metric] * with_metric
    what = ", ".join(part for part in (row.cell.model, *row.cell.parts.values(), *metric) if part)
    outcome = row.number.reason
    if row.number.value is not None:
        outcome = f"{row.agreement}: {outcome}" if outcome else row.agreement
    n = number(row.number.n)
    return [what, row.cell.printed or "–", value, outcome, null, row.needs, n, _null_name(row)]


def _summarise(rows: Sequence[ComparedCell], n_variants: int) -> None:
    """Print how many cells agree, and why others differ or have no value."""
    reasons = Counter((row.agreement, row.number.reason) for row in rows if row.number.reason)
    tables_of = {
        reason: list(dict.fromkeys(row.cell.table for row in rows if row.number.reason == reason))
        for _, reason in reasons
    }
    n_further = len(rows)
    rows = [row for row in rows if row.cell.printed]
    n_further -= len(rows)
    counts = Counter(row.agreement for row in rows)
    needing = sum(row.agreement == "equal" and bool(row.needs) for row in rows)
    by_null = sum(agreement(row.cell, row.number.null) == "equal" for row in rows)
    known = len(rows) - counts["not recomputed"]
    text = f"{len(rows)} cells: {counts['equal']} equal to the printed digits"
    if needing:
        text += f" ({needing} of them under another choice of options; {n_variants} choices tried)"
    text += f", {counts['near']} near, {counts['differs']} differ, {counts['not recomputed']} not recomputed"
    say(text + (f"; the null equals {by_null} of the printed values" if known else ""), style="")
    if n_further:
        say(f"{n_further} further numbers that the paper does not print", style="")
    for (agrees, reason), n in reasons.most_common():
        what = {"differs": "differ", "near": "are near"}.get(agrees, agrees)
        say(f"{n} {what}: {reason}; in {_listed(tables_of[reason])}", style="dim")


def _printed(row: Sequence[Any]) -> PrintedCell:
    table, model, condition, metric, text, value, unit = row
    parts = dict(part.split("=", 1) for part in condition.split("; ") if "=" in part)
    return PrintedCell(table, model, parts, metric, text, value, unit)


def _condition(cell: PrintedCell) -> str:
    return "; ".join(f"{name}={text}" for name, text in cell.parts.items())


def _listed(names: Sequence[str], most: int = 3) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _embedding(cache: Path) -> Callable[[str, Sequence[str]], FloatArray]:
    """Return a function that embeds texts; it loads each embedder once and embeds each text once."""
    loaded: dict[str, Any] = {}
    vectors: dict[tuple[str, str], Any] = {}

    def embed(source: str, texts: Sequence[str]) -> FloatArray:
        new = [text for text in dict.fromkeys(texts) if (source, text) not in vectors]
        if new:
            from tasks.engines.embedders import load_embedder  # importing torch takes seconds

            with working(f"embedding {len(new)} texts"):
                if source not in loaded:
                    loaded[source] = load_embedder(source, cache)
                rows = loaded[source].embed(new).vectors
            vectors.update({(source, text): row for text, row in zip(new, rows, strict=True)})
        return np.array([vectors[source, text] for text in texts])

    return embed


def _help(name: str) -> str:
    kind = reproduction(name)
    files = "\n\n".join(
        f"- {source.name}: `{'`, `'.join(source.patterns[:2])}`. {source.format}{_OURS * source.is_ours}."
        for source in kind.sources.values()
    )
    own = [f"culturemeter reproduce {name} --data FOLDER {text}".strip() for text in ("", *kind.examples)]
    examples = "\n\n".join(f"- `{line}`" for line in own)
    return f"{kind.title}\n\n{_FILES}:\n\n{files}\n\nExamples:\n\n{examples}"
