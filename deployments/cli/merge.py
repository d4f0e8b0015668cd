"""``culturemeter merge``: take over the runs and answers of other homes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import polars as pl
import typer

from deployments.cli.common import As, DryRun, errors
from deployments.show.display import Format, say, show, working
from warehouse import Warehouse
from warehouse.snapshot import refuse_absent
from warehouse.store import store_named

if TYPE_CHECKING:
    from warehouse.merging import Merged
    from warehouse.store import Store

_OTHERS = "home folders, or postgresql://user@host/database; they are only read"
_PARTS = "s3://bucket/prefix of a database among them (default: CULTUREMETER_PARTS)"


def merge(
    others: Annotated[list[str], typer.Argument(metavar="OTHER_HOME…", help=_OTHERS)],
    parts: Annotated[str | None, typer.Option("--parts", metavar="PLACE", help=_PARTS)] = None,
    dry_run: DryRun = False,
    form: As = Format.table,
) -> None:
    """Take over the answers, runs, imports, rankings and ratings of other homes into this one.

    What is here first stays; what another home has otherwise is listed at the end. A run whose numbers rest
    on other answers or on another cohort is not taken over, but its answers are: run it here, and nothing is
    sent again. Damaged parts are left out. Run it again after an interruption: nothing is taken twice. A dry
    run compares each home with this one as it is now.

    Examples:

    - `culturemeter merge /scratch/job-1 /scratch/job-2`

    - `culturemeter merge --dry-run /scratch/job-*`
    """
    from warehouse.merging import merge as merge_it

    with errors("run again to go on"):
        stores = [_store(place, parts) for place in dict.fromkeys(others)]
        target = _target(stores, dry_run)
        rows: list[pl.DataFrame] = []
        notes: list[tuple[str, str, str]] = []
        try:
            for store in stores:
                with working("merging") as status:
                    merged = merge_it(
                        target, store, _compares, is_dry=dry_run,
                        report=lambda n, of: status.update(f"part {n:,} of {of:,}"),
                    )  # fmt: skip
                rows.append(merged.taken.select(pl.lit(store.place).alias("home"), pl.all()))
                notes += _notes(store.place, merged)
        finally:
            if rows:
                show(
                    pl.concat(rows),
                    form,
                    "Would be taken over" if dry_run else f"Taken over into {target.store.place}",
                )
            for line, head, style in notes:
                say(line, head, style)


def _target(stores: Sequence[Store], is_dry: bool) -> Warehouse:
    """Return this home's warehouse. A misspelt home is refused before one is made; a dry run makes none."""
    for store in stores:
        refuse_absent(store)
    return Warehouse.existing() if is_dry else Warehouse.open()


def _store(place: str, parts: str | None) -> Store:
    """Return the store that an argument names."""
    is_database = place.startswith(("postgresql://", "postgres://"))
    return store_named(place, parts if is_database else None)


def _compares(name: str) -> bool:
    """Return whether an evaluation's numbers are computed over a cohort; true for one unknown here."""
    from deployments.evaluations import evaluation, sound

    return name not in sound() or evaluation(name).compares


def _notes(place: str, merged: Merged) -> list[tuple[str, str, str]]:
    """Return the lines below the table: text, head and style."""
    lines = [(line, "conflict", "yellow") for line in merged.conflicts]
    lines += [(f"{part}; in {place}", "left out", "red") for part in merged.damaged]
    if merged.n_waiting:
        text = f"{place}: a server still works on {merged.n_waiting:,} requests; run there, then merge again"
        lines.append((text, "waiting", "yellow"))
    if merged.conflicts:
        text = (
            "run these models here to compute their numbers: the answers are here, and nothing is sent again"
        )
        lines.append((text, "see", "dim"))
    return lines
