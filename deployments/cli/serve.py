"""``culturescope serve``: every evaluation in the Prefect UI and on a schedule, here or in a work pool."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from deployments.cli import options
from deployments.cli.common import Models, errors
from deployments.evaluations import DEFAULT_PROFILE
from deployments.serve.server import ServerError, configure, connect
from deployments.show.display import say
from warehouse import Warehouse

CRON = "when to re-evaluate (UTC); replaces what is scheduled, which is at first 0 3 * * 1: Mondays at 3"
BUDGET = "that a scheduled run may use of a model and its judges (default: no limit)"
POOL = "register to this Prefect work pool, whose workers run it all, and end; the server is PREFECT_API_URL"
LIMIT = "of a pool: runs at work at a time, on all its workers"
API = "PREFECT_API_URL"


def serve(
    model: Models = None,
    judge: Annotated[list[str] | None, typer.Option(metavar="NAME", help="who judges; repeat it")] = None,
    evaluations: Annotated[
        str | None, typer.Option(metavar="NAME,…", help="evaluations to repeat (default: all)")
    ] = None,
    profile: Annotated[str, typer.Option(help="profile of the re-evaluation")] = DEFAULT_PROFILE,
    cron: Annotated[str | None, typer.Option(help=CRON, show_default=False)] = None,
    max_total_tokens: Annotated[int | None, typer.Option(min=1, help=f"tokens {BUDGET}")] = None,
    max_usd: Annotated[float | None, typer.Option(min=0, help=f"dollars {BUDGET}")] = None,
    port: Annotated[int, typer.Option(min=1, max=65535, help="port of the Prefect UI and API")] = 4200,
    pool: Annotated[str | None, typer.Option(metavar="NAME", help=POOL)] = None,
    limit: Annotated[int | None, typer.Option(min=1, help=LIMIT)] = None,
) -> None:
    """Start Prefect on 127.0.0.1 with every evaluation, and all on a schedule; Ctrl-C stops it.

    The UI asks for the login that is printed. Schedules can be paused and changed there, and stay so. One run
    is at work at a time, those started by hand first. What was missed while nothing served it is dropped;
    what was at work goes on when it serves again.

    With `--pool` nothing is served here: any machine that has this program runs what the server of
    `PREFECT_API_URL` has in the pool, once the command that is printed last is started there. A run whose
    machine dies goes on at another one.

    Examples:

    - `culturescope serve --model gemma3-270m --cron "0 6 * * *"`

    - `culturescope serve --pool lab --limit 4`
    """
    with errors("run again to serve"):
        if limit is not None and pool is None:
            raise ValueError("--limit is of a work pool: give --pool too, or leave it out")
        home = Warehouse.open().home
        configure(home)  # before Prefect is imported
        check_cron(cron)
        from deployments.serve.served import ServeOptions

        models, judges, scheduled = (
            options.split(names) if names else None
            for names in (model, judge, [evaluations] if evaluations else None)
        )
        wishes = ServeOptions(models, judges, scheduled, profile, cron, max_total_tokens, max_usd)
        if pool is None:
            from deployments.serve.serving import serve_until_interrupted

            return serve_until_interrupted(home, wishes, port)
        if not os.environ.get(API):
            raise ServerError(f"--pool: set {API} to a Prefect server that the workers reach too")
        url = connect(home)
        from deployments.serve.serving import needed, to_pool

        line = to_pool(url, pool, limit, wishes)
        if not os.environ.get("CULTURESCOPE_WAREHOUSE"):
            say(
                "each worker has a warehouse of its own: set CULTURESCOPE_WAREHOUSE to share one",
                "note",
                "yellow",
            )
        names = ", ".join(needed(home))
        say(f"on each worker, with {names} as here:" if names else "on each worker:", style="")
        typer.echo(line)


def check_cron(cron: str | None) -> None:
    """Raise ValueError for what is no cron expression; Prefect would refuse it when all else has started."""
    from prefect.client.schemas.schedules import CronSchedule
    from pydantic import ValidationError

    try:
        if cron is not None:
            CronSchedule(cron=cron, timezone="UTC")
    except ValidationError as error:
        raise ValueError(
            f"--cron {cron!r} is no cron expression: write minute, hour, day, month and weekday, as in "
            '"0 6 * * *"'
        ) from error
