"""``culturemeter prefetch``: everything that runs need on a node without network, in one folder."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from deployments.cli.pending import sessions_of
from deployments.cli.run import Begin, Commands, Switches, opened
from deployments.show.display import notes, say, working

_PLACE = typer.Argument(metavar="FOLDER", help="the folder to fill; it may be moved")


class _Prefetches(Commands):
    """A command for each evaluation, with the options of its run."""

    def begin(self, context: Any) -> Begin:
        return partial(_prefetch, context.params.get("folder"))


app = typer.Typer(
    cls=_Prefetches,
    no_args_is_help=True,
    subcommand_metavar="EVALUATION [OPTIONS]",
    help="Fetch everything that a run needs on a node without network into a folder.",
)


@app.callback()
def prefetch(folder: Annotated[Path, _PLACE]) -> None:
    """Fetch everything that a run needs on a node without network into a folder.

    Weights, tokenizers, embedders, data sets, your engine specs and packs; reference data come with the
    package. Name an evaluation and any options of its run. On the node: `. FOLDER/offline.sh`, then
    `culturemeter doctor --offline` says what is missing there.

    Example: `culturemeter prefetch ./away worldwise -m smollm2-135m --profile smoke`
    """


def _prefetch(folder: Path, name: str, switches: Switches, texts: Mapping[str, Any]) -> None:
    """Fetch what the runs that the options name need."""
    from flows.prefetch import caches_in, fetch  # imports nothing that has read the variables yet

    os.environ.update(caches_in(folder))
    opened(switches)
    sessions = sessions_of(name, switches, texts)
    if switches.dry_run:
        return
    folder.mkdir(parents=True, exist_ok=True)
    with notes(switches.verbose, logging.WARNING), working("fetching") as status:
        kept = fetch(sessions, folder, lambda what: status.update(f"fetching {what}"))
    for line in kept:
        say(line, "not in it:", "yellow")
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    say(f"{folder}: {size / 1e6:,.0f} MB", "fetched:", "green")
    say(f"there, in bash: . {folder.name}/offline.sh && culturemeter doctor --offline", "next:", "dim")
