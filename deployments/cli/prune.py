"""``culturescope prune``: what may go, why the rest stays, and its deletion."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated

import polars as pl
import typer

from deployments.cli.common import As, errors
from deployments.show.display import Format, say, show
from warehouse import Warehouse

_DAYS = {"d": 1, "w": 7, "m": 30, "y": 365}
_AGE = "delete the answers of occasions that ended so long ago: 90d, 12w, 6m or 1y (default: of none)"


def prune(
    older_than: Annotated[str | None, typer.Option(metavar="AGE", help=_AGE)] = None,
    delete: Annotated[bool, typer.Option("--delete", help="delete what is shown to go")] = False,
    form: As = Format.table,
) -> None:
    """Show what can be deleted and why the rest stays; with `--delete`, delete it.

    Goes: parts that others have replaced, damaged ones in quarantine, and with `--older-than` the answers of
    old occasions, whose numbers stay in the history. Stays: what a leaderboard or a cohort rests on. Of a
    shared warehouse what this machine has fetched goes, too, where it is more than CULTURESCOPE_CACHE_GB.

    Example: `culturescope prune --older-than 90d`
    """
    from warehouse.prune import prunable
    from warehouse.prune import prune as delete_it

    with errors():
        age = _age(older_than) if older_than else None
        warehouse = Warehouse.open()
        plan = prunable(warehouse, age)
        if delete:
            delete_it(warehouse, age)
        shown = plan.with_columns(goes=pl.when("goes").then(pl.lit("goes")).otherwise(pl.lit("stays")))
        if form is Format.table:
            shown = shown.with_columns(bytes=pl.col("bytes").map_elements(_size, pl.String)).rename(
                {"goes": "", "n_files": "files", "bytes": "size"}
            )
        show(shown, form, "Parts on disk", is_wide=True)
        going = plan.filter("goes")
        n, size = sum(going["n_files"]), _size(sum(going["bytes"]))
        if delete:
            say(f"{n:,} files, {size}", "deleted")
        else:
            say(
                f"nothing is deleted yet: --delete deletes {n:,} files, {size}" if n else "nothing may go",
                style="",
            )
        if kept := warehouse.store.kept():
            say(f"this machine keeps {kept}", style="")


def _age(text: str) -> timedelta:
    """Raises ValueError that says how an age is written."""
    given = re.fullmatch(r"(\d{1,5})([dwmy])", text.strip())
    if not given:
        raise ValueError(f"--older-than {text}: write it as 90d, 12w, 6m or 1y")
    return timedelta(days=int(given[1]) * _DAYS[given[2]])


def _size(n: int) -> str:
    """Bytes in words."""
    return f"{n / 1e6:,.1f} MB" if n < 1e9 else f"{n / 1e9:,.1f} GB"
