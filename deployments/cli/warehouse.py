"""``culturemeter check``, ``sql``, ``copy`` and ``prune``: check, query, copy and clean up the warehouse."""

from __future__ import annotations

import re
import sys
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import polars as pl
import typer

from deployments.cli.common import As, Wide, errors
from deployments.show.display import Format, say, show, show_rows, show_whole, working, write
from warehouse import Warehouse
from warehouse.store import store_named

SHOWN = 20
"""Most differing rows of a configuration that `check --numbers` lists."""
_ALL_COLUMNS = re.compile(
    r"^\s*\(*\s*(from|describe|show|summarize)\b|(select|,|\.)\s*(distinct\s+)?\*", re.I
)
"""Queries for all columns of something, of which a table shows the first."""
_FROM = "warehouse to copy: a home folder, or postgresql://user@host/database"
_TO = "place to copy to: an empty home folder, or a database without a warehouse"
_PARTS = "s3://bucket/prefix, if it is a database (default: CULTUREMETER_PARTS)"
_DAYS = {"d": 1, "w": 7, "m": 30, "y": 365}
_AGE = "also list answers of occasions older than this: 90d, 12w, 6m or 1y (default: none)"


def check(
    numbers: Annotated[
        bool, typer.Option("--numbers", help="also recompute every metric row from the stored answers")
    ] = False,
) -> None:
    """Check the warehouse's integrity; set damaged Parquet parts aside, so that runs answer them again.

    `--numbers` recomputes every row of finished runs from the stored answers. If rows differ, because
    somebody has edited them, it lists them and exits with 1.

    Examples:

    - `culturemeter check`

    - `culturemeter check --numbers`
    """
    from warehouse import compact_parts, verify_parts

    with errors():
        warehouse = Warehouse.existing()
        for kind, part, n, problem in verify_parts(warehouse).rows():
            say(f"{kind}/{part} ({n} units to do again): {problem}", "set aside", "red")
        compact_parts(warehouse)
        report_checks(warehouse)
        if numbers and not _check_numbers(warehouse):
            raise typer.Exit(1)


def _check_numbers(warehouse: Warehouse) -> bool:
    """Return whether every stored row equals the recomputed one; print those that do not."""
    from deployments.serve.server import configure

    configure(warehouse.home)  # before Prefect is imported
    from deployments.evaluations import evaluation
    from flows.stored import recomputed

    is_right = True
    for result in recomputed(evaluation):
        of = f"{result.evaluation} {result.config_hash}{f', {result.occasion}' if result.occasion else ''}"
        if result.reason:
            say(f"{of}: {result.reason}", "not recomputed", "yellow")
            continue
        n = len(result.differences)
        say(f"{of}: {result.n_rows:,} rows", f"{n} differ" if n else "equal", "red" if n else "green")
        for row in result.differences[:SHOWN]:
            where = f"{row.model}, {row.metric}, {row.slice}, {row.column}"
            say(f"{where}: {row.stored} is stored, {row.recomputed} recomputed", " differs", "red")
        is_right &= not n
    return is_right


def report_checks(warehouse: Warehouse) -> None:
    """Print failed integrity checks; exit with code 1 if there are any."""
    from warehouse import run_checks

    checks = run_checks(warehouse)
    violated = checks.filter(pl.col("n_violations") > 0)
    for name, n, example in violated.rows():
        say(f"{name}: {n} rows, such as {example}", "check failed", "red")
    if violated.height:
        raise typer.Exit(1)
    say(f"{checks.height} integrity checks", "ok")


def sql(
    query: Annotated[str, typer.Argument(help="SQL query; - reads it from standard input")],
    form: As = Format.table,
    out: Annotated[
        Path | None, typer.Option(help="write the rows to this file: .parquet, .csv or .json")
    ] = None,
    wide: Wide = False,
) -> None:
    """Query the warehouse, also while flows run.

    Examples:

    - `culturemeter sql "SELECT * FROM leaderboard" --format csv`

    - `culturemeter sql "SELECT country, neighbour FROM country_neighbour WHERE domain = 'currency' LIMIT 9"`

    - `culturemeter sql "FROM item_logprob" --out scores.parquet`
    """
    from deployments.show.boards import sql_variables

    with errors():
        text = read_query() if query == "-" else query
        if not re.sub(r"--.*|/\*.*?\*/|[;\s]", "", text):
            raise ValueError('there is no query: write one, such as "FROM leaderboard"')
        warehouse = Warehouse.existing()
        variables = sql_variables(warehouse, text)
        if out:
            write(warehouse.query(text, variables=variables), out)
        elif form is Format.table:
            rows = warehouse.rows(text, variables=variables)
            show_rows(rows, is_wide=wide) if wide or _ALL_COLUMNS.search(text) else show_whole(rows)
        else:
            show(warehouse.query(text, variables=variables), form)


def read_query() -> str:
    """Return the query on standard input; raises ValueError if it is not UTF-8."""
    try:
        return sys.stdin.read()
    except UnicodeDecodeError as error:
        raise ValueError("standard input is not UTF-8: save the query in UTF-8") from error


def copy(
    source: Annotated[str, typer.Option("--from", metavar="PLACE", help=_FROM)],
    target: Annotated[str, typer.Option("--to", metavar="PLACE", help=_TO)],
    from_parts: Annotated[
        str | None, typer.Option(metavar="PLACE", help=f"parts of --from: {_PARTS}")
    ] = None,
    to_parts: Annotated[str | None, typer.Option(metavar="PLACE", help=f"parts of --to: {_PARTS}")] = None,
    form: As = Format.table,
) -> None:
    """Copy a warehouse between a folder and a shared store, and verify the copy. Run it again to resume.

    Passwords and keys come from the environment only: PGPASSWORD, or the password in CULTUREMETER_WAREHOUSE
    if it names the same database, and the AWS variables. Models, engine specs and studies with people are
    files in CULTUREMETER_HOME and are not copied.

    Examples:

    - `culturemeter copy --from .culturemeter --to postgresql://me@db/culturemeter --to-parts s3://bucket/parts`

    - `culturemeter copy --from postgresql://me@db/culturemeter --to ~/backup`
    """
    from warehouse.copying import copy as copy_it

    with errors("run again to go on"):
        there, here = store_named(source, from_parts), store_named(target, to_parts)
        if there.place == here.place:
            raise ValueError("--from and --to are the same warehouse")
        if there.version() is None:  # opening it would create one
            raise ValueError(f"there is no warehouse at {there.place}: check --from")
        with working("copying") as status:
            verified = copy_it(
                Warehouse.open(there), here, lambda n, of: status.update(f"part {n:,} of {of:,}")
            )
        show(verified, form, f"Copied to {here.place}")
        say("counts and hashes of all tables and parts are equal", "verified")


def prune(
    older_than: Annotated[str | None, typer.Option(metavar="AGE", help=_AGE)] = None,
    delete: Annotated[bool, typer.Option("--delete", help="delete the listed parts")] = False,
    form: As = Format.table,
) -> None:
    """Show what can be deleted and why the rest is kept; `--delete` deletes it.

    Deletable are replaced parts, damaged parts in quarantine and, with `--older-than`, the answers of old
    occasions (their numbers stay in the history). Whatever a leaderboard or a cohort needs is kept. With a
    shared warehouse, this machine's cache is also cut to CULTUREMETER_CACHE_GB.

    Example: `culturemeter prune --older-than 90d`
    """
    from warehouse.prune import prunable
    from warehouse.prune import prune as delete_it

    with errors():
        age = _age(older_than) if older_than else None
        warehouse = Warehouse.existing()
        plan = prunable(warehouse, age)
        if delete:
            delete_it(warehouse, age)
        table = plan.with_columns(goes=pl.when("goes").then(pl.lit("goes")).otherwise(pl.lit("stays")))
        if form is Format.table:
            table = table.with_columns(bytes=pl.col("bytes").map_elements(_size, pl.String)).rename(
                {"goes": "", "n_files": "files", "bytes": "size"}
            )
        show(table, form, "Parts on disk", is_wide=True)
        going = plan.filter("goes")
        n, size = sum(going["n_files"]), _size(sum(going["bytes"]))
        if delete:
            say(f"{n:,} files, {size}", "deleted")
        else:
            say(
                f"nothing is deleted yet; --delete deletes {n:,} files, {size}"
                if n
                else "nothing can be deleted",
                style="",
            )
        if cache := warehouse.store.cache_size():
            say(f"this machine keeps {cache}", style="")


def _age(text: str) -> timedelta:
    """Return an age as a duration; raises ValueError that shows how to write one."""
    match = re.fullmatch(r"(\d{1,5})([dwmy])", text.strip())
    if not match:
        raise ValueError(f"--older-than {text}: write it as 90d, 12w, 6m or 1y")
    return timedelta(days=int(match[1]) * _DAYS[match[2]])


def _size(n: int) -> str:
    """Return bytes in words."""
    return f"{n / 1e6:,.1f} MB" if n < 1e9 else f"{n / 1e9:,.1f} GB"
