"""``culturemeter serve``: offer and schedule every evaluation in Prefect, here or in a work pool."""

from __future__ import annotations

import asyncio
import os
from typing import Annotated

import typer

from deployments.cli import options
from deployments.cli.common import Models, errors
from deployments.evaluations import DEFAULT_PROFILE
from deployments.serve.server import ServerError, configure, connect
from deployments.show.display import out, say
from warehouse import Warehouse

CRON = "when to re-evaluate (UTC); replaces the schedule, at first 0 3 * * 1 (Mondays at 3)"
BUDGET = "that a scheduled run may spend per model and its judges (default: no limit)"
POOL = "register all with this work pool (server: PREFECT_API_URL), then end"
LIMIT = "with --pool: most runs at a time over all its workers"
API = "PREFECT_API_URL"


def serve(
    model: Models = None,
    judge: Annotated[
        list[str] | None, typer.Option("--judges", metavar="NAME", help="judge; may be repeated")
    ] = None,
    evaluations: Annotated[
        str | None, typer.Option(metavar="NAME,…", help="evaluations to schedule (default: all)")
    ] = None,
    profile: Annotated[str, typer.Option(help="profile of the scheduled runs")] = DEFAULT_PROFILE,
    cron: Annotated[str | None, typer.Option(help=CRON, show_default=False)] = None,
    max_total_tokens: Annotated[int | None, typer.Option(min=1, help=f"tokens {BUDGET}")] = None,
    max_usd: Annotated[float | None, typer.Option(min=0, help=f"dollars {BUDGET}")] = None,
    port: Annotated[int, typer.Option(min=1, max=65535, help="port of the Prefect UI and API")] = 4200,
    pool: Annotated[str | None, typer.Option(metavar="NAME", help=POOL)] = None,
    limit: Annotated[int | None, typer.Option(min=1, help=LIMIT)] = None,
) -> None:
    """Serve Prefect on 127.0.0.1 with every evaluation to start by hand or on a schedule, until Ctrl-C.

    Log in to the UI with the login that is printed. Schedules that you pause or change there stay so. One run
    is at work at a time; runs started by hand come first. Runs missed while nothing was serving are dropped;
    interrupted runs continue when you serve again.

    With `--pool` nothing is served here. Any machine with this program runs the pool's work once you start
    there the command that is printed last. If its machine dies, a run continues on another.

    Examples:

    - `culturemeter serve --model gemma3-270m --cron "0 6 * * *"`

    - `culturemeter serve --pool lab --limit 4`
    """
    with errors("run again to serve"):
        if limit is not None and pool is None:
            raise ValueError("--limit needs --pool: add --pool NAME, or leave --limit out")
        home = Warehouse.open().home
        configure(home)  # before Prefect is imported
        if dates := check_cron(cron):
            say(f"{', '.join(dates)} (UTC)", "next dates")
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
            raise ServerError(f"--pool: set {API} to a Prefect server that the workers can reach")
        url = connect(home)
        from deployments.serve.serving import needed, to_pool

        line = to_pool(url, pool, limit, wishes)
        if not os.environ.get("CULTUREMETER_WAREHOUSE"):
            say(
                "each worker has a warehouse of its own: set CULTUREMETER_WAREHOUSE to share one",
                "note",
                "yellow",
            )
        names = ", ".join(needed(home, [*(models or ()), *(judges or ())]))
        say(f"on each worker, with {names} as here:" if names else "on each worker:", style="")
        out(line)


def check_cron(cron: str | None) -> list[str]:
    """Return the next three dates of a cron expression (UTC); none without one.

    Raises:
        ValueError: it is invalid, which Prefect would say only after starting, or never or always comes.
    """
    from prefect.server.schemas.schedules import CronSchedule
    from pydantic import ValidationError

    if cron and len(cron.split()) > 5:  # Prefect would take the sixth for seconds
        raise ValueError(
            f"--cron {cron!r} has more than five fields: write minute, hour, day, month and weekday"
        )
    try:
        if cron is not None:
            dates = asyncio.run(CronSchedule(cron=cron, timezone="UTC").get_dates(3))
            return [f"{date:%Y-%m-%d %H:%M}" for date in dates]
    except ValidationError as error:
        raise ValueError(
            f"--cron {cron!r} is not a cron expression: write minute, hour, day, month and weekday, as in "
            '"0 6 * * *"'
        ) from error
    except ValueError as error:  # of the library that computes the dates
        raise ValueError(f"--cron {cron!r} never comes: no such date is in the next 50 years") from error
    return []
