"""The command line: ``culturescope --help``. Heavy imports happen inside the commands that need them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from deployments import cli_judge, cli_leaderboard, cli_specnorm
from deployments.cli_common import As, Config, Models, Verbose, errors, split
from deployments.cli_ingest import CONTACT, NAMES, refresh
from deployments.display import Format, err, show
from deployments.evaluations import evaluations
from deployments.server import configure
from warehouse import Warehouse

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="How well do language models know the world's cultures? All state lives under `CULTURESCOPE_HOME`.",
)
models_app = typer.Typer(no_args_is_help=True, help="List the known models, prepare the embedded ones.")
run_app = typer.Typer(no_args_is_help=True, help="Run an evaluation; only what is missing is done.")
for name, evaluation in evaluations().items():
    run_app.command(name)(evaluation.command)
app.add_typer(run_app, name="run")
app.add_typer(models_app, name="models")
app.add_typer(cli_judge.app, name="judge")
app.add_typer(cli_leaderboard.app, name="leaderboard")
app.add_typer(cli_specnorm.app, name="specnorm")


@app.command()
def ingest(
    source: Annotated[
        list[str] | None, typer.Option("--source", "-s", help=f"{', '.join(NAMES)}; repeat it")
    ] = None,
    live: Annotated[bool, typer.Option("--live", help="ask the sources over the network")] = False,
    file: Annotated[
        list[str] | None, typer.Option(help="file that the source reads, or an export's address; repeat it")
    ] = None,
    language: Annotated[str | None, typer.Option(help="wikidata: comma-separated, default all six")] = None,
    endpoint: Annotated[str | None, typer.Option(help="wikidata: the SPARQL endpoint")] = None,
    contact: Annotated[
        str | None, typer.Option(help="your e-mail or page, for the sources' operators", envvar=CONTACT)
    ] = None,
    minimum: Annotated[int | None, typer.Option(help="refuse fewer items")] = None,
    max_shrinkage: Annotated[
        float | None, typer.Option(help="refuse a list that lost more than this share (default 0.2)")
    ] = None,
    verbose: Verbose = False,
) -> None:
    """Load the reference data into the warehouse and check it; with --live or --file, refresh from sources.

    Without options only the shipped data is used. A source that fails or looks wrong leaves its list as it
    was; every attempt is a row of the table `ingest`.

    Examples:

    - `culturescope ingest`

    - `culturescope ingest --live --contact me@example.org`

    - `culturescope ingest --source wikidata --live --language en,zh --endpoint http://localhost:7878/query`

    - `culturescope ingest --source fmlama --file fmlama_en.jsonl --file fmlama_zh.jsonl`
    """
    from warehouse import run_checks

    with errors():
        warehouse = Warehouse.open()
        if live or file or source:
            given = {
                "sources": source,
                "files": file,
                "languages": split(language),
                "endpoint": endpoint,
                "contact": contact,
                "minimum": minimum,
                "max_shrinkage": max_shrinkage,
            }
            refresh(warehouse, {k: v for k, v in given.items() if v is not None}, live, verbose)
        lists = (
            "SELECT item_list, n_items, list_hash, source FROM item_list WHERE is_current ORDER BY item_list"
        )
        show(warehouse.query(lists), Format.table, "Item lists")
        sets = "SELECT dish_set, n_dishes, n_rows, source FROM dish_set ORDER BY dish_set"
        if not (found := warehouse.query(sets)).is_empty():
            show(found, Format.table, "Dish sets")
        _report_checks(run_checks(warehouse))
        err.print(f"warehouse: {warehouse.path}", soft_wrap=True)


@app.command()
def check() -> None:
    """Check the warehouse's integrity and set unreadable Parquet parts aside, to be scored again.

    Example: `culturescope check`
    """
    from warehouse import run_checks, verify_parts

    with errors():
        warehouse = Warehouse.open()
        lost = verify_parts(warehouse)
        for kind, part, n, problem in lost.rows():
            err.print(f"[red]set aside[/] {kind}/{part} ({n} units to be done again): {problem}")
        _report_checks(run_checks(warehouse))


@models_app.command("list")
def models_list(form: As = Format.table) -> None:
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
                {"name": spec.name, "kind": spec.kind, "model": spec.model, "dtype": spec.dtype}
                | {"licence": licence, "prepared": ready}
            )
        show(pl.DataFrame(rows), form)


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
) -> None:
    """Query the warehouse, also while flows run.

    Examples:

    - `culturescope sql "SELECT * FROM leaderboard" --format csv`

    - `culturescope sql "SELECT country, neighbour FROM country_neighbour WHERE domain = 'currency' LIMIT 9"`
    """
    with errors():
        show(Warehouse.open().query(sys.stdin.read() if query == "-" else query), form)


@app.command()
def report(
    evaluation: Annotated[
        str | None,
        typer.Argument(help=f"{', '.join(evaluations())}; default: that of the newest run"),
    ] = None,
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


def _report_checks(found: object) -> None:
    import polars as pl

    assert isinstance(found, pl.DataFrame)
    bad = found.filter(pl.col("n_violations") > 0)
    for name, n, example in bad.rows():
        err.print(f"[red]check failed[/] {name}: {n} rows, such as {example}")
    if bad.height:
        raise typer.Exit(1)
    err.print(f"[green]ok[/] {found.height} integrity checks")


if __name__ == "__main__":
    app()
