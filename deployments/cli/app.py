"""The command line: ``culturemeter --help``. A command's module is imported when it is called."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from threading import RLock
from types import ModuleType
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from deployments.cli.suggest import Suggesting

PANELS = {
    "Run": {
        "run": "run:app",
        "runs": "runs:app",
        "pending": "pending:app",
        "prefetch": "prefetch:app",
        "submit": "submit:app",
        "import": "import_:import_logs",
        "models": "models:app",
        "doctor": "models:doctor",
    },
    "Read": {
        "leaderboard": "results:leaderboard",
        "report": "results:report",
        "compare": "results:compare",
        "drift": "results:drift",
        "ranking": "results:ranking",
        "gate": "gate:gate",
        "browse": "browse:browse",
        "sql": "warehouse:sql",
        "export": "export:app",
        "reproduce": "reproduce:app",
    },
    "People": {
        "people": "people:app",
        "judge": "judge:app",
    },
    "Content": {
        "ingest": "ingest:ingest",
        "pack": "pack:app",
        "specnorm": "builds:specnorm",
        "culturall": "builds:culturall",
    },
    "Operate": {
        "serve": "serve:serve",
        "publish": "publish:publish",
        "verify": "publish:verify",
        "check": "warehouse:check",
        "prune": "warehouse:prune",
        "copy": "warehouse:copy",
        "merge": "merge:merge",
    },
}
"""Help heading -> command -> file of this folder and the function (or the app with subcommands) in it."""
COMMANDS = {name: where for commands in PANELS.values() for name, where in commands.items()}
LIGHT = frozenset({"leaderboard", "runs", "sql"})
"""Commands that mostly print a few rows: importing polars would take half of their time."""
_SUMMARY = r'(?:^def {0}\(.*?\n    """|^{0} = typer\.Typer\(.*?help=")(.*?)(?:\n\n|")'


class _Commands(Suggesting):
    """Imports each command when it is called."""

    is_listing = False

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name].partition(":")
        if self.is_listing:
            panel = next(heading for heading, commands in PANELS.items() if cmd_name in commands)
            return TyperCommand(cmd_name, help=summary(module, name), rich_help_panel=panel)
        if cmd_name in LIGHT:
            imported_later("polars")
        there = getattr(import_module(f"deployments.cli.{module}"), name)
        command: Any
        if isinstance(there, typer.Typer):
            there.rich_markup_mode = "markdown"
            command = typer.main.get_group(there)  # a group, even if it has a single command
        else:
            single = typer.Typer(add_completion=False, rich_markup_mode="markdown")
            single.command()(there)
            command = typer.main.get_command(single)
        command.name = cmd_name
        return command

    def format_help(self, ctx: Any, formatter: Any) -> None:
        self.is_listing = True
        try:
            super().format_help(ctx, formatter)
        finally:
            self.is_listing = False


def summary(module: str, name: str) -> str:
    """Return the first paragraph of a command's help, read from its file so that nothing is imported."""
    text = Path(__file__).with_name(f"{module}.py").read_text(encoding="utf-8")
    match = re.search(_SUMMARY.format(name), text, re.DOTALL | re.MULTILINE)
    return " ".join(match[1].split()) if match else ""


app = typer.Typer(cls=_Commands, no_args_is_help=True, rich_markup_mode="markdown")


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version  # slow: it imports the email modules

        typer.echo(version("culturemeter"))
        raise typer.Exit()


@app.callback()
def main(
    show_version: Annotated[
        bool, typer.Option("--version", help="print the version", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """How well do language models know the world's cultures? All state lives under `CULTUREMETER_HOME`."""


class _Later(ModuleType):
    """A module whose code runs when an attribute is looked up.

    On Python 3.11 and 3.12 ``importlib.util.LazyLoader`` already runs it at the next import statement.
    """

    def __getattr__(self, name: str) -> Any:
        loaded, lock = vars(self), vars(self)["_lock"]
        with lock:
            if type(self) is _Later and not loaded["_is_loading"]:
                loaded["_is_loading"] = True
                self.__spec__.loader.exec_module(self)  # type: ignore[union-attr]
                self.__class__ = ModuleType  # type: ignore[assignment]
        try:
            return loaded[name]
        except KeyError:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}") from None


def imported_later(name: str) -> None:
    """Import a module when an attribute is looked up; do nothing if it is imported or not installed."""
    if name in sys.modules or (spec := find_spec(name)) is None:
        return
    module = module_from_spec(spec)
    vars(module).update(_lock=RLock(), _is_loading=False)
    module.__class__ = _Later
    sys.modules[name] = module


if __name__ == "__main__":
    app()
