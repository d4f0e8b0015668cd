"""``culturemeter publish``: write a static site of all finished runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from deployments.cli.common import errors
from deployments.show.display import out, say, working
from warehouse import Warehouse

_FOLDER = "folder to write to; an earlier site there is replaced as a whole, other content never"
_ANSWERS = "publish prompts and models' answers too, as tables"
_LICENCE = "licence of the numbers: an SPDX identifier such as CC-BY-4.0, or a URL"


def publish(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help=_FOLDER)],
    title: Annotated[str, typer.Option(help="title of the site")] = "Culturemeter",
    licence: Annotated[str | None, typer.Option(help=_LICENCE)] = None,
    by: Annotated[str | None, typer.Option(metavar="NAME", help="publisher's name")] = None,
    url: Annotated[str | None, typer.Option(help="URL of the published site, for citations")] = None,
    cite: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="citation (default: made from title, publisher and URL)"),
    ] = None,
    include_answers: Annotated[bool, typer.Option("--include-answers", help=_ANSWERS)] = False,
) -> None:
    """Write a static site: leaderboards, history, reports, figures, data as Parquet, SQL in the browser.

    Any file server can serve it, and it contacts no other host. It never holds credentials or what people
    answered in studies. Models' answers are in it only with --include-answers, but reports quote some.

    Examples:

    - `culturemeter publish site --licence CC-BY-4.0 --by "Our lab"`

    - `python -m http.server --directory site`
    """
    with errors("nothing was published; run again"):
        from deployments.publish.data import SiteAbout
        from deployments.publish.site import publish as write

        about = SiteAbout(title, licence, by, cite, url)
        with working("publishing") as status:
            done = write(
                Warehouse.existing(),
                folder,
                about,
                include_answers,
                lambda what: status.update(f"publishing {what}"),
            )
        out(done.folder, "site")
        rows = sum(table.n_rows for table in done.tables)
        say(
            f"{done.n_pages} pages, {done.n_figures} figures, {len(done.tables)} tables of {rows:,} rows: "
            f"{done.n_files} files, {done.n_bytes / 1e6:.1f} MB, of which the query engine is "
            f"{done.engine_bytes / 1e6:.1f}",
            style="",
        )
        if licence is None:
            say(
                "no licence is stated: --licence CC-BY-4.0 tells others how they may use the numbers",
                "note",
                "yellow",
            )
        say(f"{done.fingerprint}: culturemeter verify {folder} --fingerprint …", "fingerprint", "dim")
        say(f"view it: python -m http.server --directory {folder}", style="dim")


def verify(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="folder with a published site")],
    fingerprint: Annotated[
        str | None,
        typer.Option(help="fingerprint that `publish` printed, or at least its first 8 characters"),
    ] = None,
    here: Annotated[bool, typer.Option("--here", help="also compare the site with this warehouse")] = False,
) -> None:
    """Compare a published site with the hashes in it; exits with 1 if a file has changed.

    Somebody who can change a file of the site can change its list of hashes too. Comparing the fingerprint
    with the one quoted in citations shows that. `--here`, followed by `check --numbers`, checks the numbers
    against the stored answers.

    Examples:

    - `culturemeter verify site`

    - `culturemeter verify site --fingerprint 3fa8c51e --here`
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
