"""The command line: ``culturescope --help``. Heavy imports happen inside the commands that need them."""

from __future__ import annotations

import re
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from deployments.cli import (
    browse as cli_browse,
)
from deployments.cli import (
    builds as cli_builds,
)
from deployments.cli import (
    compare as cli_compare,
)
from deployments.cli import (
    copy as cli_copy,
)
from deployments.cli import (
    doctor as cli_doctor,
)
from deployments.cli import (
    ingest as cli_ingest,
)
from deployments.cli import (
    judge as cli_judge,
)
from deployments.cli import (
    pack as cli_pack,
)
from deployments.cli import (
    people as cli_people,
)
from deployments.cli import (
    prune as cli_prune,
)
from deployments.cli import (
    publish as cli_publish,
)
from deployments.cli import (
    ranking as cli_ranking,
)
from deployments.cli import (
    reproduce as cli_reproduce,
)
from deployments.cli import (
    run as cli_run,
)
from deployments.cli import (
    serve as cli_serve,
)
from deployments.cli.common import As, Config, Wide, errors
from deployments.evaluations import doors
from deployments.show.display import Format, err, say, show, working, write
from warehouse import Warehouse

SHOWN = 20
"""Rows that differ, of one configuration, that `check --numbers` names."""

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="How well do language models know the world's cultures? All state lives under `CULTURESCOPE_HOME`.",
)
OVERVIEW_TOO = "write an overview of every evaluation and model, and the page of each evaluation beside it"
PUBLISHED = "measured numbers and those of the papers side by side, not ranked"
NOT_RANKED = (
    "In the order of names, not of values: the papers had other models, items and prompts. equal, near: is "
    "the number defined as ours? All cells: csv, or the table published_result."
)
models_app = typer.Typer(no_args_is_help=True, help="List the known models, prepare the embedded ones.")
app.add_typer(cli_run.app, name="run")
app.command("browse")(cli_browse.browse)
app.command("compare")(cli_compare.compare)
app.command("drift")(cli_compare.drift)
app.command("copy")(cli_copy.copy)
app.command("doctor")(cli_doctor.doctor)
app.command("ingest")(cli_ingest.ingest)
app.command("prune")(cli_prune.prune)
app.command("publish")(cli_publish.publish)
app.command("verify")(cli_publish.verify)
app.command("ranking")(cli_ranking.ranking)
app.command("serve")(cli_serve.serve)
app.add_typer(cli_reproduce.app, name="reproduce")
app.add_typer(cli_browse.app, name="export")
app.add_typer(models_app, name="models")
app.add_typer(cli_judge.app, name="judge")
app.add_typer(cli_builds.specnorm, name="specnorm")
app.add_typer(cli_builds.culturall, name="culturall")
app.add_typer(cli_people.app, name="people")
app.add_typer(cli_pack.app, name="pack")

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
def check(
    numbers: Annotated[
        bool, typer.Option("--numbers", help="also make every metric row again from the stored answers")
    ] = False,
) -> None:
    """Check the warehouse's integrity and set damaged Parquet parts aside, to be answered again.

    With `--numbers` every row of a finished run is made again from its stored answers. A row that somebody
    has edited is named, and the command exits with 1.

    Examples:

    - `culturescope check`

    - `culturescope check --numbers`
    """
    from warehouse import compact_parts, verify_parts

    with errors():
        warehouse = Warehouse.open()
        for kind, part, n, problem in verify_parts(warehouse).rows():
            say(f"{kind}/{part} ({n} units to be done again): {problem}", "set aside", "red")
        compact_parts(warehouse, all_unhashed=True)
        cli_ingest.report_checks(warehouse)
        if numbers and not _check_numbers(warehouse):
            raise typer.Exit(1)


def _check_numbers(warehouse: Warehouse) -> bool:
    """Whether every stored row is what its answers come to; says which are not."""
    from deployments.serve.server import configure

    configure(warehouse.home)  # before Prefect is imported
    from deployments.evaluations import evaluation
    from flows.recomputed import recomputed

    is_right = True
    for result in recomputed(evaluation):
        of = f"{result.evaluation} {result.config_hash}{f', {result.occasion}' if result.occasion else ''}"
        if result.reason:
            say(f"{of}: {result.reason}", "not made again", "yellow")
            continue
        n = len(result.differences)
        say(f"{of}: {result.n_rows:,} rows", f"{n} differ" if n else "equal", "red" if n else "green")
        for row in result.differences[:SHOWN]:
            where = f"{row.model}, {row.metric}, {row.slice}, {row.column}"
            say(f"{where}: {row.stored} is stored, its answers come to {row.again}", " differs", "red")
        is_right &= not n
    return is_right


@models_app.command("list")
def models_list(form: As = Format.table, wide: Wide = False) -> None:
    """List the models known by name.

    Example: `culturescope models list --format json`
    """
    import polars as pl

    from tasks.engines.local import embedded
    from tasks.engines.protocols import EngineError
    from tasks.engines.specs import catalogue, read_spec

    with errors():
        home = Warehouse.open().home
        rows = []
        for known, path in catalogue(home / "engines").items():
            try:
                spec = read_spec(path)
            except EngineError as error:  # it does not hide the others
                unread = {"name": known, "kind": "", "dtype": "", "prepared": "cannot be read"}
                rows.append(unread | {"model": str(error), "licence": ""})
                continue
            name = spec.model.removeprefix(embedded.PREFIX)
            packaged = embedded.EMBEDDED.get(name) if name != spec.model else None
            is_ready = packaged is not None and embedded.is_ready(name, home / "models")
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
    from tasks.engines.local import embedded

    with errors():
        home = Warehouse.open().home
        for name in names or embedded.EMBEDDED:
            with working(f"{name}: preparing") as status:
                folder = embedded.prepare(name, home / "models", lambda s, n=name: status.update(f"{n}: {s}"))  # type: ignore[misc]
            say(f"{name}: {folder}", "ready")
            say(f"        {embedded.EMBEDDED[name].notice}", style="dim")


@app.command()
def sql(
    query: Annotated[str, typer.Argument(help="a query; - reads it from standard input")],
    form: As = Format.table,
    out: Annotated[Path | None, typer.Option(help="file to write instead: .parquet, .csv or .json")] = None,
    wide: Wide = False,
) -> None:
    """Query the warehouse, also while flows run.

    Examples:

    - `culturescope sql "SELECT * FROM leaderboard" --format csv`

    - `culturescope sql "SELECT country, neighbour FROM country_neighbour WHERE domain = 'currency' LIMIT 9"`

    - `culturescope sql "FROM item_logprob" --out scores.parquet`
    """
    with errors():
        text = sys.stdin.read() if query == "-" else query
        if not re.sub(r"--.*|/\*.*?\*/|[;\s]", "", text):
            raise ValueError('there is no query: write one, such as "FROM leaderboard"')
        rows = Warehouse.open().query(text)
        if out:
            write(rows, out)
        else:
            show(rows, form, is_wide=wide)


@app.command()
def leaderboard(
    evaluation: Of = None,
    occasion: Annotated[str | None, typer.Option(help="default: the newest of each model")] = None,
    with_history: Annotated[bool, typer.Option("--history", help="headlines on every occasion")] = False,
    published: Annotated[bool, typer.Option("--published", help=PUBLISHED)] = False,
    form: As = Format.table,
    config: Config = None,
    wide: Wide = False,
) -> None:
    """Print a leaderboard: for people the main columns, as csv or json the whole view.

    Examples:

    - `culturescope leaderboard spectral`

    - `culturescope leaderboard fmlama --format csv`

    - `culturescope leaderboard cure --history`

    - `culturescope leaderboard fmlama --published`
    """
    from deployments.show import report

    with errors():
        if (with_history or published) and occasion is not None:
            raise ValueError("--history shows every occasion, --published the newest: leave --occasion out")
        warehouse = Warehouse.open()
        name, chosen, labels = report.configuration(warehouse, evaluation, config)
        title = f"{name}, profile {labels}, config {chosen}"
        if with_history:
            rows = report.history(warehouse, name, chosen)
            return show(
                report.history_for_people(rows) if form is Format.table else rows, form, title, is_wide=wide
            )
        if published:
            rows = report.beside_published(warehouse, name, chosen)
            if form is Format.table:
                rows = report.published_for_people(rows)
            return show(rows, form, f"{title}: measured and published", NOT_RANKED, is_wide=wide)
        board = report.leaderboard(warehouse, name, chosen, occasion)
        title += "" if occasion is None else f", occasion {occasion}"
        beyond = report.beyond_null(warehouse, name, chosen, occasion)
        caption = "\n".join(filter(None, (doors()[name].caption, beyond)))
        if form is Format.table:
            board = report.for_people(board, doors()[name].columns)
        show(board, form, title, caption, is_wide=wide)


@app.command()
def report(
    evaluation: Of = None,
    out: Annotated[Path | None, typer.Option(help="default: report-….html at home")] = None,
    config: Config = None,
    everything: Annotated[bool, typer.Option("--all", help=OVERVIEW_TOO)] = False,
) -> None:
    """Write a self-contained HTML page: leaderboard, figures, error analysis, how the numbers are made.

    Examples:

    - `culturescope report fmlama --out fmlama.html`

    - `culturescope report --all`
    """
    from deployments.show.overview import write_all
    from deployments.show.report import OVERVIEW, configuration, reported, usual_file, write_report

    with errors():
        warehouse = Warehouse.open()
        if everything:
            if evaluation or config:
                raise ValueError("--all is about every evaluation: leave the evaluation and --config out")
            with working("drawing"):
                pages = write_all(warehouse, out or warehouse.home / OVERVIEW)
            for path in pages:
                err.print("[green]report[/]", end=" ")
                typer.echo(path)
            return
        chosen, key, _ = configuration(warehouse, evaluation, config, reported())
        with working("drawing"):
            path = write_report(warehouse, out or warehouse.home / usual_file(chosen), key, chosen)
        err.print("[green]report[/]", end=" ")
        typer.echo(path)


if __name__ == "__main__":
    app()
