"""``culturescope copy``: a whole warehouse from a folder to a shared store, or back."""

from __future__ import annotations

from typing import Annotated

import typer

from deployments.cli.common import As, errors
from deployments.show.display import Format, say, show, working
from warehouse import Warehouse
from warehouse.store import store_named

_FROM = "the warehouse that is copied: a home folder, or postgresql://user@host/database"
_TO = "where to: an empty home folder, or a database without a warehouse"
_PARTS = "s3://bucket/prefix of a database (default: CULTURESCOPE_PARTS)"


def copy(
    source: Annotated[str, typer.Option("--from", metavar="PLACE", help=_FROM)],
    target: Annotated[str, typer.Option("--to", metavar="PLACE", help=_TO)],
    from_parts: Annotated[str | None, typer.Option(metavar="PLACE", help=f"of --from: {_PARTS}")] = None,
    to_parts: Annotated[str | None, typer.Option(metavar="PLACE", help=f"of --to: {_PARTS}")] = None,
    form: As = Format.table,
) -> None:
    """Copy a warehouse between a folder and a shared store, and verify it. Interrupted, run it again.

    Passwords and keys are taken from the environment only: PGPASSWORD, or the password in
    CULTURESCOPE_WAREHOUSE if that names the same database, and the AWS variables. Models, engine specs and
    studies with people are files of a home and are not copied.

    Examples:

    - `culturescope copy --from .culturescope --to postgresql://me@db/culturescope --to-parts s3://bucket/parts`

    - `culturescope copy --from postgresql://me@db/culturescope --to ~/backup`
    """
    from warehouse.copying import copy as copy_it

    with errors("run again to go on"):
        there, here = store_named(source, from_parts), store_named(target, to_parts)
        if there.place == here.place:
            raise ValueError("--from and --to are the same warehouse")
        if there.version() is None:  # opening it would make one
            raise ValueError(f"there is no warehouse at {there.place}: check --from")
        with working("copying") as status:
            verified = copy_it(
                Warehouse.open(there), here, lambda n, of: status.update(f"part {n:,} of {of:,}")
            )
        show(verified, form, f"Copied to {here.place}")
        say("counts and hashes of all tables and parts are equal", "verified")
