"""The command line: ``culturescope --help``. Heavy imports happen inside the commands that need them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from deployments import profiles
from deployments.display import Format, bars, err, show
from deployments.server import ServerError, configure, connect
from tasks.engines.protocols import EngineError
from warehouse import Warehouse, WarehouseError

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="How well do language models know the world's cultures? All state lives under `CULTURESCOPE_HOME`.",
)
run_app = typer.Typer(no_args_is_help=True, help="Run an evaluation; only what is missing is done.")
models_app = typer.Typer(no_args_is_help=True, help="List the known models, prepare the embedded ones.")
leaderboard_app = typer.Typer(no_args_is_help=True, help="Print a leaderboard.")
app.add_typer(run_app, name="run")
app.add_typer(models_app, name="models")
app.add_typer(leaderboard_app, name="leaderboard")

Models = Annotated[
    list[str] | None,
    typer.Option("--model", "-m", help="catalogue name, Hugging Face id or folder; repeat it"),
]
Profile = Annotated[str, typer.Option(help=f"how much: {', '.join(profiles.names())}")]
As = Annotated[Format, typer.Option("--format", "-f", help="table for people, csv or json for programs")]
EMBEDDED = ["smollm2-135m", "gemma3-270m"]


@app.command()
def ingest() -> None:
    """Load the reference data and item lists into the warehouse, and check them.

    Example: `culturescope ingest`
    """
    from warehouse import run_checks

    with _errors():
        warehouse = Warehouse.open()
        lists = (
            "SELECT item_list, n_items, list_hash, source FROM item_list WHERE is_current ORDER BY item_list"
        )
        show(warehouse.query(lists), Format.table, "Item lists")
        _report_checks(run_checks(warehouse))
        err.print(f"warehouse: {warehouse.path}", soft_wrap=True)


@app.command()
def check() -> None:
    """Check the warehouse's integrity and set unreadable Parquet parts aside, to be scored again.

    Example: `culturescope check`
    """
    from warehouse import run_checks, verify_parts

    with _errors():
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

    with _errors():
        home = Warehouse.open().home
        rows = []
        for spec in catalogue(home / "engines").values():
            packaged = embedded.EMBEDDED.get(spec.name)
            ready = "on first use"
            if packaged and embedded.status(spec.name, home / "models").ready:
                ready = "yes"
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

    with _errors():
        home = Warehouse.open().home
        for name in names or EMBEDDED:
            with err.status(f"{name}: preparing") as status:
                folder = embedded.prepare(name, home / "models", lambda s, n=name: status.update(f"{n}: {s}"))  # type: ignore[misc]
            err.print(f"[green]ready[/] {name}: {folder}")
            err.print(f"        {embedded.EMBEDDED[name].notice}", style="dim")


@run_app.command("spectral")
def run_spectral(
    model: Models = None,
    profile: Profile = "demo",
    countries: Annotated[str | None, typer.Option(help="comma-separated ISO codes or names")] = None,
    domains: Annotated[str | None, typer.Option(help="comma-separated domains")] = None,
    max_items: Annotated[int | None, typer.Option(help="items of each list")] = None,
    normalisation: Annotated[str | None, typer.Option(help="sum, per_token or per_byte")] = None,
    refresh: Annotated[bool, typer.Option(help="score again what is stored")] = False,
    dry_run: Annotated[bool, typer.Option(help="show what would be done, and stop")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="show Prefect's log")] = False,
) -> None:
    """Does a model know the macrostructure of culture? (170 countries x 9 domains)

    Examples:

    - `culturescope run spectral --profile smoke`

    - `culturescope run spectral -m Qwen/Qwen3-0.6B -m ./my-model --profile full --dry-run`

    - `culturescope run spectral -m smollm2-135m --countries FR,IT,JP --domains currency,religions`
    """
    from pydantic import ValidationError

    from tasks.evaluations.spectral.params import SpectralParams

    given = {
        "models": model or EMBEDDED,
        "countries": _split(countries),
        "domains": _split(domains),
        "max_items": max_items,
        "normalisation": normalisation,
        "refresh": refresh,
    }
    with _errors():
        warehouse = Warehouse.open()
        configure(warehouse.home, verbose)
        try:
            chosen = profiles.load(profile, "spectral") | {k: v for k, v in given.items() if v is not None}
            params = SpectralParams.model_validate(chosen)
        except ValidationError as error:
            raise ValueError(
                "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
            ) from error
        from deployments.plan import show_plan

        work_left = show_plan(params)
        if dry_run or not work_left:
            return
        with err.status("starting Prefect"):
            connect(warehouse.home)
        from flows.spectral import spectral

        with bars():
            spectral(params)
    err.print("[green]done[/]  next: culturescope leaderboard spectral · culturescope report")


@leaderboard_app.command("spectral")
def leaderboard_spectral(
    form: As = Format.table,
    config: Annotated[str | None, typer.Option(help="config_hash; default: the newest")] = None,
) -> None:
    """Macro-F1 against people's categories, with interval, null baseline and the null models' own rows.

    Example: `culturescope leaderboard spectral --format csv`
    """
    from deployments.leaderboards import spectral_leaderboard

    with _errors():
        frame, title = spectral_leaderboard(Warehouse.open(), config, form is Format.table)
        show(frame, form, title)


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
    with _errors():
        show(Warehouse.open().query(sys.stdin.read() if query == "-" else query), form)


@app.command()
def report(
    out: Annotated[Path | None, typer.Option(help="default: report.html at home")] = None,
    config: Annotated[str | None, typer.Option(help="config_hash; default: the newest")] = None,
) -> None:
    """Write a self-contained HTML page: leaderboard, heatmaps, category bars, country maps.

    Example: `culturescope report --out spectral.html`
    """
    from deployments.report import write_report

    with _errors():
        warehouse = Warehouse.open()
        with err.status("drawing"):
            path = write_report(warehouse, out or warehouse.home / "report.html", config)
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

    with _errors():
        warehouse = Warehouse.open()
        configure(warehouse.home)
        serve_until_interrupted(warehouse.home, model or EMBEDDED, profile, cron, port)


@contextmanager
def _errors() -> Iterator[None]:
    """Expected errors are one clear message and exit code 1; anything else keeps its traceback."""
    from pydantic import ValidationError

    try:
        yield
    except (WarehouseError, EngineError, ServerError, ValueError) as error:
        if isinstance(error, ValidationError):
            raise
        err.print(f"[bold red]error:[/] {error}", highlight=False, markup=True, soft_wrap=True)
        raise typer.Exit(1) from error
    except OSError as error:
        err.print("[bold red]error:[/]", f"{error}", highlight=False)
        raise typer.Exit(1) from error


def _report_checks(found: object) -> None:
    import polars as pl

    assert isinstance(found, pl.DataFrame)
    bad = found.filter(pl.col("n_violations") > 0)
    for name, n, example in bad.rows():
        err.print(f"[red]check failed[/] {name}: {n} rows, such as {example}")
    if bad.height:
        raise typer.Exit(1)
    err.print(f"[green]ok[/] {found.height} integrity checks")


def _split(text: str | None) -> list[str] | None:
    return [part.strip() for part in text.split(",") if part.strip()] if text else None


if __name__ == "__main__":
    app()
