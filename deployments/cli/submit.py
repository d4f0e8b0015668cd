"""``culturemeter submit``: a run's requests are answered by jobs of Slurm, round after round."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deployments.cli import options
from deployments.cli.common import errors
from deployments.cli.pending import sessions_of
from deployments.cli.run import Begin, Commands, Switches, opened
from deployments.cluster import slurm
from deployments.evaluations import evaluation
from deployments.serve.server import configure
from deployments.show.display import notes, out, say, working
from tasks.pending.folder import REQUESTS
from tasks.report.text import plural
from warehouse import home

if TYPE_CHECKING:
    from flows.session import RunSession

NEXT, PANEL = "next", "Slurm"
_ARRAY = "elements of the job array, which share the requests"
_OPTION = "any other option of sbatch, as account=PROJECT; may be repeated"
_AFTER = "other options for the job between rounds, as partition=cpu; it needs no GPU"
_RUNNER = "an option of run.py, as url=http://node7:8000/v1 or program=vllm; may be repeated"
_FOLDER = typer.Argument(metavar="FOLDER", help="that was submitted")
_PYTHON = "the program that runs run.py on the nodes; default: this one"


def _option(*names: str, text: str, metavar: str) -> Any:
    return typer.Option(*names, help=text, metavar=metavar, rich_help_panel=PANEL)


@dataclass(frozen=True)
class Jobs(Switches):
    """Options of a submitted run, in addition to a run's own."""

    folder: Annotated[
        Path | None,
        _option("--folder", metavar="FOLDER", text="on a disk of all nodes; default: ./slurm-EVALUATION"),
    ] = None
    partition: Annotated[str | None, _option("--partition", metavar="NAME", text="as of sbatch")] = None
    array: Annotated[int, _option("--array", metavar="N", text=_ARRAY)] = 1
    time: Annotated[str | None, _option("--time", metavar="TIME", text="as of sbatch, as 04:00:00")] = None
    gres: Annotated[str | None, _option("--gres", metavar="LIST", text="as of sbatch, as gpu:1")] = None
    sbatch: Annotated[list[str] | None, _option("--sbatch", metavar="KEY=VALUE", text=_OPTION)] = None
    between: Annotated[list[str] | None, _option("--between", metavar="KEY=VALUE", text=_AFTER)] = None
    runner: Annotated[list[str] | None, _option("--runner", metavar="KEY=VALUE", text=_RUNNER)] = None
    python: Annotated[str | None, _option("--python", metavar="PATH", text=_PYTHON)] = None
    print_only: Annotated[
        bool, typer.Option("--print", help="print the scripts and stop", rich_help_panel=PANEL)
    ] = False

    def job(self) -> slurm.Job:
        """Return them as a job. Raises ValueError."""
        named = {name: value for name in ("partition", "time", "gres") if (value := getattr(self, name))}
        fields = {
            "array": self.array,
            "options": named | _pairs("--sbatch", self.sbatch),
            "collect": _pairs("--between", self.between),
            "runner": _pairs("--runner", self.runner),
            "trusts_code": self.trust_remote_code,
        }
        checked: slurm.Job = options.validated(
            slurm.Job, fields | ({"python": self.python} if self.python else {})
        )
        return checked


class _Submits(Commands):
    """A command for each evaluation, with the options of its run and jobs, and one for a next round."""

    switches = Jobs

    def begin(self, context: Any) -> Begin:
        return _submit  # type: ignore[return-value]

    def list_commands(self, ctx: Any) -> list[str]:
        return [*super().list_commands(ctx), NEXT]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name != NEXT:
            return super().get_command(ctx, cmd_name)
        single = typer.Typer(add_completion=False, rich_markup_mode="markdown")
        single.command(NEXT)(next_round)
        return typer.main.get_command(single)


app = typer.Typer(
    cls=_Submits,
    no_args_is_help=True,
    help="Run an evaluation by jobs of Slurm.",
    subcommand_metavar="EVALUATION [OPTIONS]",
)


@app.callback()
def submit() -> None:
    """Run an evaluation by jobs of Slurm: an array answers its requests, a job after it goes on.

    Elements may be killed, requeued or moved: each goes on behind its last answer. After the last round,
    `culturemeter pending import FOLDER` computes the numbers here. `culturemeter runs` shows the states.

    Example: `culturemeter submit cure -m my-model --judges my-judge --partition gpu --gres gpu:1 --array 8`
    """


def _submit(name: str, switches: Jobs, texts: Mapping[str, Any]) -> None:
    """Export runs as the options say, and submit the first round."""
    from flows.pending import export
    from flows.prefetch import MODELS, take_along
    from tasks.pending.folder import MANIFEST, Folder

    job = switches.job()
    folder = (switches.folder or Path(f"slurm-{name}")).absolute()
    if switches.print_only:
        for file, text in slurm.scripts(job, folder).items():
            out(f"# {folder / file}\n{text}")
        return
    if (folder / MANIFEST).exists():
        raise ValueError(
            f"{folder} has runs already: culturemeter submit next {folder} goes on with them; "
            "--folder names another"
        )
    warehouse = opened(switches)
    sessions = sessions_of(name, switches, texts)
    if switches.dry_run:
        return
    with notes(False, logging.WARNING), working("writing"):
        written = export(sessions, Folder(folder))
        take_along(sessions, folder)
        if not (folder / MODELS).exists():
            (folder / MODELS).symlink_to(warehouse.home / MODELS)
        slurm.write(job, folder)
        slurm.note(warehouse.home, folder)
    _go_on(folder, sessions, written.files, written.kept)


def next_round(folder: Annotated[Path, _FOLDER]) -> None:
    """Take in the answers of a submitted folder, and submit its next round; the job after a round does this.

    Example: `culturemeter submit next ./slurm-cure`
    """
    with errors():
        configure(home())
        from flows.pending import again, export, take_in
        from tasks.pending.folder import Folder

        folder = folder.absolute()
        slurm.write(slurm.read(folder), folder)
        if active := slurm.at_work(folder):
            raise ValueError(f"its elements are {active}: wait for them, or end them with scancel")
        before = _content(folder)
        with notes(False, logging.WARNING), working("importing"):
            taken = take_in(Folder(folder), evaluation)
            written = export(sessions := again(Folder(folder), evaluation), Folder(folder))
        say(f"{plural(taken.stored, 'new answer')}; {taken.known:,} were here", "imported:", "green")
        for reason, (n, first) in taken.refused.items():
            say(f"{n:,} × {reason} (first: {first})", "refused:", "red")
        if written.files and _content(folder) == before:
            raise ValueError(
                f"the last round brought no answer: read {folder / slurm.LOGS}, mend the cause, then "
                f"culturemeter submit next {folder}"
            )
        _go_on(folder, sessions, written.files, written.kept)


def _go_on(
    folder: Path, sessions: Iterable[RunSession], files: Mapping[str, int], kept: Sequence[str]
) -> None:
    """Submit a round if requests are left, and say what comes next."""
    for text in (*(failure for session in sessions for failure in session.failures), *kept):
        say(text, "not sent:", "red")
    if files:
        array, after = slurm.submit(folder)
        say(f"{plural(sum(files.values()), 'request')}: job {array}, then job {after}", "submitted:", "green")
        say(f"culturemeter runs; scancel ends both; logs are in {folder / slurm.LOGS}", "see:", "dim")
    elif kept:
        raise ValueError("the rest cannot be answered there: culturemeter run answers it here")
    else:
        say(f"nothing is left: culturemeter pending import {folder} computes the numbers", style="")


def _content(folder: Path) -> list[str]:
    """Return name and hash of each file of requests."""
    found = []
    for path in sorted((folder / REQUESTS).glob("*.jsonl")):
        with path.open("rb") as file:
            found.append(f"{path.name} {file_digest(file, 'sha256').hexdigest()}")
    return found


def _pairs(option: str, texts: Iterable[str] | None) -> dict[str, str]:
    """Return the mapping of texts KEY=VALUE; a key alone has an empty value. Raises ValueError."""
    pairs: dict[str, str] = {}
    for text in texts or ():
        key, _, value = text.partition("=")
        if key in pairs:
            raise ValueError(f"{option}: {key} is given twice")
        pairs[key] = value
    return pairs
