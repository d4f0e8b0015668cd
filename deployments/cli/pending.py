"""``culturemeter pending``: have a run's requests answered elsewhere, and take the answers in."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deployments.cli.common import errors
from deployments.cli.run import ALL, Begin, Commands, Switches, chosen_of_all, chosen_params, opened, planned
from deployments.evaluations import evaluation
from deployments.serve.server import configure
from deployments.show.display import notes, on_stdout, say, working
from tasks.report.text import plural
from warehouse import home

if TYPE_CHECKING:
    from flows.session import RunSession

_PLACE = typer.Argument(metavar="FOLDER", help="the folder that travels")
app = typer.Typer(
    no_args_is_help=True, help="Have a run's requests answered elsewhere, and take the answers in."
)


@app.callback()
def pending() -> None:
    """Have a run's requests answered elsewhere; take the answers in."""


class _Exports(Commands):
    """A command for each evaluation, with the options of its run."""

    def begin(self, context: Any) -> Begin:
        return partial(_export_new, context.params.get("folder"))


exports = typer.Typer(cls=_Exports, invoke_without_command=True, subcommand_metavar="[EVALUATION [OPTIONS]]")
app.add_typer(exports, name="export")


@exports.callback()
def export(context: typer.Context, folder: Annotated[Path, _PLACE]) -> None:
    """Write what a run would send next to a folder, with a program that answers it.

    FOLDER/run.py needs no culturemeter, only transformers, vLLM or the address of a server. The files of
    prompts are those of OpenAI's Batch API and of `vllm run-batch`. Name an evaluation and any options of its
    run. Without one, the next round of the folder's own runs is written: repeat until nothing is left.

    Examples:

    - `culturemeter pending export ./away cure -m smollm2-135m-vllm --profile smoke`

    - `culturemeter pending export ./away`
    """
    if context.invoked_subcommand is None:
        with errors():
            configure(home())
            from flows.pending import again
            from tasks.pending.folder import Folder

            with notes(False, logging.WARNING), working("planning"):
                sessions = again(Folder(folder), evaluation)
            _export(folder, sessions)


@app.command("import")
def import_(
    folder: Annotated[Path, _PLACE],
    also_named: Annotated[
        list[str] | None, typer.Option("--also-named", metavar="NAME", help="a served model's name there")
    ] = None,
) -> None:
    """Take in the answers in a folder, and compute the numbers of runs that wait for no more.

    Every line is checked against the plan. Refused lines are counted here and listed in FOLDER/refused.jsonl;
    files of answers stay as they are. Several runners may answer shares. A repeated import changes nothing.

    Example: `culturemeter pending import ./away`
    """
    with errors("import again: what is stored is kept"):
        configure(home())
        from flows.pending import take_in
        from tasks.pending.folder import REFUSED, Folder

        with notes(False, logging.WARNING), working("importing"):
            taken = take_in(Folder(folder.absolute()), evaluation, also_named or ())
        say(f"{plural(taken.stored, 'new answer')}; {taken.known:,} were here", "imported:", "green")
        for reason, (n, first) in taken.refused.items():
            say(f"{n:,} × {reason} (first: {first})", "refused:", "red")
        if taken.refused:
            say(f"all of them: {folder / REFUSED}", style="dim")
        for name, n in taken.left.items():
            say(f"{name}: {plural(n, 'request')}: culturemeter pending export {folder}", "left:", "yellow")
        for name, config in taken.finished.items():
            say(f"culturemeter leaderboard {name} --config {config}", "nothing is left:", "green")
        if taken.failures:
            raise ValueError("\n".join(taken.failures))


def sessions_of(name: str, switches: Switches, texts: Mapping[str, Any]) -> list[RunSession]:
    """Return the planned runs of one evaluation, or of all, as the options say; each plan is shown."""
    from deployments.cli.choices import one_of_all, packs_of_all

    opened(switches)
    if name == ALL:
        chosen = chosen_of_all(switches, texts)
        every = {own: one_of_all(own, chosen, packs) for own, packs in packs_of_all(chosen).items()}
    else:
        every = {name: chosen_params(name, switches, texts)}
    with on_stdout(switches.dry_run):
        quiet = replace(switches, probe=False)
        return [planned(own, params, quiet)[0] for own, params in every.items()]


def _export_new(folder: Path, name: str, switches: Switches, texts: Mapping[str, Any]) -> None:
    """Export runs as the options say."""
    sessions = sessions_of(name, switches, texts)
    if not switches.dry_run:
        _export(folder, sessions)


def _export(folder: Path, sessions: Sequence[RunSession]) -> None:
    """Write a folder and say what to do with it."""
    from flows.pending import export as write
    from tasks.pending.folder import Folder

    with notes(False, logging.WARNING), working("writing"):
        written = write(sessions, Folder(folder))
    for text in (*(failure for session in sessions for failure in session.failures), *written.kept):
        say(text, "not written:", "red")
    for name, n in written.files.items():
        say(f"{folder / 'requests' / name}: {plural(n, 'request')}", "written:", "green")
    if written.files:
        say(f"copy {folder} to where the models are, and there: python run.py", "next:", "dim")
        say(f"copy it back, then: culturemeter pending import {folder}", "then:", "dim")
    elif written.kept:
        raise ValueError("nothing can be answered elsewhere: culturemeter run answers it here")
    else:
        say(f"nothing is left: culturemeter pending import {folder} computes what is missing", style="")
