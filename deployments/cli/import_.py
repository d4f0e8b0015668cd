"""``culturemeter import``: runs of other programs' logs, without a model, a GPU or a key."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer

from deployments.cli.common import As, errors
from deployments.serve.server import configure
from deployments.show.display import Format, say, show
from tasks.report.text import plural
from warehouse import Warehouse, WarehouseError, home

_SHOWN = {
    "imported": "imported",
    "same": "already there",
    "published": "published value",
    "refused": "refused",
}
_STYLES = {"refused": "red", "same": "dim"}
_OPTIONS = ("model", "item", "score", "prompt", "output", "target")


def import_logs(
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH…", help="logs, run folders, tables, or folders of them")
    ],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="say what would be taken and stop")] = False,
    cluster: Annotated[
        str,
        typer.Option(metavar="FIELD", help="field over which intervals are computed, such as doc.country"),
    ] = "",
    by: Annotated[
        str, typer.Option(metavar="FIELD,…", help="fields by whose values results are broken down")
    ] = "",
    metric: Annotated[
        str, typer.Option(help="the log's metric that is the headline; default: its first")
    ] = "",
    model_as: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[LOG=]NAME",
            help="the model of the logs is NAME here; LOG: only of this model of the logs; the board "
            "shows that somebody said so",
        ),
    ] = None,
    occasion: Annotated[str, typer.Option(help="occasion of logs without a date")] = "",
    model: Annotated[str | None, typer.Option(metavar="COLUMN", help="tables: column of the model")] = None,
    item: Annotated[str | None, typer.Option(metavar="COLUMN", help="tables: column of the item")] = None,
    score: Annotated[str | None, typer.Option(metavar="COLUMN", help="tables: column of the score")] = None,
    prompt: Annotated[str | None, typer.Option(metavar="COLUMN", help="tables: column of the prompt")] = None,
    output: Annotated[str | None, typer.Option(metavar="COLUMN", help="tables: column of the output")] = None,
    target: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="tables: column of the right output")
    ] = None,
    task: Annotated[
        str, typer.Option(help="tables: name of the task; default: the column task, else the file's name")
    ] = "",
    form: As = Format.table,
) -> None:
    """Take logs of lm-evaluation-harness, Inspect, HELM and Every Eval Ever, and tables of scores.

    Samples become runs of the evaluation `imported`, with intervals, null models and paired tests. Logs
    without samples become published values, which nothing ranks. The same log twice is taken once.

    Examples:

    - `culturemeter import logs/ --dry-run`

    - `culturemeter import results_2026-01-21T03-44-18.json --cluster doc.country --by doc.language`

    - `culturemeter import scores.csv --model system --item question --score right`
    """
    with errors("run again: what is stored is kept"):
        configure(home())
        from flows.imports import imported
        from flows.logged import Choices
        from tasks.exchange import Mapped, found

        given = dict(zip(_OPTIONS, (model, item, score, prompt, output, target), strict=True))
        columns = {role: column for role, column in given.items() if column}
        mapped = Mapped(columns, task) if columns or task else None
        models = dict(named.rpartition("=")[::2] for named in model_as or ())
        fields = tuple(part.strip() for part in by.split(",") if part.strip())
        choices = Choices(cluster.strip(), fields, metric, models, occasion)
        taken, rows = Counter[str](), list[dict[str, Any]]()
        for each in imported(found(paths, mapped), choices, dry_run):
            taken[each.kind] += 1
            rows.append(
                {
                    name: getattr(each, name)
                    for name in ("kind", "model", "task", "n", "config", "file", "text")
                }
            )
            if form is Format.table:
                head = (
                    f"would be {_SHOWN[each.kind]}:"
                    if dry_run and each.kind in ("imported", "published")
                    else (f"{_SHOWN[each.kind]}:")
                )
                of = f"{each.model}, {each.task}: " if each.model else ""
                say(f"{of}{each.text} ({each.file})", head, _STYLES.get(each.kind, "green"))
        if form is not Format.table:
            show(pl.DataFrame(rows), form)
        refused = taken.pop("refused", 0)
        if not taken:
            raise WarehouseError("nothing was taken" if refused else "no log was found")
        if form is Format.table:
            _say_end(taken, rows, dry_run)
        if refused:
            raise typer.Exit(1)


def _say_end(taken: Counter[str], rows: list[dict[str, Any]], is_dry: bool) -> None:
    """Say how many logs were taken, and how to see them."""
    configs = list(dict.fromkeys(row["config"] for row in rows if row["config"]))
    parts = [
        f"{count} {_SHOWN[kind]}{'s' * (kind == 'published' and count > 1)}" for kind, count in taken.items()
    ]
    of = f"; {plural(len(configs), 'configuration')}" if configs else ""
    say(", ".join(parts) + of, style="")
    if configs and not is_dry:
        Warehouse.existing()
        say(f"culturemeter leaderboard imported --config {configs[-1]}", "see", "dim")
