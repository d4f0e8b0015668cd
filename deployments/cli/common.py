"""Options that commands share, and how errors and interruptions are shown."""

from __future__ import annotations

import errno
import os
import re
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Annotated, Any

import typer

from deployments.serve.server import ServerError
from deployments.show.display import Format, say
from warehouse import Warehouse, WarehouseError, interruption

EXPECTED = (WarehouseError, ServerError, ValueError, OSError)
"""Errors that a user can put right. EngineError and ScrapeError are too, but import slowly."""
_TEMPORARY = re.compile(r"\.([^/]+)\.[0-9a-f]{32}\.(?:tmp|new)$")
"""Temporary name of a file being written; messages use its final name."""
INTERRUPTED = 130
"""Exit code after Ctrl-C."""

MODEL = "catalogue name, Hugging Face id or folder; may be repeated"
NO_SERVER = "run without Prefect; the run does not show in its UI"
FORMAT = "table for people, csv or json for programs; spreadsheet: csv safe to open in one (' before = + - @)"
WITHOUT_SERVER = "Run again with --no-server to do without Prefect."

Models = Annotated[list[str] | None, typer.Option("--model", "-m", metavar="NAME", help=MODEL)]
DryRun = Annotated[bool, typer.Option("--dry-run", help="show the plan and stop")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="show the log")]
NoServer = Annotated[bool, typer.Option("--no-server", help=NO_SERVER)]
As = Annotated[Format, typer.Option("--format", "-f", help=FORMAT)]
Wide = Annotated[
    bool, typer.Option("--wide", help="show all columns, even if they exceed the terminal's width")
]
Occasion = Annotated[str | None, typer.Option(help="occasion to show; default: each model's newest")]


def of_evaluations(otherwise: str) -> Any:
    """Return an argument that names an evaluation; ``otherwise`` describes the default."""
    from deployments.evaluations import doors

    names = list(doors())
    return typer.Argument(help=f"{', '.join(names)}; default: {otherwise}", autocompletion=lambda: names)


def check_evaluation(name: str | None) -> None:
    """Raise WarehouseError if there is no such evaluation."""
    from deployments.evaluations import doors, unknown

    if name is not None and name not in doors():
        raise WarehouseError(unknown(name))


def as_shown(warehouse: Warehouse, model: str) -> str:
    """Return the name that a model is shown under, after a line that says so if it was named otherwise."""
    from warehouse.names import shown_name

    if (shown := shown_name(warehouse, model)) != model:
        say(f"{model} is shown as {shown}", "note:", "yellow")
    return shown


@contextmanager
def errors(resume: str = "run again to resume", code: int = 1) -> Iterator[None]:
    """Turn expected errors into one message and an exit code, and Ctrl-C into one line and 130; others keep
    their traceback.

    Args:
        resume: what to do after Ctrl-C.
        code: the exit code.
    """
    with _interruptions():
        try:
            yield
        except (Exception, KeyboardInterrupt) as error:
            if interruption.has_come() or isinstance(error, KeyboardInterrupt):
                say(f"interrupted: {resume}", style="")
                raise typer.Exit(INTERRUPTED) from error
            if (words := _words(error)) is None:
                raise
            say(words, "error:", "bold red")
            raise typer.Exit(code) from error


def _words(error: Exception) -> str | None:
    """Return the message of an error; None if it is unexpected and keeps its traceback."""
    if isinstance(error, ImportError):
        from tasks.engines.extras import advice

        return advice(error)
    if isinstance(error, OSError) and error.strerror:
        named = str(error.filename2 or error.filename or "")
        where = _TEMPORARY.sub(r"\1", named) + ": " if named else ""
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            where += "the disk is full: free some space there, or set CULTUREMETER_HOME to a larger disk: "
        if where:
            return f"{where}{error.strerror}"
    return str(error).strip() if _is_expected(error) else None


def _is_expected(error: Exception) -> bool:
    # pydantic's errors are bugs here (``options.validated`` words users' errors); typer handles broken pipes.
    if isinstance(error, BrokenPipeError) or type(error).__module__.startswith("pydantic"):
        return False
    if isinstance(error, EXPECTED):
        return True
    from scrapers.model import ScrapeError
    from tasks.engines.protocols import EngineError

    return isinstance(error, EngineError | ScrapeError)


@contextmanager
def _interruptions() -> Iterator[None]:
    """Note Ctrl-C within the block, since libraries swallow it or raise errors of their own.

    A second one ends the process at once, also after the block, where libraries would abort it: whatever was
    written is whole without their clean-up.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def note(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
        interruption.note()
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        if not interruption.has_come():
            signal.signal(signal.SIGINT, before)
        interruption.forget()
