"""The command line: ``culturescope --help``. Heavy imports happen inside the commands that need them."""

from __future__ import annotations

import re
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from deployments import cli_ingest, cli_judge, cli_run, cli_specnorm
from deployments.cli_common import As, Config, Models, Wide, errors
from deployments.display import Format, err, show
from deployments.evaluations import doors
from deployments.server import configure
from warehouse import Warehouse

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="How well do language models know the world's cultures? All state lives under `CULTURESCOPE_HOME`.",
)
models_app = typer.Typer(no_args_is_help=True, help="List the known models, prepare the embedded ones.")
app.add_typer(cli_run.app, name="run")
app.command("ingest")(cli_ingest.ingest)
app.add_typer(models_app, name="models")
app.add_typer(cli_judge.app, name="judge")
app.add_typer(cli_specnorm.app, name="specnorm")

Of = Annotated[
    str | None,
    typer.Argument(
        help=f"{', '.join(doors())}; default: that of the newest run", autocompletion=lambda: list(doors())
    ),
]


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(version("culturescope"))
        raise typer.Exit()


@app.callback()
def main(
    show_version: Annotated[
        bool, typer.Option("--version", help="print the version", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """How well do language models know the world's cultures? All state lives under `CULTURESCOPE_HOME`."""


@app.command()
def check() -> None:
    """Check the warehouse's integrity and set unreadable Parquet parts aside, to be scored again.

    Example: `culturescope check`
    """
    from warehouse import verify_parts

    with errors():
        warehouse = Warehouse.open()
        for kind, part, n, problem in verify_parts(warehouse).rows():
            err.print(f"[red]set aside[/] {kind}/{part} ({n} units to be done again): {problem}")
        cli_ingest.report_checks(warehouse)


@models_app.command("list")
def models_list(form: As = Format.table, wide: Wide = False) -> None:
    """List the models known by name.

    Example: `culturescope models list --format json`
    """
    import polars as pl

    from tasks.engines import embedded
    from tasks.engines.specs import catalogue

    with errors():
        home = Warehouse.open().home
        rows = []
        for spec in catalogue(home / "engines").values():
            name = spec.model.removeprefix(embedded.PREFIX)
            packaged = embedded.EMBEDDED.get(name) if name != spec.model else None
            is_ready = packaged is not None and embedded.status(name, home / "models").ready
            ready = "yes" if is_ready else "on first use"
            licence = packaged.licence if packaged else ""
            rows.append(
                {"name": spec.name, "kind": spec.kind, "dtype": spec.dtype, "prepared": ready}
                | {"model": spec.model, "licence": licence}
            )
        show(pl.DataFrame(rows), form, is_wide=wide)


@models_app.command("prepare")
def models_prepare(
    names: Annotated[list[str] | None, typer.Argument(help="default: all embedded models")] = None,
) -> None:
    """Download and convert the embedded models, once.

    Example: `culturescope models prepare smollm2-135m`
    """
    from tasks.engines import embedded

    with errors():
        home = Warehouse.open().home
        for name in names or embedded.EMBEDDED:
            with err.status(f"{name}: preparing") as status:
                folder = embedded.prepare(name, home / "models", lambda s, n=name: status.update(f"{n}: {s}"))  # type: ignore[misc]
            err.print(f"[green]ready[/] {name}: {folder}")
            err.print(f"        {embedded.EMBEDDED[name].notice}", style="dim")


@app.command()
def sql(
    query: Annotated[str, typer.Argument(help="a query; - reads it from standard input")],
    form: As = Format.table,
    wide: Wide = False,
) -> None:
    """Query the warehouse, also while flows run.

    Examples:

    - `culturescope sql "SELECT * FROM leaderboard" --format csv`

    - `culturescope sql "SELECT country, neighbour FROM country_neighbour WHERE domain = 'currency' LIMIT 9"`
    """
    with errors():
        text = sys.stdin.read() if query == "-" else query
        if not re.sub(r"--.*|/\*.*?\*/|[;\s]", "", text):
            raise ValueError('there is no query: write one, such as "FROM leaderboard"')
        show(Warehouse.open().query(text), form, is_wide=wide)


@app.command()
def leaderboard(
    evaluation: Of = None, form: As = Format.table, config: Config = None, wide: Wide = False
) -> None:
    """Print a leaderboard: for people the main columns, as csv or json the whole view.

    Examples:

    - `culturescope leaderboard spectral`

    - `culturescope leaderboard fmlama --format csv`
    """
    import polars as pl

    from deployments.leaderboard import configuration, rows

    with errors():
        warehouse = Warehouse.open()
        name, chosen, labels = configuration(warehouse, evaluation, config)
        board = rows(warehouse, name, chosen)
        title = f"{name}, profile {labels}, config {chosen}"
        caption = doors()[name].caption
        if form is Format.table:
            board = pl.DataFrame([doors()[name].columns(row) for row in board.to_dicts()])
        show(board, form, title, caption, is_wide=wide)


@app.command()
def report(
    evaluation: Of = None,
    out: Annotated[Path | None, typer.Option(help="default: report-….html at home")] = None,
    config: Config = None,
) -> None:
    """Write a self-contained HTML page: leaderboard, figures, error analysis, how the numbers are made.

    Example: `culturescope report fmlama --out fmlama.html`
    """
    from deployments.report import newest_evaluation, usual_file, write_report

    with errors():
        warehouse = Warehouse.open()
        chosen = evaluation or newest_evaluation(warehouse, config)
        with err.status("drawing"):
            path = write_report(warehouse, out or warehouse.home / usual_file(chosen), config, chosen)
        err.print("[green]report[/]", end=" ")
        typer.echo(path)


@app.command()
def serve(
    model: Models = None,
    profile: Annotated[str, typer.Option(help="profile of the weekly re-evaluation")] = "demo",
    cron: Annotated[str, typer.Option(help="when to re-evaluate (UTC)")] = "0 3 * * 1",
    port: Annotated[int, typer.Option(help="of the Prefect UI and API")] = 4200,
) -> None:
    """Start Prefect on 127.0.0.1 with a deployment per profile and a weekly re-evaluation; Ctrl-C stops it.

    Example: `culturescope serve --model gemma3-270m --cron "0 6 * * *"`
    """
    from deployments.serve import serve_until_interrupted

    with errors():
        warehouse = Warehouse.open()
        configure(warehouse.home)
        serve_until_interrupted(warehouse.home, model, profile, cron, port)


if __name__ == "__main__":
    app()
