"""``culturescope publish``: a static site of all that has finished."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from deployments.cli.common import errors
from deployments.show.display import err, say, working
from warehouse import Warehouse

_FOLDER = "where to; a site that is there already is replaced as a whole, any other folder is left alone"
_ANSWERS = "also what models answered and what they were asked, as tables"
_LICENCE = "of the numbers: an SPDX identifier such as CC-BY-4.0, or an address"


def publish(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help=_FOLDER)],
    title: Annotated[str, typer.Option(help="title of the site")] = "Culturescope",
    licence: Annotated[str | None, typer.Option(help=_LICENCE)] = None,
    by: Annotated[str | None, typer.Option(metavar="NAME", help="who publishes it")] = None,
    url: Annotated[str | None, typer.Option(help="address of the published site, for citations")] = None,
    cite: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="sentence to cite (default: made from title, authors and address)"),
    ] = None,
    include_answers: Annotated[bool, typer.Option("--include-answers", help=_ANSWERS)] = False,
) -> None:
    """Write a static site: leaderboards, history, reports, figures, data as Parquet, SQL in the browser.

    It needs no server but one for files, and asks no other host for anything. What people answered in studies
    and credentials are never in it, nor are answers of models unless you say so; reports quote some.

    Examples:

    - `culturescope publish site --licence CC-BY-4.0 --by "Our lab"`

    - `python -m http.server --directory site`
    """
    with errors("nothing was published; run again"):
        from deployments.publish.data import About
        from deployments.publish.site import publish as write

        about = About(title, licence, by, cite, url)
        with working("publishing") as status:
            done = write(
                Warehouse.existing(),
                folder,
                about,
                include_answers,
                lambda what: status.update(f"publishing {what}"),
            )
        err.print("[green]site[/]", end=" ")
        typer.echo(done.folder)
        rows = sum(table.n_rows for table in done.tables)
        say(
            f"{done.n_pages} pages, {done.n_figures} figures, {len(done.tables)} tables of {rows:,} rows: "
            f"{done.n_files} files, {done.n_bytes / 1e6:.1f} MB, of which the query engine is "
            f"{done.engine_bytes / 1e6:.1f}",
            style="",
        )
        if licence is None:
            say(
                "no licence is stated: --licence CC-BY-4.0 says what others may do with the numbers",
                "note",
                "yellow",
            )
        say(f"{done.fingerprint}: culturescope verify {folder} --fingerprint …", "fingerprint", "dim")
        say(f"look at it: python -m http.server --directory {folder}", style="dim")


def verify(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="a published site")],
    fingerprint: Annotated[
        str | None, typer.Option(help="fingerprint that publish printed, or at least its first 8 characters")
    ] = None,
    here: Annotated[
        bool, typer.Option("--here", help="also look for its numbers and answers in this warehouse")
    ] = False,
) -> None:
    """Hold a published site to the hashes in it; exits with 1 if a file is not what was published.

    Whoever can change a file of the site can change its list of hashes too. The fingerprint, quoted where the
    site is cited, tells. With `--here`, and `check --numbers` after it, the numbers are held to the answers.

    Examples:

    - `culturescope verify site`

    - `culturescope verify site --fingerprint 3fa8c51e --here`
    """
    with errors():
        from deployments.publish.site import verify as held

        done = held(folder, fingerprint, Warehouse.existing() if here else None)
        for problem in done.problems:
            say(problem, "differs", "red")
        if done.problems:
            raise typer.Exit(1)
        say(
            f"{done.n_files} files, numbers from {done.n_parts} parts with answers, fingerprint "
            f"{done.fingerprint}",
            "as published",
        )
