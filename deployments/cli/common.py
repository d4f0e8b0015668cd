"""Options that commands share, and how errors and interruptions are shown."""

from __future__ import annotations

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
from warehouse import WarehouseError, interruption

EXPECTED = (WarehouseError, ServerError, ValueError, OSError)
"""Errors that a user can put right, with EngineError and ScrapeError, whose modules import slowly."""
_TEMPORARY = re.compile(r"\.([^/]+)\.[0-9a-f]{32}\.(?:tmp|new)$")
"""The name of a file that is being written: people know it by the name that it will have."""
INTERRUPTED = 130
"""Exit code after Ctrl-C."""

MODEL = "catalogue name, Hugging Face id or folder; repeat it"
NO_SERVER = "without Prefect: nothing of this run shows in its UI"
FORMAT = "table for people, csv or json for programs, spreadsheet: csv with an apostrophe before = + - @"
WITHOUT_SERVER = "Run again with --no-server to do without Prefect."

Models = Annotated[list[str] | None, typer.Option("--model", "-m", metavar="NAME", help=MODEL)]
DryRun = Annotated[bool, typer.Option("--dry-run", help="show what would be done, and stop")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="show the log")]
NoServer = Annotated[bool, typer.Option("--no-server", help=NO_SERVER)]
As = Annotated[Format, typer.Option("--format", "-f", help=FORMAT)]
Wide = Annotated[bool, typer.Option("--wide", help="show all columns, also those wider than the terminal")]
Occasion = Annotated[str | None, typer.Option(help="default: the newest of each model")]


def of_evaluations(otherwise: str) -> Any:
    """An argument that is the name of an evaluation; otherwise: what is taken where none is named."""
    from deployments.evaluations import doors

    names = list(doors())
    return typer.Argument(help=f"{', '.join(names)}; default: {otherwise}", autocompletion=lambda: names)


def check_evaluation(name: str | None) -> None:
    """Raise WarehouseError for an evaluation that there is not."""
    from deployments.evaluations import doors, unknown

    if name is not None and name not in doors():
        raise WarehouseError(unknown(name))


@contextmanager
def errors(resume: str = "run again to resume") -> Iterator[None]:
    """Expected errors are one clear message and exit code 1, Ctrl-C one line and 130; anything else keeps its
    traceback.

    Args:
        resume: what to do after Ctrl-C.
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
            raise typer.Exit(1) from error


def _words(error: Exception) -> str | None:
    """Return what is said of an error; None: it is not expected, and keeps its traceback."""
    if isinstance(error, ImportError):
        from tasks.engines.extras import advice

        return advice(error)
    if isinstance(error, OSError) and error.filename and error.strerror:
        file = _TEMPORARY.sub(r"\1", str(error.filename2 or error.filename))
        return f"{file}: {error.strerror}"
    return str(error).strip() if _is_expected(error) else None


def _is_expected(error: Exception) -> bool:
    # pydantic's own errors are for us (``options.validated`` words the user's), broken pipes for typer.
    if isinstance(error, BrokenPipeError) or type(error).__module__.startswith("pydantic"):
        return False
    if isinstance(error, EXPECTED):
        return True
    from scrapers.model import ScrapeError
    from tasks.engines.protocols import EngineError

    return isinstance(error, EngineError | ScrapeError)


@contextmanager
def _interruptions() -> Iterator[None]:
    """Ctrl-C within the block is noted: libraries swallow it or turn it into errors of their own."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def note(number: int, frame: FrameType | None) -> None:
        interruption.note()
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        interruption.forget()
